"""dsh-auto-memory's degrade ledger: what fell back to what, and why, as rows of ``ledger``.

A line, or an element of ``entries`` (or of one JSON list), is ``{kind, reason, at}``; reasons are
at most 200 characters. Rows stand under the run ``log:<file>``, in the order of the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from recalltune.ingest.format import Format, Sample, Source, share_of_records
from recalltune.ingest.json_source import json_document, json_objects
from recalltune.ingest.moments import read_moment
from recalltune.ingest.parsed import Parsed

__all__ = ["FORMAT"]

_REASON = 200
_LISTS = ("entries", "events", "ledger")


def _read(source: Source, parsed: Parsed) -> None:
    for number, entry in _entries(source, parsed):
        kind, reason = entry.get("kind"), entry.get("reason") or ""
        if not isinstance(kind, str) or not kind or not isinstance(reason, str):
            parsed.drop("no entry of a ledger: kind or reason is not text", number)
            continue
        at = read_moment(entry.get("at"), parsed.notes, what="at")
        if at is None:
            parsed.notes["degradation without a usable time"] += 1
        if len(reason) > _REASON:
            parsed.notes[f"reason longer than {_REASON} characters, cut"] += 1
        parsed.keep()
        parsed.hop(kind, reason[:_REASON], at)
        parsed.full()


def _entries(source: Source, parsed: Parsed) -> Iterator[tuple[int, dict[str, Any]]]:
    if _listed(Sample(source).document) is None:
        yield from ((line.number, record) for line, record in json_objects(source.path, parsed))
        return
    for number, entry in enumerate(
        _listed(json_document(source.path, source.file, parsed)) or (), start=1
    ):
        if isinstance(entry, dict):
            yield number, entry
        else:
            parsed.drop("not a JSON object", number)


def _listed(document: Any) -> list[Any] | None:
    """Entries of a document that is a ledger."""
    if isinstance(document, dict):
        document = next((document[key] for key in _LISTS if key in document), None)
    if not isinstance(document, list) or not document:
        return None
    return document if isinstance(document[0], dict) and _shape(document[0]) else None


def _shape(record: dict[str, Any]) -> bool:
    return {"kind", "reason", "at"} <= record.keys() and not {
        "memory_id",
        "memoryId",
    } & record.keys()


def _fits(sample: Sample) -> float:
    if _listed(sample.document) is not None:
        return 1.0
    return share_of_records(sample, _shape)


FORMAT = Format(
    name="dsh_ledger",
    title="dsh-auto-memory degrade ledger (JSON or JSONL)",
    suffixes=frozenset({".json", ".jsonl"}),
    fits=_fits,
    read=_read,
)
