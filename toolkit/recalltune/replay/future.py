"""A copy of a lab with another future: all at or after an instant deleted, shuffled or made up.

An event at time e is seen by a question at t iff e < t, so a copy whose events before t are the
same must answer every question asked at t or before it in the same way. `replay.proof` compares.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from recalltune.errors import ParameterError, nearest
from recalltune.store import Lab, insert_frame, open, put_texts, read_table, table_schema, text_hash

__all__ = ["WAYS", "OtherFuture", "another_future", "without_time"]

WAYS = ("deleted", "shuffled", "made up")
"""What can be done to everything at or after an instant."""

Tables = Mapping[str, pl.DataFrame]

# What a replay reads. Cases and labels are the questions themselves; claims, jobs and runs are not
# read by any ranking.
_COPIED = ("text", "turn", "memory", "memory_span", "access", "search_log", "event", "sharing",
           "vector", "eval_case", "label")  # fmt: skip
_ENDS = ("leaves_at", "superseded_at", "retracted_at")
_DATED = {"turn": "said_at", "access": "used_at", "search_log": "asked_at", "event": "happened_at"}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LATER = timedelta(days=1)


@dataclass(frozen=True)
class OtherFuture:
    """A lab that agrees with another one on everything before an instant, and on nothing else."""

    lab: Lab
    """In a temporary folder; gone with the block it was made for."""
    at: int
    """Microseconds since 1970 UTC."""
    way: str
    """One of `WAYS`."""
    births: int
    """Texts of memories that enter at ``at`` or later: taken away, changed, or made up."""
    ends: int
    """Ends, supersessions and retractions at ``at`` or later."""
    uses: int
    """Uses of a memory at ``at`` or later."""
    turns: int
    """Turns said after ``at``; the one said at it is the question itself."""


@contextmanager
def another_future(lab: Lab, at: int, way: str, *, seed: int = 0) -> Iterator[OtherFuture]:
    """Copy a lab into a temporary folder and change what lies at or after an instant.

    A memory that was never told stays as it is and is in no count. Of a memory with several texts
    only later texts are deleted or shuffled; its instants stay, since it has one text at a time.

    Parameters
    ----------
    lab
        Read only; what it holds before ``at`` is copied unchanged, vectors included.
    at
        Microseconds since 1970 UTC.
    way
        *deleted*: later births, uses and turns are gone, later ends never happen. *shuffled*:
        they change places. *made up*: new memories that say what the turns before ``at`` ask,
        from exactly ``at`` on, and ends and uses of the old ones at exactly ``at``.
    seed
        Of the shuffle.

    Yields
    ------
    OtherFuture
        The copy and how much was changed.

    Raises
    ------
    ParameterError
        If there is no such way.
    """
    if way not in WAYS:
        message = f"way must be one of {', '.join(WAYS)}, got {way!r}; {nearest(way, WAYS)}"
        raise ParameterError(message)
    with lab.reading() as con:
        tables = {name: read_table(con, name) for name in _COPIED}
    change: Mapping[str, Callable[[Tables, datetime, int], Tables]] = {
        "deleted": _deleted, "shuffled": _shuffled, "made up": _made_up,
    }  # fmt: skip
    moment = _EPOCH + timedelta(microseconds=at)
    changed = change[way](tables, moment, seed)
    with _lab_of(changed, _asked(tables, moment)) as copy:
        yield OtherFuture(lab=copy, at=at, way=way, **_counts(tables, changed))


@contextmanager
def without_time(lab: Lab) -> Iterator[Lab]:
    """Copy a lab into one that knows everything from the beginning, as an index built today does.

    Every told memory is there at any time, with its newest text, and has today's status. What was
    said when stays, so ages are those of the question. It is the wrong way, for comparison.
    """
    with lab.reading() as con:
        tables = {name: read_table(con, name) for name in _COPIED}
    newest = (
        tables["memory_span"]
        .filter(~_untold())
        .unique("memory_id", keep="last", maintain_order=True)
    )
    ended = [pl.when(pl.col(name).is_not_null()).then(_EPOCH).alias(name) for name in _ENDS[1:]]
    static = newest.filter(pl.col("leaves_at").is_null()).with_columns(
        pl.lit(None).cast(pl.Datetime("us", "UTC")).alias("known_at"),
        pl.lit(value=False).alias("gated"),
        pl.lit(None).cast(pl.Datetime("us", "UTC")).alias("told_at"),
        *ended,
    )
    memories = tables["memory"].filter(pl.col("memory_id").is_in(static["memory_id"].to_list()))
    with _lab_of({**tables, "memory_span": static, "memory": memories}) as copy:
        yield copy


@contextmanager
def _lab_of(tables: Tables, texts: Sequence[str] = ()) -> Iterator[Lab]:
    with tempfile.TemporaryDirectory() as folder:
        lab = open(Path(folder) / "lab.duckdb")
        with lab.writing() as con:
            for name, frame in tables.items():
                insert_frame(con, name, frame.select(*table_schema(con, name)))
            put_texts(con, texts)
        yield lab


def _counts(before: Tables, after: Tables) -> dict[str, int]:
    spans = [tables["memory_span"] for tables in (before, after)]
    ends = [
        one.unpivot(_ENDS, index=["memory_id", "version"]).drop_nulls().join(
            other, on=["memory_id", "version"], how="semi"
        )
        for one, other in (spans, spans[::-1])
    ]  # fmt: skip
    return {
        "births": _differing(*(one.drop(_ENDS, "enters_at") for one in spans)),
        "ends": _differing(*ends),
        "uses": _differing(before["access"], after["access"]),
        "turns": _differing(before["turn"], after["turn"]),
    }


def _deleted(tables: Tables, at: datetime, seed: int) -> Tables:
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


def _shuffled(tables: Tables, at: datetime, seed: int) -> Tables:
    rng = np.random.default_rng(seed)
    spans = tables["memory_span"]
    alone = spans.select(pl.len().over("memory_id") == 1).to_series()
    later = spans.select(_born_later(at)).to_series()
    spans = _permuted(spans, later, ["text_hash"], rng)
    spans = _permuted(spans, later & alone & ~spans["gated"], ["event_at", "known_at"], rng)
    for name in _ENDS:
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


def _made_up(tables: Tables, at: datetime, seed: int) -> Tables:
    del seed
    spans = tables["memory_span"]
    open_then = spans.filter(
        ~_untold()
        & (pl.col("enters_at").is_null() | (pl.col("enters_at") < at))
        & (pl.col("leaves_at").is_null() | (pl.col("leaves_at") >= at))
        & (pl.len().over("memory_id") == 1)
    )
    # Every memory of then ends at that very instant, in one of three ways, unless it had ended like
    # that before, and is used from that instant on.
    ending = {name: open_then["memory_id"].gather_every(3, n) for n, name in enumerate(_ENDS)}
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
    rows = {"memory_span": born, "memory": memories, "access": uses}
    grown = {
        name: pl.concat([frame, pl.DataFrame(rows[name], schema=frame.schema)])
        for name, frame in {**tables, "memory_span": spans}.items()
        if name in rows
    }
    return {**tables, **grown}


def _invented(
    tables: Tables, open_then: pl.DataFrame, at: datetime
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Spans and memories that say word for word what is asked, like no memory of then does."""
    known = {row["memory_id"]: row for row in tables["memory"].iter_rows(named=True)}
    spans, memories = [], []
    for n, text in enumerate(_asked(tables, at)):
        if not open_then.height:
            break
        like = open_then.row(n % open_then.height, named=True)
        # The id stands right behind that of its pattern, so that a tie could show.
        name = {"memory_id": f"{like['memory_id']}~{n}", "text_hash": text_hash(text)}
        when = at + (n % 2) * _LATER
        spans.append({**like, **name, "event_at": when, "known_at": when, "gated": False,
                      "told_at": None, **dict.fromkeys(_ENDS)})  # fmt: skip
        memories.append({**known[like["memory_id"]], **name, "gist": None, "duplicate_of": None})
    return spans, memories


def _asked(tables: Tables, at: datetime) -> list[str]:
    """What is asked up to an instant: by turns of a user, and by cases."""
    mine = (pl.col("role") == "user") & (pl.col("said_at") <= at)
    turns = tables["turn"].filter(mine).join(tables["text"], on="text_hash")["text"]
    cases = tables["eval_case"].filter(pl.col("asked_at") <= at)["query"]
    return sorted({*turns, *cases})


def _untold() -> pl.Expr:
    return pl.col("gated") & pl.col("told_at").is_null()


def _born_later(at: datetime) -> pl.Expr:
    return (pl.col("enters_at") >= at).fill_null(value=False)


def _never(at: datetime) -> Iterator[pl.Expr]:
    """Ends at or after an instant, taken back."""
    for name in _ENDS:
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


def _differing(one: pl.DataFrame, other: pl.DataFrame) -> int:
    """Rows of one of two frames that the other does not have, the larger of both counts."""
    keys = list(one.columns)
    missing = [
        a.join(b, on=keys, how="anti", nulls_equal=True).height
        for a, b in ((one, other), (other, one))
    ]
    return max(missing)
