"""Largest of many test statistics under random sign changes: who beats the default for sure.

With thousands of settings some setting always looks better. Flipping the signs of whole clusters
shows how large the *largest* statistic of the grid grows by luck alone; only a setting above
that counts. One sign matrix serves every setting, which keeps their correlation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recalltune.errors import ContractError, ParameterError

__all__ = [
    "MaxT",
    "Signs",
    "draw_signs",
    "holm",
    "max_t",
    "step_down_p",
    "student_scale",
    "tie_set",
]

Floats = NDArray[np.float64]
ENUMERATED_CLUSTERS = 12
BLOCK = 256
# Statistics are multiplied in float32; exact ties with the observed sum must still count.
TOLERANCE = 1e-4


@dataclass(frozen=True, eq=False)
class Signs:
    """Sign patterns of J clusters, shared by all settings of a grid."""

    patterns: NDArray[np.int8]
    """shape (B, J), -1 or 1."""
    exact: bool
    """Whether the patterns are all 2^J there are."""

    def blocks(self) -> Iterator[NDArray[np.float32]]:
        """Patterns in slices small enough that the product with a grid stays in memory."""
        for start in range(0, len(self.patterns), BLOCK):
            yield self.patterns[start : start + BLOCK].astype(np.float32)

    def p_values(self, reached: NDArray[np.int64]) -> Floats:
        """P-values from how many patterns reached the observed statistic; never 0.

        ``count / 2^J`` when enumerated, else ``(1 + count) / (B + 1)`` (Phipson & Smyth 2010).
        """
        size = len(self.patterns)
        p: Floats = reached / size if self.exact else (reached + 1) / (size + 1)
        return p


def draw_signs(clusters: int, *, resamples: int = 2000, rng: np.random.Generator) -> Signs:
    """Sign patterns for J clusters: all of them up to 12 clusters, else a random sample.

    Parameters
    ----------
    clusters
        J, >= 1.
    resamples
        B, >= 99. Patterns drawn when there are too many to list.
    rng
        Source of the random patterns.

    Returns
    -------
    Signs
        At most 4,096 enumerated patterns, or B drawn ones.

    Raises
    ------
    ParameterError
        If ``resamples`` is below 99.
    """
    if resamples < 99:
        msg = f"resamples must lie in [99, inf), got {resamples}"
        raise ParameterError(msg)
    if clusters <= ENUMERATED_CLUSTERS:
        bits = np.arange(2**clusters)[:, None] >> np.arange(clusters)
        return Signs(patterns=(1 - 2 * (bits & 1)).astype(np.int8), exact=True)
    drawn = rng.integers(0, 2, (resamples, clusters), dtype=np.int8)
    return Signs(patterns=drawn * np.int8(2) - np.int8(1), exact=False)


@dataclass(frozen=True, eq=False)
class MaxT:
    """Outcome of the single-step test of G settings against the default."""

    statistic: Floats
    """shape (G,). ``sum_j C_j / sqrt(sum_j C_j^2)``; 0 for a setting without any difference."""
    p_adj: Floats
    """shape (G,), in (0, 1]. Chance that the best of the grid looks this good by luck."""
    critical: float
    """Statistic that is exceeded by luck with probability alpha."""
    critical_t: float
    """The same on the scale of Student's t."""

    @property
    def best_p(self) -> float:
        """Smallest adjusted p: whether there is any winner."""
        return float(self.p_adj.min())


def max_t(sums: Floats, signs: Signs, *, alpha: float = 0.05, two_sided: bool = False) -> MaxT:
    """Adjusted p-values of G settings by single-step max-T (Westfall & Young 1993).

    Parameters
    ----------
    sums
        shape (G, J), difference to the default summed over each cluster; positive is better.
        Rows without any difference get p = 1 and take no part. Several metrics may be stacked as
        further rows: the statistic has no unit.
    signs
        From `draw_signs` for the same J.
    alpha
        in (0, 0.2]. Share of false winners allowed.
    two_sided
        Compare absolute values, for a map of what helps or hurts; the gate is one-sided.

    Returns
    -------
    MaxT
        Statistics, adjusted p-values and the critical value.

    Raises
    ------
    ContractError
        If a sum is not finite or the signs belong to another number of clusters.
    ParameterError
        If ``alpha`` is out of range.

    Examples
    --------
    >>> signs = draw_signs(5, rng=np.random.default_rng(0))
    >>> max_t(np.ones((1, 5)), signs).p_adj  # only one of 2^5 patterns is as good
    array([0.03125])
    """
    _check(sums, signs, alpha)
    unit, statistic, moving = _unit_rows(sums)
    if not moving.any():
        return MaxT(statistic, np.ones(len(sums)), np.inf, np.inf)
    largest = np.concatenate([_row_max(block @ unit.T, two_sided) for block in signs.blocks()])
    largest.sort()
    observed = np.abs(statistic) if two_sided else statistic
    reached = len(largest) - np.searchsorted(largest, observed - TOLERANCE, side="left")
    critical = float(np.quantile(largest, 1.0 - alpha, method="higher"))
    return MaxT(
        statistic=statistic,
        p_adj=np.where(moving, signs.p_values(reached), 1.0),
        critical=critical,
        critical_t=float(student_scale(np.array([critical]), sums.shape[1])[0]),
    )


