"""Generative Agents' paper score, worked by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recalltune.pipeline.config import preset
from recalltune.pipeline.stages import PaperScore
from recalltune.production.golden.one_query import applied, one_query

PAPER = PaperScore(name="generative_agents")


def scores(stage, rows):
    table = one_query([{"dense_rank": 1, **row} for row in rows])
    return applied([stage], table, [0.0] * len(rows))[-1].score[0]


def test_each_part_is_stretched_over_the_candidates_and_added():
    rows = [
        {"age_days": 0, "salience": 0.2, "dense_score": 0.9},
        {"age_days": 1, "salience": 0.8, "dense_score": 0.5},
        {"age_days": 2, "salience": 0.5, "dense_score": 0.1},
    ]
    a, b, c = (0.995**hours for hours in (0, 24, 48))
    expected = [1 + 0 + 1, (b - c) / (a - c) + 1 + 0.5, 0 + 0.5 + 0]
    np.testing.assert_allclose(scores(PAPER, rows), expected, rtol=1e-12)


def test_the_last_use_counts_and_not_the_birth():
    stage = PAPER.with_(importance_weight=0.0, relevance_weight=0.0)
    rows = [
        {"age_days": 90, "access_count": 1, "days_since_access": 1, "dense_score": 0.5},
        {"age_days": 2, "dense_score": 0.5},
        {"age_days": 3, "dense_score": 0.5},
    ]
    a, b, c = (0.995**hours for hours in (24, 48, 72))
    np.testing.assert_allclose(scores(stage, rows), [1, (b - c) / (a - c), 0], rtol=1e-12)


def test_half_is_left_after_138_hours():
    stage = PAPER.recency(one_query([{"age_days": 138.28 / 24}]))
    assert stage[0, 0] == pytest.approx(0.5, abs=1e-4)


def test_what_a_memory_lacks_adds_nothing():
    rows = [
        {"age_days": None, "salience": None, "dense_score": 0.9},
        {"age_days": 1, "salience": 0.1, "dense_score": 0.1},
        {"age_days": 2, "salience": 0.9, "dense_score": None},
    ]
    np.testing.assert_allclose(scores(PAPER, rows), [1.0, 1.0, 1.0], rtol=1e-12)


def test_parts_that_are_equal_for_all_change_no_order():
    rows = [{"age_days": 5, "salience": 0.5, "dense_score": s} for s in (0.3, 0.6)]
    assert scores(PAPER, rows).tolist() == [2.0, 3.0]


@pytest.mark.parametrize("part", ["recency", "importance", "relevance"])
def test_a_weight_weighs_its_part(part):
    rows = [
        {"age_days": 0, "salience": 1.0, "dense_score": 1.0},
        {"age_days": 1, "salience": 0.0, "dense_score": 0.0},
    ]
    weights = {f"{name}_weight": 0.0 for name in ("recency", "importance", "relevance")}
    stage = PAPER.with_(**{**weights, f"{part}_weight": 2.5})
    assert scores(stage, rows).tolist() == [2.5, 0.0]


@settings(max_examples=50)
@given(
    st.lists(
        st.tuples(*[st.sampled_from([None, 0.0, 0.25, 1.0])] * 3), min_size=1, max_size=6
    ),
    st.sampled_from([0.0, 1.0, 3.0]),
)  # fmt: skip
def test_no_score_leaves_the_bounds(rows, weight):
    stage = PAPER.with_(importance_weight=weight)
    made = [{"age_days": a, "salience": s, "dense_score": d} for a, s, d in rows]
    low, high = stage.attainable(-9.0, 9.0)
    score = scores(stage, made)
    assert ((low <= score) & (score <= high + 1e-12)).all()
    assert high == 2.0 + weight


def test_the_preset_holds_the_published_constants():
    stage = preset("generative-agents").stage("generative_agents")
    assert stage == PAPER
    assert (stage.hourly_decay, stage.attainable(0, 0)) == (0.995, (0.0, 3.0))
