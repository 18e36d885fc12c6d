"""RecallNest's connector-v1 payload (one JSON document) to memories.

A record's ``timestamp`` is when it happened and when it was known; a record without one exists
from the beginning and has no age. The same id in a later payload, with a later timestamp and
another text, is a new version of the memory.

References
----------
RecallNest, ``docs/connector-spec.md``.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

from recalltune.errors import SourceError
from recalltune.ingest.attributes import category_of, read_attributes, share_of, tags_of
from recalltune.ingest.gate import misplaced_rule
from recalltune.ingest.json_source import json_document
from recalltune.ingest.moments import read_moment
from recalltune.ingest.parsed import Claim, Parsed, Settings, claim_of

__all__ = ["FORMAT", "read_connector_v1"]

FORMAT = "connector_v1"
VERSION = "connector-v1"
_REQUIRED = ("version", "source", "scope", "producedAt")


def read_connector_v1(path: Path, file: str, settings: Settings) -> Parsed:
    """Memories of one payload, one per record.

    Parameters
    ----------
    path
        The file.
    file
        Its name in the lab and in messages.
    settings
        ``scope`` replaces the payload's, ``layer`` is for records that name none; a record's own
        scope and layer win over both.

    Raises
    ------
    SourceError
        If the file is no JSON document, has another version, or lacks a required key.
    """
    parsed = Parsed(FORMAT, edited=True)
    payload = _checked(json_document(path, file, parsed), file)
    produced = read_moment(payload["producedAt"], parsed.notes, what="producedAt")
    for number, record in enumerate(payload["records"], start=1):
        claim = _claim(record, payload, number, file, settings, parsed)
        if isinstance(claim, str):
            parsed.drop(claim, number)
            continue
        _note_times(claim, produced, parsed)
        parsed.keep()
        parsed.claims.append(claim)
    return parsed


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


def _claim(
    record: Any,
    payload: dict[str, Any],
    number: int,
    file: str,
    settings: Settings,
    parsed: Parsed,
) -> Claim | str:
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
    extra = record.get("sourceMetadata")
    if reason := misplaced_rule(record, extra):
        return reason
    found = read_attributes(extra or {}, parsed.notes)
    if found.problem:
        return found.problem
    title = record.get("title")
    fields = found.fields
    if isinstance(title, str) and title.strip():
        fields["title"] = title
        text = f"[{title}] {text}"
    if record.get("categoryHint") is not None:
        fields["category"] = category_of(record["categoryHint"], parsed.notes)
    if record.get("importanceHint") is not None:
        fields["salience"] = share_of(record["importanceHint"], "importanceHint", parsed.notes)
    if record.get("tags") is not None:
        fields["tags"] = tags_of(record["tags"], parsed.notes)
    fields["layer"] = fields.get("layer") or settings.layer or "log"
    found.meta |= {
        key: source[key]
        for key, source in (("contentHash", record), ("batchId", payload))
        if source.get(key) is not None
    }
    return claim_of(
        memory_id,
        parsed.text(text),
        found,
        scope=found.scope or settings.scope or payload["scope"],
        at=read_moment(record.get("timestamp"), parsed.notes, what="timestamp") or found.at,
        source=payload["source"],
        file=file,
        line=number,
    )


def _note_times(claim: Claim, produced: datetime | None, parsed: Parsed) -> None:
    at = claim.span.event_at
    if at is not None and produced is not None and at > produced:
        parsed.notes["timestamp later than producedAt (in the future when written)"] += 1
