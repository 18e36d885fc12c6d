"""Files' rows against the lab: what they repeat, what they edit, what is new.

Every record is held as a claim beside those of other files, and what stands in the lab under its
id is settled anew from all of them. A turn or memory that another file says in the same words is
there once, with both files as its origin.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

import duckdb

from recalltune.ingest.case_rows import HeldCases, merge_cases
from recalltune.ingest.claim import Claim
from recalltune.ingest.parsed import Parsed
from recalltune.ingest.versions import Settled, settle, settle_turn
from recalltune.store import (
    ClaimRow,
    Kind,
    Row,
    Turn,
    adopt,
    claims_of,
    insert_rows,
    known_accesses,
    known_searches,
    release,
    replace_memories,
    replace_turns,
)

__all__ = ["Holdings", "merge", "settle_again"]

_DISPLACED = (
    "record of another file that gives way: its id is taken by this one (two folders alike? give "
    "each a lab of its own)"
)
_TAKEN = "id held by another file's memory (moved, or two folders alike?)"


@dataclass
class Holdings:
    """What all files say under the ids of some of them, and what comes of it."""

    turns: dict[str, list[Turn]]
    claims: dict[str, list[Claim]]
    searches: set[str] = field(default_factory=set)
    accesses: set[tuple[Any, ...]] = field(default_factory=set)
    cases: HeldCases = field(default_factory=HeldCases)
    fresh: list[ClaimRow] = field(default_factory=list)
    """Claims about memories that are not in the lab yet."""
    fresh_turns: list[Turn] = field(default_factory=list)
    """Records of turns that are not in the lab yet."""
    touched_turns: set[str] = field(default_factory=set)
    """Turns that the lab held before, and that were touched."""
    settled: dict[str, Settled] = field(default_factory=dict)
    """Memories that were touched."""

    @classmethod
    def of(cls, con: duckdb.DuckDBPyConnection, files: Iterable[Parsed]) -> Holdings:
        """Look up every id the files name, once."""
        files = list(files)
        turn_ids = [turn.turn_id for file in files for turn in file.turns]
        memory_ids = [claim.memory.memory_id for file in files for claim in file.claims]
        adopt(con, turn_ids, memory_ids)
        held = cls.under(con, turn_ids, memory_ids)
        searches = [entry.query_id for file in files for entry in (*file.searches, *file.witnessed)]
        held.searches = known_searches(con, searches) if searches else set()
        used = [access.memory_id for file in files for access in file.accesses]
        held.accesses = known_accesses(con, used) if used else set()
        held.cases = HeldCases.of(con, files)
        return held

    @classmethod
    def under(
        cls, con: duckdb.DuckDBPyConnection, turn_ids: Sequence[str], memory_ids: Sequence[str]
    ) -> Holdings:
        """Look up what the lab holds under these ids."""
        return cls(
            {
                turn_id: [row.to_turn() for row in rows]
                for turn_id, rows in claims_of(con, "turn", turn_ids).items()
            },
            {
                memory_id: list(map(_claim, rows))
                for memory_id, rows in claims_of(con, "memory", memory_ids).items()
            },
        )

    def add_turn(self, turn: Turn) -> None:
        """Hold one more record of a turn."""
        records = self.turns.setdefault(turn.turn_id, [])
        if records:
            self.touched_turns.add(turn.turn_id)
        records.append(turn)
        self.fresh_turns.append(turn)

    def add(self, claim: Claim) -> None:
        """Hold one more record of a memory."""
        self.claims.setdefault(claim.memory.memory_id, []).append(claim)
        self.fresh.append(
            ClaimRow.of_memory(
                claim.memory,
                claim.span,
                line=claim.line,
                stated_at=claim.stated_at,
                edits=claim.edits,
                withheld=claim.withheld,
            )
        )

    def settle(self, memory_id: str) -> Settled:
        """Settle a memory by all that is held of it now."""
        self.settled[memory_id] = settle(self.claims.get(memory_id, []))
        return self.settled[memory_id]

    def write(self, con: duckdb.DuckDBPyConnection) -> None:
        """Store what was touched; the rest stays as it is."""
        touched = sorted(self.touched_turns)
        turns = [settle_turn(self.turns[turn])[0] for turn in touched if turn in self.turns]
        turns += [turn for turn in self.fresh_turns if turn.turn_id not in self.touched_turns]
        replace_turns(con, touched, turns)
        outcomes = list(self.settled.values())
        memories = [outcome.memory for outcome in outcomes if outcome.memory is not None]
        spans = [span for outcome in outcomes for span in outcome.spans]
        replace_memories(con, list(self.settled), memories, spans)
        # A turn of one record is its own claim.
        contested = [turn for turn in self.fresh_turns if len(self.turns[turn.turn_id]) > 1]
        insert_rows(con, [*map(ClaimRow.of_turn, contested), *self.fresh])


def settle_again(con: duckdb.DuckDBPyConnection, spoken: Mapping[Kind, Sequence[str]]) -> None:
    """Write what the files that are left say under the ids of one that was forgotten."""
    held = Holdings.under(con, spoken["turn"], spoken["memory"])
    held.touched_turns |= set(spoken["turn"])
    for memory_id in spoken["memory"]:
        held.settle(memory_id)
    held.write(con)
    release(con, [turn_id for turn_id, records in held.turns.items() if len(records) == 1])


def merge(parsed: Parsed, file: str, held: Holdings) -> int:
    """Number of the file's records that the lab, or a file before it, held already.

    ``parsed`` is left with the turns, memories and searches that are new, or say something new.
    """
    return (
        _merge_turns(parsed, held)
        + _merge_searches(parsed, held)
        + _merge_accesses(parsed, held)
        + merge_cases(parsed, held.cases)
        + _merge_memories(parsed, file, held)
    )


def _claim(row: ClaimRow) -> Claim:
    return Claim(*row.to_memory(), row.line, row.stated_at, row.edits, row.withheld)


def _merge_turns(parsed: Parsed, held: Holdings) -> int:
    fresh, shared = [], 0
    for turn in parsed.turns:
        others = list(held.turns.get(turn.turn_id, ()))
        held.add_turn(turn)
        if not others:
            fresh.append(turn)
            continue
        first, refused = settle_turn([*others, turn])
        if turn in refused:
            parsed.demote("uuid another file holds with another text", turn.line or 1)
        elif first.also_in:
            shared += 1
            parsed.demote("message another file holds (resumed session)", turn.line or 1)
        else:
            fresh.append(turn)
            parsed.notes["uuid of another text in another file, which gives way"] += len(refused)
    parsed.turns = fresh
    return shared


def _merge_searches(parsed: Parsed, held: Holdings) -> int:
    """Searches another file holds are written too: the first file by name speaks for each."""
    shared = 0
    for place, search in enumerate(parsed.searches, start=1):
        if search.query_id in held.searches:
            parsed.demote("query_id another file holds", place)
            shared += 1
    parsed.searches += parsed.witnessed
    parsed.witnessed.clear()
    held.searches |= {entry.query_id for entry in parsed.searches}
    return shared


def _merge_accesses(parsed: Parsed, held: Holdings) -> int:
    """Uses another file holds are written too; whoever reads them reads each once."""
    shared = 0
    for place, access in enumerate(parsed.accesses, start=1):
        key = (access.memory_id, access.used_at, access.kind, access.audience)
        if key in held.accesses:
            parsed.demote("use another file holds", place)
            shared += 1
        held.accesses.add(key)
    return shared


def _merge_memories(parsed: Parsed, file: str, held: Holdings) -> int:
    mine: dict[str, list[Claim]] = {}
    for claim in parsed.claims:
        before = held.claims.get(claim.memory.memory_id, ())
        if any(other.span.file == file and _repeats(claim, other) for other in before):
            _demote(parsed, claim, "exact copy of an earlier record")
            continue
        held.add(claim)
        mine.setdefault(claim.memory.memory_id, []).append(claim)
    parsed.claims, shared = [], 0
    new_turns = {turn.turn_id for turn in parsed.turns}
    for memory_id, claims in mine.items():
        others = [other for other in held.claims[memory_id] if other.span.file != file]
        settled = held.settle(memory_id)
        for place, claim in enumerate(claims):
            if claim.memory.turn_id is not None:
                # A turn's memory goes where its turn goes; it is not a record of its own.
                parsed.claims += [claim] if claim.memory.turn_id in new_turns else []
            elif claim.withheld:
                continue
            elif claim in settled.refused:
                _demote(parsed, claim, _TAKEN)
            elif _unchanged(claim, settled, before=[*others, *claims[:place]]):
                shared += 1
                _demote(parsed, claim, "unchanged by its contentHash")
            elif any(_repeats(claim, other) for other in others):
                shared += 1
                _demote(parsed, claim, "memory another file holds")
            else:
                parsed.claims.append(claim)
        _note(parsed, claims, others, settled)
        _note_batches(parsed, claims, others)
    return shared


def _demote(parsed: Parsed, claim: Claim, reason: str) -> None:
    if not claim.withheld and claim.memory.turn_id is None:
        parsed.demote(reason, claim.line)


def _note(
    parsed: Parsed, claims: Sequence[Claim], others: Sequence[Claim], settled: Settled
) -> None:
    """Count what a file's records of a memory do to what was there."""
    there = {_version(other) for other in others if not other.withheld}
    held = [claim for claim in claims if not claim.withheld and claim not in settled.refused]
    new = {_version(claim) for claim in held} - there
    if new and len(settled.versions) > 1:
        parsed.notes["memory with earlier versions under its id"] += 1
    displaced = [claim for claim in settled.refused if claim in others]
    if displaced and claims[0].memory.turn_id is None:
        before = settle(others).refused
        parsed.notes[_DISPLACED] += sum(claim not in before for claim in displaced)


