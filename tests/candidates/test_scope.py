"""Which scopes a query searches: one rule for the world of a query and for a typed one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import recalltune as rt
from recalltune.candidates.world import in_scope
from recalltune.errors import ParameterError
from small_lab import Note, make_lab

SCOPES = np.array(["memory", "memory:pivot", "project", "project:a", "project:ab", ""])


@pytest.mark.parametrize(
    ("asked", "match", "searched"),
    [
        (None, "exact", SCOPES.tolist()),
        (None, "family", SCOPES.tolist()),
        ("memory", "exact", ["memory"]),
        # A prefix pulls in more than its own family, as production's does.
        ("memory", "family", ["memory", "memory:pivot"]),
        ("proj", "family", ["project", "project:a", "project:ab"]),
        ("project:a", "family", ["project:a"]),
        ("project:", "family", []),
        ("tea", "exact", []),
    ],
)
def test_a_scope_is_searched_exactly_or_with_its_family(
    asked: str | None, match: str, searched: list[str]
) -> None:
    assert SCOPES[in_scope(SCOPES, asked, match)].tolist() == searched  # type: ignore[arg-type]
    assert in_scope(SCOPES[:0], asked, match).tolist() == []  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_typed_scope_that_only_another_one_starts_with_is_refused(tmp_path: Path) -> None:
    lab = make_lab(tmp_path / "lab.duckdb", [Note("m", "tea", 1.0, scope="project:ab")], [])
    config = rt.preset("textbook").with_(
        arms={"lexical": {}}, admit={"scope_match": "family"}, stages=({"kind": "rrf"},)
    )
    assert rt.ask(lab, "tea", config, scope="project").memory_id(0, 0) == "m"
    with pytest.raises(ParameterError, match="scope 'project:a' holds no memory; nearest: 'proj"):
        rt.ask(lab, "tea", config, scope="project:a")
