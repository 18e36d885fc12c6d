"""OpenClaw's selection: what reaches the minimum, then keyword hits where places are left.

In: a list and its scores. Out: the list of the eligible; the cut to its length is `select`.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from recalltune.candidates.table import Candidates
from recalltune.pipeline.losses import Losses
from recalltune.pipeline.stage import Affine, FilterStage, State
from recalltune.pipeline.stages.openclaw import found_by, hybrid, vector_score

__all__ = ["OpenClawMinimum"]


class OpenClawMinimum(FilterStage):
    """Keep rows that reach min_score; behind them, or alone, hits of the keyword arm that do not.

    A query with a row that reaches it also keeps rows that the keyword arm found and the dense arm
    did not, behind all others, so that they can only fill places that would stay empty. A query
    without one keeps every row the keyword arm found that reaches relaxed_score.
    """

    loses: ClassVar[str] = "threshold"

    kind: Literal["openclaw_minimum"] = "openclaw_minimum"
    min_score: float = Field(default=0.35, ge=0, le=1)
    """[0, 1], on the scale of the score shown."""
    fill_up: bool = True
    """False: a query with a row that reaches min_score keeps those rows alone."""
    relaxed: bool = True
    """False: a query without one keeps nothing, and is answered by silence."""
    relaxed_score: float = Field(default=0.0, ge=0, le=1)
    """[0, 1]. Until its weights became constants production took min(min_score, text_weight)."""

    def unread(self) -> set[str]:
        """Without relaxing, its minimum is not read."""
        return set() if self.relaxed else {"relaxed_score"}

    def asks(self) -> dict[str, float]:
        """The score that keeps a row whoever found it."""
        return {"min_score": self.min_score}

    def minima(self, candidates: Candidates) -> NDArray[np.float64]:
        """Return shape (Q, C): the same minimum for every row."""
        return np.full(candidates.span.shape, self.min_score)

    def keeps(self, state: State, candidates: Candidates) -> NDArray[np.bool_]:
        """Compare, then add what the keyword arm found."""
        strict = state.score >= self.min_score
        some = (strict & state.alive).any(axis=1, keepdims=True)
        by_words = found_by(candidates, "lexical")
        spare = by_words & (vector_score(candidates) == 0)
        # With one arm alone nothing is filled up.
        rescued = spare if self.fill_up and hybrid(candidates) else np.zeros_like(spare)
        fallback = by_words & (state.score >= self.relaxed_score) & self.relaxed
        return strict | np.where(some, rescued, fallback)

    def losses(
        self,
        before: State,
        candidates: Candidates,
        query: NDArray[np.intp],
        column: NDArray[np.intp],
    ) -> Losses:
        """Return by how much each row misses the minimum that was asked of it."""
        strict = (before.score >= self.min_score) & before.alive
        some: NDArray[np.bool_] = np.any(strict, axis=1)
        by_words = found_by(candidates, "lexical")[query, column]
        spared = self.relaxed & by_words & ~some[query]
        asked = np.where(spared, self.relaxed_score, self.min_score)
        missing = asked - before.score[query, column]
        return Losses.of(self.loses, query.size, margin=missing, unit="score")

    def apply(self, state: State, candidates: Candidates, operands: Affine | None = None) -> State:
        """Drop the rest, and put what was added behind what reaches the minimum."""
        kept = super().apply(state, candidates, operands)
        if kept.order is None:
            return kept  # ordered by score, they are behind already
        score = np.take_along_axis(kept.score, np.maximum(kept.order, 0), axis=-1)
        behind = np.where(kept.order < 0, 2, score < self.min_score)
        places = np.argsort(behind, axis=-1, kind="stable")
        return kept.then(order=np.take_along_axis(kept.order, places, axis=-1))
