"""Memories to a connector-v1 file, which RecallNest and `ingest` read.

In: rows, with their texts. Out: a file that is there whole or not at all, the same bytes for the
same rows, of mode 0600. What the format has no field for goes into ``sourceMetadata``, by the names
that `ingest` reads there, so reading the file gives the rows again.

References
----------
RecallNest, ``docs/connector-spec.md``.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from recalltune.errors import ContractError, ParameterError
from recalltune.ingest.attributes import ATTRIBUTE_NAMES, category_of, read_attributes, share_of
from recalltune.ingest.formats.connector_v1 import VERSION
from recalltune.ingest.gate import misplaced_rule
from recalltune.ingest.metadata import keeps_metadata
from recalltune.ingest.reader import MAX_DOCUMENT_BYTES
from recalltune.ingest.whole_file import write_whole
from recalltune.store import Memory, MemorySpan, as_said

__all__ = ["Stated", "write_connector"]

_OF_THE_RECORD = ("categoryHint", "importanceHint", "contentHash", "batchId")
"""Keys of ``meta`` that came from the record or its payload, and go back there."""
_FIELDS = ("title", "category", "salience", "tags")
"""Attributes that a record has a field of its own for."""
_CHANGED = ("superseded_by", "superseded_at", "retracted_at")


@dataclass(frozen=True)
class Stated:
    """One text of one memory, as a record states it."""

    memory: Memory
    span: MemorySpan
    text: str
    """The whole text, with ``[title]`` in front where it has one."""


def write_connector(
    memories: Iterable[Stated],
    path: str | os.PathLike[str],
    *,
    source: str,
    scope: str,
    produced_at: datetime,
    batch_id: str | None = None,
) -> Path:
    """Write memories as one connector-v1 payload, and return its path.

    Records are in the order of id and time, so the same memories give the same bytes. A category
    and a salience are written as hints, in the words of ``meta`` where these are kept there.

    Parameters
    ----------
    memories
        One entry a version; a record has one text for everyone, and a turn it was made of is not
        written. A record says what held while its span was open. All of a payload is stated at one
        instant: of a text whose attributes were restated, each statement takes a payload of its
        own.
    path
        The file, new or to be replaced; its folder is there.
    source, scope
        Of the payload; a span's scope that is another one is written with its record.
    produced_at
        When the payload was made, with a time zone: of two payloads, the later one is heard.
    batch_id
        Name of the batch: sent again under it, nothing is imported twice.

    Raises
    ------
    ParameterError
        If a name is blank, the instant has no zone, or the path is a link or no plain file.
    ContractError
        If a memory cannot be said in this format: without a text, for one audience only, with a
        key of ``meta`` that is read as an attribute, or of a record larger than can be read.
    """
    for name, value in (("source", source), ("scope", scope), ("batch_id", batch_id)):
        if value is not None and not value.strip():
            msg = f"{name} must be text that is not blank, got {value!r}"
            raise ParameterError(msg)
    if produced_at.tzinfo is None:
        msg = f"produced_at needs a time zone, got {produced_at.isoformat()}; such as +00:00"
        raise ParameterError(msg)
    payload: dict[str, Any] = {"version": VERSION, "source": source, "scope": scope}
    payload |= {"batchId": batch_id} if batch_id is not None else {}
    payload |= {
        "producedAt": _instant(produced_at),
        "records": [_record(stated, scope) for stated in memories],
    }
    try:
        payload["records"].sort(key=_in_order)
        content = orjson.dumps(payload, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    except orjson.JSONEncodeError as error:
        msg = f"a memory holds what JSON cannot say: {error}"
        raise ContractError(msg) from None
    if len(content) > MAX_DOCUMENT_BYTES:
        msg = f"a payload must be at most {MAX_DOCUMENT_BYTES:,} bytes, got {len(content):,}"
        raise ContractError(msg)
    return write_whole(path, content)


def _in_order(record: dict[str, Any]) -> tuple[str, str, bytes]:
    at = record.get("timestamp", "")
    return record["id"], at, orjson.dumps(record, option=orjson.OPT_SORT_KEYS)


def _unsayable(stated: Stated) -> str | None:
    """Why a record would not be read as what it is."""
    span, rest = stated.span, _rest(stated.memory)
    if not stated.text.strip():
        return "has no text"
    if span.audience != "everyone":
        return f"is for {span.audience!r} only"
    if span.event_at is not None and span.known_at is None:
        return "happened at a time and was known always"
    told = {"toldAt": None} if span.gated else {}
    if misplaced_rule({}, rest | told) or read_attributes(rest, Counter()).meta != rest:
        return f"has a key of meta that names an attribute, one of {', '.join(sorted(rest))[:200]}"
    return None if keeps_metadata(rest) else "has more in meta than is read"


def _record(stated: Stated, scope: str) -> dict[str, Any]:
    memory, span = as_said(stated.memory, stated.span)
    stated = Stated(memory, span, stated.text)
    if (why := _unsayable(stated)) is not None:
        msg = f"memory {memory.memory_id!r} {why}: connector-v1 cannot say so"
        raise ContractError(msg)
    head = f"[{memory.title}] " if memory.title and memory.title.strip() else ""
    titled = bool(head) and stated.text.startswith(head) and bool(stated.text[len(head) :].strip())
    record: dict[str, Any] = {
        "id": memory.memory_id,
        "text": stated.text[len(head) :] if titled else stated.text,
        "title": memory.title if titled else None,
        "categoryHint": _hint(memory, "categoryHint", memory.category),
        "importanceHint": _hint(memory, "importanceHint", memory.salience),
        "tags": list(memory.tags) or None,
        "timestamp": _instant(span.event_at) if span.event_at else None,
        "contentHash": memory.meta.get("contentHash", span.text_hash),
        "sourceMetadata": _metadata(stated, scope, titled=titled),
    }
    return {key: value for key, value in record.items() if value is not None}


def _metadata(stated: Stated, scope: str, *, titled: bool) -> dict[str, Any]:
    """What the record has no field for; an attribute that is not said is not written."""
    memory, span = stated.memory, stated.span
    said: dict[str, Any] = {"layer": memory.layer}
    for name in ATTRIBUTE_NAMES:
        value = getattr(memory, name)
        if name not in _FIELDS and value != Memory.model_fields[name].default:
            said[name] = _instant(value) if isinstance(value, datetime) else value
    if memory.status != "current" or any(getattr(memory, name) for name in _CHANGED):
        said["status"] = memory.status
    if memory.title is not None and not titled:
        said["title"] = memory.title
    if span.scope != scope:
        said["scope"] = span.scope
    if span.known_at is not None and span.known_at != span.event_at:
        said["knownAt"] = _instant(span.known_at)
    if span.gated:
        said["toldAt"] = _instant(span.told_at) if span.told_at else None
    return said | _rest(memory)


def _rest(memory: Memory) -> dict[str, Any]:
    return {key: value for key, value in memory.meta.items() if key not in _OF_THE_RECORD}


def _hint(memory: Memory, key: str, value: str | float | None) -> Any:
    """Hint as it was written, where it stands for the value; else the value."""
    written, notes = memory.meta.get(key), Counter[str]()
    category = key == "categoryHint"
    stands = category_of(written, notes) if category else share_of(written, key, notes)
    return written if stands == value else value


def _instant(at: datetime) -> str:
    return at.astimezone(UTC).isoformat()
