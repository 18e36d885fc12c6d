"""Vectors of texts, each computed once per model and prompt and then read from the lab."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recalltune.encode.contract import Encoder, Kind, has_words
from recalltune.errors import ContractError
from recalltune.store.lab import Lab, LockedError, ReadOnlyError
from recalltune.store.texts import text_hash
from recalltune.store.vectors import check_vectors, get_vectors, put_vectors

__all__ = ["Coverage", "Encoded", "check_same_space", "coverage", "vectors_for"]

_CHUNK = 256
"""Texts encoded between two writes: what a killed run has to do again, at most."""


@dataclass(frozen=True)
class Encoded:
    """Vectors with what has to be said about them."""

    vectors: NDArray[np.float32]
    """shape (n, dim), rows of length 1, or 0 for a text that abstains."""
    encoder_id: str
    """Identity of the model, prompts of both kinds included: the vector space."""
    cached: int
    """Distinct texts read from the lab."""
    new: int
    """Distinct texts encoded now."""
    unkept: int
    """Those of them that the lab could not keep, because it cannot be written to."""
    abstained: int
    """Texts without a word, or with a zero vector: they take no part in the dense arm."""
    truncated: int | None
    """Texts longer than the model reads; None where it does not tell its limit."""
    share_cut: float | None
    """0 to 1. Share of all tokens of all texts that the model did not read."""

    def sentence(self) -> str:
        """One line for a run's notes."""
        told = f"{len(self.vectors)} texts: {self.cached} cached, {self.new} encoded"
        if self.unkept:
            told += f", {self.unkept} of them not kept (the lab cannot be written to)"
        if self.abstained:
            told += f", {self.abstained} without a word abstain"
        if self.truncated is None:
            told += "; the model does not tell what it cuts"
        elif self.truncated and self.share_cut is not None:
            told += f"; {self.truncated} cut, {self.share_cut:.1%} of all tokens unread"
        return told


@dataclass(frozen=True)
class Coverage:
    """How many texts have a vector of one model in the lab."""

    encoder_id: str
    total: int
    present: int
    first_missing: str | None
    """Start of the first text without a vector."""

    @property
    def share(self) -> float:
        """0 to 1; 1 where there is nothing to cover."""
        return self.present / self.total if self.total else 1.0

    @property
    def degraded(self) -> bool:
        """Whether a dense arm over these texts would silently miss some."""
        return self.present < self.total

    def sentence(self) -> str:
        """One line for the ledger."""
        told = (
            f"vectors cover {self.share:.0%} ({self.present} of {self.total}) of {self.encoder_id}"
        )
        return f"{told}; first missing: {self.first_missing!r}" if self.degraded else told


def vectors_for(
    lab: Lab,
    encoder: Encoder,
    texts: Sequence[str],
    kind: Kind,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> Encoded:
    """Unit rows of the texts in their order, each computed once per model and prompt.

    Parameters
    ----------
    lab
        Where vectors are kept. Opened for writing only when something is new; where it may not be
        written to, or another process holds it for seconds, what is new serves this call only.
    encoder
        The model.
    texts
        length n; repeated texts are encoded once.
    kind
        ``query`` or ``passage``: decides the prompt.
    progress
        Called with (texts done, texts to do) after every chunk of new texts.

    Returns
    -------
    Encoded
        The rows, and counts of cached, new, unkept, silent and cut texts.

    Raises
    ------
    ContractError
        If the model gives rows of another width than it promised, or a text is not valid Unicode.
    """
    key = encoder.id_of(kind)
    hashes = [text_hash(text) for text in texts]
    distinct = dict(zip(hashes, texts, strict=True))
    found, vectors = _read(lab, encoder, key, hashes)
    missing = list(dict.fromkeys(h for h, known in zip(hashes, found, strict=True) if not known))
    unkept: dict[str, NDArray[np.float32]] = {}
    for start in range(0, len(missing), _CHUNK):
        chunk = missing[start : start + _CHUNK]
        rows = encoder.encode([distinct[digest] for digest in chunk], kind)
        check_vectors(chunk, rows)
        _same_width(encoder, f"{key} gives", rows.shape[1])
        # The first refusal took seconds to come; the next chunk would wait as long again.
        if unkept or not _kept(lab, key, chunk, rows):
            unkept |= zip(chunk, rows, strict=True)
        if progress is not None:
            progress(start + len(chunk), len(missing))
    if missing:
        # Encoders are not bit-stable across batches: what the lab holds is the truth.
        found, vectors = _read(lab, encoder, key, hashes)
    for place in np.flatnonzero(~found).tolist():
        vectors[place] = unkept[hashes[place]]
    truncated, share_cut = _cut(encoder, texts, kind)
    return Encoded(
        vectors=vectors,
        encoder_id=encoder.encoder_id,
        cached=len(distinct) - len(missing),
        new=len(missing),
        unkept=len(unkept),
        abstained=int((~vectors.any(axis=1)).sum()),
        truncated=truncated,
        share_cut=share_cut,
    )


def coverage(lab: Lab, encoder: Encoder, texts: Sequence[str], kind: Kind = "passage") -> Coverage:
    """How many of the texts have a vector of this model; texts without a word need none.

    Parameters
    ----------
    lab, encoder, kind
        As for `vectors_for`. Nothing is encoded.
    texts
        length n.
    """
    wanted = {text_hash(text): text for text in texts if has_words(text)}
    with lab.reading() as con:
        found, _ = get_vectors(con, encoder.id_of(kind), list(wanted))
    missing = [text for text, known in zip(wanted.values(), found, strict=True) if not known]
    return Coverage(
        encoder_id=encoder.id_of(kind),
        total=len(wanted),
        present=len(wanted) - len(missing),
        first_missing=missing[0][:60] if missing else None,
    )


def check_same_space(queries: Encoded, passages: Encoded) -> None:
    """Refuse to compare vectors of two models, whatever their widths.

    Raises
    ------
    ContractError
        If the models differ; the message names both and both widths.
    """
    if queries.encoder_id != passages.encoder_id:
        msg = (
            f"queries and passages must come from one model, got {queries.encoder_id} "
            f"({queries.vectors.shape[1]}-d) and {passages.encoder_id} "
            f"({passages.vectors.shape[1]}-d)"
        )
        raise ContractError(msg)


def _kept(lab: Lab, key: str, hashes: list[str], rows: NDArray[np.float32]) -> bool:
    """Whether the lab could be written to."""
    try:
        with lab.writing() as con:
            put_vectors(con, key, hashes, rows)
    except (LockedError, ReadOnlyError):
        return False
    return True


def _read(
    lab: Lab, encoder: Encoder, key: str, hashes: list[str]
) -> tuple[NDArray[np.bool_], NDArray[np.float32]]:
    with lab.reading() as con:
        found, vectors = get_vectors(con, key, hashes)
    if not found.any():
        return found, np.zeros((len(hashes), encoder.dim), dtype=np.float32)
    _same_width(encoder, f"{key} of the lab has", vectors.shape[1])
    return found, vectors


def _same_width(encoder: Encoder, what: str, width: int) -> None:
    if width != encoder.dim:
        msg = f"{what} {width} values a text, the model promises {encoder.dim}"
        raise ContractError(msg)


def _cut(encoder: Encoder, texts: Sequence[str], kind: Kind) -> tuple[int | None, float | None]:
    lengths = encoder.lengths(texts, kind)
    if lengths is None:
        return None, None
    whole = int(lengths.whole.sum())
    lost = whole - int(lengths.kept.sum())
    return int((lengths.kept < lengths.whole).sum()), lost / whole if whole else 0.0
