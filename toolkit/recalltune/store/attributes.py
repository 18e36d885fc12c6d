"""What is said of a memory while one of its spans is open.

In: a span, and the memory it belongs to. Out: the attributes that hold for it. A source may restate
them; each statement with other attributes opens a span, so that what is said today is not read into
the past. A memory of which nothing was ever restated says it once, in ``memory``.
"""

from __future__ import annotations

from typing import Any

from recalltune.store.rows import Memory, MemorySpan

__all__ = ["SAID", "SPAN_ATTRIBUTES", "as_said", "attributes_of"]

SPAN_ATTRIBUTES = (
    "gist",
    "title",
    "layer",
    "category",
    "tier",
    "project",
    "subject",
    "origin",
    "salience",
    "confidence",
    "pinned",
    "valid_from",
    "valid_until",
    "turn_id",
    "session",
    "source",
    "tags",
)
"""Columns of ``memory_span`` that say what ``memory`` says of its latest state."""

# A gist is of the text it was made of.
_OF_MEMORY = {"gist": "case when m.text_hash = s.text_hash then m.gist end"}
_COLUMNS = ", ".join(
    f"case when s.layer is null then {_OF_MEMORY.get(name, f'm.{name}')} else s.{name} end {name}"
    for name in SPAN_ATTRIBUTES
)
SAID = f"""
select s.memory_id, s.version, {_COLUMNS}
from memory_span s join memory m using (memory_id)
"""
"""Memory_id, version and the attributes that hold for each span, as SQL."""


def attributes_of(row: Memory | MemorySpan) -> dict[str, Any]:
    """Return the attributes a row names, by column."""
    return {name: getattr(row, name) for name in SPAN_ATTRIBUTES}


def as_said(memory: Memory, span: MemorySpan) -> tuple[Memory, MemorySpan]:
    """Return the memory as it is while the span is open, and the span without attributes."""
    own: dict[str, Any] = {"text_hash": span.text_hash, "scope": span.scope}
    if span.layer is not None:
        own |= attributes_of(span)
        span = span.with_(**dict.fromkeys(SPAN_ATTRIBUTES))
    elif span.text_hash != memory.text_hash:
        own["gist"] = None
    return memory.with_(**own), span
