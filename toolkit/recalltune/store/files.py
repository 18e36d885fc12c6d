"""Which file owns which rows: what makes an import incremental and its repetition harmless.

A row belongs to the file it was first read from; files that say the same are kept beside it in
``also_in``. Forgetting a file removes what only that file said. All of it happens inside one
`Lab.writing` block.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager

import duckdb
import polars as pl

from recalltune.store.frames import registered
from recalltune.store.read import read_table
from recalltune.store.rows import IngestFile, Memory, MemorySpan, Turn
from recalltune.store.write import insert_rows

__all__ = [
    "forget_file",
    "known_files",
    "known_searches",
    "replace_memories",
    "replace_turns",
    "settle_spans",
    "spans_of",
    "turns_of",
]

_HAND_OVER = """
update {table}
set file = case when file = $file then also_in[1] else file end,
    also_in = case when file = $file then also_in[2:]
                   else list_filter(also_in, lambda f: f <> $file) end
where list_contains(also_in, $file) or (file = $file and len(also_in) > 0)
"""

_FORGET = (
    _HAND_OVER.format(table="turn"),
    "delete from turn where file = $file",
    _HAND_OVER.format(table="memory_span"),
    # A later version closed the spans before it; without it the next one left does, or none.
    """
    update memory_span as old set leaves_at = (
        select min(later.enters_at) from memory_span later
        where later.memory_id = old.memory_id and later.version > old.version
          and later.file <> $file)
    where old.file <> $file and exists (
        select 1 from memory_span gone
        where gone.file = $file and gone.memory_id = old.memory_id
          and gone.version > old.version)
    """,
    "delete from memory_span where file = $file",
    "delete from memory where not exists (from memory_span s where s.memory_id = memory.memory_id)",
    """
    update memory set text_hash = newest.text_hash
    from (select memory_id,
                 coalesce(max_by(text_hash, version) filter (not (gated and told_at is null)),
                          max_by(text_hash, version)) as text_hash
          from memory_span group by memory_id) newest
    where newest.memory_id = memory.memory_id and newest.text_hash <> memory.text_hash
    """,
    """
    delete from label where exists (
        select 1 from eval_case c
        where c.file = $file and c.case_set = label.case_set and c.case_id = label.case_id)
    """,
    "delete from eval_case where file = $file",
    "delete from event where file = $file",
    "delete from sharing where file = $file",
    "delete from access where file = $file",
    "delete from search_log where file = $file",
    "delete from ingest_file where path = $file",
)

_TURNS = "select turn.* from turn semi join wanted on wanted.id = turn.turn_id order by turn_id"
_SEARCHES = "select query_id from search_log semi join wanted on wanted.id = search_log.query_id"
_SPANS = """
select * exclude (enters_at) from memory_span
semi join wanted on wanted.id = memory_span.memory_id
order by memory_id, version
"""
_DELETE_TURNS = "delete from turn using wanted where wanted.id = turn.turn_id"
_DELETE_SPANS = "delete from memory_span using wanted where wanted.id = memory_span.memory_id"
_DELETE_MEMORIES = "delete from memory using wanted where wanted.id = memory.memory_id"

_SETTLE = """
update memory_span set
    superseded_at = case when m.status = 'superseded'
                         then coalesce(m.superseded_at, successor.enters_at) end,
    retracted_at = case when m.status = 'retracted' then m.retracted_at end
from memory m left join (
    select memory_id, min(enters_at) as enters_at from memory_span group by memory_id
) successor on successor.memory_id = m.superseded_by
where m.memory_id = memory_span.memory_id
"""
_LOOSE_ENDS = """
select
    count(*) filter (status = 'superseded' and superseded_by is not null and not exists (
        from memory s where s.memory_id = m.superseded_by)) as dangling,
    count(*) filter (status <> 'current' and not exists (
        from memory_span s where s.memory_id = m.memory_id
        and coalesce(s.superseded_at, s.retracted_at) is not null)) as undated
