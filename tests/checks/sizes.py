"""Lines per room against what docs/architecture.md expects. It informs; it never fails."""

from __future__ import annotations

import ast
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent.parent / "toolkit" / "recalltune"
EXPECTED = {
    "rank": 1400,
    "store": 450,
    "encode": 250,
    "ingest": 1300,
    "candidates": 450,
    "pipeline": 700,
    "evaluate": 800,
    "replay": 350,
    "sweep": 900,
    "production": 600,
    "charts, widgets, report, cli": 900,
}


def modules(rooms: str) -> list[Path]:
    found = []
    for room in rooms.split(", "):
        found += sorted((PACKAGE / room).rglob("*.py"))
        found += [path for path in [PACKAGE / f"{room}.py"] if path.exists()]
    return found


def lines(path: Path) -> tuple[int, int]:
    """All lines of a module, and those that are neither blank nor comment nor docstring."""
    text = path.read_text(encoding="utf-8")
    kept = {n for n, line in enumerate(text.splitlines(), 1) if line.strip()[:1] not in {"", "#"}}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            kept -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return text.count("\n"), len(kept)


def main() -> None:
    print(f"{'room':30}{'modules':>8}{'lines':>8}{'code':>8}{'expected':>10}  longest module")
    totals = [0, 0, 0]
    for rooms, expected in EXPECTED.items():
        counted = {path: lines(path) for path in modules(rooms)}
        whole, code = (sum(pair[i] for pair in counted.values()) for i in (0, 1))
        totals = [totals[0] + len(counted), totals[1] + whole, totals[2] + code]
        longest = max(counted, key=lambda path: counted[path], default=None)
        told = f"{longest.relative_to(PACKAGE)} {counted[longest][0]}" if longest else ""
        far = "  over: an ADR says why" if code > 1.5 * expected else ""
        print(f"{rooms:30}{len(counted):8}{whole:8}{code:8}{expected:10}  {told}{far}")
    print(f"{'all':30}{totals[0]:8}{totals[1]:8}{totals[2]:8}{sum(EXPECTED.values()):10}")


if __name__ == "__main__":
    main()
