"""The marks of `sweep_heatmap`: cells, frame round the tie set, ramp, strip."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from recalltune.charts import figures
from recalltune.charts.axes import fixed_axis, label_list
from recalltune.charts.canvas import data, layered
from recalltune.charts.look import current
from recalltune.charts.text import cut

__all__ = ["WIDTH", "Setting", "grid", "printed", "strip_panel"]

WIDTH = 512
STRIP = 64
ROW = 30
NUMBERS_UP_TO = 60

Setting = float | str


def printed(value: Setting | None) -> str:
    """A parameter value as printed on an axis."""
    if value is None:
        return ""
    return cut(value, 24) if isinstance(value, str) else figures.tried(value)


def grid(cells: pl.DataFrame, x_name: str, y_name: str) -> alt.LayerChart:
    """Cells, frame round the tie set, marks of default and best, numbers, ramp."""
    colours = current()
    columns = cells["column"].n_unique()
    rows = cells["row"].n_unique()
    height = ROW * rows
    wide, high = WIDTH / columns, float(ROW)
    x_axis = _labels(cells, "x", "column", columns, WIDTH)
    y_axis = _labels(cells, "y", "row", rows, 180.0 * rows)
    x_scale = alt.Scale(domain=[0, columns], nice=False)
    # Numeric order upwards, as on any axis.
    y_scale = alt.Scale(domain=[0, rows], nice=False)
    base = alt.Chart(data("cells"), width=WIDTH, height=height).transform_calculate(
        left="datum.column", right="datum.column + 1", middle="datum.column + 0.5",
        low="datum.row", high="datum.row + 1", centre="datum.row + 0.5",
    )  # fmt: skip
    tips = [
        alt.Tooltip("x_value:N", title=cut(x_name)),
        alt.Tooltip("y_value:N", title=cut(y_name)),
        alt.Tooltip("number:N", title="mean"),
        alt.Tooltip("diff:N", title="difference to default"),
        alt.Tooltip("interval:N"),
        alt.Tooltip("tie:N", title="tie set"),
    ]
    layers: list[Any] = [
        base.mark_rect(stroke=colours.paper, strokeWidth=1.5).encode(
            x=alt.X("left:Q", scale=x_scale, axis=x_axis, title=cut(x_name)),
            x2=alt.X2("right"),
            y=alt.Y("low:Q", scale=y_scale, axis=y_axis, title=cut(y_name)),
            y2=alt.Y2("high"),
            color=alt.Color("fill:N", scale=None),
            tooltip=tips,
        ),
        alt.Chart(data("sides"))
        .mark_rule(color=colours.ink, strokeWidth=2.5, strokeCap="square")
        .encode(x=alt.X("x1:Q", scale=x_scale), x2=alt.X2("x2"),
                y=alt.Y("y1:Q", scale=y_scale), y2=alt.Y2("y2")),
    ]  # fmt: skip
    numbered = cells.height <= NUMBERS_UP_TO
    shift = -min(wide / 2 - 10, 30) if numbered else 0
    for mark, shape, fill in (("default", "diamond", "#FFFFFF"), ("best", "circle", "#202124")):
        layers.append(
            alt.Chart(data("marked"))
            .transform_filter(f"datum.mark === '{mark}'")
            .transform_calculate(middle="datum.column + 0.5", centre="datum.row + 0.5")
            .mark_point(filled=True, opacity=1, size=62, shape=shape, fill=fill, stroke="#202124",
                        strokeWidth=1.6, xOffset=shift)
            .encode(x=alt.X("middle:Q", scale=x_scale), y=alt.Y("centre:Q", scale=y_scale))
        )  # fmt: skip
    if numbered:
        text = base.mark_text().encode(
            x=alt.X("middle:Q", scale=x_scale),
            y=alt.Y("centre:Q", scale=y_scale),
            color=alt.Color("text_colour:N", scale=None),
        )
        layers.append(text.encode(text="number:N"))
    else:
        layers.append(
            base.mark_text(color=colours.muted, fontSize=max(8, min(high, wide) * 0.5)).encode(
                x=alt.X("middle:Q", scale=x_scale),
                y=alt.Y("centre:Q", scale=y_scale),
                text="crossed:N",
            )
        )
    ramp = alt.Chart(data("ramp"))
    across = alt.X("left:Q", scale=x_scale)
    layers += [
        ramp.mark_rect(strokeWidth=0.6).encode(
            x=across, x2=alt.X2("right"), y=alt.value(height + 46), y2=alt.value(height + 54),
            color=alt.Color("fill:N", scale=None), stroke=alt.Stroke("fill:N", scale=None),
        ),
        ramp.mark_text(baseline="top").encode(x=across, y=alt.value(height + 58), text="text:N"),
    ]  # fmt: skip
    return layered(*layers)


def _labels(cells: pl.DataFrame, name: str, place: str, count: int, room: float) -> alt.Axis:
    known = cells.unique(place, keep="first").sort(place)
    texts = [printed(value) for value in known[name]]
    if not known.schema[name].is_numeric():
        texts = [cut(text, max(4, int(room / count / 6.4))) for text in texts]
    every = 1
    while max(map(len, texts)) * 6.4 + 6 > room / count * every and known.schema[name].is_numeric():
        every += 1
    shown = [text if at % every == 0 else "" for at, text in enumerate(texts)]
    return fixed_axis(
        [at + 0.5 for at in range(count)],
        labelExpr=f"{label_list(shown)}[floor(datum.value)]",
        domain=False,
        **({"titleAngle": 0, "titleAlign": "right", "titleY": -8} if name == "y" else {}),
    )


def strip_panel(name: str, rows: int) -> alt.LayerChart:
    """One cell beside the grid, for the setting in which the parameters do not exist."""
    colours = current()
    base = alt.Chart(data("strip"), width=STRIP, height=ROW * rows)
    tips = [
        alt.Tooltip("number:N", title="mean"),
        alt.Tooltip("diff:N", title="difference to default"),
    ]
    return layered(
        base.mark_rect().encode(
            x=alt.value(0), x2=alt.value(STRIP), y=alt.value(0), y2=alt.value(ROW * rows),
            color=alt.Color("fill:N", scale=None), tooltip=tips,
        ),
        base.transform_filter("datum.tie !== ''")
        .mark_rect(fillOpacity=0, stroke=colours.ink, strokeWidth=2.5)
        .encode(x=alt.value(0), x2=alt.value(STRIP), y=alt.value(0), y2=alt.value(ROW * rows)),
        base.mark_text().encode(
            x=alt.value(STRIP / 2), y=alt.value(ROW * rows / 2), text="number:N",
            color=alt.Color("text_colour:N", scale=None),
        ),
        base.mark_text(baseline="top").encode(
            x=alt.value(STRIP / 2), y=alt.value(ROW * rows + 6), text=alt.value(cut(name, 14))
        ),
    )  # fmt: skip
