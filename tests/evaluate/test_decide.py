"""The decision: when a setting wins, which one is taken, and when nothing may be said."""

from __future__ import annotations

import math

import numpy as np
import pytest

from recalltune.errors import ContractError, ParameterError
from recalltune.evaluate.decide import Decision, decide
from recalltune.evaluate.wording import sentence

CASES = 240


def sessions(cases: int = CASES, *, each: int = 4) -> list[str]:
    return [f"s{n // each:03d}" for n in range(cases)]


def grid(settings: int = 60, cases: int = CASES, seed: int = 0) -> np.ndarray:
    """Settings that share most cases with the default in row 0 and are no better on average."""
    rng = np.random.default_rng(seed)
    base = rng.random(cases)
    matrix = np.where(rng.random((settings, cases)) < 0.2, rng.random((settings, cases)), base)
    matrix[0] = base
    return matrix


def lifted(matrix: np.ndarray, row: int, gain: float, seed: int = 1) -> np.ndarray:
    """The matrix with one row that gains on about half of the cases."""
    changed = matrix.copy()
    half = np.random.default_rng(seed).random(matrix.shape[1]) < 0.5
    changed[row] = matrix[0] + 2 * gain * half
    return changed


def run(matrix: np.ndarray, clusters: list[str] | None = None, **more: object) -> Decision:
    clusters = sessions(matrix.shape[1]) if clusters is None else clusters
    return decide(matrix, 0, clusters, rng=np.random.default_rng(7), **more)  # type: ignore[arg-type]


def test_a_real_gain_wins_with_a_bound_and_a_held_out_estimate() -> None:
    decision = run(lifted(grid(), 9, 0.1))
    assert (decision.verdict, decision.chosen, decision.subject) == ("winner", 9, 9)
    evidence = decision.evidence
    assert 0 < evidence.lower < evidence.gain
    assert evidence.gain == pytest.approx(decision.gains[9])
    assert evidence.interval.low < evidence.gain < evidence.interval.high
    assert decision.p == 1 / 2001
    assert evidence.losses == 0
    assert decision.unseen_loss == pytest.approx(3 / 60)
    assert decision.heldout is not None
    assert decision.heldout.gain == pytest.approx(evidence.gain)
    assert 9 in decision.ties


def test_the_best_of_pure_noise_does_not_win() -> None:
    decision = run(grid())
    assert (decision.verdict, decision.chosen) == ("no_winner", 0)
    assert decision.apparent_gain > 0
    assert decision.subject == decision.best != 0
    assert decision.p > 0.05
    assert decision.passing == decision.near == ()
    assert decision.evidence.smallest_detectable > decision.apparent_gain
    assert decision.evidence.cases_needed is not None
    assert decision.evidence.cases_needed > CASES


def test_the_gain_is_the_mean_over_cases_and_the_means_keep_their_direction() -> None:
    matrix = lifted(grid(), 9, 0.1)
    decision = run(matrix)
    np.testing.assert_allclose(decision.means, matrix.mean(axis=1))
    np.testing.assert_allclose(decision.gains, matrix.mean(axis=1) - matrix[0].mean(), atol=1e-12)
    np.testing.assert_allclose(decision.regret, matrix.mean(axis=1).max() - matrix.mean(axis=1))


def test_where_lower_is_better_the_mirrored_matrix_decides_the_same() -> None:
    matrix = lifted(grid(), 9, 0.1)
    up, down = run(matrix), run(1 - matrix, direction="lower")
    assert (down.verdict, down.chosen) == (up.verdict, up.chosen)
    np.testing.assert_allclose(down.gains, up.gains, atol=1e-12)
    np.testing.assert_allclose(down.means, 1 - up.means)
    np.testing.assert_array_equal(down.p_adj, up.p_adj)


