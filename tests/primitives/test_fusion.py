"""Fusion of arms: worked sums, absent arms, and calibrations on degenerate lists."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from recalltune.errors import ParameterError
from recalltune.rank.fusion import (
    inverse_distance,
    logistic,
    min_max,
    rrf,
    saturate,
    weighted_sum,
    z_score,
)
from recalltune.rank.order import rank_order

NAN = math.nan
RANKS = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 4), st.integers(1, 6)),
    elements=st.one_of(st.just(NAN), st.integers(1, 300).map(float)),
    fill=st.nothing(),
)
SCORES = st.one_of(st.just(NAN), st.floats(-1e6, 1e6, allow_subnormal=False))


def test_rrf_of_five_memories_in_two_arms_worked_by_hand():
    # dense: m n t, sparse: u v t; columns m n t u v
    ranks = [[1, 2, 3, NAN, NAN], [NAN, NAN, 3, 1, 2]]
    fused = rrf(ranks, k=60)
    np.testing.assert_allclose(fused, [1 / 61, 1 / 62, 2 / 63, 1 / 61, 1 / 62], rtol=1e-15)
    assert rank_order(fused).tolist() == [2, 0, 3, 1, 4]


@pytest.mark.parametrize(
    ("weights", "expected", "order"),
    [
        ([0.8, 0.2], [0.8 / 61 + 0.2 / 62, 0.8 / 62 + 0.2 / 61], [0, 1]),
        ([0.2, 0.8], [0.2 / 61 + 0.8 / 62, 0.2 / 62 + 0.8 / 61], [1, 0]),
        ([0.5, 0.5], [0.5 / 61 + 0.5 / 62, 0.5 / 62 + 0.5 / 61], [0, 1]),
    ],
)
def test_rrf_weights_decide_between_two_opposite_arms(weights, expected, order):
    fused = rrf([[1, 2], [2, 1]], k=60, weights=weights)
    np.testing.assert_allclose(fused, expected, rtol=1e-15)
    assert rank_order(fused).tolist() == order


def test_an_arm_of_weight_zero_leaves_its_memories_at_exactly_zero():
    assert rrf([[1, NAN], [NAN, 1]], weights=[1, 0]).tolist() == [1 / 61, 0.0]


def test_a_divisor_of_sixty_flattens_neighbouring_ranks():
    np.testing.assert_allclose(
        rrf([[1, 2]], k=60, divisor=60), [1 / (60 + 1 / 60), 1 / (60 + 2 / 60)], rtol=1e-15
    )


def test_equal_sets_of_ranks_tie_although_their_sums_differ_in_the_last_bit():
    fused = rrf([[1, 2], [1, 1], [2, 1]], k=60)
    assert fused[0] != fused[1]
    assert rank_order(fused).tolist() == [0, 1]


def test_settings_on_a_leading_axis_give_what_each_gives_alone():
    ranks = np.array([[[1.0, 2.0, NAN]], [[NAN, 1.0, 2.0]]])  # arms, queries, candidates
    k = np.array([10.0, 60.0])[:, np.newaxis, np.newaxis]
    weights = np.array([[0.3, 0.9], [1.0, 0.0]])[:, :, np.newaxis, np.newaxis]
    grid = rrf(ranks, k=k, weights=weights)
    assert grid.shape == (2, 1, 3)
    for setting in range(2):
        alone = rrf(ranks, k=k[setting, 0, 0], weights=weights[:, setting, 0, 0])
        assert grid[setting].tolist() == alone.tolist()


@given(RANKS, st.floats(0, 1000))
def test_rrf_lies_between_zero_and_its_attainable_maximum(ranks, k):
    fused = rrf(ranks, k=k)
    assert (fused >= 0).all()
    assert (fused <= len(ranks) / (k + 1) * (1 + 1e-15)).all()
    assert ((fused == 0) == np.isnan(ranks).all(axis=0)).all()


@given(RANKS, st.data())
def test_adding_an_arm_never_lowers_a_score(ranks, data):
    arm = data.draw(hnp.arrays(np.float64, (1, ranks.shape[1]), elements=st.integers(1, 9)))
    assert (rrf(np.concatenate([ranks, arm])) >= rrf(ranks)).all()


@given(RANKS, st.randoms(use_true_random=False))
def test_the_order_of_the_arms_never_changes_the_ranking(ranks, random):
    shuffled = ranks[random.sample(range(len(ranks)), len(ranks))]
    assert rank_order(rrf(ranks)).tolist() == rank_order(rrf(shuffled)).tolist()


@given(RANKS)
def test_a_better_rank_in_one_arm_never_lowers_a_score(ranks):
    better = np.where(ranks > 1, ranks - 1, ranks)
    assert (rrf(better) >= rrf(ranks)).all()


@pytest.mark.parametrize(
    ("arguments", "parameters", "message"),
    [
        ([[0.0, 1.0]], {}, r"ranks must lie in \[1, inf\), got 0.0 at position \(0, 0\)"),
        ([[math.inf]], {}, r"ranks must lie in \[1, inf\)"),
        ([1.0, 2.0], {}, r"ranks must have shape \(arms, …, n\)"),
        (np.empty((0, 3)), {}, "at least one arm"),
        ([[1.0]], {"k": -1}, r"k must lie in \[0, inf\), got -1.0"),
        ([[1.0]], {"divisor": 0}, r"divisor must lie in \(0, inf\), got 0.0"),
        ([[1.0]], {"weights": [-1]}, r"weights must lie in \[0, inf\), got -1.0 at position 0"),
        ([[1.0]], {"weights": [1, 1]}, r"one weight for each of 1 arms, got shape \(2,\)"),
        ([[1.0]], {"weights": 1.0}, "one weight for each of 1 arms"),
    ],
)
def test_rrf_names_what_is_wrong(arguments, parameters, message):
    with pytest.raises(ParameterError, match=message):
        rrf(arguments, **parameters)


def test_weighted_sum_in_its_three_forms_worked_by_hand():
    scores = [[0.9, NAN, 0.4], [0.5, 1.0, NAN]]
    weights = [0.6, 0.2]
    both = 0.6 * 0.9 + 0.2 * 0.5
    sums = weighted_sum(scores, weights=weights)
    np.testing.assert_allclose(sums, [both, 0.2, 0.24], rtol=1e-15)
    shared = weighted_sum(scores, weights=weights, divide_by="all")
    np.testing.assert_allclose(shared, [both / 0.8, 0.25, 0.3], rtol=1e-15)
    present = weighted_sum(scores, weights=weights, divide_by="present")
    np.testing.assert_allclose(present, [both / 0.8, 1.0, 0.4], rtol=1e-15)


@pytest.mark.parametrize("divide_by", ["nothing", "all", "present"])
def test_a_memory_no_arm_returned_has_a_weighted_sum_of_zero(divide_by):
    scores = [[NAN, 0.5], [NAN, 0.5]]
    assert weighted_sum(scores, divide_by=divide_by)[0] == 0.0


@given(hnp.arrays(np.float64, (3, 5), elements=st.floats(0, 1), fill=st.nothing()))
def test_dividing_by_the_weights_keeps_scores_in_their_range(scores):
    for divide_by in ("all", "present"):
        total = weighted_sum(scores, weights=[0.2, 0.5, 0.1], divide_by=divide_by)
        assert (total >= 0).all()
        assert (total <= 1 + 1e-15).all()


def test_weighted_sum_names_what_is_wrong():
    with pytest.raises(ParameterError, match="nearest: 'present'"):
        weighted_sum([[1.0]], divide_by="presence")
    with pytest.raises(ParameterError, match="weights must not all be 0"):
        weighted_sum([[1.0]], weights=[0.0], divide_by="all")
    with pytest.raises(ParameterError, match="scores must be finite or NaN, got inf"):
        weighted_sum([[math.inf]])


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([4.0, 2.0, 3.0], [1.0, 0.0, 0.5]),
        ([0.5, 0.5], [1.0, 1.0]),
        ([0.62], [1.0]),
        ([NAN, 3.0, 1.0], [NAN, 1.0, 0.0]),
        ([NAN, NAN], [NAN, NAN]),
        ([], []),
        ([1.7e308, -1.7e308], [1.0, 0.0]),
    ],
)
def test_min_max_of_small_lists(scores, expected):
    np.testing.assert_array_equal(min_max(scores, floor=0.0), expected)


def test_the_weakest_hit_still_beats_an_absent_memory():
    arm = min_max([[3.0, 1.0, NAN]])
    assert weighted_sum(arm[np.newaxis])[0].tolist() == [1.0, 0.001, 0.0]


def test_a_normaliser_sees_only_the_rows_it_is_given():
    # 0.032 was filtered before: the rest is stretched over itself.
    assert min_max([0.016, 0.008], floor=0.0).tolist() == [1.0, 0.0]


@given(hnp.arrays(np.float64, (2, 5), elements=SCORES, fill=st.nothing()), st.floats(0, 0.9))
def test_min_max_stays_in_its_range_and_keeps_order(scores, floor):
    stretched = min_max(scores, floor=floor)
    here = ~np.isnan(scores)
    assert (np.isnan(stretched) == ~here).all()
    assert ((stretched[here] >= floor) & (stretched[here] <= 1)).all()
    for row, original in zip(stretched, scores, strict=True):
        order = np.argsort(original[~np.isnan(original)])
        assert (np.diff(row[~np.isnan(row)][order]) >= 0).all()


def test_z_score_of_two_scores_is_one_deviation_each_way():
    np.testing.assert_array_equal(z_score([[1.0, 3.0, NAN]]), [[-1.0, 1.0, NAN]])


@pytest.mark.parametrize("scores", [[0.1, 0.1, 0.1], [7.0], [0.3, 0.3]])
def test_equal_scores_have_a_z_score_of_exactly_zero(scores):
    assert z_score(scores).tolist() == [0.0] * len(scores)
    assert z_score(scores, weakest=0.001).tolist() == [0.001] * len(scores)


def test_a_shifted_z_score_puts_the_weakest_hit_above_an_absent_memory():
    # mean 2, sd 1: -1 and 1, shifted by 1.5
    arm = z_score([[1.0, 3.0, NAN]], weakest=0.5)
    np.testing.assert_array_equal(arm, [[0.5, 2.5, NAN]])
    assert weighted_sum(arm[np.newaxis])[0].tolist() == [0.5, 2.5, 0.0]
    assert np.isnan(z_score([NAN], weakest=0.5)).all()


@pytest.mark.parametrize("size", [1e308, 1e-200, 1.0])
def test_a_z_score_has_no_size(size):
    np.testing.assert_array_equal(z_score([size, -size]), [1.0, -1.0])
    lists = [[size, -size, NAN], [3.0, 1.0, NAN]]
    np.testing.assert_array_equal(z_score(lists, weakest=0.5), [[2.5, 0.5, NAN]] * 2)


def test_the_largest_scores_leave_the_calibrations_without_a_warning():
    assert saturate(1e308, half=1e308) == 0.5
    assert logistic([1e308, -1e308], scale=1e-5).tolist() == [1.0, 0.0]


@given(hnp.arrays(np.float64, 6, elements=st.floats(-100, 100), fill=st.nothing()))
def test_z_scores_have_mean_zero_and_deviation_one(scores):
    assume(np.ptp(scores) > 1e-3)
    scaled = z_score(scores)
    assert scaled.mean() == pytest.approx(0, abs=1e-9)
    assert scaled.std() == pytest.approx(1, rel=1e-9)


def test_saturation_of_three_magnitudes_worked_by_hand():
    np.testing.assert_allclose(saturate([6.0, 3.0, 1.0]), [6 / 7, 3 / 4, 1 / 2], rtol=1e-15)
    assert saturate(5.0, half=5.0) == 0.5


def test_logistic_is_one_half_at_zero_and_symmetric():
    np.testing.assert_allclose(logistic([0.0, 5.0, -5.0]).tolist()[0], 0.5)
    assert logistic(3.0) + logistic(-3.0) == pytest.approx(1.0, rel=1e-15)
    assert logistic([-1e6, 1e6], scale=1e-3).tolist() == [0.0, 1.0]


def test_inverse_distance_runs_from_one_third_to_one():
    np.testing.assert_allclose(inverse_distance([-1.0, 0.0, 1.0]), [1 / 3, 1 / 2, 1], rtol=1e-15)


@pytest.mark.parametrize("calibrate", [min_max, z_score, saturate, logistic])
def test_calibrations_keep_an_absent_memory_absent(calibrate):
    assert np.isnan(calibrate([[0.2, NAN, 0.9]])).tolist() == [[False, True, False]]
    assert np.isnan(inverse_distance([NAN]))


@given(st.lists(st.floats(0, 1e6), min_size=2, max_size=6))
def test_pointwise_calibrations_never_reverse_two_scores(scores):
    scores = np.sort(scores)
    assert (np.diff(saturate(scores)) >= 0).all()
    assert (np.diff(logistic(scores)) >= 0).all()
    assert (np.diff(inverse_distance(scores / 1e6)) >= 0).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: saturate([-1.0]), r"scores must lie in \[0, inf\), got -1.0 at position 0"),
        (lambda: saturate([1.0], half=0.0), r"half must lie in \(0, inf\), got 0.0"),
        (lambda: logistic([1.0], scale=-5.0), r"scale must lie in \(0, inf\), got -5.0"),
        (lambda: logistic([math.inf]), "scores must be finite or NaN"),
        (lambda: inverse_distance([1.1]), r"cosine must lie in"),
        (lambda: min_max([1.0], floor=1.0), r"floor must lie in \[0, 1\), got 1.0"),
        (lambda: min_max(["a"]), "scores must hold numbers"),
        (lambda: z_score([1.0], weakest=-1.0), r"weakest must lie in \[0, inf\), got -1.0"),
        (lambda: z_score([math.inf]), "scores must be finite or NaN, got inf at position 0"),
    ],
)
def test_calibrations_name_what_is_wrong(call, message):
    with pytest.raises(ParameterError, match=message):
        call()
