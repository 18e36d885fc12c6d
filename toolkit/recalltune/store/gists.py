"""Gists written after the text: from then on the short form speaks, before it the text does.

In: an open connection, a memory, its gist, and when that was made. Out: a new version of the
memory that says the same and has the gist; what was said of it before stays as it was.
"""

from __future__ import annotations

from datetime import datetime

import duckdb

from recalltune.errors import ContractError
from recalltune.store.attributes import SAID, SPAN_ATTRIBUTES
from recalltune.store.settle import settle_spans

__all__ = ["put_gist"]

_KNOWN = "select count(*) from memory_span where memory_id = $memory_id"
# A span that leaves its attributes to the memory would take the new gist into its past.
_KEEP = f"""
update memory_span set {", ".join(f"{name} = said.{name}" for name in SPAN_ATTRIBUTES)}
from ({SAID}) said
where said.memory_id = memory_span.memory_id and said.version = memory_span.version
  and memory_span.memory_id = $memory_id and memory_span.layer is null
"""
_ADD = """
insert into memory_span by name
select * exclude (enters_at) replace (
    version + 1 as version, $gist as gist, greatest(known_at, $at) as known_at)
from memory_span where memory_id = $memory_id
qualify row_number() over (order by version desc) = 1
"""
_LEAVE = """
update memory_span set leaves_at = least(leaves_at, $at)
where memory_id = $memory_id and version < (
    select max(version) from memory_span where memory_id = $memory_id)
"""
_SPEAK = "update memory set gist = $gist where memory_id = $memory_id"


def put_gist(con: duckdb.DuckDBPyConnection, memory_id: str, gist: str, *, at: datetime) -> None:
    """Give a memory its short form from an instant on.

    Parameters
    ----------
    con
        An open connection inside `Lab.writing`.
    memory_id
        The memory; its latest version gets the gist.
    gist
        The short form.
    at
        When it was made. A query before it, or then, sees the memory without it.

    Raises
    ------
    ContractError
        If there is no such memory.
    """
    if con.sql(_KNOWN, params={"memory_id": memory_id}).fetchall() == [(0,)]:
        message = f"memory {memory_id!r} is not there, so it can have no gist"
        raise ContractError(message)
    of, made = {"memory_id": memory_id}, {"memory_id": memory_id, "at": at}
    con.execute(_KEEP, of)
    con.execute(_ADD, made | {"gist": gist})
    con.execute(_LEAVE, made)
    con.execute(_SPEAK, of | {"gist": gist})
    settle_spans(con)
