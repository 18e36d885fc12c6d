"""What no committed file may be: huge, without an end of line, a database, or a stray notebook."""

from __future__ import annotations

import sys
from pathlib import Path

LARGEST = 2 * 2**20
TEXT = {".py", ".md", ".toml", ".txt", ".yaml", ".yml", ".json", ".jsonl", ".ipynb", ".css", ".js"}


def problem(path: Path) -> str | None:
    if path.suffix in {".duckdb", ".wal", ".pyc"}:
        return "is built from sources and does not belong in the repository"
    if path.name.startswith("Untitled"):
        return "is a stray notebook"
    if (size := path.stat().st_size) > LARGEST:
        return f"has {size:,} bytes, at most {LARGEST:,} are kept"
    if path.suffix in TEXT and size and not path.read_bytes().endswith(b"\n"):
        return "must end with a newline"
    return None


def main() -> int:
    found = {name: told for name in sys.argv[1:] if (told := problem(Path(name)))}
    for name, told in found.items():
        print(f"{name} {told}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
