"""RecallNest's connector-v1 payload (one JSON document) to memories.

A record's ``timestamp`` is when it happened and when it was known; a record without one exists
from the beginning and has no age. The same id in a later payload, with a later timestamp and
another text, is a new version of the memory; the same text at the same time says more of the same
version, and ``producedAt`` tells which payload is the later one.

Hints are mapped (`CATEGORY_HINTS`; ``importanceHint`` is the salience) and stay in ``meta`` as they
were written, with ``contentHash``, ``batchId`` and what `sourceMetadata` holds beyond a memory's
attributes. The ``contentHash`` of the version before says that a text is unchanged: it is no new
version. A ``batchId`` that another file has is counted, as sent again or as changed; the records
decide, in whatever order the files come.

References
----------
RecallNest, ``docs/connector-spec.md``.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from recalltune.errors import SourceError, nearest
from recalltune.ingest.attributes import (
    Attributes,
    category_of,
    read_attributes,
    share_of,
    tags_of,
)
from recalltune.ingest.claim import Claim, claim_of
from recalltune.ingest.format import Format, Sample, Source
from recalltune.ingest.gate import holds_rule, misplaced_rule
from recalltune.ingest.json_source import json_document
from recalltune.ingest.metadata import META_BYTES, META_LEVELS, keeps_metadata
from recalltune.ingest.moments import read_moment
from recalltune.ingest.parsed import Parsed, Settings

__all__ = ["FORMAT", "VERSION"]

VERSION = "connector-v1"
"""The version that is read and written."""
_REQUIRED = ("source", "scope", "producedAt")
_KEYS = ("version", *_REQUIRED, "batchId", "records")
_HINTS = ("categoryHint", "importanceHint", "contentHash")
_RECORD_KEYS = ("id", "text", "title", "tags", "timestamp", "sourceMetadata", *_HINTS)
_UNKNOWN_KEYS = 20


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
    payload.note_unknown(head, _KEYS, "top-level")
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
    unknown: set[str] = field(default_factory=set)
    """Keys that the format does not have, as far as they are named in the notes."""

    def note_unknown(self, given: dict[str, Any], known: tuple[str, ...], where: str) -> None:
        """Count the keys of an object that the format does not have."""
        for key in (key for key in given if key not in known):
            name = repr(key[:40])
            if name not in self.unknown and len(self.unknown) >= _UNKNOWN_KEYS:
                name = "of another name"
            else:
                self.unknown.add(name)
            self.parsed.notes[f"{where} key {name} unknown, not used"] += 1


def _checked(payload: Any, file: str) -> dict[str, Any]:
    if not isinstance(payload, dict):
        msg = f"{file}:1: a connector payload must be a JSON object, got {type(payload).__name__}"
        raise SourceError(msg)
    version = payload.get("version")
    if version is None:
        msg = f"{file}:1: version is missing; a connector payload must name it: {VERSION!r}"
        raise SourceError(msg)
    if version != VERSION:
        said = str(version)[:80]
        msg = f"{file}:1: version must be {VERSION!r}, got {said!r}; {nearest(said, [VERSION])}"
        raise SourceError(msg)
    records = payload.get("records")
    if records is not None and not isinstance(records, list):
        msg = f"{file}:1: records must be a list, got {type(records).__name__}"
        raise SourceError(msg)
    lacking = [key for key in _REQUIRED if not _is_text(payload.get(key))]
    lacking += ["records"] if records is None else []
    above = {key: value for key, value in payload.items() if key != "records"}
    if holds_rule([above]):
        msg = f"{file}:1: a telling rule stands outside the records, where it is not read"
        raise SourceError(msg)
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
    payload.note_unknown(record, _RECORD_KEYS, "record")
    if title := _title(record):
        fields["title"] = title
    elif record.get("title") not in (None, ""):
        notes["title is no text, not used"] += 1
    if record.get("categoryHint") is not None:
        fields["category"] = category_of(record["categoryHint"], notes)
    if record.get("importanceHint") is not None:
        fields["salience"] = share_of(record["importanceHint"], "importanceHint", notes)
    if record.get("tags") is not None:
        fields["tags"] = tags_of(record["tags"], notes)
    fields["layer"] = fields.get("layer") or payload.settings.layer or "log"
    found.meta = _meta(found.meta, record, payload)
    return _said(record, payload, number, found)


def _meta(rest: dict[str, Any], record: dict[str, Any], payload: _Payload) -> dict[str, Any]:
    """What no ranking reads, as it was written: what is left of the metadata, hints and ids."""
    notes = payload.parsed.notes
    if not keeps_metadata(rest):
        limit = f"{META_BYTES // 2**10} KiB or {META_LEVELS} levels"
        notes[f"sourceMetadata of more than {limit}, left out"] += 1
        rest = {}
    own = {key: record[key] for key in _HINTS if record.get(key) is not None}
    own |= {"batchId": batch} if (batch := payload.head.get("batchId")) is not None else {}
    for key in ("contentHash", "batchId"):
        if key in own and not _is_text(own[key]):
            notes[f"{key} is no text, not used"] += 1
            del own[key]
    hidden = own.keys() & rest.keys()
    notes["key of sourceMetadata that the record has itself, not used"] += len(hidden)
    return rest | own


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


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
        parsed.hash_of(text) if withheld else parsed.text(text),
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
    return title if _is_text(title) else None


def _note_times(claim: Claim, produced: datetime | None, parsed: Parsed) -> None:
    at = claim.span.event_at
    if at is not None and produced is not None and at > produced:
        parsed.notes["timestamp later than producedAt (in the future when written)"] += 1


def _fits(sample: Sample) -> float:
    document = sample.document
    if not isinstance(document, dict):
        return 0.0
    named = str(document.get("version", "")).startswith("connector")
    return float(named or {*_REQUIRED, "records"} <= document.keys())


FORMAT = Format(
    name="connector_v1",
    title="RecallNest connector payload (one JSON document)",
    suffixes=frozenset({".json"}),
    fits=_fits,
    read=_read,
)
