"""One file's rows against the lab: what it repeats, what it edits, what is new.

A turn or memory that another file says in the same words is kept once, with both files as its
origin. Where a format can carry edits, a later text under the same id is a new version.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import duckdb

from recalltune.ingest.parsed import Claim, Parsed
from recalltune.store import (
    MemorySpan,
    add_holder,
    known_searches,
    known_turns,
    replace_memories,
    spans_of,
)

__all__ = ["merge", "stacked"]


def merge(con: duckdb.DuckDBPyConnection, parsed: Parsed, file: str) -> int:
    """Number of the file's records that the lab held already; memories are written on the way.

    ``parsed`` is left with the turns and searches that are new.
    """
    return (
        _merge_turns(con, parsed, file)
        + _merge_searches(con, parsed)
        + _merge_memories(con, parsed, file)
    )


def stacked(spans: Sequence[MemorySpan]) -> list[MemorySpan]:
    """Spans of one memory as versions: numbered by time, each leaving when the next is known."""
    ordered = sorted(spans, key=lambda span: (span.known_at is not None, span.known_at))
    closed = [earlier.with_(leaves_at=later.known_at) for earlier, later in pairwise(ordered)]
    return [
        span.with_(version=version)
        for version, span in enumerate([*closed, *ordered[-1:]], start=1)
    ]


def _merge_turns(con: duckdb.DuckDBPyConnection, parsed: Parsed, file: str) -> int:
    held = known_turns(con, [turn.turn_id for turn in parsed.turns])
    fresh, repeated, shared = [], set(), []
    for turn in parsed.turns:
        if turn.turn_id not in held:
            fresh.append(turn)
        elif held[turn.turn_id] == (turn.role, turn.text_hash):
            repeated.add(turn.turn_id)
            shared.append(turn.turn_id)
            parsed.demote("message another file holds (resumed session)", turn.line or 1)
        else:
            repeated.add(turn.turn_id)
            parsed.demote("uuid another file holds with another text", turn.line or 1)
    add_holder(con, "turn", shared, file)
    parsed.turns = fresh
    # A turn's memory goes where its turn goes; it is not a record of its own.
    parsed.claims = [claim for claim in parsed.claims if claim.memory.turn_id not in repeated]
    return len(shared)


def _merge_searches(con: duckdb.DuckDBPyConnection, parsed: Parsed) -> int:
    held = known_searches(con, [search.query_id for search in parsed.searches])
    for place, search in enumerate(parsed.searches, start=1):
        if search.query_id in held:
            parsed.demote("query_id another file holds", place)
    count = len(parsed.searches)
    parsed.searches = [search for search in parsed.searches if search.query_id not in held]
    return count - len(parsed.searches)


def _merge_memories(con: duckdb.DuckDBPyConnection, parsed: Parsed, file: str) -> int:
    held = spans_of(con, list({claim.memory.memory_id for claim in parsed.claims}))
    kept: dict[str, list[Claim]] = {}
    shared: list[str] = []
    for claim in parsed.claims:
        memory_id = claim.memory.memory_id
        mine = kept.setdefault(memory_id, [])
        others = held.get(memory_id, [])
        if any(_same(claim.span, other) for other in others):
            shared.append(memory_id)
            parsed.demote("memory another file holds", claim.line)
        elif any(_same(claim.span, other.span) for other in mine):
            parsed.demote("exact copy of an earlier record", claim.line)
        elif _fits(claim.span, [*others, *(other.span for other in mine)], parsed):
            mine.append(claim)
        else:
            parsed.demote("id taken by another memory, no later time to order them", claim.line)
    add_holder(con, "memory_span", shared, file)
    parsed.claims = [claim for claims in kept.values() for claim in claims]
    fresh = {memory_id: claims for memory_id, claims in kept.items() if claims}
    spans = {
        memory_id: stacked([*held.get(memory_id, []), *(claim.span for claim in claims)])
        for memory_id, claims in fresh.items()
    }
    newest = [
        claim.memory
        for memory_id, claims in fresh.items()
        for claim in claims
        if _is(claim.span, spans[memory_id][-1])
    ]
    edits = sum(len(versions) > 1 for versions in spans.values())
    parsed.notes["memory with earlier versions under its id"] += edits
    replace_memories(con, newest, [span for versions in spans.values() for span in versions])
    return len(shared)


def _same(one: MemorySpan, other: MemorySpan) -> bool:
    return (one.text_hash, one.known_at, one.scope) == (
        other.text_hash,
        other.known_at,
        other.scope,
    )


def _is(one: MemorySpan, other: MemorySpan) -> bool:
    return _same(one, other) and one.file == other.file


def _fits(span: MemorySpan, others: Sequence[MemorySpan], parsed: Parsed) -> bool:
    """Whether a span can stand as a version beside the others: each at its own instant."""
    if not others:
        return True
    times = [other.known_at for other in others]
    return parsed.edited and span.known_at is not None and span.known_at not in times
