"""Intervals for one paired difference, with clusters as the units that are drawn again.

What decides is not the number of cases but m, the clusters whose sum differs at all: with few of
them the bootstrap cannot see what it has not seen, and a widened interval takes its place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

from recalltune.errors import ContractError, ParameterError
from recalltune.evaluate.clusters import mean_and_se

__all__ = [
    "Interval",
    "default_interval",
    "non_inferior",
    "percentile_interval",
    "t_interval",
    "widened_t_interval",
]

Floats = NDArray[np.float64]
Sizes = NDArray[np.int64]
FEW_DIFFERING = 15
ROUNDING = 1e-12


@dataclass(frozen=True)
class Interval:
    """A two-sided interval of a mean difference, not corrected for having been selected."""

    low: float
    high: float
    method: Literal["t", "percentile", "expanded percentile", "widened t"]
    differing: int
    """m, clusters whose sum is not zero."""


def t_interval(sums: Floats, sizes: Sizes, *, level: float = 0.95) -> Interval:
    """Mean difference ± t(J - 1) times its cluster error.

    Parameters
    ----------
    sums
        shape (J,), difference summed over each cluster.
    sizes
        shape (J,), cases of each cluster.
    level
        in (0, 1), coverage aimed at.

    Returns
    -------
    Interval
        Unbounded when there is one cluster only.
    """
    _check(sums, sizes, level)
    mean, se = mean_and_se(sums, sizes)
    half = _t_quantile(level, len(sums)) * float(se) if len(sums) > 1 else np.inf
    return Interval(float(mean) - half, float(mean) + half, "t", _differing(sums))


def percentile_interval(
    sums: Floats,
    sizes: Sizes,
    *,
    rng: np.random.Generator,
    level: float = 0.95,
    resamples: int = 2000,
    expanded: bool = True,
) -> Interval:
    """Quantiles of the mean over clusters drawn again with replacement.

    Parameters
    ----------
    sums
        shape (J,), difference summed over each cluster.
    sizes
        shape (J,), cases of each cluster.
    rng
        Source of the resamples.
    level
        in (0, 1).
    resamples
        B, >= 99.
    expanded
        Widen the levels to ``Phi(-sqrt(J / (J - 1)) t(J - 1))``, which undoes the narrowness of
        the percentile interval in small samples.

    Returns
    -------
    Interval
        Unbounded when there is one cluster only.

    References
    ----------
    Hesterberg 2015.
    """
    _check(sums, sizes, level)
    if resamples < 99:
        msg = f"resamples must lie in [99, inf), got {resamples}"
        raise ParameterError(msg)
    count = len(sums)
    method: Literal["expanded percentile", "percentile"] = (
        "expanded percentile" if expanded else "percentile"
    )
    if count == 1:
        return Interval(-np.inf, np.inf, method, _differing(sums))
    drawn = rng.multinomial(count, np.full(count, 1.0 / count), size=resamples).astype(np.float64)
    means = (drawn @ sums) / (drawn @ sizes)
    tail = (1.0 - level) / 2
    if expanded:
        tail = float(special.ndtr(-np.sqrt(count / (count - 1)) * _t_quantile(level, count)))
    low, high = np.quantile(means, [tail, 1.0 - tail])
    return Interval(float(low), float(high), method, _differing(sums))


def widened_t_interval(
    sums: Floats, sizes: Sizes, *, level: float = 0.95, span: float = 1.0
) -> Interval:
    """Interval after adding two made-up cases: one gains the whole range, one loses it.

    It is never empty: without any difference seen it says how large one may still be. For single
    cases ``n' = N + 2``, ``m' = N mean / n'``, ``v' = (sum d^2 + 2 span^2) / n' - m'^2``,
    ``m' ± t(n' - 1) sqrt(v' / n')``; clusters enter by their sums, each made-up case as its own.

    Parameters
    ----------
    sums
        shape (J,), difference summed over each cluster.
    sizes
        shape (J,), cases of each cluster.
    level
        in (0, 1).
    span
        > 0, width of the metric's range: the most a case can change.

    Returns
    -------
    Interval
        Always bounded and never of width 0.

    References
    ----------
    Bonett & Price 2012, carried over from proportions to bounded means.
    """
    _check(sums, sizes, level)
    if not (span > 0 and np.isfinite(span)):
        msg = f"span must lie in (0, inf), got {span}"
        raise ParameterError(msg)
    widened = np.concatenate((sums, [span, -span]))
    cases = np.concatenate((sizes, [1, 1]))
    total = float(cases.sum())
    mean = float(widened.sum()) / total
    error = float(np.sqrt(((widened - mean * cases) ** 2).sum())) / total
    half = _t_quantile(level, len(widened)) * error
    return Interval(mean - half, mean + half, "widened t", _differing(sums))


def default_interval(
    sums: Floats,
    sizes: Sizes,
    *,
    rng: np.random.Generator,
    level: float = 0.95,
    resamples: int = 2000,
    span: float = 1.0,
) -> Interval:
    """Expanded percentile interval, or the widened t when fewer than 15 clusters differ."""
    if _differing(sums) < FEW_DIFFERING:
        return widened_t_interval(sums, sizes, level=level, span=span)
    return percentile_interval(sums, sizes, rng=rng, level=level, resamples=resamples)


def non_inferior(
    sums: Floats, sizes: Sizes, *, margin: float, level: float = 0.95, span: float = 1.0
) -> bool:
    """Whether a setting is shown to lose less than the margin against another.

    Accepted if the one-sided lower bound of the mean difference lies above ``-margin``. The
    margin is set before looking. "Not significantly worse" is not this.

    Parameters
    ----------
    sums
        shape (J,), (simple minus other) summed over each cluster; positive is better.
    sizes
        shape (J,), cases of each cluster.
    margin
        > 0, in the unit of the metric.
    level
        in (0, 1), one-sided.
    span
        > 0, width of the metric's range.

    Returns
    -------
    bool
        True if non-inferior.

    Raises
    ------
    ParameterError
        If the margin is not positive.
    """
    if not margin > 0:
        msg = f"margin must lie in (0, inf), got {margin}"
        raise ParameterError(msg)
    two_sided = 2.0 * level - 1.0
    few = _differing(sums) < FEW_DIFFERING
    interval = (
        widened_t_interval(sums, sizes, level=two_sided, span=span)
        if few
        else t_interval(sums, sizes, level=two_sided)
    )
    return interval.low > -margin


def _differing(sums: Floats) -> int:
    # A sum of differences that cancel leaves rounding behind, which is no difference.
    return int(np.count_nonzero(np.abs(sums) > ROUNDING))


def _t_quantile(level: float, clusters: int) -> float:
    return float(special.stdtrit(clusters - 1, (1.0 + level) / 2))


def _check(sums: Floats, sizes: Sizes, level: float) -> None:
    if not 0.0 < level < 1.0:
        msg = f"level must lie in (0, 1), got {level}"
        raise ParameterError(msg)
    if sums.shape != sizes.shape or sums.ndim != 1 or not len(sums):
        msg = f"sums and sizes must be one value per cluster, got {sums.shape} and {sizes.shape}"
        raise ContractError(msg)
    if not np.isfinite(sums).all():
        raise ContractError("sums must be finite; a case missing in one setting cannot be paired")
