"""RecallNest's age stages: tiers, who is exempt, time decay per tier, the evolution blend.

In: candidates. Out: multipliers and blends. All stages share the tier and exemption rules, and
all leave a memory without event time unchanged.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, field_validator

from recalltune.candidates.table import Candidates
from recalltune.pipeline.bounds import affine_bounds
from recalltune.pipeline.stage import Affine, ScoreStage
from recalltune.pipeline.stages.recallnest import UNIT
from recalltune.pipeline.stages.weigh import by_code
from recalltune.rank.decay import reinforced_half_life, weibull, with_floor
from recalltune.rank.emotion import arousal_multiplier, emotional_half_life
from recalltune.rank.salience import evolution_score

__all__ = ["TIERS", "EmotionDecay", "EvolutionBlend", "TierDecay", "TieredStage"]

TIERS = ("peripheral", "working", "core")
"""From the first to be forgotten to the last."""
_UNKNOWN = -1


class TieredStage(ScoreStage):
    """Base of the age stages: which tier a memory is in, and which memories never fade."""

    core_importance: float = Field(default=0.95, ge=0, le=1)
    """[0, 1]. A memory without a tier of its own is core from this importance on ..."""
    core_accesses: int = Field(default=10, ge=0)
    """>= 0. ... or from this many accesses on."""
    working_importance: float = Field(default=0.8, ge=0, le=1)
    """[0, 1]. Otherwise it is working from this importance on ..."""
    working_accesses: int = Field(default=3, ge=0)
    """>= 0. ... or from this many accesses on; else it is peripheral."""
    exempt_categories: tuple[str, ...] = ("patterns",)
    """Categories that never fade."""
    exempt_core_importance: float = Field(default=0.95, ge=0, le=1)
    """[0, 1]. A core memory of this importance or more never fades."""
    exempt_days: float = Field(default=7.0, ge=0, le=36_500)
    """Days, >= 0. A memory used less than this long ago does not fade."""
    missing: float = Field(default=0.5, ge=0, le=1)
    """[0, 1]. Importance taken for a memory that has none."""

    @field_validator("exempt_categories", mode="before")
    @classmethod
    def _as_tuple(cls, names: Any) -> Any:
        return tuple(names) if isinstance(names, list) else names

    def importance(self, candidates: Candidates) -> NDArray[np.float64]:
        """Return shape (Q, C), the importance with the missing ones filled."""
        known = candidates.feature("salience")
        return np.where(np.isnan(known), self.missing, known)

    def tier(self, candidates: Candidates) -> NDArray[np.intp]:
        """Return shape (Q, C), positions in `TIERS`: the memory's own tier, else inferred."""
        own = by_code(
            candidates, "tier", {name: n for n, name in enumerate(TIERS)}, other=_UNKNOWN
        ).astype(np.intp)
        importance = self.importance(candidates)
        count = candidates.feature("access_count")
        core = (importance >= self.core_importance) | (count >= self.core_accesses)
        working = (importance >= self.working_importance) | (count >= self.working_accesses)
        return np.where(own == _UNKNOWN, np.where(core, 2, np.where(working, 1, 0)), own)

    def exempt(self, candidates: Candidates) -> NDArray[np.bool_]:
        """Return shape (Q, C), True where a memory never fades."""
        kept = dict.fromkeys(self.exempt_categories, 1.0)
        exempt = by_code(candidates, "category", kept, other=0.0) > 0
        important = self.importance(candidates) >= self.exempt_core_importance
        exempt |= (self.tier(candidates) == TIERS.index("core")) & important
        exempt |= candidates.feature("days_since_access") < self.exempt_days
        return exempt | (candidates.feature("pinned") > 0)


