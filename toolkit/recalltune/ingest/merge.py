"""Files' rows against the lab: what they repeat, what they edit, what is new.

A turn or memory that another file says in the same words is kept once, with both files as its
origin. Where a format can carry edits, a later text under the same id is a new version.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import duckdb

from recalltune.ingest.parsed import Claim, Parsed
from recalltune.store import (
    Memory,
    MemorySpan,
    Turn,
    known_searches,
    replace_memories,
    replace_turns,
    spans_of,
    turns_of,
)

__all__ = ["Holdings", "merge", "stacked"]


@dataclass
class Holdings:
    """What the lab holds under the ids of some files, and what they make of it."""

    turns: dict[str, Turn]
    spans: dict[str, list[MemorySpan]]
    searches: set[str]
    newest: dict[str, Memory] = field(default_factory=dict)
    touched_turns: set[str] = field(default_factory=set)
    touched_spans: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, con: duckdb.DuckDBPyConnection, files: Iterable[Parsed]) -> Holdings:
        """Look up every id the files name, once."""
        files = list(files)
        return cls(
            turns_of(con, [turn.turn_id for file in files for turn in file.turns]),
            spans_of(con, [claim.memory.memory_id for file in files for claim in file.claims]),
            known_searches(con, [entry.query_id for file in files for entry in file.searches]),
        )

    def write(self, con: duckdb.DuckDBPyConnection) -> None:
        """Store what was touched; the rest stays as it is."""
        replace_turns(con, [self.turns[turn] for turn in sorted(self.touched_turns)])
        spans = [
            span for memory in sorted(self.touched_spans) for span in stacked(self.spans[memory])
        ]
        replace_memories(con, list(self.newest.values()), spans)


def merge(parsed: Parsed, file: str, held: Holdings) -> int:
    """Number of the file's records that the lab, or a file before it, held already.

    ``parsed`` is left with the turns, memories and searches that are new.
    """
    return (
        _merge_turns(parsed, file, held)
        + _merge_searches(parsed, held)
        + _merge_memories(parsed, file, held)
    )


def stacked(spans: Sequence[MemorySpan]) -> list[MemorySpan]:
    """Spans of one memory as versions: numbered by time, each leaving when a later one enters.

    A version that was never told enters nowhere, so what it replaces stays.
    """
    if len(spans) == 1 and spans[0].version == 1:
        return list(spans)
    ordered = sorted(spans, key=_in_time)
    versions = [ordered[-1].with_(version=len(ordered))]
    leaves = _enters(ordered[-1])
    for version, span in reversed(list(enumerate(ordered[:-1], start=1))):
        versions.append(span.with_(version=version, leaves_at=leaves))
        leaves = min((at for at in (leaves, _enters(span)) if at is not None), default=None)
    return versions[::-1]


def _in_time(span: MemorySpan) -> tuple[bool, datetime | None]:
    return span.known_at is not None, span.known_at


def _untold(span: MemorySpan) -> bool:
    return span.gated and span.told_at is None


def _enters(span: MemorySpan) -> datetime | None:
    """When a later version may be seen: once it is known and told; never if it is not told."""
    if _untold(span):
        return None
    return max((at for at in (span.known_at, span.told_at) if at is not None), default=None)


def _merge_turns(parsed: Parsed, file: str, held: Holdings) -> int:
    fresh, repeated, shared = [], set(), 0
    for turn in parsed.turns:
        other = held.turns.get(turn.turn_id)
        if other is None:
            fresh.append(turn)
            held.turns[turn.turn_id] = turn
            held.touched_turns.add(turn.turn_id)
            continue
        repeated.add(turn.turn_id)
        if (other.role, other.text_hash) != (turn.role, turn.text_hash):
            parsed.demote("uuid another file holds with another text", turn.line or 1)
            continue
        shared += 1
        parsed.demote("message another file holds (resumed session)", turn.line or 1)
        held.turns[turn.turn_id] = other.with_(also_in=_with(other, file))
        held.touched_turns.add(turn.turn_id)
    parsed.turns = fresh
    # A turn's memory goes where its turn goes; it is not a record of its own.
    parsed.claims = [claim for claim in parsed.claims if claim.memory.turn_id not in repeated]
    return shared


def _merge_searches(parsed: Parsed, held: Holdings) -> int:
    for place, search in enumerate(parsed.searches, start=1):
        if search.query_id in held.searches:
            parsed.demote("query_id another file holds", place)
    count = len(parsed.searches)
    parsed.searches = [entry for entry in parsed.searches if entry.query_id not in held.searches]
    held.searches |= {entry.query_id for entry in parsed.searches}
    return count - len(parsed.searches)


def _merge_memories(parsed: Parsed, file: str, held: Holdings) -> int:
    kept, shared, edited = [], 0, set()
    for claim in parsed.claims:
        memory_id = claim.memory.memory_id
        versions = held.spans.get(memory_id, [])
        twin = next((span for span in versions if _same(span, claim.span)), None)
        if twin is not None and twin.file == file:
            parsed.demote("exact copy of an earlier record", claim.line)
        elif twin is not None:
            shared += 1
            parsed.demote("memory another file holds", claim.line)
            both = twin.with_(also_in=_with(twin, file))
            held.spans[memory_id] = [both if span is twin else span for span in versions]
            held.touched_spans.add(memory_id)
        elif _fits(claim.span, versions, parsed):
            kept.append(claim)
            _add(claim, held)
            if versions:
                edited.add(memory_id)
        else:
            parsed.demote("id taken by another memory, no later time to order them", claim.line)
    parsed.claims = kept
    parsed.notes["memory with earlier versions under its id"] += len(edited)
    return shared


def _add(claim: Claim, held: Holdings) -> None:
    memory_id = claim.memory.memory_id
    versions = [*held.spans.get(memory_id, []), claim.span]
    held.spans[memory_id] = versions
    held.touched_spans.add(memory_id)
    # What an untold version says of layer, salience or title must not show beside a told text.
    told = [span for span in versions if not _untold(span)] or versions
    if max(told, key=_in_time) is claim.span:
        held.newest[memory_id] = claim.memory


def _with(row: Turn | MemorySpan, file: str) -> tuple[str, ...]:
    return tuple(sorted({*row.also_in, file} - {row.file}))


def _same(one: MemorySpan, other: MemorySpan) -> bool:
    return (one.text_hash, one.known_at, one.scope) == (
        other.text_hash,
        other.known_at,
        other.scope,
    )


def _fits(span: MemorySpan, others: Sequence[MemorySpan], parsed: Parsed) -> bool:
    """Whether a span can stand as a version beside the others: each at its own instant."""
    if not others:
        return True
    times = [other.known_at for other in others]
    return parsed.edited and span.known_at is not None and span.known_at not in times
