"""A walk in which what is shown fades more slowly: the compiled loop over one setting's queries.

The loop ranks by scores that may be off by a few units of the last place, since a compiled
exponential is not NumPy's. Wherever two scores stand closer than that can tell, it stops and asks:
the caller ranks that one query with NumPy and lets the loop go on. So its lists are NumPy's lists.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from recalltune.rank.compiled import kernel

__all__ = ["FAMILIES", "LARGEST_TOP_K", "compiled"]

FAMILIES = (
    "exponential",
    "weibull",
    "power",
    "linear",
    "mean_life",
    "half_floor",
    "weibull_rate",
    "fsrs",
)
"""Curves the loop knows, by their number."""
_LN2 = math.log(2.0)
LARGEST_TOP_K = 128
"""Places; the list is kept sorted as it fills, which longer ones make slow."""


@functools.cache
def compiled() -> Callable[..., int]:
    """Return the loop as machine code; the first call of a new installation takes seconds."""
    return kernel(_walk)


def _walk(
    first: int,
    told: bool,
    asked: Any,
    order: Any,
    silent: Any,
    cell: Any,
    start: Any,
    column: Any,
    fading: Any,
    rounded: Any,
    upper: Any,
    scaled: Any,
    age: Any,
    days: Any,
    before: Any,
    count: Any,
    last: Any,
    counted: Any,
    queue_memory: Any,
    queue_at: Any,
    ends: Any,
    lists: Any,
    lag: int,
    cooldown: int,
    top_k: int,
    shown_top: int,
    factor: float,
    fade_days: float,
    fade_halves: bool,
    max_multiple: float,
    family: int,
    exponent: float,
    pinned: float,
    floor: float,
    low: float,
    high: float,
) -> int:
    """Walk from step ``first`` on; return the step whose list has to be told, or the last one + 1.

    Parameters
    ----------
    first, told
        Where to go on, and whether its list stands in ``lists`` already.
    asked, order, silent
        shape (Q,), int64 microseconds, rows in time order, whether a list is no use.
    cell
        shape (Q, C), int32, memory of each candidate.
    start, column, fading
        shape (Q + 1,), (N,) and (N,): where the rows of a query start among those that any use
        could bring into a list, their columns, rising, and whether use stretches their days.
    rounded, upper, scaled, age, days
        shape (N,), float64: final score before any use, its bound under any use, score times all
        but the weight, age in days, days of the curve.
    before, count, last, counted
        shape (memories,), int64: uses before the start, those of the walk, the last of either and
        the last that was counted, in microseconds.
    queue_memory, queue_at, ends
        Uses that wait: int32, int64 and shape (2,), int64: the first that waits, and the end.
    lists
        shape (Q, K), int32, written to: columns, best first, -1 after the last.
    lag, cooldown
        microseconds, >= 0 and >= 1.
    top_k, shown_top
        places, >= 1; how many of them are uses.
    factor, fade_days, fade_halves, max_multiple
        As in `reinforced_half_life`; ``fade_halves`` is its fade by half-lives.
    family, exponent, pinned, floor, low, high
        The curve's number in FAMILIES, its shape or exponent, what pins a power curve, its floor,
        and the range scores are clipped to.
    """
    best = np.empty(top_k, dtype=np.float64)
    found = np.empty(top_k, dtype=np.int64)
    blurs = np.empty(top_k, dtype=np.float64)
    moved = np.empty(cell.shape[1], dtype=np.int64)
    head, tail = ends[0], ends[1]
    for step in range(first, order.shape[0]):
        row = order[step]
        at = asked[row]
        while head < tail and queue_at[head] + lag < at:
            memory = queue_memory[head]
            count[memory] += 1
            last[memory] = queue_at[head] + lag
            head += 1
        if not (told and step == first):
            size, moving = 0, 0
            for item in range(start[row], start[row + 1]):
                if fading[item] and count[cell[row, column[item]]] > 0:
                    moved[moving] = item
                    moving += 1
                    continue
                score = rounded[item]
                if size == top_k and score <= best[size - 1]:
                    continue
                # Columns rise, so of equal scores the one that stands first stays first.
                place = size if size < top_k else top_k - 1
                while place > 0 and best[place - 1] < score:
                    best[place] = best[place - 1]
                    found[place] = found[place - 1]
                    place -= 1
                best[place] = score
                found[place] = item
                size = min(size + 1, top_k)
            for place in range(size):
                blurs[place] = -1.0
            for number in range(moving):
                item = moved[number]
                bound = upper[item]
                if size == top_k and bound + 1e-10 * abs(bound) < best[size - 1]:
                    continue
                memory = cell[row, column[item]]
                since = (at - last[memory]) / 86_400_000_000
                uses = float(before[memory] + count[memory])
                if fade_halves:
                    faded = math.exp(-_LN2 * (since / fade_days))
                else:
                    faded = math.exp(-since / fade_days)
                stretch = min(1.0 + factor * math.log1p(uses * faded), max_multiple)
                stretched = days[item] * stretch
                old = age[item]
                units = old / stretched
                if family == 0:
                    weight = math.exp(-_LN2 * units)
                elif family == 1:
                    weight = math.exp(-_LN2 * units**exponent)
                elif family == 2 or family == 7:
                    weight = (1.0 + pinned * units) ** (-exponent)
                elif family == 3:
                    weight = max(0.0, 1.0 - units / 2.0)
                elif family == 4:
                    weight = math.exp(-units)
                elif family == 5:
                    weight = 0.5 + 0.5 * math.exp(-units)
                else:
                    weight = math.exp(-_LN2 * (old**exponent / stretched))
                alone = scaled[item]
                score = min(max(alone * (floor + (1.0 - floor) * weight), low), high)
                # A straight line ends in a difference, whose error is that of its terms.
                blur = 1e-12 * abs(alone) if family == 3 else 0.0
                place = size
                while place > 0:
                    other = best[place - 1]
                    near = 1e-10 * max(abs(score), abs(other)) + 1e-289
                    if abs(score - other) <= near + max(blur, blurs[place - 1]):
                        twin = found[place - 1]
                        other_memory = cell[row, column[twin]]
                        if (
                            blurs[place - 1] < 0.0
                            or alone != scaled[twin]
                            or old != age[twin]
                            or days[item] != days[twin]
                            or last[memory] != last[other_memory]
                            or before[memory] + count[memory]
                            != before[other_memory] + count[other_memory]
                        ):
                            ends[0], ends[1] = head, tail
                            return step
                        break
                    if score < other:
                        break
                    place -= 1
                if place < top_k:
                    end = size if size < top_k else top_k - 1
                    for later in range(end, place, -1):
                        best[later] = best[later - 1]
                        found[later] = found[later - 1]
                        blurs[later] = blurs[later - 1]
                    best[place] = score
                    found[place] = item
                    blurs[place] = blur
                    size = min(size + 1, top_k)
            for place in range(size):
                lists[row, place] = column[found[place]]
        if not silent[row]:
            for place in range(min(top_k, shown_top)):
                shown = lists[row, place]
                if shown < 0:
                    break
                memory = cell[row, shown]
                if at - counted[memory] >= cooldown:
                    counted[memory] = at
                    queue_memory[tail] = memory
                    queue_at[tail] = at
                    tail += 1
    ends[0], ends[1] = head, tail
    return int(order.shape[0])
