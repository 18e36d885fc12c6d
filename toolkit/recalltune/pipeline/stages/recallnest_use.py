"""RecallNest's stages for what was used: bonus per access, hotness, frequency.

In: candidates. Out: multipliers and a blend, each clipped to [0, 1] as production does. A memory
that was never used is left unchanged.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from pydantic import Field

from recalltune.candidates.table import Candidates
from recalltune.pipeline.bounds import affine_bounds
from recalltune.pipeline.stage import Affine, ScoreStage
from recalltune.pipeline.stages.recallnest import UNIT
from recalltune.rank.salience import access_boost, frequency_multiplier, hotness

__all__ = ["AccessBoost", "FrequencyBoost", "HotnessBlend"]


class AccessBoost(ScoreStage):
    """Multiply by 1 + min(cap, weight * log2(1 + accesses))."""

    kind: Literal["access_boost"] = "access_boost"
    weight: float = Field(default=0.03, ge=0, le=1)
    """[0, 1]. Bonus of the first access and of each doubling after it; 0 is off."""
    cap: float = Field(default=0.15, ge=0, le=1)
    """[0, 1]. The largest bonus; 0 is off."""

    def unread(self) -> set[str]:
        """Where one of the two is 0 the other is not read."""
        if not self.weight:
            return {"cap"}
        return set() if self.cap else {"weight"}

    def affine(self, candidates: Candidates) -> Affine:
        """Scale by the bonus."""
        count = candidates.feature("access_count")
        return Affine(access_boost(count, weight=self.weight, cap=self.cap), 0.0, UNIT)

    def attainable(self, low: float, high: float) -> tuple[float, float]:
        """Return the bounds under no bonus and the largest one."""
        largest = 1.0 + (self.cap if self.weight else 0.0)
        return affine_bounds((low, high), scale=(1.0, largest), clamp=UNIT)


class HotnessBlend(ScoreStage):
    """Blend in how hot a memory is; one that was never used is left unchanged."""

    kind: Literal["hotness_blend"] = "hotness_blend"
    weight: float = Field(default=0.0, ge=0, le=1)
    """[0, 1]. Share of the hotness in the blend; 0, as published, is off."""
    mean_life_days: float = Field(default=10.0, gt=0, le=36_500)
    """Days, > 0. 1/e of the heat is left this long after the last access."""

    def unread(self) -> set[str]:
        """At weight 0 the mean life is not read."""
        return set() if self.weight else {"mean_life_days"}

    def affine(self, candidates: Candidates) -> Affine:
        """Scale by the share of the score, shift by the share of the hotness."""
        count = candidates.feature("access_count")
        days = candidates.feature("days_since_access")
        heat = hotness(count, days, mean_life_days=self.mean_life_days)
        share = np.where(count > 0, self.weight, 0.0)
        return Affine(1.0 - share, share * heat, UNIT)

    def attainable(self, low: float, high: float) -> tuple[float, float]:
        """Return the bounds under no blend, and one with a heat of 0 or 1."""
        kept = 1.0 - self.weight
        bounds = (min(low, low * kept), max(high, high * kept + self.weight))
        return affine_bounds(bounds, clamp=UNIT)


class FrequencyBoost(ScoreStage):
    """Multiply by 1 + weight * log2(fresh accesses); without a ceiling, as published.

    Not part of the preset: production reads a statistics file that a new installation lacks.
    """

    kind: Literal["frequency_boost"] = "frequency_boost"
    weight: float = Field(default=0.15, ge=0, le=1)
    """[0, 1]. Bonus of each doubling of the fresh accesses; 0 is off."""
    half_life_days: float = Field(default=30.0, gt=0, le=36_500)
    """Days, > 0. Accesses whose last one is this old count half."""
    min_hits: float = Field(default=2.0, ge=1, le=1_000_000)
    """>= 1. With fewer accesses, counted or fresh, there is no bonus."""

    def unread(self) -> set[str]:
        """At weight 0 nothing else is read."""
        return set() if self.weight else {"half_life_days", "min_hits"}

    def affine(self, candidates: Candidates) -> Affine:
        """Scale by the bonus."""
        multiplier = frequency_multiplier(
            candidates.feature("access_count"),
            candidates.feature("days_since_access"),
            weight=self.weight,
            half_life_days=self.half_life_days,
            min_hits=self.min_hits,
        )
        return Affine(multiplier, 0.0, UNIT)

    def attainable(self, low: float, high: float) -> tuple[float, float]:
        """Return the bounds under no bonus and one without a ceiling."""
        return affine_bounds((low, high), scale=(1.0, math.inf if self.weight else 1.0), clamp=UNIT)
