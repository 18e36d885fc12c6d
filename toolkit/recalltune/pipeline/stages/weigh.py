"""Weighting: factors from age, salience and status. Rows without the value are left unchanged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from recalltune.candidates.table import Candidates
from recalltune.pipeline.stage import Affine, ScoreStage
from recalltune.rank.decay import exponential, weibull, with_floor
from recalltune.rank.salience import salience_multiplier

__all__ = ["Decay", "Recency", "Salience", "Status", "by_age"]

Floats = NDArray[np.float64]


def by_age(ages: Floats, curve: Callable[[Floats], Floats], *, undated: float) -> Floats:
    """Apply ``curve`` to the rows that have an age; the others get exactly ``undated``."""
    values = np.full_like(ages, undated)
    dated = ~np.isnan(ages)
    values[dated] = curve(ages[dated])
    return values


class Decay(ScoreStage):
    """Multiply by a weight that falls with age; a memory without event time is left unchanged."""

    kind: Literal["decay"] = "decay"
    family: Literal["none", "exponential", "weibull"] = "exponential"
    """none: off. exponential: 2^-(age/half_life_days). weibull: 2^-((age/half_life_days)^shape)."""
    half_life_days: float = Field(default=30.0, gt=0, le=36_500)
    """Days, > 0. The age at which the weight, before the floor, is one half."""
    shape: float = Field(default=1.0, gt=0, le=5)
    """(0, 5]. Weibull only. Below 1 forgets faster before the half-life and slower after it;
    above 1 is the reverse."""
    floor: float = Field(default=0.0, ge=0, lt=1)
    """[0, 1). floor + (1 - floor) * weight: what never fades."""

    def unread(self) -> set[str]:
        """Return what the family does not read."""
        unread: dict[str, set[str]] = {
            "none": {"half_life_days", "shape", "floor"},
            "exponential": {"shape"},
            "weibull": set(),
        }
        return unread[self.family]

    def affine(self, candidates: Candidates) -> Affine:
        """Scale by the weight."""
        if self.family == "none":
            return Affine()
        return Affine(by_age(candidates.feature("age_days"), self.weight, undated=1.0))

    def weight(self, ages: Floats) -> Floats:
        """Return the weight of each age in days, floor included; 1 for family none."""
        if self.family == "none":
            return np.ones_like(ages)
        if self.family == "exponential":
            weight = exponential(ages, half_life_days=self.half_life_days)
        else:
            weight = weibull(ages, half_life_days=self.half_life_days, shape=self.shape)
        return with_floor(weight, floor=self.floor)


class Recency(ScoreStage):
    """Multiply by 1 + weight * 2^-(age/half_life_days): a bonus for what is fresh."""

    kind: Literal["recency"] = "recency"
    weight: float = Field(default=0.0, ge=0, le=10)
    """>= 0. The bonus at age 0, as a share of the score; 0 is off."""
    half_life_days: float = Field(default=7.0, gt=0, le=36_500)
    """Days, > 0. The age at which half of the bonus is left."""

    def affine(self, candidates: Candidates) -> Affine:
        """Scale by the bonus; without an age there is none."""
        bonus = by_age(
            candidates.feature("age_days"),
            lambda ages: self.weight * exponential(ages, half_life_days=self.half_life_days),
            undated=0.0,
        )
        return Affine(1.0 + bonus)


class Salience(ScoreStage):
    """Multiply by 1 + salience_weight * salience; a missing salience multiplies by exactly 1."""

    kind: Literal["salience"] = "salience"
    salience_weight: float = Field(default=0.0, ge=0, le=10)
    """>= 0. 0 is off."""

    def affine(self, candidates: Candidates) -> Affine:
        """Scale by the multiplier."""
        salience = candidates.feature("salience")
        return Affine(salience_multiplier(salience, weight=self.salience_weight))


class Status(ScoreStage):
    """Demote what was superseded or retracted before the query's time."""

    kind: Literal["status"] = "status"
    superseded_weight: float = Field(default=1.0, ge=0, le=1)
    """[0, 1]. Factor for superseded entries; 1 leaves them, 0 puts them last."""
    retracted_weight: float = Field(default=1.0, ge=0, le=1)
    """[0, 1]. Factor for retracted entries."""

    def affine(self, candidates: Candidates) -> Affine:
        """Scale by the factor of the state as of the query's time."""
        superseded = np.where(candidates.feature("superseded") > 0, self.superseded_weight, 1.0)
        retracted = np.where(candidates.feature("retracted") > 0, self.retracted_weight, 1.0)
        return Affine(superseded * retracted)
