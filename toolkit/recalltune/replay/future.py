"""A copy of a lab with another future: what lies at or after an instant, deleted, shuffled, made up.

An event at time e is seen by a question at t iff e < t, so a copy whose events before t are the
same must answer every question asked at t or before it in the same way. `replay.proof` compares.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from recalltune.errors import ParameterError, nearest
from recalltune.store import Lab, insert_frame, open, put_texts, read_table, table_schema, text_hash

__all__ = ["WAYS", "OtherFuture", "another_future"]

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
    changed = change[way](tables, _EPOCH + timedelta(microseconds=at), seed)
    counts = {name: _differing(tables[name], changed[name]) for name in ("access", "turn")}
    with tempfile.TemporaryDirectory() as folder:
        copy = open(Path(folder) / "lab.duckdb")
        with copy.writing() as con:
            for name, frame in changed.items():
                insert_frame(con, name, frame.select(*table_schema(con, name)))
            put_texts(con, _asked(changed["turn"]))
        spans = (tables["memory_span"], changed["memory_span"])
        yield OtherFuture(
            lab=copy, at=at, way=way,
            births=_differing(*(one.drop(_ENDS) for one in spans)),
            ends=_differing(*(_ends(one) for one in spans)),
            uses=counts["access"], turns=counts["turn"],
        )  # fmt: skip


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
    told = spans.filter(pl.col("enters_at").is_not_null() | ~pl.col("gated"))
    open_then = told.filter(
        ((pl.col("enters_at") < at) | pl.col("enters_at").is_null())
        & ((pl.col("leaves_at") >= at) | pl.col("leaves_at").is_null())
        & (pl.len().over("memory_id") == 1)
    )
    turn = pl.Series([], dtype=pl.Int64).append(pl.Series([0]))
    del turn
    ended = {
        name: open_then["memory_id"].gather_every(len(_ENDS), place).to_list()
        for place, name in enumerate(_ENDS)
    }
    spans = spans.with_columns(
        pl.when(pl.col("memory_id").is_in(ids)).then(pl.lit(at)).otherwise(pl.col(name)).alias(name)
        for name, ids in ended.items()
    )
    uses = pl.DataFrame(
        [
            {"memory_id": memory_id, "used_at": at + n * _LATER, "kind": "shown",
             "audience": "everyone", "file": "made up"}
            for memory_id in open_then["memory_id"] for n in range(3)
        ],
        schema=tables["access"].schema,
    )  # fmt: skip
    born, memories = _invented(tables, open_then, at)
    return {
        **tables,
        "memory_span": pl.concat([spans, born], how="diagonal"),
        "memory": pl.concat([tables["memory"], memories], how="diagonal"),
        "access": pl.concat([tables["access"], uses]),
    }
