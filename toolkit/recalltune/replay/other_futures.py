"""What can be done to the future of a lab's tables: delete it, shuffle it, make it up.

In: the tables a replay reads, an instant. Out: tables that agree with them on everything before it.
A memory that was never told stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import polars as pl

from recalltune.store import SPAN_ATTRIBUTES, text_hash

__all__ = ["ENDS", "Tables", "asked", "deleted", "made_up", "shuffled", "untold"]

Tables = Mapping[str, pl.DataFrame]

ENDS = ("leaves_at", "superseded_at", "retracted_at")
_DATED = {"turn": "said_at", "access": "used_at", "search_log": "asked_at", "event": "happened_at"}
_LATER = timedelta(days=1)


def deleted(tables: Tables, at: datetime, seed: int) -> Tables:
    """Births, uses and turns of then are gone, and no later end happens."""
    del seed
    spans = tables["memory_span"].filter(~_born_later(at)).with_columns(_never(at))
    memories = tables["memory"].filter(pl.col("memory_id").is_in(spans["memory_id"].to_list()))
    return {
        **tables,
        **{name: frame.filter(~_happens(name, at)) for name, frame in _dated(tables)},
        "memory_span": spans,
        "memory": memories.with_columns(
            pl.when(pl.col("superseded_at") >= at).then(None).otherwise(pl.col(name)).alias(name)
            for name in ("superseded_by", "superseded_at")
        ),
    }


def shuffled(tables: Tables, at: datetime, seed: int) -> Tables:
    """Texts, attributes, instants, ends, uses and turns of then change places among themselves."""
    rng = np.random.default_rng(seed)
    spans = tables["memory_span"]
    alone = spans.select(pl.len().over("memory_id") == 1).to_series()
    later = spans.select(_born_later(at)).to_series()
    spans = _permuted(spans, later, ["text_hash", *SPAN_ATTRIBUTES], rng)
    spans = _permuted(spans, later & alone & ~spans["gated"], ["event_at", "known_at"], rng)
    for name in ENDS:
        ending = (spans[name] >= at).fill_null(value=False) & alone
        spans = _permuted(spans, ending, [name], rng)
    changed = {"memory_span": spans}
    what = {"turn": "text_hash", "access": "memory_id", "search_log": "query", "event": "text_hash"}
    for name, frame in _dated(tables):
        happens = frame.select(_happens(name, at)).to_series()
        changed[name] = _permuted(frame, happens, [what[name]], rng)
    # Two uses of one memory at one instant are one; the shuffle may have made such.
    changed["access"] = changed["access"].unique(
        ["memory_id", "used_at", "kind", "audience", "file"], keep="first", maintain_order=True
    )
    return {**tables, **changed}


def made_up(tables: Tables, at: datetime, seed: int) -> Tables:
    """From the instant on there are other memories, other words of the old ones, ends and uses."""
    del seed
    spans = tables["memory_span"]
    open_then = spans.filter(
        ~untold()
        & (pl.col("enters_at").is_null() | (pl.col("enters_at") < at))
        & (pl.col("leaves_at").is_null() | (pl.col("leaves_at") >= at))
        & (pl.len().over("memory_id") == 1)
    )
    # Every memory of then ends at that very instant, in one of three ways, unless it had ended like
    # that before, and is used from that instant on.
    ending = {name: open_then["memory_id"].gather_every(3, n) for n, name in enumerate(ENDS)}
    spans = spans.with_columns(
        pl.when(
            pl.col("memory_id").is_in(ids.to_list()) & (pl.col(name) >= at).fill_null(value=True)
        )
        .then(at)
        .otherwise(name)
        .alias(name)
        for name, ids in ending.items()
    )
    uses = [
        {"memory_id": memory_id, "used_at": at + n * _LATER, "kind": "shown",
         "audience": "everyone", "file": "made up"}
        for memory_id in open_then["memory_id"] for n in range(3)
    ]  # fmt: skip
    born, memories = _invented(tables, open_then, at)
    restated = ending["leaves_at"].to_list()
    spans_again, memories_again = _restated(spans, tables["memory"], restated, at)
    rows = {
        "memory_span": born + spans_again,
        "memory": memories + memories_again,
        "access": uses,
    }
    replaced = pl.col("memory_id").is_in(restated)
    kept = {
        "memory_span": spans.filter(~replaced),
        "memory": tables["memory"].filter(~replaced),
        "access": tables["access"],
    }
    return {
        **tables,
        **{
            name: pl.concat([frame, pl.DataFrame(rows[name], schema=frame.schema)])
            for name, frame in kept.items()
        },
    }


def _restated(
    spans: pl.DataFrame, memories: pl.DataFrame, ids: Sequence[str], at: datetime
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Spans and memories of some ids, each restated at an instant as what the next one says."""
    known = {row["memory_id"]: row for row in memories.iter_rows(named=True)}
    mine = {row["memory_id"]: row for row in spans.iter_rows(named=True)}
    said = {one: _said(mine[one], known[one]) for one in ids}
    following = dict(zip(ids, [*ids[1:], *ids[:1]], strict=True))
    before = [{**mine[one], **said[one]} for one in ids]
    latest = {one: {**said[other], "text_hash": mine[other]["text_hash"]}
              for one, other in following.items()}  # fmt: skip
    after = [
        {**mine[one], **latest[one], "version": mine[one]["version"] + 1, "known_at": at,
         "gated": False, "told_at": None, **dict.fromkeys(ENDS)}
        for one in ids
    ]  # fmt: skip
    return before + after, [{**known[one], **latest[one]} for one in ids]


