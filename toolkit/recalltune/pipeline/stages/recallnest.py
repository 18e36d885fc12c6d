"""RecallNest's scoring chain, stage by stage: what fuses after the vector arm and before the cuts.

In: candidates. Out: multipliers and bonuses, each clipped to [0, 1] as production does. Every
field's default is the published constant; the stages that fade with age are in `recallnest_fade`,
the ones that drop and rearrange in `recallnest_keep`.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from recalltune.candidates.table import Candidates
from recalltune.pipeline.stage import Affine, ScoreStage
from recalltune.pipeline.stages.weigh import by_age
from recalltune.rank.salience import (
    access_boost,
    frequency_multiplier,
    hotness,
    importance_weight,
    length_norm,
    recency_boost,
)

__all__ = [
    "UNIT",
    "AccessBoost",
    "Asset",
    "Boundary",
    "Confidence",
    "FrequencyBoost",
    "HotnessBlend",
    "Importance",
    "Length",
    "RecencyBoost",
    "by_code",
]

UNIT = (0.0, 1.0)
"""Where production keeps every score between two stages."""


def by_code(
    candidates: Candidates, column: str, values: dict[str, float], *, other: float
) -> NDArray[np.float64]:
    """Return shape (Q, C): one number for each text of a coded feature, `other` elsewhere.

    A table without the column holds no such texts, so every row gets ``other``.
    """
    if column not in candidates.features:
        return np.full(candidates.span.shape, other)
    # Padding has code -1 and so reads the last element.
    known = [values.get(text, other) for text in candidates.codes[column]]
    return np.array([*known, other])[candidates.feature(column).astype(np.int64)]


class RecencyBoost(ScoreStage):
    """Add weight * e^(-age/mean_life_days); a memory without event time is left unchanged."""

    kind: Literal["recency_boost"] = "recency_boost"
    weight: float = Field(default=0.1, ge=0, le=1)
    """[0, 1], in units of the score. The bonus at age 0; 0 is off."""
    mean_life_days: float = Field(default=14.0, gt=0, le=36_500)
    """Days, > 0. 1/e of the bonus is left at this age; production's file calls it a half-life."""

    def unread(self) -> set[str]:
        """At weight 0 the mean life is not read."""
        return set() if self.weight else {"mean_life_days"}

    def affine(self, candidates: Candidates) -> Affine:
        """Shift by the bonus."""
        bonus = by_age(
            candidates.feature("age_days"),
            lambda ages: recency_boost(
                ages, weight=self.weight, mean_life_days=self.mean_life_days
            ),
            undated=0.0,
        )
        return Affine(1.0, bonus, UNIT)


class Importance(ScoreStage):
    """Multiply by base + (1 - base) * importance."""

    kind: Literal["importance"] = "importance"
    base: float = Field(default=0.5, ge=0, le=1)
    """[0, 1]. The factor at importance 0; 1 is off."""
    missing: float = Field(default=0.5, ge=0, le=1)
    """[0, 1]. Importance taken for a memory that has none."""

    def affine(self, candidates: Candidates) -> Affine:
        """Scale by the factor; the feature is the memory's salience."""
        known = candidates.feature("salience")
        factor = importance_weight(known, base=self.base, missing=self.missing)
        return Affine(factor, 0.0, UNIT)


class Confidence(ScoreStage):
    """Multiply by base + (1 - base) * confidence."""

    kind: Literal["confidence"] = "confidence"
    base: float = Field(default=0.5, ge=0, le=1)
    """[0, 1]. The factor at confidence 0; 1 is off."""
    missing: float = Field(default=0.7, ge=0, le=1)
    """[0, 1]. Confidence taken for a memory that has none."""

    def affine(self, candidates: Candidates) -> Affine:
        """Scale by the factor."""
        known = candidates.feature("confidence")
        factor = importance_weight(known, base=self.base, missing=self.missing)
        return Affine(factor, 0.0, UNIT)


