"""What a record of a Kimi wire says, by whom, or why it says nothing.

Kimi Code writes flat records (``turn.prompt``, ``context.append_message``,
``context.append_loop_event``, in newer versions ``agent.message.appended``), the older Kimi CLI
wraps them: ``{timestamp, message: {type, payload}}``. What the client puts into the user's role
names its origin.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from recalltune.ingest.text_parts import read_parts, why_nothing

__all__ = ["Words", "is_anchor", "record_words"]

_PROMPTS = ("turn.prompt", "turn.steer")
_OLD_PROMPTS = ("TurnBegin", "SteerInput")
_OLD_PARTS = {"ContentPart": None, "TextPart": "text", "ThinkPart": "think"}
_MESSAGES = ("context.append_message", "agent.message.appended")
_EVENT = "context.append_loop_event"
_COMMANDS = ("skill_activation", "plugin_command")


@dataclass(frozen=True)
class Words:
    """What was said, and by whom."""

    role: str
    text: str
    parts: Counter[str]
    kind: str
    """Kind of its record; another kind may have the same message once more."""
    own_id: str | None = None


def record_words(record: dict[str, Any]) -> Words | str:
    """Words of a record, or the reason to leave it out.

    Parameters
    ----------
    record
        One line of a wire.
    """
    kind, message = record.get("type"), record.get("message")
    if kind in _PROMPTS:
        return _strangers(record) or _words("user", record.get("input"), "turn")
    if kind in _MESSAGES and isinstance(message, dict):
        return _message(message, str(kind))
    if kind == _EVENT and isinstance(event := record.get("event"), dict):
        if event.get("type") == "content.part":
            return _words("assistant", [event.get("part")], _EVENT, event.get("uuid"))
        return f"not a message: {str(event.get('type'))[:60]}"
    if kind == "context.apply_compaction":
        return "machine recap (compaction)"
    if kind is None and isinstance(message, dict):
        return _old(message)
    return "record without a type" if kind is None else f"not a message: {str(kind)[:60]}"


def is_anchor(record: dict[str, Any]) -> bool:
    """Whether a person opened a turn with it: an undo takes back whole turns."""
    origin = record.get("origin")
    if record.get("type") != "turn.prompt":
        return False
    if not isinstance(origin, dict) or origin.get("kind") == "user":
        return True
    return origin.get("kind") in _COMMANDS and origin.get("trigger") == "user-slash"


def _message(message: dict[str, Any], kind: str) -> Words | str:
    if isinstance(inner := message.get("message"), dict):
        message = inner
    role = message.get("role")
    if role not in ("user", "assistant"):
        return f"not a message: {str(role)[:60]}"
    strange = _strangers(message) if role == "user" else None
    return strange or _words(role, message.get("content"), kind, message.get("id"))


def _old(message: dict[str, Any]) -> Words | str:
    kind, payload = message.get("type"), message.get("payload")
    if kind in _OLD_PROMPTS and isinstance(payload, dict):
        return _words("user", payload.get("user_input"), "")
    if kind in _OLD_PARTS and isinstance(payload, dict):
        named = _OLD_PARTS[kind]
        return _words("assistant", [payload if named is None else {**payload, "type": named}], "")
    return f"not a message: {str(kind)[:60]}"


def _strangers(record: dict[str, Any]) -> str | None:
    """Why a record of the user's role is not a person's, where it names its origin."""
    origin = record.get("origin")
    kind = origin.get("kind") if isinstance(origin, dict) else "user"
    return None if kind == "user" else f"not the user's words: {str(kind)[:40]}"


def _words(role: str, content: Any, kind: str, own_id: Any = None) -> Words | str:
    said = read_parts(content)
    if not said.text:
        return why_nothing(said.parts)
    return Words(role, said.text, said.parts, kind, own_id if isinstance(own_id, str) else None)
