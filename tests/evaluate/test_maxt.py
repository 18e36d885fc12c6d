"""Sign changes of clusters: exact values, invariances, and the guard against skew."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from recalltune.errors import ContractError, ParameterError
from recalltune.evaluate.maxt import (
    draw_signs,
    holm,
    max_t,
    step_down_p,
    student_scale,
    tie_set,
)
from recalltune.evaluate.skew import hall_t, skew_guard


def signs_for(clusters: int, *, resamples: int = 2000, seed: int = 1):
    return draw_signs(clusters, resamples=resamples, rng=np.random.default_rng(seed))


def test_up_to_twelve_clusters_every_pattern_is_tried_once() -> None:
    signs = signs_for(12)
    assert signs.exact
    assert signs.patterns.shape == (4096, 12)
    assert len(np.unique(signs.patterns, axis=0)) == 4096
    assert set(np.unique(signs.patterns)) == {-1, 1}
    assert not signs_for(13).exact


@given(st.lists(st.integers(-3, 3), min_size=2, max_size=6), st.data())
def test_few_clusters_give_the_exact_p_of_all_sign_changes(
    first: list[int], data: st.DataObject
) -> None:
    second = data.draw(st.lists(st.integers(-3, 3), min_size=len(first), max_size=len(first)))
    sums = np.array([first, second], dtype=float)
    got = max_t(sums, signs_for(len(first))).p_adj
    moving = sums[(sums != 0).any(axis=1)]
    if not len(moving):
        assert got.tolist() == [1, 1]
        return
    unit = moving / np.sqrt((moving**2).sum(axis=1, keepdims=True))
    luck = [max(unit @ np.array(s)) for s in itertools.product((-1, 1), repeat=len(first))]
    for row, p in zip(sums, got, strict=True):
        if not row.any():
            assert p == 1
            continue
        observed = row.sum() / np.sqrt((row**2).sum())
        assert p == pytest.approx(np.mean(np.array(luck) >= observed - 1e-6))


def test_five_gaining_clusters_of_two_hundred_give_one_in_thirty_two() -> None:
    sums = np.zeros((1, 200))
    sums[0, :5] = 0.3
    test = max_t(sums, signs_for(200, resamples=20_000))
    assert test.p_adj[0] == pytest.approx(1 / 32, abs=0.004)


@pytest.mark.parametrize(("gaining", "p"), [(3, 1 / 8), (4, 1 / 16), (5, 1 / 32)])
def test_no_p_is_smaller_than_the_number_of_differing_clusters_allows(
    gaining: int, p: float
) -> None:
    sums = np.zeros((1, 12))
    sums[0, :gaining] = np.arange(1, gaining + 1)
    assert max_t(sums, signs_for(12)).p_adj[0] == p


def test_rows_without_difference_get_p_one_and_change_nothing_for_others() -> None:
    rng = np.random.default_rng(5)
    sums = rng.normal(0.1, 1, (40, 60))
    signs = signs_for(60)
    alone = max_t(sums, signs)
    crowded = max_t(np.vstack([sums, np.zeros((300, 60))]), signs)
    assert crowded.p_adj[40:].tolist() == [1.0] * 300
    np.testing.assert_array_equal(crowded.p_adj[:40], alone.p_adj)
    assert crowded.critical_t == alone.critical_t
    doubled = max_t(np.vstack([sums, sums[:30]]), signs)
    np.testing.assert_array_equal(doubled.p_adj[:40], alone.p_adj)
    np.testing.assert_array_equal(doubled.p_adj[40:], alone.p_adj[:30])


def test_scaling_a_row_leaves_its_p_and_no_p_is_zero() -> None:
    sums = np.random.default_rng(6).normal(1, 1, (20, 50))
    signs = signs_for(50, resamples=400)
    base = max_t(sums, signs).p_adj
    np.testing.assert_array_equal(max_t(3 * sums, signs).p_adj, base)
    assert base.min() == 1 / 401


def test_one_comparison_agrees_with_the_t_test_on_symmetric_data() -> None:
    sums = np.random.default_rng(7).normal(0.12, 1, (1, 200))
    test = max_t(sums, signs_for(200, resamples=20_000))
    reference = stats.ttest_1samp(sums[0], 0, alternative="greater")
    assert student_scale(test.statistic, 200)[0] == pytest.approx(reference.statistic)
    assert test.p_adj[0] == pytest.approx(reference.pvalue, abs=0.01)
    assert test.critical_t == pytest.approx(stats.t.ppf(0.95, 199), abs=0.06)


def test_the_critical_value_separates_what_passes_from_what_does_not() -> None:
    sums = np.random.default_rng(8).normal(0.15, 1, (200, 80))
    test = max_t(sums, signs_for(80))
    t = student_scale(test.statistic, 80)
    assert (test.p_adj[t > test.critical_t + 1e-3] <= 0.05).all()
    assert (test.p_adj[t < test.critical_t - 1e-3] > 0.05).all()


def test_two_sided_finds_losses_as_it_finds_gains() -> None:
    sums = np.random.default_rng(9).normal(0, 1, (5, 60))
    sums[0] += 1
    signs = signs_for(60)
    gain, loss = (max_t(s * sums, signs, two_sided=True).p_adj[0] for s in (1, -1))
    assert gain == loss == 1 / 2001
    assert max_t(-sums, signs).p_adj[0] > 0.9


def test_stepping_down_lists_more_settings_but_never_another_winner() -> None:
    rng = np.random.default_rng(10)
    sums = rng.normal(0, 1, (220, 100))
    sums[:180] += 0.7
    sums[180:200] += 0.28
    signs = signs_for(100)
    single, down = max_t(sums, signs), step_down_p(sums, signs)
    assert (down <= single.p_adj + 1e-12).all()
    assert down.min() == single.best_p
    order = np.argsort(-single.statistic)
    assert (np.diff(down[order]) >= 0).all()
    assert (down <= 0.05).sum() > (single.p_adj <= 0.05).sum()


def test_stepping_down_equals_its_definition_one_setting_at_a_time() -> None:
    sums = np.random.default_rng(11).normal(0.1, 1, (6, 8))
    unit = sums / np.sqrt((sums**2).sum(axis=1, keepdims=True))
    observed = unit.sum(axis=1)
    luck = np.array(list(itertools.product((-1, 1), repeat=8))) @ unit.T
    expected = np.zeros(6)
    worst = 0.0
    for g in np.argsort(-observed):
        family = observed <= observed[g]
        worst = max(worst, np.mean(luck[:, family].max(axis=1) >= observed[g] - 1e-4))
        expected[g] = worst
    np.testing.assert_allclose(step_down_p(sums, signs_for(8)), expected)


def test_the_tie_set_holds_the_best_and_drops_what_is_clearly_behind() -> None:
    rng = np.random.default_rng(12)
    base = rng.normal(0, 1, 120)
    sums = np.stack([base + rng.normal(0, 0.2, 120) - lag for lag in (0, 0.01, 0.5, 2)])
    best = int(sums.sum(axis=1).argmax())
    inside = tie_set(sums, best, signs_for(120))
    assert inside[best]
    assert inside[[0, 1]].all()
    assert not inside[[2, 3]].any()


def test_rounding_noise_between_equal_settings_is_no_lead() -> None:
    sums = np.random.default_rng(13).normal(0, 1, (1, 60))
    same = np.vstack([sums, sums - 1e-15])
    assert tie_set(same, 0, signs_for(60)).all()


def test_the_skew_guard_stops_many_small_gains_against_few_large_losses() -> None:
    # 92 gains of 1 and 8 losses of 8: mean .28, skewness about -3.1; and the mirror image
    losing = np.where(np.arange(100) < 92, 1.0, -8.0)[None]
    signs = signs_for(100, resamples=4000)
    for sums in (losing + 0.17, -losing + 0.85):
        test = max_t(sums, signs)
        assert student_scale(test.statistic, 100)[0] > 1.7
    assert not skew_guard(losing + 0.17, max_t(losing + 0.17, signs))[0]
    mirrored = -losing + 0.85
    assert skew_guard(mirrored, max_t(mirrored, signs))[0]


def test_hall_s_t_is_student_s_without_skew_and_by_hand_with_it() -> None:
    t, zero, one = np.array([2.0]), np.array([0.0]), np.array([-1.0])
    assert hall_t(t, zero, 25)[0] == 2
    # 2 - 4/15 + 8/675 - 1/30
    assert hall_t(t, one, 25)[0] == pytest.approx(2 - 4 / 15 + 8 / 675 - 1 / 30)


def test_clusters_that_all_agree_have_infinite_t() -> None:
    assert student_scale(np.array([3.0, -3.0, 0.0]), 9).tolist() == [np.inf, -np.inf, 0]
    sums = np.ones((1, 10))
    test = max_t(sums, signs_for(10))
    assert test.p_adj[0] == 1 / 1024
    assert skew_guard(sums, test)[0]


@given(st.lists(st.floats(0.0001, 1), min_size=1, max_size=8))
def test_holm_is_between_raw_and_bonferroni_and_keeps_the_order(p: list[float]) -> None:
    raw = np.array(p)
    adjusted = holm(raw)
    assert (adjusted >= raw - 1e-15).all()
    assert (adjusted <= np.minimum(1, raw * len(raw)) + 1e-12).all()
    assert (np.diff(adjusted[np.argsort(raw, kind="stable")]) >= 0).all()


def test_bad_input_is_refused_with_what_was_seen() -> None:
    signs = signs_for(5)
    with pytest.raises(ContractError, match="sums must be finite, got nan in row 0, cluster 2"):
        max_t(np.array([[0.0, 1, np.nan, 0, 0]]), signs)
    with pytest.raises(ContractError, match=r"sums must be \(settings, 5\) to match the signs"):
        max_t(np.ones((2, 4)), signs)
    with pytest.raises(ParameterError, match=r"alpha must lie in \(0, 0.2\], got 0.5"):
        max_t(np.ones((2, 5)), signs, alpha=0.5)
    with pytest.raises(ParameterError, match=r"resamples must lie in \[99, inf\), got 10"):
        signs_for(50, resamples=10)
