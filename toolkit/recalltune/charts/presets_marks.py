"""The marks of `preset_dots`: a panel a measure, and the column of differences."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from recalltune.charts.axes import range_axis
from recalltune.charts.canvas import data, layered, panel_title
from recalltune.charts.look import current
from recalltune.charts.measures import Measure
from recalltune.charts.text import cut

__all__ = ["difference_column", "measure_panel"]

WIDTH = 120
ROW = 24


def measure_panel(
    at: int,
    kind: Measure,
    dots: pl.DataFrame,
    rows: int,
    ruled: float | None,
    *,
    labels: bool,
    joined: bool,
) -> alt.LayerChart:
    """The column of one measure."""
    colours = current()
    part = dots.filter(pl.col("metric") == kind.name)
    ends = [float(v) for name in ("value", "lo", "hi") for v in part[name].drop_nulls()]
    ends += [] if ruled is None else [ruled]
    x_scale, x_axis = range_axis(min(ends, default=0.0), max(ends, default=1.0), about=2, grid=True)
    y = alt.Y("order:Q", axis=None, scale=alt.Scale(domain=[-0.6, rows - 0.4], reverse=True))
    x = alt.X("value:Q", scale=x_scale, axis=x_axis)
    base = alt.Chart(data(f"panel_{at}"), width=WIDTH, height=ROW * rows)
    names = alt.Chart(data("names"))
    tips = [
        alt.Tooltip("row:N"),
        alt.Tooltip("role:N"),
        alt.Tooltip("number:N", title="value"),
        alt.Tooltip("interval:N"),
        alt.Tooltip("difference:N", title="difference to default"),
        alt.Tooltip("n:Q"),
    ]
    colour = alt.Color("colour:N", scale=None)
    layers: list[Any] = [
        names.transform_filter("datum.default")
        .mark_rect(color=colours.muted, opacity=0.10, height=ROW - 2)
        .encode(y=y, x=alt.value(-6), x2=alt.value(WIDTH + 6)),
    ]
    if ruled is not None:
        rule = alt.Chart(alt.InlineData(values=[{"value": ruled}]))
        layers.append(rule.mark_rule(strokeDash=[4, 3], color=colours.muted).encode(x=x))
    if joined:
        layers.append(
            base.transform_aggregate(low="min(value)", high="max(value)", groupby=["order"])
            .mark_rule(color=colours.muted, strokeWidth=1.5)
            .encode(y=y, x=alt.X("low:Q", scale=x_scale, axis=x_axis), x2=alt.X2("high"))
        )
    layers += [
        base.transform_filter("datum.has_bar")
        .mark_rule(strokeWidth=1.5, clip=True)
        .encode(y=y, x=alt.X("lo:Q", scale=x_scale, axis=x_axis), x2=alt.X2("hi"), color=colour),
        base.mark_point(filled=True, size=58, opacity=1, strokeWidth=1.6).encode(
            y=y, x=x, stroke=alt.Stroke("colour:N", scale=None),
            fill=alt.Fill("filled:N", scale=None), shape=alt.Shape("shape:N", scale=None),
            tooltip=tips,
        ),
    ]  # fmt: skip
    if labels:
        for weight in ("normal", "bold"):
            layers.append(
                names.transform_filter(f"datum.weight === '{weight}'")
                .mark_text(align="right", fontWeight=600 if weight == "bold" else "normal")
                .encode(y=y, x=alt.value(-12), text="label:N")
            )
    return layered(*layers).properties(title=panel_title(cut(kind.name, 18)))


def difference_column(kind: Measure, rows: int) -> alt.LayerChart:
    """Differences to the default row with intervals, as text."""
    base = alt.Chart(data("names"), width=150, height=ROW * rows)
    title = panel_title(f"{cut(kind.name, 16)}, difference")
    return layered(
        base.mark_text(align="left").encode(
            y=alt.Y("order:Q", axis=None,
                    scale=alt.Scale(domain=[-0.6, rows - 0.4], reverse=True)),
            x=alt.value(0), text="text:N", color=alt.Color("text_colour:N", scale=None),
        )
    ).properties(title=title)  # fmt: skip
