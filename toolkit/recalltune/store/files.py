"""Which file owns which rows: what makes an import incremental and its repetition harmless.

A row belongs to the file it was first read from; files that say the same are kept beside it in
``also_in``. Forgetting a file removes what only that file said.
"""

from __future__ import annotations

import duckdb

__all__ = ["forget_file"]

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
    # An edit closed the span before it; without the edit that span is open again.
    """
    update memory_span as old set leaves_at = null
    where old.file <> $file and exists (
        select 1 from memory_span gone
        where gone.file = $file and gone.memory_id = old.memory_id
          and gone.version = old.version + 1 and gone.known_at = old.leaves_at)
    """,
    "delete from memory_span where file = $file",
    "delete from memory where not exists (from memory_span s where s.memory_id = memory.memory_id)",
    """
    update memory set text_hash = newest.text_hash
    from (select memory_id, max_by(text_hash, version) as text_hash
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


def forget_file(con: duckdb.DuckDBPyConnection, file: str) -> None:
    """Remove every row that only ``file`` accounts for; call it inside `Lab.writing`."""
    for statement in _FORGET:
        con.execute(statement, {"file": file} if "$file" in statement else None)
