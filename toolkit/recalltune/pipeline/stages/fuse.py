"""Fusion: the lists of the arms become one score."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, field_validator

from recalltune.candidates.table import Candidates
from recalltune.errors import ParameterError
from recalltune.pipeline.stage import Affine, ScoreStage, State
from recalltune.rank.fusion import (
    inverse_distance,
    logistic,
    min_max,
    rrf,
    saturate,
    weighted_sum,
    z_score,
)

__all__ = ["ReciprocalRank", "WeightedSum"]

Calibration = Literal["raw", "min_max", "z_score", "saturate", "logistic", "inverse_distance"]
_CALIBRATIONS = {
    "min_max": min_max,
    "z_score": z_score,
    "saturate": saturate,
    "logistic": logistic,
    "inverse_distance": inverse_distance,
}


def _weights(declared: dict[str, float], arms: tuple[str, ...]) -> NDArray[np.float64]:
    unknown = sorted(set(declared) - set(arms))
    if unknown:
        message = f"weights name arms {unknown} that are off; on: {', '.join(arms)}"
        raise ParameterError(message)
    return np.array([declared.get(arm, 1.0) for arm in arms])


def _arms(candidates: Candidates) -> tuple[str, ...]:
    arms = (name.removesuffix("_rank") for name in candidates.features if name.endswith("_rank"))
    return tuple(sorted(arms))


class _Fusion(ScoreStage):
    weights: dict[str, float] = Field(default_factory=dict)
    """arm -> weight, >= 0; an arm that is not named weighs 1. At least one must be positive, and
    rows that only arms of weight 0 proposed are dropped."""

    @field_validator("weights")
    @classmethod
    def _some_weight(cls, weights: dict[str, float]) -> dict[str, float]:
        if any(weight < 0 for weight in weights.values()):
            message = "must be >= 0 for every arm"
            raise ValueError(message)
        return weights

    def apply(self, state: State, candidates: Candidates, operands: Affine | None = None) -> State:
        """Set the score; an arm of weight zero adds no rows."""
        fused = super().apply(state, candidates, operands)
        silent = [arm for arm, weight in self.weights.items() if weight == 0.0]
        if not silent:
            return fused
        heard = [arm for arm in _arms(candidates) if arm not in silent]
        found = [~np.isnan(candidates.feature(f"{arm}_rank")) for arm in heard]
        return fused.then(alive=fused.alive & np.logical_or.reduce(found))

    def canonical(self) -> dict[str, Any]:
        """A weight of 1 is the same as none named."""
        named = {arm: weight for arm, weight in sorted(self.weights.items()) if weight != 1.0}
        return {**super().canonical(), "weights": named}


class ReciprocalRank(_Fusion):
    """Reciprocal rank fusion: the sum over arms of weight / (rrf_k + rank / divisor)."""

    kind: Literal["rrf"] = "rrf"
    rrf_k: float = Field(default=60.0, ge=0, le=10_000)
    """>= 0. Larger values flatten the difference between ranks."""
    divisor: float = Field(default=1.0, gt=0, le=10_000)
    """> 0. Ranks are divided by it; 1 is the published form, dsh-auto-memory uses 60."""

    def affine(self, candidates: Candidates) -> Affine:
        """Set the score; a row that no weighted arm ranked gets 0 and is dropped."""
        arms = _arms(candidates)
        ranks = np.stack([candidates.feature(f"{arm}_rank") for arm in arms])
        weights = _weights(self.weights, arms)
        return Affine(0.0, rrf(ranks, k=self.rrf_k, divisor=self.divisor, weights=weights))


class WeightedSum(_Fusion):
    """Weighted sum of calibrated arm scores; an arm that did not propose a row adds 0."""

    kind: Literal["weighted"] = "weighted"
    calibration: dict[str, Calibration] = Field(default_factory=dict)
    """arm -> how its raw score becomes comparable; an arm that is not named is used raw."""

    def affine(self, candidates: Candidates) -> Affine:
        """Set the score."""
        arms = _arms(candidates)
        unknown = sorted(set(self.calibration) - set(arms))
        if unknown:
            message = f"calibration names arms {unknown} that are off; on: {', '.join(arms)}"
            raise ParameterError(message)
        scores = np.stack([self._calibrated(candidates, arm) for arm in arms])
        return Affine(0.0, weighted_sum(scores, weights=_weights(self.weights, arms)))

    def _calibrated(self, candidates: Candidates, arm: str) -> NDArray[np.float64]:
        proposed = ~np.isnan(candidates.feature(f"{arm}_rank"))
        scores = np.where(proposed, candidates.feature(f"{arm}_score"), np.nan)
        calibrate = _CALIBRATIONS.get(self.calibration.get(arm, "raw"))
        return scores if calibrate is None else calibrate(scores)
