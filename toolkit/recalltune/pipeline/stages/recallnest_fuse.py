"""RecallNest's hybrid fusion: a weighted mean of both arms, and one arm's word where it is alone.

In: candidates. Out: the first score, in [0, 1]. Called RRF there, it is none. The base is shared
with memory-lancedb-pro, which RecallNest descends from.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from recalltune.candidates.table import Candidates
from recalltune.pipeline.bounds import ArmBounds, Bounds
from recalltune.pipeline.stage import Affine, ScoreStage, State
from recalltune.pipeline.stages.fuse import Calibration, calibrated, calibrated_bounds
from recalltune.pipeline.stages.recallnest import UNIT
from recalltune.pipeline.stages.recallnest_keep import short_queries
from recalltune.rank.arm_pair import agreeing_mean

__all__ = ["PairFusion", "RecallNestFusion"]

_ARMS = ("dense", "lexical")
_CALIBRATION: Mapping[str, Calibration] = {"dense": "inverse_distance", "lexical": "logistic"}


class PairFusion(ScoreStage):
    """Base of the fusions that know two arms by name; rows that neither found are dropped."""

    fuses: ClassVar[bool] = True

    dense_weight: float = Field(default=0.7, ge=0, le=10)
    """>= 0. Weight of the dense arm; production's files call it vectorWeight."""
    lexical_weight: float = Field(default=0.3, ge=0, le=10)
    """>= 0. Weight of the lexical arm; bm25Weight there."""
    calibration: dict[str, Calibration] = Field(default_factory=lambda: dict(_CALIBRATION))
    """arm -> how its raw score comes to lie in [0, 1]; an arm that is not named is used raw."""

    def arm_scores(self, candidates: Candidates, arm: str) -> NDArray[np.float64]:
        """Return shape (Q, C), calibrated; NaN where the arm, if it is on, proposed no row."""
        if f"{arm}_rank" not in candidates.features:
            return np.full(candidates.span.shape, np.nan)
        return calibrated(candidates, arm, self.calibration.get(arm, "raw"))

    def apply(self, state: State, candidates: Candidates, operands: Affine | None = None) -> State:
        """Set the score; an arm of another name adds no rows."""
        fused = super().apply(state, candidates, operands)
        return fused.then(alive=fused.alive & self.found(candidates))

    def found(self, candidates: Candidates) -> NDArray[np.bool_]:
        """Return shape (Q, C), True where one of the two arms proposed the row."""
        dense, lexical = (~np.isnan(candidates.optional(f"{arm}_rank")) for arm in _ARMS)
        return dense | lexical

    def attainable(self, low: float, high: float) -> tuple[float, float]:
        """Return what the score is clipped to; what was scored before is not read."""
        del low, high
        return UNIT

    def bounds_of(self, arms: Mapping[str, ArmBounds], only: str | None) -> dict[str, Bounds]:
        """Return the bounds of each of the two arms that can propose the row, calibrated."""
        return {
            name: calibrated_bounds(arms[name], self.calibration.get(name, "raw"))
            for name in _ARMS
            if name in arms and only in (None, name)
        }


class RecallNestFusion(PairFusion):
    """agreement * weighted mean where both arms found a row, else the score of the one that did.

    Short queries trust words more: the dense weight shrinks, the lexical one grows. The optional
    feature `graph_score` adds graph_weight of it to what the dense arm found.
    """

    kind: Literal["recallnest_fusion"] = "recallnest_fusion"
    agreement: float = Field(default=1.05, ge=0, le=10)
    """>= 0. Factor for rows that both arms found; 1 is off."""
    short_words: int = Field(default=4, ge=0, le=100)
    """>= 0. Up to this many counted words a query is short; see `count_words`."""
    short_dense_factor: float = Field(default=0.7, ge=0, le=10)
    """>= 0. Factor on dense_weight for short queries."""
    short_lexical_factor: float = Field(default=1.5, ge=0, le=10)
    """>= 0. Factor on lexical_weight for short queries ..."""
    short_lexical_cap: float = Field(default=0.6, ge=0, le=10)
    """>= 0. ... and the most it can then be."""
    short_lexical_only: float = Field(default=1.15, ge=0, le=10)
    """>= 0. Factor for rows of a short query that only the lexical arm found."""
    graph_weight: float = Field(default=0.15, ge=0, le=10)
    """>= 0. Share of the graph score added to a row the dense arm found."""
    graph_bonus: float = Field(default=0.10, ge=0, le=1)
    """[0, 1]. Added to the graph score of a row that the lexical, not the dense arm found."""

    @model_validator(mode="after")
    def _some_weight(self) -> RecallNestFusion:
        short = self.dense_weight * self.short_dense_factor, self._short_lexical
        if not (self.dense_weight + self.lexical_weight and sum(short)):
            message = "dense_weight and lexical_weight must not both be 0, nor for short queries"
            raise ValueError(message)
        return self

    def found(self, candidates: Candidates) -> NDArray[np.bool_]:
        """Return shape (Q, C), True where an arm or the graph found the row."""
        return super().found(candidates) | ~np.isnan(candidates.optional("graph_score"))

    @property
    def _short_lexical(self) -> float:
        return min(self.lexical_weight * self.short_lexical_factor, self.short_lexical_cap)

    def affine(self, candidates: Candidates) -> Affine:
        """Set the score."""
        short = short_queries(candidates, self.short_words)
        dense_weight = self.dense_weight * np.where(short, self.short_dense_factor, 1.0)
        fused = agreeing_mean(
            self.arm_scores(candidates, "dense"),
            self.arm_scores(candidates, "lexical"),
            candidates.optional("graph_score"),
            dense_weight=dense_weight,
            lexical_weight=np.where(short, self._short_lexical, self.lexical_weight),
            agreement=self.agreement,
            lexical_factor=np.where(short, self.short_lexical_only, 1.0),
            graph_weight=self.graph_weight,
            graph_bonus=self.graph_bonus,
        )
        return Affine(0.0, fused, UNIT)

    def fused(self, arms: Mapping[str, ArmBounds], only: str | None = None) -> tuple[float, float]:
        """Return the bounds of a row that ``only``, or one or both of ``arms``, propose."""
        known = self.bounds_of(arms, only)
        if not known:
            return UNIT
        low, high = min(b[0] for b in known.values()), max(b[1] for b in known.values())
        factors = [1.0]
        factors += [self.short_lexical_only] if "lexical" in known else []
        factors += [self.agreement] if len(known) == 2 else []
        return max(low * min(factors), 0.0), min(high * max(factors), 1.0)
