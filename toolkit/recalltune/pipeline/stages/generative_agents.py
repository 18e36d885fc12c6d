"""Generative Agents, as published: recency, importance and relevance, each over its own range."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from recalltune.candidates.table import Candidates
from recalltune.pipeline.stage import Affine, ScoreStage
from recalltune.rank.fusion import min_max, weighted_sum

__all__ = ["PaperScore"]

HOURS = 24.0


class PaperScore(ScoreStage):
    """Weighted sum of recency, importance and relevance, each min-maxed over the candidates.

    Recency is ``hourly_decay ^ hours`` since the last use, or since the event for a memory never
    used; importance is salience, relevance the cosine. What a memory lacks adds nothing. Source:
    Park and others 2023; the published code differs (0.99 per place in the list, weights 0.5, 2
    and 3, and the oldest first).
    """

    kind: Literal["generative_agents"] = "generative_agents"
    fuses: ClassVar[bool] = True
    hourly_decay: float = Field(default=0.995, gt=0, le=1)
    """(0, 1]. What is left of the recency after an hour; 0.995 leaves half after 138 hours."""
    recency_weight: float = Field(default=1.0, ge=0, le=100)
    """>= 0. 0 is off."""
    importance_weight: float = Field(default=1.0, ge=0, le=100)
    """>= 0. 0 is off."""
    relevance_weight: float = Field(default=1.0, ge=0, le=100)
    """>= 0. 0 is off."""

    def unread(self) -> set[str]:
        """Without a weight, recency is not read."""
        return {"hourly_decay"} if self.recency_weight == 0.0 else set()

    def attainable(self, low: float, high: float) -> tuple[float, float]:
        """Return 0 and the sum of the weights."""
        del low, high
        return 0.0, self.recency_weight + self.importance_weight + self.relevance_weight

    def affine(self, candidates: Candidates) -> Affine:
        """Set the score."""
        parts = (
            self.recency(candidates),
            candidates.feature("salience"),
            candidates.feature("dense_score"),
        )
        known = [np.where(candidates.valid, part, np.nan) for part in parts]
        spread = np.stack([min_max(part, floor=0.0) for part in known])
        weights = [self.recency_weight, self.importance_weight, self.relevance_weight]
        return Affine(0.0, weighted_sum(spread, weights=weights))

    def recency(self, candidates: Candidates) -> NDArray[np.float64]:
        """Return shape (Q, C), in [0, 1], before the min-max; NaN without a use and an age."""
        used, born = candidates.feature("days_since_access"), candidates.feature("age_days")
        days = np.where(np.isnan(used), born, used)
        recency: NDArray[np.float64] = self.hourly_decay ** (HOURS * days)
        return recency
