"""One digest of everything in the lab that can change a ranking or a judgement of it.

Rows are hashed sorted by their content, so the order of import does not matter; where a row came
from (file, line) does not enter.
"""

from __future__ import annotations

import hashlib

import duckdb

from recalltune.store.attributes import SAID, SPAN_ATTRIBUTES
from recalltune.store.frames import run
from recalltune.store.sharing import GATED_SOURCES, read_gate

__all__ = ["data_digest"]

# Columns in order, doubles in their shortest exact form, instants in UTC.
_AS_JSON = "cast(to_json(struct_pack(*columns(*))) as varchar)"

# No ranking reads the order of tags.
_THEN, _LATEST = (
    ", ".join(
        f"{of}.{name}" if name != "tags" else f"list_sort({of}.tags)" for name in SPAN_ATTRIBUTES
    )
    for of in ("said", "m")
)
_RESTATED = f"""
select said.* replace (list_sort(said.tags) as tags)
from ({SAID}) said join memory m using (memory_id)
join memory_span s on s.memory_id = said.memory_id and s.version = said.version
where s.layer is not null and not (s.gated and s.told_at is null)
  and ({_THEN}) is distinct from ({_LATEST})
"""
"""What was said of a memory while a span was open, where it is not what is said of it now."""

# What was never told changes no result, and so must not change a digest that is printed with every
# result: whoever guessed the words could be sure of them.
_TOLD = "not (gated and told_at is null)"
_KNOWN = f"select memory_id from memory_span where {_TOLD}"
_TURNS = f"""
select turn.turn_id, turn.session_id, turn.seq, turn.role, turn.text_hash, turn.said_at,
       turn.told_at, case when gated_source.ref is not null then gate.opens_at end as opens_at
from turn left join gate using (turn_id)
left join ({GATED_SOURCES}) gated_source on gated_source.ref = turn.source
where gated_source.ref is null or gate.opens_at is not null
"""
"""Messages that may be shown at some time; of a gated source, from when on."""

_PARTS = (
    f"""
    select memory_id, version, text_hash, scope, audience, event_at, known_at, gated, told_at,
           leaves_at, superseded_at, retracted_at
    from memory_span where {_TOLD}
    """,
    f"""
    select memory_id, text_hash, gist, title, layer, category, tier, scope, project, subject,
           origin, salience, confidence, pinned, status, superseded_by, superseded_at,
           retracted_at, duplicate_of, valid_from, valid_until, turn_id, session, source,
           list_sort(tags) as tags
    from memory semi join ({_KNOWN}) known using (memory_id)
    """,
    f"""
    select distinct memory_id, used_at, kind, audience
    from access semi join ({_KNOWN}) known using (memory_id)
    """,
    """
    select case_set, case_id, query, asked_at, scope, profile, top_k, session, kind, lang, split,
           expectations
    from eval_case
    """,
    """
    select case_set, case_id, memory_id, role, grade, place, judgement
    from label
    """,
    _TURNS,
    _RESTATED,
)


def data_digest(con: duckdb.DuckDBPyConnection) -> str:
    """SHA-256, in hex, over the ordered content of the tables a result depends on.

    Spans, memories, turns, accesses, cases and labels enter; texts do through their hashes, events
    and sharings through the instants at which turns of gated sources may be shown. What was never
    told does not enter. Vectors have their own digest, see `vector_digest`.
    """
    digest, gate = hashlib.sha256(), read_gate(con)
    for number, query in enumerate(_PARTS):
        rows = run(con, f"select {_AS_JSON} from ({query})", gate=gate).to_series().to_list()
        # A lab in which nothing was restated says nothing of versions of attributes.
        if rows or query is not _RESTATED:
            digest.update(f"\x1e{number}\x1e".encode())
        for row in sorted(rows):
            digest.update(row.encode())
            digest.update(b"\n")
    return digest.hexdigest()
