"""Claude Code session logs (JSONL) to turns.

Kept: user and assistant records that carry text, as they are one by one (an answer that came in
several records stays several), and prompts typed while the agent worked. Tool calls, tool results,
thinking, progress lines, recaps of the machine, what local commands print, interruption marks, API
errors and notes marked as meta are left out by reason; parts that are not text are counted apart.

Nothing is said twice: a session that another file continues or forks has the ids of the first, a
compacted file's replay of what came before is left out, and so is the same text twice in one
answer. A side conversation, in the file or in one of its own (``agent-*.jsonl``, session
``session/agent``, kind ``subagent``), is flagged and never the user's; where it repeats a message
of its own file's main conversation, that is left out. Searches of a memory, with what they showed,
are kept as such.

References
----------
RecallNest, ``src/ingest.ts``, reads the same lines; it keeps no times and no flags.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from recalltune.ingest.claude_calls import Calls
from recalltune.ingest.claude_queue import Prompt, Queue
from recalltune.ingest.claude_shape import is_claude_record, is_iflow_record
from recalltune.ingest.claude_words import RECAP, record_words
from recalltune.ingest.format import Format, Sample, Source, share_of_records
from recalltune.ingest.json_source import json_objects
from recalltune.ingest.kinds import path_parts
from recalltune.ingest.moments import read_moment
from recalltune.ingest.parsed import Parsed
from recalltune.ingest.text_parts import Words

__all__ = ["FORMAT"]

_ANSWERS = 64


def _read(source: Source, parsed: Parsed) -> None:
    """Turns of one session file, of scope ``cc:<first 8 of the session id>``."""
    file, thread, calls, queue = _File.of(source), _Thread(), Calls(), Queue(parsed)
    for place, (line, record) in enumerate(json_objects(source.path, parsed)):
        again = thread.link(record)
        where = file.where(record)
        turn_id = _turn_id(record) or f"cc:{source.file}#{line.number}"
        if record.get("type") == "queue-operation":
            if prompt := queue.note(place, line.number, record):
                _say_queued(parsed, source, file, prompt)
            continue
        if not again:
            calls.note(record, turn_id, where.scope, parsed)
        words = record_words(record)
        if isinstance(words, str):
            thread.compacted |= words == RECAP
            parsed.drop(words, line.number)
        elif reason := thread.repeated(record, words, again=again, sidechain=where.sidechain):
            parsed.drop(reason, line.number)
        else:
            if words.role == "user":
                queue.said(words.text, attached=record["type"] == "attachment")
            _say(parsed, turn_id, where, place, line.number, line.raw, record, words)
    for prompt in queue.close():
        _say_queued(parsed, source, file, prompt)
    parsed.notes["record whose parent is not in the file (kept in file order)"] += thread.orphans


def _say_queued(parsed: Parsed, source: Source, file: _File, prompt: Prompt) -> None:
    where, at = file.where(prompt.record), _string(prompt.record, "timestamp")
    turn_id = f"cc:{where.session}:queue:{at}" if at else f"cc:{source.file}#{prompt.line}"
    parsed.notes["prompt given to the agent at work, known from its queue"] += 1
    raw = prompt.words.text
    _say(parsed, turn_id, where, prompt.place, prompt.line, raw, prompt.record, prompt.words)


def _say(
    parsed: Parsed,
    turn_id: str,
    where: _Where,
    place: int,
    line: int,
    raw: bytes | str,
    record: dict[str, Any],
    words: Words,
) -> None:
    for beside in words.cut:
        parsed.notes[f"beside the user's words, left out: {beside}"] += 1
    parsed.say(
        turn_id,
        session=where.session,
        session_kind="subagent" if where.sidechain else None,
        seq=place,
        role=words.role,
        text=words.text,
        said_at=read_moment(record.get("timestamp"), parsed.notes, what="timestamp"),
        line=line,
        raw=raw,
        scope=where.scope,
        sidechain=where.sidechain,
        parts=words.parts,
    )


@dataclass(frozen=True)
class _Where:
    """Conversation a record is of."""

    session: str
    scope: str
    sidechain: bool


@dataclass(frozen=True)
class _File:
    """What the name of a file tells."""

    session: str
    agent: str | None

    @classmethod
    def of(cls, source: Source) -> _File:
        *folders, name = path_parts(source.inside)
        stem = name.removesuffix(".gz").removesuffix(".jsonl")
        if not stem.startswith("agent-"):
            return cls(stem, None)
        at = folders.index("subagents") if "subagents" in folders else 0
        return cls(folders[at - 1] if at else stem, stem.removeprefix("agent-"))

    def where(self, record: dict[str, Any]) -> _Where:
        """Conversation of a record; what it does not tell, the name of its file does."""
        session = _string(record, "sessionId") or self.session
        agent = _string(record, "agentId") or self.agent
        sidechain = record.get("isSidechain") is True or agent is not None
        scope = f"cc:{session[:8]}"
        return _Where(f"{session}/{agent}" if agent else session, scope, sidechain)


@dataclass
class _Thread:
    """What came before in one file."""

    compacted: bool = False
    _uuids: set[str] = field(default_factory=set)
    _awaited: Counter[str] = field(default_factory=Counter)
    """Parents that did not come yet."""
    _main: set[bytes] = field(default_factory=set)
    """What was said in the main conversation."""
    _side: set[bytes] = field(default_factory=set)
    _answers: dict[str, set[bytes]] = field(default_factory=dict)
    """Texts of the last few answers, by the answer's own id."""

    def link(self, record: dict[str, Any]) -> bool:
        """Take up a record; whether its uuid was there before."""
        if record.get("type") == "system" and record.get("subtype") == "compact_boundary":
            self.compacted = True
        parent, uuid = _string(record, "parentUuid"), _string(record, "uuid")
        if parent is not None and parent not in self._uuids:
            self._awaited[parent] += 1
        if uuid is None or uuid in self._uuids:
            return uuid is not None
        self._uuids.add(uuid)
        self._awaited.pop(uuid, None)
        return False

    def repeated(
        self, record: dict[str, Any], words: Words, *, again: bool, sidechain: bool
    ) -> str | None:
        """Why a message says what was said before; None where it does not."""
        digest = _digest(words.role, words.text)
        said = self._side if sidechain else self._main
        if again and self.compacted and digest in said:
            return "message replayed after a compaction"
        if sidechain and digest in self._main:
            return "side conversation repeats a main message"
        if words.role == "assistant" and (answer := _string(record["message"], "id")):
            texts = self._answers.setdefault(answer, set())
            if digest in texts and not again:
                return "same text twice in one answer"
            texts.add(digest)
            if len(self._answers) > _ANSWERS:
                del self._answers[next(iter(self._answers))]
        said.add(digest)
        return None

    @property
    def orphans(self) -> int:
        """Records whose parent never came."""
        return self._awaited.total()


def _turn_id(record: dict[str, Any]) -> str | None:
    """The record's own id; what a fork copied has that of the message it is a copy of."""
    origin = record.get("forkedFrom")
    copied = _string(origin, "messageUuid") if isinstance(origin, dict) else None
    return copied or _string(record, "uuid")


def _digest(role: str, text: str) -> bytes:
    return hashlib.sha256(f"{role}:{text}".encode()).digest()[:16]


def _string(values: dict[str, Any], key: str) -> str | None:
    value = values.get(key)
    return value if isinstance(value, str) and value else None


def _shape(record: dict[str, Any]) -> bool:
    return is_claude_record(record) and not is_iflow_record(record)


def _fits(sample: Sample) -> float:
    return share_of_records(sample, _shape)


FORMAT = Format(
    name="claude_code",
    title="Claude Code session (JSONL)",
    suffixes=frozenset({".jsonl"}),
    fits=_fits,
    read=_read,
)
