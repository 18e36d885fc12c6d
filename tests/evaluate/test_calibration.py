"""Error rates, power and coverage on simulated case sets, within stated bounds.

Every test draws whole studies from a recipe with a known truth and counts how often the procedure
says something untrue. Bounds leave three standard errors of the number of studies.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from recalltune.evaluate.clusters import Clusters
from recalltune.evaluate.folds import fold_gain
from recalltune.evaluate.intervals import percentile_interval, t_interval
from recalltune.evaluate.maxt import draw_signs, max_t, tie_set
from recalltune.evaluate.planner import cases_needed
from recalltune.evaluate.skew import skew_guard

pytestmark = pytest.mark.stress

Rng = np.random.Generator
ALPHA = 0.05


def logistic(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def exchangeable(rng: Rng, cases: int, settings: int, *, lift: float = 0.0) -> np.ndarray:
    """Recall of 1-3 targets, every setting an independent draw; row 1 may be truly better."""
    theta = rng.normal(0, 1.5, cases)
    relevant = rng.integers(1, 4, cases)
    logit = np.broadcast_to(theta, (settings, cases)).copy()
    logit[1] += lift
    return rng.binomial(relevant, logistic(logit)) / relevant


def sparse(rng: Rng, cases: int, settings: int) -> np.ndarray:
    """Nine tenths of all values are those of one shared row."""
    theta = rng.normal(0, 1.5, cases)
    relevant = rng.integers(1, 4, cases)
    draws = rng.binomial(relevant, logistic(theta), (settings + 1, cases)) / relevant
    return np.where(rng.random((settings, cases)) < 0.9, draws[-1], draws[:-1])


def clustered(
    rng: Rng, clusters: int, each: int, tau: float, settings: int, *, uneven: bool = False
) -> tuple[np.ndarray, Clusters]:
    """Each cluster likes some settings better than others; no setting is better over clusters.

    Uneven sizes differ as those of real sessions do, ``each`` on average.
    """
    sizes = np.full(clusters, each)
    if uneven:
        share = rng.dirichlet(np.full(clusters, 2.0))
        sizes = 1 + rng.multinomial(clusters * (each - 1), share)
    theta = rng.normal(0, 1.5, clusters * each)
    liking = np.repeat(rng.normal(0, tau, (settings, clusters)), sizes, axis=1)
    relevant = rng.integers(1, 4, clusters * each)
    matrix = rng.binomial(relevant, logistic(theta + liking)) / relevant
    return matrix, Clusters.of(np.repeat([f"{n:03d}" for n in range(clusters)], sizes).tolist())


def skewed(rng: Rng, cases: int, settings: int, q: float) -> np.ndarray:
    """Differences that gain a little often and lose much rarely, correlated over settings."""

    def draw(shape: tuple[int, ...]) -> np.ndarray:
        return np.where(rng.random(shape) < q, -(1 - q) / q, 1.0)

    values = np.where(rng.random((settings, cases)) < 0.7, draw((cases,)), draw((settings, cases)))
    values[:, rng.random(cases) < 0.5] = 0
    return values


def declares(sums: np.ndarray, rng: Rng, *, guard: bool = True, resamples: int = 600) -> bool:
    test = max_t(sums, draw_signs(sums.shape[1], resamples=resamples, rng=rng), alpha=ALPHA)
    passing = test.p_adj <= ALPHA
    return bool((passing & skew_guard(sums, test)).any() if guard else passing.any())


def rate(studies: int, study: Callable[[Rng], bool], *, seed: int) -> float:
    rng = np.random.default_rng(seed)
    return float(np.mean([study(rng) for _ in range(studies)]))


@pytest.mark.parametrize("cases", [80, 200])
@pytest.mark.parametrize("recipe", [exchangeable, sparse])
def test_no_better_setting_wins_in_about_one_study_of_twenty(
    recipe: Callable[[Rng, int, int], np.ndarray], cases: int
) -> None:
    def study(rng: Rng) -> bool:
        matrix = recipe(rng, cases, 101)
        return declares(matrix[1:] - matrix[0], rng)

    assert 0.025 <= rate(1000, study, seed=1) <= 0.071


def test_thousands_of_settings_do_not_raise_the_rate() -> None:
    def study(rng: Rng) -> bool:
        matrix = exchangeable(rng, 80, 2501)
        return declares(matrix[1:] - matrix[0], rng)

    assert rate(400, study, seed=2) <= 0.095


@pytest.mark.parametrize("uneven", [False, True])
@pytest.mark.parametrize(("clusters", "each"), [(40, 10), (10, 40)])
def test_whole_clusters_keep_the_rate(clusters: int, each: int, uneven: bool) -> None:
    def study(rng: Rng) -> bool:
        matrix, groups = clustered(rng, clusters, each, 0.5, 101, uneven=uneven)
        return declares(groups.sums(matrix[1:] - matrix[0]), rng)

    assert rate(1000, study, seed=3) <= 0.071


def test_single_cases_of_clustered_data_would_not() -> None:
    def study(rng: Rng) -> bool:
        matrix, _ = clustered(rng, 40, 10, 0.5, 101)
        return declares(matrix[1:] - matrix[0], rng)

    assert 0.14 <= rate(1000, study, seed=4) <= 0.24


def test_the_guard_stops_winners_that_skew_alone_makes() -> None:
    def study(rng: Rng, *, guard: bool) -> bool:
        return declares(skewed(rng, 200, 100, 0.25), rng, guard=guard)

    assert rate(500, lambda rng: study(rng, guard=True), seed=5) <= 0.06
    assert rate(500, lambda rng: study(rng, guard=False), seed=5) >= 0.07


def test_the_cases_planned_for_give_the_power_promised() -> None:
    rng = np.random.default_rng(6)
    # the population values of the lift .5, from many cases
    pair = exchangeable(rng, 400_000, 2, lift=0.5)
    change = pair[1] - pair[0]
    pilot = exchangeable(rng, 200, 101)
    signs = draw_signs(200, resamples=2000, rng=rng)
    critical = max_t(pilot[1:] - pilot[0], signs).critical_t
    assert change.mean() == pytest.approx(0.0873, abs=0.003)
    n = cases_needed(float(change.mean()), float(change.std()), critical_t=critical)
    assert n is not None
    assert n == pytest.approx(436, rel=0.08)

    def study(rng: Rng) -> bool:
        matrix = exchangeable(rng, n, 101, lift=0.5)
        return declares(matrix[1:] - matrix[0], rng)

    assert 0.72 <= rate(400, study, seed=7) <= 0.88


def test_the_tie_set_holds_the_truly_best() -> None:
    sizes = []

    def study(rng: Rng) -> bool:
        matrix = exchangeable(rng, 200, 20, lift=0.3)
        signs = draw_signs(200, resamples=600, rng=rng)
        inside = tie_set(matrix - matrix[0], int(matrix.mean(axis=1).argmax()), signs)
        sizes.append(int(inside.sum()))
        return bool(inside[1])

    assert rate(400, study, seed=8) >= 0.93
    assert 10 <= np.mean(sizes) <= 19.5


def test_folds_are_nearly_unbiased_where_the_apparent_gain_is_not() -> None:
    rng = np.random.default_rng(9)
    groups = Clusters.of([f"{n:03d}" for n in range(200)])
    folds, apparent = [], []
    for _ in range(400):
        matrix = exchangeable(rng, 200, 100, lift=0.3)
        means = matrix.mean(axis=1)
        best = int(means.argmax())
        truth = 0.0527 if best == 1 else 0.0
        folds.append(fold_gain(matrix, 0, groups, rng=rng).gain - truth)
        apparent.append(means[best] - means[0] - truth)
    assert -0.016 <= np.mean(folds) <= 0
    assert np.mean(apparent) >= 0.03


def test_only_folds_of_whole_clusters_see_that_nothing_was_gained() -> None:
    rng = np.random.default_rng(10)
    cut = Clusters.of([f"{n:03d}" for n in range(400)])
    gains = []
    for _ in range(300):
        matrix, whole = clustered(rng, 20, 20, 0.5, 100)
        gains.append([fold_gain(matrix, 0, g, rng=rng).gain for g in (whole, cut)])
    grouped, ungrouped = np.mean(gains, axis=0)
    assert abs(grouped) <= 0.01
    assert ungrouped > 0.02


def test_intervals_over_clusters_cover_and_intervals_over_cases_do_not() -> None:
    rng = np.random.default_rng(11)
    covered = []
    for _ in range(1500):
        pair, groups = clustered(rng, 20, 20, 0.5, 2, uneven=True)
        change = pair[1] - pair[0]
        over_clusters = percentile_interval(groups.sums(change), groups.sizes, rng=rng)
        over_cases = t_interval(change, np.ones(400, dtype=np.int64))
        covered.append([i.low <= 0 <= i.high for i in (over_clusters, over_cases)])
    clusters, cases = np.mean(covered, axis=0)
    assert 0.92 <= clusters <= 0.96
    assert cases < 0.82


def sphere(rng: Rng, cases: int, side: int, *, candidates: int = 64) -> np.ndarray:
    """Two ranking weights on a grid; by symmetry every setting has the same expected nDCG@10."""
    angles = np.deg2rad(np.linspace(-45, 45, side))
    a, b = (x.ravel() for x in np.meshgrid(angles, angles, indexing="ij"))
    directions = np.stack([np.cos(a) * np.cos(b), np.sin(a) * np.cos(b), np.sin(b)], axis=1)
    values = np.empty((side * side, cases))
    discount = np.zeros(candidates + 1)
    discount[:10] = 1 / np.log2(np.arange(2, 12))
    for case in range(cases):
        relevant = int(rng.integers(1, 4))
        base = rng.normal(0, 1, candidates)
        base[:relevant] += 2
        scores = (directions @ rng.normal(0, 1, (3, candidates)) + base).astype(np.float32)
        gained = np.zeros(side * side)
        for target in range(relevant):
            gained += discount[(scores > scores[:, target, None]).sum(axis=1)]
        values[:, case] = gained / discount[:relevant].sum()
    return values


def climb(means: np.ndarray, side: int) -> np.ndarray:
    """Coarse-to-fine search: every 7th point, then four rounds around the best three."""
    visited = np.zeros((side, side), dtype=bool)
    visited[::7, ::7] = True
    grid = means.reshape(side, side)
    for _ in range(4):
        best = np.argsort(-np.where(visited, grid, -np.inf), axis=None)[:3]
        for i, j in zip(*np.unravel_index(best, grid.shape), strict=True):
            visited[max(0, i - 4) : i + 5, max(0, j - 4) : j + 5] = True
    return visited.ravel()


def test_an_adaptive_search_is_safe_when_the_family_is_the_whole_space() -> None:
    def study(rng: Rng) -> bool:
        matrix = sphere(rng, 200, 50)
        default = int(rng.integers(len(matrix)))
        sums = matrix - matrix[default]
        test = max_t(sums, draw_signs(200, resamples=600, rng=rng))
        passing = (test.p_adj <= ALPHA) & skew_guard(sums, test)
        return bool((passing & climb(matrix.mean(axis=1), 50)).any())

    # .033 measured on 600 studies; three standard errors of 100 studies above that
    assert rate(100, study, seed=12) <= 0.033 + 3 * np.sqrt(0.033 * 0.967 / 100)
