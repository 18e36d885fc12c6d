"""Means and paired differences with their intervals: the arithmetic behind all that is shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recalltune.evaluate.clusters import Clusters
from recalltune.evaluate.intervals import default_interval, percentile_interval

__all__ = [
    "SEED",
    "Paired",
    "mean_of",
    "paired",
]

SEED = 20_260_201
"""Of every resample here, so that a number is the same wherever it is shown."""


@dataclass(frozen=True)
class Paired:
    """A mean difference, b - a, over the cases where both are defined."""

    diff: float | None
    """None without a case."""
    lo: float | None
    hi: float | None
    """95 %, over whole sessions; None without a case."""
    n: int
    changed: int
    """Cases whose value differs."""


def paired(
    change: NDArray[np.float64], sessions: Sequence[str], *, span: float = 1.0, level: float = 0.95
) -> Paired:
    """Mean of per-case differences with the default interval over sessions.

    Parameters
    ----------
    change
        shape (N,), value minus the baseline's; NaN where the metric is undefined for the case.
    sessions
        length N, the session of each case.
    span
        > 0, unit of the metric. Width of its range.
    level
        in (0, 1).

    Examples
    --------
    >>> paired(np.array([0.0, np.nan]), ["a", "b"]).n
    1
    """
    defined = np.flatnonzero(~np.isnan(change))
    if not defined.size:
        return Paired(None, None, None, 0, 0)
    values = change[defined]
    clusters = Clusters.of([sessions[int(row)] for row in defined])
    interval = default_interval(
        clusters.sums(values),
        clusters.sizes,
        rng=np.random.default_rng(SEED),
        span=span,
        level=level,
    )
    return Paired(
        diff=float(values.mean()),
        lo=_finite(interval.low),
        hi=_finite(interval.high),
        n=int(defined.size),
        changed=int(np.count_nonzero(values)),
    )


def mean_of(values: NDArray[np.float64], sessions: Sequence[str]) -> Paired:
    """Mean of per-case values themselves, with its interval; ``changed`` counts the non-zero."""
    defined = np.flatnonzero(~np.isnan(values))
    if not defined.size:
        return Paired(None, None, None, 0, 0)
    part = values[defined]
    clusters = Clusters.of([sessions[int(row)] for row in defined])
    interval = percentile_interval(
        clusters.sums(part), clusters.sizes, rng=np.random.default_rng(SEED)
    )
    return Paired(
        diff=float(part.mean()),
        lo=_finite(interval.low),
        hi=_finite(interval.high),
        n=int(defined.size),
        changed=int(np.count_nonzero(part)),
    )


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
