"""The marks of `exposure_share` and `feedback_drift`: lines over steps, labels at their ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from recalltune.charts import figures
from recalltune.charts.axes import fixed_axis
from recalltune.charts.canvas import data
from recalltune.charts.frames import json_rows
from recalltune.charts.layout import nice_ticks, spread
from recalltune.charts.look import current
from recalltune.charts.palette import DASHES, FAMILIES
from recalltune.charts.text import cut

__all__ = ["coloured", "lines", "panel", "still_rows"]


def _families(configs: Sequence[str]) -> dict[str, str]:
    """Configs take the families' colours and dashes in turn."""
    return {name: FAMILIES[(at + 1) % len(FAMILIES)] for at, name in enumerate(configs)}


def coloured(points: pl.DataFrame, configs: Sequence[str]) -> list[dict[str, Any]]:
    """Rows of lines in the colour and dash of their config."""
    family = _families(configs)
    colours = current().family
    return [
        {**row, "family": family[row["config"]], "colour": colours[family[row["config"]]]}
        for row in json_rows(points.select("config", "x", "y"))
    ]


def still_rows(points: pl.DataFrame, configs: Sequence[str]) -> list[dict[str, Any]]:
    """Rows of the lines without use: one in grey where all configs agree."""
    told = points.unique(["x", "y"], maintain_order=True)
    if told["x"].is_duplicated().any():
        return coloured(points, configs)
    one = told.with_columns(config=pl.lit("without use")).sort("x")
    return [{**row, "colour": current().muted} for row in json_rows(one)]


def lines(
    points: pl.DataFrame, ends: Mapping[str, float], tall: int, how: str
) -> dict[str, list[dict[str, Any]]]:
    """Points, and the labels at the right ends, moved apart where they would touch."""
    ticks = _ticks(points["y"].to_list())
    reach = ticks[-1] - ticks[0]
    wanted = [tall * (ticks[-1] - value) / reach for value in ends.values()]
    places = spread(wanted, 15.0, 4.0, tall - 4.0)
    family = _families(list(ends))
    return {
        "points": coloured(points, list(ends)),
        "ends": [
            {
                "at": place,
                "text": f"{cut(name, 26)}: {figures.FORMATS[how](value)}",
                "colour": current().family_text[family[name]],
            }
            for (name, value), place in zip(ends.items(), places, strict=True)
        ],
    }


def _ticks(values: Sequence[float]) -> list[float]:
    """Round values that hold all of these; lines need no zero, and shares end at 1."""
    if not values:
        return [0.0, 1.0]
    low, high = min(values), max(values)
    if high - low < 0.02:
        low, high = max(0.0, low - 0.05), min(1.0, high + 0.05)
    return [tick for tick in nice_ticks(low, high, 4) if tick <= 1.0 or high > 1.0]


def panel(
    names: Sequence[str],
    size: tuple[int, int],
    steps: Sequence[int],
    values: Sequence[float],
    title: str | None,
) -> list[Any]:
    """Lines of some data sets over steps; ``still`` are broad and pale, ``ends`` are labels."""
    first, last = min(steps, default=0), max(steps, default=1)
    apart = last > first
    x_scale = alt.Scale(
        domain=[first, last] if apart else [first - 1, first + 1], nice=False, zero=False
    )
    whole = sorted({round(tick) for tick in nice_ticks(first, last, 5)}) if apart else [first]
    x_ticks = [float(tick) for tick in whole if first <= tick <= last]
    ticks = _ticks(values)
    y_scale = alt.Scale(domain=[ticks[0], ticks[-1]], nice=False, zero=False)
    x = alt.X("x:Q", scale=x_scale, axis=fixed_axis(x_ticks, format=",d", title=title, ticks=True))
    y = alt.Y("y:Q", scale=y_scale, axis=fixed_axis(ticks, format="~f", title=None, grid=True))
    dashes = alt.StrokeDash(
        "family:N",
        legend=None,
        scale=alt.Scale(
            domain=list(DASHES),
            range=[[] if dash == (1, 0) else list(dash) for dash in DASHES.values()],
        ),
    )
    colour = alt.Color("colour:N", scale=None)
    tips = [
        alt.Tooltip("config:N"),
        alt.Tooltip("x:Q", format=",d"),
        alt.Tooltip("y:Q", format=".3f"),
    ]
    layers: list[Any] = []
    for name in names:
        rows = alt.Chart(data(name), width=size[0], height=size[1])
        if name == "ends":
            text = rows.mark_text(align="left", fontWeight=600, fontSize=11.5)
            at = alt.Y("at:Q", scale=None)
            layers.append(text.encode(x=alt.value(size[0] + 8), y=at, text="text:N", color=colour))
        elif name == "still":
            band = rows.mark_line(strokeWidth=8, opacity=0.22)
            layers.append(band.encode(x=x, y=y, detail="config:N", color=colour, tooltip=tips))
        else:
            line, dots = (
                rows.mark_line(strokeWidth=2.0),
                rows.mark_point(filled=True, size=22, opacity=1),
            )
            layers.append(
                line.encode(
                    x=x, y=y, detail="config:N", color=colour, strokeDash=dashes, tooltip=tips
                )
            )
            layers.append(dots.encode(x=x, y=y, color=colour, tooltip=tips))
    return layers
