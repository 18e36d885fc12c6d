"""Weighting: factors from recency, salience and status. Rows without the value stay as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from recalltune.candidates.table import Candidates
from recalltune.pipeline.bounds import affine_bounds
from recalltune.pipeline.stage import Affine, ScoreStage
from recalltune.rank.decay import exponential
from recalltune.rank.salience import salience_multiplier

__all__ = ["Recency", "Salience", "Status", "by_age", "by_code"]

Floats = NDArray[np.float64]


def by_age(ages: Floats, curve: Callable[[Floats], Floats], *, undated: float) -> Floats:
    """Apply ``curve`` to the rows that have an age; the others get exactly ``undated``."""
    values = np.full_like(ages, undated)
    dated = ~np.isnan(ages)
    values[dated] = curve(ages[dated])
    return values


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

    def attainable(self, low: float, high: float) -> tuple[float, float]:
        """Return the bounds under factors from 1 to 1 + weight."""
        return affine_bounds((low, high), scale=(1.0, 1.0 + self.weight))


class Salience(ScoreStage):
    """Multiply by 1 + salience_weight * salience; a missing salience multiplies by exactly 1."""

    kind: Literal["salience"] = "salience"
    salience_weight: float = Field(default=0.0, ge=0, le=10)
    """>= 0. 0 is off."""

    def affine(self, candidates: Candidates) -> Affine:
        """Scale by the multiplier."""
        salience = candidates.feature("salience")
        return Affine(salience_multiplier(salience, weight=self.salience_weight))

    def attainable(self, low: float, high: float) -> tuple[float, float]:
        """Return the bounds under factors from 1 to 1 + salience_weight."""
        return affine_bounds((low, high), scale=(1.0, 1.0 + self.salience_weight))


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

    def attainable(self, low: float, high: float) -> tuple[float, float]:
        """Return the bounds under factors from both weights to none."""
        return affine_bounds((low, high), scale=(self.superseded_weight * self.retracted_weight, 1))
