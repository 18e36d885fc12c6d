"""What a person or the agent said in a message of a Codex rollout, and what was put beside it.

The agent writes its context, the project's rules and the results of the user's shell into messages
of the user's role. They open with a heading or tag of their own: none of it is the user's words.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from recalltune.ingest.text_parts import Words, why_nothing

__all__ = ["message_words"]

_SCAFFOLDS = (
    ("# AGENTS.md instructions", "</INSTRUCTIONS>"),
    ("# Context from my IDE setup:", "## My request for Codex:"),
    *(
        (f"<{tag}>", f"</{tag}>")
        for tag in (
            "permissions instructions",
            "environment_context",
            "user_instructions",
            "INSTRUCTIONS",
            "turn_aborted",
            "user_shell_command",
            "subagent_notification",
            "skill",
            "skills_instructions",
            "apps_instructions",
            "plugins_instructions",
            "app-context",
            "collaboration_mode",
            "model_switch",
            "personality_spec",
        )
    ),
)
"""How each block opens, and how it closes; one that does not close takes the rest."""
_TEXTS = ("input_text", "output_text", "text")
_ROLES = ("user", "assistant")


def message_words(role: str, content: Any, *, images: int = 0) -> Words | str:
    """Words of a message, or the reason to leave it out.

    Parameters
    ----------
    role
        As the record has it.
    content
        One text, or a list of parts.
    images
        How many images the record names beside its text.
    """
    if role not in _ROLES:
        known = role in ("developer", "system")
        return f"{role} message, not the user's words" if known else "message of an unknown role"
    if not isinstance(content, str | list):
        return "message without content"
    said, parts, cut = [], Counter({"image": images} if images else {}), []
    for part in [content] if isinstance(content, str) else content:
        kind, text = _part(part)
        if kind == "text" and role == "user":
            text, blocks = _without_scaffolds(text)
            cut += blocks
        if kind == "text" and not text:
            continue
        parts[kind] += 1
        said += [text] if kind == "text" else []
    if said:
        return Words(role, "\n\n".join(said), parts, tuple(cut))
    if cut:
        return f"scaffolding: {cut[0]}"
    return why_nothing(parts)


def _part(part: Any) -> tuple[str, str]:
    """Kind of a part, and its text if it is one."""
    if isinstance(part, str):
        return "text", part.strip()
    if not isinstance(part, dict):
        return type(part).__name__, ""
    kind, text = str(part.get("type"))[:40], part.get("text")
    if kind not in _TEXTS or not isinstance(text, str):
        return kind, ""
    text = text.strip()
    # An image stands between two texts of its own, such as <image name=[Image #1]> and </image>.
    if text == "</image>" or (text.startswith("<image") and text.endswith(">") and len(text) < 200):
        return "image_tag", ""
    return "text", text


def _without_scaffolds(text: str) -> tuple[str, list[str]]:
    """Text after the blocks it opens with, and the openings of these."""
    blocks = []
    while found := next((pair for pair in _SCAFFOLDS if text.startswith(pair[0])), None):
        opening, closing = found
        blocks.append(opening.rstrip(":"))
        end = text.rfind(closing)
        text = text[end + len(closing) :].strip() if end >= 0 else ""
    return text, blocks
