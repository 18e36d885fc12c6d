"""memory-lancedb-pro, RecallNest's ancestor: values worked by hand, and its two presets."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from recalltune.pipeline.address import addresses
from recalltune.pipeline.config import preset
from recalltune.pipeline.run import run
from recalltune.pipeline.stages import CompositeDecay, HalfFloorDecay, LanceDbFusion
from recalltune.production.golden.one_query import applied, one_query

ENGINE, PLAIN = "lancedb-pro", "lancedb-pro-plain"


def score(stage: Any, row: dict[str, Any], before: float = 0.8) -> float:
    stage = stage.with_(name="stage")
    return float(applied([stage], one_query([row]), [before])[-1].score[0, 0])


def arms(cosine: float | None, raw: float | None) -> dict[str, float | None]:
    return {
        "dense_score": cosine,
        "dense_rank": None if cosine is None else 1.0,
        "lexical_score": raw,
        "lexical_rank": None if raw is None else 1.0,
    }


def test_a_missing_arm_costs_its_weight_but_keywords_alone_are_not_weighted() -> None:
    fusion = LanceDbFusion()
    # cosine 0.5 -> 2/3; raw 0 -> 1/2, which is under 0.75
    assert score(fusion, arms(0.5, 0.0)) == pytest.approx(0.7 * 2 / 3 + 0.3 * 0.5)
    assert score(fusion, arms(0.5, None)) == pytest.approx(0.7 * 2 / 3)
    assert score(fusion, arms(None, 0.0)) == pytest.approx(0.5)


def test_an_exact_keyword_match_keeps_most_of_its_score() -> None:
    raw = 5 * math.log(0.76 / 0.24)  # the logistic of raw / 5 is 0.76
    assert score(LanceDbFusion(), arms(-1.0, raw)) == pytest.approx(0.92 * 0.76)
    low = 5 * math.log(0.74 / 0.26)
    assert score(LanceDbFusion(), arms(-1.0, low)) == pytest.approx(0.7 / 3 + 0.3 * 0.74)
    assert score(LanceDbFusion(rescue_share=0.0), arms(-1.0, raw)) == pytest.approx(
        0.7 / 3 + 0.3 * 0.76
    )


def test_the_engine_multiplies_by_the_best_of_floor_composite_and_recency() -> None:
    row = {"age_days": 30.0, "salience": 0.0, "confidence": 1.0, "tier": "working"}
    # Recency 1/2 at 30 days, composite 0.4 * 0.5 = 0.2, floor 0.7: 0.3 + 0.7 * 0.7 = 0.79
    assert score(CompositeDecay(), row) == pytest.approx(0.8 * 0.79, rel=1e-12)
    found = CompositeDecay().lifecycle(one_query([row]))
    assert found.composite[0, 0] == pytest.approx(0.2, rel=1e-12)
    # A memory just made: recency 1 beats every floor.
    assert score(CompositeDecay(), {**row, "age_days": 0.0}) == 0.8
    # No tier of its own is working.
    assert score(CompositeDecay(), {**row, "tier": ""}) == score(CompositeDecay(), row)


def test_days_count_from_the_last_use_and_a_dynamic_memory_fades_three_times_as_fast() -> None:
    row = {"age_days": 90.0, "salience": 0.0, "confidence": 1.0, "tier": "working"}
    used = {**row, "access_count": 1.0, "days_since_access": 30.0}

    def recency(row: dict[str, Any]) -> float:
        return float(CompositeDecay().lifecycle(one_query([row])).recency[0, 0])

    assert recency(used) == pytest.approx(0.5, rel=1e-12)
    assert recency(row) == pytest.approx(2**-3, rel=1e-12)
    dynamic = {**row, "age_days": 10.0, "temporal_type": "dynamic"}
    assert recency(dynamic) == pytest.approx(0.5, rel=1e-12)
    assert recency({**dynamic, "temporal_type": "static"}) == pytest.approx(2 ** -(1 / 3))


def test_a_missing_importance_or_confidence_is_seven_tenths() -> None:
    engine = preset(ENGINE).stage("composite_decay")
    found = engine.lifecycle(one_query([{"age_days": 1.0}, {"age_days": 1.0, "salience": 0.5}]))
    np.testing.assert_allclose(found.intrinsic[0], [0.49, 0.35], rtol=1e-12)
    assert score(preset(PLAIN).stage("importance"), {}) == pytest.approx(0.8 * (0.7 + 0.3 * 0.7))


def test_a_memory_without_event_time_is_left_unchanged_by_both_decays() -> None:
    row = {"salience": 0.2, "access_count": 4.0, "days_since_access": 50.0}
    for stage in (CompositeDecay(), HalfFloorDecay()):
        assert score(stage, row, 0.37) == 0.37
        assert score(stage, {**row, "age_days": 300.0}, 0.37) < 0.37


def test_half_of_a_score_never_fades_and_use_slows_the_rest() -> None:
    row = {"age_days": 60.0}
    assert score(HalfFloorDecay(), row) == pytest.approx(0.8 * (0.5 + 0.5 / math.e))
    # m = 60 + 60 * 0.5 * ln(1 + 1 * 2^-1), one access a half-life ago
    used = {**row, "access_count": 1.0, "days_since_access": 30.0}
    stretched = 60 * (1 + 0.5 * math.log(1.5))
    expected = 0.8 * (0.5 + 0.5 * math.exp(-60 / stretched))
    assert score(HalfFloorDecay(), used) == pytest.approx(expected, rel=1e-12)
    # Dynamic: m = 20
    dynamic = preset(PLAIN).stage("half_floor_decay")
    assert score(dynamic, {**row, "temporal_type": "dynamic"}) == pytest.approx(
        0.8 * (0.5 + 0.5 * math.exp(-3))
    )


@pytest.mark.parametrize("name", [ENGINE, PLAIN])
def test_the_presets_have_the_published_arms_and_minima(name: str) -> None:
    config = preset(name)
    values = addresses(config)
    assert (values["arms.dense.width"], values["arms.lexical.width"]) == (20, 20)
    assert (values["arms.lexical.k1"], values["arms.lexical.b"]) == (1.2, 0.75)
    rows = [{}] * 21
    pool = applied([config.stage("rerank_pool")], one_query(rows), list(np.linspace(1, 0, 21)))
    assert int(pool[-1].alive.sum()) == 20
    for stage, minimum in (("minimum", 0.3), ("hard_minimum", 0.35)):
        table = one_query([{}, {}])
        kept = applied([config.stage(stage)], table, [minimum, minimum - 1e-9])[-1].alive
        assert kept.tolist() == [[True, False]]


def test_without_the_engine_recency_adds_up_to_a_tenth() -> None:
    recency = preset(PLAIN).stage("recency_boost")
    assert score(recency, {"age_days": 14.0}, 0.5) == pytest.approx(0.5 + 0.1 / math.e)
    assert score(recency, {"age_days": 0.0, "days_ahead": 14.0}, 0.5) == pytest.approx(
        0.5 + 0.1 * math.e
    )


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # fused 0.7 + 0.3/2 = 0.85; 0.7 * 0.85 + 0.3 = 0.895; recency 1: unchanged
        (ENGINE, 0.895),
        # + 0.1, importance 1, age 0
        (PLAIN, 0.995),
    ],
)
def test_a_whole_run(name: str, expected: float) -> None:
    row = arms(1.0, 0.0) | {"age_days": 0.0, "salience": 1.0}
    table = one_query([row, arms(-1.0, None)], text="tea", vectors=[[1, 0], [-1, 0]])
    state = run(table, preset(name))
    assert state.score[0, 0] == pytest.approx(expected, rel=1e-12)
    # 0.7 / 3 is under minScore.
    assert state.alive.tolist() == [[True, False]]