def test_the_nearest_of_those_within_one_error_of_the_best_is_taken() -> None:
    matrix = lifted(grid(), 9, 0.1)
    matrix[20] = matrix[9].copy()
    # a little better on average, and within its error: one session gains, another loses
    matrix[20, [5, 100]] += [0.01, -0.008]
    keys = np.ones((60, 2))
    assert run(matrix, distance_keys=keys).chosen == 9
    keys[9] = [1, 2]
    assert run(matrix, distance_keys=keys).chosen == 20
    keys[20] = [2, 0]
    assert run(matrix, distance_keys=keys).chosen == 9
    assert run(matrix, distance_keys=keys).near == (9, 20)


def test_a_better_setting_far_above_leaves_nearer_ones_behind() -> None:
    matrix = lifted(lifted(grid(), 9, 0.05), 20, 0.2)
    keys = np.zeros((60, 1))
    keys[20] = 5
    decision = run(matrix, distance_keys=keys)
    assert {9, 20} <= set(decision.passing)
    assert (decision.chosen, decision.near) == (20, (20,))


def test_a_guardrail_keeps_a_setting_from_winning() -> None:
    matrix = lifted(grid(), 9, 0.1)
    allowed = np.ones(60, dtype=bool)
    allowed[9] = False
    decision = run(matrix, guardrails=allowed)
    assert (decision.verdict, decision.held_back) == ("no_winner", (9,))
    assert "1 settings pass the test but are held back" in sentence(
        decision, [f"n{g}" for g in range(60)], "nDCG@10"
    )


def test_the_skew_guard_keeps_rare_large_losses_from_hiding() -> None:
    matrix = np.zeros((2, 100))
    matrix[1] = np.where(np.arange(100) < 97, 0.08, -0.9)
    decision = run(matrix, clusters=[f"c{n:03d}" for n in range(100)])
    assert decision.p <= 0.05
    assert (decision.verdict, decision.held_back) == ("no_winner", (1,))


def test_settings_equal_on_these_cases_are_listed_and_change_nothing() -> None:
    matrix = lifted(grid(), 9, 0.04)
    crowd = np.vstack([matrix, matrix[:30], np.repeat(matrix[:1], 200, axis=0)])
    few, many = run(matrix), run(crowd)
    np.testing.assert_array_equal(many.p_adj[:60], few.p_adj)
    np.testing.assert_array_equal(many.p_adj[60:90], few.p_adj[:30])
    assert many.identical_to_default == (60, *range(90, 290))
    assert (many.n_settings, many.n_distinct) == (290, 60)
    assert many.evidence == few.evidence
    assert set(few.ties) == {g for g in many.ties if g < 60}


def test_shifting_scaling_and_reordering_cases_keep_every_p() -> None:
    matrix = lifted(grid(), 9, 0.03)
    names = sessions()
    base = run(matrix)
    for changed in (matrix + 5, 3 * matrix):
        np.testing.assert_array_equal(run(changed).p_adj, base.p_adj)
    order = np.random.default_rng(3).permutation(CASES)
    shuffled = run(matrix[:, order], clusters=[names[n] for n in order])
    np.testing.assert_array_equal(shuffled.p_adj, base.p_adj)
    assert shuffled.evidence.gain == pytest.approx(base.evidence.gain)


def test_the_same_state_gives_the_same_decision() -> None:
    matrix = lifted(grid(), 9, 0.03)
    first, again = run(matrix), run(matrix)
    assert first.evidence == again.evidence
    np.testing.assert_array_equal(first.p_adj, again.p_adj)
    assert first.ties == again.ties


def test_differences_of_rounding_size_are_no_difference() -> None:
    base = np.random.default_rng(2).random(CASES)
    decision = run(np.stack([base, base + 1e-16 * np.arange(1, CASES + 1), base + 2e-16]))
    assert decision.identical_to_default == (1, 2)
    assert (decision.verdict, decision.p) == ("no_winner", 1)
    assert math.isnan(decision.evidence.power)


