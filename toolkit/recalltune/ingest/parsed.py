"""What a format's reader hands over: rows, and an account in which nothing goes missing."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime

from recalltune.ingest.attributes import Attributes
from recalltune.store import (
    EvalCaseRow,
    Label,
    Memory,
    MemorySpan,
    SearchLogEntry,
    Turn,
    text_hash,
)

__all__ = ["Claim", "Drop", "Parsed", "Settings", "claim_of", "turn_claim"]

_EXAMPLES = 5
_ORIGIN = {"user": "owner", "assistant": "agent"}


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
    """Memory with the attributes found for it: it happened and was known ``at`` one instant."""
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
        known_at=at,
        gated=found.gated,
        told_at=found.told_at,
        file=file,
    )
    return Claim(memory, span, line, stated_at, edits, withheld)


def turn_claim(turn: Turn, settings: Settings) -> Claim:
    """Memory that says what a turn said, known from the moment it was said."""
    said_by = Attributes(
        {
            "layer": settings.layer or "log",
            "origin": _ORIGIN.get(turn.role),
            "turn_id": turn.turn_id,
            "session": turn.session_id,
        }
    )
    return claim_of(
        turn.turn_id,
        turn.text_hash,
        said_by,
        scope=turn.scope,
        at=turn.said_at,
        source=turn.source,
        file=turn.file,
        line=turn.line or 1,
    )


@dataclass
class Parsed:
    """One file, read. Every record of it went through exactly one of `keep` and `drop`."""

    format: str
    kept: int = 0
    drops: dict[str, Drop] = field(default_factory=dict)
    notes: Counter[str] = field(default_factory=Counter)
    texts: dict[str, str] = field(default_factory=dict)
    turns: list[Turn] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    cases: list[EvalCaseRow] = field(default_factory=list)
    labels: list[Label] = field(default_factory=list)
    searches: list[SearchLogEntry] = field(default_factory=list)

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
        drop = self.drops.setdefault(reason, Drop())
        drop.count += 1
        if len(drop.lines) < _EXAMPLES:
            drop.lines.append(line)

    def demote(self, reason: str, line: int) -> None:
        """Leave out a record that was counted as kept."""
        self.kept -= 1
        self.drop(reason, line)

    def text(self, text: str) -> str:
        """Hash of a text, which is stored with the file's rows."""
        key = text_hash(text)
        self.texts[key] = text
        return key
