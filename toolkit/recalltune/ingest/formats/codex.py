"""Codex rollouts, old and new, to turns.

New files have one line ``{timestamp, type, payload}`` a record, older ones bare items after a bare
head, the oldest are one document ``{session, items}``; only the new ones tell times. What the agent
puts into the user's role (its context, the rules of the project, the editor's state) is left out by
reason, and so are the machine's recaps with the messages they repeat.

A message that a new file has twice, as `event_msg` and as `response_item`, is one turn: paired in
order by its words, else by its place (`ingest.codex_pairs` has the rule). What a fork repeats of
the session it came from, under its own times, is left out by reason (`ingest.codex_thread`).

References
----------
Codex, ``codex-rs/protocol/src``: ``protocol.rs`` (`RolloutItem`, `SessionSource`) and
``models.rs`` (`ResponseItem`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from recalltune.ingest.codex_calls import CALLS, OUTPUTS, Calls
from recalltune.ingest.codex_pairs import Message, Pairs
from recalltune.ingest.codex_thread import Thread
from recalltune.ingest.codex_words import message_words
from recalltune.ingest.format import Format, Sample, Source, share_of_records
from recalltune.ingest.json_source import json_document, json_objects
from recalltune.ingest.kinds import path_parts
from recalltune.ingest.moments import read_moment
from recalltune.ingest.parsed import Parsed
from recalltune.ingest.text_parts import Words

__all__ = ["FORMAT"]

NAME = "codex"
_EVENT, _ITEM, _HEAD = "event_msg", "response_item", "session_meta"
_ENVELOPES = (_EVENT, _ITEM, _HEAD, "turn_context", "compacted")
_SAID = {"user_message": "user", "agent_message": "assistant"}


def _read(source: Source, parsed: Parsed) -> None:
    """Turns of one rollout, of scope ``codex:<first 13 characters of the session id>``.

    Eight characters, as in other formats, are the same for all sessions of one minute.
    """
    thread, pairs, calls = Thread.of_file(source.inside), Pairs(parsed.notes), Calls(NAME)
    for place, record in enumerate(_records(source, thread, parsed)):
        if record.envelope == _HEAD:
            thread.head(record.body, parsed.notes)
        thread.follow(record.envelope, record.body, record.timestamp)
        if record.envelope == _ITEM and not thread.repeating:
            calls.note(record.body, record.timestamp, thread.session, parsed)
        words = _words_of(record)
        if isinstance(words, str):
            parsed.drop(words, record.line)
        elif thread.repeating:
            parsed.drop("message of the session it was forked from", record.line)
        else:
            _say(place, record, words, thread, pairs, source, parsed)
    pairs.close()


@dataclass(frozen=True)
class _Record:
    """One record without its envelope; a bare item counts as a `response_item`."""

    line: int
    raw: bytes | str
    envelope: str
    body: dict[str, Any]
    timestamp: Any
    other: str
    """Why it is left out if it is no message."""

    @property
    def kind(self) -> str:
        return str(self.body.get("type"))


def _records(source: Source, thread: Thread, parsed: Parsed) -> Iterator[_Record]:
    if not _is_document(Sample(source).document):
        for line, value in json_objects(source.path, parsed):
            yield _unwrapped(value, line.number, line.raw)
        return
    document = json_document(source.path, source.file, parsed)
    thread.head(document["session"], parsed.notes)
    for number, item in enumerate(document["items"], start=1):
        if isinstance(item, dict):
            yield _unwrapped(item, number, json.dumps(item))
        else:
            parsed.drop("not a JSON object", number)


def _unwrapped(value: dict[str, Any], line: int, raw: bytes | str) -> _Record:
    envelope, body, timestamp = value.get("type"), value.get("payload"), value.get("timestamp")
    if isinstance(envelope, str) and isinstance(body, dict):
        kind = body.get("type") if envelope in (_EVENT, _ITEM) else None
        name = f"{envelope}/{kind}" if kind is not None else envelope
        return _Record(line, raw, envelope, body, timestamp, f"not a message: {name[:60]}")
    if envelope in _ENVELOPES:
        return _Record(line, raw, "", {}, None, "record without a payload")
    if isinstance(envelope, str):
        return _Record(line, raw, _ITEM, value, timestamp, f"not a message: {envelope[:60]}")
    if _is_bare_head(value):
        return _Record(line, raw, _HEAD, value, timestamp, f"not a message: {_HEAD}")
    state = "record_type" in value
    return _Record(line, raw, "", {}, None, f"not a message: {'state' if state else 'no type'}")


def _words_of(record: _Record) -> Words | str:
    """What a record says, or the reason to leave it out."""
    body, kind = record.body, record.kind
    if record.envelope == "compacted":
        return "machine recap (compacted)"
    if record.envelope == _EVENT and kind in _SAID:
        images = sum(
            len(value)
            for key in ("images", "local_images")
            if isinstance(value := body.get(key), list)
        )
        return message_words(_SAID[kind], body.get("message"), images=images)
    if record.envelope == _ITEM and kind == "message":
        return message_words(str(body.get("role")), body.get("content"))
    return record.other


def _say(
    place: int,
    record: _Record,
    words: Words,
    thread: Thread,
    pairs: Pairs,
    source: Source,
    parsed: Parsed,
) -> None:
    at = read_moment(record.timestamp, parsed.notes, what="timestamp")
    key = "".join(words.text.split())
    if pairs.complete(Message(record.envelope, words.role, key, place, at)):
        parsed.drop("second record of one message (event and item)", record.line)
        return
    for opening in words.cut:
        parsed.notes[f"beside the user's words, left out: {opening}"] += 1
    own = record.body.get("id")
    parsed.say(
        own if isinstance(own, str) and own else f"{NAME}:{source.file}#{record.line}",
        session=thread.session,
        session_kind=thread.kind,
        seq=place,
        role=words.role,
        text=words.text,
        said_at=at,
        line=record.line,
        raw=record.raw,
        scope=f"{NAME}:{thread.root[:13]}",
        sidechain=thread.kind == "subagent",
        parts=words.parts,
    )


def _is_document(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("session"), dict)
        and isinstance(value.get("items"), list)
    )


def _is_bare_head(record: dict[str, Any]) -> bool:
    return {"id", "timestamp", "instructions"} <= record.keys() and "type" not in record


def _shape(record: dict[str, Any]) -> bool:
    kind = record.get("type")
    if isinstance(record.get("payload"), dict):
        return kind in _ENVELOPES
    if kind == "message":
        parts = record.get("content")
        kinds = (
            [part.get("type") for part in parts or () if isinstance(part, dict)]
            if (isinstance(parts, list))
            else []
        )
        return "role" in record and any(part in ("input_text", "output_text") for part in kinds)
    if kind == "reasoning":
        return "summary" in record
    if kind in (*CALLS, *OUTPUTS):
        return "call_id" in record
    return record.get("record_type") == "state" or _is_bare_head(record)


def _fits(sample: Sample) -> float:
    return 1.0 if _is_document(sample.document) else share_of_records(sample, _shape)


def _wanted(source: Source) -> bool:
    return source.suffix == ".jsonl" or path_parts(source.inside)[-1].startswith("rollout-")


FORMAT = Format(
    name=NAME,
    title="Codex rollout (JSONL; the oldest are one JSON document)",
    suffixes=frozenset({".jsonl", ".json"}),
    fits=_fits,
    read=_read,
    wanted=_wanted,
)
