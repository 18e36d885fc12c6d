"""Quality against what it costs in tokens (or characters)."""

from __future__ import annotations

from typing import Any, Unpack

import altair as alt
import polars as pl

from recalltune.charts import figures
from recalltune.charts.canvas import About, Chart, data, draw, finish, layered, sentence
from recalltune.charts.difference import Row, difference
from recalltune.charts.findings import Finding
from recalltune.charts.frames import refuse_others, tidy, without_gaps
from recalltune.charts.look import current
from recalltune.charts.measures import Measure, as_measure
from recalltune.charts.pareto_labels import SIZE, Plane, labelled_points, line_boxes
from recalltune.charts.text import cut
from recalltune.errors import ParameterError

__all__ = ["pareto_quality_tokens"]

CLOUD = 300
ROLES = ("setting", "default", "chosen", "preset")
LABELLED = 12


def pareto_quality_tokens(
    frame: pl.DataFrame,
    *,
    measure: Measure | str = "nDCG@10",
    cost: Measure | str = "tokens",
    comparison: Row | None = None,
    saving: Row | None = None,
    margin: float = 0.01,
    in_sample: bool = True,
    level: str = "95 %",
    **about: Unpack[About],
) -> Chart:
    """Settings as pale dots, their frontier as a step line, presets with intervals.

    Parameters
    ----------
    frame
        One row a setting: ``tokens`` and ``quality`` (number), ``role`` (setting, default,
        chosen or preset), optional ``label`` (text; needed for presets), ``lo``, ``hi``
        (interval of quality), ``family`` (preset family). The frontier is taken over rows of
        role setting.
    measure, cost
        What the axes measure.
    comparison
        Paired difference chosen minus default in quality: ``diff``, ``lo``, ``hi``, ``n``.
    saving
        Paired difference chosen minus default in cost, same columns.
    margin
        >= 0. Loss of quality declared beforehand to be acceptable.
    in_sample
        Whether the choice was made on the same cases; said in the title where it wins.
    level
        Level of the intervals.

    Raises
    ------
    ParameterError
        If a column is missing, a role is unknown, or default or chosen occur twice.
    """
    kind, spent = as_measure(measure), as_measure(cost)
    known = tidy(
        frame,
        "pareto_quality_tokens",
        {"tokens": "number", "quality": "number", "role": "text"},
        {"label": "text", "lo": "number", "hi": "number", "family": "text"},
        aggregate="pass the frontier and a sample of the settings",
    )
    points, gaps = without_gaps(known, ["tokens", "quality", "role"])
    _check(points)
    settings = points.filter(pl.col("role") == "setting")
    frontier = _frontier(settings, kind)
    x_ends = [float(value) for value in points["tokens"]]
    ends = [float(v) for name in ("quality", "lo", "hi") for v in points[name].drop_nulls()]
    plane = Plane(x_ends, ends)
    title = _finding(points, settings, frontier, kind, spent, comparison, saving, margin, in_sample)
    sampled = f", {CLOUD} drawn" if settings.height > CLOUD else ""
    drawing = draw(
        "pareto_quality_tokens",
        title,
        sentences=[
            f"{kind.name} against {spent.unit or spent.name}; bars: {level} interval of each mean.",
            f"Line: frontier of {figures.counted(settings.height, 'setting')}{sampled}."
            if settings.height
            else "",
            "Diamond: current default." if (points["role"] == "default").any() else "",
            "Axes need not start at zero.",
        ],
        gaps=gaps,
        form=f"Scatter plot of {figures.counted(points.height, 'setting')}.",
        rows=_rows(points, settings, frontier, plane),
        table=points,
        about=about,
    )
    if not points.height:
        return sentence(drawing, "No setting was run.")
    return finish(_marks(plane, spent), drawing)


def _check(points: pl.DataFrame) -> None:
    refuse_others(points["role"], ROLES, "role")
    for role in ("default", "chosen"):
        if (n := points.filter(pl.col("role") == role).height) > 1:
            msg = f"role {role} must occur at most once, got {n} times"
            raise ParameterError(msg)
    if (n := points.filter(pl.col("role") != "setting").height) > LABELLED:
        msg = f"labelled points must be at most {LABELLED}, got {n}"
        raise ParameterError(msg)


def _frontier(settings: pl.DataFrame, kind: Measure) -> pl.DataFrame:
    best = pl.col("quality") if kind.higher_is_better else -pl.col("quality")
    ordered = settings.with_columns(best=best).sort("tokens", "best", descending=[False, True])
    reached = pl.col("best").cum_max().shift()
    return ordered.filter(reached.is_null() | (pl.col("best") > reached)).drop("best")


