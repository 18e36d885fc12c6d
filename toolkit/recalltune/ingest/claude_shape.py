"""Which client wrote a line of Claude Code's kind: several write nearly the same."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["IFLOW_SESSION", "is_claude_record", "is_iflow_record"]

IFLOW_SESSION = "session-"
_ROLES = ("user", "human", "assistant")
_KEYS = frozenset({"uuid", "sessionId", "leafUuid", "messageId"})
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


def is_claude_record(record: dict[str, Any]) -> bool:
    """Whether a record has the shape of Claude Code's, whoever wrote it."""
    kind, message = record.get("type"), record.get("message")
    if kind in _ROLES:
        return isinstance(message, dict) and "content" in message
    return isinstance(kind, str) and not _KEYS.isdisjoint(record)


def is_iflow_record(record: dict[str, Any]) -> bool:
    """Whether the session's id is one that iFlow gives: ``session-`` and a UUID."""
    session = record.get("sessionId")
    if not isinstance(session, str) or not session.startswith(IFLOW_SESSION):
        return False
    return _UUID.fullmatch(session.removeprefix(IFLOW_SESSION)) is not None
