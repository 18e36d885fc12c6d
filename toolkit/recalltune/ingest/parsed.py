"""What a format's reader hands over: rows, and an account in which nothing goes missing."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Any, TypeVar

from recalltune.ingest.attributes import Attributes
from recalltune.ingest.chunks import chunk_spans
from recalltune.ingest.injected import take_injected
from recalltune.ingest.kinds import Kind, SessionKind, kind_of
from recalltune.ingest.noise import noise_reason
from recalltune.ingest.redact import redact, redact_value
from recalltune.store import (
    Access,
    LedgerHop,
    Memory,
    MemorySpan,
    Row,
    SearchLogEntry,
    Turn,
    text_hash,
)

__all__ = ["Claim", "Drop", "Parsed", "Settings", "claim_of"]

_WORDY = ("query", "title", "gist", "reason", "subject", "project", "tags", "meta", "expectations")
"""Columns with words of the source beside its texts."""
R = TypeVar("R", bound=Row)
_EXAMPLES = 5
_REASONS = 100
_ORIGIN = {"user": "owner", "assistant": "agent"}
_FULL_ROWS = 20_000
_FULL_CHARS = 32 * 2**20


@dataclass(frozen=True)
class Settings:
    """What the caller of `ingest` decided about every file."""

    scope: str | None = None
    layer: str | None = None
    turns_as_memories: bool = False


@dataclass
class Drop:
    """Records left out for one reason, with the lines (or record numbers) of the first few."""

    count: int = 0
    lines: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Claim:
    """What one place of one file says about one memory."""

    memory: Memory
    span: MemorySpan
    line: int
    stated_at: datetime | None = None
    """When the source said so, where it tells: decides which of two records is the later one."""
    edits: bool = False
    """A later text under the same id is a new version, as the format has it."""
    withheld: bool = False
    """The record itself was left out; that it was not told, or told late, counts all the same."""

    @property
    def silent(self) -> bool:
        """Whether it says that the text was never told."""
        return self.span.gated and self.span.told_at is None

    @property
    def content(self) -> str | None:
        """What the source calls its content; the same again says that the text is unchanged."""
        content = self.memory.meta.get("contentHash")
        return content if isinstance(content, str) else None


def claim_of(
    memory_id: str,
    text_hash: str,
    found: Attributes,
    *,
    scope: str,
    at: datetime | None,
    source: str,
    file: str,
    line: int,
    stated_at: datetime | None = None,
    edits: bool = False,
    withheld: bool = False,
) -> Claim:
    """Memory with the attributes found for it.

    It happened ``at`` one instant, and was known from then on unless its attributes say otherwise.
    """
    memory = Memory(
        memory_id=memory_id,
        text_hash=text_hash,
        scope=scope,
        source=source,
        meta=found.meta,
        **found.fields,
    )
    span = MemorySpan(
        memory_id=memory_id,
        text_hash=text_hash,
        scope=scope,
        event_at=at,
        known_at=found.known_at or at,
        gated=found.gated,
        told_at=found.told_at,
        file=file,
    )
    return Claim(memory, span, line, stated_at, edits, withheld)


@dataclass
class Parsed:
    """One file as it is read. Every record of it goes through exactly one of `keep` and `drop`.

    Rows that were read wait here until they are written; `on_full` is called when there are many.
    """

    format: str
    file: str
    settings: Settings = field(default_factory=Settings)
    on_full: Callable[[], None] = field(default=lambda: None)
    kept: int = 0
    drops: dict[str, Drop] = field(default_factory=dict)
    parts: Counter[str] = field(default_factory=Counter)
    """Parts of the kept records by kind: ``text`` is imported, the others are not."""
    redacted: Counter[str] = field(default_factory=Counter)
    """Secrets that were replaced, by kind."""
    notes: Counter[str] = field(default_factory=Counter)
    texts: dict[str, str] = field(default_factory=dict)
    turns: list[Turn] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    searches: list[SearchLogEntry] = field(default_factory=list)
    witnessed: list[SearchLogEntry] = field(default_factory=list)
    """Searches that a transcript shows; they are no records of their own."""
    accesses: list[Access] = field(default_factory=list)
    others: list[Row] = field(default_factory=list)
    """Cases, labels, runs, packings, hops: rows that no other file may contest."""
    bytes_read: int = 0
    """Where a reader of lines has come to, for those who watch."""
    turns_kept: int = 0
    """Turns written so far, without those that are not new."""
    memory_ids: set[str] = field(default_factory=set)
    """Memories written so far."""
    _said: dict[str, bytes | list[bytes]] = field(default_factory=dict)
    _chars: int = 0
    _hops: int = 0

    @cached_property
    def _kind(self) -> Kind:
        return kind_of(self.file)

    @property
    def dropped(self) -> int:
        """Records left out."""
        return sum(drop.count for drop in self.drops.values())

    @property
    def records(self) -> int:
        """Records read."""
        return self.kept + self.dropped

    def keep(self) -> None:
        """Count a record as kept."""
        self.kept += 1

    def drop(self, reason: str, line: int) -> None:
        """Count a record as left out, and say why."""
        if len(self.drops) >= _REASONS and reason not in self.drops:
            reason = "another reason"  # A file may name a new one on every line.
        drop = self.drops.setdefault(reason, Drop())
        drop.count += 1
        if len(drop.lines) < _EXAMPLES:
            drop.lines.append(line)

    def demote(self, reason: str, line: int) -> None:
        """Leave out a record that was counted as kept."""
        self.kept -= 1
        self.drop(reason, line)

    def text(self, text: str) -> str:
        """Hash of a text, which is stored with the file's rows, without its secrets."""
        text = redact(text, self.redacted)
        key = text_hash(text)
        self.texts[key] = text
        self._chars += len(text)
        return key

    def hash_of(self, text: str) -> str:
        """Hash that `text` would give, of a text that is left out and stored nowhere."""
        return text_hash(redact(text, Counter()))

    def say(
        self,
        turn_id: str,
        *,
        session: str,
        seq: int,
        role: str,
        text: str,
        said_at: datetime | None,
        line: int | None,
        raw: bytes | str,
        scope: str,
        session_kind: SessionKind | None = None,
        sidechain: bool = False,
        parts: Mapping[str, int] | None = None,
        remembered: bool = False,
    ) -> bool:
        """Keep a record as a turn, unless it is a copy; with ``turns_as_memories`` as a memory too.

        Parameters
        ----------
        turn_id
            The record's own id. Another record under it is kept under ``id~2``, ``id~3``, …
        session, seq
            Its session, and its place in the order of the file.
        role
            ``user``, ``assistant``, or a speaker's name.
        text
            What was said; not blank.
        said_at
            The record's own time.
        line
            Line or record number, from 1; None in a document whose records have none.
        raw
            The record as it stands, by which a copy is told from another record.
        scope
            Scope, unless the caller of `ingest` named one.
        session_kind
            ``interactive``, ``cron``, ``heartbeat`` or ``subagent``; default: what the path says
            (`kind_of`), else interactive.
        sidechain
            A side conversation, which is read on request only and makes no memories.
        parts
            How many parts of each kind the record has; default: one text.
        remembered
            Make it a memory in any case, as it stands: the format is about what is remembered.

        Returns
        -------
        bool
            Whether it was kept.
        """
        occurrence = self._occurrence(turn_id, raw)
        if occurrence == 0:
            self.drop("exact copy of an earlier line", line or 1)
            return False
        if occurrence > 1:
            self.notes["same id, different record: kept under an occurrence number"] += 1
            turn_id = f"{turn_id}~{occurrence}"
        counts = {**parts} if parts else {"text": 1}
        if role != "assistant" and not remembered:
            found = take_injected(text)
            for number, block in enumerate(found.blocks, start=1):
                counts["injected"] = counts.get("injected", 0) + 1
                if block.ids:
                    query = found.text or block.kind
                    self.searched(
                        f"{turn_id}#{number}",
                        query=query,
                        asked_at=said_at,
                        shown=block.ids,
                        scores=block.scores,
                        scope=scope,
                    )
            text = found.text if found.blocks else text
            if not text:
                self.drop("injected", line or 1)
                return False
        if said_at is None:
            self.notes["turn without a usable time"] += 1
        if sidechain:
            self.notes["side conversation turn, kept apart (sidechain)"] += 1
        self.keep()
        for kind, count in counts.items():
            self.parts[kind] += count
        turn = Turn(
            turn_id=turn_id,
            session_id=session,
            session_kind=session_kind or self._kind.session_kind or "interactive",
            seq=seq,
            role=role,
            text_hash=self.text(text),
            said_at=said_at,
            scope=self.settings.scope or scope,
            source=self.format,
            file=self.file,
            line=line,
            sidechain=sidechain,
            meta={"parts": dict(sorted(counts.items()))},
        )
        self.turns.append(turn)
        if remembered:
            self.claims.append(self._remembered(turn, turn_id, turn.text_hash))
        elif self.settings.turns_as_memories and not sidechain:
            self._remember(turn, text)
        self.full()
        return True

    def searched(
        self,
        query_id: str,
        *,
        query: str,
        asked_at: datetime | None,
        shown: Sequence[str],
        scores: Sequence[float] = (),
        scope: str | None = None,
    ) -> None:
        """Note a search of the agent's memory that a record bears witness of.

        It is beside the record, not one of its own: a transcript's search is counted in the notes.
        ``shown`` holds ids, best first, and ``scores`` as many or none.
        """
        self.notes["search of the memory, kept in the search log"] += 1
        self.witnessed.append(
            SearchLogEntry(
                query_id=query_id,
                query=query,
                asked_at=asked_at,
                scope=self.settings.scope or scope,
                shown=tuple(shown),
                scores=tuple(scores) if len(scores) == len(shown) else (),
                file=self.file,
            )
        )

    def hop(self, hop: str, reason: str, at: datetime | None) -> None:
        """Note a degradation that a log tells of, under the run ``log:<file>``."""
        self._hops += 1
        row = LedgerHop(
            run_id=f"log:{self.file}", seq=self._hops, hop=hop, reason=reason, asked_at=at
        )
        self.others.append(row)

    def full(self) -> None:
        """Hand the rows on if there are many of them; a reader calls it between two records."""
        if self.waiting >= _FULL_ROWS or self._chars >= _FULL_CHARS:
            self.on_full()

    @property
    def waiting(self) -> int:
        """Rows that are not written yet."""
        return sum(map(len, self._rows))

    @property
    def _rows(self) -> tuple[list[Any], ...]:
        others = (self.witnessed, self.accesses, self.others)
        return self.turns, self.claims, self.searches, *others

    def seal(self) -> None:
        """Take secrets out of what stands beside the texts, before the rows are written."""
        self.claims = [self._sealed_claim(claim) for claim in self.claims]
        self.searches = [self._sealed(row) for row in self.searches]
        self.witnessed = [self._sealed(row) for row in self.witnessed]
        self.others = [self._sealed(row) for row in self.others]

    def _sealed_claim(self, claim: Claim) -> Claim:
        memory = self._sealed(claim.memory)
        return claim if memory is claim.memory else replace(claim, memory=memory)

    def _sealed(self, row: R) -> R:
        """The row itself where nothing of it is secret."""
        clean = {}
        for name in _WORDY:
            value = getattr(row, name, None)
            if value and (made := redact_value(value, self.redacted)) is not value:
                clean[name] = made
        return row.with_(**clean) if clean else row

    def drain(self) -> None:
        """Forget the rows, which were written; the account goes on."""
        self.turns_kept += len(self.turns)
        self.memory_ids.update(claim.memory.memory_id for claim in self.claims)
        for rows in self._rows:
            rows.clear()
        self.texts.clear()
        self._chars = 0

    def _occurrence(self, turn_id: str, raw: bytes | str) -> int:
        """1 for a new id, 2 and up for another record under it, 0 for an exact copy."""
        data = raw if isinstance(raw, bytes) else raw.encode()
        digest = hashlib.sha256(data).digest()[:16]
        earlier = self._said.setdefault(turn_id, digest)
        if earlier is digest:
            return 1
        seen = [earlier] if isinstance(earlier, bytes) else earlier
        if digest in seen:
            return 0
        self._said[turn_id] = [*seen, digest]
        return len(seen) + 1

    def _remember(self, turn: Turn, text: str) -> None:
        """Make memories of what a turn said, unless it is noise; a long one is cut into several."""
        if reason := noise_reason(text, turn.role):
            self.notes[f"turn not made a memory: {reason}"] += 1
            return
        spans = chunk_spans(text)
        if len(spans) == 1:
            self.claims.append(self._remembered(turn, turn.turn_id, turn.text_hash))
            return
        self.notes["turn cut into several memories"] += 1
        for number, (start, end) in enumerate(spans, start=1):
            key = self.text(text[start:end])
            self.claims.append(self._remembered(turn, f"{turn.turn_id}#{number}", key))

    def _remembered(self, turn: Turn, memory_id: str, text_hash: str) -> Claim:
        """Memory that says what a turn said, known from the moment it was said."""
        said_by = Attributes(
            {
                "layer": self.settings.layer or self._kind.layer or "log",
                "origin": self._kind.origin or _ORIGIN.get(turn.role),
                "turn_id": turn.turn_id,
                "session": turn.session_id,
            }
        )
        return claim_of(
            memory_id,
            text_hash,
            said_by,
            scope=turn.scope,
            at=turn.said_at,
            source=turn.source,
            file=turn.file,
            line=turn.line or 1,
        )