class FadingStage(TieredStage):
    """Base of the two decays: a weight by age, with shape and floor per tier."""

    half_life_days: float = Field(default=60.0, gt=0, le=36_500)
    """Days, > 0. Where the unfloored weight of a memory that was never used is one half."""
    core_shape: float = Field(default=0.8, gt=0, le=5)
    """(0, 5]. Below 1 forgets faster before the half-life and slower after it."""
    core_floor: float = Field(default=0.85, ge=0, lt=1)
    """[0, 1). What a core memory keeps for ever."""
    working_shape: float = Field(default=1.0, gt=0, le=5)
    """(0, 5]."""
    working_floor: float = Field(default=0.65, ge=0, lt=1)
    """[0, 1)."""
    peripheral_shape: float = Field(default=1.3, gt=0, le=5)
    """(0, 5]. Above 1 forgets slower before the half-life and faster after it."""
    peripheral_floor: float = Field(default=0.45, ge=0, lt=1)
    """[0, 1)."""
    reinforcement: float = Field(default=0.5, ge=0, le=10)
    """>= 0. How strongly use stretches the half-life; 0 is off."""
    access_mean_life_days: float = Field(default=30.0, gt=0, le=36_500)
    """Days, > 0. 1/e of an access counts this long after it."""
    max_multiple: float = Field(default=3.0, ge=1, le=100)
    """>= 1. The longest half-life, in units of half_life_days."""

    @property
    def fades(self) -> bool:
        """Always."""
        return True

    def unread(self) -> set[str]:
        """Without reinforcement, how long an access counts is not read."""
        return set() if self.reinforcement else {"access_mean_life_days", "max_multiple"}

    def half_life(self, candidates: Candidates) -> NDArray[np.float64]:
        """Return shape (Q, C), days: the half-life as use has stretched it."""
        return reinforced_half_life(
            candidates.feature("access_count"),
            candidates.feature("days_since_access"),
            half_life_days=self.half_life_days,
            factor=self.reinforcement,
            fade_days=self.access_mean_life_days,
            max_multiple=self.max_multiple,
        )

    def fading(self, candidates: Candidates) -> NDArray[np.bool_]:
        """Return shape (Q, C), True where a memory has an event time and no exemption."""
        dated: NDArray[np.bool_] = ~np.isnan(candidates.feature("age_days"))
        return dated & ~self.exempt(candidates)

    def weight(self, candidates: Candidates) -> NDArray[np.float64]:
        """Return shape (Q, C), in (0, 1]: what age leaves of a score."""
        ages, fading = candidates.feature("age_days"), self.fading(candidates)
        tier = self.tier(candidates)[fading]
        shape = np.array([self.peripheral_shape, self.working_shape, self.core_shape])[tier]
        floor = np.array([self.peripheral_floor, self.working_floor, self.core_floor])[tier]
        half_life = self.half_life(candidates)[fading]
        weight = np.ones_like(ages)
        weight[fading] = with_floor(
            weibull(ages[fading], half_life_days=half_life, shape=shape), floor
        )
        return weight

    @property
    def least(self) -> float:
        """The lowest floor of the three tiers."""
        return min(self.core_floor, self.working_floor, self.peripheral_floor)


class TierDecay(FadingStage):
    """Multiply by floor + (1 - floor) * 2^-((age/half-life)^shape), with shape and floor per tier.

    Use stretches the half-life, up to max_multiple times; exempt memories do not fade at all.
    """

    kind: Literal["tier_decay"] = "tier_decay"

    def affine(self, candidates: Candidates) -> Affine:
        """Scale by the weight."""
        return Affine(self.weight(candidates), 0.0, UNIT)

    def attainable(self, low: float, high: float) -> tuple[float, float]:
        """Return the bounds under weights from the lowest floor to 1."""
        return affine_bounds((low, high), scale=(self.least, 1.0), clamp=UNIT)


