"""dsh-auto-memory's fusion, worked by hand; what its golden group does not hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recalltune.pipeline.bounds import ArmBounds
from recalltune.pipeline.config import preset
from recalltune.pipeline.stages import LayeredFusion
from recalltune.production.golden.one_query import applied, one_query

FUSION = LayeredFusion(name="dsh_rrf")


def fused(stage, rows):
    table = one_query(rows)
    return applied([stage], table, [0.0] * len(rows))[-1].score[0]


def places(stage, rows, arm):
    return stage.places(one_query(rows))[arm][0].tolist()


def test_a_row_that_is_first_everywhere_gets_four_times_the_first_place():
    first = {"dense_rank": 1, "lexical_rank": 1, "in_time_asked": 1, "layer": "project"}
    second = {"dense_rank": 2, "lexical_rank": 2, "in_time_asked": 0, "layer": "log"}
    expected = [4 / (60 + 1 / 60), 4 / (60 + 2 / 60)]
    np.testing.assert_allclose(fused(FUSION, [first, second]), expected, rtol=1e-14)


def test_places_of_layers_run_through_the_candidates_and_not_through_the_layers():
    rows = [{"layer": layer, "dense_rank": 1} for layer in ("log", "project", "project", "user")]
    assert places(FUSION, rows, "layer") == [4, 1, 2, 3]


def test_layers_that_production_does_not_know_come_last_by_name():
    rows = [{"layer": layer, "dense_rank": 1} for layer in ("zeal", "log", "art")]
    assert places(FUSION, rows, "layer") == [3, 1, 2]


def test_an_arm_that_tells_nothing_apart_is_dropped():
    rows = [{"layer": "log", "in_time_asked": 1, "dense_rank": rank} for rank in (1, 2)]
    expected = [1 / (60 + 1 / 60), 1 / (60 + 2 / 60)]
    np.testing.assert_allclose(fused(FUSION, rows), expected, rtol=1e-14)
    assert np.isnan(places(FUSION, rows, "time")).all()


def test_a_row_without_a_time_or_a_layer_has_no_place_there():
    rows = [
        {"layer": "project", "in_time_asked": 1, "dense_rank": 1},
        {"layer": None, "in_time_asked": None, "dense_rank": 2},
        {"layer": "log", "in_time_asked": 0, "dense_rank": 3},
    ]
    for arm in ("layer", "time"):
        np.testing.assert_array_equal(places(FUSION, rows, arm), [1, np.nan, 2])


def test_without_the_feature_there_is_no_time_arm_and_newest_is_an_option():
    rows = [{"age_days": age, "dense_rank": 1, "layer": "log"} for age in (9, 2, None, 2)]
    assert np.isnan(places(FUSION, rows, "time")).all()
    newest = FUSION.with_(time="newest")
    np.testing.assert_array_equal(places(newest, rows, "time"), [3, 1, np.nan, 2])


def test_a_table_without_a_lexical_arm_is_fused_from_what_there_is():
    rows = [{"dense_rank": 1, "layer": "log"}]
    assert fused(FUSION, rows).tolist() == [1 / (60 + 1 / 60)]


def test_one_place_is_worth_1_85e_5_from_first_to_fifth():
    score = fused(FUSION, [{"dense_rank": rank, "layer": "log"} for rank in (1, 5)])
    assert score.round(7).tolist() == [0.016662, 0.0166436]
    assert score[0] - score[1] == pytest.approx(1.85e-5, rel=2e-3)
    plain = fused(FUSION.with_(divisor=1.0), [{"dense_rank": r, "layer": "log"} for r in (1, 5)])
    assert plain.tolist() == [1 / 61, 1 / 65]


@settings(max_examples=50)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([1, 2, 3, None]), st.sampled_from(["log", "user", "art", None]),
            st.sampled_from([0.0, 1.0, None]),
        ),
        min_size=1, max_size=6,
    ),
    st.sampled_from([0.0, 10.0, 60.0]),
    st.sampled_from([1.0, 60.0]),
)  # fmt: skip
def test_no_score_leaves_the_bounds(rows, rrf_k, divisor):
    stage = FUSION.with_(rrf_k=rrf_k, divisor=divisor)
    made = [{"dense_rank": r, "layer": layer, "in_time_asked": t} for r, layer, t in rows]
    low, high = stage.attainable(-5.0, 5.0)
    score = fused(stage, made)
    assert ((low <= score) & (score <= high + 1e-12)).all()


def test_bounds_count_the_arms_that_are_on():
    nothing = ArmBounds((0.0, 1.0), 200)
    first = 1 / (60 + 1 / 60)
    assert FUSION.attainable(0, 0) == (0.0, pytest.approx(4 * first))
    assert FUSION.fused({"dense": nothing}) == (0.0, pytest.approx(3 * first))
    bare = FUSION.with_(time="none", layer="none")
    assert bare.fused({"dense": nothing, "substring": nothing}) == (0.0, pytest.approx(first))


def test_the_preset_returns_all_statuses_and_eight_lines():
    config = preset("dsh-auto-memory")
    assert (config.admit.superseded, config.admit.retracted) == ("show", "show")
    assert config.stage("select").top_k == 8
    assert (config.arms.dense.width, config.arms.lexical.width) == (200, 200)
    assert config.arms.dense.min_cosine == -1.0
