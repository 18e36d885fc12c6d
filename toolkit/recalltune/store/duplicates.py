"""Memories that repeat another one: marked with a pointer to it, never deleted.

In: what was imported. Out: ``memory.duplicate_of`` of every memory that says what an earlier one of
its scope and layer says, letter by letter, and of those that were found to be near copies. What is
hidden of them is decided for each query as of its time (``candidates``).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import duckdb
import polars as pl

from recalltune.store.attributes import SAID
from recalltune.store.frames import run

__all__ = ["note_near_duplicates", "settle_duplicates"]

# What a source itself states of a repetition stands; what was derived here is derived again.
_RESET = """
update memory set duplicate_of = null
where duplicate_of is not null and memory_id in (select ref from claim where kind = 'memory')
  and (memory_id, duplicate_of) not in (
    select (ref, json_extract_string(said, '$.duplicate_of')) from claim
    where kind = 'memory' and json_extract_string(said, '$.duplicate_of') is not null)
"""
# The first state alone is compared: what is said later must not change what was a copy before it.
_COMPARED = f"""
select m.memory_id, s.scope, said.layer, s.text_hash, s.enters_at
from memory m join memory_span s on s.memory_id = m.memory_id and s.version = 1
join ({SAID}) said on said.memory_id = s.memory_id and said.version = s.version
where not s.gated and not said.pinned and not list_contains($exempt, said.source)
"""
_FIRST_TEXTS = f"{_COMPARED} and m.duplicate_of is null"
_EXACT = f"""
update memory set duplicate_of = survivor from (
    select memory_id, first_value(memory_id) over (
        partition by scope, layer, text_hash order by enters_at nulls first, memory_id) as survivor
    from ({_FIRST_TEXTS})
) copies where copies.memory_id = memory.memory_id and survivor <> memory.memory_id
"""
# The one it repeats may repeat a third one itself: pointers are followed to their end.
_NEAR = f"""
update memory set duplicate_of = job.reason from job
join ({_FIRST_TEXTS}) copy on copy.memory_id = job.ref
join ({_COMPARED}) survivor on survivor.memory_id = job.reason
where job.kind = 'duplicate' and job.ref = memory.memory_id
  and copy.scope = survivor.scope and copy.layer = survivor.layer
"""
_FORGET = "delete from job where kind = 'duplicate'"
_NOTE = """
insert into job (kind, ref, state, attempts, reason)
select 'duplicate', copy, 'done', 0, survivor from incoming
"""
_MARKED = "select count(*) from memory where duplicate_of is not null"


def settle_duplicates(con: duckdb.DuckDBPyConnection, exempt: Collection[str]) -> int:
    """Mark the memories that repeat another one, and return how many are marked.

    Two memories are compared, as they were first, if both may be shown to everyone as soon as they
    are known, neither is pinned, and scope and layer agree. The survivor is the one that was known
    first, then the first by id.

    Parameters
    ----------
    con
        An open connection inside `Lab.writing`.
    exempt
        Values of ``memory.source`` whose items are never compared: those of evaluation sets, where
        every item is judged by itself.
    """
    names = {"exempt": sorted(exempt)}
    con.execute(_RESET)
    con.execute(_EXACT, names)
    con.execute(_NEAR, names)
    return int(con.sql(_MARKED).fetchall()[0][0])


def note_near_duplicates(con: duckdb.DuckDBPyConnection, copies: Mapping[str, str]) -> None:
    """Remember which memory is a near copy of which, in place of what was remembered before.

    `settle_duplicates` marks them, after this and after every import.
    """
    con.execute(_FORGET)
    pairs = sorted(copies.items())
    if pairs:
        schema = {"copy": pl.String, "survivor": pl.String}
        run(con, _NOTE, incoming=pl.DataFrame(pairs, schema=schema, orient="row"))
