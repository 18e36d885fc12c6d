"""Which format a file is, by what is in it; its name decides only where the content cannot.

In: a path. Out: a format with the share of the looked-at records that speak for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from recalltune.errors import SourceError
from recalltune.ingest.format import Sample, Source
from recalltune.ingest.formats import FORMATS

__all__ = ["Detection", "detect"]

_ENOUGH = 0.5


@dataclass(frozen=True)
class Detection:
    """A format and how sure it is."""

    format: str
    confidence: float
    """share in [0, 1] of what was looked at that has this format's shape."""


def detect(source: Source) -> Detection | None:
    """Format of a file, or none for a file without content.

    Raises
    ------
    SourceError
        If nothing fits at least half of the first records; the message names what there is.
    """
    sample = Sample(source)
    if sample.empty:
        return None
    shares = {name: format.fits(sample) for name, format in FORMATS.items()}
    best = max(shares, key=lambda name: shares[name])
    if shares[best] >= _ENOUGH:
        return Detection(best, shares[best])
    close = f" ({best} {shares[best]:.0%})" if shares[best] else ""
    msg = (
        f"{source.file}:1: format not recognised (it {_looks_like(sample)}); "
        f"known: {', '.join(FORMATS)}{close}. Name one (--format, format=) if it is one of these"
    )
    raise SourceError(msg)


def _looks_like(sample: Sample) -> str:
    seen: Any = sample.document
    if seen is None:
        seen = next(filter(None, sample.records), None)
    if isinstance(seen, list):
        seen = seen[0] if seen else seen
    if isinstance(seen, dict):
        return f"starts with an object of the keys {', '.join(sorted(map(str, seen))[:8])[:120]}"
    return "holds no JSON object"
