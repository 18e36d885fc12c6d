"""Many fades in lock step, one lane a config: NumPy alone, the same lists as the reference."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recalltune.candidates.world import DAY_US
from recalltune.rank.decay import reinforced_half_life
from recalltune.replay.reinforcing.fade import Fade
from recalltune.replay.reinforcing.rule import AccessRule
from recalltune.replay.reinforcing.tables import FADING, NEAR, Tables
from recalltune.replay.reinforcing.uses import Recorded

__all__ = ["walk_lanes"]

Floats = NDArray[np.float64]

BYTES = 64_000_000
"""What the state of all lanes of a block may take; 12 bytes a lane and memory."""

_TABLES = ("kind", "rounded", "upper", "base", "age", "days")


def walk_lanes(
    recorded: Recorded, fades: Sequence[Fade], rule: AccessRule, *, bound_bytes: int = BYTES
) -> Iterator[NDArray[np.int32]]:
    """Yield the lists of each fade, shape (Q, top_k), as `reference.walk` makes them.

    Parameters
    ----------
    recorded
        The table at the start of the walk.
    fades
        Configs that read one counter.
    rule
        What counts as a use.
    bound_bytes
        > 0. Memory for the state; more lanes than fit walk in further blocks.
    """
    memories = max(1, np.unique(recorded.cell).size)
    lanes = max(1, bound_bytes // (12 * memories))
    for first in range(0, len(fades), lanes):
        yield from _Block(recorded, fades[first : first + lanes], rule).walk()


class _Block:
    """Lanes that walk together; state of shape (lanes, memories that are ever candidates)."""

    def __init__(self, recorded: Recorded, fades: Sequence[Fade], rule: AccessRule) -> None:
        self._recorded, self._fades, self._rule = recorded, fades, rule
        counter = rule.counter(rule.counter_of(fades[0].stage))
        self._lag, self._cooldown = counter.lag_us, counter.cooldown_us
        known, local = np.unique(recorded.cell, return_inverse=True)
        self._cell = local.reshape(recorded.cell.shape)
        self._before, self._last_before = recorded.count[known], recorded.last[known]
        shape = (len(fades), known.size)
        self._count = np.zeros(shape, dtype=np.int32)
        # Steps of the walk, -1 = none yet: when a memory was last written, and last counted.
        self._written = np.full(shape, -1, dtype=np.int32)
        self._counted = np.full(shape, -1, dtype=np.int32)
        self._at = recorded.asked[recorded.order]
        self._waiting: deque[tuple[int, NDArray[np.intp], NDArray[np.intp]]] = deque()
        self._tables, self._table = _distinct([fade.tables for fade in fades])
        _, self._group = _distinct([fade.group for fade in fades])
        self._places = np.array([fade.top_k for fade in fades])
        self._arrays: dict[str, list[NDArray[Any]]] = {
            name: [getattr(one, name) for one in self._tables] for name in _TABLES
        }
        deep = int(self._places.max())
        self._arrays["reach"] = [one.within_reach(deep) for one in self._tables]
        self._factor = np.array([fade.stretch.factor for fade in fades])
        self._fade_days = np.array([fade.stretch.fade_days for fade in fades])
        self._multiple = np.array([fade.stretch.max_multiple for fade in fades])

    def walk(self) -> list[NDArray[np.int32]]:
        queries = self._recorded.asked.size
        lists = [np.full((queries, fade.top_k), -1, dtype=np.int32) for fade in self._fades]
        for step, row in enumerate(self._recorded.order.tolist()):
            self._flush(int(self._at[step]))
            lane, place, column = self._listed(step, row)
            for one, shown in enumerate(lists):
                mine = lane == one
                shown[row, place[mine]] = column[mine]
            if not self._recorded.silent[row]:
                used = np.ones(lane.shape, dtype=np.bool_)
                if self._rule.shown_top is not None:
                    used = place < self._rule.shown_top
                self._queue(step, lane[used], self._cell[row, column[used]])
        return lists

    def _flush(self, before: int) -> None:
        while self._waiting and self._at[self._waiting[0][0]] + self._lag < before:
            step, lane, memory = self._waiting.popleft()
            self._count[lane, memory] += 1
            self._written[lane, memory] = step

    def _queue(self, step: int, lane: NDArray[np.intp], memory: NDArray[np.intp]) -> None:
        then = self._counted[lane, memory]
        before = np.where(then < 0, self._last_before[memory], self._at[then])
        counted = self._at[step] - before >= self._cooldown
        lane, memory = lane[counted], memory[counted]
        if lane.size:
            self._counted[lane, memory] = step
            self._waiting.append((step, lane, memory))

    def _listed(
        self, step: int, row: int
    ) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
        """(lane, place from 0, column) of every row shown, lane by lane, best first."""
        some = np.logical_or.reduce([reach[row] for reach in self._arrays["reach"]])
        column = np.flatnonzero(some)
        reach, score = self._read("reach", row, column), self._read("rounded", row, column)
        score[~reach] = -np.inf
        fading = self._read("kind", row, column) == FADING
        touched = reach & fading & (self._count[:, self._cell[row, column]] > 0)
        if touched.any():
            score[touched] = -np.inf
            upper = self._read("upper", row, column)
            needed = upper + NEAR * np.abs(upper) >= self._threshold(score)[:, None]
            lane, at = np.nonzero(touched & needed)
            score[lane, at] = self._exact(step, row, lane, column[at])
        lane, at = np.nonzero((score >= self._threshold(score)[:, None]) & (score > -np.inf))
        # Columns rise within a lane, so a stable sort keeps the first of equal scores first.
        best = np.lexsort((-score[lane, at], lane))
        lane, at = lane[best], at[best]
        place = np.arange(lane.size) - np.searchsorted(lane, lane)
        shown = place < self._places[lane]
        return lane[shown], place[shown], column[at[shown]]

    def _threshold(self, score: Floats) -> Floats:
        """Shape (lanes,): the score of the last place; minus infinity where places stay free."""
        width, deep = score.shape[1], int(self._places.max())
        if deep >= width:
            return np.full(len(score), -np.inf)
        lasts = np.unique(width - self._places)
        parted = np.partition(score, lasts, axis=1)
        return np.asarray(parted[np.arange(len(score)), width - self._places])

    def _exact(
        self, step: int, row: int, lane: NDArray[np.intp], column: NDArray[np.intp]
    ) -> Floats:
        memory = self._cell[row, column]
        count = self._before[memory] + self._count[lane, memory]
        since = (self._at[step] - (self._at[self._written[lane, memory]] + self._lag)) / DAY_US
        unused, base, age = (
            self._read(name, row, column, self._table[lane]) for name in ("days", "base", "age")
        )
        score = np.empty(lane.size)
        for group in np.unique(self._group[lane]).tolist():
            mine = self._group[lane] == group
            fade, at = self._fades[int(np.argmax(self._group == group))], lane[mine]
            days = reinforced_half_life(
                count[mine],
                since[mine],
                half_life_days=unused[mine],
                factor=self._factor[at],
                fade_days=self._fade_days[at],
                max_multiple=self._multiple[at],
                fade=fade.stretch.fade,
            )
            score[mine] = fade.scores(row, column[mine], days, base[mine], age[mine])
        return score

    def _read(
        self,
        name: str,
        row: int,
        column: NDArray[np.intp],
        table: NDArray[np.intp] | None = None,
    ) -> NDArray[Any]:
        """Shape (lanes, columns): what each lane's table has there; or of one table a column."""
        rows = np.stack([array[row] for array in self._arrays[name]])
        return rows[self._table][:, column] if table is None else rows[table, column]


def _distinct(values: Sequence[Tables | tuple[str, ...]]) -> tuple[list[Tables], NDArray[np.intp]]:
    """The different ones, and which each one is."""
    number: dict[object, int] = {}
    place = [number.setdefault(one, len(number)) for one in values]
    return list(number), np.array(place, dtype=np.intp)  # type: ignore[arg-type]
