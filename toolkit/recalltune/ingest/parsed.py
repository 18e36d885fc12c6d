"""What a format's reader hands over: rows, and an account in which nothing goes missing."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

from recalltune.ingest.claim import Claim
from recalltune.ingest.injected import take_injected
from recalltune.ingest.kinds import Kind, SessionKind, kind_of
from recalltune.ingest.redact import redact
from recalltune.ingest.sealing import sealed, sealed_claim
from recalltune.ingest.turn_claims import turn_claim, turn_claims
from recalltune.store import (
    Access,
    LedgerHop,
    Row,
    SearchLogEntry,
    Turn,
    text_hash,
)

__all__ = ["Drop", "Parsed", "Settings"]

_EXAMPLES = 5
_REASONS = 100
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
    written: bool = False
    """Whether some of its rows are written already."""
    turns_kept: int = 0
    """Turns written so far, without those that are not new."""
    memory_ids: set[str] = field(default_factory=set)
    """Memories written so far."""
    _said: dict[str, bytes | list[bytes]] = field(default_factory=dict)
    _chars: int = 0
    _hops: int = 0
    _searched: set[str] = field(default_factory=set)

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
        return self._put(redact(text, self.redacted))

    def _put(self, text: str) -> str:
        """Hash of a text that holds no secret."""
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
                if block.ids and not found.text:
                    self.notes["memories in a prompt without a question, not kept as a search"] += 1
                elif block.ids:
                    self.searched(
                        f"{turn_id}#{number}",
                        query=found.text,
                        asked_at=said_at,
                        shown=block.ids,
                        scores=block.scores,
                        scope=scope,
                    )
            text = found.text if found.blocks else text
            if not text:
                self.drop("injected", line or 1)
                return False
        # Before it is cut: a secret that a cut goes through would be known by neither piece.
        text = redact(text, self.redacted)
        if said_at is None:
            self.notes["turn without a usable time"] += 1
        if sidechain:
            self.notes["side conversation turn, kept apart (sidechain)"] += 1
        self.keep()
        for kind, count in counts.items():
            # A file may name a new kind on every line.
            known = kind in self.parts or len(self.parts) < _REASONS
            self.parts[kind if known else "another kind"] += count
        turn = Turn(
            turn_id=turn_id,
            session_id=session,
            session_kind=session_kind or self._kind.session_kind or "interactive",
            seq=seq,
            role=role,
            text_hash=self._put(text),
            said_at=said_at,
            scope=self.settings.scope or scope,
            source=self.format,
            file=self.file,
            line=line,
            sidechain=sidechain,
            meta={"parts": dict(sorted(counts.items()))},
        )
        self.turns.append(turn)
        layer, origin = self.settings.layer or self._kind.layer or "log", self._kind.origin
        if remembered:
            self.claims.append(turn_claim(turn, layer=layer, origin=origin))
        elif self.settings.turns_as_memories and not sidechain:
            self.claims += turn_claims(
                turn, text, layer=layer, origin=origin, put=self._put, notes=self.notes
            )
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
        if not query.strip():
            self.notes["search of the memory without a question, not kept"] += 1
            return
        if query_id in self._searched:
            self.notes["search of the memory seen twice in a file, the first one kept"] += 1
            return
        self._searched.add(query_id)
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
        self.claims = [sealed_claim(claim, self.redacted) for claim in self.claims]
        self.searches = [sealed(row, self.redacted) for row in self.searches]
        self.witnessed = [sealed(row, self.redacted) for row in self.witnessed]
        self.others = [sealed(row, self.redacted) for row in self.others]

    def drain(self) -> None:
        """Forget the rows, which were written; the account goes on."""
        self.written = True
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