def _said(span: Mapping[str, Any], memory: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes that hold while a span is open: its own, or those of its memory."""
    if span["layer"] is not None:
        return {name: span[name] for name in SPAN_ATTRIBUTES}
    held = {name: memory[name] for name in SPAN_ATTRIBUTES}
    return held if span["text_hash"] == memory["text_hash"] else held | {"gist": None}


def _invented(
    tables: Tables, open_then: pl.DataFrame, at: datetime
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Spans and memories that say word for word what is asked, like no memory of then does."""
    known = {row["memory_id"]: row for row in tables["memory"].iter_rows(named=True)}
    spans, memories = [], []
    for n, text in enumerate(asked(tables, at)):
        if not open_then.height:
            break
        like = open_then.row(n % open_then.height, named=True)
        # The id stands right behind that of its pattern, so that a tie could show.
        name = {"memory_id": f"{like['memory_id']}~{n}", "text_hash": text_hash(text)}
        when = at + (n % 2) * _LATER
        spans.append({**like, **name, "event_at": when, "known_at": when, "gated": False,
                      "told_at": None, **dict.fromkeys(ENDS)})  # fmt: skip
        memories.append({**known[like["memory_id"]], **name, "gist": None, "duplicate_of": None})
    return spans, memories


def asked(tables: Tables, at: datetime) -> list[str]:
    """What is asked up to an instant: by turns of a user, and by cases."""
    mine = (pl.col("role") == "user") & (pl.col("said_at") <= at)
    turns = tables["turn"].filter(mine).join(tables["text"], on="text_hash")["text"]
    cases = tables["eval_case"].filter(pl.col("asked_at") <= at)["query"]
    return sorted({*turns, *cases})


def untold() -> pl.Expr:
    """Spans nobody was ever told."""
    return pl.col("gated") & pl.col("told_at").is_null()


def _born_later(at: datetime) -> pl.Expr:
    return (pl.col("enters_at") >= at).fill_null(value=False)


def _never(at: datetime) -> Iterator[pl.Expr]:
    """Ends at or after an instant, taken back."""
    for name in ENDS:
        yield pl.when(pl.col(name) >= at).then(None).otherwise(name).alias(name)


def _dated(tables: Tables) -> Iterator[tuple[str, pl.DataFrame]]:
    yield from ((name, tables[name]) for name in _DATED)


def _happens(table: str, at: datetime) -> pl.Expr:
    """Rows of a dated table that are later; a turn said at the instant asks, and stays."""
    when = pl.col(_DATED[table])
    return (when > at if table == "turn" else when >= at).fill_null(value=False)


def _permuted(
    frame: pl.DataFrame, rows: pl.Series, columns: list[str], rng: np.random.Generator
) -> pl.DataFrame:
    """The frame with the values of some columns moved, together, among the rows of a mask."""
    places = rows.arg_true().to_numpy()
    source = np.arange(frame.height)
    source[places] = rng.permutation(places)
    return frame.with_columns(frame[name].gather(source) for name in columns)
