"""Targets as they were when their case was asked, and what becomes of them by age."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recalltune.candidates.table import Candidates
from recalltune.candidates.world import DAY_US
from recalltune.errors import ParameterError
from recalltune.evaluate.clusters import sessions_of
from recalltune.evaluate.paired import mean_of, paired
from recalltune.evaluate.run import Evaluation

__all__ = ["AGE_BINS", "age_strata", "targets"]

Floats: TypeAlias = NDArray[np.float64]

AGE_BINS = (7, 30, 90, 180)
"""Days; upper ends of the age bins, the last bin is open."""


def targets(candidates: Candidates) -> pl.DataFrame:
    """Targets that existed for their case: one row a target.

    Columns: query_id, memory_id, layer, age_days (null: no time), session, text. Text and layer
    are those of the span that was open when the case was asked.
    """
    if not candidates.labels.height:
        return pl.DataFrame(schema=_TARGETS)
    asked = candidates.queries.select("query_id", "asked_at", "session")
    known = candidates.labels.filter((pl.col("role") == "target") & pl.col("exists"))
    spans = candidates.spans.select(
        "memory_id", "layer", "event_at", "enters_at", "leaves_at", "text"
    )
    open_then = (pl.col("enters_at") < pl.col("asked_at")) & (
        pl.col("leaves_at").is_null() | (pl.col("asked_at") <= pl.col("leaves_at"))
    )
    return (
        known.select("query_id", "memory_id")
        .unique(maintain_order=True)
        .join(asked, on="query_id", how="inner", maintain_order="left")
        .join(spans, on="memory_id", how="inner", maintain_order="left")
        .filter(open_then)
        .unique(["query_id", "memory_id"], keep="last", maintain_order=True)
        .with_columns(((pl.col("asked_at") - pl.col("event_at")) / DAY_US).alias("age_days"))
        # A time after the question counts as age 0, as the stages count it.
        .with_columns(pl.col("age_days").clip(lower_bound=0.0))
        .select(*_TARGETS)
        .sort("query_id", "memory_id")
    )


def age_strata(
    candidates: Candidates,
    results: Mapping[str, Evaluation],
    *,
    chosen: str | None = None,
    cutoff: int = 10,
    bins: Sequence[float] = AGE_BINS,
) -> pl.DataFrame:
    """Share of targets shown in the first places, by how old the target was when asked.

    Parameters
    ----------
    candidates
        The table that all runs ranked.
    results
        name -> evaluation; the first one is the default.
    chosen
        Name of the run that gets the role chosen.
    cutoff
        >= 1. Places looked at.
    bins
        Days, rising. Upper ends; the last bin is open, targets without a time have their own.

    Returns
    -------
    pl.DataFrame
        bin (text), bin_order, config, role (default: the first run; chosen; other), value, lo, hi,
        n (targets), diff, diff_lo, diff_hi (paired, to the first run; null in its own
        rows). Intervals are over whole sessions.
    """
    if list(bins) != sorted(set(bins)) or not bins or bins[0] <= 0:
        message = f"bins must be rising days > 0, got {list(bins)}"
        raise ParameterError(message)
    wanted = targets(candidates)
    ages = wanted["age_days"].fill_null(np.nan).to_numpy()
    which = np.where(np.isnan(ages), len(bins) + 1, np.searchsorted(np.asarray(bins), ages, "left"))
    names = _bin_names(bins)
    sessions = sessions_of(wanted)
    roles = {chosen: "chosen", next(iter(results), None): "default"}
    runs = {name: _shown(run, wanted, cutoff) for name, run in results.items()}
    rows = []
    for order in sorted(set(which.tolist())):
        members = np.flatnonzero(which == order)
        mine = [sessions[int(row)] for row in members]
        first: Floats | None = None
        for name, shown in runs.items():
            own = mean_of(shown[members], mine)
            change = None if first is None else paired(shown[members] - first, mine)
            first = shown[members] if first is None else first
            rows.append(
                {
                    "bin": names[order],
                    "bin_order": order,
                    "config": name,
                    "role": roles.get(name, "other"),
                    "value": own.diff,
                    "lo": own.lo,
                    "hi": own.hi,
                    "n": own.n,
                    "diff": change and change.diff,
                    "diff_lo": change and change.lo,
                    "diff_hi": change and change.hi,
                }
            )
    return pl.DataFrame(rows, schema=_AGES)


def _shown(run: Evaluation, wanted: pl.DataFrame, cutoff: int) -> Floats:
    near = run.hits.filter(pl.col("rank") <= cutoff).select(
        "query_id", "memory_id", pl.lit(1.0).alias("shown")
    )
    joined = wanted.join(near, on=["query_id", "memory_id"], how="left", maintain_order="left")
    return joined["shown"].fill_null(0.0).to_numpy()


def _bin_names(bins: Sequence[float]) -> list[str]:
    ends = [0.0, *bins]
    closed = [f"{low:g} to {high:g} days" for low, high in zip(ends, bins, strict=False)]
    return [*closed, f"over {bins[-1]:g} days", "no date"]


_TARGETS = {
    "query_id": pl.String,
    "memory_id": pl.String,
    "layer": pl.String,
    "age_days": pl.Float64,
    "session": pl.String,
    "text": pl.String,
}


_AGES = {
    "bin": pl.String,
    "bin_order": pl.Int64,
    "config": pl.String,
    "role": pl.String,
    "value": pl.Float64,
    "lo": pl.Float64,
    "hi": pl.Float64,
    "n": pl.Int64,
    "diff": pl.Float64,
    "diff_lo": pl.Float64,
    "diff_hi": pl.Float64,
}
