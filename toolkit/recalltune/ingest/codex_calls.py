"""Searches of a memory among the tool calls of a Codex rollout.

In: calls and their results, which carry the same ``call_id``. Out: a search for each result that
shows memories.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from recalltune.ingest.injected import search_results
from recalltune.ingest.moments import read_moment
from recalltune.ingest.parsed import Parsed
from recalltune.ingest.reader import decode_json

__all__ = ["CALLS", "OUTPUTS", "Calls"]

CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
"""Items that call a tool, and where each has what it asks."""
OUTPUTS = ("function_call_output", "custom_tool_call_output")
_WAITING = 256
_LONGEST_QUESTION = 10_000
_PARTS = ("text", "input_text", "output_text")
_QUESTIONS = ("query", "q", "question", "text")


@dataclass
class Calls:
    """Calls that wait for their results; the oldest give way."""

    format: str
    _waiting: dict[str, tuple[str, str, Any]] = field(default_factory=dict)

    def note(self, item: dict[str, Any], timestamp: Any, session: str, parsed: Parsed) -> None:
        """Take up a call; with its result, note it as a search if that shows memories."""
        kind, call_id = str(item.get("type")), item.get("call_id")
        if not isinstance(call_id, str):
            return
        if kind in CALLS:
            question = item.get(CALLS[kind])
            short = isinstance(question, str) and len(question) <= _LONGEST_QUESTION
            self._waiting[call_id] = (
                str(item.get("name")),
                str(question) if short else "",
                timestamp,
            )
            if len(self._waiting) > _WAITING:
                del self._waiting[next(iter(self._waiting))]
        elif kind in OUTPUTS and call_id in self._waiting:
            name, question, asked_at = self._waiting.pop(call_id)
            found = search_results(name, _text(item.get("output")))
            if found is not None:
                ids, scores = found
                if not (query := _query(question)):
                    parsed.notes["search of the memory whose question cannot be read"] += 1
                parsed.searched(
                    f"{self.format}:{session}:{call_id}",
                    query=query,
                    asked_at=read_moment(asked_at, parsed.notes, what="timestamp"),
                    shown=ids,
                    scores=scores,
                )


def _query(question: str) -> str:
    asked = _decoded(question)
    if isinstance(asked, dict):
        return next((said for key in _QUESTIONS if isinstance(said := asked.get(key), str)), "")
    return question


def _text(output: Any) -> str:
    """Text of a result, out of the wrappings that some versions put around it."""
    value = _decoded(output) if isinstance(output, str) else output
    for key in ("output", "content"):
        if isinstance(value, dict) and isinstance(value.get(key), str | list):
            value = value[key]
    if isinstance(value, list):
        parts = [part for part in value if isinstance(part, dict) and part.get("type") in _PARTS]
        value = "\n".join(str(part.get("text")) for part in parts) if parts else value
    if isinstance(value, str):
        return value
    return output if isinstance(output, str) else json.dumps(output)


def _decoded(text: str) -> Any:
    if text[:1] not in ("{", "["):
        return text
    try:
        return decode_json(text, Counter())
    except ValueError:
        return text
