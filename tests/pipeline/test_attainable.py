"""Attainable scores: no datum leaves them, and what they say of a config is worked out by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, get_args

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recalltune.candidates.settings import Arms, DenseArm, LexicalArm
from recalltune.errors import checked
from recalltune.pipeline.attainable import ghosts, row_bounds, score_bounds
from recalltune.pipeline.bounds import affine_bounds, arm_bounds
from recalltune.pipeline.config import RankingConfig, preset
from recalltune.pipeline.run import steps
from recalltune.pipeline.scales import scale_notices, score_text
from recalltune.pipeline.stage import ScoreStage, State
from recalltune.pipeline.stages import AnyStage, Recency, ReciprocalRank, Salience, Status
from recalltune.production.golden.one_query import one_query
from toy_candidates import LAYERS, filed, housed, remembered, toy

TABLES = [remembered(housed(filed(toy(seed), seed), seed), seed) for seed in range(4)]
KINDS = [kind for kind in get_args(get_args(AnyStage)[0]) if issubclass(kind, ScoreStage)]
unit = st.floats(0, 1)


def config(*stages: dict[str, Any], arms: tuple[str, ...] = ("dense", "lexical")) -> RankingConfig:
    whole = [*stages, {"kind": "select"}]
    values = {"layers": list(LAYERS), "arms": {arm: {} for arm in arms}, "stages": whole}
    return checked(RankingConfig, values)


def alive_after(stage: ScoreStage, table: Any, score: np.ndarray) -> np.ndarray:
    state = stage.apply(State(score=score, alive=table.valid), table)
    return state.score[state.alive]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_as_published_no_stage_leaves_its_bounds(kind: type[ScoreStage]) -> None:
    stage = kind(name="one")
    for seed, table in enumerate(TABLES):
        score = np.random.default_rng(seed).random(table.span.shape)
        low, high = stage.attainable(0.0, 1.0)
        after = alive_after(stage, table, score)
        assert (after >= low - 1e-9).all()
        assert (after <= high + 1e-9).all()


weighing = st.one_of(
    st.builds(lambda w: Recency(name="a", weight=w), st.floats(0, 10)),
    st.builds(lambda w: Salience(name="a", salience_weight=w), st.floats(0, 10)),
    st.builds(lambda s, r: Status(name="a", superseded_weight=s, retracted_weight=r), unit, unit),
)


@settings(max_examples=40)
@given(weighing, st.sampled_from(TABLES), st.tuples(st.floats(-2, 2), st.floats(-2, 2)))
def test_whatever_the_weight_and_the_sign_no_score_leaves_the_bounds(
    stage: ScoreStage, table: Any, ends: tuple[float, float]
) -> None:
    low, high = sorted(ends)
    score = np.random.default_rng(0).choice([low, high], table.span.shape)
    after = alive_after(stage, table, score)
    least, most = stage.attainable(low, high)
    assert (after >= least - 1e-9).all()
    assert (after <= most + 1e-9).all()


fusions = st.one_of(
    st.builds(
        lambda k, d, w: {"kind": "rrf", "rrf_k": k, "divisor": d, "weights": {"dense": w}},
        st.floats(0, 100),
        st.floats(0.5, 60),
        st.floats(0, 3),
    ),
    st.builds(
        lambda w, dense, lexical: {
            "kind": "weighted",
            "weights": {"lexical": w},
            "calibration": {"dense": dense, "lexical": lexical},
        },
        st.floats(0, 3),
        st.sampled_from(["raw", "min_max", "z_score", "logistic", "inverse_distance"]),
        st.sampled_from(["raw", "min_max", "z_score", "saturate", "logistic"]),
    ),
)


@settings(max_examples=40)
@given(fusions, st.integers(0, 30))
def test_a_fused_score_lies_between_the_bounds_of_its_arms(
    fusion: dict[str, Any], seed: int
) -> None:
    setting = config(fusion)
    table = toy(seed)
    low, high = score_bounds(setting)[0].after
    state = next(steps(table, setting))[2]
    # A toy has rows that no arm proposed; a table has none.
    proposed = ~np.isnan(table.feature("dense_rank")) | ~np.isnan(table.feature("lexical_rank"))
    after = state.score[state.alive & proposed]
    assert (after >= low - 1e-9).all()
    assert (after <= high + 1e-9).all()


def test_two_arms_first_in_both_is_the_most_reciprocal_ranks_can_give() -> None:
    arms = arm_bounds(Arms(dense=DenseArm(width=50), lexical=LexicalArm(width=20)))
    low, high = ReciprocalRank().fused(arms)
    assert high == pytest.approx(2 / 61, rel=1e-15)
    # Least: last of the wider arm alone.
    assert low == pytest.approx(1 / 110, rel=1e-15)
    # What a weight of 0 silences adds nothing.
    assert ReciprocalRank(weights={"dense": 0.0}).fused(arms) == (1 / 80, 1 / 61)


def test_bounds_of_an_affine_step_hold_for_either_sign_and_for_infinity() -> None:
    assert affine_bounds((-1.0, 2.0), scale=(0.5, 3.0), shift=(-1.0, 1.0)) == (-4.0, 7.0)
    assert affine_bounds((0.0, math.inf), scale=(0.0, 1.0)) == (0.0, math.inf)
    assert affine_bounds((0.2, 0.9), scale=(2.0, 2.0), clamp=(0.0, 1.0)) == (0.4, 1.0)


def test_the_recallnest_chain_can_hold_any_score_down_and_none_above_1() -> None:
    last = score_bounds(preset("recallnest"))[-1].after
    assert last[1] == 1.0
    assert last[0] < 0.1


@pytest.mark.parametrize(
    ("score", "text"), [(0.3, "0.30"), (2 / 61, "0.032787"), (1.0, "1.00"), (-0.125, "-0.125")]
)
def test_scores_are_told_to_six_decimals_and_two_at_least(score: float, text: str) -> None:
    assert score_text(score) == text


def test_the_bounds_of_a_row_follow_its_own_operands() -> None:
    old, young = {"age_days": 60.0}, {"age_days": 0.0}
    table = one_query([old | {"dense_rank": 1.0, "dense_score": 0.2}, young | {"dense_rank": 2.0}])
    setting = config(
        {"kind": "weighted", "calibration": {"dense": "inverse_distance"}},
        {"kind": "decay", "half_life_days": 30.0},
        arms=("dense",),
    )
    fused, decayed, _ = row_bounds(table, setting)
    # Any row may match or not: 1 / (2 - cosine) from cosine -1 to 1.
    assert (fused.low[0] == 1 / 3).all()
    assert (fused.high[0] == 1.0).all()
    np.testing.assert_allclose(decayed.high[0], [0.25, 1.0], rtol=1e-15)
    np.testing.assert_allclose(decayed.low[0], [0.25 / 3, 1 / 3], rtol=1e-15)


def ghost_table() -> Any:
    """Three memories of 60 days and one of today, at half-life 30: ceilings 0.25 and 1."""
    rows = [
        {"age_days": 60.0, "category": "events"},
        {"age_days": 60.0, "category": "cases"},
        {"age_days": 0.0, "category": "cases"},
        {"age_days": 60.0, "category": "fiction"},
    ]
    return one_query(
        [row | {"dense_rank": n + 1.0, "dense_score": 0.0} for n, row in enumerate(rows)]
    )


def test_a_row_whose_perfect_match_stays_below_its_minimum_is_a_ghost() -> None:
    setting = config(
        {"kind": "weighted", "calibration": {"dense": "inverse_distance"}},
        {"kind": "decay", "half_life_days": 30.0},
        {"kind": "category_minimum", "events": 0.2, "cases": 0.4, "other": 0.3},
        arms=("dense",),
    )
    found = {row["category"]: row for row in ghosts(ghost_table(), setting).to_dicts()}
    assert {name: (row["ghosts"], row["rows"]) for name, row in found.items()} == {
        "events": (0, 1),
        "cases": (1, 2),
        "fiction": (1, 1),
        "all": (2, 4),
    }
    assert found["cases"]["share"] == 0.5
    assert found["all"]["ghost_memories"] == 2


def test_a_ghost_for_one_question_only_is_no_ghost_always() -> None:
    # The same memory, asked for at 60 days and on its first day.
    table = ghost_table()
    both = replace(
        table,
        queries=pl.concat(
            [table.queries, table.queries.with_columns(pl.lit("later").alias("query_id"))]
        ),
        span=np.vstack([table.span, table.span]),
        features={name: np.vstack([v, v]) for name, v in table.features.items()}
        | {"age_days": np.vstack([table.features["age_days"], np.zeros((1, 4))])},
    )
    setting = config(
        {"kind": "weighted", "calibration": {"dense": "inverse_distance"}},
        {"kind": "decay", "half_life_days": 30.0},
        {"kind": "threshold", "min_score": 0.3},
        arms=("dense",),
    )
    total = ghosts(both, setting).filter(pl.col("category") == "all").row(0, named=True)
    assert (total["rows"], total["ghosts"]) == (8, 3)
    assert (total["memories"], total["ghost_memories"]) == (4, 0)


def test_a_config_that_asks_for_no_score_has_no_ghosts() -> None:
    assert ghosts(ghost_table(), config({"kind": "rrf"}, arms=("dense",))).is_empty()


def test_a_notice_of_a_profile_names_it_and_what_all_share_is_said_once() -> None:
    base = config({"kind": "rrf"}, {"kind": "threshold", "min_score": 0.05})
    setting = base.with_(profiles={"strict": {"threshold.min_score": 0.1}})
    assert [str(notice) for notice in scale_notices(setting)] == [
        "threshold.min_score: max attainable 0.032787 < min_score 0.05",
        "threshold.min_score: max attainable 0.032787 < min_score 0.10 (profile strict)",
    ]
    same = base.with_(profiles={"same": {"select.top_k": 3}})
    assert len(scale_notices(same)) == 1
