"""The substring arm in a candidate table: its world, its filters, its width, and the gist."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recalltune.candidates.build import candidates
from recalltune.candidates.table import Candidates
from recalltune.errors import ParameterError, checked
from recalltune.pipeline.config import RankingConfig
from small_lab import Ask, Note, WordEncoder, make_lab

NOTES = [
    Note("m1", "the north ferry leaves", 0.0),
    Note("m2", "no ferry on Sunday, the ferry rests", 1.0),
    Note("m3", "ferry", 2.0, superseded=3.0),
    Note("m4", "ferry at home", 2.0, scope="home"),
    Note("m5", "the secret ferry", 2.0, gated=True),
    Note("m6", "渡船九点开", 2.0),
]


def config(arms: dict[str, Any], **admit: Any) -> RankingConfig:
    return checked(RankingConfig, {"admit": admit, "arms": arms, "stages": [{"kind": "rrf"}]})


SUBSTRING = config({"substring": {}})


@pytest.fixture
def table(tmp_path: Path):
    def make(
        query: str, setting: RankingConfig = SUBSTRING, *, day: float = 5.0, gists: Any = ()
    ) -> Candidates:
        lab = make_lab(tmp_path / "l.duckdb", NOTES, [Ask("q", query, day)])
        with lab.writing() as con:
            for memory_id, gist in gists:
                con.execute("update memory set gist = ? where memory_id = ?", [gist, memory_id])
        return candidates(lab, "s", setting, encoder=WordEncoder())

    return make


def found(made: Candidates) -> dict[str, int]:
    """Memory -> its place in the arm."""
    ranks = made.features["substring_rank"][0]
    return {made.memory_id(0, int(c)): int(ranks[c]) for c in np.flatnonzero(ranks > 0)}


def mode(made: Candidates) -> str:
    return made.codes["substring_mode"][int(made.features["substring_mode"][0, 0])]


def test_it_finds_what_holds_the_words_in_the_world_of_the_query(table):
    made = table("FERRY")
    # m2 holds it twice, m3 is the shortest; m4 is elsewhere, m5 was never told.
    assert found(made) == {"m3": 1, "m2": 2, "m1": 3}
    assert mode(made) == "phrase"
    scores = made.features["substring_score"][0]
    assert {made.memory_id(0, c): scores[c] for c in range(3)} == {"m1": 1, "m2": 2, "m3": 1}


def test_only_what_was_there_by_then_is_found(table):
    assert found(table("ferry", day=1.0)) == {"m1": 1}


def test_a_status_filter_acts_inside_the_arm_and_leaves_its_statistics_alone(table):
    assert found(table("ferry", config({"substring": {}}, superseded="hide"))) == {"m2": 1, "m1": 2}


def test_the_width_cuts_the_arm(table):
    assert found(table("ferry", config({"substring": {"width": 1}}))) == {"m3": 1}


def test_words_of_one_or_two_letters_are_found_newest_first(table):
    made = table("渡船 no")
    assert (mode(made), found(made)) == ("like", {"m6": 1, "m2": 2, "m1": 3})


def test_the_gist_is_searched_and_one_that_was_never_told_is_not(table):
    gists = [("m6", "the boat of nine"), ("m5", "a boat nobody knows of")]
    assert found(table("boat", gists=gists)) == {"m6": 1}


def test_an_arm_that_finds_nothing_leaves_an_empty_row(table):
    made = table("zeppelin")
    assert made.valid.sum() == 0
    assert made.features["substring_mode"].shape == made.span.shape


def test_beside_another_arm_one_memory_is_one_row(table):
    made = table("ferry", config({"lexical": {}, "substring": {}, "dense": {}}))
    ids = [made.memory_id(0, c) for c in range(made.span.shape[1])]
    assert ids == sorted(set(ids))
    assert {"m1", "m2", "m3"} <= set(ids)
    assert made.features["lexical_rank"].shape == made.features["substring_rank"].shape


def test_token_sets_are_of_the_gist_or_the_text_cut_at_the_snippet(table):
    setting = config({"substring": {"snippet_chars": 9}})
    made = table("ferry", setting, gists=[("m1", "开船")])
    sets = dict(zip(made.spans["memory_id"], made.token_sets, strict=True))
    assert sets["m1"] == {"开", "船", "开船"}
    assert sets["m2"] == {"no", "ferry"}  # "no ferry "


def test_with_the_lexical_arm_on_token_sets_are_its_own(table):
    made = table("ferry", config({"lexical": {}, "substring": {}}), gists=[("m1", "开船")])
    sets = dict(zip(made.spans["memory_id"], made.token_sets, strict=True))
    assert sets["m1"] == {"the", "north", "ferry", "leaves"}


def test_a_config_without_any_arm_is_told_of_all_three():
    with pytest.raises(ParameterError, match="at least one of dense, lexical, substring"):
        config({})


def test_its_weight_and_calibration_have_addresses():
    stages = [{"kind": "weighted", "calibration": {"substring": "saturate"},
               "weights": {"substring": 0.5}}]  # fmt: skip
    setting = checked(RankingConfig, {"arms": {"substring": {}}, "stages": stages})
    assert setting.stage("weighted").weights == {"substring": 0.5}
    with pytest.raises(ParameterError, match="names the arm 'substring'"):
        checked(RankingConfig, {"arms": {"lexical": {}}, "stages": [{"kind": "rrf",
                "weights": {"substring": 1.0}}]})  # fmt: skip
