"""RecallNest's scoring chain, stage by stage: what follows the fusion and precedes the cuts.

In: candidates. Out: multipliers and bonuses, each clipped to [0, 1] as production does. Every
field's default is the published constant; the stages that read accesses are in `recallnest_use`,
those that fade with age in `recallnest_fade`, those that drop and rearrange in `recallnest_keep`.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from pydantic import Field

from recalltune.candidates.table import Candidates
from recalltune.pipeline.bounds import affine_bounds
from recalltune.pipeline.stage import Affine, ScoreStage
from recalltune.pipeline.stages.weigh import by_age, by_code
from recalltune.rank.salience import importance_weight, length_norm, recency_boost

__all__ = [
    "UNIT",
    "Asset",
    "Boundary",
    "Confidence",
    "Importance",
    "Length",
    "RecencyBoost",
]

UNIT = (0.0, 1.0)
"""Where production keeps every score between two stages."""


class RecencyBoost(ScoreStage):
    """Add weight * e^(-age/mean_life_days); a memory without event time is left unchanged."""

    kind: Literal["recency_boost"] = "recency_boost"
    weight: float = Field(default=0.1, ge=0, le=1)
    """[0, 1], in units of the score. The bonus at age 0; 0 is off."""
    mean_life_days: float = Field(default=14.0, gt=0, le=36_500)
    """Days, > 0. 1/e of the bonus is left at this age; production's file calls it a half-life."""
    boost_future: bool = False
    """True: a memory dated after the query gets more than the weight, the more the further ahead,
    as production does. False: it counts as new."""

    def unread(self) -> set[str]:
        """At weight 0 nothing else is read."""
        return set() if self.weight else {"mean_life_days", "boost_future"}

    def affine(self, candidates: Candidates) -> Affine:
        """Shift by the bonus."""
        ages = candidates.feature("age_days")
        ahead = candidates.optional("days_ahead", absent=0.0)[~np.isnan(ages)]
        bonus = by_age(
            ages,
            lambda known: recency_boost(
                known,
                weight=self.weight,
                mean_life_days=self.mean_life_days,
                days_ahead=ahead if self.boost_future else 0.0,
            ),
            undated=0.0,
        )
        return Affine(1.0, bonus, UNIT)

    def attainable(self, low: float, high: float) -> tuple[float, float]:
        """Return the bounds under no bonus and the largest one."""
        largest = math.inf if self.boost_future and self.weight else self.weight
        return affine_bounds((low, high), shift=(0.0, largest), clamp=UNIT)


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

    def attainable(self, low: float, high: float) -> tuple[float, float]:
        """Return the bounds under factors from base to 1."""
        return affine_bounds((low, high), scale=(self.base, 1.0), clamp=UNIT)


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

    def attainable(self, low: float, high: float) -> tuple[float, float]:
        """Return the bounds under factors from base to 1."""
        return affine_bounds((low, high), scale=(self.base, 1.0), clamp=UNIT)


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

    def attainable(self, low: float, high: float) -> tuple[float, float]:
        """Return the bounds under the six factors and none."""
        factors = [getattr(self, name) for name in type(self).model_fields if name not in _NAMES]
        factors.append(1.0)
        return affine_bounds((low, high), scale=(min(factors), max(factors)), clamp=UNIT)

    def _of_scope(self, scope: str) -> float:
        if scope.startswith(("memory:", "asset:")):
            return self.memory_scope
        return self.transcript_scope if scope.startswith(_TRANSCRIPTS) else 1.0


_NAMES = {"kind", "name"}
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

    def attainable(self, low: float, high: float) -> tuple[float, float]:
        """Return the bounds under both factors and none."""
        factors = (self.brief, self.pinned, 1.0)
        return affine_bounds((low, high), scale=(min(factors), max(factors)), clamp=UNIT)


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

    def attainable(self, low: float, high: float) -> tuple[float, float]:
        """Return the bounds under factors down to 0: a text has no greatest length."""
        return affine_bounds((low, high), scale=(0.0 if self.strength else 1.0, 1.0), clamp=UNIT)
