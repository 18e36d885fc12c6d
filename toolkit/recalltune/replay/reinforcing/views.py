"""What a reinforced walk shows, as tidy frames: lists, ranks, uses, exposure and drift."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recalltune.candidates.table import Candidates
from recalltune.errors import ParameterError
from recalltune.replay.reinforcing.rule import AccessRule
from recalltune.replay.reinforcing.state import Use
from recalltune.replay.reinforcing.uses import Recorded

__all__ = ["counts", "drift", "exposure", "gini", "hits", "ranks", "uses"]

Lists = Sequence[NDArray[np.int32]]


def hits(candidates: Candidates, labels: Sequence[str], lists: Lists) -> pl.DataFrame:
    """Return config, query_id, rank, memory_id: every list, best first."""
    ids = candidates.spans["memory_id"].to_numpy()
    names = candidates.queries["query_id"].to_numpy()
    frames = []
    for label, order in zip(labels, lists, strict=True):
        row, place = np.nonzero(order >= 0)
        frames.append(
            pl.DataFrame(
                {
                    "config": pl.repeat(label, row.size, eager=True, dtype=pl.String),
                    "query_id": pl.Series(names[row], dtype=pl.String),
                    "rank": place + 1,
                    "memory_id": pl.Series(
                        ids[candidates.span[row, order[row, place]]], dtype=pl.String
                    ),
                }
            )
        )
    return pl.concat(frames)


def ranks(
    candidates: Candidates, labels: Sequence[str], lists: Lists, still: Lists
) -> pl.DataFrame:
    """Return config, query_id, memory_id, rank, still_rank, first_need: every target."""
    needed = _targets(candidates)
    on = ["config", "query_id", "memory_id"]
    shown = hits(candidates, labels, lists).select(*on, "rank")
    unmoved = hits(candidates, labels, still).select(*on, pl.col("rank").alias("still_rank"))
    every = pl.DataFrame({"config": list(labels)}, schema={"config": pl.String})
    return (
        every.join(needed, how="cross", maintain_order="left_right")
        .join(shown, on=on, how="left", maintain_order="left")
        .join(unmoved, on=on, how="left", maintain_order="left")
        .select(*on, "rank", "still_rank", "first_need")
    )


def _targets(candidates: Candidates) -> pl.DataFrame:
    """query_id, memory_id, first_need, place (of the query in time); in time order."""
    schema = {"query_id": pl.String, "memory_id": pl.String, "place": pl.Int64}
    if candidates.labels.height == 0:
        empty = pl.DataFrame(schema=schema)
        return empty.with_columns(first_need=pl.lit(value=True)).clear()
    queries = candidates.queries.select("query_id", "asked_at").with_row_index("row")
    timed = queries.sort("asked_at", "row").with_row_index("place")
    return (
        candidates.labels.filter(pl.col("role") == "target")
        .select("query_id", "memory_id")
        .unique()
        .join(timed.select("query_id", pl.col("place").cast(pl.Int64)), on="query_id")
        .sort("place", "memory_id")
        .with_columns(first_need=pl.col("memory_id").is_first_distinct())
    )


def uses(
    candidates: Candidates,
    labels: Sequence[str],
    lists: Lists,
    rule: AccessRule,
    counters: Sequence[frozenset[int]],
) -> pl.DataFrame:
    """Return config, memory_id, used_at (microseconds): the uses of the lists, in time order."""
    recorded = Recorded.of(candidates, rule)
    ids = np.array(recorded.ids, dtype=np.object_)
    frames = [pl.DataFrame(schema=_USES)]
    for label, (used_at, memory) in _written(recorded, labels, lists, rule, counters):
        frame = {
            "config": pl.repeat(label, memory.size, eager=True, dtype=pl.String),
            "memory_id": pl.Series(ids[memory].tolist(), dtype=pl.String),
            "used_at": used_at,
        }
        frames.append(pl.DataFrame(frame, schema=_USES).sort("used_at", "memory_id"))
    return pl.concat(frames)


_USES = {"config": pl.String, "memory_id": pl.String, "used_at": pl.Int64}


def counts(
    candidates: Candidates,
    labels: Sequence[str],
    lists: Lists,
    rule: AccessRule,
    counters: Sequence[frozenset[int]],
) -> pl.DataFrame:
    """Return config, memory_id, recorded, simulated: uses at the end, of memories with any."""
    recorded = Recorded.of(candidates, rule)
    frames = []
    for label, (_, memory) in _written(recorded, labels, lists, rule, counters):
        simulated = np.bincount(memory, minlength=len(recorded.ids))
        frame = {
            "memory_id": pl.Series(list(recorded.ids), dtype=pl.String),
            "recorded": recorded.count,
            "simulated": simulated,
        }
        told = pl.DataFrame(frame).filter(pl.col("recorded") + pl.col("simulated") > 0)
        frames.append(told.select(pl.lit(label).alias("config"), pl.all()))
    return pl.concat(frames)


def _written(
    recorded: Recorded,
    labels: Sequence[str],
    lists: Lists,
    rule: AccessRule,
    counters: Sequence[frozenset[int]],
) -> Iterator[tuple[str, tuple[NDArray[np.int64], NDArray[np.int64]]]]:
    """By config, (times, memories) of the uses its lists made; a walk over ready lists."""
    for label, order, read in zip(labels, lists, counters, strict=True):
        use = Use(recorded, rule.counter(min(read, default=0)))
        for row in recorded.order.tolist() if rule.accesses == "simulated" else []:
            if not recorded.silent[row]:
                shown = order[row][order[row] >= 0][: rule.shown_top]
                use.queue(int(recorded.asked[row]), recorded.cell[row, shown])
        done = use.flush(np.iinfo(np.int64).max)
        times = [np.full(memories.size, used_at) for used_at, memories in done]
        nothing = np.array([], dtype=np.int64)
        yield (
            label,
            (
                np.concatenate([nothing, *times]),
                np.concatenate([nothing, *(memories for _, memories in done)]),
            ),
        )


def exposure(
    candidates: Candidates, labels: Sequence[str], lists: Lists, rule: AccessRule, *, points: int
) -> pl.DataFrame:
    """Return config, step, asked_at, shown, distinct, gini, top_1_share, top_10_share."""
    _at_least_one("points", points)
    counted, asked = _counted_queries(candidates, rule)
    steps = np.unique(np.linspace(0, counted.size, points + 1).round().astype(np.int64))[1:]
    ids, memory = np.unique(candidates.spans["memory_id"].to_numpy(), return_inverse=True)
    rows = []
    for label, order in zip(labels, lists, strict=True):
        seen, before = np.zeros(ids.size, dtype=np.int64), 0
        for step in steps.tolist():
            row = counted[before:step]
            at, place = np.nonzero(order[row] >= 0)
            span = candidates.span[row[at], order[row[at], place]]
            seen += np.bincount(memory[span], minlength=ids.size)
            before = step
            rows.append((label, step, int(asked[step - 1]), *_concentration(seen)))
    return pl.DataFrame(rows, schema=_EXPOSURE, orient="row")


_EXPOSURE = {
    "config": pl.String,
    "step": pl.Int64,
    "asked_at": pl.Int64,
    "shown": pl.Int64,
    "distinct": pl.Int64,
    "gini": pl.Float64,
    "top_1_share": pl.Float64,
    "top_10_share": pl.Float64,
}


def _counted_queries(
    candidates: Candidates, rule: AccessRule
) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """Rows of the queries that count, in time order, and when they are asked."""
    asked = candidates.queries["asked_at"].to_numpy().astype(np.int64)
    order = np.argsort(asked, kind="stable")
    loud = np.array([kind not in rule.silent_kinds for kind in candidates.queries["kind"]])
    counted = order[loud[order]] if order.size else order
    return counted, asked[counted]


def _concentration(seen: NDArray[np.int64]) -> tuple[int, int, float, float, float]:
    """Exposures, memories with any, Gini among these, shares of the most shown 1 % and 10 %."""
    shown = np.sort(seen[seen > 0])[::-1]
    total = int(shown.sum())
    if total == 0:
        return 0, 0, 0.0, 0.0, 0.0
    tops = [shown[: math.ceil(part * shown.size)].sum() / total for part in (0.01, 0.1)]
    return total, shown.size, gini(shown), float(tops[0]), float(tops[1])


def gini(counts: NDArray[np.int64]) -> float:
    """Inequality of counts: ``sum((2 i - n - 1) x_i) / (n sum(x))``, x rising, i from 1.

    Examples
    --------
    >>> gini(np.array([3, 3, 3])), gini(np.array([1, 3]))
    (0.0, 0.25)
    """
    rising = np.sort(counts)
    places = 2 * np.arange(1, rising.size + 1) - rising.size - 1
    return float((places * rising).sum() / (rising.size * rising.sum()))


def drift(
    candidates: Candidates, labels: Sequence[str], lists: Lists, still: Lists, *, windows: int
) -> pl.DataFrame:
    """Return config, window, queries, overlap, first_needed, first_recall, still_first_recall."""
    _at_least_one("windows", windows)
    asked = candidates.queries["asked_at"].to_numpy().astype(np.int64)
    order = np.argsort(asked, kind="stable")
    count = max(1, min(windows, order.size))
    window = np.empty(order.size, dtype=np.int64)
    for number, rows in enumerate(np.array_split(order, count)):
        window[rows] = number + 1
    by_query = pl.DataFrame({"query_id": candidates.queries["query_id"], "window": window})
    frames = []
    needs = ranks(candidates, labels, lists, still).join(by_query, on="query_id")
    for label, shown, unmoved in zip(labels, lists, still, strict=True):
        overlap = _overlap(shown, unmoved)
        mine = (
            by_query.with_columns(overlap=overlap)
            .group_by("window")
            .agg(pl.len().alias("queries"), pl.col("overlap").mean())
        )
        first = needs.filter(pl.col("first_need") & (pl.col("config") == label))
        found = first.group_by("window").agg(
            pl.len().alias("first_needed"),
            pl.col("rank").is_not_null().mean().alias("first_recall"),
            pl.col("still_rank").is_not_null().mean().alias("still_first_recall"),
        )
        joined = mine.join(found, on="window", how="left").sort("window")
        frames.append(joined.select(pl.lit(label).alias("config"), pl.all()))
    filled = pl.concat(frames).with_columns(pl.col("first_needed").fill_null(0))
    return filled.cast({"queries": pl.Int64, "first_needed": pl.Int64})


def _overlap(one: NDArray[np.int32], other: NDArray[np.int32]) -> NDArray[np.float64]:
    """Shape (Q,): shared memories over the longer list; 1 where both are empty."""
    shared = ((one[:, :, None] == other[:, None, :]) & (one >= 0)[:, :, None]).sum(axis=(1, 2))
    longer = np.maximum((one >= 0).sum(axis=1), (other >= 0).sum(axis=1))
    overlap: NDArray[np.float64] = np.where(longer > 0, shared / np.maximum(longer, 1), 1.0)
    return overlap


def _at_least_one(name: str, value: int) -> None:
    if value < 1:
        message = f"{name} must be at least 1, got {value}"
        raise ParameterError(message)
