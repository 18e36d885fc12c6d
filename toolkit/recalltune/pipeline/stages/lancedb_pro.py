"""memory-lancedb-pro, which RecallNest descends from: its fusion, and both ways its scores fade.

In: candidates. Out: the first score; multipliers. Its other steps are RecallNest's with other
constants. `composite_decay` is its decay engine, `half_floor_decay` what it does without one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from recalltune.candidates.table import Candidates
from recalltune.pipeline.bounds import ArmBounds, affine_bounds
from recalltune.pipeline.stage import Affine, ScoreStage
from recalltune.pipeline.stages.recallnest import UNIT
from recalltune.pipeline.stages.recallnest_fade import TIERS
from recalltune.pipeline.stages.recallnest_fuse import PairFusion
from recalltune.pipeline.stages.weigh import by_code
from recalltune.rank.arm_pair import rescued_sum
from recalltune.rank.decay import half_floor, reinforced_half_life, weibull_rate
from recalltune.rank.lifecycle import (
    importance_half_life,
    lifecycle_composite,
    search_multiplier,
    use_frequency,
)

__all__ = ["CompositeDecay", "HalfFloorDecay", "LanceDbFusion", "Lifecycle"]

Floats = NDArray[np.float64]


class LanceDbFusion(PairFusion):
    """Weighted sum of both arms, which a strong keyword match lifts to a share of its own score.

    What only the lexical arm found is not weighted at all.
    """

    kind: Literal["lancedb_pro_fusion"] = "lancedb_pro_fusion"
    rescue_from: float = Field(default=0.75, ge=0, le=1)
    """[0, 1]. Calibrated lexical score from which a match counts as exact."""
    rescue_share: float = Field(default=0.92, ge=0, le=1)
    """[0, 1]. Share of the lexical score an exact match keeps at least; 0 is off."""

    def unread(self) -> set[str]:
        """Without a share, where the rescue starts is not read."""
        return set() if self.rescue_share else {"rescue_from"}

    def affine(self, candidates: Candidates) -> Affine:
        """Set the score."""
        fused = rescued_sum(
            self.arm_scores(candidates, "dense"),
            self.arm_scores(candidates, "lexical"),
            dense_weight=self.dense_weight,
            lexical_weight=self.lexical_weight,
            rescue_from=self.rescue_from,
            rescue_share=self.rescue_share,
        )
        return Affine(0.0, fused, UNIT)

    def fused(self, arms: Mapping[str, ArmBounds], only: str | None = None) -> tuple[float, float]:
        """Return the bounds of a row that ``only``, or one or both of ``arms``, propose."""
        known = self.bounds_of(arms, only)
        if not known:
            return UNIT
        weights = {"dense": self.dense_weight, "lexical": self.lexical_weight}
        alone = {"dense": self.dense_weight, "lexical": 1.0}
        both = sum(weights[name] * known[name][1] for name in known)
        low = min(alone[name] * known[name][0] for name in known)
        high = max(both, *(alone[name] * known[name][1] for name in known))
        return min(max(low, 0.0), 1.0), min(max(high, 0.0), 1.0)


class _ByTemporalType(ScoreStage):
    dynamic_divisor: float = Field(default=3.0, ge=1, le=1_000)
    """>= 1. Memories whose optional coded feature `temporal_type` is dynamic fade as if their
    days were divided by this."""

    @property
    def fades(self) -> bool:
        """Always."""
        return True

    def divided(self, candidates: Candidates, days: float) -> Floats:
        """Return shape (Q, C), the days of each memory by its temporal type."""
        dynamic = {"dynamic": days / self.dynamic_divisor}
        return by_code(candidates, "temporal_type", dynamic, other=days)


@dataclass(frozen=True, eq=False)
class Lifecycle:
    """What the engine thinks of each memory; shape (Q, C), NaN without event time."""

    recency: Floats
    frequency: Floats
    intrinsic: Floats
    composite: Floats
    multiplier: Floats
    """1 without event time."""


class CompositeDecay(_ByTemporalType):
    """Multiply by lowest + (1 - lowest) * max(floor of the tier, composite, recency).

    composite = recency_weight * recency + frequency_weight * frequency + intrinsic_weight *
    importance * confidence. A memory without event time is left unchanged.
    """

    kind: Literal["composite_decay"] = "composite_decay"
    half_life_days: float = Field(default=30.0, gt=0, le=36_500)
    """> 0. Recency of importance 0 is one half at half_life_days^(1/shape) days since the last
    use: a half-life for shape 1 only."""
    importance_modulation: float = Field(default=1.5, ge=0, le=10)
    """[0, 10]. The half-life is e^(importance_modulation * importance) times as long; 0 is off."""
    core_shape: float = Field(default=0.8, gt=0, le=5)
    """(0, 5]. Below 1 forgets faster before one day and slower after it."""
    working_shape: float = Field(default=1.0, gt=0, le=5)
    """(0, 5]."""
    peripheral_shape: float = Field(default=1.3, gt=0, le=5)
    """(0, 5]."""
    core_floor: float = Field(default=0.9, ge=0, le=1)
    """[0, 1]. What the tier core guarantees."""
    working_floor: float = Field(default=0.7, ge=0, le=1)
    """[0, 1]. What the tier working guarantees, and a memory without a tier of its own has."""
    peripheral_floor: float = Field(default=0.5, ge=0, le=1)
    """[0, 1]."""
    recency_weight: float = Field(default=0.4, ge=0, le=1)
    """[0, 1]. Worth of a memory just used or made."""
    frequency_weight: float = Field(default=0.3, ge=0, le=1)
    """[0, 1]. Worth of a memory often used."""
    intrinsic_weight: float = Field(default=0.3, ge=0, le=1)
    """[0, 1]. Worth of importance 1 at confidence 1."""
    saturation_accesses: float = Field(default=5.0, gt=0, le=10_000)
    """> 0. Accesses at which 0.632 of the frequency is reached."""
    gap_mean_life_days: float = Field(default=30.0, gt=0, le=36_500)
    """Days, > 0. Mean time between two uses at which half of what density is worth is nearly
    gone: 0.684 of the frequency is left."""
    lowest: float = Field(default=0.3, ge=0, le=1)
    """[0, 1]. The factor no memory falls below; 1 is off."""
    missing_importance: float = Field(default=0.7, ge=0, le=1)
    """[0, 1]. Importance taken for a memory that has none."""
    missing_confidence: float = Field(default=0.7, ge=0, le=1)
    """[0, 1]. Confidence taken for a memory that has none."""

    def unread(self) -> set[str]:
        """Where nothing falls below 1 nothing else is read."""
        others = set(type(self).model_fields) - {"kind", "name", "lowest"}
        return others if self.lowest == 1 else set()

    def lifecycle(self, candidates: Candidates) -> Lifecycle:
        """Return the terms, the composite and the factor of every candidate."""
        age = candidates.feature("age_days")
        dated = ~np.isnan(age)
        count = candidates.feature("access_count")[dated]
        since = candidates.feature("days_since_access")[dated]
        # Production counts from the last use, or from creation where there was none.
        idle = np.where((count > 0) & ~np.isnan(since), since, age[dated])
        tier = self._tier(candidates)[dated]
        importance = self._filled(candidates, "salience", self.missing_importance)[dated]
        shape = np.array([self.peripheral_shape, self.working_shape, self.core_shape])[tier]
        half_life = importance_half_life(
            importance,
            half_life_days=self.divided(candidates, self.half_life_days)[dated],
            modulation=self.importance_modulation,
        )
        recency = weibull_rate(idle, half_life_days=half_life, shape=shape)
        frequency = use_frequency(
            count,
            age[dated] - idle,
            saturation=self.saturation_accesses,
            gap_mean_life_days=self.gap_mean_life_days,
        )
        confidence = self._filled(candidates, "confidence", self.missing_confidence)
        intrinsic = importance * confidence[dated]
        weights = (self.recency_weight, self.frequency_weight, self.intrinsic_weight)
        composite = lifecycle_composite(recency, frequency, intrinsic, weights=weights)
        floor = np.array([self.peripheral_floor, self.working_floor, self.core_floor])[tier]
        multiplier = search_multiplier(composite, recency, floor, lowest=self.lowest)
        return Lifecycle(
            recency=_spread(dated, recency, np.nan),
            frequency=_spread(dated, frequency, np.nan),
            intrinsic=_spread(dated, intrinsic, np.nan),
            composite=_spread(dated, composite, np.nan),
            multiplier=_spread(dated, multiplier, 1.0),
        )

    def affine(self, candidates: Candidates) -> Affine:
        """Scale by the factor."""
        return Affine(self.lifecycle(candidates).multiplier, 0.0, UNIT)

    def attainable(self, low: float, high: float) -> tuple[float, float]:
        """Return the bounds under factors from the one the lowest floor allows to 1."""
        floor = min(self.core_floor, self.working_floor, self.peripheral_floor)
        least = self.lowest + (1.0 - self.lowest) * floor
        return affine_bounds((low, high), scale=(least, 1.0), clamp=UNIT)

    def _tier(self, candidates: Candidates) -> NDArray[np.intp]:
        places = {name: float(place) for place, name in enumerate(TIERS)}
        return by_code(candidates, "tier", places, other=places["working"]).astype(np.intp)

    @staticmethod
    def _filled(candidates: Candidates, name: str, missing: float) -> Floats:
        known = candidates.feature(name)
        return np.where(np.isnan(known), missing, known)


class HalfFloorDecay(_ByTemporalType):
    """Multiply by 0.5 + 0.5 * e^(-age/mean life); use stretches the mean life.

    A memory without event time is left unchanged.
    """

    kind: Literal["half_floor_decay"] = "half_floor_decay"
    mean_life_days: float = Field(default=60.0, gt=0, le=36_500)
    """Days, > 0. 0.684 of the score is left here; production's file calls it a half-life."""
    reinforcement: float = Field(default=0.5, ge=0, le=10)
    """>= 0. How strongly use stretches the mean life; 0 is off."""
    access_half_life_days: float = Field(default=30.0, gt=0, le=36_500)
    """Days, > 0. An access this long ago counts half."""
    max_multiple: float = Field(default=3.0, ge=1, le=100)
    """>= 1. The longest mean life, as a multiple."""

    def unread(self) -> set[str]:
        """Without reinforcement, how long an access counts is not read."""
        return set() if self.reinforcement else {"access_half_life_days", "max_multiple"}

    def mean_life(self, candidates: Candidates) -> Floats:
        """Return shape (Q, C), days: the mean life as use has stretched it."""
        return reinforced_half_life(
            candidates.feature("access_count"),
            candidates.feature("days_since_access"),
            half_life_days=self.divided(candidates, self.mean_life_days),
            factor=self.reinforcement,
            fade_days=self.access_half_life_days,
            max_multiple=self.max_multiple,
            fade="half_life",
        )

    def affine(self, candidates: Candidates) -> Affine:
        """Scale by the weight."""
        age = candidates.feature("age_days")
        dated = ~np.isnan(age)
        weight = half_floor(age[dated], mean_life_days=self.mean_life(candidates)[dated])
        return Affine(_spread(dated, weight, 1.0), 0.0, UNIT)

    def attainable(self, low: float, high: float) -> tuple[float, float]:
        """Return the bounds under weights from one half to 1."""
        return affine_bounds((low, high), scale=(0.5, 1.0), clamp=UNIT)


def _spread(dated: NDArray[np.bool_], values: Floats, other: float) -> Floats:
    whole = np.full(dated.shape, other)
    whole[dated] = values
    return whole
