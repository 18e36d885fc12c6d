"""What is searched: everything about the memory that is the same for all queries of one table.

In: the spans of a lab, and the arms that search them. Out: their words, letters and vectors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from recalltune.candidates.settings import Arms, SubstringArm
from recalltune.candidates.world import Worlds
from recalltune.encode import Encoder, vectors_for
from recalltune.rank.nearest import pad_lanes
from recalltune.rank.substring import SubstringIndex
from recalltune.rank.text_index import TextIndex
from recalltune.rank.tokens import TOKENIZERS
from recalltune.store import Lab

__all__ = ["Corpus", "corpus_of"]


@dataclass(frozen=True, eq=False)
class Corpus:
    """Spans as the arms search them; an arm that is off has nothing here."""

    worlds: Worlds
    index: TextIndex | None
    substrings: SubstringIndex | None
    token_sets: list[frozenset[str]] | None
    """One per span; for token similarity."""
    vectors: NDArray[np.float32] | None
    """shape (S, d), unit or zero rows, d padded with zeros to whole lanes."""
    notices: dict[str, int]
    """What was withheld or missing in the memory, by name."""

    @cached_property
    def directed(self) -> NDArray[np.bool_]:
        """Shape (S,); spans whose vector is not zero: only these have a cosine."""
        if self.vectors is None:
            return np.zeros(self.worlds.until.shape, dtype=np.bool_)
        directed: NDArray[np.bool_] = np.any(self.vectors, axis=1)
        return directed


def corpus_of(lab: Lab, worlds: Worlds, arms: Arms, encoder: Encoder | None) -> Corpus:
    """Return the spans of ``worlds`` as ``arms`` search them; texts without a vector get one."""
    texts = worlds.spans.frame["text"].to_list()
    index, substrings, token_sets, vectors = None, None, None, None
    notices = {"untold_spans": worlds.spans.untold}
    if arms.substring is not None:
        gists = worlds.spans.frame["gist"].to_list()
        substrings = SubstringIndex.build(texts, gists)
        token_sets = _snippet_tokens(texts, gists, arms.substring)
    if arms.lexical is not None:
        index = TextIndex.build(texts, arms.lexical.tokeniser)
        token_sets = index.token_sets
    if arms.dense is not None:
        notices["dense_arm_missing"] = int(encoder is None)
    if encoder is not None:
        encoded = vectors_for(lab, encoder, texts, "passage")
        vectors = pad_lanes(encoded.vectors)
        notices["vectors_not_kept"] = encoded.unkept
        notices["zero_vectors"] = int((~vectors.any(axis=1)).sum())
        if encoded.truncated is not None and encoded.share_cut is not None:
            notices["memories_cut_by_the_model"] = encoded.truncated
            # Rounded up: one unread token of a million is not none.
            notices["percent_of_tokens_unread"] = math.ceil(100 * encoded.share_cut)
    return Corpus(worlds, index, substrings, token_sets, vectors, notices)


def _snippet_tokens(
    texts: Sequence[str], gists: Sequence[str | None], arm: SubstringArm
) -> list[frozenset[str]]:
    tokenise = TOKENIZERS[arm.tokeniser]
    snippets = (
        (gist or text)[: arm.snippet_chars] for text, gist in zip(texts, gists, strict=True)
    )
    return [frozenset(tokenise(snippet)) for snippet in snippets]
