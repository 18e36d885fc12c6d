"""Degradations: what a run had to do without, in the words of the ledger."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass

import numpy as np
import polars as pl

from recalltune.candidates.table import Candidates

__all__ = ["Hop", "degradations", "ledger_frame", "ledger_sentences"]

REASONS: Mapping[str, str] = {
    "dense_arm_missing": "no embedding model could run: lexical only",
    "vectors_not_kept": "{n} texts were encoded for this run alone: the lab cannot be written to",
    "memories_cut_by_the_model": "{n} memories are longer than the model reads: the rest is unread",
    "zero_vectors": "{n} memories have no direction: never proposed by the dense arm",
    "store_statistics": "{n} queries: words are counted over other scopes too, as the store does",
    "abstained_queries": "{n} queries have no direction: no dense proposal for them",
    "wordless_queries": "{n} queries have no word: no lexical proposal for them",
}
"""Notice of a candidate table -> why that is a degradation, in order."""

EMPTY_ARM = "empty_arm"


@dataclass(frozen=True)
class Hop:
    """One thing a run had to do without."""

    hop: str
    """A key of `REASONS`, or ``empty_arm``."""
    reason: str
    query_id: str | None = None
    """The query it befell; None where it is the whole run."""
    asked_at: int | None = None
    """Microseconds since 1970 UTC: the query's time."""


def degradations(candidates: Candidates) -> tuple[Hop, ...]:
    """Return every degradation of a run on this table: of the whole run, then query by query.

    An arm that proposed nothing for a query is one, except the dense arm of a run without a model,
    which is told once.
    """
    notices = candidates.notices
    whole = [
        Hop(name, reason.format(n=f"{notices[name]:,}"))
        for name, reason in REASONS.items()
        if notices.get(name)
    ]
    ranks = [name for name in candidates.features if name.endswith("_rank")]
    empty = {
        name.removesuffix("_rank"): np.isnan(candidates.features[name]).all(axis=1)
        for name in sorted(ranks)
        if not (name == "dense_rank" and notices.get("dense_arm_missing"))
    }
    queries = candidates.queries.select("query_id", "asked_at").iter_rows()
    return (
        *whole,
        *(
            Hop(EMPTY_ARM, f"the {arm} arm proposed nothing", query_id, asked_at)
            for row, (query_id, asked_at) in enumerate(queries)
            for arm, nothing in empty.items()
            if nothing[row]
        ),
    )


def ledger_frame(hops: Iterable[Hop]) -> pl.DataFrame:
    """Return hop, reason, query_id, asked_at (UTC), as the table ``ledger`` has them."""
    schema = {"hop": pl.String, "reason": pl.String, "query_id": pl.String, "asked_at": pl.Int64}
    frame = pl.DataFrame([astuple(hop) for hop in hops], schema=schema, orient="row")
    at = pl.from_epoch("asked_at", time_unit="us").dt.replace_time_zone("UTC")
    return frame.with_columns(at)


def ledger_sentences(hops: Iterable[Hop]) -> list[str]:
    """Return one sentence a degradation of the whole run, and one a way to befall queries.

    Examples
    --------
    >>> hop = Hop("empty_arm", "the lexical arm proposed nothing", "q1")
    >>> ledger_sentences([Hop("dense_arm_missing", REASONS["dense_arm_missing"]), hop])
    ['no embedding model could run: lexical only', 'the lexical arm proposed nothing: 1 query']
    """
    told: dict[str, int] = {}
    for hop in hops:
        told[hop.reason] = told.get(hop.reason, 0) + (hop.query_id is not None)
    return [
        f"{reason}: {count:,} {'query' if count == 1 else 'queries'}" if count else reason
        for reason, count in told.items()
    ]
