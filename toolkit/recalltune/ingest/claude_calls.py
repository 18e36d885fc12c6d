"""Searches of a memory among the tool calls of a Claude Code session.

In: records in the order of the file. Out: a search for each result that shows memories; a result
names its call by ``tool_use_id``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from recalltune.ingest.injected import search_results
from recalltune.ingest.moments import read_moment
from recalltune.ingest.parsed import Parsed

__all__ = ["Calls"]

_WAITING = 256
_LONGEST_QUESTION = 10_000
_QUESTIONS = ("query", "q", "question", "text")


@dataclass
class Calls:
    """Calls that wait for their results; the oldest give way."""

    _waiting: dict[str, tuple[str, str, Any]] = field(default_factory=dict)

    def note(self, record: dict[str, Any], turn_id: str, scope: str, parsed: Parsed) -> None:
        """Take up the calls of a record; note as searches what its results show of a memory."""
        for part in _parts(record):
            kind = part.get("type")
            if kind == "tool_use" and isinstance(call_id := part.get("id"), str):
                asked = (str(part.get("name"))[:200], _question(part.get("input")))
                self._waiting[call_id] = (*asked, record.get("timestamp"))
                if len(self._waiting) > _WAITING:
                    del self._waiting[next(iter(self._waiting))]
            elif kind == "tool_result" and isinstance(call_id := part.get("tool_use_id"), str):
                name, query, asked_at = self._waiting.pop(call_id, ("", "", None))
                found = search_results(name, _text(part.get("content"))) if name else None
                if found is None:
                    continue
                if not query:
                    parsed.notes["search of the memory whose question cannot be read"] += 1
                parsed.searched(
                    f"{turn_id}#{call_id}",
                    query=query,
                    asked_at=read_moment(asked_at, parsed.notes, what="timestamp"),
                    shown=found[0],
                    scores=found[1],
                    scope=scope,
                )


def _parts(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    message = record.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, list):
        yield from (part for part in content if isinstance(part, dict))


def _question(asked: Any) -> str:
    """What a call asks for; "" where that cannot be told."""
    if not isinstance(asked, dict):
        return ""
    said = (asked.get(key) for key in _QUESTIONS)
    found = next((text for text in said if isinstance(text, str)), "")
    return found if len(found) <= _LONGEST_QUESTION else ""


def _text(content: Any) -> str:
    """Text of a result: one string, or parts of which some are texts."""
    if isinstance(content, list):
        texts = (part.get("text") for part in content if isinstance(part, dict))
        return "\n".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else ""