def _note_batches(parsed: Parsed, claims: Sequence[Claim], others: Sequence[Claim]) -> None:
    """Count records of a batch that another file brought before: sent again, or changed."""
    for claim in (claim for claim in claims if _batch(claim) is not None):
        sent = [other for other in others if _batch(other) == _batch(claim)]
        if any(_repeats(claim, other) for other in sent):
            parsed.notes["record of a batch that another file brought, not imported twice"] += 1
        elif sent:
            parsed.notes[
                "batchId of another file with other content, the later statement holds"
            ] += 1


def _batch(claim: Claim) -> tuple[str, Any] | None:
    batch = claim.memory.meta.get("batchId")
    return None if batch is None or claim.withheld else (claim.memory.source, batch)


def _unchanged(claim: Claim, settled: Settled, *, before: Sequence[Claim]) -> bool:
    """Whether a record says, by its ``contentHash``, what was said of its version before."""
    if claim.content is None:
        return False
    version = next((version for version in settled.versions if claim in version), [])
    return any(
        other.content == claim.content
        and _repeats(claim, other, but={"event_at", "known_at"})
        and other in version
        for other in before
    )


def _version(claim: Claim) -> tuple[object, ...]:
    return claim.span.known_at, claim.span.text_hash, claim.span.scope


def _repeats(one: Claim, other: Claim, *, but: Set[str] = frozenset()) -> bool:
    """Whether two records say the same; where they stand, and what no ranking reads, aside."""
    return (
        one.withheld == other.withheld
        and _alike(one.span, other.span, but={"file", "also_in", *but})
        and _alike(one.memory, other.memory, but={"meta"})
    )


def _alike(one: Row, other: Row, *, but: set[str]) -> bool:
    return all(
        getattr(one, name) == getattr(other, name) for name in type(one).model_fields.keys() - but
    )
