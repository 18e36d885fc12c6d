"""OpenClaw's factors: decay by the date in a path, and importance in ten points.

In: candidates. Out: multipliers. A memory whose age or importance nothing tells is left unchanged.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import Field

from recalltune.candidates.table import Candidates
from recalltune.pipeline.bounds import affine_bounds
from recalltune.pipeline.stage import Affine, ScoreStage
from recalltune.pipeline.stages.weigh import by_age
from recalltune.rank.annotations import ten_point_multiplier
from recalltune.rank.dated_path import DATED, EVERGREEN, IMPOSSIBLE, path_dates
from recalltune.rank.decay import exponential

__all__ = ["OpenClawDecay", "OpenClawImportance"]

Floats = NDArray[np.float64]

_DAY_US = 86_400_000_000


class OpenClawDecay(ScoreStage):
    """Multiply by 2^-(age/half_life_days); the age is that of the path's date, else of the event.

    Evergreen files never fade: MEMORY.md and what else lies under `memory/` without a date.
    """

    kind: Literal["openclaw_decay"] = "openclaw_decay"
    enabled: bool = True
    """False leaves every score as it is."""
    half_life_days: float = Field(default=30.0, gt=0, le=36_500)
    """Days, > 0. The age at which half of the score is left."""
    paths: Literal["release", "legacy"] = "release"
    """Which paths are dated. release: memory/…/YYYY-MM-DD.md at any depth, with or without a
    -suffix. legacy: memory/YYYY-MM-DD.md only, so that all other dated notes never fade."""

    @property
    def fades(self) -> bool:
        """Whether it is on."""
        return self.enabled

    def unread(self) -> set[str]:
        """Off, nothing else is read."""
        return set() if self.enabled else {"half_life_days", "paths"}

    def affine(self, candidates: Candidates) -> Affine:
        """Scale by the weight."""
        if not self.enabled:
            return Affine()
        days = self.half_life_days
        ages = self.ages(candidates)
        return Affine(by_age(ages, lambda age: exponential(age, half_life_days=days), undated=1.0))

    def ages(self, candidates: Candidates) -> Floats:
        """Return shape (Q, C), days at the query's time; NaN where a memory does not fade."""
        age = candidates.feature("age_days")
        if "path" not in candidates.features:
            return age
        kinds, days = path_dates(candidates.codes["path"], rule=self.paths)
        # Padding has code -1 and so reads the last element.
        code = candidates.feature("path").astype(np.int64)
        kind, day = np.array([*kinds, ""])[code], np.array([*days, np.nan])[code]
        asked = candidates.queries["asked_at"].cast(pl.Float64).fill_null(np.nan).to_numpy()
        by_path = np.maximum((asked[:, None] - day * _DAY_US) / _DAY_US, 0.0)
        return np.where(kind == DATED, by_path, np.where(kind == EVERGREEN, np.nan, age))

    def noticed(self, candidates: Candidates) -> Mapping[str, int]:
        """Count the memories whose path says that they never fade, or names an impossible day."""
        if not self.enabled or "path" not in candidates.features:
            return {}
        kinds, _ = path_dates(candidates.codes["path"], rule=self.paths)
        _, first = np.unique(candidates.span[candidates.valid], return_index=True)
        code = candidates.feature("path")[candidates.valid].astype(np.int64)[first]
        mine = np.array([*kinds, ""])[code]
        evergreen = int((mine == EVERGREEN).sum())
        return {
            "impossible_path_dates": int((mine == IMPOSSIBLE).sum()),
            "evergreen_memories": evergreen,
            # Rounded up: one evergreen note of a thousand is not none.
            "percent_of_memories_evergreen": math.ceil(100 * evergreen / max(mine.size, 1)),
        }

    def attainable(self, low: float, high: float) -> tuple[float, float]:
        """Return the bounds under weights from 0 to 1."""
        return affine_bounds((low, high), scale=(0.0, 1.0)) if self.enabled else (low, high)


class OpenClawImportance(ScoreStage):
    """Multiply by base + step * points, points from 1 to 10; a missing importance leaves the score.

    Points are the feature `importance` where a table has it, else 1 + 9 * salience, without the
    fraction.
    """

    kind: Literal["openclaw_importance"] = "openclaw_importance"
    base: float = Field(default=0.75, ge=0, le=2)
    """[0, 2]. What no points would be worth."""
    step: float = Field(default=0.05, ge=0, le=1)
    """[0, 1]. Worth of a point; as published, 5 points multiply by 1."""

    def affine(self, candidates: Candidates) -> Affine:
        """Scale by the multiplier."""
        points = candidates.features.get("importance")
        if points is None:
            points = 1.0 + 9.0 * candidates.feature("salience")
        return Affine(ten_point_multiplier(points, base=self.base, step=self.step))

    def attainable(self, low: float, high: float) -> tuple[float, float]:
        """Return the bounds under any importance, and none."""
        least, most = self.base + self.step, self.base + 10 * self.step
        return affine_bounds((low, high), scale=(min(least, 1.0), max(most, 1.0)))
