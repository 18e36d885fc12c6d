"""What a source says beyond a memory's attributes: kept as it is, within bounds."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["META_BYTES", "META_LEVELS", "keeps_metadata"]

META_BYTES = 256 * 2**10
"""Bound of one memory's metadata, written as JSON."""
META_LEVELS = 32
"""Bound of its nesting."""


def keeps_metadata(rest: dict[str, Any]) -> bool:
    """Whether metadata beyond the attributes is small enough to be kept as it is."""
    return len(json.dumps(rest)) <= META_BYTES and _within(rest, META_LEVELS)


def _within(value: Any, levels: int) -> bool:
    """Whether a value is nested no deeper than so many levels."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return levels >= 0 and all(_within(one, levels - 1) for one in inner)
