"""Configs in which use moves one fade and nothing else: their tables, and exact scores of cells."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recalltune.candidates.table import Candidates
from recalltune.pipeline.stage import Affine, ScoreStage, Stage
from recalltune.pipeline.stages.arrange import Defer, Diversify, Select
from recalltune.pipeline.stages.fade import Decay
from recalltune.pipeline.stages.lancedb_pro import HalfFloorDecay
from recalltune.rank.decay import half_floor
from recalltune.rank.order import round_significant
from recalltune.replay.reinforcing.split import Part, Prefixes, advance, stage_key
from recalltune.replay.reinforcing.tables import ABSENT, FADING, UNMOVED, Tables

__all__ = ["Fade", "Fades", "Stretch"]

Floats = NDArray[np.float64]
FadeStage = Decay | HalfFloorDecay

TABLES = 4
"""Sets of tables kept."""
_STRETCHING = ("reinforcement", "access_mean_life_days", "access_half_life_days")
"""How an access counts."""
_OWN = (
    *_STRETCHING, "max_multiple", "half_life_days", "mean_life_days", "rate_days",
    "stability_days", "layer_days", "exempt_pinned", "exempt_layers", "exempt_categories",
    "dynamic_divisor",
)  # fmt: skip
"""What ends in the days of a cell, or in whether it fades."""


@dataclass(frozen=True)
class Stretch:
    """How use stretches the days of a fade; the parameters of `rank.reinforced_half_life`."""

    factor: float
    fade_days: float
    max_multiple: float
    fade: str

    @classmethod
    def of(cls, stage: FadeStage) -> Stretch:
        """Read them from a stage."""
        if isinstance(stage, Decay):
            days, fade = stage.access_mean_life_days, "mean_life"
        else:
            days, fade = stage.access_half_life_days, "half_life"
        return cls(stage.reinforcement, days, stage.max_multiple, fade)


@dataclass(frozen=True, eq=False)
class Fade:
    """One config of that kind."""

    stage: FadeStage
    stretch: Stretch
    top_k: int
    after: tuple[Floats | float, ...]
    """What multiplies the score after the fade, shape (Q, C) or one number each, in order."""
    tables: Tables
    group: tuple[str, ...]
    """Fades of one group weight and multiply alike, given base, age and days of a cell."""

    @property
    def clamp(self) -> tuple[float, float] | None:
        """Where the fade clips the score."""
        return _clamp(self.stage)

    def scores(
        self, row: int, columns: NDArray[np.intp], days: Floats, base: Floats, age: Floats
    ) -> Floats:
        """Return the exact final scores of cells of a query, from their days as use left them.

        The operations are those of the stages, in their order, so the bits are too.
        """
        score = Affine(_weight(self.stage, age, days), 0.0, self.clamp)(base)
        for scale in self.after:
            score = score * (scale[row, columns] if isinstance(scale, np.ndarray) else scale)
        return round_significant(score)


class Fades:
    """Recognises such configs; those that differ in nothing but use share their tables."""

    def __init__(self, prefixes: Prefixes) -> None:
        self._prefixes = prefixes
        self._tables: OrderedDict[tuple[str, ...], Tables] = OrderedDict()
        self._recorded = bool(np.any(prefixes.candidates.feature("access_count")))

    def of(self, parts: Sequence[Part]) -> Fade | None:
        """Return a config as a fade; None where more than one fade depends on use."""
        if len(parts) != 1 or not parts[0].rest:
            return None
        part, (stage, *others) = parts[0], parts[0].rest
        plain = part.before.order is None and part.before.places is None
        if not plain or not isinstance(stage, Decay | HalfFloorDecay) or not stage.reinforcement:
            return None
        after: list[Floats | float] = []
        top_k: int | None = None
        for other in others:
            if self._prefixes.reads_use(other, part):
                return None
            if isinstance(other, ScoreStage) and top_k is None:
                scale = _pure_scale(other, part.candidates)
                if scale is None:
                    return None
                # A factor of 1 leaves every bit, so it need not be multiplied.
                after += [] if np.all(scale == 1.0) else [scale]
            elif isinstance(other, Select) and top_k is None and _plain(other):
                top_k = other.top_k
            elif not isinstance(other, Diversify | Defer) or other.compares:
                return None
        if top_k is None or (after and _clamp(stage) is not None):
            return None
        tables = self._shared(part, after)
        group = (stage_key(stage, _OWN), *(stage_key(other) for other in others if after))
        return Fade(stage, Stretch.of(stage), top_k, tuple(after), tables, group)

    def _shared(self, part: Part, after: Sequence[Floats | float]) -> Tables:
        stage, *others = part.rest
        # Without a recorded use the tables know nothing of how an access counts.
        free = () if self._recorded else _STRETCHING
        key = (*part.key, stage_key(stage, free), *(stage_key(other) for other in others))
        if key not in self._tables:
            self._tables[key] = _tables(part, after)
        self._tables.move_to_end(key)
        if len(self._tables) > TABLES:
            self._tables.popitem(last=False)
        return self._tables[key]


def _tables(part: Part, after: Sequence[Floats | float]) -> Tables:
    stage, table, state = part.rest[0], part.candidates, part.before
    assert isinstance(stage, Decay | HalfFloorDecay)
    fading = _fading(stage, table) & state.alive
    age = np.where(fading, table.feature("age_days"), 0.0)
    days = np.where(fading, _unused_days(stage, table), 1.0)
    scaled = state.score
    for scale in after:
        scaled = scaled * scale
    final = state
    for one in part.rest:
        final = advance(one, final, table)
    kind = np.where(fading, FADING, UNMOVED)
    kind[~state.alive] = ABSENT
    rounded = round_significant(np.where(final.alive, final.score, 0.0))
    lower, upper = _bounds(stage, scaled, age, days)
    return Tables(
        kind=kind.astype(np.int8),
        rounded=rounded,
        base=state.score,
        scaled=scaled,
        age=age,
        days=days,
        upper=upper,
        # More uses, and later ones, never shorten the days.
        lower=np.where(scaled >= 0.0, np.minimum(rounded, upper), lower),
    )


def _bounds(stage: FadeStage, scaled: Floats, age: Floats, days: Floats) -> tuple[Floats, Floats]:
    """The weight rises with the days, so its extremes are at both ends of the stretch."""
    ends = [scaled * _weight(stage, age, days * times) for times in (1.0, stage.max_multiple)]
    lower, upper = np.minimum(*ends), np.maximum(*ends)
    clamp = _clamp(stage)
    if clamp is not None:
        lower, upper = np.clip(lower, *clamp), np.clip(upper, *clamp)
    return lower - 1e-12 * np.abs(lower), upper + 1e-12 * np.abs(upper)


def _weight(stage: FadeStage, age: Floats, days: Floats) -> Floats:
    if isinstance(stage, HalfFloorDecay):
        return half_floor(age, mean_life_days=days)
    return stage.weight(age, days)


def _fading(stage: FadeStage, candidates: Candidates) -> NDArray[np.bool_]:
    if isinstance(stage, Decay):
        return stage.fading(candidates)
    dated: NDArray[np.bool_] = ~np.isnan(candidates.feature("age_days"))
    return dated


def _unused_days(stage: FadeStage, candidates: Candidates) -> Floats:
    if isinstance(stage, Decay):
        return stage.unused_days(candidates)
    return stage.divided(candidates, stage.mean_life_days)


def _clamp(stage: FadeStage) -> tuple[float, float] | None:
    return (0.0, 1.0) if isinstance(stage, HalfFloorDecay) else None


def _pure_scale(stage: ScoreStage, candidates: Candidates) -> Floats | float | None:
    operands = stage.affine(candidates)
    no_shift = isinstance(operands.shift, float) and operands.shift == 0.0
    return operands.scale if no_shift and operands.clamp is None else None


def _plain(stage: Stage) -> bool:
    """Whether a selection takes the first places and nothing else."""
    if not isinstance(stage, Select) or stage.budget_tokens is not None:
        return False
    return not any(stage.floors.values()) and not stage.caps
