"""The messages of a Gemini CLI session file of lines, each in its last version.

A line appends a message, writes one anew under its id, sets facts of the session (``$set``) or
takes messages back (``$rewindTo``). In: a path, read once ahead. Out: what each message on each
line is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from recalltune.ingest.gemini_words import is_recap
from recalltune.ingest.reader import Line, decode_json, read_lines

__all__ = ["Log", "messages_on"]

Place = tuple[int, int]
"""A line, and the place of a message on it."""


@dataclass
class Log:
    """What a look ahead through the file finds."""

    facts: dict[str, Any] = field(default_factory=dict)
    """Facts of the session, the last of each."""
    unknown_rewinds: int = 0
    _last: dict[str, tuple[Place, Place]] = field(default_factory=dict)
    """First and last place of every message that stands, in the order of the first."""
    _sent: bool = False
    """Whether messages stand on lines of their own."""
    _copies: set[str] = field(default_factory=set)
    """Messages that a compression wrote anew under ids of its own."""

    @classmethod
    def ahead(cls, path: Path) -> Log:
        """Look through a file; what is damaged is left to whoever reads it."""
        log = cls()
        for line, record in _objects(path):
            log._facts_of(record)
            target = record.get("$rewindTo")
            if isinstance(target, str):
                log._rewind(target)
            listed = isinstance(_set(record), dict)
            found = list(messages_on(record))
            compressed = listed and any(map(is_recap, found))
            for place, message in enumerate(found):
                message_id = message.get("id")
                if not isinstance(message_id, str):
                    continue
                if not listed:
                    log._sent |= message.get("type") in ("user", "gemini")
                elif compressed and message_id not in log._last:
                    log._copies.add(message_id)
                at = (line.number, place)
                first, _ = log._last.get(message_id, (at, at))
                log._last[message_id] = (first, at)
        return log

    def fate(self, record: dict[str, Any], message: dict[str, Any], at: Place) -> Place | str:
        """Where in the session a message stands, or why it is left out."""
        listed, message_id = isinstance(_set(record), dict), message.get("id")
        if listed and self._sent:
            return "history set for the model, not said again"
        if not isinstance(message_id, str):
            return at
        if listed and message_id in self._copies:
            return "message copied by a compression"
        if message_id not in self._last:
            return "taken back by a rewind"
        first, last = self._last[message_id]
        return first if last == at else "earlier version of a message"

    def _facts_of(self, record: dict[str, Any]) -> None:
        facts = _set(record)
        if facts is None and "id" not in record and "sessionId" in record:
            facts = record
        if isinstance(facts, dict):
            self.facts |= {
                key: value
                for key in ("sessionId", "startTime", "kind")
                if isinstance(value := facts.get(key), str)
            }

    def _rewind(self, target: str) -> None:
        if target not in self._last:
            # The client would forget all; a compression alone can have changed the ids.
            self.unknown_rewinds += 1
            return
        while self._last.popitem()[0] != target:
            pass


def messages_on(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Return the messages of a line: itself, those of its head, or those it sets."""
    facts = _set(record)
    holder = facts if isinstance(facts, dict) else record
    if isinstance(messages := holder.get("messages"), list):
        yield from (message for message in messages if isinstance(message, dict))
    elif facts is None and ("content" in record or "id" in record):
        yield record


def _set(record: dict[str, Any]) -> Any:
    return record.get("$set")


def _objects(path: Path) -> Iterator[tuple[Line, dict[str, Any]]]:
    for line in read_lines(path):
        if line.blank or line.too_long:
            continue
        try:
            value = decode_json(line.raw, Counter())
        except ValueError:
            continue
        if isinstance(value, dict):
            yield line, value
