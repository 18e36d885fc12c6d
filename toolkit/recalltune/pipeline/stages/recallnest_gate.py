"""RecallNest's look at the query: what is too trivial to answer, what names something exactly.

In: the text of each query. Out: an empty list; or the best keyword matches put first. A stage that
treats the query before anything is ranked stands before the fusion.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from recalltune.candidates.table import Candidates
from recalltune.pipeline.stage import Affine, FilterStage, ListStage, State, compact
from recalltune.rank.query_gates import has_exact_token, is_trivial

__all__ = ["ExactTokens", "SkipTrivial"]


class SkipTrivial(FilterStage):
    """Answer nothing to a greeting, a command, an acknowledgement or a query that is too short.

    Two or more short words without a question mark are too short ("restart policy"), a single word
    is not; a query that asks for memory never is.
    """

    gates: ClassVar[bool] = True

    kind: Literal["skip_trivial"] = "skip_trivial"
    min_chars: int = Field(default=15, ge=0, le=10_000)
    """UTF-16 units, >= 0. Several words need this many."""
    min_chars_cjk: int = Field(default=2, ge=0, le=10_000)
    """UTF-16 units, >= 0. A query with Chinese or Japanese characters needs this many."""
    least_chars: int = Field(default=4, ge=0, le=10_000)
    """UTF-16 units, >= 0. Any other query needs this many."""

    def skips(self, text: str) -> bool:
        """Whether a query of that text is answered with nothing."""
        return is_trivial(
            text,
            min_chars=self.min_chars,
            min_chars_cjk=self.min_chars_cjk,
            least_chars=self.least_chars,
        )

    def keeps(self, state: State, candidates: Candidates) -> NDArray[np.bool_]:
        """Keep all rows of a query or none."""
        del state
        texts = candidates.queries["text"].to_list()
        asked = np.array([text is None or not self.skips(text) for text in texts], dtype=np.bool_)
        return np.broadcast_to(asked[:, np.newaxis], candidates.span.shape)


class ExactTokens(ListStage):
    """Put the best keyword matches first where a query names a file, an identifier or a hash.

    They are rows the lexical arm ranked and the list does not hold, whatever dropped them; a query
    of which nothing is left gets none. Before `select` the list keeps its length, after it it
    grows. Without a lexical arm nothing changes. Not part of the preset: production's vector mode
    asks its keyword index once more, the preset has no lexical arm.
    """

    kind: Literal["exact_tokens"] = "exact_tokens"
    rows: int = Field(default=3, ge=0, le=1_000)
    """Rows, >= 0, put first at most; 0 is off."""
    min_chars: int = Field(default=5, ge=0, le=1_000)
    """Characters, >= 0. Shorter names do not count."""

    def asked(self, candidates: Candidates) -> NDArray[np.bool_]:
        """Return shape (Q,), True for queries that name something exactly."""
        texts = candidates.queries["text"].to_list()
        found = [
            text is not None and has_exact_token(text, min_chars=self.min_chars) for text in texts
        ]
        return np.array(found, dtype=np.bool_)

    def apply(self, state: State, candidates: Candidates, operands: Affine | None = None) -> State:
        """Lengthen the list at its head; scores stay."""
        del operands
        order = state.listed()
        ranks = candidates.optional("lexical_rank")
        query, place = np.nonzero(order >= 0)
        listed = np.zeros(ranks.shape, dtype=np.bool_)
        listed[query, order[query, place]] = True
        answered = state.alive.any(axis=1) & self.asked(candidates)
        wanted = answered[:, np.newaxis] & ~listed & ~np.isnan(ranks)
        best = np.argsort(np.where(wanted, ranks, np.inf), axis=1, kind="stable")[:, : self.rows]
        first = np.where(np.take_along_axis(wanted, best, axis=1), best, -1)
        alive = state.alive.copy()
        query, place = np.nonzero(first >= 0)
        alive[query, first[query, place]] = True
        return state.then(order=compact(np.concatenate([first, order], axis=1)), alive=alive)
