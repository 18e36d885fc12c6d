"""One digest of everything in the lab that can change a ranking or a judgement of it.

Rows are hashed sorted by their content, so the order of import does not matter; where a row came
from (file, line) does not enter.
"""

from __future__ import annotations

import hashlib

import duckdb

__all__ = ["data_digest"]

# Columns in order, doubles in their shortest exact form, instants in UTC.
_AS_JSON = "cast(to_json(struct_pack(*columns(*))) as varchar)"

_PARTS = (
    """
    select memory_id, version, text_hash, scope, audience, event_at, known_at, gated, told_at,
           leaves_at, superseded_at, retracted_at
    from memory_span
    """,
    """
    select memory_id, text_hash, gist, title, layer, category, tier, scope, project, subject,
           origin, salience, confidence, pinned, status, superseded_by, superseded_at,
           retracted_at, duplicate_of, valid_from, valid_until, turn_id, session, source,
           list_sort(tags) as tags
    from memory
    """,
    "select distinct memory_id, used_at, kind, audience from access",
    """
    select case_set, case_id, query, asked_at, scope, profile, top_k, session, kind, lang, split,
           expectations
    from eval_case
    """,
    """
    select case_set, case_id, memory_id, role, grade, place, judgement
    from label
    """,
    "select turn_id, session_id, seq, role, text_hash, said_at, told_at from turn",
    "select * exclude (file, meta) from event",
    "select * exclude (file, meta) from sharing",
)


def data_digest(con: duckdb.DuckDBPyConnection) -> str:
    """SHA-256, in hex, over the ordered content of the tables a result depends on.

    Spans, memories, turns, events, sharings, accesses, cases and labels enter; texts do through
    their hashes. Vectors have their own, see `vector_digest`.
    """
    digest = hashlib.sha256()
    for number, query in enumerate(_PARTS):
        digest.update(f"\x1e{number}\x1e".encode())
        rows = con.sql(query).project(_AS_JSON).pl()
        for row in sorted(rows.to_series().to_list()):
            digest.update(row.encode())
            digest.update(b"\n")
    return digest.hexdigest()