class Boundary(ScoreStage):
    """Multiply by a factor for durable knowledge or raw evidence, told by layer or by scope.

    Layers `durable` and `evidence` decide where a memory has one of production's layers; the
    optional coded feature `authority` tells curated from other durable rows. All other memories
    are told by the prefix of their scope.
    """

    kind: Literal["boundary"] = "boundary"
    durable_curated: float = Field(default=1.03, ge=0, le=2)
    """[0, 2]. Layer durable, authority structured-memory."""
    durable: float = Field(default=1.01, ge=0, le=2)
    """[0, 2]. Layer durable, any other authority."""
    evidence_transcript: float = Field(default=0.97, ge=0, le=2)
    """[0, 2]. Layer evidence, authority transcript-ingest."""
    evidence: float = Field(default=0.99, ge=0, le=2)
    """[0, 2]. Layer evidence, any other authority."""
    memory_scope: float = Field(default=1.01, ge=0, le=2)
    """[0, 2]. No layer of production's; scope memory:… or asset:…"""
    transcript_scope: float = Field(default=0.99, ge=0, le=2)
    """[0, 2]. No layer of production's; scope of a transcript source, cc:… and the like."""

    def affine(self, candidates: Candidates) -> Affine:
        """Scale by the factor; 1 for everything the six fields do not name."""
        scopes = {text: self._of_scope(text) for text in candidates.codes.get("scope", ())}
        unlayered = by_code(candidates, "scope", scopes, other=1.0)
        durable = by_code(
            candidates, "authority", {"structured-memory": self.durable_curated}, other=self.durable
        )
        evidence = by_code(
            candidates,
            "authority",
            {"transcript-ingest": self.evidence_transcript},
            other=self.evidence,
        )
        layer = by_code(candidates, "layer", _BOUNDARY_LAYERS, other=0.0)
        return Affine(np.choose(layer.astype(int), [unlayered, durable, evidence, 1.0]), 0.0, UNIT)

    def _of_scope(self, scope: str) -> float:
        if scope.startswith(("memory:", "asset:")):
            return self.memory_scope
        return self.transcript_scope if scope.startswith(_TRANSCRIPTS) else 1.0


_BOUNDARY_LAYERS = {"durable": 1.0, "evidence": 2.0, "canonical": 3.0, "session": 3.0}
_TRANSCRIPTS = ("cc:", "codex:", "gemini:", "kimi:", "antigravity:", "minis:")


class Asset(ScoreStage):
    """Multiply by a factor for briefs and for other assets, told by the scope."""

    kind: Literal["asset"] = "asset"
    brief: float = Field(default=0.88, ge=0, le=2)
    """[0, 2]. Scope asset:brief:…"""
    pinned: float = Field(default=1.04, ge=0, le=2)
    """[0, 2]. Every other scope asset:…"""

    def affine(self, candidates: Candidates) -> Affine:
        """Scale by the factor; 1 for what is no asset."""
        scopes = [text for text in candidates.codes.get("scope", ()) if text.startswith("asset:")]
        factors = {
            text: self.brief if text.startswith("asset:brief:") else self.pinned for text in scopes
        }
        return Affine(by_code(candidates, "scope", factors, other=1.0), 0.0, UNIT)


class Length(ScoreStage):
    """Divide by 1 + strength * log2(length / anchor_chars) where the text is longer."""

    kind: Literal["length"] = "length"
    anchor_chars: float = Field(default=800.0, gt=0, le=1_000_000)
    """UTF-16 units, > 0. Texts up to this length are left unchanged."""
    strength: float = Field(default=0.5, ge=0, le=10)
    """>= 0. 0.5 takes a third off at twice the anchor; 0 is off."""

    def unread(self) -> set[str]:
        """At strength 0 the anchor is not read."""
        return set() if self.strength else {"anchor_chars"}

    def affine(self, candidates: Candidates) -> Affine:
        """Scale by the reciprocal."""
        length = np.maximum(candidates.feature("utf16_chars"), 0)
        factor = length_norm(length, anchor_chars=self.anchor_chars, strength=self.strength)
        return Affine(factor, 0.0, UNIT)


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
