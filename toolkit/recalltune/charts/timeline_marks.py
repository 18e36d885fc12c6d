"""The marks of the timeline: one plot in px from the top, so that all parts share one x axis."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import altair as alt

from recalltune.charts import figures
from recalltune.charts.axes import fixed_axis
from recalltune.charts.canvas import data, layered
from recalltune.charts.layout import nice_ticks
from recalltune.charts.look import current

__all__ = ["DROPS", "HEIGHT", "WIDTH", "Layout", "marks"]

WIDTH = 560
HEIGHT = 190
"""Of the tokens, in px."""
DROPS = 60
"""Of the dropped candidates."""


@dataclass(frozen=True)
class Layout:
    """Where things stand; it depends on the frame and not on the cursor."""

    first: int
    last: int
    heading: int
    """px for the names of parts."""
    strip: int
    """px for the targets."""
    ticks: tuple[float, ...]
    most_dropped: int
    """Candidates dropped in one round; 0 draws no such part."""
    budget_tokens: int | None
    round_name: str
    marked: bool

    @property
    def width(self) -> float:
        """Rounds along the x axis, margins included."""
        return self.last - self.first + 1.2

    @property
    def zero(self) -> float:
        """Height in px of the line between tokens and drops."""
        return self.heading + self.strip + HEIGHT

    @property
    def height(self) -> float:
        """Height in px of the plot."""
        return self.zero + (DROPS + 14 if self.most_dropped else 0)

    def along(self, px: float) -> float:
        """Place on the x axis of a distance from the left, in px."""
        return self.first - 0.6 + px * self.width / WIDTH

    def up(self, tokens: float) -> float:
        """Height in px of a number of tokens."""
        return self.zero - HEIGHT * tokens / self.ticks[-1]

    def down(self, dropped: float) -> float:
        """Height in px of a number of dropped candidates."""
        return self.zero + DROPS * dropped / max(self.most_dropped, 1)


def marks(layout: Layout) -> alt.LayerChart:
    """Every mark, from bottom to top."""
    colours = current()
    x_scale = alt.Scale(domain=[layout.first - 0.6, layout.last + 0.6], nice=False, zero=False)
    axis = fixed_axis(_ticks(layout), format=",d", title=layout.round_name, ticks=True)
    x = alt.X("round:Q", scale=x_scale, axis=axis)
    y_scale = alt.Scale(domain=[0, layout.height], reverse=True, nice=False, zero=False)

    def y(field: str) -> alt.Y:
        return alt.Y(f"{field}:Q", scale=y_scale, axis=None)

    unit = WIDTH / layout.width
    width = min(max(1.0, unit * 0.72), 40.0)
    colour = alt.Color("colour:N", scale=None)
    tips = [
        alt.Tooltip("round:Q", title=layout.round_name),
        alt.Tooltip("layer:N"),
        alt.Tooltip("tokens:Q", format=","),
        alt.Tooltip("dropped:Q", format=","),
    ]
    levels = alt.Chart(data("levels"), width=WIDTH, height=layout.height)
    bars, drops = alt.Chart(data("bars")), alt.Chart(data("drops"))
    parts, cursor = alt.Chart(data("parts")), alt.Chart(data("cursor"))
    layers: list[Any] = [
        levels.transform_filter("!datum.zero").mark_rule(color=colours.grid).encode(y=y("y")),
        cursor.mark_bar(width=max(unit, 3.0), color=colours.ink, opacity=0.14).encode(
            x=x, y=alt.value(0), y2=alt.value(layout.height)
        ),
        parts.mark_rule(color=colours.muted, strokeDash=[1, 3]).encode(
            x=alt.X("start:Q", scale=x_scale, axis=axis), tooltip=alt.Tooltip("part:N")
        ),
        parts.mark_text(align="left", dx=4, color=colours.muted, fontSize=10.5).encode(
            x=alt.X("start:Q", scale=x_scale, axis=axis), y=alt.value(6), text="text:N"
        ),
        drops.mark_bar(width=width, opacity=colours.dropped_opacity).encode(
            x=x, y=y("from"), y2=alt.Y2("to"), color=colour, tooltip=tips
        ),
        bars.mark_bar(width=width, stroke=colours.paper, strokeWidth=min(0.6, width / 10)).encode(
            x=x, y=y("to"), y2=alt.Y2("from"), color=colour, tooltip=tips
        ),
        levels.transform_filter("datum.zero").mark_rule(color=colours.muted).encode(y=y("y")),
        levels.mark_text(align="right", dx=-6).encode(x=alt.value(0), y=y("y"), text="text:N"),
        alt.Chart(data("oversize"))
        .mark_point(shape="cross", angle=45, size=40, color=colours.ink, filled=True, opacity=1)
        .encode(
            x=x, y=y("y"),
            tooltip=[
                alt.Tooltip("round:Q", title=layout.round_name),
                alt.Tooltip("oversize:Q", title="larger than the budget"),
            ],
        ),
        *_budget(layout, y),
        *(_targets(layout, x, y) if layout.marked else []),
        *_keys(layout, x_scale, axis),
    ]  # fmt: skip
    if layout.most_dropped:
        layers.append(_beside("dropped", layout.zero + DROPS / 2))
    return layered(*layers)


def _ticks(layout: Layout) -> list[float]:
    """First and last round, and round numbers between them that stand clear of both."""
    first, last = float(layout.first), float(layout.last)
    near = 26 * layout.width / WIDTH
    inner = [
        tick
        for tick in nice_ticks(first, last, 6)
        if tick % 1 == 0 and min(tick - first, last - tick) > near
    ]
    return sorted({first, *inner, last})


def _budget(layout: Layout, y: Callable[[str], alt.Y]) -> list[alt.Chart]:
    if layout.budget_tokens is None:
        return []
    level = layout.up(layout.budget_tokens)
    rule = alt.Chart(alt.InlineData(values=[{"budget": level}]))
    return [
        rule.mark_rule(strokeDash=[4, 3], color=current().ink).encode(y=y("budget")),
        _beside(f"budget {figures.count(layout.budget_tokens)}", level),
    ]


def _targets(layout: Layout, x: alt.X, y: Callable[[str], alt.Y]) -> list[alt.Chart]:
    side = min(8.0, max(3.0, WIDTH / layout.width))
    points = (
        alt.Chart(data("targets"))
        .mark_point(size=side**2, strokeWidth=1.8, opacity=1, filled=True)
        .encode(
            x=x,
            y=y("y"),
            shape=alt.Shape("shape:N", scale=None),
            fill=alt.Fill("filled:N", scale=None),
            stroke=alt.Stroke("colour:N", scale=None),
            tooltip=[
                alt.Tooltip("round:Q", title=layout.round_name),
                alt.Tooltip("shown:N", title="target"),
            ],
        )
    )
    return [points, _beside("labelled targets", layout.heading + 8)]


def _beside(text: str, y: float) -> alt.Chart:
    """A word to the right of the plot."""
    one = alt.Chart(alt.InlineData(values=[{"one": 1}]))
    word: alt.Chart = one.mark_text(align="left", color=current().muted).encode(
        x=alt.value(WIDTH + 8), y=alt.value(y), text=alt.value(text)
    )
    return word


def _keys(layout: Layout, scale: alt.Scale, axis: alt.Axis) -> list[alt.Chart]:
    keys, line = alt.Chart(data("keys")), alt.value(layout.height + 58)

    def x(field: str) -> alt.X:
        return alt.X(f"{field}:Q", scale=scale, axis=axis)

    return [
        keys.mark_point(shape="square", filled=True, size=70, opacity=1).encode(
            x=x("square"), y=line, color=alt.Color("colour:N", scale=None)
        ),
        keys.mark_text(align="left").encode(x=x("word"), y=line, text="text:N"),
    ]
