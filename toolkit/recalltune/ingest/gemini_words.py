"""What a message of a Gemini CLI session says, by whom, or why it says nothing.

The client writes its context, what its hooks say, the files a prompt refers to and the recap of a
compression into messages of the user's role; all of them open with a tag or line of their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from recalltune.ingest.text_parts import Words, why_nothing

__all__ = ["KINDS", "is_recap", "message_words"]

_ROLES = {"user": "user", "gemini": "assistant"}
KINDS = frozenset({*_ROLES, "info", "error", "warning"})
"""Types of messages."""
_RECAP = "<state_snapshot>"
_CONTEXT = ("<session_context>", "<hook_context>")
_FILES = "--- Content from referenced files ---"
_FILES_END = "--- End of content ---"


def message_words(message: dict[str, Any]) -> Words | str:
    """Words of a message, or the reason to leave it out.

    Parameters
    ----------
    message
        With ``type`` and ``content`` (a text, a part, or a list of both); ``displayContent`` is
        what the user typed where that is not what was sent.
    """
    kind = message.get("type")
    if not isinstance(kind, str) or kind not in _ROLES:
        return "record without a type" if kind is None else f"not a message: {str(kind)[:40]}"
    content = message.get("content")
    if kind == "user" and message.get("displayContent"):
        content = message["displayContent"]
    said: list[str] = []
    cut: list[str] = []
    parts = Counter[str]()
    inside = False
    for name, text in _parts(content):
        if kind == "user" and name == "text":
            text, beside, inside = _typed(text, inside)
            cut += beside
            name = "text" if text or not beside else "context"
        parts[name] += 1
        said += [text.strip()] if name == "text" and text.strip() else []
    for key, name in (("thoughts", "thinking"), ("toolCalls", "tool_use")):
        parts[name] += len(items) if isinstance(items := message.get(key), list) else 0
    parts += Counter()
    if said:
        return Words(_ROLES[kind], "\n\n".join(said), parts, tuple(dict.fromkeys(cut)))
    if cut:
        recap = cut[0] == _RECAP
        return "machine recap (state snapshot)" if recap else f"not the user's words: {cut[0]}"
    return why_nothing(parts)


def is_recap(message: Any) -> bool:
    """Whether a message is what the machine made of all before it."""
    if not isinstance(message, dict):
        return False
    texts = (text for _, text in _parts(message.get("content")))
    return any(text.lstrip().startswith(_RECAP) for text in texts)


def _parts(content: Any) -> Iterator[tuple[str, str]]:
    """Kind of each part, and its text if it is one."""
    for part in content if isinstance(content, list) else [content]:
        if isinstance(part, str):
            yield "text", part
        elif not isinstance(part, dict):
            if part is not None:
                yield type(part).__name__, ""
        elif isinstance(part.get("text"), str):
            yield ("thinking", "") if part.get("thought") is True else ("text", part["text"])
        else:
            yield str(next(iter(part), "empty part"))[:40], ""


def _typed(text: str, inside: bool) -> tuple[str, list[str], bool]:
    """What a person typed of a text, what else is there, and whether files go on after it."""
    start = text.lstrip()
    for opening in (_RECAP, *_CONTEXT):
        if start.startswith(opening):
            return "", [opening], inside
    at = 0 if inside else text.find(_FILES)
    if at < 0:
        return text, [], False
    end = text.find(_FILES_END, at)
    after = text[end + len(_FILES_END) :] if end >= 0 else ""
    return f"{text[:at].strip()}\n\n{after.strip()}".strip(), ["referenced files"], end < 0
