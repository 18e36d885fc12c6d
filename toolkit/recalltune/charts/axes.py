"""Axes of tuned parameters: ticks at the tried values only, log where the stops are."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from recalltune.charts import figures
from recalltune.charts.layout import nice_ticks, thinned
from recalltune.charts.text import pixels

__all__ = [
    "ParameterAxis",
    "fixed_axis",
    "label_list",
    "looks_logarithmic",
    "range_axis",
    "signed_axis",
]


def fixed_axis(values: Sequence[float], **options: Any) -> alt.Axis:
    """An axis with exactly these ticks; without a tick count Vega leaves every second one out."""
    return alt.Axis(values=list(values), tickCount=len(values) + 1, **options)


def label_list(texts: Sequence[str]) -> str:
    r"""Labels as an array of a Vega expression; every sign but plain ones is an escape.

    It is the one place where text of the data reaches an expression.

    Examples
    --------
    >>> label_list(["a b", "']"])
    "['a b','\\u0027\\u005d']"
    """

    def escaped(text: str) -> str:
        units = text.encode("utf-16-be", "replace")
        codes = [int.from_bytes(units[at : at + 2], "big") for at in range(0, len(units), 2)]
        return "".join(
            chr(code)
            if code < 128 and (chr(code).isalnum() or chr(code) in " .,-_")
            else f"\\u{code:04x}"
            for code in codes
        )

    return "[" + ",".join(f"'{escaped(text)}'" for text in texts) + "]"


def looks_logarithmic(values: Sequence[float]) -> bool:
    """Whether stops are spaced by a factor rather than by a step.

    Examples
    --------
    >>> looks_logarithmic([7, 30, 60, 180]), looks_logarithmic([1, 2, 3, 4]), looks_logarithmic([5])
    (True, False, False)
    """
    stops = sorted(set(values))
    if len(stops) < 3 or stops[0] <= 0:
        return False
    steps = [high - low for low, high in itertools.pairwise(stops)]
    return max(steps) / min(steps) > 3 and stops[-1] / stops[0] >= 8


@dataclass(frozen=True)
class ParameterAxis:
    """An x axis over tried values, with an optional place for *off* to their right."""

    stops: tuple[float, ...]
    log: bool
    off: bool
    width: float

    @property
    def domain(self) -> tuple[float, float]:
        """Range of the scale, a little wider than the stops."""
        low, high = self._ends
        if self.log:
            pad = (high / low) ** 0.02
            return low / pad, high * pad
        pad = (high - low) * 0.02 or 0.5
        return low - pad, high + pad

    @property
    def off_at(self) -> float:
        """Where *off* is drawn, in units of the scale."""
        low, high = self.stops[0], self.stops[-1]
        if self.log:
            return float(high * max(high / low, 2.0) ** 0.16)
        return high + ((high - low) or 1.0) * 0.16

    @property
    def _ends(self) -> tuple[float, float]:
        return self.stops[0], self.off_at if self.off else self.stops[-1]

    def scale(self) -> alt.Scale:
        """Vega-Lite scale."""
        return alt.Scale(
            type="log" if self.log else "linear", domain=list(self.domain), nice=False, zero=False
        )

    def axis(
        self, *, title: str | None, off_name: str = "off", first: Sequence[float] = ()
    ) -> alt.Axis:
        """Vega-Lite axis; ``first`` names stops whose label is kept before all others."""
        places = [*self.stops, *([self.off_at] if self.off else [])]
        texts = [figures.tried(stop) for stop in self.stops] + ([off_name] if self.off else [])
        low, high = self.domain
        span = math.log(high / low) if self.log else high - low
        at = [self.width * ((math.log(p / low) if self.log else p - low) / span) for p in places]
        keep = [self.stops.index(value) for value in first if value in self.stops]
        order = [*keep, len(places) - 1, 0]
        shown = thinned(at, [pixels(text, 11) for text in texts], list(dict.fromkeys(order)))
        number = "format(datum.value, ',.6~f')"
        word = "".join(sign for sign in off_name if sign.isalnum() or sign in " -_")
        return fixed_axis(
            [places[i] for i in shown],
            labelExpr=f"datum.value > {self.stops[-1]!r} ? '{word}' : {number}",
            title=title,
            ticks=True,
        )


def signed_axis(
    lo: float, hi: float, *, labels: bool = True, about: int = 4
) -> tuple[alt.Scale, alt.Axis]:
    """Scale and axis of a difference: true signs, bare 0, a range that holds every interval."""
    ticks, (low, high) = _inner_ticks(min(lo, 0.0), max(hi, 0.0), about)
    number = f"format(datum.value, '+,.{_decimals(ticks)}f')"
    axis = fixed_axis(
        ticks,
        labelExpr=f"datum.value == 0 ? '0' : {number}",
        title=None,
        grid=True,
        labels=labels,
    )
    return alt.Scale(domain=[low, high], nice=False, zero=False), axis


def range_axis(
    lo: float, hi: float, *, about: int = 4, **options: Any
) -> tuple[alt.Scale, alt.Axis]:
    """Scale and axis of a measure that need not start at 0; holds every value from lo to hi."""
    ticks, (low, high) = _inner_ticks(lo, hi, about)
    axis = fixed_axis(ticks, format=f",.{_decimals(ticks)}f", title=None, **options)
    return alt.Scale(domain=[low, high], nice=False, zero=False), axis


def _inner_ticks(lo: float, hi: float, about: int) -> tuple[list[float], tuple[float, float]]:
    # The range ends between ticks, so that no label stands at the very edge of a panel: there it
    # would push the panel's title out of line with its neighbours.
    if not lo < hi:
        half = abs(lo) / 2 or 0.05
        lo, hi = lo - half, hi + half
    pad = 0.07 * (hi - lo)
    low, high = lo - pad, hi + pad
    ticks: list[float] = []
    for finer in range(about, about + 6):
        ticks = [tick for tick in nice_ticks(lo, hi, finer) if low < tick < high]
        if len(ticks) > 1:
            break
    return ticks, (low, high)


def _decimals(ticks: Sequence[float]) -> int:
    step = ticks[1] - ticks[0] if len(ticks) > 1 else abs(ticks[0]) or 1.0
    places = max(0, -math.floor(math.log10(step) + 1e-9))
    return places if round(step, places) == round(step, places + 2) else places + 1
