"""What cases say about memories, against what is there: which of it judges a query.

In: labels, queries and the worlds they are asked in. Out: the labels that judge, each copy that is
hidden replaced by what is shown for it, and counts of those that judge nothing.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recalltune.candidates.world import SpanTable, Worlds

__all__ = ["judgeable", "of_queries", "spoken_for", "without_memory"]


def of_queries(labels: pl.DataFrame | None, queries: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """Labels of the queries asked, and how many are of none of them."""
    if labels is None or not labels.columns:
        return pl.DataFrame(), 0
    known = labels.filter(pl.col("query_id").is_in(queries["query_id"].to_list()))
    return known, labels.height - known.height


def without_memory(
    labels: pl.DataFrame, queries: pl.DataFrame, spans: SpanTable
) -> NDArray[np.int64]:
    """Shape (Q,), labels of each query that name no memory there is."""
    if not labels.columns:
        return np.zeros(queries.height, dtype=np.int64)
    known = spans.frame["memory_id"].unique().to_list()
    lost = Counter(labels.filter(~pl.col("memory_id").is_in(known))["query_id"].to_list())
    return np.array([lost[query_id] for query_id in queries["query_id"]], dtype=np.int64)


def spoken_for(
    labels: pl.DataFrame, queries: pl.DataFrame, worlds: Worlds
) -> tuple[pl.DataFrame, NDArray[np.int64]]:
    """Labels, a copy that is hidden from its query replaced by what is shown for it; how many.

    A case that names one of two memories which say the same is answered by either of them.
    """
    spans, moved = worlds.spans, Counter[str]()
    copies = spans.copies
    if not labels.columns or worlds.admit.duplicates == "show" or not copies.rows.size:
        return labels, np.zeros(queries.height, dtype=np.int64)
    names = spans.frame["memory_id"].to_list()
    group_of = {
        names[row]: group
        for row, group in zip(copies.rows.tolist(), copies.group.tolist(), strict=True)
    }
    asked = {row["query_id"]: row for row in queries.iter_rows(named=True)}
    shown: dict[str, NDArray[np.bool_]] = {}
    spoken = []
    for query_id, memory_id in labels.select("query_id", "memory_id").iter_rows():
        speaker = None
        if memory_id in group_of:
            query = asked[query_id]
            if query_id not in shown:
                world = worlds.world(query["asked_at"], query["scope"])
                shown[query_id] = worlds.current(query["asked_at"], world)
            speaker = copies.speaker(group_of[memory_id], shown[query_id])
        name = memory_id if speaker is None else names[speaker]
        moved[query_id] += name != memory_id
        spoken.append(name)
    told = labels.with_columns(pl.Series("memory_id", spoken, dtype=pl.String)).unique(
        ["query_id", "memory_id", "role"], keep="first", maintain_order=True
    )
    return told, np.array([moved[query_id] for query_id in queries["query_id"]], dtype=np.int64)


def judgeable(labels: pl.DataFrame, queries: pl.DataFrame, spans: SpanTable) -> pl.DataFrame:
    """Mark labels whose memory did not exist when the query was asked: they judge nothing."""
    if not labels.columns:
        return labels
    open_from: dict[str, list[int]] = {}
    for row, memory_id in enumerate(spans.frame["memory_id"].to_list()):
        open_from.setdefault(memory_id, []).append(row)
    asked = dict(zip(queries["query_id"], queries["asked_at"], strict=True))
    exists = [
        any(
            spans.enters[row] < asked[query_id] <= spans.leaves[row]
            for row in open_from.get(memory_id, [])
        )
        for query_id, memory_id in labels.select("query_id", "memory_id").iter_rows()
    ]
    return labels.with_columns(pl.Series("exists", exists, dtype=pl.Boolean))
