"""RecallNest's step between fusion and chain: the best rows go on, blended with their cosine.

In: candidates and a state. Out: fewer rows; scores with a share of the cosine. The reranking model
production may call instead is not modelled: without its key it does this.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from recalltune.candidates.table import Candidates
from recalltune.pipeline.bounds import affine_bounds
from recalltune.pipeline.losses import Losses, places_in
from recalltune.pipeline.stage import Affine, FilterStage, ScoreStage, State
from recalltune.pipeline.stages.recallnest import UNIT

__all__ = ["LightRerank", "RerankPool"]


class RerankPool(FilterStage):
    """Keep the best rows of each query; only these are reranked and go on."""

    loses: ClassVar[str] = "pool"

    kind: Literal["rerank_pool"] = "rerank_pool"
    rows: int = Field(default=20, ge=1, le=10_000)
    """Rows, >= 1. Production takes twice the length of the list that is asked for."""

    def keeps(self, state: State, candidates: Candidates) -> NDArray[np.bool_]:
        """Keep what stands in the first rows of the list."""
        best = state.listed()[:, : self.rows]
        kept = np.zeros(candidates.span.shape, dtype=np.bool_)
        query, place = np.nonzero(best >= 0)
        kept[query, best[query, place]] = True
        return kept

    def losses(
        self,
        before: State,
        candidates: Candidates,
        query: NDArray[np.intp],
        column: NDArray[np.intp],
    ) -> Losses:
        """Return how many places below the last row of the pool each row stood."""
        del candidates
        order = before.listed()
        behind = places_in(order, query, column) + 1 - self.rows
        last = order[query, self.rows - 1]
        return Losses.of(
            self.loses, query.size, margin=behind.astype(np.float64), unit="places", by=last
        )


class LightRerank(ScoreStage):
    """Blend in the cosine between query and memory, also where the dense arm did not propose it.

    A row without a vector is left unchanged.
    """

    kind: Literal["light_rerank"] = "light_rerank"
    cosine_share: float = Field(default=0.3, ge=0, le=1)
    """[0, 1]. Share of the cosine; the rest is the score. 0 is off."""

    def affine(self, candidates: Candidates) -> Affine:
        """Scale by the share of the score, shift by the share of the cosine."""
        cosine = candidates.optional("dense_score")
        share = np.where(np.isnan(cosine), 0.0, self.cosine_share)
        return Affine(1.0 - share, share * np.nan_to_num(cosine), UNIT)

    def attainable(self, low: float, high: float) -> tuple[float, float]:
        """Return the bounds under no blend, and one with a cosine of -1 or 1."""
        kept = 1.0 - self.cosine_share
        bounds = (
            min(low, low * kept - self.cosine_share),
            max(high, high * kept + self.cosine_share),
        )
        return affine_bounds(bounds, clamp=UNIT)
