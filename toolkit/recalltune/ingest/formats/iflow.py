"""iFlow CLI session logs (JSONL) to turns.

The lines are much like Claude Code's; what tells them apart is the session's id, ``session-`` and a
UUID, where Claude Code has the UUID alone. While an answer grows, the client writes what it has of
it again and again, each time with the tool calls at work: a text that comes again in such a row of
records under one parent is left out.

All else is as in a Claude Code log: tool calls and results, recaps, meta records and what commands
print are left out by reason, side conversations are kept apart, and searches of a memory are kept
as such.

References
----------
kenn-io/agentsview, ``internal/parser/iflow.go``, reads the same lines.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

from recalltune.ingest.claude_calls import Calls
from recalltune.ingest.claude_shape import IFLOW_SESSION, is_claude_record, is_iflow_record
from recalltune.ingest.claude_words import record_words
from recalltune.ingest.format import Format, Sample, Source, share_of_records
from recalltune.ingest.json_source import json_objects
from recalltune.ingest.moments import read_moment
from recalltune.ingest.parsed import Parsed
from recalltune.ingest.text_parts import Words

__all__ = ["FORMAT"]

NAME = "iflow"


def _read(source: Source, parsed: Parsed) -> None:
    """Turns of one session file, of scope ``iflow:<first 8 of the session's UUID>``."""
    calls = Calls()
    name = PurePosixPath(source.inside.removesuffix(".gz")).stem
    parent: Any = None
    answered: set[str] = set()
    for place, (line, record) in enumerate(json_objects(source.path, parsed)):
        session = _string(record, "sessionId") or name
        scope = f"{NAME}:{session.removeprefix(IFLOW_SESSION)[:8]}"
        turn_id = _string(record, "uuid") or f"{NAME}:{source.file}#{line.number}"
        calls.note(_with_plain_results(record), turn_id, scope, parsed)
        words = record_words(record)
        if record.get("type") != "assistant" or record.get("parentUuid") != parent:
            parent, answered = record.get("parentUuid"), set()
        if isinstance(words, Words) and words.text in answered:
            words = "same text twice in one answer"
        if isinstance(words, str):
            parsed.drop(words, line.number)
            continue
        answered.add(words.text)
        for beside in words.cut:
            parsed.notes[f"beside the user's words, left out: {beside}"] += 1
        side = record.get("isSidechain") is True
        agent = _string(record, "agentId") or "sidechain"
        parsed.say(
            turn_id,
            session=f"{session}/{agent}" if side else session,
            session_kind="subagent" if side else None,
            seq=place,
            role=words.role,
            text=words.text,
            said_at=read_moment(record.get("timestamp"), parsed.notes, what="timestamp"),
            line=line.number,
            raw=line.raw,
            scope=scope,
            sidechain=side,
            parts=words.parts,
        )


def _with_plain_results(record: dict[str, Any]) -> dict[str, Any]:
    """The record with the bare output of its tools, which iFlow wraps as Gemini does."""
    message = record.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(message, dict) or not isinstance(content, list):
        return record
    plain = [
        {**part, "content": _output(part["content"])}
        if isinstance(part, dict) and isinstance(part.get("content"), dict)
        else part
        for part in content
    ]
    return {**record, "message": {**message, "content": plain}}


def _output(wrapped: Any) -> Any:
    for key in ("responseParts", "functionResponse", "response", "output"):
        wrapped = wrapped.get(key) if isinstance(wrapped, dict) else None
    return wrapped


def _string(values: dict[str, Any], key: str) -> str | None:
    value = values.get(key)
    return value if isinstance(value, str) and value else None


def _fits(sample: Sample) -> float:
    return share_of_records(
        sample, lambda record: is_iflow_record(record) and is_claude_record(record)
    )


FORMAT = Format(
    name=NAME,
    title="iFlow CLI session (JSONL)",
    suffixes=frozenset({".jsonl"}),
    fits=_fits,
    read=_read,
)
