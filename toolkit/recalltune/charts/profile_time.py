"""`profile` over time: memories per month, a layer a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Unpack

import altair as alt
import polars as pl

from recalltune.charts import figures
from recalltune.charts.axes import fixed_axis
from recalltune.charts.canvas import About, Chart, data, draw, finish, layered, sentence
from recalltune.charts.findings import Finding
from recalltune.charts.frames import tidy, without_gaps
from recalltune.charts.look import current
from recalltune.charts.ordering import ordered
from recalltune.charts.text import cut
from recalltune.errors import ParameterError

__all__ = ["profile_time"]

WIDTH = 520
ROW = 48
GAP = 12


def profile_time(
    frame: pl.DataFrame,
    *,
    cases_span: tuple[datetime, datetime] | None,
    own_scale: bool,
    order: Sequence[str],
    noun: str,
    **about: Unpack[About],
) -> Chart:
    """`profile` in form *over_time*; see there for columns and options.

    Raises
    ------
    ParameterError
        If a column is missing, a count is negative, or the span of cases has no zone.
    """
    known = tidy(
        frame,
        "profile",
        {"layer": "text", "month": "time", "n": "count", "status": "text"},
        {"median_tokens": "number"},
        aggregate="count by month",
    )
    if known.filter(pl.col("n") < 0).height:
        raise ParameterError("n must be at least 0, got a negative count")
    undated = int(known.filter(pl.col("month").is_null())["n"].sum() or 0)
    counts, _ = without_gaps(known, ["layer", "month", "n"])
    counts = counts.with_columns(pl.col("month").dt.truncate("1mo")).sort("layer", "month")
    layers = ordered(counts["layer"], order)
    band = _band(cases_span)
    drawing = draw(
        "profile",
        _finding(counts, layers, noun),
        sentences=[
            f"{figures.noun(2, noun).capitalize()} by month (UTC); pale: not current.",
            "Each row has its own scale." if own_scale else "Rows share one scale.",
            "Grey band: span of the eval cases." if band else "",
        ],
        gaps=f"{figures.counted(undated, noun)} without a time not drawn." if undated else "",
        form=f"Bars by month, {figures.counted(len(layers), 'layer')}.",
        rows={**_rows(counts, layers, own_scale=own_scale), "band": band},
        table=counts,
        about=about,
    )
    if not counts.height:
        return sentence(drawing, f"No {cut(noun)} has a time.")
    months = sorted(set(counts["month"]))
    return finish(_marks(len(layers), months, band), drawing)


def _band(span: tuple[datetime, datetime] | None) -> list[dict[str, int]]:
    if span is None:
        return []
    # figures.moment refuses a time without a zone.
    for moment in span:
        figures.moment(moment)
    first, last = (round(moment.timestamp() * 1000) for moment in span)
    return [{"first": first, "last": last}]


def _finding(counts: pl.DataFrame, layers: Sequence[str], noun: str) -> Finding:
    total = int(counts["n"].sum())
    values: dict[str, Any] = {"total": total, "nouns": figures.noun(total, noun)}
    if not total:
        return Finding("No {noun} to show", {"noun": noun})
    sizes = dict(counts.group_by("layer").agg(pl.col("n").sum()).rows())
    first = max(layers, key=lambda name: (sizes[name], -layers.index(name)))
    values |= {"first": first, "first_n": sizes[first]}
    if len(layers) == 1:
        return Finding("All {total:count} {nouns} are {first}", values)
    rest = [name for name in layers if name != first]
    last = min(rest, key=lambda name: (sizes[name], layers.index(name)))
    values |= {"last": last, "last_n": sizes[last]}
    return Finding(
        "{first} is {first_n:count} of {total:count} {nouns}; {last} is {last_n:count}", values
    )


def _rows(
    counts: pl.DataFrame, layers: Sequence[str], *, own_scale: bool
) -> dict[str, list[dict[str, Any]]]:
    colours = current()
    monthly = counts.group_by("layer", "month").agg(pl.col("n").sum())
    peaks = dict(monthly.group_by("layer").agg(pl.col("n").max()).rows())
    top = max(peaks.values(), default=1) or 1
    total = int(counts["n"].sum())
    bars: list[dict[str, Any]] = []
    heads: list[dict[str, Any]] = []
    for at, name in enumerate(layers):
        floor = at * (ROW + GAP) + ROW
        unit = ROW / ((peaks[name] or 1) if own_scale else top)
        part = counts.filter(pl.col("layer") == name)
        for (month,), rows in part.group_by("month", maintain_order=True):
            bars += _month(month, rows, floor, unit, name, colours.dropped_opacity)
        n = int(part["n"].sum())
        medians = part["median_tokens"].drop_nulls()
        tokens = f", median {figures.count(medians[0])} tokens" if len(medians) else ""
        heads.append(
            {
                "y": floor,
                "layer": cut(name, 20),
                "colour": colours.layer_label(name),
                "size": f"{figures.count(n)}, {figures.share(n / max(total, 1))}{tokens}",
                "peak": f"peak {figures.count(peaks[name])} a month",
            }
        )
    return {"bars": bars, "layers": heads}


def _month(
    month: datetime, rows: pl.DataFrame, floor: float, unit: float, layer: str, pale: float
) -> list[dict[str, Any]]:
    start, end = _milliseconds(month), _milliseconds(month, 1)
    bars = []
    base = 0
    for current_part in (True, False):
        is_current = pl.col("status").fill_null("current") == "current"
        n = int(rows.filter(is_current if current_part else ~is_current)["n"].sum())
        if n:
            bars.append(
                {
                    "start": round(start + 0.06 * (end - start)),
                    "end": round(end - 0.06 * (end - start)),
                    "month": f"{month:%Y-%m}",
                    "layer": layer,
                    "n": n,
                    "status": "current" if current_part else "not current",
                    "low": floor - unit * base,
                    "high": floor - unit * (base + n),
                    "colour": current().layer_mark(layer),
                    "strength": 1.0 if current_part else pale,
                }
            )
        base += n
    return bars


def _milliseconds(month: datetime, later: int = 0) -> int:
    at = month.year * 12 + month.month - 1 + later
    return round(datetime(at // 12, at % 12 + 1, 1, tzinfo=UTC).timestamp() * 1000)


def _marks(
    layers: int, months: Sequence[datetime], band: Sequence[Mapping[str, int]]
) -> alt.LayerChart:
    colours = current()
    height = layers * (ROW + GAP) - GAP + 6
    y_scale = alt.Scale(domain=[0, height], reverse=True, nice=False, zero=False)
    # utc: the default time scale draws in the time zone of the reader's computer.
    first, last = _milliseconds(months[0]), _milliseconds(months[-1], 1)
    ends = [first, last, *(edge for row in band for edge in row.values())]
    x_scale = alt.Scale(type="utc", nice=False, domain=[min(ends), max(ends)])
    span = (months[-1].year - months[0].year) * 12 + months[-1].month - months[0].month + 1
    every = max(1, -(-span // 8))
    ticks = [_milliseconds(months[0], later) for later in range(0, span, every)]
    axis = fixed_axis(ticks, title="month (UTC)", format="%Y-%m", ticks=True, labelAlign="left")
    x = alt.X("start:T", scale=x_scale, axis=axis)

    def y(field: str) -> alt.Y:
        return alt.Y(f"{field}:Q", scale=y_scale, axis=None)

    bars = alt.Chart(data("bars"), width=WIDTH, height=height)
    heads = alt.Chart(data("layers"))
    tips = [
        alt.Tooltip("layer:N"),
        alt.Tooltip("month:N"),
        alt.Tooltip("status:N"),
        alt.Tooltip("n:Q", format=","),
    ]

    def right(field: str, dy: float, **style: Any) -> alt.Chart:
        text: alt.Chart = heads.mark_text(align="left", dy=dy, **style)
        return text.encode(x=alt.value(WIDTH + 14), y=y("y"), text=alt.Text(f"{field}:N"))

    return layered(
        alt.Chart(data("band")).mark_rect(color=colours.muted, opacity=0.12).encode(
            x=alt.X("first:T", scale=x_scale), x2=alt.X2("last"),
            y=alt.value(0), y2=alt.value(height),
        ),
        bars.mark_rect().encode(
            x=x, x2=alt.X2("end"), y=y("low"), y2=alt.Y2("high"),
            color=alt.Color("colour:N", scale=None),
            opacity=alt.Opacity("strength:Q", scale=None), tooltip=tips,
        ),
        heads.mark_rule(color=colours.muted, strokeWidth=0.8).encode(y=y("y")),
        heads.mark_text(align="right", dx=-8, dy=-8, fontWeight=600, fontSize=11.5).encode(
            x=alt.value(0), y=y("y"), text="layer:N", color=alt.Color("colour:N", scale=None)
        ),
        right("size", -22),
        right("peak", -8, color=colours.muted),
    )  # fmt: skip
