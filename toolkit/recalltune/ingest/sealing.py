"""Rows without the secrets that stand beside their texts: in titles, tags, metadata, queries."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TypeVar

from recalltune.ingest.claim import Claim
from recalltune.ingest.redact import redact_value
from recalltune.store import Row

__all__ = ["sealed", "sealed_claim"]

R = TypeVar("R", bound=Row)

_WORDY = ("query", "title", "gist", "reason", "subject", "project", "tags", "meta", "expectations")
"""Columns with words of the source."""


def sealed(row: R, counts: Counter[str]) -> R:
    """Row without secrets, counted by kind; the row itself where there are none."""
    clean = {}
    for name in _WORDY:
        value = getattr(row, name, None)
        if value and (made := redact_value(value, counts)) is not value:
            clean[name] = made
    return row.with_(**clean) if clean else row


def sealed_claim(claim: Claim, counts: Counter[str]) -> Claim:
    """Claim whose memory holds no secret."""
    memory = sealed(claim.memory, counts)
    return claim if memory is claim.memory else replace(claim, memory=memory)
