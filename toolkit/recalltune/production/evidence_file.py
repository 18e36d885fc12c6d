"""The evidence that stands beside a chosen config: `chosen.toml` has `chosen.evidence.json`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from recalltune.errors import ParameterError, SourceError, checked
from recalltune.pipeline.config import RankingConfig
from recalltune.production.provenance import MARK, Provenance, evidence_text
from recalltune.production.replacing import write_private
from recalltune.version import code_digest

__all__ = ["evidence_beside", "read_evidence", "write_chosen"]

NONE_KNOWN = "not known"
_LARGEST_FILE = 5_000_000


def evidence_beside(config: Path) -> Path:
    """Return where the evidence of a config file stands."""
    return config.with_name(f"{config.stem}.evidence.json")


def write_chosen(file: Path, config: RankingConfig, provenance: Provenance) -> Path:
    """Write a chosen config as TOML with its evidence beside it; return where that stands.

    Raises
    ------
    ParameterError
        If one of the two is a symbolic link.
    """
    write_private(file, config.to_toml())
    return write_private(evidence_beside(file), evidence_text(config, provenance))


def read_evidence(file: Path, config: RankingConfig) -> Provenance:
    """Return the evidence in ``file``, or one that says there is none.

    Raises
    ------
    SourceError
        If the file is no evidence of ours.
    ParameterError
        If it belongs to another config.
    """
    if not file.is_file():
        known = {"data": NONE_KNOWN, "encoder": NONE_KNOWN, "code": code_digest()}
        return checked(Provenance, {**known, "verdict": "exported without evidence"})
    if file.stat().st_size > _LARGEST_FILE:
        message = (
            f"{file}:1: evidence may hold {_LARGEST_FILE:,} bytes, got {file.stat().st_size:,}"
        )
        raise SourceError(message)
    found = _parsed(file)
    prints = found["fingerprints"]
    if prints["config"] != config.fingerprint:
        message = (
            f"{file} is the evidence of config {prints['config']}, not of {config.fingerprint}; "
            "choose again, or move it away to export without evidence"
        )
        raise ParameterError(message)
    values = {name: prints[name] for name in ("data", "encoder", "code", "chosen_over")}
    values |= {name: found[name] for name in ("verdict", "metrics", "undefined")}
    return checked(Provenance, values, where=str(file))


def _parsed(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        line = getattr(error, "lineno", 1)
        message = f"{file}:{line}: not JSON: {error}"
        raise SourceError(message) from None
    if not isinstance(found, dict) or MARK not in found:
        message = f"{file}:1: not an evidence file of recalltune (no {MARK!r})"
        raise SourceError(message)
    return found
