"""`profile` of values: dots in strips, a group a row, with tenth, half and nine tenths."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import altair as alt
import polars as pl

from recalltune.charts import figures
from recalltune.charts.axes import fixed_axis, range_axis
from recalltune.charts.canvas import About, Chart, data, draw, finish, layered, sentence
from recalltune.charts.findings import Finding
from recalltune.charts.frames import tidy, without_gaps
from recalltune.charts.layout import thinned
from recalltune.charts.look import current
from recalltune.charts.ordering import ordered
from recalltune.charts.text import cut, pixels
from recalltune.errors import ParameterError
from recalltune.pipeline.config import LAYERS

__all__ = ["profile_values"]

WIDTH = 520
ROW = 48
# Steps of the golden ratio spread neighbours of the sorted values evenly, without randomness.
_GOLDEN = 0.6180339887498949


def profile_values(
    frame: pl.DataFrame,
    *,
    unit: str,
    limits: Mapping[str, float],
    log: bool,
    order: Sequence[str],
    noun: str,
    **about: Unpack[About],
) -> Chart:
    """`profile` in form *values*; see there for columns and options.

    Raises
    ------
    ParameterError
        If a column is missing, or ``log`` meets a value that is not positive.
    """
    known = tidy(
        frame,
        "profile",
        {"group": "text", "value": "number"},
        {"role": "text"},
        aggregate="sample each group, and say so in detail",
    )
    dots, gaps = without_gaps(known, ["group", "value"])
    if log and (low := dots.filter(pl.col("value") <= 0)).height:
        msg = f"value must be positive on a log axis, got {low['value'][0]}"
        raise ParameterError(msg)
    dots = dots.sort("group", "value", "role", nulls_last=True)
    groups = ordered(dots["group"], order)
    targets = (dots["role"] == "target").fill_null(value=False).any()
    drawing = draw(
        "profile",
        _finding(dots, groups, noun),
        sentences=[
            f"{unit[:1].upper()}{unit[1:]} by group; ticks: 10, 50 and 90 % of the dots.",
            "Ink: targets." if targets else "",
            "" if log else "The axis need not start at zero.",
        ],
        gaps=gaps,
        form=f"Strips of dots, {figures.counted(len(groups), 'group')}.",
        rows=_rows(dots, groups),
        table=dots,
        about=about,
    )
    if not dots.height:
        return sentence(drawing, f"No {cut(noun)} has a value.")
    values = [float(value) for value in dots["value"]]
    return finish(_marks(values, len(groups), unit, limits, log=log), drawing)


def _finding(dots: pl.DataFrame, groups: Sequence[str], noun: str) -> Finding:
    if not dots.height:
        return Finding("No {noun} has a value", {"noun": noun})
    middles = {
        name: dots.filter(pl.col("group") == name)["value"].quantile(0.5, "nearest")
        for name in groups
    }
    low = min(groups, key=lambda name: (middles[name], groups.index(name)))
    high = max(groups, key=lambda name: (middles[name], -groups.index(name)))
    values = {"n": dots.height, "nouns": figures.noun(dots.height, noun), "low": low, "high": high,
              "least": middles[low], "largest": middles[high]}  # fmt: skip
    if middles[low] == middles[high]:
        return Finding("{n:count} {nouns}, median {least:rounded} in every group", values)
    return Finding("Median {least:rounded} in {low}, {largest:rounded} in {high}", values)


def _rows(dots: pl.DataFrame, groups: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    colours = current()
    rows: list[dict[str, Any]] = []
    ticks: list[dict[str, Any]] = []
    heads: list[dict[str, Any]] = []
    for at, name in enumerate(groups):
        part = dots.filter(pl.col("group") == name)
        grey = colours.layer_mark(name) if name in LAYERS else colours.outcome["unchanged"]
        for index, row in enumerate(part.rows(named=True)):
            target = row["role"] == "target"
            rows.append(
                {
                    "y": at + ((index * _GOLDEN) % 1 - 0.5) * 0.56,
                    "group": name,
                    "value": row["value"],
                    "role": row["role"] or "",
                    "target": target,
                    "colour": colours.ink if target else grey,
                    "strength": 0.9 if target else 0.45,
                }
            )
        for share in (0.1, 0.5, 0.9):
            value = part["value"].quantile(share, "nearest")
            size = 0.36 if share == 0.5 else 0.24
            ticks.append(
                {"value": value, "low": at - size, "high": at + size, "share": figures.share(share)}
            )
        heads.append({"y": at, "label": cut(name), "size": f"n = {figures.count(part.height)}"})
    return {"dots": rows, "ticks": ticks, "groups": heads}


def _marks(
    values: list[float], groups: int, unit: str, limits: Mapping[str, float], *, log: bool
) -> alt.LayerChart:
    colours = current()
    ends = [*values, *limits.values()]
    if log:
        low, high = min(ends), max(ends)
        if low == high:
            low, high = low / 2, high * 2
        scale = alt.Scale(type="log", domain=[low / 1.05, high * 1.05], nice=False)
        axis = _log_axis(low, high, cut(unit))
    else:
        scale, axis = range_axis(min(ends), max(ends), about=5, ticks=True)
        axis.title = cut(unit)
    # A row above the first strip holds the names of the limits.
    top = -0.85 if limits else -0.5
    y_scale = alt.Scale(domain=[top, groups - 0.5], reverse=True, nice=False, zero=False)
    height = round(ROW * (groups - 0.5 - top))
    x = alt.X("value:Q", scale=scale, axis=axis)

    def y(field: str) -> alt.Y:
        return alt.Y(f"{field}:Q", scale=y_scale, axis=None)

    dots = alt.Chart(data("dots"), width=WIDTH, height=height)
    layers: list[Any] = []
    low, high = scale.to_dict()["domain"]
    for name, value in sorted(limits.items(), key=lambda item: item[1]):
        part = math.log(value / low) / math.log(high / low) if log else (value - low) / (high - low)
        style: dict[str, Any] = (
            {"align": "right", "dx": -5} if part > 0.75 else {"align": "left", "dx": 5}
        )
        rule = alt.Chart(alt.InlineData(values=[{"value": value}]))
        layers += [
            rule.mark_rule(strokeDash=[4, 3], color=colours.muted).encode(x=x),
            rule.mark_text(color=colours.muted, **style).encode(
                x=x, y=alt.value(8), text=alt.value(cut(name))
            ),
        ]
    layers += [
        dots.mark_point(filled=True, size=18).encode(
            x=x, y=y("y"), color=alt.Color("colour:N", scale=None),
            opacity=alt.Opacity("strength:Q", scale=None),
            order=alt.Order("target:N"),
            tooltip=[alt.Tooltip("group:N"), alt.Tooltip("value:Q", format=",.4~g"),
                     alt.Tooltip("role:N")],
        ),
        alt.Chart(data("ticks")).mark_rule(color=colours.ink, strokeWidth=2).encode(
            x=x, y=y("low"), y2=alt.Y2("high"),
            tooltip=[alt.Tooltip("share:N", title="of the dots"),
                     alt.Tooltip("value:Q", format=",.4~g")],
        ),
        alt.Chart(data("groups")).mark_text(align="right").encode(
            x=alt.value(-10), y=y("y"), text="label:N"
        ),
        alt.Chart(data("groups")).mark_text(align="left", color=colours.muted).encode(
            x=alt.value(WIDTH + 10), y=y("y"), text="size:N"
        ),
    ]  # fmt: skip
    return layered(*layers)


def _log_axis(low: float, high: float, title: str) -> alt.Axis:
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    stops = [m * 10.0**p for p in powers for m in (1, 2, 5) if low <= m * 10.0**p <= high]
    stops = stops or [low, high]
    span = math.log(high / low)
    at = [WIDTH * math.log(stop / low) / span for stop in stops]
    widths = [pixels(figures.tried(stop), 11) for stop in stops]
    first = [index for index, stop in enumerate(stops) if math.log10(stop) % 1 == 0]
    shown = thinned(at, widths, first)
    return fixed_axis([stops[i] for i in shown], format=",~g", title=f"{title} (log)", grid=True)
