"""Counts over a budget or a replay as steps, with every step down marked."""

from __future__ import annotations

from typing import Any, Unpack

import altair as alt
import polars as pl

from recalltune.charts import figures
from recalltune.charts.axes import ParameterAxis, fixed_axis
from recalltune.charts.canvas import About, Chart, data, draw, finish, layered, sentence
from recalltune.charts.findings import Finding
from recalltune.charts.frames import json_rows, tidy, without_gaps
from recalltune.charts.layout import nice_ticks
from recalltune.charts.look import current
from recalltune.charts.measures import Measure, as_measure
from recalltune.charts.ordering import ordered
from recalltune.charts.text import cut
from recalltune.errors import ParameterError

__all__ = ["step_line"]

WIDTH = 560
ROW = 62


def step_line(
    frame: pl.DataFrame,
    *,
    parameter: str,
    measure: Measure | str,
    default: float | None = None,
    **about: Unpack[About],
) -> Chart:
    """`sweep_line` in form *step*: one panel a slice, a triangle where more gives less.

    Raises
    ------
    ParameterError
        If a column is missing, a value occurs twice in a slice, or there are over nine slices.
    """
    kind = as_measure(measure)
    known = tidy(
        frame,
        "sweep_line",
        {"value": "number", "y": "number", "slice": "text"},
        aggregate="keep the values at which y changes",
    )
    points, gaps = without_gaps(known, ["value", "y", "slice"])
    if points.select("value", "slice").is_duplicated().any():
        raise ParameterError("each value must occur once in a slice, got one again")
    slices = ordered(points["slice"])
    if len(slices) > 9:
        msg = f"slices must be at most 9, got {len(slices)}; sum the small ones up"
        raise ParameterError(msg)
    points = points.sort("slice", "value").with_columns(
        down=(pl.col("y").diff().over("slice") < 0).fill_null(value=False)
    )
    rows = {
        f"panel_{at}": json_rows(points.filter(pl.col("slice") == name))
        for at, name in enumerate(slices)
    }
    drawing = draw(
        "sweep_line",
        _finding(points, parameter),
        sentences=[
            f"{kind.name} over {cut(parameter)}, a panel a slice.",
            "Triangle: the step goes down.",
        ],
        gaps=gaps,
        form=f"Step chart of {figures.counted(len(slices), 'panel')} over {parameter}.",
        rows=rows,
        table=points.drop("down"),
        about=about,
    )
    if not points.height:
        return sentence(drawing, f"No value of {cut(parameter)} was run.")
    stops = tuple(sorted(set(points["value"])))
    x_axis = ParameterAxis(stops, log=False, off=False, width=WIDTH)
    top = nice_ticks(0.0, max(float(max(points["y"])), 1.0), 2)[-1]
    last = len(slices) - 1
    panels = [
        _panel(f"panel_{at}", name, x_axis, top, parameter if at == last else None, default)
        for at, name in enumerate(slices)
    ]
    return finish(alt.vconcat(*panels, spacing=10), drawing)


def _finding(points: pl.DataFrame, parameter: str) -> Finding:
    falls = int(points["down"].sum())
    values: dict[str, Any] = {"parameter": parameter, "falls": falls}
    if not points.height:
        return Finding("No value of {parameter} was run", values)
    if not falls:
        values["tried"] = points["value"].n_unique()
        return Finding("{parameter} never shows less at {tried:count} values", values, "exact")
    worst = (
        points.with_columns(was=pl.col("y").shift().over("slice"))
        .filter("down")
        .sort(pl.col("was") - pl.col("y"), "value", "slice", descending=[True, False, False])
        .row(0, named=True)
    )
    values |= {"slice": worst["slice"], "was": worst["was"], "y": worst["y"], "at": worst["value"]}
    return Finding(
        "{slice} falls from {was:tried} to {y:tried} at {parameter} {at:tried}"
        + ("; {falls:count} falls in all" if falls > 1 else ""),
        values,
        "exact",
    )


def _panel(
    name: str,
    slice_name: str,
    x_axis: ParameterAxis,
    top: float,
    title: str | None,
    default: float | None,
) -> alt.LayerChart:
    colours = current()
    colour = colours.layer_mark(slice_name)
    axis = x_axis.axis(title=title and cut(title), first=[] if default is None else [default])
    if title is None:
        axis = fixed_axis(x_axis.stops, labels=False, title=None, ticks=False)
    x = alt.X("value:Q", scale=x_axis.scale(), axis=axis)
    y_axis = fixed_axis([0, top], grid=True, title=None, format=",~f")
    y = alt.Y("y:Q", scale=alt.Scale(domain=[0, top], nice=False), axis=y_axis)
    rows = alt.Chart(data(name), width=WIDTH, height=ROW)
    tips = [alt.Tooltip("value:Q", title="value"), alt.Tooltip("y:Q", title="shown")]
    layers: list[Any] = []
    if default is not None:
        rule = alt.Chart(alt.InlineData(values=[{"value": default}]))
        layers.append(rule.mark_rule(strokeDash=[4, 3], color=colours.muted).encode(x=x))
    layers += [
        rows.mark_line(interpolate="step-after", color=colour, strokeWidth=2).encode(x=x, y=y),
        rows.mark_point(filled=True, size=26, color=colour, opacity=1).encode(
            x=x, y=y, tooltip=tips
        ),
        rows.transform_filter("datum.down")
        .mark_point(shape="triangle-down", filled=True, size=70, color=colours.outcome["worse"],
                    opacity=1, yOffset=-9)
        .encode(x=x, y=y, tooltip=tips),
        rows.transform_aggregate(y="min(y)").mark_text(
            align="left", fontWeight=600, fontSize=11.5, color=colours.layer_label(slice_name)
        ).encode(
            x=alt.value(WIDTH + 10), y=alt.value(ROW / 2), text=alt.value(cut(slice_name, 24))
        ),
    ]  # fmt: skip
    return layered(*layers)
