"""ChatGPT's export (``conversations.json``) to turns: of each conversation, the branch one sees.

A conversation is a tree (``mapping``): an edited prompt or a new answer opens a branch. What leads
to ``current_node`` is kept, in its order; where that is missing, what leads to the newest of the
deepest messages. A record is a node of the tree; those of other branches are left out by reason,
and so are the system's and the tools' messages, hidden ones, the user's profile that is put into
each conversation, thoughts, code, and what was said to a tool.

References
----------
The export has no published schema; kenn-io/agentsview, ``internal/parser/chatgpt.go``, and
realazthat/chatgpt2graph read the same file.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from itertools import islice
from pathlib import PurePosixPath
from typing import Any

from recalltune.errors import SourceError
from recalltune.ingest.branches import ON_ANOTHER, branch_to, deepest_leaf
from recalltune.ingest.export_list import conversations_of, share_of_conversations
from recalltune.ingest.format import Format, Sample, Source
from recalltune.ingest.moments import read_moment
from recalltune.ingest.parsed import Parsed
from recalltune.ingest.text_parts import Said, read_parts, why_nothing

__all__ = ["FORMAT"]

NAME = "chatgpt"
_ROLES = ("user", "assistant")
_CONTEXT = ("user_editable_context", "model_editable_context")
_SAID = ("text", "multimodal_text")
_SILENT = ("thoughts", "reasoning_recap", "code")
# In a voice chat, what was said stands beside its sound.
_TEXTS = frozenset({"text", "audio_transcription"})
_LOOKED_AT = 3
_MARKS = ('"mapping":{', '"message":', '"parent":', '"children":[')


def _read(source: Source, parsed: Parsed) -> None:
    """Turns of one export, of scope ``chatgpt:<first 8 of the conversation's id>``.

    Raises
    ------
    SourceError
        If the file is no JSON document, or one that holds no conversation.
    """
    first, found = 1, False
    for conversation in conversations_of(source, parsed):
        mapping = conversation["mapping"] if _is_conversation(conversation) else {}
        found |= _is_conversation(conversation)
        if mapping:
            _Tree.of(conversation, source, first).say(parsed)
        else:
            parsed.drop("conversation without messages", first)
        first += max(len(mapping), 1)
    if parsed.records and not found:
        msg = f"{source.file}:1: not a ChatGPT export: no conversation with a mapping"
        raise SourceError(msg)


@dataclass(frozen=True)
class _Tree:
    """One conversation; its nodes are records, numbered from ``first`` on."""

    session: str
    nodes: dict[str, Any]
    current: Any
    first: int

    @classmethod
    def of(cls, conversation: dict[str, Any], source: Source, first: int) -> _Tree:
        own = conversation.get("conversation_id") or conversation.get("id")
        if not isinstance(own, str):
            own = f"{PurePosixPath(source.inside).with_suffix('')}#{first}"
        return cls(own, conversation["mapping"], conversation.get("current_node"), first)

    def say(self, parsed: Parsed) -> None:
        """Account for every node: those of the branch in its order, then all others."""
        numbers = {key: number for number, key in enumerate(self.nodes, start=self.first)}
        branch = self._branch(parsed.notes)
        for place, key in enumerate(branch):
            self._say_node(key, place, numbers[key], parsed)
        chosen = set(branch)
        for key, number in numbers.items():
            if key not in chosen:
                parsed.drop(ON_ANOTHER if self._message(key) else "node without a message", number)

    def _branch(self, notes: Counter[str]) -> list[str]:
        parents: dict[str, str | None] = {}
        said_at: dict[str, float] = {}
        for key, node in self.nodes.items():
            parent = node.get("parent") if isinstance(node, dict) else None
            parents[key] = parent if isinstance(parent, str) else None
            at = self._message(key).get("create_time")
            if isinstance(at, int | float):
                said_at[key] = at
        leaf = self.current
        if not isinstance(leaf, str) or leaf not in parents:
            notes["current_node missing, the newest of the deepest messages taken"] += 1
            leaf = deepest_leaf(parents, said_at)
        return branch_to(leaf, parents, notes) if leaf is not None else []

    def _message(self, key: str) -> dict[str, Any]:
        node = self.nodes[key]
        message = node.get("message") if isinstance(node, dict) else None
        return message if isinstance(message, dict) else {}

    def _say_node(self, key: str, place: int, number: int, parsed: Parsed) -> None:
        message = self._message(key)
        role, said = _role(message), _said(message)
        if isinstance(said, str):
            parsed.drop(said, number)
            return
        own = message.get("id")
        parsed.say(
            own if isinstance(own, str) and own else f"{self.session}/{key}",
            session=self.session,
            seq=place,
            role=role,
            text=said.text,
            said_at=read_moment(message.get("create_time"), parsed.notes, what="create_time"),
            line=number,
            raw=json.dumps(message),
            scope=f"{NAME}:{self.session[:8]}",
            parts=said.parts,
        )


def _role(message: dict[str, Any]) -> str:
    author = message.get("author")
    return str(author.get("role") if isinstance(author, dict) else None)[:40]


def _said(message: dict[str, Any]) -> Said | str:
    """What a message says to people, or the reason to leave it out."""
    content, metadata, role = message.get("content"), message.get("metadata"), _role(message)
    if not message:
        return "node without a message"
    if role not in _ROLES:
        return f"not a message: {role}"
    if not isinstance(content, dict):
        return "message without content"
    kind = str(content.get("content_type"))[:40]
    if kind in _CONTEXT:
        return f"not the user's words: {kind}"
    if isinstance(metadata, dict) and metadata.get("is_visually_hidden_from_conversation") is True:
        return "hidden from the conversation"
    if kind in _SILENT:
        return why_nothing(read_parts([{"type": kind}]).parts)
    if role == "assistant" and message.get("recipient") not in (None, "all"):
        return "said to a tool"
    if kind not in _SAID:
        return f"not a message: {kind}"
    said = read_parts(content.get("parts"), key="content_type", texts=_TEXTS)
    return said if said.text else why_nothing(said.parts)


def _is_conversation(value: Any) -> bool:
    """Whether it is a tree of nodes; an empty one is known by the message it ends in."""
    mapping = value.get("mapping") if isinstance(value, dict) else None
    if not isinstance(mapping, dict):
        return False
    nodes = list(islice(mapping.values(), _LOOKED_AT))
    if not nodes:
        return "current_node" in value
    return all(isinstance(node, dict) and {"message", "parent"} <= node.keys() for node in nodes)


def _fits(sample: Sample) -> float:
    return share_of_conversations(sample, _is_conversation, _MARKS)


FORMAT = Format(
    name=NAME,
    title="ChatGPT export (conversations.json)",
    suffixes=frozenset({".json"}),
    fits=_fits,
    read=_read,
)
