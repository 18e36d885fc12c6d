"""Gemini CLI sessions, old and new, and its log of prompts, to turns.

Old sessions are one document ``{sessionId, startTime, messages}``, new ones lines to which the
client appends; there the last version of a message holds, at the place of its first. Messages taken
back by a rewind, and what the client sets anew for the model alone, are left out by reason, as are
its notices (info, warning, error), context, hooks and recaps. Of a prompt that refers to files,
what was typed is kept. A subagent's session is a side conversation.

A message without a time of its own gets the start of its session, counted. The log of prompts
(``logs.json``) has what the user typed, in sessions of which nothing else may be left; a prompt
whose session file stands beside it in ``chats`` of a walked folder is left out.

References
----------
Gemini CLI, ``packages/core/src/services/chatRecordingService.ts`` and ``chatRecordingTypes.ts``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from recalltune.errors import SourceError
from recalltune.ingest.format import Format, Sample, Source
from recalltune.ingest.gemini_calls import note_searches
from recalltune.ingest.gemini_log import Log, messages_on
from recalltune.ingest.gemini_words import KINDS, message_words
from recalltune.ingest.json_source import json_document, json_objects
from recalltune.ingest.kinds import path_parts
from recalltune.ingest.moments import read_moment
from recalltune.ingest.parsed import Parsed

__all__ = ["FORMAT"]

NAME = "gemini_cli"
_PROMPT_KEYS = {"sessionId", "messageId", "type", "message"}


def _read(source: Source, parsed: Parsed) -> None:
    """Turns of one file, of scope ``gemini:<first 8 of the session id>``."""
    if source.suffix == ".jsonl" or Sample(source).of_lines:
        _read_lines(source, parsed)
        return
    document = json_document(source.path, source.file, parsed)
    if isinstance(document, list):
        _read_prompts(source, document, parsed)
    elif isinstance(document, dict) and isinstance(document.get("messages"), list):
        session = _Session.of(document, source, parsed)
        for number, message in enumerate(document["messages"], start=1):
            session.say(message, number, number, json.dumps(message), parsed)
            parsed.full()
    else:
        msg = f"{source.file}:1: not a Gemini CLI session: no list of messages"
        raise SourceError(msg)


def _read_lines(source: Source, parsed: Parsed) -> None:
    log = Log.ahead(source.path)
    session = _Session.of(log.facts, source, parsed)
    parsed.notes["rewind to a message that is not in the file, passed over"] += log.unknown_rewinds
    place = 0
    for line, record in json_objects(source.path, parsed):
        listed, none = "$set" in record, True
        for message in messages_on(record):
            none = False
            stands: int | str = place
            if isinstance(message, dict):
                stands = log.stands(message, place, listed=listed)
            place += 1
            if isinstance(stands, str):
                parsed.drop(stands, line.number)
                continue
            raw = line.raw if message is record else json.dumps(message)
            session.say(message, stands, line.number, raw, parsed)
        if none:
            parsed.drop(f"not a message: {_what(record)}", line.number)


def _what(record: dict[str, Any]) -> str:
    for key in ("$set", "$rewindTo"):
        if key in record:
            return key
    return "session head" if "sessionId" in record else "no content"


@dataclass(frozen=True)
class _Session:
    """Session of a file."""

    session: str
    scope: str
    began: datetime | None
    side: bool

    @classmethod
    def of(cls, facts: dict[str, Any], source: Source, parsed: Parsed) -> _Session:
        *folders, name = path_parts(source.inside)
        own = facts.get("sessionId")
        if not isinstance(own, str) or not own:
            parsed.notes["session without an id, named after its file"] += 1
            own = name.removesuffix(".gz").removesuffix(".jsonl").removesuffix(".json")
        side = facts.get("kind") == "subagent"
        parent = folders[-1] if side and folders and folders[-1] != "chats" else None
        began = read_moment(facts.get("startTime"), parsed.notes, what="startTime")
        scope = f"gemini:{(parent or own)[:8]}"
        return cls(f"{parent}/{own}" if parent else own, scope, began, side)

    def say(self, message: Any, place: int, number: int, raw: bytes | str, parsed: Parsed) -> None:
        """Account for one message."""
        if not isinstance(message, dict):
            parsed.drop("not a JSON object", number)
            return
        own = message.get("id")
        known = isinstance(own, str) and bool(own)
        # Ids of messages are counted from 1 in some versions, so the session is part of them.
        turn_id = f"{self.session}/{own}" if known else f"{NAME}:{parsed.file}#{number}"
        at = read_moment(message.get("timestamp"), parsed.notes, what="timestamp")
        note_searches(message, turn_id, at, self.scope, parsed)
        words = message_words(message)
        if isinstance(words, str):
            parsed.drop(words, number)
            return
        for beside in words.cut:
            parsed.notes[f"beside the user's words, left out: {beside}"] += 1
        if at is None and self.began is not None:
            parsed.notes["message without a time, dated by the start of its session"] += 1
            at = self.began
        parsed.say(
            turn_id,
            session=self.session,
            session_kind="subagent" if self.side else None,
            seq=place,
            role=words.role,
            text=words.text,
            said_at=at,
            line=number,
            raw=raw,
            scope=self.scope,
            sidechain=self.side,
            parts=words.parts,
        )


def _read_prompts(source: Source, prompts: list[Any], parsed: Parsed) -> None:
    kept_beside = _sessions_beside(source)
    for number, prompt in enumerate(prompts, start=1):
        if not isinstance(prompt, dict):
            parsed.drop("not a JSON object", number)
            continue
        session, kind, text = (prompt.get(key) for key in ("sessionId", "type", "message"))
        if kind != "user":
            parsed.drop(f"not a message: {str(kind)[:40]}", number)
        elif not isinstance(session, str) or not session:
            parsed.drop("prompt without a session", number)
        elif not isinstance(text, str) or not text.strip():
            parsed.drop("empty text", number)
        elif session[:8] in kept_beside:
            parsed.drop("prompt of a session whose own file stands beside", number)
        else:
            own = prompt.get("messageId")
            parsed.say(
                f"{session}/prompt {own}"
                if isinstance(own, int)
                else f"{NAME}:{source.file}#{number}",
                session=session,
                seq=number,
                role="user",
                text=text.strip(),
                said_at=read_moment(prompt.get("timestamp"), parsed.notes, what="timestamp"),
                line=number,
                raw=json.dumps(prompt),
                scope=f"gemini:{session[:8]}",
            )


def _sessions_beside(source: Source) -> frozenset[str]:
    """First 8 characters of the sessions that have a file of their own in the walked folder."""
    chats = source.path.parent / "chats"
    if source.root is None or chats.is_symlink() or not chats.is_dir():
        return frozenset()
    names = (path.name.removesuffix(".gz") for path in chats.iterdir() if path.is_file())
    stems = (name.rsplit(".", 1)[0] for name in names if name.endswith((".json", ".jsonl")))
    return frozenset(stem[-8:] for stem in stems if stem.startswith("session-"))


def _is_message(value: Any) -> bool:
    kind = value.get("type") if isinstance(value, dict) else None
    return isinstance(kind, str) and kind in KINDS and "content" in value and "message" not in value


def _is_head(record: dict[str, Any]) -> bool:
    return {"sessionId", "projectHash"} <= record.keys() and "type" not in record


def _is_line(record: dict[str, Any]) -> bool:
    changes = isinstance(record.get("$set"), dict) or isinstance(record.get("$rewindTo"), str)
    return changes or _is_head(record) or _is_message(record)


def _fits(sample: Sample) -> float:
    document = sample.document
    if isinstance(document, list):
        prompts = [item for item in document if isinstance(item, dict)]
        return sum(item.keys() >= _PROMPT_KEYS for item in prompts) / max(len(document), 1)
    if isinstance(document, dict) and isinstance(messages := document.get("messages"), list):
        if not isinstance(document.get("sessionId"), str):
            return 0.0
        if not messages:
            return float(_is_head(document))
        return sum(map(_is_message, messages)) / len(messages)
    records = [record for record in sample.records if isinstance(record, dict)]
    # Lines of {type, content} are what many write; a head or a reply is Gemini's own.
    own = any(_is_head(record) or record.get("type") == "gemini" for record in records)
    return sum(map(_is_line, records)) / len(sample.records) if own else 0.0


FORMAT = Format(
    name=NAME,
    title="Gemini CLI session (one JSON document, or JSONL) or log of prompts (logs.json)",
    suffixes=frozenset({".json", ".jsonl"}),
    fits=_fits,
    read=_read,
)