def test_ignoring_sessions_would_have_found_a_winner_in_copies_of_one_session() -> None:
    # one session of 40 identical gains among 39 others that are noise
    matrix = np.zeros((2, 240))
    matrix[1] = np.tile(np.random.default_rng(5).normal(0.03, 0.08, 6), 40)
    by_case = run(matrix, clusters=[f"c{n:03d}" for n in range(240)])
    by_session = run(matrix, clusters=[f"s{n % 6}" for n in range(240)])
    assert by_case.p < 0.01 < 0.05 < by_session.p
    assert by_session.evidence.deff > 20


def test_fewer_than_six_sessions_declare_no_winner_however_large_the_gain() -> None:
    decision = run(lifted(grid(), 9, 0.2), clusters=[f"s{n % 5}" for n in range(CASES)])
    assert decision.p == 1 / 32
    assert (decision.verdict, decision.chosen, decision.subject) == ("few_clusters", 0, 9)
    alone = run(lifted(grid(), 9, 0.2), clusters=["s"] * CASES)
    assert (alone.verdict, alone.heldout, alone.evidence.lower) == ("few_clusters", None, -math.inf)


def test_a_cluster_with_more_than_a_quarter_of_the_cases_is_shown_apart() -> None:
    matrix = np.zeros((2, 100))
    matrix[1, :30] = 0.5
    names = ["big"] * 30 + [f"s{n // 7}" for n in range(70)]
    evidence = run(matrix, clusters=names).evidence
    assert (evidence.dominant, evidence.gain_without_dominant) == ("big", 0)
    assert evidence.largest_share == pytest.approx(1)


def test_cases_undefined_everywhere_are_dropped_and_counted() -> None:
    matrix = lifted(grid(), 9, 0.1)
    matrix[:, [3, 17]] = np.nan
    decision = run(matrix)
    assert decision.dropped == (3, 17)
    assert decision.n_cases == CASES - 2
    without = run(np.delete(matrix, [3, 17], axis=1), list(np.delete(sessions(), [3, 17])))
    assert without.evidence == decision.evidence


def test_a_case_missing_in_some_settings_only_is_refused_by_name() -> None:
    matrix = grid()
    matrix[4:6, 17] = np.nan
    with pytest.raises(ContractError, match="case 17 lacks one in 2 of 60, first in setting 4"):
        run(matrix)


def test_a_p_close_to_alpha_is_looked_at_with_more_patterns() -> None:
    looks = {
        run(lifted(grid(2, 80), 1, gain, seed=4), sessions(80, each=1)).resamples
        for gain in (0.0005, 0.3)
    }
    assert looks == {2000}
    close = np.zeros((2, 200))
    # five clusters that gain and none that loses: p = 1/32, within .05 +- 3 * .0039 no; 4: .0625
    close[1, :4] = 0.5
    close[1, 4] = -1e-3
    assert run(close, sessions(200, each=1)).resamples == 20_000


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"default": 60}, r"default must lie in \[0, 60\), got 60"),
        ({"direction": "up"}, "direction must be 'higher' or 'lower', got 'up'"),
        ({"clusters": ["a"]}, "clusters must name one per case, 240, got 1"),
        ({"guardrails": np.ones(3, dtype=bool)}, r"guardrails must be bool \(60,\)"),
        ({"alpha": 0.0}, r"alpha must lie in \(0, 0.2\], got 0.0"),
    ],
)
def test_what_does_not_fit_is_refused(change: dict[str, object], message: str) -> None:
    arguments: dict[str, object] = {"default": 0, "clusters": sessions(), **change}
    with pytest.raises((ContractError, ParameterError), match=message):
        decide(grid(), rng=np.random.default_rng(1), **arguments)  # type: ignore[arg-type]


def test_one_setting_or_no_defined_case_is_no_family() -> None:
    with pytest.raises(ContractError, match="settings >= 2"):
        run(grid(1))
    with pytest.raises(ContractError, match="undefined for every case"):
        run(np.full((2, CASES), np.nan))
    with pytest.raises(ContractError, match="finite, got infinity"):
        run(np.full((2, CASES), np.inf))
    keys = np.full((60, 1), np.nan)
    with pytest.raises(ContractError, match="distance_keys must be finite"):
        run(lifted(grid(), 9, 0.1), distance_keys=keys)
