"""One message in two records of a Codex rollout is one turn.

New files write most messages twice, as `event_msg` and as `response_item`, in either order. A
message is the other half of

- the oldest record of the other kind that has its role and its words, white space aside, if nobody
  else spoke between them; or
- the record right before it, if that is of the other kind and its role, and at most a second older,
  whatever its words: an editor or a redaction may have changed one of the two.

The first half is the turn, the second is dropped. A message without another half is a turn like
any. At most `WAITING` messages wait for their other half, so the file is never looked back into.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from datetime import datetime

__all__ = ["WAITING", "Message", "Pairs"]

WAITING = 16
"""Messages of one role that may wait for their other half; the oldest gives way."""
_AT_ONCE_SECONDS = 1.0


@dataclass(frozen=True)
class Message:
    """What pairing has to know of a message."""

    kind: str
    """Which of the two records it is."""
    role: str
    words: str
    """Its words without white space."""
    place: int
    """Its place in the file."""
    at: datetime | None

    def right_after(self, other: Message) -> bool:
        """Whether the other is the record before it, and at most a second older."""
        if self.at is None or other.at is None or self.place != other.place + 1:
            return False
        return abs((self.at - other.at).total_seconds()) <= _AT_ONCE_SECONDS


@dataclass
class Pairs:
    """Messages of one role that wait for their other half."""

    notes: Counter[str]
    """Counter that receives one count per pair of different words, and per message alone."""
    _waiting: deque[Message] = field(default_factory=deque)
    _kinds: set[str] = field(default_factory=set)
    _single: int = 0

    def complete(self, message: Message) -> bool:
        """Whether it is a second half; a first one waits from now on."""
        self._kinds.add(message.kind)
        if self._waiting and self._waiting[0].role != message.role:
            self._give_up(len(self._waiting))
        others = [one for one in self._waiting if one.kind != message.kind]
        half = next((one for one in others if one.words == message.words), None)
        if half is None and others and message.right_after(others[-1]):
            half = others[-1]
            self.notes["message in two records of different words, the first one kept"] += 1
        if half is None:
            self._give_up(len(self._waiting) - WAITING + 1)
            self._waiting.append(message)
            return False
        self._waiting.remove(half)
        return True

    def close(self) -> None:
        """Count what has no other half, in a file that has both kinds of record."""
        self._give_up(len(self._waiting))
        if self._single and len(self._kinds) > 1:
            self.notes["message in one of its two records only"] += self._single

    def _give_up(self, count: int) -> None:
        for _ in range(count):
            self._waiting.popleft()
            self._single += 1
