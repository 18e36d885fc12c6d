"""Where labels and ticks go: solved here, because Vega-Lite places labels blindly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Box", "nice_ticks", "place", "spread", "thinned"]


@dataclass(frozen=True)
class Box:
    """A rectangle in px, y downwards."""

    left: float
    top: float
    right: float
    bottom: float

    def overlap(self, other: Box) -> float:
        """Shared area in square px."""
        wide = min(self.right, other.right) - max(self.left, other.left)
        high = min(self.bottom, other.bottom) - max(self.top, other.top)
        return wide * high if wide > 0 and high > 0 else 0.0

    def outside(self, width: float, height: float) -> float:
        """Area that leaves a plot of the given size, in square px."""
        inner = Box(0, 0, width, height).overlap(self)
        return (self.right - self.left) * (self.bottom - self.top) - inner


def spread(wanted: Sequence[float], gap: float, lo: float, hi: float) -> list[float]:
    """Positions at least ``gap`` apart within [lo, hi], as close to ``wanted`` as the order allows.

    If they cannot all fit they are spaced evenly over the range.

    Examples
    --------
    >>> spread([10.0, 11.0, 50.0], 12.0, 0.0, 100.0)
    [4.5, 16.5, 50.0]
    """
    n = len(wanted)
    if n == 0:
        return []
    if (n - 1) * gap >= hi - lo:
        step = (hi - lo) / max(n - 1, 1)
        order = sorted(range(n), key=lambda i: (wanted[i], i))
        even = {index: lo + place * step for place, index in enumerate(order)}
        return [even[i] for i in range(n)]
    order = sorted(range(n), key=lambda i: (wanted[i], i))
    # Groups of touching labels sit around the mean of what their members want.
    groups: list[list[int]] = []
    for index in order:
        groups.append([index])
        while len(groups) > 1 and _start(groups[-1], wanted, gap, lo, hi) < (
            _start(groups[-2], wanted, gap, lo, hi) + gap * len(groups[-2])
        ):
            last = groups.pop()
            groups[-1] += last
    placed = [0.0] * n
    for group in groups:
        start = _start(group, wanted, gap, lo, hi)
        for offset, index in enumerate(group):
            placed[index] = start + offset * gap
    return placed


def _start(group: list[int], wanted: Sequence[float], gap: float, lo: float, hi: float) -> float:
    length = gap * (len(group) - 1)
    mean = sum(wanted[i] for i in group) / len(group)
    return min(max(mean - length / 2, lo), hi - length)


def place(
    anchor: tuple[float, float],
    size: tuple[float, float],
    obstacles: Sequence[Box],
    plot: tuple[float, float],
    *,
    away: float = 9.0,
) -> Box:
    """Box of a label beside its point, where it covers least; six sides, three distances.

    Parameters
    ----------
    anchor, size, plot
        px. Point, label width and height, plot width and height.
    obstacles
        Points, interval bars and labels already placed.
    away
        px between point and label at the nearest distance tried.
    """
    (x, y), (wide, high) = anchor, size

    def cost(try_: tuple[int, Box]) -> tuple[float, int]:
        # Leaving the plot costs double: a clipped label is worse than a crossed one.
        distance, box = try_
        covered = sum(box.overlap(other) for other in obstacles)
        return covered + 2 * box.outside(*plot), distance

    tries = []
    for distance, far in enumerate((away, away + 13, away + 26)):
        for across in (0.0, -far - 4, far + 4):
            top = y + across - high / 2
            side = away if across else far
            for left in (x + side, x - side - wide):
                tries.append((distance, Box(left, top, left + wide, top + high)))
    return min(tries, key=cost)[1]


def thinned(positions: Sequence[float], widths: Sequence[float], first: Sequence[int]) -> list[int]:
    """Which tick labels to print so that none touch, in order of position.

    Parameters
    ----------
    positions, widths
        px. Centre and width of each label.
    first
        Positions to keep before all others (the default, then the two ends).
    """
    kept: list[int] = []
    rest = [i for i in range(len(positions)) if i not in first]
    for index in [*first, *rest]:
        clear = all(
            abs(positions[index] - positions[other]) >= (widths[index] + widths[other]) / 2 + 6
            for other in kept
        )
        if clear and index not in kept:
            kept.append(index)
    return sorted(kept)


def nice_ticks(lo: float, hi: float, about: int = 4) -> list[float]:
    """Round steps that span [lo, hi].

    Examples
    --------
    >>> nice_ticks(-0.11, 0.06)
    [-0.15, -0.1, -0.05, 0.0, 0.05, 0.1]
    """
    if not lo < hi:
        half = abs(lo) / 2 or 0.05
        lo, hi = lo - half, hi + half
    raw = (hi - lo) / about
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(size * power for size in (1, 2, 2.5, 5, 10) if size * power >= raw * 0.999)
    first, last = math.floor(lo / step + 1e-9), math.ceil(hi / step - 1e-9)
    return [round(i * step, 12) + 0.0 for i in range(first, last + 1)]
