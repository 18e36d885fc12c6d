"""What every encoder promises: an identity, a width, unit rows, and how much of a text it read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from recalltune.errors import ContractError

__all__ = ["Encoder", "Kind", "Lengths", "has_words", "identity", "printable", "unit_rows"]

Kind = Literal["query", "passage"]


@dataclass(frozen=True)
class Lengths:
    """How long texts are and how much of each the model reads, in the model's own unit."""

    whole: NDArray[np.int64]
    """shape (n,), >= 0. Length of each text, prompt included."""
    kept: NDArray[np.int64]
    """shape (n,), 0 to ``whole``. What is left after the model's limit."""


@runtime_checkable
class Encoder(Protocol):
    """A local embedding model.

    ``encoder_id`` names model, revision, prompts, width, precision and normalisation: two encoders
    with one id give the same vectors, and nothing else may share a cache.
    """

    @property
    def encoder_id(self) -> str:
        """Identity of the vector space, prompts of both kinds included."""

    @property
    def dim(self) -> int:
        """Width of the vectors."""

    def id_of(self, kind: Kind) -> str:
        """Identity of the vectors of one kind; equal for both where the model has no prompts."""

    def encode(self, texts: Sequence[str], kind: Kind) -> NDArray[np.float32]:
        """Unit rows, shape (n, dim); a zero row for a text without a word."""

    def lengths(self, texts: Sequence[str], kind: Kind) -> Lengths | None:
        """Whole and kept length of each text, or None where the model does not tell its limit."""


def identity(
    model: str,
    revision: str,
    *,
    prompt: str | dict[Kind, str],
    dim: int,
    precision: str = "float32",
    normalisation: str = "unit",
) -> str:
    """Identity of a vector space: what must be equal for two vectors to be comparable.

    Parameters
    ----------
    model, revision
        Name of the model, and the version or content digest of its weights.
    prompt
        Text put before every input; a mapping where queries and passages differ.
    dim
        Width of the vectors, > 0.
    precision, normalisation
        Number type of the weights, and how rows are scaled.

    Examples
    --------
    >>> identity("mini", "r1", prompt="query: ", dim=384)
    'mini@r1|prompt="query: "|384|float32|unit'
    """
    told = json.dumps(prompt, ensure_ascii=False, sort_keys=True)
    return f"{model}@{revision}|prompt={told}|{dim}|{precision}|{normalisation}"


def has_words(text: str) -> bool:
    """Whether a text holds a letter or digit of any script; without one there is nothing to embed.

    Examples
    --------
    >>> [has_words(text) for text in ("记忆", "x", " …!? ", "")]
    [True, True, False, False]
    """
    return any(character.isalnum() for character in text)


def printable(text: str) -> str:
    """Text that every tokeniser accepts: lone surrogates, legal in JSON, become question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")


def unit_rows(
    rows: NDArray[np.floating], texts: Sequence[str], *, dim: int, encoder_id: str
) -> NDArray[np.float32]:
    """Rows scaled to length 1, zero where the text has no word or the model gave a zero row.

    Parameters
    ----------
    rows
        shape (n, dim), finite. Raw vectors of ``texts``.
    texts
        length n.
    dim, encoder_id
        What the encoder promised; named in the error.

    Returns
    -------
    NDArray[np.float32]
        shape (n, dim), every row of length 1 or 0. A zero row abstains from the dense arm.

    Raises
    ------
    ContractError
        If the shape is another, or a value is not finite.
    """
    if rows.shape != (len(texts), dim):
        msg = (
            f"{encoder_id} must give {(len(texts), dim)} values for {len(texts)} texts, "
            f"got {rows.shape}"
        )
        raise ContractError(msg)
    wide = rows.astype(np.float64)
    broken = np.flatnonzero(~np.isfinite(wide).all(axis=1))
    if broken.size:
        first = texts[int(broken[0])][:60]
        msg = f"{encoder_id} gave a value that is not finite, first for text {first!r}"
        raise ContractError(msg)
    wide *= np.fromiter(map(has_words, texts), dtype=bool, count=len(texts))[:, None]
    norm = np.linalg.norm(wide, axis=1, keepdims=True)
    unit: NDArray[np.float32] = (wide / np.where(norm > 0.0, norm, 1.0)).astype(np.float32)
    return unit
