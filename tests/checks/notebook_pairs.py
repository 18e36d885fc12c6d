"""Each notebook is a pair: NN_name.py is the truth, NN_name.ipynb has its cells, executed."""

from __future__ import annotations

import sys
from pathlib import Path

import jupytext
import nbformat

NOTEBOOKS = Path(__file__).resolve().parent.parent.parent / "notebooks"


def cells(notebook: nbformat.NotebookNode) -> list[tuple[str, str]]:
    return [(cell.cell_type, cell.source.strip()) for cell in notebook.cells]


def difference(stem: Path) -> str | None:
    """What is wrong with a pair, or None."""
    script, executed = stem.with_suffix(".py"), stem.with_suffix(".ipynb")
    for path in (script, executed):
        if not path.exists():
            return f"{path.name} is missing"
    left, right = cells(jupytext.read(script)), cells(nbformat.read(executed, as_version=4))
    for number, (ours, theirs) in enumerate(zip(left, right, strict=False), 1):
        if ours != theirs:
            return f"cell {number} differs: {ours[1][:60]!r} and {theirs[1][:60]!r}"
    return f"{len(left)} and {len(right)} cells" if len(left) != len(right) else None


def main() -> int:
    stems = {
        path.with_suffix("") for path in NOTEBOOKS.glob("*") if path.suffix in {".py", ".ipynb"}
    }
    wrong = {stem.name: found for stem in sorted(stems) if (found := difference(stem))}
    for name, found in wrong.items():
        print(f"notebooks/{name}: {found}", file=sys.stderr)
    if wrong:
        print("Run: .venv/bin/jupytext --sync notebooks/*.py", file=sys.stderr)
    else:
        print(f"{len(stems)} notebooks, every pair holds the same cells")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
