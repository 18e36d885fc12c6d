"""The production system's own searches (JSONL): what was asked, when, and what was shown.

Each line is an object with ``query_id``, ``query``, ``asked_at``, ``scope``, ``shown`` (ids, best
first) and ``scores`` (as many, or none). A ``query_id`` that was read before is left out.
"""

from __future__ import annotations

from typing import Any

from recalltune.ingest.format import Format, Sample, Source, share_of_records
from recalltune.ingest.json_source import json_objects
from recalltune.ingest.moments import read_moment
from recalltune.ingest.parsed import Parsed
from recalltune.store import SearchLogEntry

__all__ = ["FORMAT"]


def _read(source: Source, parsed: Parsed) -> None:
    seen: set[str] = set()
    for line, record in json_objects(source.path, parsed):
        entry = _entry(record, parsed)
        if isinstance(entry, str):
            parsed.drop(entry, line.number)
        elif entry.query_id in seen:
            parsed.drop("query_id repeated", line.number)
        else:
            seen.add(entry.query_id)
            parsed.keep()
            parsed.searches.append(entry)
            parsed.full()


def _entry(record: dict[str, Any], parsed: Parsed) -> SearchLogEntry | str:
    query_id, query, scope = record.get("query_id"), record.get("query"), record.get("scope")
    shown, scores = record.get("shown") or [], record.get("scores") or []
    if not isinstance(query_id, str) or not query_id:
        return "query_id missing or not text"
    if not isinstance(query, str) or not query.strip():
        return "query missing or not text"
    if not isinstance(shown, list) or not all(isinstance(i, str) and i for i in shown):
        return "shown is not a list of text ids"
    if not isinstance(scores, list) or not all(
        isinstance(score, int | float) and not isinstance(score, bool) for score in scores
    ):
        return "scores are not a list of finite numbers"
    if scores and len(scores) != len(shown):
        return "scores and shown differ in length"
    asked_at = read_moment(record.get("asked_at"), parsed.notes, what="asked_at")
    if asked_at is None:
        parsed.notes["search without a usable time"] += 1
    return SearchLogEntry(
        query_id=query_id,
        query=query,
        asked_at=asked_at,
        scope=scope if isinstance(scope, str) else parsed.settings.scope,
        shown=tuple(shown),
        scores=tuple(float(score) for score in scores),
        file=parsed.file,
    )


def _fits(sample: Sample) -> float:
    return share_of_records(sample, lambda record: {"query_id", "query"} <= record.keys())


FORMAT = Format(
    name="search_log",
    title="searches of the production system (JSONL)",
    suffixes=frozenset({".jsonl"}),
    fits=_fits,
    read=_read,
)
