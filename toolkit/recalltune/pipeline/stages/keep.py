"""Thresholds: rows that do not reach a minimum leave the list."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from recalltune.candidates.table import Candidates
from recalltune.pipeline.stage import FilterStage, State

__all__ = ["Threshold"]


class Threshold(FilterStage):
    """Keep rows whose score reaches min_score, on the scale the stages before it produced."""

    loses: ClassVar[str] = "threshold"

    kind: Literal["threshold"] = "threshold"
    min_score: float = Field(default=0.0, ge=0)
    """>= 0. 0 keeps everything. A threshold belongs to the fusion's scale: RRF scores with two
    arms never exceed 2 / (rrf_k + 1)."""

    def asks(self) -> dict[str, float]:
        """The one score all rows have to reach."""
        return {"min_score": self.min_score}

    def minima(self, candidates: Candidates) -> NDArray[np.float64]:
        """Return shape (Q, C): the same minimum for every row."""
        return np.full(candidates.span.shape, self.min_score)

    def keeps(self, state: State, candidates: Candidates) -> NDArray[np.bool_]:
        """Compare the score as it would be shown."""
        del candidates
        return state.score >= self.min_score