from memory m
"""
_SUCCESSORS = """
select memory_id, superseded_by from memory
where status = 'superseded' and superseded_by is not null
order by memory_id
"""


def forget_file(con: duckdb.DuckDBPyConnection, file: str) -> None:
    """Remove every row that only ``file`` accounts for."""
    for statement in _FORGET:
        con.execute(statement, {"file": file} if "$file" in statement else None)


def known_files(con: duckdb.DuckDBPyConnection) -> dict[str, IngestFile]:
    """What the lab remembers of every imported file, by its name."""
    rows = read_table(con, "ingest_file").to_dicts()
    return {
        row["path"]: IngestFile(**row | {"reasons": json.loads(row["reasons"])}) for row in rows
    }


def turns_of(con: duckdb.DuckDBPyConnection, turn_ids: Sequence[str]) -> dict[str, Turn]:
    """Those turns that are in the lab."""
    with _wanted(con, turn_ids):
        rows = con.sql(_TURNS).pl().to_dicts()
    return {row["turn_id"]: Turn(**row | {"meta": json.loads(row["meta"])}) for row in rows}


def known_searches(con: duckdb.DuckDBPyConnection, query_ids: Sequence[str]) -> set[str]:
    """Those searches that are in the lab."""
    with _wanted(con, query_ids):
        return {query_id for (query_id,) in con.sql(_SEARCHES).fetchall()}


def spans_of(
    con: duckdb.DuckDBPyConnection, memory_ids: Sequence[str]
) -> dict[str, list[MemorySpan]]:
    """Spans of those memories that are in the lab, by version."""
    found: dict[str, list[MemorySpan]] = {}
    with _wanted(con, memory_ids):
        for row in con.sql(_SPANS).pl().to_dicts():
            found.setdefault(row["memory_id"], []).append(MemorySpan(**row))
    return found


def replace_turns(con: duckdb.DuckDBPyConnection, turns: Sequence[Turn]) -> None:
    """Write these turns, whatever stood under their ids."""
    with _wanted(con, [turn.turn_id for turn in turns]):
        con.execute(_DELETE_TURNS)
    insert_rows(con, turns)


def replace_memories(
    con: duckdb.DuckDBPyConnection, memories: Sequence[Memory], spans: Sequence[MemorySpan]
) -> None:
    """Write these memories, and these spans in place of all spans of theirs."""
    with _wanted(con, [memory.memory_id for memory in memories]):
        con.execute(_DELETE_MEMORIES)
    with _wanted(con, [span.memory_id for span in spans]):
        con.execute(_DELETE_SPANS)
    insert_rows(con, [*memories, *spans])


def settle_spans(con: duckdb.DuckDBPyConnection) -> dict[str, int]:
    """Derive from the latest states when each span was superseded or retracted; count loose ends.

    A supersession without a time takes effect when its successor may be seen: one that was never
    told replaces nothing. One whose time nobody knows is never applied backwards: the memory stays
    current in a replay, and is counted.
    """
    con.execute(_SETTLE)
    dangling, undated = con.sql(_LOOSE_ENDS).fetchall()[0]
    return {
        "superseded by a memory that is not there": int(dangling),
        "superseded or retracted at an unknown time (stays current in a replay)": int(undated),
        "superseded in a circle (none of them is current)": _in_circles(
            dict(con.sql(_SUCCESSORS).fetchall())
        ),
    }


def _in_circles(successors: Mapping[str, str]) -> int:
    """Memories whose successors lead back to them."""
    found, seen = 0, set[str]()
    for start in successors:
        here, path = start, dict[str, int]()
        while here in successors and here not in seen:
            seen.add(here)
            path[here] = len(path)
            here = successors[here]
        found += len(path) - path.get(here, len(path))
    return found


def _wanted(con: duckdb.DuckDBPyConnection, ids: Sequence[str]) -> AbstractContextManager[None]:
    frame = pl.DataFrame({"id": list(dict.fromkeys(ids))}, schema={"id": pl.String})
    return registered(con, "wanted", frame)
