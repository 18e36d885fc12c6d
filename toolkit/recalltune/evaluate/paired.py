"""Means and paired differences with their intervals: the arithmetic behind all that is shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recalltune.evaluate.clusters import Clusters
from recalltune.evaluate.intervals import Interval, default_interval, percentile_interval

__all__ = ["SEED", "Paired", "finite_or_none", "mean_of", "paired"]

Floats = NDArray[np.float64]
SEED = 20_260_201
"""Of every sign pattern, fold and resample, so that a number is the same wherever it is shown."""


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
    change: Floats, sessions: Sequence[str], *, span: float = 1.0, level: float = 0.95
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

    def interval(sums: Floats, sizes: NDArray[np.int64]) -> Interval:
        rng = np.random.default_rng(SEED)
        return default_interval(sums, sizes, rng=rng, span=span, level=level)

    return _over_sessions(change, sessions, interval)


def mean_of(values: Floats, sessions: Sequence[str]) -> Paired:
    """Mean of per-case values themselves, with its interval; ``changed`` counts the non-zero."""

    def interval(sums: Floats, sizes: NDArray[np.int64]) -> Interval:
        return percentile_interval(sums, sizes, rng=np.random.default_rng(SEED))

    return _over_sessions(values, sessions, interval)


def finite_or_none(value: float) -> float | None:
    """The number, or None where it is NaN or infinite: what a table or JSON can hold."""
    return float(value) if np.isfinite(value) else None


def _over_sessions(
    values: Floats,
    sessions: Sequence[str],
    interval: Callable[[Floats, NDArray[np.int64]], Interval],
) -> Paired:
    defined = np.flatnonzero(~np.isnan(values))
    if not defined.size:
        return Paired(None, None, None, 0, 0)
    part = values[defined]
    clusters = Clusters.of([sessions[int(row)] for row in defined])
    bounds = interval(clusters.sums(part), clusters.sizes)
    return Paired(
        diff=float(part.mean()),
        lo=finite_or_none(bounds.low),
        hi=finite_or_none(bounds.high),
        n=int(defined.size),
        changed=int(np.count_nonzero(part)),
    )
