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

import polars as pl

from recalltune.errors import ParameterError, nearest
from recalltune.replay.other_futures import (
    ENDS,
    Tables,
    asked,
    deleted,
    made_up,
    shuffled,
    untold,
)
from recalltune.store import (
    SPAN_ATTRIBUTES,
    Lab,
    insert_frame,
    open,
    put_texts,
    read_table,
    table_schema,
)

__all__ = ["WAYS", "OtherFuture", "another_future", "without_time"]

WAYS = ("deleted", "shuffled", "made up")
"""What can be done to everything at or after an instant."""

# What a replay reads. Cases and labels are the questions themselves; claims, jobs and runs are not
# read by any ranking.
_COPIED = ("text", "turn", "memory", "memory_span", "access", "search_log", "event", "sharing",
           "vector", "eval_case", "label")  # fmt: skip
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


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
    only what is later is deleted or shuffled; its instants stay, since it has one text at a time.

    Parameters
    ----------
    lab
        Read only; what it holds before ``at`` is copied unchanged, vectors included.
    at
        Microseconds since 1970 UTC.
    way
        *deleted*: later births, uses and turns are gone, later ends never happen. *shuffled*:
        they change places. *made up*: new memories that say what the turns up to ``at`` ask, new
        texts and attributes of the old ones, and their ends and uses, from exactly ``at`` on.
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
        "deleted": deleted, "shuffled": shuffled, "made up": made_up,
    }  # fmt: skip
    moment = _EPOCH + timedelta(microseconds=at)
    changed = change[way](tables, moment, seed)
    with _lab_of(changed, asked(tables, moment)) as copy:
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
        .filter(~untold())
        .unique("memory_id", keep="last", maintain_order=True)
    )
    ended = [pl.when(pl.col(name).is_not_null()).then(_EPOCH).alias(name) for name in ENDS[1:]]
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
        one.unpivot(ENDS, index=["memory_id", "version"]).drop_nulls().join(
            other, on=["memory_id", "version"], how="semi"
        )
        for one, other in (spans, spans[::-1])
    ]  # fmt: skip
    return {
        # Attributes stand in a span only where a source restated them; the text tells as much.
        "births": _differing(*(one.drop(ENDS, SPAN_ATTRIBUTES, "enters_at") for one in spans)),
        "ends": _differing(*ends),
        "uses": _differing(before["access"], after["access"]),
        "turns": _differing(before["turn"], after["turn"]),
    }


def _differing(one: pl.DataFrame, other: pl.DataFrame) -> int:
    """Rows of one of two frames that the other does not have, the larger of both counts."""
    keys = list(one.columns)
    missing = [
        a.join(b, on=keys, how="anti", nulls_equal=True).height
        for a, b in ((one, other), (other, one))
    ]
    return max(missing)
