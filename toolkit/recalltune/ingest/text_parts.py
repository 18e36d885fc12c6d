"""What is said in a message of parts, and what else is in it.

Sources write a message as one text, or as a list of texts and objects that name their kind; the
same kinds have several names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

__all__ = ["Said", "Words", "read_parts", "why_nothing"]

_NAMES = {
    "think": "thinking",
    "thoughts": "thinking",
    "reasoning_recap": "thinking",
    "toolCall": "tool_use",
    "code": "tool_use",
    "image_url": "image",
    "image_asset_pointer": "image",
    "audio_url": "audio",
    "audio_asset_pointer": "audio",
    "real_time_user_audio_video_asset_pointer": "audio",
    "video_url": "video",
}
"""Names of kinds that others write in another way."""
_KINDS_NAMED = 3


@dataclass(frozen=True)
class Words:
    """What was said, and by whom, apart from what the client wrote beside it."""

    role: str
    text: str
    parts: Counter[str]
    """Parts of the record by kind."""
    cut: tuple[str, ...] = ()
    """Names of what stood beside the user's words."""


@dataclass(frozen=True)
class Said:
    """Words of a message, blank texts left out, and its parts by kind."""

    text: str
    parts: Counter[str]


def read_parts(
    content: Any, *, key: str = "type", texts: Collection[str] = frozenset({"text"})
) -> Said:
    """Texts of a message, a blank line between two of them.

    Parameters
    ----------
    content
        A text, or a list of texts and objects; anything else says nothing.
    key
        Where an object names its kind.
    texts
        Kinds of objects whose ``text`` was said.

    Examples
    --------
    >>> said = read_parts([{"type": "text", "text": "tea"}, "or milk", {"type": "think"}])
    >>> said.text.split(), dict(said.parts)
    (['tea', 'or', 'milk'], {'text': 2, 'thinking': 1})
    """
    said: list[str] = []
    parts = Counter[str]()
    for part in content if isinstance(content, list) else [content]:
        kind, text = "text", part
        if isinstance(part, dict):
            kind, text = str(part.get(key))[:40], part.get("text")
        if kind in texts and isinstance(text, str):
            parts["text"] += 1
            said += [text.strip()] if text.strip() else []
        elif part is not None:
            parts[_NAMES.get(kind, kind) if isinstance(part, dict) else type(part).__name__] += 1
    return Said("\n\n".join(said), parts)


def why_nothing(parts: Counter[str]) -> str:
    """Reason to leave out a message in which nothing is said.

    Examples
    --------
    >>> why_nothing(Counter(text=1)), why_nothing(Counter(text=1, tool_use=2, image=1))
    ('empty text', 'no text, only image and tool_use')
    """
    others = sorted(kind for kind, count in parts.items() if count and kind != "text")
    if not others:
        return "empty text"
    more = " and more" if len(others) > _KINDS_NAMED else ""
    return f"no text, only {' and '.join(others[:_KINDS_NAMED])}{more}"
