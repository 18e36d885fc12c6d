"""One paired difference with its interval: the arithmetic behind every comparison that is shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recalltune.errors import ContractError, ParameterError
from recalltune.evaluate.catalogue import parse_metric
from recalltune.evaluate.clusters import Clusters
from recalltune.evaluate.intervals import default_interval, percentile_interval
from recalltune.evaluate.run import Evaluation

__all__ = [
    "SEED",
    "Paired",
    "check_comparable",
    "higher_is_better",
    "mean_of",
    "paired",
    "paired_runs",
    "values_of",
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


def paired_runs(
    a: Evaluation,
    b: Evaluation,
    metric: str,
    *,
    rows: NDArray[np.intp] | None = None,
    level: float = 0.95,
) -> Paired:
    """Return b - a in one metric, over all cases or some ``rows`` of them.

    Raises
    ------
    ContractError
        If the two runs differ in cases, data or encoder.
    ParameterError
        If a run does not hold the metric.
    """
    check_comparable(a, b)
    change = values_of(b, metric) - values_of(a, metric)
    sessions = a.cases["session"].fill_null(a.cases["query_id"]).to_list()
    if rows is not None:
        change, sessions = change[rows], [sessions[int(row)] for row in rows]
    span = _span(metric, change)
    return paired(change, sessions, span=span, level=level)


def check_comparable(a: Evaluation, b: Evaluation) -> None:
    """Refuse two runs whose cases, data or encoder differ."""
    # Two runs over the very same table may be compared even where its encoder is missing.
    if a.stamp != b.stamp and (reason := a.stamp.refusal(b.stamp)):
        message = f"these two runs are not compared: {reason}"
        raise ContractError(message)
    if a.cases["query_id"].to_list() != b.cases["query_id"].to_list():
        raise ContractError("these two runs are not compared: the cases differ")


def values_of(run: Evaluation, metric: str) -> NDArray[np.float64]:
    """Return one metric of every case, NaN where it is undefined."""
    if metric not in run.cases.columns:
        known = ", ".join((*run.metrics, "passed", "tokens"))
        message = f"the evaluation holds {known}; got {metric!r}"
        raise ParameterError(message)
    values = run.cases[metric].cast(pl.Float64).fill_null(np.nan)
    return values.to_numpy().astype(np.float64)


def higher_is_better(metric: str) -> bool:
    """Whether more of a column is better; tokens are a cost."""
    if metric in ("tokens", "passed"):
        return metric == "passed"
    return parse_metric(metric)[0].better == "higher"


def _span(metric: str, change: NDArray[np.float64]) -> float:
    if metric == "tokens":
        # Tokens have no bound of their own: the largest change seen stands in for it.
        return float(max(np.nanmax(np.abs(change), initial=0.0), 1.0))
    return 1.0 if metric == "passed" else parse_metric(metric)[0].span


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
