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
from recalltune.ingest.reader import decode_json, read_lines

__all__ = ["Log", "messages_on"]

_FACTS = ("sessionId", "startTime", "kind")


@dataclass
class Log:
    """What a look ahead through the file finds; a place is a message's number in the file."""

    facts: dict[str, str] = field(default_factory=dict)
    """Facts of the session, the last of each."""
    unknown_rewinds: int = 0
    _sent: dict[str, tuple[int, int]] = field(default_factory=dict)
    """First and last place of every message that stands on lines of its own or in the head."""
    _listed: dict[str, tuple[int, int]] = field(default_factory=dict)
    """The same of those that a ``$set`` lists."""
    _copies: set[str] = field(default_factory=set)
    """Messages that a compression wrote anew under ids of its own."""
    _talks: bool = False
    """Whether what was said stands on lines of its own: then no ``$set`` says anything new."""

    @classmethod
    def ahead(cls, path: Path) -> Log:
        """Look through a file; what is damaged is left to whoever reads it."""
        log, place = cls(), 0
        for record in _objects(path):
            log._note_facts(record)
            if isinstance(target := record.get("$rewindTo"), str):
                log._rewind(target)
            found = list(messages_on(record))
            # Later lists go on to hold the recap; only the first one copies.
            compressed = any(
                is_recap(one) and str(one.get("id")) not in log._listed for one in found
            )
            for message in found:
                log._note(message, place, listed="$set" in record, compressed=compressed)
                place += 1
        return log

    def stands(self, message: dict[str, Any], place: int, *, listed: bool) -> int | str:
        """Place in the session of a message, or why it is left out."""
        if listed and self._talks:
            return "history set for the model, not said again"
        if not isinstance(message_id := message.get("id"), str):
            return place
        if listed and message_id in self._copies:
            return "message copied by a compression"
        first, last = (self._listed if listed else self._sent).get(message_id, (-1, -1))
        if last < 0:
            return "message taken back by a rewind"
        return first if last == place else "earlier version of a message"

    def _note(self, message: Any, place: int, *, listed: bool, compressed: bool) -> None:
        if not isinstance(message, dict) or not isinstance(message_id := message.get("id"), str):
            return
        if listed and compressed and message_id not in self._listed:
            self._copies.add(message_id)
        if not listed and message.get("type") in ("user", "gemini"):
            self._talks = True
        places = self._listed if listed else self._sent
        places[message_id] = (places.get(message_id, (place, place))[0], place)

    def _note_facts(self, record: dict[str, Any]) -> None:
        facts = record.get("$set", record if "id" not in record else None)
        if isinstance(facts, dict):
            found = ((key, facts.get(key)) for key in _FACTS)
            self.facts |= {key: value for key, value in found if isinstance(value, str)}

    def _rewind(self, target: str) -> None:
        holding = [places for places in (self._sent, self._listed) if target in places]
        # The client would forget all; but only a compression can have changed the id.
        self.unknown_rewinds += not holding
        for places in holding:
            while places.popitem()[0] != target:
                pass


def messages_on(record: dict[str, Any]) -> Iterator[Any]:
    """Yield the messages of a line: itself, or those that its head or its ``$set`` lists."""
    holder = record.get("$set", record)
    listed = holder.get("messages") if isinstance(holder, dict) else None
    if isinstance(listed, list):
        yield from listed
    elif "$set" not in record and ("id" in record or "content" in record):
        yield record


def _objects(path: Path) -> Iterator[dict[str, Any]]:
    for line in read_lines(path):
        if line.blank or line.too_long:
            continue
        try:
            value = decode_json(line.raw, Counter())
        except ValueError:
            continue
        if isinstance(value, dict):
            yield value
