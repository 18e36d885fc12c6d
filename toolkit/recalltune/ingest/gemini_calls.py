"""Searches of a memory among the tool calls of a Gemini CLI message.

In: a message, which has its calls with their results. Out: a search for each call that shows
memories.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from recalltune.ingest.injected import search_results
from recalltune.ingest.parsed import Parsed

__all__ = ["note_searches"]

_LONGEST_QUESTION = 10_000
_QUESTIONS = ("query", "q", "question", "text")


def note_searches(
    message: dict[str, Any], turn_id: str, at: datetime | None, scope: str, parsed: Parsed
) -> None:
    """Note the searches of a message, asked ``at`` its time, in the order of its calls."""
    calls = message.get("toolCalls")
    for number, call in enumerate(calls if isinstance(calls, list) else [], start=1):
        if not isinstance(call, dict) or not isinstance(name := call.get("name"), str):
            continue
        found = search_results(name, "\n".join(_outputs(call.get("result"))))
        if found is None:
            continue
        if not (query := _question(call.get("args"))):
            parsed.notes["search of the memory whose question cannot be read"] += 1
        parsed.searched(
            f"{turn_id}#{number}",
            query=query,
            asked_at=at,
            shown=found[0],
            scores=found[1],
            scope=scope,
        )


def _question(asked: Any) -> str:
    """What a call asks for; "" where that cannot be told."""
    if not isinstance(asked, dict):
        return ""
    said = (asked.get(key) for key in _QUESTIONS)
    found = next((text for text in said if isinstance(text, str)), "")
    return found if len(found) <= _LONGEST_QUESTION else ""


def _outputs(result: Any) -> Iterator[str]:
    """Texts of the result of a call."""
    for part in result if isinstance(result, list) else [result]:
        if isinstance(part, str):
            yield part
        elif isinstance(part, dict):
            answer = part.get("functionResponse")
            told = answer.get("response") if isinstance(answer, dict) else part
            texts = (told.get(key) for key in ("output", "text")) if isinstance(told, dict) else ()
            yield from (text for text in texts if isinstance(text, str))
