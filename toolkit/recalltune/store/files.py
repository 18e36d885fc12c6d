"""Which file owns which rows: what makes an import incremental and its repetition harmless.

What each file says is kept as claims; turns, memories and spans are derived from all of them.
Forgetting a file takes its claims away. All of it happens inside one `Lab.writing` block.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import duckdb

from recalltune.store.claims import Kind, wanted
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
]

_FORGET = (
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
_FORGET_CLAIMS = "delete from claim where file = $file returning kind, ref"

_SEARCHES = "select query_id from search_log semi join wanted on wanted.id = search_log.query_id"
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


def forget_file(con: duckdb.DuckDBPyConnection, file: str) -> Mapping[Kind, list[str]]:
    """Remove what ``file`` says, and return the ids it spoke of, by kind.

    What other files say of these ids is to be derived again: see `claims_of`, `replace_turns` and
    `replace_memories`. Until then the lab shows the state before.
    """
    spoken = con.execute(_FORGET_CLAIMS, {"file": file}).fetchall()
    for statement in _FORGET:
        con.execute(statement, {"file": file})
    return {
        kind: sorted({ref for said, ref in spoken if said == kind}) for kind in ("memory", "turn")
    }


def known_files(con: duckdb.DuckDBPyConnection) -> dict[str, IngestFile]:
    """What the lab remembers of every imported file, by its name."""
    rows = read_table(con, "ingest_file").to_dicts()
    return {
        row["path"]: IngestFile(**row | {"reasons": json.loads(row["reasons"])}) for row in rows
    }


def known_searches(con: duckdb.DuckDBPyConnection, query_ids: Sequence[str]) -> set[str]:
    """Those searches that are in the lab."""
    with wanted(con, query_ids):
        return {query_id for (query_id,) in con.sql(_SEARCHES).fetchall()}


def replace_turns(
    con: duckdb.DuckDBPyConnection, turn_ids: Sequence[str], turns: Sequence[Turn]
) -> None:
    """Write these turns in place of whatever stood under the ids."""
    with wanted(con, turn_ids):
        con.execute(_DELETE_TURNS)
    insert_rows(con, turns)


def replace_memories(
    con: duckdb.DuckDBPyConnection,
    memory_ids: Sequence[str],
    memories: Sequence[Memory],
    spans: Sequence[MemorySpan],
) -> None:
    """Write these memories and spans in place of whatever stood under the ids."""
    with wanted(con, memory_ids):
        con.execute(_DELETE_MEMORIES)
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
