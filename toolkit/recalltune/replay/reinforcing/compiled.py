"""One fade at a time through the compiled loop, with NumPy where two scores are too close."""

from __future__ import annotations

import functools
import math

import numpy as np
from numpy.typing import NDArray

from recalltune.pipeline.stages.fade import Decay
from recalltune.rank import feedback
from recalltune.rank.decay import reinforced_half_life
from recalltune.replay.reinforcing.fade import Fade
from recalltune.replay.reinforcing.rule import AccessRule
from recalltune.replay.reinforcing.tables import ABSENT, FADING
from recalltune.replay.reinforcing.uses import Recorded, days_between

__all__ = ["Loop", "fits"]


def fits(fade: Fade) -> bool:
    """Whether the loop can walk this fade."""
    return fade.top_k <= feedback.LARGEST_TOP_K


class Loop:
    """The loop over one table; after each config only what it touched is reset.

    Its state takes 24 bytes a memory, whatever the number of configs.
    """

    def __init__(self, recorded: Recorded, rule: AccessRule) -> None:
        self._recorded, self._rule = recorded, rule
        self._cell = recorded.cell.astype(np.int32)
        self._count = np.zeros_like(recorded.count)
        self._last, self._counted = recorded.last.copy(), recorded.last.copy()
        self._ends = np.zeros(2, dtype=np.int64)

    def walk(self, fade: Fade) -> NDArray[np.int32]:
        """Return the lists of one config, shape (Q, K), as the reference makes them."""
        recorded = self._recorded
        queries, width = recorded.cell.shape
        top_k = max(1, min(fade.top_k, width))
        shown_top = min(self._rule.shown_top or top_k, top_k)
        counter = self._rule.counter(self._rule.counter_of(fade.stage))
        lists = np.full((queries, top_k), -1, dtype=np.int32)
        queue = np.empty(queries * shown_top, dtype=np.int32)
        go_on = functools.partial(
            feedback.compiled(),
            asked=recorded.asked,
            order=recorded.order,
            silent=recorded.silent,
            cell=self._cell,
            **vars(fade.tables.compact(top_k)),
            before=recorded.count,
            count=self._count,
            last=self._last,
            counted=self._counted,
            queue_memory=queue,
            queue_at=np.empty(queue.size, dtype=np.int64),
            ends=self._ends,
            lists=lists,
            lag=counter.lag_us,
            cooldown=counter.cooldown_us,
            top_k=top_k,
            shown_top=shown_top,
            **_numbers(fade),
        )
        step = go_on(first=0, told=False)
        while step < queries:
            row = int(recorded.order[step])
            listed = self._exact(fade, row)[:top_k]
            lists[row, : listed.size] = listed
            step = go_on(first=step, told=True)
        self._reset(queue[: self._ends[1]])
        return lists

    def _reset(self, memories: NDArray[np.int32]) -> None:
        self._count[memories] = 0
        self._last[memories] = self._counted[memories] = self._recorded.last[memories]
        self._ends[:] = 0

    def _exact(self, fade: Fade, row: int) -> NDArray[np.intp]:
        """The list of one query by NumPy, as the uses stand in the loop."""
        recorded, tables = self._recorded, fade.tables
        cell, score = recorded.cell[row], tables.rounded[row].copy()
        column = np.flatnonzero((tables.kind[row] == FADING) & (self._count[cell] > 0))
        memory = cell[column]
        days = reinforced_half_life(
            recorded.count[memory] + self._count[memory],
            days_between(int(recorded.asked[row]), self._last[memory]),
            half_life_days=tables.days[row, column],
            factor=fade.stretch.factor,
            fade_days=fade.stretch.fade_days,
            max_multiple=fade.stretch.max_multiple,
            fade=fade.stretch.fade,
        )
        age, base = tables.age[row, column], tables.base[row, column]
        score[column] = fade.scores(row, column, days, base, age)
        alive = np.flatnonzero(tables.kind[row] != ABSENT)
        return alive[np.argsort(-score[alive], kind="stable")]


def _numbers(fade: Fade) -> dict[str, float | int | bool]:
    """The parameters of the stretch and of the curve, as the loop takes them."""
    stage, stretch = fade.stage, fade.stretch
    low, high = (-math.inf, math.inf) if fade.clamp is None else fade.clamp
    exponent, pinned = 1.0, 0.0
    family = stage.family if isinstance(stage, Decay) else "half_floor"
    if isinstance(stage, Decay):
        match stage.family:
            case "weibull" | "weibull_rate":
                exponent = stage.shape
            case "power":
                exponent = stage.exponent
                pinned = math.expm1(math.log(2.0) / exponent)
            case "fsrs":
                exponent = stage.fsrs_exponent
                pinned = math.expm1(-math.log(0.9) / exponent)
    return {
        "factor": float(stretch.factor),
        "fade_days": float(stretch.fade_days),
        "fade_halves": stretch.fade == "half_life",
        "max_multiple": float(stretch.max_multiple),
        "family": feedback.FAMILIES.index(family),
        "exponent": float(exponent),
        "pinned": pinned,
        "floor": float(stage.floor) if isinstance(stage, Decay) else 0.0,
        "low": low,
        "high": high,
    }
