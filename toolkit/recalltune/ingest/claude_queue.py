"""Prompts a person typed while Claude Code was at work, told from the log of its queue.

A prompt that waited becomes a message of its own, or an attachment, or is given to the agent in the
middle of its work; of the last, older clients leave nothing but that it left the queue
(``remove``). In: the log's ``queue-operation`` records and what messages say. Out: each prompt
once, as a turn if nothing else has it, else as a dropped record.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from recalltune.ingest.claude_words import record_words
from recalltune.ingest.parsed import Parsed
from recalltune.ingest.text_parts import Words

__all__ = ["Prompt", "Queue"]

_WAITING = 100
_LONGEST = 2**20
_ABSORBED = (None, "absorbed_mid_turn")


@dataclass(eq=False)
class Prompt:
    """A prompt in the queue, of which it is not yet known what becomes of it."""

    place: int
    line: int
    record: dict[str, Any]
    words: Words
    absorbed: bool = False
    """It left the queue, and no message followed for it."""


@dataclass
class Queue:
    """Prompts that wait; their records are counted when it is known what became of them."""

    parsed: Parsed
    _waiting: list[Prompt] = field(default_factory=list)

    def note(self, place: int, line: int, record: dict[str, Any]) -> Prompt | None:
        """Take up one operation; of too many that wait, the oldest comes if it is to be said."""
        operation, content = record.get("operation"), record.get("content")
        if operation == "enqueue":
            said = record_words({"type": "user", "message": {"content": content}})
            # A command is run, not sent; what the client puts there is no prompt.
            if isinstance(said, Words) and _is_prompt(said.text):
                self._waiting.append(Prompt(place, line, record, said))
                return self._settled(self._waiting[0]) if len(self._waiting) > _WAITING else None
        if operation == "remove" and record.get("reason") in _ABSORBED:
            still = [prompt for prompt in self._waiting if not prompt.absorbed]
            named = [prompt for prompt in still if prompt.record.get("content") == content]
            for prompt in (named or still)[:1]:
                prompt.absorbed = True
        self.parsed.drop("not a message: queue-operation", line)
        return None

    def said(self, text: str, *, attached: bool) -> None:
        """Take up what a message of the user says; only an attachment has an absorbed prompt."""
        for prompt in self._waiting:
            if prompt.words.text == text and (attached or not prompt.absorbed):
                self._drop(prompt, "prompt of the queue that a message has")
                return

    def close(self) -> Iterator[Prompt]:
        """Prompts that nothing else has; those that were never given to the agent are dropped."""
        while self._waiting:
            if (prompt := self._settled(self._waiting[0])) is not None:
                yield prompt

    def _settled(self, prompt: Prompt) -> Prompt | None:
        """Let a prompt go: it is to be said, or dropped."""
        if not prompt.absorbed:
            self._drop(prompt, "prompt of the queue, never sent")
            return None
        self._waiting.remove(prompt)
        return prompt

    def _drop(self, prompt: Prompt, reason: str) -> None:
        self._waiting.remove(prompt)
        self.parsed.drop(reason, prompt.line)


def _is_prompt(text: str) -> bool:
    return not text.startswith("/") and len(text) <= _LONGEST
