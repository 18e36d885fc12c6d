"""Two runs side by side: what may be compared, and their paired difference."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recalltune.errors import ContractError, ParameterError
from recalltune.evaluate.catalogue import parse_metric
from recalltune.evaluate.clusters import sessions_of
from recalltune.evaluate.paired import Paired, paired
from recalltune.evaluate.run import Evaluation

__all__ = ["check_comparable", "higher_is_better", "paired_runs", "span_of", "values_of"]


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
    sessions = sessions_of(a.cases)
    if rows is not None:
        change, sessions = change[rows], [sessions[int(row)] for row in rows]
    span = span_of(metric, change)
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


def span_of(metric: str, change: NDArray[np.float64]) -> float:
    """Width of a column's range: the most that one case can change."""
    if metric == "tokens":
        # Tokens have no bound of their own: the largest change seen stands in for it.
        return float(max(np.nanmax(np.abs(change), initial=0.0), 1.0))
    return 1.0 if metric == "passed" else parse_metric(metric)[0].span
