"""An Obsidian vault as a connector-v1 file: the same ids, texts, tags and times.

In: a vault's folder. Out: one JSON document that `ingest` reads to the same memories, without the
notes that were dropped and without the secrets that were found.

References
----------
RecallNest, ``docs/connector-spec.md``.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from recalltune.errors import ParameterError
from recalltune.ingest.claim import Claim
from recalltune.ingest.connector_out import Stated, write_connector
from recalltune.ingest.folder import find_sources
from recalltune.ingest.formats.obsidian import FORMAT
from recalltune.ingest.metadata import keeps_metadata
from recalltune.ingest.parsed import Parsed, Settings

__all__ = ["VaultExport", "vault_as_connector"]


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
        File to write, in a folder that is there; see `write_connector`.
    produced_at
        Instant the payload states for itself, with a time zone.
    scope
        Scope of notes that name none. Default: ``vault:`` and the name of the vault's folder.
    batch_id
        The payload's ``batchId``. Default: none.

    Raises
    ------
    ParameterError
        If ``folder`` is no folder, or `write_connector` refuses an argument.
    """
    if not Path(folder).is_dir():
        msg = f"folder must be a folder, got {folder}"
        raise ParameterError(msg)
    notes = Counter[str]()
    parsed = Parsed(FORMAT.name, Path(folder).resolve().name, Settings(scope=scope))
    for source in find_sources([folder], [FORMAT], notes, []):
        FORMAT.read(source, parsed)
    parsed.seal()
    claims = [claim for claim in parsed.claims if not claim.withheld]
    scopes = Counter(claim.span.scope for claim in claims)
    usual = scope or max(
        sorted(scopes), key=lambda name: scopes[name], default=f"vault:{parsed.file}"
    )
    path = write_connector(
        [_stated(claim, parsed) for claim in claims],
        out,
        source=FORMAT.name,
        scope=usual,
        produced_at=produced_at,
        batch_id=batch_id,
    )
    secrets = Counter({f"secret replaced: {kind}": n for kind, n in parsed.redacted.items()})
    drops = {reason: drop.count for reason, drop in sorted(parsed.drops.items())}
    assumed = dict(sorted((notes + parsed.notes + secrets).items()))
    return VaultExport(path, len(claims), drops, assumed)


def _stated(claim: Claim, parsed: Parsed) -> Stated:
    """Note as a record states it; what its text and front matter tell as well gives way to size."""
    memory = claim.memory
    if not keeps_metadata(memory.meta):
        parsed.notes["headings and aliases of a note too large for a record, left out"] += 1
        told = {"headings", "aliases"}
        memory = memory.with_(meta={k: v for k, v in memory.meta.items() if k not in told})
    return Stated(memory, claim.span, parsed.texts[memory.text_hash])
