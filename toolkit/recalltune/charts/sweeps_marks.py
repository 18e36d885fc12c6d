"""The marks of `sweep_line`: one large panel and rows of slices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import polars as pl

from recalltune.charts import figures
from recalltune.charts.axes import ParameterAxis, looks_logarithmic, signed_axis
from recalltune.charts.canvas import Chart, data, layered, panel_title
from recalltune.charts.look import current
from recalltune.charts.text import cut

__all__ = ["slice_panels"]

MAIN = (560, 190)
SLICE = (172, 110)


def slice_panels(
    points: pl.DataFrame,
    panels: Sequence[tuple[str, int]],
    parameter: str,
    default: float | None,
    off_name: str,
    log: bool | None,
) -> Chart:
    """All cases large and first, then the slices in rows of three on the same scale."""
    tried = set(points["value"].drop_nulls())
    stops = tuple(sorted(tried if default is None else tried | {float(default)})) or (0.0,)
    logarithmic = looks_logarithmic(stops) if log is None else log
    off = bool(points["value"].is_null().any())
    bounds = [value for name in ("lo", "hi", "diff") for value in points[name].drop_nulls()]
    span = (min(bounds), max(bounds))

    def panel(at: int, size: tuple[int, int], *, labels: bool, title: str | None) -> alt.LayerChart:
        name, n = panels[at]
        x_axis = ParameterAxis(stops, logarithmic, off, size[0])
        heading = f"{cut(name, 24 if at else 60)} (n = {figures.count(n)})"
        return _panel(
            f"panel_{at}", size, x_axis, span, default, off_name, labels, title
        ).properties(title=panel_title(heading))

    title = f"{cut(parameter)}{' (log)' if logarithmic else ''}"
    main = panel(0, MAIN, labels=True, title=title)
    rows: list[Any] = [main]
    for start in range(1, len(panels), 3):
        group = range(start, min(start + 3, len(panels)))
        rows.append(
            alt.hconcat(
                *(panel(at, SLICE, labels=at == start, title=None) for at in group), spacing=22
            )
        )
    return alt.vconcat(*rows, spacing=18)


def _panel(
    name: str,
    size: tuple[int, int],
    x_axis: ParameterAxis,
    span: tuple[float, float],
    default: float | None,
    off_name: str,
    labels: bool,
    title: str | None,
) -> alt.LayerChart:
    colours = current()
    blue = colours.outcome["better"]
    first = [] if default is None else [default]
    scale = x_axis.scale()
    y_scale, y_axis = signed_axis(*span, labels=labels, about=5 if size == MAIN else 3)
    x = alt.X("value:Q", scale=scale, axis=x_axis.axis(title=title, off_name=off_name, first=first))
    rows = alt.Chart(data(name), width=size[0], height=size[1])
    on = rows.transform_filter("!datum.off")
    out = rows.transform_filter("datum.off")
    y = alt.Y("diff:Q", scale=y_scale, axis=y_axis)
    band = alt.Y("lo:Q", scale=y_scale, axis=y_axis)
    tips = [
        alt.Tooltip("setting:N"),
        alt.Tooltip("difference:N"),
        alt.Tooltip("interval:N"),
        alt.Tooltip("n:Q"),
    ]
    x_off = alt.XDatum(x_axis.off_at, scale=scale)
    layers: list[Any] = [
        on.mark_area(color=blue, opacity=0.16, clip=True).encode(x=x, y=band, y2=alt.Y2("hi")),
        on.mark_rule(color=blue, strokeWidth=1.5, opacity=0.35, clip=True).encode(
            x=x, y=band, y2=alt.Y2("hi")
        ),
        alt.Chart(alt.InlineData(values=[{"zero": 0}]))
        .mark_rule(color=colours.muted)
        .encode(y=alt.Y("zero:Q", scale=y_scale, axis=y_axis)),
    ]
    if default is not None:
        rule = alt.Chart(alt.InlineData(values=[{"value": default}]))
        layers.append(rule.mark_rule(strokeDash=[4, 3], color=colours.muted).encode(x=x))
        if size == MAIN:
            late = default > _middle(x_axis)
            style: dict[str, Any] = (
                {"align": "right", "dx": -6} if late else {"align": "left", "dx": 6}
            )
            layers.append(
                rule.mark_text(color=colours.muted, **style).encode(
                    x=x, y=alt.value(8), text=alt.value("current default")
                )
            )  # fmt: skip
    layers += [
        on.mark_line(color=blue, strokeWidth=2).encode(x=x, y=y),
        on.mark_point(filled=True, size=46, color=blue, stroke=colours.paper, strokeWidth=1,
                      opacity=1).encode(x=x, y=y, tooltip=tips),
        rows.transform_filter("datum.default").mark_point(
            shape="diamond", filled=True, fill=colours.paper, stroke=colours.ink, size=64,
            strokeWidth=1.8, opacity=1,
        ).encode(x=x_off if default is None else x, y=y, tooltip=tips),
    ]  # fmt: skip
    if x_axis.off:
        layers += [
            out.mark_rule(color=blue, strokeWidth=1.5, clip=True).encode(
                x=x_off, y=band, y2=alt.Y2("hi")
            ),
            out.transform_filter("!datum.default")
            .mark_point(filled=True, size=46, color=blue, stroke=colours.paper, opacity=1)
            .encode(x=x_off, y=y, tooltip=tips),
        ]
    return layered(*layers)


def _middle(x_axis: ParameterAxis) -> float:
    low, high = x_axis.domain
    return (low * high) ** 0.5 if x_axis.log else (low + high) / 2