def step_down_p(sums: Floats, signs: Signs) -> Floats:
    """Adjusted p-values of G settings by step-down max-T (Romano & Wolf 2005).

    Each setting is compared with the largest statistic among those not better than itself, so
    more settings pass than in one step; the best one gets the same p.

    Parameters
    ----------
    sums
        shape (G, J), as in `max_t`.
    signs
        From `draw_signs`.

    Returns
    -------
    Floats
        shape (G,), in (0, 1], never rising with the statistic.
    """
    _check(sums, signs, 0.05)
    unit, statistic, moving = _unit_rows(sums)
    p_adj = np.ones(len(sums))
    rising = np.flatnonzero(moving)[np.argsort(statistic[moving], kind="stable")]
    if not len(rising):
        return p_adj
    ladder = unit[np.argsort(statistic[moving], kind="stable")]
    bar = (statistic[rising] - TOLERANCE).astype(np.float32)
    reached = np.zeros(len(rising), dtype=np.int64)
    for block in signs.blocks():
        luck = np.maximum.accumulate(block @ ladder.T, axis=1)
        reached += (luck >= bar).sum(axis=0)
    falling = np.maximum.accumulate(signs.p_values(reached)[::-1])
    p_adj[rising] = falling[::-1]
    return p_adj


def tie_set(sums: Floats, best: int, signs: Signs, *, alpha: float = 0.05) -> NDArray[np.bool_]:
    """Which settings cannot be told apart from the best (Hsu's comparisons with the best).

    Parameters
    ----------
    sums
        shape (G, J), cluster sums of the settings' differences to any common setting.
    best
        Row of the best setting.
    signs
        From `draw_signs`.
    alpha
        in (0, 0.2]. Chance of losing the truly best setting.

    Returns
    -------
    NDArray[np.bool_]
        shape (G,). The best setting is always inside.
    """
    behind = sums[best] - sums
    noise = 1e-12 * np.abs(sums).max()
    return step_down_p(np.where(np.abs(behind) <= noise, 0.0, behind), signs) > alpha


def student_scale(statistic: Floats, clusters: int) -> Floats:
    """Student's t that belongs to the sign-change statistic of J clusters.

    ``r = T / sqrt(J)``, ``t = r sqrt(J - 1) / sqrt(1 - r^2)``; infinite if all clusters agree.
    """
    r = np.clip(statistic / np.sqrt(clusters), -1.0, 1.0)
    # float32 leaves the statistic of identical sums a little off sqrt(J).
    agree = np.abs(r) > 1.0 - 1e-7
    rest = np.sqrt(np.where(agree, 1.0, 1.0 - r * r))
    t: Floats = np.where(agree, np.copysign(np.inf, r), r * np.sqrt(clusters - 1) / rest)
    return t


def holm(p: Floats) -> Floats:
    """P-values adjusted by Holm's method, for a short list fixed in advance.

    Examples
    --------
    >>> holm(np.array([0.04, 0.01, 0.03]))
    array([0.06, 0.03, 0.06])
    """
    order = np.argsort(p, kind="stable")
    steps = np.minimum(1.0, np.arange(len(p), 0, -1) * p[order])
    adjusted = np.empty(len(p))
    adjusted[order] = np.maximum.accumulate(steps)
    return adjusted


def _check(sums: Floats, signs: Signs, alpha: float) -> None:
    if not 0.0 < alpha <= 0.2:
        msg = f"alpha must lie in (0, 0.2], got {alpha}"
        raise ParameterError(msg)
    if sums.ndim != 2 or sums.shape[1] != signs.patterns.shape[1]:
        wanted = signs.patterns.shape[1]
        msg = f"sums must be (settings, {wanted}) to match the signs, got {sums.shape}"
        raise ContractError(msg)
    if not np.isfinite(sums).all():
        row, cluster = np.argwhere(~np.isfinite(sums))[0]
        msg = f"sums must be finite, got {sums[row, cluster]} in row {row}, cluster {cluster}"
        raise ContractError(msg)


def _unit_rows(sums: Floats) -> tuple[NDArray[np.float32], Floats, NDArray[np.bool_]]:
    """Rows that move, scaled to length 1; the statistic of all rows; which rows move."""
    length = np.sqrt((sums * sums).sum(axis=1))
    moving = length > 0
    unit = sums[moving] / length[moving, None]
    statistic = np.zeros(len(sums))
    statistic[moving] = unit.sum(axis=1)
    return unit.astype(np.float32), statistic, moving


def _row_max(product: NDArray[np.float32], two_sided: bool) -> NDArray[np.float32]:
    largest: NDArray[np.float32] = (np.abs(product) if two_sided else product).max(axis=1)
    return largest
