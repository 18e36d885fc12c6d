"""An Obsidian vault as a connector-v1 file: the same ids, texts, tags and times.

In: a vault's folder. Out: one JSON document that `ingest` reads to the same memories, without the
notes that were dropped and without the secrets that were found.

References
----------
RecallNest, ``docs/connector-spec.md``.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from recalltune.errors import ParameterError
from recalltune.ingest.attributes import ATTRIBUTE_NAMES
from recalltune.ingest.folder import find_sources
from recalltune.ingest.formats.obsidian import FORMAT
from recalltune.ingest.parsed import Claim, Parsed, Settings
from recalltune.store import Memory

__all__ = ["VaultExport", "vault_as_connector"]

_OF_RECORD = frozenset({"title", "category", "salience", "tags"})
"""Attributes that a record has a field of its own for."""


@dataclass(frozen=True)
class VaultExport:
    """What became of a vault's notes."""

    path: Path
    records: int
    """Notes written."""
    dropped: Mapping[str, int]
    """Notes left out, by reason."""
    notes: Mapping[str, int]
    """What was assumed, passed over or replaced."""


def vault_as_connector(
    folder: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    produced_at: datetime,
    scope: str | None = None,
    batch_id: str | None = None,
) -> VaultExport:
    """Write the notes of a vault as a connector-v1 payload.

    Parameters
    ----------
    folder
        The vault, or a part of it.
    out
        File to write, readable by its owner alone; one that is there is replaced whole.
    produced_at
        Instant the payload states for itself, with a time zone.
    scope
        Scope of notes that name none. Default: ``vault:`` and the name of the vault's folder.
    batch_id
        The payload's ``batchId``. Default: none.

    Raises
    ------
    ParameterError
        If ``folder`` is no folder, or ``produced_at`` has no time zone.
    """
    if not Path(folder).is_dir():
        msg = f"folder must be a folder, got {folder}"
        raise ParameterError(msg)
    if produced_at.tzinfo is None:
        msg = f"produced_at needs a time zone, got {produced_at.isoformat()}"
        raise ParameterError(msg)
    notes = Counter[str]()
    parsed = Parsed(FORMAT.name, Path(folder).resolve().name, Settings(scope=scope))
    for source in find_sources([folder], [FORMAT], notes):
        FORMAT.read(source, parsed)
    parsed.seal()
    claims = [claim for claim in parsed.claims if not claim.withheld]
    scopes = Counter(claim.span.scope for claim in claims)
    usual = scope or max(sorted(scopes), key=lambda name: scopes[name], default=parsed.file)
    payload = {
        "version": "connector-v1",
        "source": FORMAT.name,
        "scope": usual,
        **({"batchId": batch_id} if batch_id is not None else {}),
        "producedAt": produced_at.isoformat(),
        "records": [
            _record(claim, parsed.texts[claim.memory.text_hash], usual)
            for claim in sorted(claims, key=lambda claim: claim.memory.memory_id)
        ],
    }
    _write(Path(out), json.dumps(payload, ensure_ascii=False, indent=1) + "\n")
    assumed = (
        notes + parsed.notes + Counter({f"secret: {k}": n for k, n in parsed.redacted.items()})
    )
    drops = {reason: drop.count for reason, drop in sorted(parsed.drops.items())}
    return VaultExport(Path(out), len(claims), drops, dict(sorted(assumed.items())))


def _record(claim: Claim, text: str, usual_scope: str) -> dict[str, Any]:
    """One note as a record; what has no field of its own goes into ``sourceMetadata``."""
    memory, span = claim.memory, claim.span
    prefix = f"[{memory.title}] "
    record: dict[str, Any] = {"id": memory.memory_id}
    extra = memory.meta | _attributes(memory)
    if text.startswith(prefix) and text.removeprefix(prefix).strip():
        record |= {"text": text.removeprefix(prefix), "title": memory.title}
    else:
        record["text"] = text
        extra["title"] = memory.title
    record["tags"] = list(memory.tags)
    record["contentHash"] = memory.text_hash
    if memory.category is not None:
        record["categoryHint"] = memory.category
    if memory.salience is not None:
        record["importanceHint"] = memory.salience
    if span.event_at is not None:
        record["timestamp"] = span.event_at.isoformat()
    if span.known_at is not None and span.known_at != span.event_at:
        extra["knownAt"] = span.known_at.isoformat()
    if span.gated:
        extra["toldAt"] = span.told_at.isoformat() if span.told_at is not None else None
    if span.scope != usual_scope:
        extra["scope"] = span.scope
    return record | {"sourceMetadata": extra}


def _attributes(memory: Memory) -> dict[str, Any]:
    """Attributes that are said, under the names a reader knows."""
    said: dict[str, Any] = {}
    for name in (*ATTRIBUTE_NAMES, "status"):
        value = getattr(memory, name)
        if name in _OF_RECORD or value == Memory.model_fields[name].default:
            continue
        said[name] = value.isoformat() if isinstance(value, datetime) else value
    return said | {"layer": memory.layer}


def _write(path: Path, text: str) -> None:
    """Write a file whole or not at all, for its owner alone."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
