"""The page of formulas names every public primitive, and every source it cites."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from recalltune.pipeline.stages import Decay
from recalltune.rank.tokens import TOKENIZERS

_FAMILY = Decay.model_fields["family"].annotation

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


FAMILY_ROW = re.compile(
    r"^\| `(?P<family>\w+)`(?:, (?P<field>\w+) (?P<value>[\d.]+))? \| (?P<reads>[^|]+) \| "
    r"(?P<weight>[\d.]+) \| (?P<keeps>[^|]+) \| (?:(?P<days>\d+) days|never)",
    re.MULTILINE,
)


def test_the_table_of_families_says_what_the_stage_does(page):
    rows = list(FAMILY_ROW.finditer(page))
    assert {row["family"] for row in rows} == {*get_args(_FAMILY)} - {"none"}
    for row in rows:
        named = {row["field"]: float(row["value"])} if row["field"] else {}
        stage = Decay(family=row["family"], **named)
        at_30 = float(stage.weight(np.array([30.0]))[0])
        assert row["weight"] == f"{at_30:.3f}"
        assert row["keeps"].startswith("yes") == (abs(at_30 - 0.5) < 1e-12)
        half = stage.half_age_days
        assert row["days"] == (None if half is None else f"{half:.0f}")
        reads = set(re.findall(r"`(\w+)`", row["reads"]))
        assert reads | {"floor"} == set(stage.canonical()) - {"kind", "name", "family"} | {"floor"}


def test_the_names_used_in_notebooks_are_what_they_seem():
    from recalltune.rank import bm25, mmr, quotas, rrf, weibull

    assert bm25.PostingIndex.build([["a"]]).scores(["a"])[0] > 0
    assert all(callable(one) for one in (rrf, weibull, mmr, quotas))
