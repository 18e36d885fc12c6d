"""Intervals of a paired difference, folds and the planner."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from recalltune.errors import ContractError, ParameterError
from recalltune.evaluate.clusters import Clusters, mean_and_se
from recalltune.evaluate.folds import fold_gain
from recalltune.evaluate.intervals import (
    default_interval,
    non_inferior,
    percentile_interval,
    t_interval,
    widened_t_interval,
)
from recalltune.evaluate.planner import (
    alpha_for_look,
    binary_sd,
    bonferroni_critical,
    cases_needed,
    power_at,
    smallest_detectable,
)


def ones(n: int) -> np.ndarray:
    return np.ones(n, dtype=np.int64)


def rng() -> np.random.Generator:
    return np.random.default_rng(4)


def test_single_cases_have_the_usual_standard_error_and_t_interval() -> None:
    d = np.array([0.1, 0.0, -0.2, 0.4, 0.3])
    mean, se = mean_and_se(d, ones(5))
    assert (mean, se) == (pytest.approx(d.mean()), pytest.approx(stats.sem(d)))
    low, high = stats.t.interval(0.95, 4, loc=d.mean(), scale=stats.sem(d))
    got = t_interval(d, ones(5))
    assert (got.low, got.high, got.differing) == (pytest.approx(low), pytest.approx(high), 4)


def test_the_cluster_error_is_that_of_a_ratio_by_hand() -> None:
    # sums 2 and 0 of 1 and 3 cases: mean 1/2; sqrt(2/1 * ((2 - .5)^2 + (0 - 1.5)^2)) / 4
    mean, se = mean_and_se(np.array([2.0, 0.0]), np.array([1, 3]))
    assert (mean, se) == (0.5, pytest.approx(math.sqrt(2 * 4.5) / 4))


def test_cases_of_one_cluster_that_move_together_widen_the_interval() -> None:
    together = np.repeat(np.random.default_rng(1).normal(0, 1, 30), 10)
    by_session = Clusters.of([f"s{n // 10:02d}" for n in range(300)])
    clustered = t_interval(by_session.sums(together), by_session.sizes)
    alone = t_interval(together, ones(300))
    ratio = (clustered.high - clustered.low) / (alone.high - alone.low)
    # identical cases of ten: error times sqrt(10), t(29) instead of t(299)
    assert ratio == pytest.approx(math.sqrt(10), rel=0.06)


def test_clusters_come_in_the_order_of_their_names_and_add_up() -> None:
    clusters = Clusters.of(["b", "a", "b", "c"])
    assert clusters.ids == ("a", "b", "c")
    assert clusters.sizes.tolist() == [1, 2, 1]
    assert clusters.sums(np.array([[1.0, 2, 4, 8], [0, 0, 1, 0]])).tolist() == [
        [2, 5, 8],
        [0, 1, 0],
    ]
    with pytest.raises(ContractError, match="at least one case"):
        Clusters.of([])


def test_the_expanded_bootstrap_is_wider_than_the_plain_one_by_the_known_factor() -> None:
    d = np.random.default_rng(2).normal(0, 1, 20)
    plain = percentile_interval(d, ones(20), rng=rng(), expanded=False, resamples=40_000)
    wide = percentile_interval(d, ones(20), rng=rng(), resamples=40_000)
    factor = math.sqrt(20 / 19) * stats.t.ppf(0.975, 19) / stats.norm.ppf(0.975)
    assert (wide.high - wide.low) / (plain.high - plain.low) == pytest.approx(factor, rel=0.03)
    t = t_interval(d, ones(20))
    assert (wide.low, wide.high) == (
        pytest.approx(t.low, abs=0.06),
        pytest.approx(t.high, abs=0.06),
    )


def test_the_bootstrap_repeats_itself_from_the_same_state() -> None:
    d = np.random.default_rng(3).normal(0, 1, 40)
    first = percentile_interval(d, ones(40), rng=np.random.default_rng(9))
    assert percentile_interval(d, ones(40), rng=np.random.default_rng(9)) == first
    assert percentile_interval(d, ones(40), rng=np.random.default_rng(10)) != first


def test_the_widened_interval_follows_its_formula() -> None:
    d = np.zeros(80)
    d[:3] = [0.5, -1.0, 1.0]
    n = 82
    mean = 80 * d.mean() / n
    v = ((d**2).sum() + 2) / n - mean**2
    half = stats.t.ppf(0.975, n - 1) * math.sqrt(v / n)
    got = widened_t_interval(d, ones(80))
    assert (got.low, got.high) == (pytest.approx(mean - half), pytest.approx(mean + half))


def test_no_difference_at_all_still_leaves_room_for_one() -> None:
    got = default_interval(np.zeros(80), ones(80), rng=rng())
    assert got.method == "widened t"
    # t(81) * sqrt(2/82/82)
    assert got.high == -got.low == pytest.approx(1.98969 * math.sqrt(2) / 82, rel=1e-4)
    wider = widened_t_interval(np.zeros(80), ones(80), span=10)
    assert wider.high == pytest.approx(10 * got.high)


def test_fifteen_differing_clusters_are_enough_for_the_bootstrap() -> None:
    d = np.zeros(100)
    d[:14] = 0.2
    assert default_interval(d, ones(100), rng=rng()).method == "widened t"
    d[14] = 0.2
    assert default_interval(d, ones(100), rng=rng()).method == "expanded percentile"


def test_one_cluster_alone_has_no_bounded_interval() -> None:
    for got in (
        t_interval(np.array([3.0]), np.array([30])),
        percentile_interval(np.array([3.0]), np.array([30]), rng=rng()),
    ):
        assert (got.low, got.high) == (-math.inf, math.inf)


def test_non_inferior_means_the_bound_lies_above_the_margin() -> None:
    d = np.random.default_rng(5).normal(0, 0.07, 200)
    d -= d.mean()
    bound = stats.t.ppf(0.95, 199) * stats.sem(d)
    assert non_inferior(d, ones(200), margin=bound * 1.001)
    assert not non_inferior(d, ones(200), margin=bound * 0.999)
    # no difference seen is no proof on few cases: widened one-sided bound .0286 at N = 80
    few = np.zeros(80)
    assert non_inferior(few, ones(80), margin=0.029)
    assert not non_inferior(few, ones(80), margin=0.028)


def test_intervals_refuse_what_cannot_be_paired() -> None:
    with pytest.raises(ContractError, match="one value per cluster"):
        t_interval(np.ones(3), ones(4))
    with pytest.raises(ContractError, match="sums must be finite"):
        t_interval(np.array([1.0, np.nan]), ones(2))
    with pytest.raises(ParameterError, match=r"level must lie in \(0, 1\), got 95"):
        t_interval(np.ones(2), ones(2), level=95)
    with pytest.raises(ParameterError, match=r"margin must lie in \(0, inf\), got 0"):
        non_inferior(np.ones(2), ones(2), margin=0)
    with pytest.raises(ParameterError, match=r"span must lie in \(0, inf\), got 0"):
        widened_t_interval(np.ones(2), ones(2), span=0)


def noise_grid(settings: int, cases: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).random((settings, cases))


def test_folds_take_the_luck_out_of_the_best_of_pure_noise() -> None:
    matrix = noise_grid(200, 120)
    clusters = Clusters.of([f"s{n % 40:02d}" for n in range(120)])
    apparent = (matrix.mean(axis=1) - matrix[0].mean()).max()
    held = fold_gain(matrix, 0, clusters, rng=rng())
    assert apparent > 0.04
    assert held.gain < apparent / 2
    assert held.winners.shape == (50,)
    assert held.by_repeat.mean() == pytest.approx(held.gain)


def test_folds_find_a_real_gain_and_agree_on_it() -> None:
    matrix = noise_grid(20, 200) * 0.1
    matrix[7] += 0.3
    clusters = Clusters.of([f"s{n // 5:02d}" for n in range(200)])
    held = fold_gain(matrix, 0, clusters, rng=rng())
    assert held.agreement == 1
    assert set(held.winners) == {7}
    assert held.gain == pytest.approx((matrix[7] - matrix[0]).mean())


def test_folds_hold_whole_clusters() -> None:
    # setting 1 + k is perfect on cluster k and useless elsewhere: unseen clusters gain nothing
    names = [f"s{n // 10}" for n in range(60)]
    matrix = np.zeros((7, 60))
    for k in range(6):
        matrix[1 + k, 10 * k : 10 * k + 10] = 1
    held = fold_gain(matrix, 0, Clusters.of(names), rng=rng())
    assert held.gain == 0


def test_equal_settings_keep_the_default_in_every_fold() -> None:
    matrix = np.repeat(noise_grid(1, 50), 4, axis=0)
    clusters = Clusters.of([str(n) for n in range(50)])
    held = fold_gain(matrix, 2, clusters, rng=rng())
    assert set(held.winners) == {2}
    assert held.gain == 0


def test_folds_need_two_of_everything() -> None:
    with pytest.raises(ContractError, match="at least 2 clusters, got 1"):
        fold_gain(noise_grid(2, 5), 0, Clusters.of(["a"] * 5), rng=rng())
    with pytest.raises(ParameterError, match="folds must be at least 2"):
        fold_gain(noise_grid(2, 5), 0, Clusters.of(list("abcde")), rng=rng(), folds=1)


def test_the_planner_s_examples_by_hand() -> None:
    # ((3.3 + .8416) .15 / .02)^2 + 3.3^2 / 2 = 964.8 + 5.4
    assert cases_needed(0.02, 0.15, critical_t=3.3) == 971
    assert cases_needed(0.02, 0.15, critical_t=3.3, deff=2) == 1942
    detectable = [smallest_detectable(n, 0.15, critical_t=3.3) for n in (200, 500, 1200)]
    assert [round(d, 3) for d in detectable] == [0.044, 0.028, 0.018]
    assert cases_needed(0.01, 0.1, critical_t=math.inf) is None
    assert smallest_detectable(10, 0.1, critical_t=math.inf) == math.inf


@given(st.floats(0.005, 0.2), st.floats(0.05, 0.6), st.floats(1.6, 4), st.floats(0.5, 5))
def test_the_cases_asked_for_have_the_power_promised(
    gain: float, sd: float, critical: float, deff: float
) -> None:
    n = cases_needed(gain, sd, critical_t=critical, deff=deff)
    assert n is not None
    assert power_at(gain, n, sd, critical_t=critical, deff=deff) >= 0.8 - 1e-9
    # at most one effective case too many
    fewer = max(1, math.floor(n - 2 * max(1.0, deff)) - 1)
    assert power_at(gain, fewer, sd, critical_t=critical, deff=deff) < 0.8 or fewer == 1


def test_a_binary_metric_s_sd_and_the_bonferroni_limit() -> None:
    assert binary_sd(0.1, 0.02) == pytest.approx(math.sqrt(0.12 - 0.08**2))
    assert bonferroni_critical(2000) == pytest.approx(4.06, abs=0.01)
    with pytest.raises(ParameterError, match="gained and lost"):
        binary_sd(0.9, 0.2)


def test_looks_share_one_alpha() -> None:
    assert alpha_for_look(2, planned=5) == pytest.approx(0.01)
    assert sum(alpha_for_look(k) for k in range(1, 20_000)) == pytest.approx(0.05, abs=1e-5)
    with pytest.raises(ParameterError, match=r"look must lie in \[1, 5\] as planned, got 6"):
        alpha_for_look(6, planned=5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cases_needed(0, 0.1, critical_t=2), r"gain must lie in \(0, inf\), got 0"),
        (lambda: cases_needed(0.1, -1, critical_t=2), r"sd must lie in \(0, inf\), got -1"),
        (lambda: cases_needed(0.1, 0.1, critical_t=0), r"critical_t must lie in \(0, inf\]"),
        (lambda: cases_needed(0.1, 0.1, critical_t=2, power=1), r"power must lie in \(0, 1\)"),
        (lambda: smallest_detectable(0, 0.1, critical_t=2), r"n must lie in \(0, inf\), got 0"),
    ],
)
def test_the_planner_names_what_is_out_of_range(call: object, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        call()  # type: ignore[operator]
