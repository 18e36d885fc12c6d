"""Frames of a replay: numbered steps, what was injected, whose targets are followed."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

import recalltune as rt
from recalltune.errors import ContractError
from recalltune.replay.step_views import (
    followed,
    injected,
    numbered,
    targets_by_step,
    telling_step,
)
from walked import ASKS, NOTES, config, make_walk_lab, walk

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    return make_walk_lab(tmp_path_factory.mktemp("views") / "l.duckdb")


@pytest.fixture(scope="module")
def walked(tmp_path_factory):
    return walk(tmp_path_factory.mktemp("walk") / "l.duckdb")


def test_steps_are_numbered_by_time_across_sessions(walked):
    backwards = replace(walked, steps=walked.steps.reverse())
    for one in (walked, backwards):
        steps = numbered(one)
        assert steps["round"].to_list() == [1, 2, 3, 4]
        assert steps["query_id"].to_list() == ["t1", "t2", "t3", "t4"]
        assert steps["part"].to_list() == ["2026-01-04", "2026-01-06", "2026-01-07", "2026-01-08"]


def test_what_is_injected_adds_up_to_the_steps(walked):
    frame = injected(walked)
    sums = frame.group_by("round").agg(pl.col("tokens", "dropped", "oversize").sum()).sort("round")
    # The last turn finds nothing, so it has no layer with a candidate.
    expected = numbered(walked).filter(pl.col("candidates") > 0)
    assert sums["round"].to_list() == [1, 2, 3]
    for name in ("tokens", "dropped", "oversize"):
        assert sums[name].to_list() == expected[name].to_list()
    assert frame.filter(pl.col("layer") == "whiteboard")["oversize"].to_list() == [1, 1, 1]


def test_turns_are_followed_for_cases_of_the_same_words_and_moment(walked):
    fates = walked.fates.select("query_id", "memory_id", "fate").to_dicts()
    assert {(row["query_id"], row["memory_id"], row["fate"]) for row in fates} == {
        ("t1", "old", "limit"),
        ("t1", "later", "not_yet"),
        ("t1", None, "scope"),
        # A memory nobody was told of is as unknown as one that is not there.
        ("t1", None, "unknown_id"),
        ("t2", "new", "shown"),
    }
    # Neither a held-out case nor one of another moment is followed.
    assert walked.steps["asks"].to_list() == [
        "answerable",
        "answerable",
        "not_judged",
        "not_judged",
    ]


def test_following_changes_no_list(lab, walked):
    plain = rt.replay(lab, config(), scope="team")
    assert walked.hits.equals(plain.hits)
    assert walked.accounts.equals(plain.accounts)


def test_a_label_that_judges_nothing_is_no_target_of_a_step(walked):
    assert targets_by_step(walked).rows() == [(1, False), (2, True)]


def test_the_telling_step_loses_a_candidate(walked):
    assert telling_step(walked) == "t1"
    unlabelled = replace(walked, fates=walked.fates.clear())
    assert telling_step(unlabelled) == "t1"
    shown = replace(walked, fates=walked.fates.filter(pl.col("fate") == "shown"))
    assert telling_step(shown) == "t2"


def test_walks_of_other_configs_or_labs_are_not_joined(lab, walked, tmp_path):
    other = rt.set_many(config(), {"select.top_k": 3})
    with pytest.raises(ContractError, match="one config"):
        followed(walked, rt.replay(lab, other, cases="s"))
    fewer = make_walk_lab(tmp_path / "m.duckdb")
    with fewer.writing() as con:
        con.execute("delete from label")
    with pytest.raises(ContractError, match="the data differ"):
        followed(walked, rt.replay(fewer, config(), cases="s"))


def test_the_corpus_is_what_the_tests_take_it_for():
    assert {target for ask in ASKS for target in ask.targets} <= {note.memory_id for note in NOTES}
