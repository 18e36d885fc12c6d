"""Where a wanted memory stands before any stage: the first thing that keeps it out, alone."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from recalltune.candidates.build import candidates
from recalltune.candidates.table import Candidates
from recalltune.candidates.trace import STANDS, trace
from recalltune.errors import ContractError, ParameterError, checked
from recalltune.pipeline.config import RankingConfig
from recalltune.store import Lab
from small_lab import Ask, Note, WordEncoder, make_lab
from toy_candidates import toy

NOTES = [
    Note("a", "tea garden", 1.0),
    Note("again", "tea garden", 2.0),
    Note("b", "tea tea tea server", 1.0),
    Note("elsewhere", "tea", 1.0, scope="home"),
    Note("gone", "tea", 1.0, leaves=4.0),
    Note("later", "tea", 10.0),
    Note("old", "tea backup", 1.0, superseded=6.0),
    Note("other", "garden", 1.0),
    Note("secret", "tea", 1.0, gated=True),
    Note("told", "tea", 1.0, gated=True, told=9.0),
    Note("z", "tea release sensor garden backup", 1.0),
]
ASKS = [Ask("c", "tea", 8.0), Ask("now", "tea", 10.0)]


def config(arms: dict[str, Any] | None = None, **admit: str) -> RankingConfig:
    return checked(
        RankingConfig,
        {
            "admit": {"superseded": "hide", **admit},
            "arms": arms or {"lexical": {"width": 2}},
            "stages": [{"kind": "rrf"}],
        },
    )


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    return make_lab(tmp_path_factory.mktemp("trace") / "l.duckdb", NOTES, ASKS, duplicates=True)


def wanted(*ids: str, query_id: str = "c") -> pl.DataFrame:
    return pl.DataFrame({"query_id": [query_id] * len(ids), "memory_id": list(ids)})


def standing(table: Candidates, setting: RankingConfig, *ids: str, **at: str) -> dict[str, str]:
    found = trace(table, setting, wanted(*ids, **at))
    return dict(found.select("memory_id", "stands").iter_rows())


def test_each_memory_stands_where_the_first_filter_left_it(lab: Lab) -> None:
    setting = config()
    table = candidates(lab, "s", setting)
    assert standing(table, setting, *(note.memory_id for note in NOTES), "nobody") == {
        "a": "table",
        "again": "copy",
        "b": "table",
        "elsewhere": "scope",
        "gone": "ended",
        "later": "not_yet",
        "old": "status",
        "other": "arms",
        # Nobody was ever told of it: for a reader it is not there.
        "secret": "unknown_id",
        "told": "gate",
        "z": "arms",
        "nobody": "unknown_id",
    }


def test_times_and_companions_are_told_beside(lab: Lab) -> None:
    setting = config()
    found = trace(candidates(lab, "s", setting), setting, wanted("old", "gone", "told", "again"))
    rows = {row["memory_id"]: row for row in found.to_dicts()}
    assert [rows[name]["distance_days"] for name in ("old", "gone", "told")] == [2.0, 4.0, 1.0]
    assert rows["again"]["by"] == "a"
    assert rows["again"]["distance_days"] is None


def test_what_happens_at_the_instant_of_the_query_has_not_happened(lab: Lab) -> None:
    setting = config()
    table = candidates(lab, "s", setting)
    assert standing(table, setting, "later", "told", query_id="now") == {
        "later": "not_yet",
        "told": "table",
    }


def test_an_arm_says_rank_score_and_cut_of_what_it_did_not_propose(lab: Lab) -> None:
    setting = config()
    table = candidates(lab, "s", setting)
    found = trace(table, setting, wanted("z", "other", "a"))
    z, other, inside = found.to_dicts()
    wide = candidates(lab, "s", config({"lexical": {"width": 200}}))
    [column] = [
        place
        for place in range(wide.span.shape[1])
        if wide.valid[0, place] and wide.memory_id(0, place) == "z"
    ]
    assert z["lexical_rank"] == wide.feature("lexical_rank")[0, column] == 3
    assert z["lexical_score"] == wide.feature("lexical_score")[0, column]
    assert z["lexical_cut"] == np.min(
        table.feature("lexical_score")[0][~np.isnan(table.feature("lexical_rank")[0])]
    )
    assert (other["lexical_rank"], other["lexical_why"]) == (None, "no_match")
    assert (z["lexical_why"], inside["lexical_rank"]) == (None, None)


@pytest.mark.parametrize("arm", ["dense", "lexical", "substring"])
def test_the_rank_behind_the_cut_is_the_rank_of_a_wider_arm(lab: Lab, arm: str) -> None:
    narrow, wide = config({arm: {"width": 1}}), config({arm: {"width": 200}})
    near = candidates(lab, "s", narrow, encoder=WordEncoder())
    far = candidates(lab, "s", wide, encoder=WordEncoder())
    ids = [far.memory_id(0, place) for place in np.flatnonzero(far.valid[0])]
    found = trace(near, narrow, wanted(*ids))
    behind = found.filter(pl.col("stands") == "arms")
    assert behind.height == len(ids) - 1
    of_wide = dict(zip(ids, far.feature(f"{arm}_rank")[0].tolist(), strict=False))
    for row in behind.to_dicts():
        assert row[f"{arm}_rank"] == of_wide[row["memory_id"]]
        assert row[f"{arm}_rank"] > 1


def test_an_arm_that_cannot_score_abstains_and_a_minimum_is_no_width(tmp_path: Path) -> None:
    notes = [Note("blank", "", 1.0), Note("m", "tea", 1.0), Note("n", "garden", 1.0)]
    lab = make_lab(tmp_path / "l.duckdb", notes, [Ask("c", "tea", 8.0), Ask("mute", "?!", 8.0)])
    setting = config({"dense": {"min_cosine": 0.9}, "lexical": {}})
    table = candidates(lab, "s", setting, encoder=WordEncoder())
    blank, other = trace(table, setting, wanted("blank", "n")).to_dicts()
    assert (blank["dense_why"], blank["lexical_why"]) == ("abstained", "no_match")
    assert (other["dense_why"], other["dense_rank"]) == ("below_minimum", 2)
    [mute] = trace(table, setting, wanted("m", query_id="mute")).to_dicts()
    assert mute["lexical_why"] == "abstained"


def test_what_the_prompt_holds_stands_in_context(lab: Lab) -> None:
    setting = config()
    table = candidates(lab, "s", setting)
    row = table.spans["memory_id"].to_list().index("z")
    held = [np.array([row]), np.array([], dtype=np.intp)]
    assert standing(replace(table, in_prompt=held), setting, "z") == {"z": "in_context"}


def test_labels_that_exist_are_those_that_stand_anywhere_at_all(tmp_path: Path) -> None:
    ids = tuple(note.memory_id for note in NOTES)
    lab = make_lab(tmp_path / "l.duckdb", NOTES, [Ask("c", "tea", 8.0, ids)])
    setting = config()
    table = candidates(lab, "s", setting)
    pairs = table.labels.select("query_id", "memory_id", "exists")
    found = trace(table, setting, pairs).join(pairs, on=["query_id", "memory_id"])
    absent = pl.col("stands").is_in(["unknown_id", "not_yet", "ended", "gate"])
    assert found.select((absent == ~pl.col("exists")).all()).item()
    assert set(found["stands"]) <= set(STANDS)


def test_a_trace_refuses_what_it_cannot_answer(lab: Lab) -> None:
    setting = config()
    table = candidates(lab, "s", setting)
    with pytest.raises(ParameterError, match="needs a column 'memory_id', got query_id"):
        trace(table, setting, pl.DataFrame({"query_id": ["c"]}))
    with pytest.raises(ParameterError, match=r"\('c', 'a'\) more than once"):
        trace(table, setting, wanted("a", "b", "a"))
    with pytest.raises(ParameterError, match="query_id 'x' is unknown"):
        trace(table, setting, wanted("a", query_id="x"))
    with pytest.raises(ContractError, match="asks for admit/arms"):
        trace(table, config({"lexical": {"width": 3}}), wanted("a"))
    with pytest.raises(ContractError, match="keep nothing of what was searched"):
        trace(toy(0), setting, wanted("nobody", query_id="q0"))


def test_looking_costs_arms_only_where_a_memory_was_not_proposed(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    setting = config()
    table = candidates(lab, "s", setting)
    monkeypatch.setattr(import_module("recalltune.candidates.trace"), "arm_views", None)
    trace(table, setting, wanted("a", "b", "old", "again", "nobody"))
    with pytest.raises(TypeError):
        trace(table, setting, wanted("z"))