class EmotionDecay(FadingStage):
    """`tier_decay` that strong feeling slows down and arousal lifts.

    Reads the optional features `valence`, in [-1, 1], and `arousal`, in [0, 1]; without them it is
    `tier_decay`. Exempt memories are not lifted. Not part of the preset: production has it behind a
    flag that is off, and blends valence into two more stages then.
    """

    kind: Literal["emotion_decay"] = "emotion_decay"
    stretch: float = Field(default=0.3, ge=0, le=10)
    """>= 0. How much longer the half-life is, use included, at valence -1 or 1; 0 is off."""
    dead_zone: float = Field(default=0.1, ge=0, le=1)
    """[0, 1]. Valence weaker than this counts 0."""
    arousal_weight: float = Field(default=0.1, ge=0, le=1)
    """[0, 1]. Bonus at arousal 1; 0 is off."""

    def unread(self) -> set[str]:
        """Without a stretch the dead zone is not read."""
        unread: set[str] = super().unread()
        return unread if self.stretch else unread | {"dead_zone"}

    def half_life(self, candidates: Candidates) -> NDArray[np.float64]:
        """Return shape (Q, C), days: as use and then feeling have stretched it."""
        return emotional_half_life(
            candidates.optional("valence"),
            half_life_days=super().half_life(candidates),
            stretch=self.stretch,
            dead_zone=self.dead_zone,
        )

    def lift(self, candidates: Candidates) -> NDArray[np.float64]:
        """Return shape (Q, C), the bonus of arousal."""
        arousal = candidates.optional("arousal")
        return arousal_multiplier(arousal, weight=self.arousal_weight)

    def affine(self, candidates: Candidates) -> Affine:
        """Scale by the weight, and by the bonus where a memory fades."""
        lift = np.where(self.fading(candidates), self.lift(candidates), 1.0)
        return Affine(self.weight(candidates) * lift, 0.0, UNIT)

    def attainable(self, low: float, high: float) -> tuple[float, float]:
        """Return the bounds under weights from the lowest floor to the largest bonus."""
        greatest = 1.0 + self.arousal_weight
        return affine_bounds((low, high), scale=(self.least, greatest), clamp=UNIT)


class EvolutionBlend(TieredStage):
    """Blend in what a memory is worth from its age, use and importance; 1 where it never fades."""

    kind: Literal["evolution_blend"] = "evolution_blend"
    weight: float = Field(default=0.1, ge=0, le=1)
    """[0, 1]. Share of the worth in the blend; 0 is off."""
    age_weight: float = Field(default=0.2, ge=0, le=1)
    """[0, 1]. Worth of a memory of age 0."""
    access_weight: float = Field(default=0.3, ge=0, le=1)
    """[0, 1]. Worth of a memory just used."""
    importance_weight: float = Field(default=0.5, ge=0, le=1)
    """[0, 1]. Worth of importance 1."""
    age_half_life_days: float = Field(default=90.0, gt=0, le=36_500)
    """Days, > 0. Where half of age_weight is left."""
    access_half_life_days: float = Field(default=30.0, gt=0, le=36_500)
    """Days, > 0. How long ago an access counts half."""

    def unread(self) -> set[str]:
        """At weight 0 nothing else is read."""
        return set() if self.weight else set(type(self).model_fields) - {"kind", "name", "weight"}

    def worth(self, candidates: Candidates) -> NDArray[np.float64]:
        """Return shape (Q, C), before exemptions; NaN for a memory without event time."""
        ages = candidates.feature("age_days")
        timed = ~np.isnan(ages)
        worth = np.full_like(ages, np.nan)
        worth[timed] = evolution_score(
            ages[timed],
            candidates.feature("access_count")[timed],
            candidates.feature("days_since_access")[timed],
            self.importance(candidates)[timed],
            weights=(self.age_weight, self.access_weight, self.importance_weight),
            age_half_life_days=self.age_half_life_days,
            access_half_life_days=self.access_half_life_days,
        )
        return worth

    def affine(self, candidates: Candidates) -> Affine:
        """Scale by the share of the score, shift by the share of the worth."""
        worth = self.worth(candidates)
        share = np.where(np.isnan(worth), 0.0, self.weight)
        worth = np.where(self.exempt(candidates), 1.0, np.nan_to_num(worth))
        return Affine(1.0 - share, share * worth, UNIT)

    def attainable(self, low: float, high: float) -> tuple[float, float]:
        """Return the bounds under no blend, and one with the least or the greatest worth."""
        kept = 1.0 - self.weight
        greatest = max(1.0, self.age_weight + self.access_weight + self.importance_weight)
        bounds = (min(low, low * kept), max(high, high * kept + self.weight * greatest))
        return affine_bounds(bounds, clamp=UNIT)
