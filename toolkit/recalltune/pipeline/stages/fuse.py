"""Fusion: the lists of the arms become one score."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, field_validator

from recalltune.candidates.settings import Arms
from recalltune.candidates.table import Candidates
from recalltune.errors import ParameterError
from recalltune.pipeline.bounds import ANY_ARM, ArmBounds, Bounds, affine_bounds
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

__all__ = [
    "Calibration",
    "ReciprocalRank",
    "WeightedSum",
    "calibrated",
    "calibrated_bounds",
    "sum_of_some",
]

Calibration = Literal["raw", "min_max", "z_score", "saturate", "logistic", "inverse_distance"]
_WEAKEST = 0.001
"""What the weakest hit adds, so that it adds more than a row the arm did not propose (0)."""
_CALIBRATIONS: Mapping[str, Callable[..., NDArray[np.float64]]] = {
    "min_max": partial(min_max, floor=_WEAKEST),
    "z_score": partial(z_score, weakest=_WEAKEST),
    "saturate": saturate,
    "logistic": logistic,
    "inverse_distance": inverse_distance,
}
_DOMAINS = {"saturate": (0.0, 1e300), "logistic": (-1e300, 1e300), "inverse_distance": (-1.0, 1.0)}
"""What the rising calibrations read; they are flat long before 1e300."""


def _weights(declared: dict[str, float], arms: tuple[str, ...]) -> NDArray[np.float64]:
    unknown = sorted(set(declared) - set(arms))
    if unknown:
        message = f"weights name arms {unknown} that are off; on: {', '.join(arms)}"
        raise ParameterError(message)
    return np.array([declared.get(arm, 1.0) for arm in arms])


def _arms(candidates: Candidates) -> tuple[str, ...]:
    arms = (name.removesuffix("_rank") for name in candidates.features if name.endswith("_rank"))
    return tuple(sorted(arms))


def calibrated(candidates: Candidates, arm: str, calibration: Calibration) -> NDArray[np.float64]:
    """Return shape (Q, C): the arm's scores made comparable, NaN where it did not propose a row."""
    proposed = ~np.isnan(candidates.feature(f"{arm}_rank"))
    scores = np.where(proposed, candidates.feature(f"{arm}_score"), np.nan)
    return scores if calibration == "raw" else _CALIBRATIONS[calibration](scores)


def calibrated_bounds(arm: ArmBounds, calibration: Calibration) -> Bounds:
    """Return the bounds of what `calibrated` makes of an arm's scores."""
    if calibration == "min_max":
        return _WEAKEST, 1.0
    if calibration == "z_score":
        # No two of n values are more than sqrt(2 n) standard deviations apart.
        return _WEAKEST, _WEAKEST + math.sqrt(2.0 * arm.width)
    if calibration == "raw":
        return arm.score
    low, high = np.clip(arm.score, *_DOMAINS[calibration])
    rising = _CALIBRATIONS[calibration]
    return float(rising(low)), float(rising(high))


def sum_of_some(terms: Sequence[Bounds]) -> Bounds:
    """Return the bounds of the sum of one or more of these terms, whichever those are."""
    lows, highs = [low for low, _ in terms], [high for _, high in terms]
    low = sum(term for term in lows if term < 0) or min(lows, default=0.0)
    high = sum(term for term in highs if term > 0) or max(highs, default=0.0)
    return low, high


class _Fusion(ScoreStage):
    fuses: ClassVar[bool] = True
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

    @abstractmethod
    def of_arm(self, name: str, arm: ArmBounds) -> Bounds:
        """Return the bounds of what an arm adds for a row it proposes, before its weight."""

    def fused(self, arms: Mapping[str, ArmBounds], only: str | None = None) -> tuple[float, float]:
        """Return the bounds of a row that ``only``, or one or more of ``arms``, propose."""
        weights = {name: self.weights.get(name, 1.0) for name in arms}
        return sum_of_some(
            [
                affine_bounds(self.of_arm(name, arm), scale=(weights[name], weights[name]))
                for name, arm in arms.items()
                if weights[name] > 0 and only in (None, name)
            ]
        )

    def attainable(self, low: float, high: float) -> tuple[float, float]:
        """Return the bounds whatever arms are on; what was scored before is not read."""
        del low, high
        return self.fused(dict.fromkeys(Arms.model_fields, ANY_ARM))

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
        places = self.places(candidates)
        weights = _weights(self.weights, tuple(places))
        ranks = np.stack([*places.values()])
        return Affine(0.0, rrf(ranks, k=self.rrf_k, divisor=self.divisor, weights=weights))

    def places(self, candidates: Candidates) -> dict[str, NDArray[np.float64]]:
        """Return arm -> shape (Q, C), places from 1; NaN where it did not propose a row."""
        return {arm: candidates.feature(f"{arm}_rank") for arm in _arms(candidates)}

    def of_arm(self, name: str, arm: ArmBounds) -> Bounds:
        """From the worst rank an arm of that width gives to rank 1."""
        del name
        worst, best = self.rrf_k + arm.width / self.divisor, self.rrf_k + 1 / self.divisor
        return 1 / worst, 1 / best


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
        named = self.calibration
        scores = np.stack([calibrated(candidates, arm, named.get(arm, "raw")) for arm in arms])
        return Affine(0.0, weighted_sum(scores, weights=_weights(self.weights, arms)))

    def of_arm(self, name: str, arm: ArmBounds) -> Bounds:
        """As the arm is calibrated."""
        return calibrated_bounds(arm, self.calibration.get(name, "raw"))
