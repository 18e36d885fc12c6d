"""Claude.ai's export (``conversations.json``) to turns.

Kept is what people and the assistant wrote. Thinking, tool calls and results are left out by
reason, and so is the text of attached files: parts are counted. A message has its words in
``content``, in older exports in ``text``; beside content, ``text`` is the same with placeholders
for what cannot be shown, and not read.

Where messages name their parents and a prompt was edited or an answer made anew, the branch that
ends in ``current_leaf_message_uuid`` is kept, else that of the last message.

References
----------
The export has no published schema; kenn-io/agentsview, ``internal/parser/claude_ai.go``, and
yanndebray/claude-history-2 read the same file.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import PurePosixPath
from typing import Any

from recalltune.errors import SourceError
from recalltune.ingest.branches import ON_ANOTHER, branch_to, linked
from recalltune.ingest.export_list import conversations_of, share_of_conversations
from recalltune.ingest.format import Format, Sample, Source
from recalltune.ingest.moments import read_moment
from recalltune.ingest.parsed import Parsed
from recalltune.ingest.text_parts import Said, read_parts, why_nothing

__all__ = ["FORMAT"]

NAME = "claude_ai"
_MARKS = ('"uuid":', '"chat_messages":[')
_ROLES = {"human": "user", "assistant": "assistant"}
_ROOTS = frozenset({"00000000-0000-4000-8000-000000000000", "00000000-0000-0000-0000-000000000000"})
"""What a first message names as its parent."""


def _read(source: Source, parsed: Parsed) -> None:
    """Turns of one export, of scope ``claude_ai:<first 8 of the conversation's uuid>``.

    Raises
    ------
    SourceError
        If the file is no JSON document, or one that holds no conversation.
    """
    number, found = 1, False
    for conversation in conversations_of(source, parsed):
        messages = conversation["chat_messages"] if _is_conversation(conversation) else []
        found |= _is_conversation(conversation)
        if not messages:
            parsed.drop("conversation without messages", number)
            number += 1
            continue
        session = conversation["uuid"] or f"{PurePosixPath(source.inside).with_suffix('')}#{number}"
        left_out = _on_other_branches(conversation, parsed.notes)
        for place, message in enumerate(messages):
            _say(message, session, place, number, left_out, parsed)
            number += 1
    if parsed.records and not found:
        msg = f"{source.file}:1: not a Claude.ai export: no conversation with chat_messages"
        raise SourceError(msg)


def _say(
    message: Any, session: str, place: int, number: int, left_out: set[str], parsed: Parsed
) -> None:
    if not isinstance(message, dict):
        parsed.drop("not a JSON object", number)
        return
    own, said = message.get("uuid"), _said(message)
    if isinstance(own, str) and own in left_out:
        said = ON_ANOTHER
    if isinstance(said, str):
        parsed.drop(said, number)
        return
    parsed.say(
        f"{session}/{own}" if isinstance(own, str) and own else f"{NAME}:{parsed.file}#{number}",
        session=session,
        seq=place,
        role=_ROLES[message["sender"]],
        text=said.text,
        said_at=read_moment(message.get("created_at"), parsed.notes, what="created_at"),
        line=number,
        raw=json.dumps(message),
        scope=f"{NAME}:{session[:8]}",
        parts=said.parts,
    )


def _said(message: dict[str, Any]) -> Said | str:
    """What a message says, or the reason to leave it out."""
    sender, content = message.get("sender"), message.get("content")
    if not isinstance(sender, str) or sender not in _ROLES:
        return f"not a message: {str(sender)[:40]}"
    said = read_parts(content if isinstance(content, list) and content else message.get("text"))
    for key in ("attachments", "files"):
        if isinstance(attached := message.get(key), list) and attached:
            said.parts[key.removesuffix("s")] += len(attached)
    return said if said.text else why_nothing(said.parts)


def _on_other_branches(conversation: dict[str, Any], notes: Counter[str]) -> set[str]:
    """Messages the conversation went on without; none where no message names a parent."""
    named: list[tuple[str, str | None]] = []
    for message in conversation["chat_messages"]:
        if isinstance(message, dict) and isinstance(own := message.get("uuid"), str) and own:
            parent = message.get("parent_message_uuid")
            known = isinstance(parent, str) and bool(parent) and parent not in _ROOTS
            named.append((own, parent if known else None))
    if not any(parent for _, parent in named):
        return set()
    parents = linked(named, notes)
    leaf = conversation.get("current_leaf_message_uuid")
    told = leaf if isinstance(leaf, str) and leaf in parents else None
    others = parents.keys() - branch_to(told or named[-1][0], parents, notes)
    if others and told is None:
        notes["current_leaf_message_uuid missing, the last message's branch taken"] += 1
    return others


def _is_conversation(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("uuid"), str)
        and isinstance(value.get("chat_messages"), list)
    )


def _fits(sample: Sample) -> float:
    return share_of_conversations(sample, _is_conversation, _MARKS)


FORMAT = Format(
    name=NAME,
    title="Claude.ai export (conversations.json)",
    suffixes=frozenset({".json"}),
    fits=_fits,
    read=_read,
)
