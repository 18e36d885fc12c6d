"""present: the list as a prompt would show it, by layer, with what was replaced marked as such."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recalltune.candidates.table import Candidates

__all__ = ["DISPLAY_SCHEMA", "display_lines", "present"]

DISPLAY_SCHEMA = {
    "rank": pl.Int64,
    "layer": pl.String,
    "memory_id": pl.String,
    "status": pl.String,
    "successor": pl.String,
    "text": pl.String,
}


def present(
    candidates: Candidates, order: NDArray[np.intp], query: int, *, layers: Sequence[str]
) -> pl.DataFrame:
    """Return the shown items of one query grouped by layer, as of the query's time.

    Grouping is a matter of display: the items and their order within a layer are those of the
    list, and ``rank`` keeps the place in it.

    Parameters
    ----------
    candidates
        The table the list was ranked from.
    order
        shape (Q, K), columns best first, -1 after the last.
    query
        Row of the query.
    layers
        Layers in the order they are shown; others follow in the order of the list.

    Returns
    -------
    pl.DataFrame
        Columns of DISPLAY_SCHEMA. ``status`` is current, superseded or retracted at the query's
        time; ``successor`` is named only where the query may see it.
    """
    columns = order[query][order[query] >= 0]
    rows = []
    for rank, column in enumerate(columns, start=1):
        span = candidates.spans.row(int(candidates.span[query, column]), named=True)
        status = _status(candidates, query, int(column))
        successor = _successor(candidates, query, span) if status == "superseded" else None
        rows.append(
            {
                "rank": rank,
                "layer": span["layer"],
                "memory_id": span["memory_id"],
                "status": status,
                "successor": successor,
                "text": span["text"],
            }
        )
    place = {layer: position for position, layer in enumerate(layers)}
    for row in rows:
        place.setdefault(row["layer"], len(place))
    rows.sort(key=lambda row: (place[row["layer"]], row["rank"]))
    return pl.DataFrame(rows, schema=DISPLAY_SCHEMA)


def _status(candidates: Candidates, query: int, column: int) -> str:
    if candidates.feature("retracted")[query, column] > 0:
        return "retracted"
    return "superseded" if candidates.feature("superseded")[query, column] > 0 else "current"


def _successor(candidates: Candidates, query: int, span: Mapping[str, Any]) -> str | None:
    """What replaced a span, if it was there by then and a query of this scope may hear of it."""
    successor = span.get("superseded_by")
    if successor is None:
        return None
    asked_at, scope = candidates.queries.select("asked_at", "scope").row(query)
    there = (pl.col("memory_id") == successor) & (pl.col("enters_at") < asked_at)
    if scope is not None:
        there &= pl.col("scope") == span["scope"]
    return successor if candidates.spans.filter(there).height else None


def display_lines(display: pl.DataFrame) -> list[str]:
    """Return the display as lines: a heading a layer, an item a line, a mark if not current.

    The texts are as stored; whoever prints them makes them harmless first.
    """
    lines: list[str] = []
    heading = None
    for row in display.iter_rows(named=True):
        if row["layer"] != heading:
            heading = row["layer"]
            lines.append(f"[{heading}]")
        lines.append(f"  {row['rank']}. {_mark(row)}{row['text']}")
    return lines


def _mark(row: Mapping[str, str | None]) -> str:
    if row["status"] == "current":
        return ""
    pointer = f", see {row['successor']}" if row["successor"] else ""
    return f"(no longer valid: {row['status']}{pointer}) "
