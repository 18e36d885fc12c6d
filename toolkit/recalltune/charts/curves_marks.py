"""The marks of `decay_curves`: lines, rule, rug, ring, and the enlarged first days."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import altair as alt
import polars as pl

from recalltune.charts.axes import fixed_axis, range_axis
from recalltune.charts.canvas import Chart, data, layered, panel_title
from recalltune.charts.layout import nice_ticks
from recalltune.charts.look import current
from recalltune.charts.palette import DASHES

__all__ = ["AGES", "EARLY_DAYS", "WHOLE", "curve_panels", "weight_range", "with_room"]

WHOLE = (300, 230)
EARLY = 170
AGES = (0.25, 730.0)
EARLY_DAYS = 10.0


def weight_range(points: pl.DataFrame, x: str) -> tuple[float, float]:
    """Lowest and highest tick: 0 and 1 for weights by age, else round values from 0."""
    weights = points["weight"].to_list()
    if not weights or (x == "age_days" and all(0 <= weight <= 1 for weight in weights)):
        return 0.0, 1.0
    ticks = nice_ticks(min(0.0, *weights), max(weights), 4)
    return ticks[0], ticks[-1]


def with_room(lo: float, hi: float) -> float:
    """Top of the scale, a little above the highest tick, whose label would push the title up."""
    return hi + 0.04 * (hi - lo)


def curve_panels(rows: Mapping[str, list[dict[str, Any]]], x: str, early: bool) -> Chart:
    """The whole range, and on its left the first ten days if ``early``."""
    frame = pl.DataFrame(
        {"weight": [row["weight"] for row in rows["points"]]}, schema={"weight": pl.Float64}
    )
    lo, hi = weight_range(frame, x)
    title = "age, days (log)" if x == "age_days" else "rank"
    if x == "age_days":
        scale = alt.Scale(type="log", domain=list(AGES), nice=False)
        axis = fixed_axis([0.25, 1, 7, 30, 180, 730], format="~g", title=title, grid=True)
    else:
        last = max((row["x"] for row in rows["points"]), default=10.0)
        scale = alt.Scale(domain=[1, max(last, 2.0)], nice=False, zero=False)
        axis = fixed_axis(_rank_ticks(last), format="d", title=title, grid=True)
    decimals = max(2, -math.floor(math.log10((hi - lo) / 4)))
    y_axis = fixed_axis(nice_ticks(lo, hi, 4), format=f".{decimals}f", title=None, grid=True)
    y_scale = alt.Scale(domain=[lo, with_room(lo, hi)], nice=False, zero=False)
    whole = layered(*_lines(WHOLE, scale, axis, y_scale, y_axis), *_notes(scale, y_scale))
    if not early:
        return whole
    near = [row["weight"] for row in rows["points"] if row["x"] <= EARLY_DAYS] or [0.0, 1.0]
    near_scale, near_axis = range_axis(min(near), max(near), about=3, grid=True)
    first = alt.Scale(type="log", domain=[AGES[0], EARLY_DAYS], nice=False)
    first_axis = fixed_axis([0.25, 1, 2, 4, 10], format="~g", title=title, grid=True)
    left = layered(
        *_lines((EARLY, WHOLE[1]), first, first_axis, near_scale, near_axis),
        *_ring(first, near_scale),
    )

    return alt.hconcat(
        left.properties(title=panel_title("first ten days, enlarged")),
        whole.properties(title=panel_title("whole range")),
        spacing=26,
    )


def _rank_ticks(last: float) -> list[float]:
    step = max(1, round(last / 5))
    return [1.0, *[float(at) for at in range(step, int(last) + 1, step) if at > 1]]


def _lines(
    size: tuple[int, int], scale: alt.Scale, axis: alt.Axis, y_scale: alt.Scale, y_axis: alt.Axis
) -> list[Any]:
    x = alt.X("x:Q", scale=scale, axis=axis)
    y = alt.Y("weight:Q", scale=y_scale, axis=y_axis)
    dashes = alt.Scale(
        domain=list(DASHES),
        range=[[] if dash == (1, 0) else list(dash) for dash in DASHES.values()],
    )
    points = alt.Chart(data("points"), width=size[0], height=size[1])
    tips = [alt.Tooltip("curve:N"), alt.Tooltip("x:Q", format=".3~g"),
            alt.Tooltip("weight:Q", format=".3f")]  # fmt: skip
    return [
        points.mark_line(strokeWidth=2.2, clip=True).encode(
            x=x, y=y, detail="curve:N", color=alt.Color("colour:N", scale=None), tooltip=tips,
            strokeDash=alt.StrokeDash("family:N", scale=dashes, legend=None),
        )
    ]  # fmt: skip


def _notes(scale: alt.Scale, y_scale: alt.Scale) -> list[Any]:
    colours = current()
    x = alt.X("x:Q", scale=scale)
    half = alt.Chart(data("half_life"))
    text: dict[str, Any] = {"align": "right", "dx": -5, "baseline": "middle"}
    return [
        half.mark_rule(strokeDash=[4, 3], color=colours.muted, clip=True).encode(x=x),
        half.mark_text(stroke=colours.paper, strokeWidth=3, aria=False, **text).encode(
            x=x, y=alt.value(WHOLE[1] - 20), text="text:N"
        ),
        half.mark_text(color=colours.muted, **text).encode(
            x=x, y=alt.value(WHOLE[1] - 20), text="text:N"
        ),
        alt.Chart(data("evidence")).mark_rule(color=colours.ink, opacity=0.7).encode(
            x=x, y=alt.value(WHOLE[1] - 8), y2=alt.value(WHOLE[1])
        ),
        alt.Chart(data("ends")).mark_text(align="left", fontWeight=600, fontSize=11.5).encode(
            x=alt.value(WHOLE[0] + 8), y=alt.Y("at:Q", scale=y_scale), text="text:N",
            color=alt.Color("colour:N", scale=None),
        ),
        alt.Chart(data("note")).mark_text(align="left", color=colours.muted).encode(
            x=alt.value(8), y=alt.value(20), text="text:N"
        ),
    ]  # fmt: skip


def _ring(scale: alt.Scale, y_scale: alt.Scale) -> list[Any]:
    colours = current()
    crossings = alt.Chart(data("crossings"))
    x, y = alt.X("x:Q", scale=scale), alt.Y("weight:Q", scale=y_scale)
    text: dict[str, Any] = {"align": "left", "dx": 5, "dy": -12}
    return [
        crossings.mark_point(size=80, stroke=colours.ink, fill=colours.paper, strokeWidth=1.8,
                             opacity=1, clip=True).encode(x=x, y=y),
        crossings.mark_text(stroke=colours.paper, strokeWidth=3, aria=False, **text).encode(
            x=x, y=y, text="text:N"
        ),
        crossings.mark_text(color=colours.ink, **text).encode(x=x, y=y, text="text:N"),
    ]  # fmt: skip
