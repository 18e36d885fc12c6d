"""Whose thread a Codex rollout is, and which of its records it only repeats.

A fork and a sub-agent begin with their own `session_meta` and that of the session they came from;
a fork then repeats that session's history under its own times, all at once.
"""

from __future__ import annotations

import uuid
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import PurePosixPath
from typing import Any

from recalltune.ingest.kinds import SessionKind, kind_of
from recalltune.ingest.moments import read_moment

__all__ = ["Thread"]

_PAUSE = timedelta(seconds=10)
_BEGINS = ("task_started", "turn_started")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass
class Thread:
    """The session of one file, as far as it is known."""

    own: str
    """Its id; the name of the file until a head tells it."""
    parent: str | None = None
    """Session whose sub-agent it is."""
    kind: SessionKind = "interactive"
    repeating: bool = False
    """Whether the records now are those of the session it was forked from."""
    _known: bool = False
    _forked: bool = False
    _created: datetime | None = None
    _last: datetime | None = None

    @classmethod
    def of_file(cls, inside: str) -> Thread:
        """Thread of a file whose head was not read yet."""
        return cls(PurePosixPath(inside).stem, kind=kind_of(inside).session_kind or "interactive")

    @property
    def session(self) -> str:
        """Its session; that of a sub-agent stands below its parent's."""
        return f"{self.parent}/{self.own}" if self.parent else self.own

    @property
    def root(self) -> str:
        """The session it belongs to, for the scope."""
        return self.parent or self.own

    def head(self, meta: dict[str, Any], notes: Counter[str]) -> None:
        """Take up a head: the first is the file's own, others say where repetition begins."""
        own = meta.get("id")
        if self._known:
            if own != self.own and not self._forked:
                notes["head of another session inside a session"] += 1
            self.repeating = self._forked and own != self.own
            self._last = None
            return
        self._known = True
        if isinstance(own, str) and own:
            self.own = own
        self._created = _minted(own) or read_moment(meta.get("timestamp"), notes, what="timestamp")
        self.parent = _parent(meta)
        self._forked = self.parent is not None or bool(meta.get("forked_from_id"))
        if self.parent or _is_subagent(meta):
            self.kind = "subagent"
        if meta.get("source") == "exec":
            notes["session of codex exec: a program may have written its prompts"] += 1
        if meta.get("forked_from_id") and self.kind != "subagent":
            notes["session forked from another"] += 1

    def follow(self, envelope: str, body: dict[str, Any], timestamp: Any) -> None:
        """See whether repetition ends with this record."""
        if not self.repeating:
            return
        begins = envelope == "turn_context" or body.get("type") in _BEGINS
        minted = _minted(body.get("turn_id")) if begins else None
        at = read_moment(timestamp, Counter(), what="timestamp")
        paused = at is not None and self._last is not None and at - self._last >= _PAUSE
        new = minted is not None and self._created is not None and minted >= self._created
        self._last = at or self._last
        self.repeating = not (paused or new)


def _parent(meta: dict[str, Any]) -> str | None:
    spawn: Any = meta.get("source")
    for key in ("subagent", "thread_spawn"):
        spawn = spawn.get(key) if isinstance(spawn, dict) else None
    named = [meta.get("parent_thread_id")]
    named += [spawn.get("parent_thread_id")] if isinstance(spawn, dict) else []
    return next((one for one in named if isinstance(one, str) and one), None)


def _is_subagent(meta: dict[str, Any]) -> bool:
    source = meta.get("source")
    return meta.get("thread_source") == "subagent" or (
        isinstance(source, dict) and "subagent" in source
    )


def _minted(name: Any) -> datetime | None:
    """When an id was made, which the 48 bits at the front of a UUID of version 7 tell."""
    try:
        made = uuid.UUID(name) if isinstance(name, str) else None
    except ValueError:
        return None
    if made is None or made.version != 7:
        return None
    try:
        return _EPOCH + timedelta(milliseconds=made.int >> 80)
    except OverflowError:
        return None
