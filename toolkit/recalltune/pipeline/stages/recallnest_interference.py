"""RecallNest's interference: a near-duplicate that is weak, or one too many, steps back.

In: candidates and a state. Out: the list in another order, some scores lowered.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from recalltune.candidates.table import Candidates
from recalltune.pipeline.bounds import affine_bounds
from recalltune.pipeline.losses import Losses, places_in
from recalltune.pipeline.stage import Affine, ListStage, State
from recalltune.pipeline.stages.arrange import pool_similarity
from recalltune.rank.interference import Interference as Found
from recalltune.rank.interference import interfere

__all__ = ["Interference"]


class Interference(ListStage):
    """Move weak near-duplicates of a stronger row to the tail, and those beyond a full cluster.

    Not part of the preset: production has it off (`enableRIF`).
    """

    kind: Literal["interference"] = "interference"
    threshold: float = Field(default=0.85, ge=-1, le=1)
    """[-1, 1]. Strictly more similar rows are near-duplicates."""
    ratio: float = Field(default=0.8, ge=0, le=1)
    """[0, 1]. Below this share of the other's score a near-duplicate is weak."""
    cluster_size: int = Field(default=3, ge=1, le=1_000)
    """>= 1. So many near-duplicates stay where they are ..."""
    crowded_factor: float = Field(default=0.5, ge=0, le=1)
    """[0, 1]. ... and any more have their score multiplied by this and go to the tail."""
    min_rows: int = Field(default=3, ge=0, le=1_000)
    """>= 0. Shorter lists are left alone."""
    drop_weaker: bool = False
    """True: the weak leave the list, as production's code does by a slip. False: they go to the
    tail, as its comments say."""
    similarity: Literal["cosine", "jaccard"] = "cosine"
    """Between vectors, or between token sets."""

    @property
    def compares(self) -> float:
        """The whole list."""
        return math.inf

    def attainable(self, low: float, high: float) -> tuple[float, float]:
        """Return the bounds where a row may be one too many of its cluster."""
        return affine_bounds((low, high), scale=(self.crowded_factor, 1.0))

    def apply(self, state: State, candidates: Candidates, operands: Affine | None = None) -> State:
        """Rearrange each list, lower the scores of the superfluous, drop the weak if asked to."""
        del operands
        order = state.listed()
        alike = pool_similarity(candidates, np.maximum(order, 0), self.similarity)
        found = self._found(state.score, order, alike)
        factor, alive = np.ones_like(state.score), state.alive.copy()
        query, place = np.nonzero(order >= 0)
        column = order[query, place]
        factor[query, column] = found.factor[query, place]
        alive[query, column] &= ~found.dropped[query, place]
        moved = np.take_along_axis(order, np.maximum(found.order, 0), axis=1)
        return state.then(
            score=state.score * factor,
            alive=alive,
            order=np.where(found.order >= 0, moved, -1),
        )

    def losses(
        self,
        before: State,
        candidates: Candidates,
        query: NDArray[np.intp],
        column: NDArray[np.intp],
    ) -> Losses:
        """Return which stronger row each one resembles, and how much more than it may."""
        asked, lane = np.unique(query, return_inverse=True)
        order = before.listed()[asked]
        part = candidates.take(asked.tolist())
        alike = pool_similarity(part, np.maximum(order, 0), self.similarity)
        found = self._found(before.score[asked], order, alike)
        place = places_in(order, lane, column)
        stronger = found.beside[lane, place]
        return Losses.of(
            self.loses,
            query.size,
            margin=alike[lane, place, stronger] - self.threshold,
            unit="similarity",
            by=order[lane, stronger],
        )

    def _found(
        self, score: NDArray[np.float64], order: NDArray[np.intp], alike: NDArray[np.float64]
    ) -> Found:
        return interfere(
            np.take_along_axis(score, np.maximum(order, 0), axis=1),
            alike,
            order >= 0,
            threshold=self.threshold,
            ratio=self.ratio,
            cluster_size=self.cluster_size,
            crowded_factor=self.crowded_factor,
            drop_weaker=self.drop_weaker,
            min_rows=self.min_rows,
        )
