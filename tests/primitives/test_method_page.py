"""The page of formulas names every public primitive, and every source it cites."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

from recalltune.rank.tokens import TOKENIZERS

# As an attribute of the package, `rank` is the function; the room is found by its name.
PUBLIC = import_module("recalltune.rank").__all__


@pytest.fixture(scope="module")
def page(root: Path) -> str:
    return (root / "docs" / "method.md").read_text("utf-8")


@pytest.mark.parametrize("name", [*PUBLIC, *TOKENIZERS])
def test_every_public_name_stands_on_the_page(page, name):
    assert f"`{name}`" in page


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_can_be_imported_from_the_package(name):
    assert hasattr(import_module("recalltune.rank"), name)


def test_every_source_key_used_in_a_docstring_is_listed_on_the_page(page, root: Path):
    listed = set(re.findall(r"^- `(\w+)` ", page, flags=re.MULTILINE))
    used = set()
    for module in sorted((root / "toolkit" / "recalltune" / "rank").glob("*.py")):
        used |= set(re.findall(r"key\s+``(\w+)``", module.read_text("utf-8")))
    assert used
    assert used <= listed


def test_the_names_used_in_notebooks_are_what_they_seem():
    from recalltune.rank import bm25, mmr, quotas, rrf, weibull

    assert bm25.PostingIndex.build([["a"]]).scores(["a"])[0] > 0
    assert all(callable(one) for one in (rrf, weibull, mmr, quotas))
