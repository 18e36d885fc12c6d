"""dsh-auto-memory: reciprocal rank fusion with an arm for the time asked about and one for layers.

Both further arms give places among the candidates, not values: with sixteen memories of the first
layer, the best of the second layer stands at place seventeen.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from recalltune.candidates.table import Candidates
from recalltune.pipeline.bounds import ArmBounds
from recalltune.pipeline.stage import Affine, ScoreStage
from recalltune.rank.fusion import rrf
from recalltune.rank.order import rank_order

__all__ = ["ARMS", "LAYER_ORDER", "LayeredFusion"]

ARMS = ("dense", "lexical")
"""The arms of the table it reads; a row that only another arm proposed gets no place in them."""
LAYER_ORDER = ("project", "whiteboard", "user", "reflection", "log")
"""Production's order; any other layer comes after these, by name."""

Floats = NDArray[np.float64]


class LayeredFusion(ScoreStage):
    """The sum over dense, lexical, time and layer of 1 / (rrf_k + place / divisor)."""

    kind: Literal["dsh_rrf"] = "dsh_rrf"
    fuses: ClassVar[bool] = True
    rrf_k: float = Field(default=60.0, ge=0, le=10_000)
    """>= 0. Larger values flatten the difference between places."""
    divisor: float = Field(default=60.0, gt=0, le=10_000)
    """> 0. Places are divided by it. At 60, place 5 is worth 0.1 % less than place 1; at 1, 6 %."""
    time: Literal["asked", "newest", "none"] = "asked"
    """asked, as in production: memories from the time the query names come first; they are told
    by a feature `in_time_asked` (1, 0 or NaN), and without it there is no such arm. newest: by
    age. none: off."""
    layer: Literal["order", "none"] = "order"
    """order: by LAYER_ORDER. none: off."""

    def attainable(self, low: float, high: float) -> tuple[float, float]:
        """Return 0 and the score of a row that is first in all four arms."""
        del low, high
        return 0.0, self._most(len(ARMS))

    def fused(self, arms: Mapping[str, ArmBounds], only: str | None = None) -> tuple[float, float]:
        """Return the same with the arms that are on."""
        return 0.0, self._most(sum(arm in arms and only in (None, arm) for arm in ARMS))

    def _most(self, arms: int) -> float:
        further = (self.time != "none") + (self.layer != "none")
        return (arms + further) / (self.rrf_k + 1.0 / self.divisor)

    def affine(self, candidates: Candidates) -> Affine:
        """Set the score."""
        places = np.stack([*self.places(candidates).values()])
        return Affine(0.0, rrf(places, k=self.rrf_k, divisor=self.divisor))

    def places(self, candidates: Candidates) -> dict[str, Floats]:
        """Return arm -> shape (Q, C), places from 1; NaN where the arm has none for a row."""
        nowhere = np.full(candidates.span.shape, np.nan)
        return {
            **{arm: candidates.features.get(f"{arm}_rank", nowhere) for arm in ARMS},
            "time": _places(self._times(candidates, nowhere), candidates),
            "layer": _places(self._layers(candidates, nowhere), candidates),
        }

    def _times(self, candidates: Candidates, nowhere: Floats) -> Floats:
        if self.time == "asked":
            return candidates.features.get("in_time_asked", nowhere)
        return nowhere if self.time == "none" else -candidates.feature("age_days")

    def _layers(self, candidates: Candidates, nowhere: Floats) -> Floats:
        """A number a layer, higher is earlier; a row without a layer has none."""
        if self.layer == "none":
            return nowhere
        names = candidates.codes["layer"]
        first = sorted(range(len(names)), key=lambda code: _before(names[code]))
        value = np.full(len(names) + 1, np.nan)  # the last element is what padding reads
        value[first] = -np.arange(len(names), dtype=np.float64)
        value[[code for code, name in enumerate(names) if not name]] = np.nan
        return value[candidates.feature("layer").astype(np.int64)]


def _before(layer: str) -> tuple[int, str]:
    known = layer in LAYER_ORDER
    return (LAYER_ORDER.index(layer) if known else len(LAYER_ORDER)), layer


def _places(values: Floats, candidates: Candidates) -> Floats:
    """Places from 1 by value descending, then column; none at all where all values are equal."""
    present = candidates.valid & ~np.isnan(values)
    order = rank_order(np.where(present, values, 0.0), present)
    places = np.empty(values.shape)
    np.put_along_axis(places, order, np.arange(1.0, values.shape[1] + 1.0)[None, :], axis=1)
    low = np.min(values, axis=1, keepdims=True, where=present, initial=np.inf)
    high = np.max(values, axis=1, keepdims=True, where=present, initial=-np.inf)
    return np.where(present & (high > low), places, np.nan)
