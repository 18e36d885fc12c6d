"""Wires of Kimi Code and of the older Kimi CLI (``wire.jsonl``) to turns.

A record is a line: a prompt, a message put into the context, or one part of an answer, which stays
a turn of its own. A prompt stands in a wire twice or more, as the turn's, the context's and the
agent's; the first is the turn, the same words in a record of another kind are left out.

What the client says in the user's role (an origin other than ``user``), thinking, tool calls and
results, recaps and all other records are left out by reason, and so are turns that an undo took
back. The wire of an agent that another one started is a side conversation.

The file names no session; its folders do: ``<session>/wire.jsonl`` in the older layout,
``<session>/agents/<agent>/wire.jsonl`` in the newer.

References
----------
MoonshotAI/kimi-code, ``packages/agent-core-v2/src/agent/contextMemory/contextEvents.ts`` and
``agent/loop/turnOps.ts``; MoonshotAI/kimi-cli, ``src/kimi_cli/wire/types.py``.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from recalltune.ingest.format import Format, Sample, Source
from recalltune.ingest.json_source import json_objects
from recalltune.ingest.kimi_words import Words, is_anchor, record_words
from recalltune.ingest.moments import read_moment
from recalltune.ingest.parsed import Parsed
from recalltune.ingest.reader import decode_json, read_lines

__all__ = ["FORMAT"]

NAME = "kimi"
_WIRE, _AGENTS, _MAIN = "wire.jsonl", "agents", "main"
_FLAT = {
    "turn.prompt": "input",
    "turn.steer": "input",
    "context.append_message": "message",
    "context.append_loop_event": "event",
    "agent.message.appended": "message",
}
_MARKS = (b"turn.prompt", b"context.undo", b"context.clear", b"context.apply_compaction")
"""What a line has in it that opens, undoes or clears turns."""
_WAITING = 16


def _read(source: Source, parsed: Parsed) -> None:
    """Turns of one wire, of scope ``kimi:<first 8 of the session id>``."""
    wire, undone, told = _Wire.of(source), _Undone.ahead(source.path, parsed.notes), _Told()
    for place, (line, record) in enumerate(json_objects(source.path, parsed)):
        words = record_words(record)
        if isinstance(words, Words) and told.again(words):
            words = "another record of one message"
        if isinstance(words, Words) and line.number in undone:
            words = "message taken back by an undo"
        if isinstance(words, str):
            parsed.drop(words, line.number)
            continue
        at = record.get("time", record.get("timestamp"))
        # A fork begins with a copy of the lines, times and all; ids alone may be short.
        known = words.own_id and isinstance(at, int | float | str)
        parsed.say(
            f"{NAME}:{at}/{words.own_id}" if known else f"{NAME}:{source.file}#{line.number}",
            session=wire.session,
            session_kind="subagent" if wire.side else None,
            seq=place,
            role=words.role,
            text=words.text,
            said_at=read_moment(at, parsed.notes, what="time"),
            line=line.number,
            raw=line.raw,
            scope=wire.scope,
            sidechain=wire.side,
            parts=words.parts,
        )


@dataclass(frozen=True)
class _Wire:
    """What the folders of a wire tell."""

    session: str
    scope: str
    side: bool

    @classmethod
    def of(cls, source: Source) -> _Wire:
        *above, name = source.path.parts
        if name.removesuffix(".gz") != _WIRE or not above:
            own = str(PurePosixPath(source.inside.removesuffix(".gz")).with_suffix(""))
            return cls(own, f"{NAME}:{own}", side=False)
        nested = len(above) > 2 and above[-2] == _AGENTS
        own, agent = (above[-3], above[-1]) if nested else (above[-1], _MAIN)
        scope = f"{NAME}:{own.removeprefix('session_')[:8]}"
        side = agent != _MAIN
        return cls(f"{own}/{agent}" if side else own, scope, side)


@dataclass
class _Told:
    """Messages that records of other kinds may have once more; the oldest give way."""

    _waiting: list[tuple[str, str, set[str]]] = field(default_factory=list)
    """Role, words, and the kinds of records that had them."""

    def again(self, words: Words) -> bool:
        """Whether a record of another kind had it; a first one waits from now on."""
        for role, text, kinds in self._waiting:
            if (role, text) == (words.role, words.text) and words.kind not in kinds:
                kinds.add(words.kind)
                return True
        self._waiting = [*self._waiting, (words.role, words.text, {words.kind})][-_WAITING:]
        return False


@dataclass
class _Undone:
    """Stretches of lines that undos took back, in order and apart from one another."""

    _first: list[int] = field(default_factory=list)
    _last: list[int] = field(default_factory=list)

    @classmethod
    def ahead(cls, path: Path, notes: Counter[str]) -> _Undone:
        """Look through a file; what is damaged is left to `_read`."""
        undone, anchors = cls(), list[int]()
        for number, record in _objects(path):
            kind, count = record.get("type"), record.get("count")
            if is_anchor(record):
                anchors.append(number)
            elif kind in ("context.clear", "context.apply_compaction"):
                anchors.clear()
            elif kind == "context.undo" and isinstance(count, int) and count > 0:
                if count > len(anchors):
                    notes["undo of turns that are not in the file, passed over"] += 1
                if taken := anchors[-count:]:
                    del anchors[-count:]
                    undone._take(taken[0], number)
        return undone

    def _take(self, first: int, last: int) -> None:
        while self._first and self._first[-1] >= first:
            self._first.pop()
            self._last.pop()
        self._first.append(first)
        self._last.append(last)

    def __contains__(self, number: int) -> bool:
        at = bisect_right(self._first, number) - 1
        return at >= 0 and number <= self._last[at]


def _objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for line in read_lines(path):
        if line.too_long or not any(mark in line.raw for mark in _MARKS):
            continue
        try:
            value = decode_json(line.raw, Counter())
        except ValueError:
            continue
        if isinstance(value, dict):
            yield line.number, value


def _own(record: dict[str, Any]) -> bool:
    """Whether nobody but Kimi writes such a record."""
    key = _FLAT.get(record["type"]) if isinstance(record.get("type"), str) else None
    return (key is not None and isinstance(record.get(key), dict | list | str)) or _is_old(record)


def _is_old(record: dict[str, Any]) -> bool:
    message = record.get("message")
    wrapped = isinstance(message, dict) and {"type", "payload"} <= message.keys()
    return wrapped and "type" not in record and "timestamp" in record


def _shape(record: dict[str, Any]) -> bool:
    kind = record.get("type")
    if kind == "metadata":
        return "protocol_version" in record
    return (isinstance(kind, str) and "." in kind) or _is_old(record)


def _fits(sample: Sample) -> float:
    records = [record for record in sample.records if isinstance(record, dict)]
    if not any(map(_own, records)):
        return 0.0
    return sum(map(_shape, records)) / len(sample.records)


FORMAT = Format(
    name=NAME,
    title="Kimi Code or Kimi CLI wire (wire.jsonl)",
    suffixes=frozenset({".jsonl"}),
    fits=_fits,
    read=_read,
)
