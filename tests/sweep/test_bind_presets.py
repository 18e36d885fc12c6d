"""What binds in the presets of production systems, on the demo corpus, and what is known not to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import recalltune as rt
from recalltune.pipeline.attainable import ghosts
from recalltune.pipeline.config import preset
from recalltune.pipeline.scales import scale_notices
from recalltune.report.binding import account_of, binding_lines
from recalltune.sweep.abstain import abstention
from recalltune.sweep.leads import leads

pytestmark = [pytest.mark.slow, pytest.mark.model]


@pytest.fixture(scope="module")
def lab(root: Path, tmp_path_factory: pytest.TempPathFactory) -> rt.Lab:
    lab = rt.open(tmp_path_factory.mktemp("presets") / "lab.duckdb")
    rt.ingest(lab, [root / "data" / name for name in ("connector", "memory", "transcripts")])
    rt.load_cases(lab, root / "data" / "cases" / "demo.json", case_set="demo")
    return lab


@pytest.fixture(scope="module")
def table(lab: rt.Lab) -> Any:
    return rt.candidates(lab, "demo", preset("recallnest"))


@pytest.fixture(scope="module")
def recallnest(table: Any) -> dict[str, dict[str, Any]]:
    found = rt.bind(table, preset("recallnest"))
    return {row["address"]: row for row in found.to_dicts()}


def test_min_score_does_nothing_where_it_stands_in_vector_mode(
    recallnest: dict[str, dict[str, Any]],
) -> None:
    row = recallnest["similarity_minimum.min_score"]
    assert row["verdict"] == "binds above"
    assert (row["low"], row["lists_below"], row["queries"]) == (pytest.approx(1 / 3), 0.0, 213)
    assert row["reason"].startswith("no score is below 0.333333, so 0.30 does not bind")
    # It would, higher up: the range is not what is wrong with it.
    assert row["lists_above"] > 0.5


def test_the_hard_minimum_reaches_no_memory_under_the_map_of_categories(
    recallnest: dict[str, dict[str, Any]],
) -> None:
    hard = recallnest["category_minimum.other"]
    assert (hard["verdict"], hard["lists"], hard["reach"]) == ("never binds", 0.0, 0.0)
    assert hard["reason"] == "reaches no candidate"
    # Those of the categories do, events most: memories without a category are filed there.
    assert recallnest["category_minimum.events"]["reach"] > 0.7
    assert recallnest["category_minimum.patterns"]["verdict"] == "binds"


def test_the_weights_of_two_arms_do_nothing_where_one_is_on(
    recallnest: dict[str, dict[str, Any]],
) -> None:
    for arm in ("dense", "lexical"):
        row = recallnest[f"recallnest_fusion.{arm}_weight"]
        assert (row["verdict"], row["lists"], row["scores"]) == ("never binds", 0.0, 0.0)


def test_what_decides_binds(recallnest: dict[str, dict[str, Any]]) -> None:
    live = ("recency_boost.weight", "importance.base", "tier_decay.half_life_days", "select.top_k")
    assert {recallnest[address]["verdict"] for address in live} == {"binds"}
    assert min(recallnest[address]["lists"] for address in live) > 0.5


def test_a_pool_beyond_what_the_store_returns_saturates(lab: rt.Lab) -> None:
    found = rt.bind(lab, preset("recallnest"), cases="demo", most_queries=16)
    rows = {row["address"]: row for row in found.to_dicts()}
    pool, limit = rows["arms.dense.width"], rows["arms.dense.store_limit"]
    assert (pool["value"], pool["verdict"], pool["lists_above"]) == ("30", "always saturates", 0.0)
    assert pool["lists_below"] > 0.5
    assert (limit["value"], limit["verdict"]) == ("20", "binds")


def test_no_minimum_lets_recallnest_answer_with_nothing(lab: rt.Lab, table: Any) -> None:
    found = abstention(table, preset("recallnest"))
    assert found.height == 9
    assert set(found["cases"]) == {10}
    assert set(found["empty_at_most"]) == {0.0}
    ancestor = preset("lancedb-pro")
    other = abstention(rt.candidates(lab, "demo", ancestor), ancestor)
    assert set(other["empty_at_most"]) == {1.0}


def test_some_memories_no_question_finds_however_well_they_match(table: Any) -> None:
    found = ghosts(table, preset("recallnest")).filter(pl.col("stage") == "category_minimum")
    rows = {row["category"]: row for row in found.to_dicts()}
    assert rows["all"]["ghosts"] == sum(r["ghosts"] for name, r in rows.items() if name != "all")
    assert 0.05 < rows["all"]["share"] < 0.3
    # Never faded, and asked for least.
    assert rows["patterns"]["ghosts"] == rows["preferences"]["ghosts"] == 0


def test_one_place_of_the_layer_arm_flips_no_lead_of_one_rank(lab: rt.Lab) -> None:
    config = preset("dsh-auto-memory")
    found = leads(rt.candidates(lab, "demo", config), config)
    layer = found.filter((pl.col("arm") == "layer") & (pl.col("places") == "1, no deeper"))
    assert layer["pairs"].sum() > 20
    assert layer["flipped"].sum() == 0
    # By many places it does: sixteen project rows put a log row sixteen places down.
    many = found.filter((pl.col("arm") == "layer") & (pl.col("places") == "more"))
    assert many["flipped"].sum() == many["pairs"].sum() > 1_000


def test_a_keyword_hit_alone_could_not_reach_the_minimum_of_the_old_openclaw() -> None:
    """Issue 25183, which its relaxed_score answers."""
    assert [str(notice) for notice in scale_notices(preset("openclaw-legacy"))] == [
        "openclaw_minimum.min_score: lexical-only hits can reach at most 0.30 < 0.35"
    ]


def test_the_account_fits_on_a_terminal_and_says_each_of_these(lab: rt.Lab) -> None:
    account = account_of(lab, "demo", preset("recallnest"), most_queries=16)
    lines = binding_lines(account)
    assert max(map(len, lines)) <= 100
    text = "\n".join(lines)
    assert "notice: similarity_minimum.min_score: no score is below 0.333333" in text
    assert "structural ghosts of category_minimum" in text
    assert "abstaining: of 10 questions with nothing to find 0% get an empty list" in text
    assert f"untrusted: 0 of {account.shown:,} items shown" in text
    record = account.record()
    assert record["cases"] == 213
    assert {row["verdict"] for row in record["parameters"]} == {
        "binds",
        "always saturates",
        "binds above",
        "not seen to bind",
        "not tried",
    }
