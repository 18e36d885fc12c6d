"""RecallNest's connector-v1 payload (one JSON document) to memories.

A record's ``timestamp`` is when it happened and when it was known; a record without one exists
from the beginning and has no age. The same id in a later payload, with a later timestamp and
another text, is a new version of the memory; the same text at the same time says more of the same
version, and ``producedAt`` tells which payload is the later one.

References
----------
RecallNest, ``docs/connector-spec.md``.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from recalltune.errors import SourceError
from recalltune.ingest.attributes import (
    Attributes,
    category_of,
    read_attributes,
    share_of,
    tags_of,
)
from recalltune.ingest.format import Format, Sample, Source
from recalltune.ingest.gate import misplaced_rule
from recalltune.ingest.json_source import json_document
from recalltune.ingest.moments import read_moment
from recalltune.ingest.parsed import Claim, Parsed, Settings, claim_of
from recalltune.store import text_hash

__all__ = ["FORMAT"]

VERSION = "connector-v1"
_REQUIRED = ("version", "source", "scope", "producedAt")


def _read(source: Source, parsed: Parsed) -> None:
    """Memories of one payload, one per record.

    The settings' ``scope`` replaces the payload's, ``layer`` is for records that name none; a
    record's own scope and layer win over both.

    Raises
    ------
    SourceError
        If the file is no JSON document, has another version, or lacks a required key.
    """
    file, settings = source.file, parsed.settings
    head = _checked(json_document(source.path, file, parsed), file)
    produced = read_moment(head["producedAt"], parsed.notes, what="producedAt")
    payload = _Payload(head, produced, file, settings, parsed)
    for number, record in enumerate(head["records"], start=1):
        claim = _claim(record, payload, number)
        if isinstance(claim, str):
            parsed.drop(claim, number)
            parsed.claims += _silence(record, payload, number)
            continue
        _note_times(claim, produced, parsed)
        parsed.keep()
        parsed.claims.append(claim)
        parsed.full()


@dataclass(frozen=True)
class _Payload:
    """What every record of one payload needs of it."""

    head: dict[str, Any]
    produced: datetime | None
    file: str
    settings: Settings
    parsed: Parsed


def _checked(payload: Any, file: str) -> dict[str, Any]:
    if not isinstance(payload, dict):
        msg = f"{file}:1: a connector payload must be a JSON object, got {type(payload).__name__}"
        raise SourceError(msg)
    version = payload.get("version")
    if version != VERSION:
        msg = f"{file}:1: version must be {VERSION!r}, got {str(version)[:80]!r}"
        raise SourceError(msg)
    lacking = [key for key in _REQUIRED if not isinstance(payload.get(key), str)]
    if not isinstance(payload.get("records"), list):
        lacking.append("records")
    if lacking:
        msg = f"{file}:1: a connector payload must have {', '.join(lacking)} (text, records a list)"
        raise SourceError(msg)
    return payload


def _claim(record: Any, payload: _Payload, number: int) -> Claim | str:
    """One record's memory, or the reason to leave it out."""
    if not isinstance(record, dict):
        return "record is not an object"
    memory_id, text = record.get("id"), record.get("text")
    if isinstance(memory_id, int | float) and not isinstance(memory_id, bool):
        return "id is a number: ids must be text"
    if not isinstance(memory_id, str) or not memory_id:
        return "record without an id"
    if not isinstance(text, str) or not text.strip():
        return "record without a text"
    extra, notes = record.get("sourceMetadata"), payload.parsed.notes
    if reason := misplaced_rule(record, extra):
        return reason
    found = read_attributes(extra or {}, notes)
    if found.problem:
        return found.problem
    fields = found.fields
    if title := _title(record):
        fields["title"] = title
    if record.get("categoryHint") is not None:
        fields["category"] = category_of(record["categoryHint"], notes)
    if record.get("importanceHint") is not None:
        fields["salience"] = share_of(record["importanceHint"], "importanceHint", notes)
    if record.get("tags") is not None:
        fields["tags"] = tags_of(record["tags"], notes)
    fields["layer"] = fields.get("layer") or payload.settings.layer or "log"
    found.meta |= {
        key: source[key]
        for key, source in (("contentHash", record), ("batchId", payload.head))
        if source.get(key) is not None
    }
    return _said(record, payload, number, found)


def _silence(record: Any, payload: _Payload, number: int) -> list[Claim]:
    """What a record that is left out says about telling: that must not be lost with it."""
    if not isinstance(record, dict) or not isinstance(record.get("id"), str) or not record["id"]:
        return []
    extra = record.get("sourceMetadata")
    if misplaced_rule(record, extra):
        found = Attributes(gated=True)
    else:
        # Its notes were counted when it was read.
        found = read_attributes(extra or {}, Counter())
    if not found.gated:
        return []
    return [_said(record, payload, number, found.telling(), withheld=True)]


def _said(
    record: dict[str, Any],
    payload: _Payload,
    number: int,
    found: Attributes,
    *,
    withheld: bool = False,
) -> Claim:
    parsed = payload.parsed
    title, text = _title(record), record.get("text")
    if not isinstance(text, str):
        text = ""
    if title:
        text = f"[{title}] {text}"
    at = read_moment(
        record.get("timestamp"), Counter() if withheld else parsed.notes, what="timestamp"
    )
    return claim_of(
        record["id"],
        text_hash(text) if withheld else parsed.text(text),
        found,
        scope=found.scope or payload.settings.scope or payload.head["scope"],
        at=at or found.at,
        source=payload.head["source"],
        file=payload.file,
        line=number,
        stated_at=payload.produced,
        edits=True,
        withheld=withheld,
    )


def _title(record: dict[str, Any]) -> str | None:
    title = record.get("title")
    return title if isinstance(title, str) and title.strip() else None


def _note_times(claim: Claim, produced: datetime | None, parsed: Parsed) -> None:
    at = claim.span.event_at
    if at is not None and produced is not None and at > produced:
        parsed.notes["timestamp later than producedAt (in the future when written)"] += 1


def _fits(sample: Sample) -> float:
    document = sample.document
    return float(
        isinstance(document, dict) and str(document.get("version", "")).startswith("connector")
    )


FORMAT = Format(
    name="connector_v1",
    title="RecallNest connector payload (one JSON document)",
    suffixes=frozenset({".json"}),
    fits=_fits,
    read=_read,
)
