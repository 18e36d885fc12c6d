"""Uses of memories (JSONL): which memory was recalled, shown, cited or opened, and when.

One object a line: ``memory_id`` (or ``memoryId``), ``used_at`` (or ``usedAt``, ``accessed_at``,
``timestamp``, ``at``), and, where the source tells, ``kind`` (or ``source``) and ``audience``.
Counters are not read: how often a memory was used is derived from its uses as of each query.
"""

from __future__ import annotations

from typing import Any, get_args

from recalltune.ingest.format import Format, Sample, Source, share_of_records
from recalltune.ingest.json_source import json_objects
from recalltune.ingest.moments import read_moment
from recalltune.ingest.parsed import Parsed
from recalltune.store import Access

__all__ = ["FORMAT"]

_IDS = ("memory_id", "memoryId")
_TIMES = ("used_at", "usedAt", "accessed_at", "accessedAt", "timestamp", "at")
_KINDS = get_args(Access.model_fields["kind"].annotation)
_MEANT = {"auto-recall": "recalled", "recall": "recalled", "search": "shown", "injected": "shown"}
_QUERY_KEYS = {"query", "query_id", "shown", "message"}


def _read(source: Source, parsed: Parsed) -> None:
    """One use a line; the same use twice is one."""
    seen: set[tuple[Any, ...]] = set()
    for line, record in json_objects(source.path, parsed):
        access = _access(record, parsed)
        if isinstance(access, str):
            parsed.drop(access, line.number)
            continue
        key = (access.memory_id, access.used_at, access.kind, access.audience)
        if key in seen:
            parsed.drop("the same use again", line.number)
            continue
        seen.add(key)
        parsed.keep()
        parsed.accesses.append(access)
        parsed.full()


def _access(record: dict[str, Any], parsed: Parsed) -> Access | str:
    memory_id = _first(record, _IDS)
    if not isinstance(memory_id, str) or not memory_id:
        return "memory_id missing or not text"
    used_at = read_moment(_first(record, _TIMES), parsed.notes, what="used_at")
    if used_at is None:
        return "use without a usable time"
    said = _first(record, ("kind", "source"))
    kind = "recalled" if said is None else _MEANT.get(str(said), str(said))
    if kind not in _KINDS:
        return f"unknown kind; known: {', '.join(_KINDS)}"
    if said is None:
        parsed.notes["use that does not tell its kind, taken as recalled"] += 1
    audience = record.get("audience", "everyone")
    if not isinstance(audience, str) or not audience:
        return "audience is not text"
    return Access(
        memory_id=memory_id,
        used_at=used_at,
        kind=kind,  # type: ignore[arg-type]
        audience=audience,
        file=parsed.file,
    )


def _first(record: dict[str, Any], keys: tuple[str, ...]) -> Any:
    return next((record[key] for key in keys if record.get(key) is not None), None)


def _shape(record: dict[str, Any]) -> bool:
    named = any(key in record for key in _IDS)
    return named and any(key in record for key in _TIMES) and not _QUERY_KEYS & record.keys()


def _fits(sample: Sample) -> float:
    return share_of_records(sample, _shape)


FORMAT = Format(
    name="access_log",
    title="uses of memories (JSONL)",
    suffixes=frozenset({".jsonl"}),
    fits=_fits,
    read=_read,
)
