"""Which file owns which rows: what makes an import incremental and its repetition harmless.

What each file says is kept as claims; turns, memories and spans are derived from all of them.
Forgetting a file takes its claims away. All of it happens inside one `Lab.writing` block.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime

import duckdb

from recalltune.store.claims import Kind
from recalltune.store.frames import ids, run
from recalltune.store.read import read_table
from recalltune.store.rows import IngestFile, Memory, MemorySpan, Turn
from recalltune.store.write import insert_rows

__all__ = [
    "forget_file",
    "known_accesses",
    "known_cases",
    "known_files",
    "known_labels",
    "known_searches",
    "replace_memories",
    "replace_turns",
]

_FORGET = (
    "delete from label where file = $file",
    # Judgements of a file of their own stay where the file of their cases is read again.
    """
    delete from label where label.file = '' and exists (
        select 1 from eval_case c
        where c.file = $file and c.case_set = label.case_set and c.case_id = label.case_id)
    """,
    "delete from eval_case where file = $file",
    "delete from event where file = $file",
    "delete from sharing where file = $file",
    "delete from access where file = $file",
    "delete from search_log where file = $file",
    "delete from packing where run_id = 'log:' || $file",
    "delete from ledger where run_id = 'log:' || $file",
    "delete from run where run_id = 'log:' || $file",
    "delete from ingest_file where path = $file",
)
_FORGET_CLAIMS = "delete from claim where file = $file returning kind, ref"
# A turn that one record alone speaks of has no claim: it is its own.
_FORGET_TURNS = """
delete from turn where file = $file and not exists (
    select 1 from claim where claim.kind = 'turn' and claim.ref = turn.turn_id)
"""

_SEARCHES = "select query_id from search_log semi join wanted on wanted.id = search_log.query_id"
_ACCESSES = """
select memory_id, used_at, kind, audience from access
semi join wanted on wanted.id = access.memory_id
"""
_CASES = "select case_set, case_id from eval_case semi join wanted on wanted.id = eval_case.case_id"
_LABELS = """
select case_set, case_id, memory_id, role from label
semi join wanted on wanted.id = label.case_id
"""
_DELETE_TURNS = "delete from turn using wanted where wanted.id = turn.turn_id"
_DELETE_SPANS = "delete from memory_span using wanted where wanted.id = memory_span.memory_id"
_DELETE_MEMORIES = "delete from memory using wanted where wanted.id = memory.memory_id"


def forget_file(con: duckdb.DuckDBPyConnection, file: str) -> Mapping[Kind, list[str]]:
    """Remove what ``file`` says, and return the ids it spoke of, by kind.

    What other files say of these ids is to be derived again: see `claims_of`, `replace_turns` and
    `replace_memories`. Until then the lab shows the state before.
    """
    con.execute(_FORGET_TURNS, {"file": file})
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
    return set(run(con, _SEARCHES, wanted=ids(query_ids)).to_series())


def known_accesses(
    con: duckdb.DuckDBPyConnection, memory_ids: Sequence[str]
) -> set[tuple[str, datetime, str, str]]:
    """Uses of these memories that are in the lab: memory, instant, kind, audience."""
    return set(run(con, _ACCESSES, wanted=ids(memory_ids)).iter_rows())


def known_cases(con: duckdb.DuckDBPyConnection, case_ids: Sequence[str]) -> set[tuple[str, str]]:
    """Cases of these ids that are in the lab: case set, id."""
    return set(run(con, _CASES, wanted=ids(case_ids)).iter_rows())


def known_labels(
    con: duckdb.DuckDBPyConnection, case_ids: Sequence[str]
) -> set[tuple[str, str, str, str]]:
    """Labels of these cases that are in the lab: case set, case, memory, role."""
    return set(run(con, _LABELS, wanted=ids(case_ids)).iter_rows())


def replace_turns(
    con: duckdb.DuckDBPyConnection, turn_ids: Sequence[str], turns: Sequence[Turn]
) -> None:
    """Write these turns in place of whatever stood under the ids."""
    if turn_ids:
        run(con, _DELETE_TURNS, wanted=ids(turn_ids))
    insert_rows(con, turns)


def replace_memories(
    con: duckdb.DuckDBPyConnection,
    memory_ids: Sequence[str],
    memories: Sequence[Memory],
    spans: Sequence[MemorySpan],
) -> None:
    """Write these memories and spans in place of whatever stood under the ids."""
    if memory_ids:
        run(con, _DELETE_MEMORIES, wanted=ids(memory_ids))
        run(con, _DELETE_SPANS, wanted=ids(memory_ids))
    insert_rows(con, [*memories, *spans])
