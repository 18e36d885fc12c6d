"""Rows in and out of every stage, why a list is empty, and whose rows fill it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import recalltune as rt
from recalltune.candidates.table import Candidates
from recalltune.errors import checked
from recalltune.evaluate.shown import rank
from recalltune.pipeline.config import RankingConfig, preset
from recalltune.pipeline.stage import FilterStage
from recalltune.replay.account import (
    WHY,
    displaced,
    emptied,
    floods,
    stage_account,
    worlds_seen,
)
from recalltune.replay.fate_views import loss_account
from recalltune.replay.fates import targets_of
from recalltune.replay.steps import Replay, replay
from recalltune.report.demo import demo_lab
from recalltune.store import MemorySpan, insert_rows, text_hash
from small_lab import Ask, Note, instant, make_lab
from toy_candidates import LAYERS, filed, housed, remembered, toy


def config(*stages: dict[str, Any]) -> RankingConfig:
    made = {"layers": list(LAYERS), "arms": {"lexical": {}, "dense": {}}, "stages": list(stages)}
    return checked(RankingConfig, made)


SELECT = {"kind": "select", "top_k": 3}


def everything(seed: int) -> Candidates:
    return housed(remembered(filed(toy(seed), seed), seed), seed)


@given(st.integers(0, 100), st.sampled_from(["recallnest", "openclaw", "lancedb-pro", "textbook"]))
@settings(max_examples=30)
def test_what_goes_in_less_what_is_removed_comes_out_and_goes_in_next(seed: int, name: str) -> None:
    table, setting = everything(seed), preset(name)
    account = stage_account(table, setting)
    shown = rank(table, setting)
    for row, query_id in enumerate(table.queries["query_id"].to_list()):
        mine = account.filter(pl.col("query_id") == query_id)
        assert mine["stage"].to_list() == [stage.name for stage in setting.stages]
        flow = int(table.valid[row].sum())
        for step in mine.iter_rows(named=True):
            assert step["in"] == flow
            flow = flow - step["removed"] + step["returned"]
            assert step["out"] == flow
        assert flow == int((shown.order[row] >= 0).sum())
    dropped = dict(account.group_by("stage").agg(pl.col("removed").sum()).iter_rows())
    for stage in setting.stages:
        if isinstance(stage, FilterStage):
            assert dropped[stage.name] == shown.filtered[stage.name]


@pytest.mark.parametrize(
    ("stages", "world", "why"),
    [
        ([SELECT], 9, None),
        ([{"kind": "threshold", "min_score": 9.0}, SELECT], 9, "below_threshold"),
        ([{"kind": "active"}, SELECT], 9, "suppressed"),
        ([{"kind": "select", "top_k": 3, "budget_tokens": 1}], 9, "quota_or_budget"),
        ([SELECT, {"kind": "block", "budget_chars": 0}], 9, "quota_or_budget"),
        ([{"kind": "skip_trivial"}, SELECT], 9, "suppressed"),
    ],
)
def test_the_last_stage_that_takes_the_rest_says_why_a_list_is_empty(
    stages: list[dict[str, Any]], world: int, why: str | None
) -> None:
    table = everything(1)
    table = replace(
        table,
        queries=table.queries.with_columns(pl.lit("hi").alias("text")),
        features={
            **table.features,
            "tokens": np.full(table.span.shape, 7),
            "superseded": np.ones(table.span.shape),
        },
    )
    gate = [stage for stage in stages if stage["kind"] == "skip_trivial"]
    rest = [stage for stage in stages if stage["kind"] != "skip_trivial"]
    account = stage_account(table, config(*gate, {"kind": "rrf"}, *rest))
    worlds = table.queries.select("query_id", pl.lit(world).alias("world"))
    told = emptied(account, worlds)
    assert set(told["why"]) == {why}
    assert why is None or why in WHY


def test_nothing_there_and_nothing_found_are_no_fault_of_a_stage() -> None:
    table = toy(0)
    empty = replace(table, span=np.full(table.span.shape, -1))
    account = stage_account(empty, config({"kind": "rrf"}, SELECT))
    for world, why in ((0, "empty_world"), (5, "no_evidence")):
        worlds = table.queries.select("query_id", pl.lit(world).alias("world"))
        assert set(emptied(account, worlds)["why"]) == {why}


def test_a_minimum_that_gives_everything_back_empties_no_list() -> None:
    table = everything(2)
    stages = [{"kind": "rrf"}, {"kind": "similarity_minimum", "min_score": 1.0}, SELECT]
    worlds = table.queries.select("query_id", pl.lit(9).alias("world"))
    assert emptied(stage_account(table, config(*stages)), worlds)["why"].null_count() == 4


def test_a_flood_is_the_share_of_one_session_beside_its_share_of_the_candidates() -> None:
    table = toy(0, queries=1, columns=8)
    sessions = ["a", "a", "a", "b", "b", "c", None, None]
    filler = [None] * (table.spans.height - 8)
    table = replace(
        table,
        span=np.arange(8)[None, :],
        spans=table.spans.with_columns(pl.Series("session", sessions + filler)),
    )
    [told] = floods(table, np.array([[0, 1, 2, 3, 7, -1]])).to_dicts()
    assert told["largest_session_share"] == 3 / 4
    assert told["candidate_session_share"] == 3 / 6
    assert told["effective_sessions"] == pytest.approx(1 / ((3 / 4) ** 2 + (1 / 4) ** 2))
    assert told["without_session"] == 1
    [none] = floods(table, np.array([[6, 7, -1]])).to_dicts()
    assert (none["largest_session_share"], none["effective_sessions"]) == (None, None)
    assert none["without_session"] == 2
    [empty] = floods(table, np.array([[-1]])).to_dicts()
    assert empty["without_session"] == 0
    # Of equals it is the first by name, whatever the order of the list.
    [tie] = floods(table, np.array([[3, 4, 1, 0]])).to_dicts()
    assert tie["candidate_session_share"] == 3 / 6


def test_displaced_are_those_that_only_a_floor_keeps_out() -> None:
    table = toy(0, queries=1, columns=5)
    table = replace(
        table,
        span=np.arange(5)[None, :],
        features={
            **table.features,
            "dense_rank": np.array([[1.0, 2, 3, 4, 5]]),
            "lexical_rank": np.full((1, 5), np.nan),
            "layer": np.array([[0, 0, 0, 1, 2]]),
            "tokens": np.ones((1, 5), dtype=np.int64),
        },
    )
    floors = {"kind": "select", "top_k": 3, "floors": {"user": 1, "project": 1}}
    told = displaced(table, config({"kind": "rrf"}, floors))
    assert told.to_dicts() == [{"query_id": "q0", "layer": "log", "displaced": 2}]
    assert displaced(table, config({"kind": "rrf"}, SELECT)).height == 0


def assert_all_adds_up(walked: Replay) -> None:
    """Every account of a replay against the lists it shows, and the fates against the labels."""
    wanted = set(targets_of(walked.candidates).iter_rows())
    hits = set(walked.hits.select("query_id", "memory_id").iter_rows())
    shown = walked.fates.filter(pl.col("fate") == "shown").select("query_id", "memory_id")
    assert walked.fates.height == len(wanted)
    assert set(shown.iter_rows()) == wanted & hits
    assert int(loss_account(walked.fates, walked.config)["lost"].sum()) == len(wanted) - len(shown)
    accounts = list(walked.objects())
    assert len(accounts) == walked.steps.height
    for account in accounts:
        flow = account["union"]
        for stage in account["stages"]:
            assert stage["in"] == flow
            flow = stage["in"] - stage["removed"] + stage["returned"]
            assert stage["out"] == flow
        layers = account["layers"]
        assert flow == len(account["shown"]) == sum(layer["picked"] for layer in layers)
        assert account["union"] == sum(layer["candidates"] for layer in layers)
        assert account["tokens"] == sum(layer["tokens"] for layer in layers)
        assert account["abstained"] == (account["why"] is not None) == (not account["shown"])
        for arm in account["arms"].values():
            assert arm["returned"] <= arm["touched"] <= account["N"]


LEXICAL = checked(
    RankingConfig,
    {
        "arms": {"lexical": {"width": 50}},
        "stages": [
            {"kind": "rrf"},
            {"kind": "threshold", "min_score": 0.0125},
            {"kind": "decay", "family": "exponential"},
            {"kind": "mmr", "lambda_": 0.7, "similarity": "jaccard", "pool": 20},
            {"kind": "select", "top_k": 10, "budget_tokens": 300, "floors": {"project": 2}},
        ],
    },
)


@pytest.mark.slow
def test_every_account_of_the_demo_adds_up(tmp_path: Path, root: Path) -> None:
    lab, _, _ = demo_lab(root / "data", tmp_path / "l.duckdb")
    walked = replay(lab, LEXICAL, cases="demo")
    assert_all_adds_up(walked)
    assert_all_adds_up(replay(lab, LEXICAL))
    assert {"shown", "limit", "threshold"} <= set(walked.fates["fate"])


def test_a_status_that_came_later_is_not_unknown_before_it(tmp_path: Path) -> None:
    asks = [Ask("early", "tea", 2.0), Ask("late", "tea", 10.0)]
    notes = [Note("dated", "old tea", leaves=5.0, superseded=None), Note("never", "green tea")]
    lab = make_lab(tmp_path / "l.duckdb", notes, asks)
    with lab.writing() as con:
        # What `dated` says from day 5 on is superseded on day 8; of `never` nobody knows when.
        latest = MemorySpan(
            memory_id="dated", version=2, text_hash=text_hash("green tea"), scope="team",
            known_at=instant(5.0), superseded_at=instant(8.0),
        )  # fmt: skip
        insert_rows(con, [latest])
        con.execute("update memory set status = 'superseded'")
    table = rt.candidates(lab, "s", config({"kind": "rrf"}).with_(arms={"lexical": {}}))
    assert table.corpus is not None
    seen = worlds_seen(table, table.corpus)
    assert seen["world"].to_list() == [2, 2]
    assert seen["unknown_status"].to_list() == [1, 1]


@pytest.mark.shared
@pytest.mark.stress
def test_every_account_of_locomo_adds_up(tmp_path: Path, shared: Path) -> None:
    lab = rt.open(tmp_path / "l.duckdb")
    rt.ingest(lab, [shared / "data" / "locomo" / "locomo.json"])
    walked = replay(lab, LEXICAL, cases="locomo")
    assert_all_adds_up(walked)
    assert walked.steps["effective_sessions"].null_count() == 0
    assert {"shown", "arms", "limit", "threshold", "budget"} <= set(walked.fates["fate"])