def _finding(
    points: pl.DataFrame,
    settings: pl.DataFrame,
    frontier: pl.DataFrame,
    kind: Measure,
    spent: Measure,
    comparison: Row | None,
    saving: Row | None,
    margin: float,
    in_sample: bool,
) -> Finding:
    if not points.height:
        return Finding("No setting was run")
    if comparison is not None:
        return difference(
            comparison,
            subject="The choice",
            measure=kind,
            margin=margin,
            other=None if saving is None else (spent, saving),
            in_sample=in_sample,
        )
    if not frontier.height:
        return Finding("{points:count} points, no sweep", {"points": points.height})
    values = {"frontier": frontier.height, "settings": settings.height}
    return Finding("{frontier:count} of {settings:count} settings form the frontier", values)


def _rows(
    points: pl.DataFrame, settings: pl.DataFrame, frontier: pl.DataFrame, plane: Plane
) -> dict[str, list[dict[str, Any]]]:
    cloud = settings.sort("tokens", "quality")
    if cloud.height > CLOUD:
        # Evenly along x, ends included, so that the cloud keeps its extent.
        step = (cloud.height - 1) / (CLOUD - 1)
        cloud = cloud[[round(at * step) for at in range(CLOUD)]]
    edge = frontier.select("tokens", "quality").rows(named=True)
    if edge:
        last = float(max(points["tokens"]))
        edge = [*edge, {"tokens": last, "quality": edge[-1]["quality"]}]
    arrow = [
        {"tokens": row["tokens"], "quality": row["quality"], "at": at}
        for at, role in enumerate(("default", "chosen"))
        for row in points.filter(pl.col("role") == role).rows(named=True)
    ]
    return {
        "cloud": cloud.select("tokens", "quality").rows(named=True),
        "frontier": edge,
        "labelled": labelled_points(points, plane, line_boxes(edge, arrow, plane)),
        "arrow": arrow if len(arrow) == 2 else [],
    }


def _marks(plane: Plane, spent: Measure) -> alt.LayerChart:
    colours = current()
    plane.x_axis.title = f"{cut(spent.name)} used, mean per query"
    plane.x_axis.format = ",~r"
    x = alt.X("tokens:Q", scale=plane.x_scale, axis=plane.x_axis)
    y = alt.Y("quality:Q", scale=plane.y_scale, axis=plane.y_axis)
    points = alt.Chart(data("labelled"))
    tips = [
        alt.Tooltip("text:N", title="setting"),
        alt.Tooltip("used:N", title=cut(spent.name)),
        alt.Tooltip("number:N", title="mean"),
        alt.Tooltip("interval:N"),
    ]
    # Label boxes were solved in px; the marks want them in units of the scales.
    (x_low, x_high), (y_low, y_high) = (
        scale.to_dict()["domain"] for scale in (plane.x_scale, plane.y_scale)
    )
    labels = points.transform_calculate(
        text_x=f"{x_low!r} + datum.left * {(x_high - x_low) / SIZE[0]!r}",
        text_y=f"{y_high!r} - datum.middle * {(y_high - y_low) / SIZE[1]!r}",
        near_x=f"{x_low!r} + datum.near * {(x_high - x_low) / SIZE[0]!r}",
    )
    bold: dict[str, Any] = {"align": "left", "fontWeight": 600, "fontSize": 11.5}
    at: dict[str, Any] = {
        "x": alt.X("text_x:Q", scale=plane.x_scale, axis=plane.x_axis),
        "y": alt.Y("text_y:Q", scale=plane.y_scale, axis=plane.y_axis),
    }
    return layered(
        alt.Chart(data("cloud"), width=SIZE[0], height=SIZE[1])
        .mark_point(filled=True, size=20, color=colours.outcome["unchanged"], opacity=0.35)
        .encode(x=x, y=y),
        alt.Chart(data("frontier")).mark_line(
            interpolate="step-after", color=colours.ink, strokeWidth=1.8
        ).encode(x=x, y=y),
        alt.Chart(data("arrow")).mark_line(
            strokeDash=[3, 3], color=colours.ink, strokeWidth=1.3
        ).encode(x=x, y=y, order=alt.Order("at:Q")),
        points.transform_filter("datum.has_bar").mark_rule(strokeWidth=1.5).encode(
            x=x, y=alt.Y("lo:Q", scale=plane.y_scale, axis=plane.y_axis), y2=alt.Y2("hi"),
            color=alt.Color("colour:N", scale=None),
        ),
        labels.transform_filter("datum.far").mark_rule(color=colours.muted, strokeWidth=0.8).encode(
            x=x, y=y, x2=alt.X2("near_x"), y2=alt.Y2("text_y")
        ),
        points.mark_point(size=80, opacity=1, filled=True, strokeWidth=1.8).encode(
            x=x, y=y, shape=alt.Shape("shape:N", scale=None),
            fill=alt.Fill("filled:N", scale=None), stroke=alt.Stroke("colour:N", scale=None),
            tooltip=tips,
        ),
        labels.mark_text(stroke=colours.paper, strokeWidth=3, aria=False, **bold).encode(
            text="text:N", **at
        ),
        labels.mark_text(**bold).encode(
            text="text:N", color=alt.Color("text_colour:N", scale=None), **at
        ),
    )  # fmt: skip
