"""What one place of one file says about one memory: the unit that settling works on."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from recalltune.ingest.attributes import Attributes
from recalltune.store import Memory, MemorySpan

__all__ = ["Claim", "claim_of"]


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
