"""All that files say under one id, settled: what stands in the lab for it.

The answer depends on the set of claims alone, never on the order in which they came, so a lab
that took files in one by one, or lost some, equals one made from those that are left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from recalltune.ingest.claim import Claim
from recalltune.ingest.gate import strictest
from recalltune.store import Memory, MemorySpan, Turn, attributes_of

__all__ = ["Settled", "settle", "settle_turn", "stacked"]

_NEVER = datetime.min.replace(tzinfo=UTC)
_SEVERITY = {"current": 0, "superseded": 1, "retracted": 2}
_STATUS = ("status", "superseded_by", "superseded_at", "retracted_at", "reason")


@dataclass(frozen=True)
class Settled:
    """What the claims about one memory come to."""

    memory: Memory | None
    """The newest state that was told; None where every record was left out."""
    spans: list[MemorySpan]
    """Its states, numbered: texts by time, and of each text what was said of it, by time."""
    refused: list[Claim]
    """Records whose text cannot be ordered beside the others."""
    findings: frozenset[str]
    """Where records disagree, in words, with the rule that decided."""
    versions: list[list[Claim]] = field(default_factory=list)
    """The records of each version: one text at one time in one scope."""


def settle(claims: Sequence[Claim]) -> Settled:
    """Settle the claims about one memory.

    One text at one time in one scope is a version, whatever else its records say. Its telling is
    the `strictest` of what is said of its instant, whatever the text, and of its text wherever
    that is said not to be told. A text whose source calls it unchanged, by the ``contentHash`` of
    the version before it, is of that version.

    What the records of a version say of its attributes holds from when they were stated, the first
    of them from the beginning of the version: each that says otherwise opens a span of the same
    text and the same age. Of those stated at one time, and of those of which nobody knows the time,
    one is heard: the one whose status changed last, else the more final status, else the last by
    file name and line. The newest version that was told speaks for the memory, by its newest
    record.
    """
    readable = [claim for claim in claims if not claim.withheld]
    versions, refused = _versions(readable)
    if not versions:
        return Settled(None, [], refused, frozenset())
    versions = _changes(versions)
    findings: set[str] = set()
    stated = [_Stated.of(version, _span(version, claims, findings)) for version in versions]
    # What an untold version says of layer, salience or title must not show beside a told text.
    speaking = [version for version in stated if not _untold(version.span)] or stated
    for version in speaking:
        findings |= version.disagreements()
    newest = speaking[-1]
    findings |= newest.changes_of_status()
    memory = newest.speaker.memory
    # First texts are compared with first texts, so a repetition is not stated afterwards.
    repeats = speaking[0].said[0][1].memory.duplicate_of
    if any(claim.memory.duplicate_of != repeats for one in speaking for claim in one.heard):
        findings.add("duplicate_of stated otherwise by a later record, not used")
    if memory.duplicate_of != repeats:
        memory = memory.with_(duplicate_of=repeats)
    states = [one for version in stated for one in version.states()]
    spans = _with_their_ends(states, newest.speaker.memory)
    if any(span.lifted is not None for span in spans):
        findings.add(
            "status changed by a later record: the first one holds until *current* is said"
        )
    once = len(spans) == 1 and spans[0].lifted is None
    if once and attributes_of(spans[0]) == attributes_of(memory):
        spans = [stated[0].span]  # What was never restated stands in the memory alone.
    spans = _in_turn(spans)
    return Settled(memory, spans, refused, frozenset(findings), versions)


@dataclass(frozen=True)
class _State:
    """One span, and what was stated while it was open."""

    span: MemorySpan
    first: Memory
    last: Memory
    ended: Memory | None
    """The first that said the memory does not hold any more."""


def _ended(said: Memory) -> bool:
    """Whether a record says that, and from when on, a memory does not hold any more."""
    known = said.superseded_at or said.retracted_at or said.superseded_by
    return said.status != "current" and known is not None


def _with_their_ends(states: Sequence[_State], newest: Memory) -> list[MemorySpan]:
    """The spans; the first end that was stated holds until a record says *current* again.

    One that is not what the newest record says stands in the span by itself, not in `memory`, so
    that what is stated later changes nothing before.
    """
    spans: list[MemorySpan] = []
    eras: list[list[_State]] = []
    for one in states:
        holds_again = bool(eras) and _ended(eras[-1][-1].last) and one.first.status == "current"
        if not eras or holds_again:
            eras.append([])
        eras[-1].append(one)
    for era in eras:
        end = next((one.ended for one in era if one.ended is not None), None)
        if end is None or (era is eras[-1] and _status(end) == _status(newest)):
            spans += [one.span for one in era]
            continue
        # Without a time of its own, a supersession takes effect with its successor.
        by = "" if end.superseded_at else end.superseded_by or ""
        later = newest.retracted_at if era is eras[-1] and newest.status == "retracted" else None
        spans += [
            one.span.with_(
                superseded_at=end.superseded_at,
                retracted_at=end.retracted_at or later,
                lifted=by,
            )
            for one in era
        ]
    return spans


@dataclass(frozen=True)
class _Stated:
    """One version, and what its records say of it."""

    span: MemorySpan
    heard: list[Claim]
    """Its records; those that say it is not told only where all do."""
    said: list[tuple[datetime, Claim]]
    """Who is heard at each instant at which something was stated, by time."""

    @classmethod
    def of(cls, version: Sequence[Claim], span: MemorySpan) -> _Stated:
        heard = [claim for claim in version if not claim.silent] or list(version)
        by_time: dict[datetime, list[Claim]] = {}
        for claim in heard:
            by_time.setdefault(_when(claim, span), []).append(claim)
        said = [(at, max(by_time[at], key=_by_news)) for at in sorted(by_time)]
        return cls(span, heard, said)

    @property
    def speaker(self) -> Claim:
        """Its newest record."""
        return self.said[-1][1]

    def states(self) -> list[_State]:
        """The version's span, and one more for each later statement that opens one.

        That is one with other attributes, or one that takes a status back. They share text, age and
        telling and differ in when they were known. What is stated of a text after it was replaced
        comes to a span that is never open.
        """
        first, *later = self.said
        opened = self.span.with_(**attributes_of(first[1].memory))
        states = [_state_of(opened, first[1].memory)]
        for at, claim in later:
            now, over = states[-1], self.span.leaves_at
            said = attributes_of(claim.memory)
            lifts = _ended(now.last) and claim.memory.status == "current"
            if (said != attributes_of(now.span) or lifts) and (over is None or at < over):
                span = self.span.with_(**said, known_at=at)
                states.append(_state_of(span, claim.memory))
            else:
                ended = now.ended or (claim.memory if _ended(claim.memory) else None)
                states[-1] = replace(now, last=claim.memory, ended=ended)
        return states

    def disagreements(self) -> set[str]:
        """Where its records differ in attributes, in words; those of one turn are not compared."""
        if len(self.heard) == 1 or self.speaker.memory.turn_id is not None:
            return set()
        said = {at: attributes_of(claim.memory) for at, claim in self.said}
        found = set()
        if any(one != attributes_of(self.speaker.memory) for one in said.values()):
            found.add("attributes changed by a later record")
        if any(attributes_of(one.memory) != said[_when(one, self.span)] for one in self.heard):
            found.add("attributes said differently by records of one time")
        return found

    def changes_of_status(self) -> set[str]:
        """Whether its records differ in its status, in words."""
        newest = self.speaker
        others = [one for one in self.heard if _status(one.memory) != _status(newest.memory)]
        if not others or newest.memory.turn_id is not None:
            return set()
        if max((_when(one, self.span), *_stated(one)) for one in others) < (
            _when(newest, self.span),
            *_stated(newest),
        ):
            return {"status changed by a later record"}
        return {"status said differently by records of one time"}


def settle_turn(said: Sequence[Turn]) -> tuple[Turn, list[Turn]]:
    """Turn as the first file by name has it, and the records that have other words under its id."""
    first, *others = sorted(said, key=lambda turn: (turn.file, turn.line or 1))
    same = [turn for turn in others if (turn.role, turn.text_hash) == (first.role, first.text_hash)]
    files = tuple(sorted({turn.file for turn in same} - {first.file}))
    turn = first.with_(also_in=files) if files else first
    return turn, [turn for turn in others if turn not in same]


def stacked(spans: Sequence[MemorySpan]) -> list[MemorySpan]:
    """Spans of one memory as versions: numbered by time, each leaving when a later one enters.

    A version that was never told enters nowhere, so what it replaces stays.
    """
    return _in_turn(sorted(spans, key=_in_time))


def _in_turn(ordered: Sequence[MemorySpan]) -> list[MemorySpan]:
    if len(ordered) == 1 and ordered[0].version == 1:
        return list(ordered)
    versions = [ordered[-1].with_(version=len(ordered))]
    leaves = _enters(ordered[-1])
    for version, span in reversed(list(enumerate(ordered[:-1], start=1))):
        versions.append(span.with_(version=version, leaves_at=leaves))
        leaves = min((at for at in (leaves, _enters(span)) if at is not None), default=None)
    return versions[::-1]


def _in_time(span: MemorySpan) -> tuple[bool, datetime]:
    return span.known_at is not None, span.known_at or _NEVER


def _untold(span: MemorySpan) -> bool:
    return span.gated and span.told_at is None


def _enters(span: MemorySpan) -> datetime | None:
    """When a later version may be seen: once it is known and told; never if it is not told."""
    if _untold(span):
        return None
    return max((at for at in (span.known_at, span.told_at) if at is not None), default=None)


def _versions(claims: Sequence[Claim]) -> tuple[list[list[Claim]], list[Claim]]:
    """Claims by version, and those that cannot stand as one: no later time to order them."""
    versions: dict[tuple[Any, ...], list[Claim]] = {}
    refused = []
    for claim in sorted(claims, key=_by_right):
        span = claim.span
        key = (span.known_at, span.text_hash, span.scope)
        free = span.known_at is not None and all(span.known_at != at for at, *_ in versions)
        if key in versions:
            versions[key].append(claim)
        elif not versions or (claim.edits and free):
            versions[key] = [claim]
        else:
            refused.append(claim)
    return list(versions.values()), refused


def _changes(versions: Sequence[list[Claim]]) -> list[list[Claim]]:
    """Versions in time; one whose source says that it is as the one before goes into that one."""
    changes: list[list[Claim]] = []
    for version in sorted(versions, key=lambda version: _in_time(version[0].span)):
        dated = bool(changes) and changes[-1][0].span.known_at is not None
        if dated and _content(changes[-1]) & _content(version):
            changes[-1] = [*changes[-1], *version]
        else:
            changes.append(version)
    return changes


def _content(version: Sequence[Claim]) -> set[tuple[Any, ...]]:
    """What the sources say is in a version; the text beside its hash, which alone may be wrong."""
    return {
        (content, claim.span.text_hash, claim.span.scope)
        for claim in version
        if (content := claim.content) is not None
    }


def _by_right(claim: Claim) -> tuple[Any, ...]:
    """Who holds an id: what cannot be an edit comes first, then who said so first."""
    can_edit = claim.edits and claim.span.known_at is not None
    stated = (claim.stated_at is None, claim.stated_at or _NEVER)
    return can_edit, *stated, claim.span.file, claim.line


def _span(version: Sequence[Claim], claims: Sequence[Claim], findings: set[str]) -> MemorySpan:
    first = version[0].span
    instants = {claim.span.known_at for claim in version}
    at_once = [claim for claim in claims if claim.span.known_at in instants]
    same_text = [claim for claim in claims if claim.span.text_hash == first.text_hash]
    silenced = any(claim.silent for claim in same_text)
    about = at_once + [claim for claim in same_text if silenced and claim not in at_once]
    if len({(claim.span.audience, claim.span.gated, claim.span.told_at) for claim in about}) > 1:
        findings.add("told differently by two records: the stricter one holds")
    changes: dict[str, Any] = vars(strictest(about)) | {
        "also_in": tuple(sorted({claim.span.file for claim in version} - {first.file}))
    }
    same = all(getattr(first, name) == value for name, value in changes.items())
    return first if same else first.with_(**changes)


def _state_of(span: MemorySpan, said: Memory) -> _State:
    return _State(span, said, said, said if _ended(said) else None)


def _status(said: Memory) -> tuple[Any, ...]:
    return tuple(getattr(said, name) for name in _STATUS)


def _when(claim: Claim, span: MemorySpan) -> datetime:
    """From when on what a record says of a version holds; a time nobody knows is its beginning."""
    at = claim.stated_at or _stated(claim)[1]
    if at == _NEVER:
        at = claim.span.known_at or _NEVER
    return max(at, span.known_at or _NEVER)


def _by_news(claim: Claim) -> tuple[Any, ...]:
    return (
        *_stated(claim),
        _SEVERITY[claim.memory.status],
        claim.span.file,
        claim.line,
    )


def _stated(claim: Claim) -> tuple[datetime, datetime]:
    """When the record was made, and when what it says of the status came about."""
    memory = claim.memory
    changed = max(memory.superseded_at or _NEVER, memory.retracted_at or _NEVER)
    return claim.stated_at or changed, changed
