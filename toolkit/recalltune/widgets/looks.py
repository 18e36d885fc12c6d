"""Looks at data and results that notebooks show as tables, each a frame in and a table out.

Texts come from the candidate table only, which holds no untold span.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl

from recalltune.candidates.table import Candidates
from recalltune.candidates.world import DAY_US, SpanTable, Worlds
from recalltune.evaluate.query_views import Listing, listed, memories_then
from recalltune.evaluate.views import targets
from recalltune.ingest import ImportReport
from recalltune.pipeline.config import RankingConfig
from recalltune.widgets.tables import Table

__all__ = ["answer", "asked_span", "import_table", "moment", "question", "replaced", "when"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def when(microseconds: int) -> str:
    """Return an instant as ISO in UTC, to the minute.

    Examples
    --------
    >>> when(0)
    '1970-01-01 00:00 UTC'
    """
    return f"{_EPOCH + timedelta(microseconds=microseconds):%Y-%m-%d %H:%M} UTC"


def moment(
    candidates: Candidates,
    config: RankingConfig,
    query_id: str,
    *,
    gloss: Mapping[str, str] | None = None,
) -> Table:
    """What a question could be answered from: memories by layer, as of its own time.

    Parameters
    ----------
    candidates
        Made for ``config``.
    config
        Its admit rules say what the question may see.
    query_id
        One case.
    gloss
        Id -> English, shown beside a text in another language.

    Returns
    -------
    Table
        layer, known_then, superseded_by_then, proposed (by an arm).

    Raises
    ------
    ParameterError
        If the query is unknown.
    """
    row = candidates.position(query_id)
    asked, scope = candidates.queries["asked_at"][row], candidates.queries["scope"][row]
    spans = SpanTable.of(candidates.spans, config.admit.audience)
    world = Worlds(spans, config.admit).world(asked, scope)
    proposed = np.isin(np.arange(world.size), candidates.span[row][candidates.valid[row]])
    frame = pl.DataFrame(
        {
            "layer": spans.frame["layer"],
            "known_then": world,
            "superseded_by_then": world & (spans.superseded < asked),
            "proposed": world & proposed,
        }
    )
    counts = frame.group_by("layer").agg(pl.all().cast(pl.Int64).sum())
    order = {layer: place for place, layer in enumerate(config.layers)}
    counts = counts.sort(pl.col("layer").replace_strict(order, default=99, return_dtype=pl.Int64))
    text = _glossed(candidates.queries["text"][row], query_id, gloss)
    return Table(counts, f"{text}, asked {when(asked)} in {scope or 'every scope'}")


def asked_span(candidates: Candidates) -> tuple[datetime, datetime] | None:
    """First and last time at which a question is asked; None without a question."""
    asked = candidates.queries["asked_at"].drop_nulls().to_list()
    if not asked:
        return None
    first, last = (_EPOCH + timedelta(microseconds=time) for time in (min(asked), max(asked)))
    return first, last


def question(candidates: Candidates, query_id: str) -> str:
    """Return the text of one case.

    Raises
    ------
    ParameterError
        If the query is unknown.
    """
    return str(candidates.queries["text"][candidates.position(query_id)])


def answer(
    candidates: Candidates,
    run: Listing,
    query_id: str,
    *,
    gloss: Mapping[str, str] | None = None,
) -> Table:
    """The list one question is shown: rank, layer, role, age_days, tokens, score, memory.

    Targets that are not shown follow without a rank.

    Raises
    ------
    ParameterError
        If the query is unknown.
    """
    table = listed(candidates, run, query_id)
    row = candidates.position(query_id)
    asked = candidates.queries["asked_at"][row]
    shown = table["memory_id"].to_list()
    wanted = targets(candidates).filter(pl.col("query_id") == query_id)["memory_id"].to_list()
    left = [memory_id for memory_id in wanted if memory_id not in shown]
    known = memories_then(candidates, query_id, [*shown, *left])
    lines = [
        {
            **{name: hit[name] for name in ("rank", "tokens", "score")},
            "role": "superseded" if known[hit["memory_id"]]["superseded"] else hit["role"],
            "memory_id": hit["memory_id"],
        }
        for hit in table.iter_rows(named=True)
    ]
    lines += [{"role": "target, not shown", "memory_id": memory_id} for memory_id in left]
    rows = [
        {
            **line,
            "layer": known[line["memory_id"]]["layer"],
            "age_days": _age(known[line["memory_id"]]["event_at"], asked),
            "memory": _glossed(known[line["memory_id"]]["text"], line["memory_id"], gloss),
        }
        for line in lines
    ]
    question = _glossed(candidates.queries["text"][row], query_id, gloss)
    frame = pl.DataFrame([{name: line.get(name) for name in _ANSWER} for line in rows], _ANSWER)
    return Table(frame, f"{question} Shown by {run.config.name}:", {"age_days": 0, "score": 4})


def import_table(report: ImportReport) -> Table:
    """What was imported, by format: read is kept plus dropped, and the table says if it is not."""
    frame = (
        report.frame.group_by("format")
        .agg(
            pl.len().cast(pl.Int64).alias("files"),
            pl.col("read", "kept", "dropped", "turns", "memories").sum(),
        )
        .sort("format")
        .with_columns((pl.col("read") == pl.col("kept") + pl.col("dropped")).alias("adds_up"))
    )
    return Table(frame, "Imported")


def replaced(candidates: Candidates, *, gloss: Mapping[str, str] | None = None) -> Table:
    """Which memory took the place of which, and when: day, old, new.

    A successor nobody was told of is named by its id only.
    """
    spans = candidates.spans.sort("memory_id", "version").unique(
        "memory_id", keep="last", maintain_order=True
    )
    texts: dict[str, str] = dict(spans.select("memory_id", "text").iter_rows())
    ended = spans.filter(pl.col("superseded_by").is_not_null()).sort("superseded_at", "memory_id")
    rows: list[dict[str, Any]] = []
    for row in ended.select("memory_id", "superseded_by", "superseded_at").iter_rows(named=True):
        old, new = row["memory_id"], row["superseded_by"]
        rows.append(
            {
                "replaced": None
                if row["superseded_at"] is None
                else when(row["superseded_at"])[:10],
                "old": _glossed(texts[old], old, gloss),
                "new": _glossed(texts[new], new, gloss) if new in texts else "not told",
            }
        )
    return Table(pl.DataFrame(rows, schema=dict.fromkeys(("replaced", "old", "new"), pl.String)))


def _age(event_at: int | None, asked: int) -> float | None:
    return None if event_at is None else (asked - event_at) / DAY_US


def _glossed(text: str, key: str, gloss: Mapping[str, str] | None) -> str:
    english = (gloss or {}).get(key)
    return f"{text} ({english})" if english else text


_ANSWER = {
    "rank": pl.Int64,
    "layer": pl.String,
    "role": pl.String,
    "age_days": pl.Float64,
    "tokens": pl.Int64,
    "score": pl.Float64,
    "memory": pl.String,
}
