"""Bug bank A1, A2, A3, F45, L71: numbers that stand outside the scale they are compared on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import recalltune as rt
from recalltune.errors import checked
from recalltune.evaluate.cautions import cautions
from recalltune.evaluate.run import Evaluation
from recalltune.evaluate.shown import rank
from recalltune.pipeline.config import RankingConfig
from recalltune.pipeline.scales import scale_notices
from recalltune.pipeline.stages import Threshold
from recalltune.production.golden.one_query import one_query
from recalltune.report.terminal import evaluation_lines
from small_lab import Ask, Note, WordEncoder, make_lab
from toy_candidates import LAYERS, toy

CALIBRATED = {"dense": "inverse_distance", "lexical": "min_max"}


def config(*stages: dict[str, Any], arms: tuple[str, ...] = ("dense", "lexical")) -> RankingConfig:
    whole = [*stages, {"kind": "select"}]
    values = {"layers": list(LAYERS), "arms": {arm: {} for arm in arms}, "stages": whole}
    return checked(RankingConfig, values)


def told(setting: RankingConfig) -> list[str]:
    return [str(notice) for notice in scale_notices(setting)]


def evaluated(folder: Path, notes: list[Note], query: str, setting: RankingConfig) -> Evaluation:
    lab = make_lab(folder / "lab.duckdb", notes, [Ask("q", query, 9.0, (notes[0].memory_id,))])
    table = rt.candidates(lab, "s", setting, encoder=WordEncoder())
    return rt.evaluate(table, setting, metrics=("recall@10", "recall@50", "ndcg@50"))


# --- A1 ------------------------------------------------------------------------------------------

BLEND = (
    {
        "kind": "weighted",
        "weights": {"dense": 0.7, "lexical": 0.3},
        "calibration": CALIBRATED,
    },
    {"kind": "threshold", "min_score": 0.35},
)


def test_a_minimum_that_one_arm_cannot_reach_is_told_before_anything_is_run() -> None:
    """A1. Kind: threshold makes one arm unreachable."""
    assert told(config(*BLEND)) == [
        "threshold.min_score: lexical-only hits can reach at most 0.30 < 0.35"
    ]
    # At 0.3 they can.
    assert told(config(BLEND[0], {"kind": "threshold", "min_score": 0.3})) == []


def test_a_run_says_what_its_config_cannot_reach_and_what_it_dropped(tmp_path: Path) -> None:
    """A1. Kind: threshold makes one arm unreachable."""
    lexical = config(
        {"kind": "weighted", "weights": {"lexical": 0.3}, "calibration": {"lexical": "min_max"}},
        {"kind": "threshold", "min_score": 0.35},
        arms=("lexical",),
    )
    found = evaluated(tmp_path, [Note("a", "ticket HX-4471 closed")], "HX-4471", lexical)
    assert found.hits.is_empty()
    assert found.counts["dropped_by_threshold"] == 1
    assert found.counts["scale_notices"] == 1
    assert "notice: threshold.min_score: max attainable 0.30 < min_score 0.35" in evaluation_lines(
        found
    )
    assert "max attainable 0.30" in found.to_json()


# --- A2 ------------------------------------------------------------------------------------------


def test_a_minimum_above_every_reciprocal_rank_is_told() -> None:
    """A2. Kind: threshold on the wrong scale (RRF)."""
    assert told(config({"kind": "rrf"}, {"kind": "threshold", "min_score": 0.05})) == [
        "threshold.min_score: max attainable 0.032787 < min_score 0.05"
    ]
    assert Threshold().min_score == 0.0
    assert told(config({"kind": "rrf"}, {"kind": "threshold"})) == []


def test_a_minimum_below_every_similarity_is_told_to_do_nothing() -> None:
    """A2. Kind: threshold on the wrong scale, from the other side."""
    setting = config(
        {"kind": "weighted", "calibration": {"dense": "inverse_distance"}},
        {"kind": "threshold", "min_score": 0.3},
        arms=("dense",),
    )
    assert told(setting) == [
        "threshold.min_score: no score is below 0.333333, so 0.30 does not bind"
    ]


# --- A3 ------------------------------------------------------------------------------------------

HALVED = {"kind": "status", "superseded_weight": 0.5}
ASKED = {"kind": "threshold", "min_score": 0.7}
MIN_MAX = {"kind": "weighted", "calibration": {"dense": "min_max"}}


def shown_and_below(*stages: dict[str, Any]) -> tuple[int, float, int]:
    """How many rows are shown, the score of the one there is, how many are below a minimum."""
    table = one_query([{"dense_rank": 1.0, "dense_score": 1.0, "superseded": 1.0}])
    setting = config(*stages, arms=("dense",))
    shown = rank(table, setting)
    counted = cautions(table, setting, shown.order, shown.score, ())
    return int((shown.order >= 0).sum()), shown.score[0, 0], counted["shown_below_min_score"]


def test_the_minimum_holds_for_the_score_that_is_shown() -> None:
    """A3. Kind: threshold applied before the last multiplier."""
    # Fused 1.0, halved: shown 0.5 under 0.7, so it is not returned.
    assert shown_and_below(MIN_MAX, HALVED, ASKED) == (0, 0.5, 0)
    # Asked before the factor it is returned, and that is told before the run and counted in it.
    assert shown_and_below(MIN_MAX, ASKED, HALVED) == (1, 0.5, 1)
    assert told(config(MIN_MAX, ASKED, HALVED, arms=("dense",))) == [
        "threshold.min_score: stands before status: a row that reaches 0.70 can be shown with 0.35"
    ]
    assert told(config(MIN_MAX, HALVED, ASKED, arms=("dense",))) == []


@settings(max_examples=30)
@given(st.integers(0, 50), st.floats(0, 0.04), st.floats(0, 1))
def test_no_row_is_shown_below_a_minimum_that_stands_last(
    seed: int, min_score: float, weight: float
) -> None:
    """A3. Kind: threshold applied before the last multiplier."""
    setting = config(
        {"kind": "rrf"},
        {"kind": "status", "superseded_weight": weight},
        {"kind": "decay"},
        {"kind": "threshold", "min_score": min_score},
    )
    table = toy(seed)
    shown = rank(table, setting)
    assert cautions(table, setting, shown.order, shown.score, ())["shown_below_min_score"] == 0


# --- F45 -----------------------------------------------------------------------------------------


def test_a_bonus_larger_than_the_relevance_is_told_and_a_factor_keeps_the_match_first() -> None:
    """F45. Kind: additive boost larger than the score scale."""
    old = {"age_days": 10_000.0, "dense_rank": 1.0, "lexical_rank": 1.0}
    new = {"age_days": 0.0, "dense_rank": 2.0, "lexical_rank": None}
    table = one_query([old | {"lexical_score": 1.0}, new])

    def first(*stages: dict[str, Any]) -> int:
        return int(rank(table, config({"kind": "rrf"}, *stages)).order[0, 0])

    added = {"kind": "recency_boost", "weight": 0.1}
    # 1/62 + 0.1 over 2/61.
    assert first(added) == 1
    assert told(config({"kind": "rrf"}, added)) == [
        "recency_boost: boost 0.1 is 3.05x the attainable relevance 0.032787"
    ]
    # 1/62 * 1.1 under 2/61.
    multiplied = {"kind": "recency", "weight": 0.1}
    assert first(multiplied) == 0
    assert told(config({"kind": "rrf"}, multiplied)) == []


# --- L71 -----------------------------------------------------------------------------------------


def test_a_cutoff_that_covers_all_candidates_is_flagged_beside_the_number(tmp_path: Path) -> None:
    """L71. Kind: k at least as large as the pool."""
    notes = [Note(f"m{n:02d}", f"server room {n}") for n in range(25)]
    found = evaluated(tmp_path, notes, "server", config({"kind": "rrf"}, arms=("lexical",)))
    assert found.counts["not_informative_recall@50"] == 1
    assert found.counts["not_informative_recall@10"] == 0
    lines = {line.split()[0]: line for line in evaluation_lines(found)}
    assert "not informative: k >= candidates (1/1)" in lines["recall@50"]
    assert "not informative" not in lines["recall@10"]
    # The order of 25 candidates still decides it.
    assert "not informative" not in lines["ndcg@50"]


@pytest.mark.parametrize(("pool", "flagged"), [(49, 1), (50, 1), (51, 0)])
def test_the_cutoff_itself_counts_as_covered(pool: int, flagged: int) -> None:
    """L71. Kind: k at least as large as the pool."""
    table = one_query([{"dense_rank": n + 1.0, "dense_score": 0.0} for n in range(pool)])
    setting = config({"kind": "rrf"}, arms=("dense",))
    shown = rank(table, setting)
    counted = cautions(table, setting, shown.order, shown.score, ("recall@50", "map"))
    assert counted["not_informative_recall@50"] == flagged
    assert "not_informative_map" not in counted
