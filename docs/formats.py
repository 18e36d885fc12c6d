"""make docs: the page of formats, from what every format says of itself."""

from __future__ import annotations

import sys
from pathlib import Path

from recalltune.ingest import FORMATS, Format

__all__ = ["page"]

PAGE = Path(__file__).resolve().parent / "formats.md"
HEAD = """# Formats

Every kind of file `recalltune ingest` reads, told apart by content (`--format auto`) or named. What
stands below is what each module of `ingest/formats/` says of itself (`make docs`). All of them:

- count every record once, as kept or as dropped with a reason; parts of kept records that are not
  text (thinking, tool calls, pictures) are counted apart and not imported;
- take the event's own time, and none where there is none;
- read plain or gzip files, survive damaged, torn and overlong lines, and follow no link;
- replace secrets, and take memories out of a prompt that an agent put there (kept as searches).

With `--turns-as-memories` the turns of transcripts become memories of layer `log`: noise is left
out by reason, texts of more than 2,000 characters are cut. Evaluation sets bring cases and labels
too, and keep their repetitions."""


def page() -> str:
    """Text of the page."""
    rows = ["| name | what | files |", "|---|---|---|"]
    for name, format in FORMATS.items():
        endings = ", ".join(f"`{suffix}`" for suffix in sorted(format.suffixes))
        rows.append(f"| [`{name}`](#{name}) | {_title(format)} | {endings} |")
    sections = [f"## {name}\n\n{_told(format)}" for name, format in FORMATS.items()]
    return "\n\n".join([HEAD, "\n".join(rows), *sections]) + "\n"


def _title(format: Format) -> str:
    return f"{format.title}; evaluation set" if format.evaluation else format.title


def _told(format: Format) -> str:
    """What the module says of its format, without references."""
    module = sys.modules[format.read.__module__]
    return (module.__doc__ or "").partition("References\n-----")[0].replace("``", "`").strip()


def main() -> int:
    PAGE.write_text(page(), encoding="utf-8")
    sys.stdout.write(f"{PAGE.name}: {len(FORMATS)} formats\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
