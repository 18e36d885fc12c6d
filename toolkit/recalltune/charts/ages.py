"""A measure by age of the evidence, for two or three configurations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

import altair as alt
import polars as pl

from recalltune.charts import figures
from recalltune.charts.axes import range_axis
from recalltune.charts.canvas import About, Chart, data, draw, finish, layered, sentence
from recalltune.charts.difference import Row, difference
from recalltune.charts.findings import TOO_FEW, Finding
from recalltune.charts.frames import refuse_others, tidy, without_gaps
from recalltune.charts.layout import spread
from recalltune.charts.look import current
from recalltune.charts.measures import Measure, as_measure
from recalltune.charts.text import cut
from recalltune.errors import ParameterError

__all__ = ["age_strata"]

SIZE = (520, 236)
CONFIGS = 4
ROLES = ("default", "chosen", "other")
_DODGE = {"other": 0, "default": 1, "chosen": 2}


def age_strata(
    frame: pl.DataFrame,
    *,
    measure: Measure | str = "nDCG@10",
    comparison: Row | None = None,
    compared: str = "",
    subject: str = "chosen",
    level: str = "95 %",
    **about: Unpack[About],
) -> Chart:
    """Means with intervals in bins of evidence age, configurations side by side.

    Parameters
    ----------
    frame
        One row a bin and configuration: ``bin`` (text), ``bin_order`` (count), ``config`` (text),
        ``value``, ``lo``, ``hi`` (number), ``n`` (count); optional ``role`` (default, chosen or
        other). At most four configurations and nine bins.
    measure
        What ``value`` measures.
    comparison
        One row with the *paired* difference in one bin (``diff``, ``lo``, ``hi``, ``n``), for the
        title: the bars are intervals of each mean and do not show it.
    compared
        Where the comparison was made: ``evidence over 180 days old``.
    subject
        Which configuration the difference is about.
    level
        Level of the intervals.

    Raises
    ------
    ParameterError
        If a column is missing, a bin and configuration occur twice, or there are too many.
    """
    kind = as_measure(measure)
    known = tidy(
        frame,
        "age_strata",
        {
            "bin": "text",
            "bin_order": "count",
            "config": "text",
            "value": "number",
            "lo": "number",
            "hi": "number",
            "n": "count",
        },
        {"role": "text"},
        aggregate="average over cases first",
    ).with_columns(pl.col("role").fill_null("other"))
    _check(known)
    dots, gaps = without_gaps(known, ["bin", "bin_order", "config", "value"])
    # From left to right: others, the default, the choice.
    dots = dots.sort("bin_order", pl.col("role").replace_strict(_DODGE), "config")
    ends = [float(v) for name in ("value", "lo", "hi") for v in dots[name].drop_nulls()]
    drawing = draw(
        "age_strata",
        _finding(dots, kind, comparison, compared, subject),
        sentences=[
            f"{kind.name} by age of evidence; bars: {level} interval of each mean.",
            f"Axis from {figures.metric(_domain(ends)[0])}." if ends else "",
            "Diamond: default." if (dots["role"] == "default").any() else "",
            f"Pale: n < {TOO_FEW}." if (dots["n"] < TOO_FEW).any() else "",
        ],
        gaps=gaps,
        form=f"Dots with intervals, {figures.counted(dots['bin'].n_unique(), 'age bin')}.",
        rows=_rows(dots, ends),
        table=dots,
        about=about,
    )
    if not dots.height:
        return sentence(drawing, "No case has evidence with an age.")
    return finish(_marks(dots, ends), drawing)


def _check(known: pl.DataFrame) -> None:
    if known.select("bin", "config").is_duplicated().any():
        raise ParameterError("a bin and configuration must occur once, got one twice")
    for column, most in (("config", CONFIGS), ("bin", 9)):
        if (n := known[column].n_unique()) > most:
            msg = f"{column} must have at most {most} values, got {n}"
            raise ParameterError(msg)
    refuse_others(known["role"], ROLES, "role")


def _finding(
    dots: pl.DataFrame, kind: Measure, comparison: Row | None, compared: str, subject: str
) -> Finding:
    if not dots.height:
        return Finding("No evidence has an age")
    if comparison is not None:
        where = compared[:1].upper() + compared[1:]
        return difference(
            comparison,
            subject=f"{where}: {subject}" if where else subject,
            measure=kind,
            baseline="the default",
        )
    few = dots.filter(pl.col("n") < TOO_FEW)["bin"].n_unique()
    bins = dots["bin"].n_unique()
    values = {"measure": kind.name, "bins": bins, "few": few}
    if bins == 1:
        return Finding("{measure} in one bin of age, not compared", values)
    if few:
        return Finding("{measure} by age; {few:count} of {bins:count} bins hold too little", values)
    return Finding("{measure} by age of the evidence in {bins:count} bins, not compared", values)


def _colours(dots: pl.DataFrame) -> Mapping[str, tuple[str, str, str]]:
    """Mark colour, text colour and shape of each configuration."""
    colours = current()
    styles: dict[str, tuple[str, str, str]] = {}
    spare = [
        (colours.outcome["unchanged"], colours.outcome_text["unchanged"], "square"),
        (colours.family["hel847"], colours.family_text["hel847"], "triangle-up"),
        (colours.family["openclaw"], colours.family_text["openclaw"], "cross"),
        (colours.family["dsh-auto-memory"], colours.family_text["dsh-auto-memory"], "stroke"),
    ]
    for name, role in dots.select("config", "role").unique("config", maintain_order=True).rows():
        if role == "default":
            styles[name] = (colours.ink, colours.ink, "diamond")
        elif role == "chosen":
            styles[name] = (colours.outcome["better"], colours.outcome_text["better"], "circle")
        else:
            styles[name] = spare.pop(0)
    return styles


def _domain(ends: list[float]) -> tuple[float, float]:
    low, high = min(ends, default=0.0), max(ends, default=1.0)
    if low == high:
        low, high = low - 0.05, high + 0.05
    # The lowest 12 % of the plot are kept for the counts of each bin.
    return low - 0.20 * (high - low), high + 0.06 * (high - low)


def _rows(dots: pl.DataFrame, ends: list[float]) -> dict[str, list[dict[str, Any]]]:
    styles = _colours(dots)
    lo, hi = _domain(ends)
    rows = [
        {
            "bin": row["bin"],
            "bin_order": row["bin_order"],
            "config": row["config"],
            "value": row["value"],
            "lo": row["lo"],
            "hi": row["hi"],
            "has_bar": row["lo"] is not None and row["hi"] is not None,
            "n": row["n"],
            "strength": 0.45 if row["n"] is not None and row["n"] < TOO_FEW else 1.0,
            "colour": styles[row["config"]][0],
            "filled": current().paper if row["role"] == "default" else styles[row["config"]][0],
            "shape": styles[row["config"]][2],
            "number": figures.metric(row["value"]),
            "interval": figures.bounds(row["lo"], row["hi"]),
        }
        for row in dots.rows(named=True)
    ]
    last = {row["config"]: row for row in rows}
    tall = SIZE[1]
    wanted = [tall * (hi - row["value"]) / (hi - lo) for row in last.values()]
    places = spread(wanted, 15.0, 6.0, tall - 6.0)
    sizes = dots.group_by("bin", "bin_order").agg(
        low=pl.col("n").min(), high=pl.col("n").max()
    ).sort("bin_order")  # fmt: skip
    return {
        "dots": rows,
        "ends": [
            {"at": hi - place * (hi - lo) / tall, "text": cut(name, 26), "colour": styles[name][1]}
            for name, place in zip(last, places, strict=True)
        ],
        "counts": [
            {"bin": row["bin"], "text": f"n = {_span(row['low'], row['high'])}"}
            for row in sizes.rows(named=True)
        ],
    }


def _span(low: int | None, high: int | None) -> str:
    if low is None or high is None:
        return "?"
    return figures.count(low) if low == high else f"{figures.count(low)} to {figures.count(high)}"


def _marks(dots: pl.DataFrame, ends: list[float]) -> alt.LayerChart:
    colours = current()
    bins = dots.unique("bin", keep="first").sort("bin_order", "bin")["bin"].to_list()
    configs = dots["config"].unique(maintain_order=True).to_list()
    low, high = _domain(ends)
    span = high - low
    _, y_axis = range_axis(low + 0.16 * span, high - 0.05 * span, about=4, grid=True)
    y_scale = alt.Scale(domain=[low, high], nice=False, zero=False)
    x = alt.X(
        "bin:O", sort=bins, title="age of the evidence when asked",
        scale=alt.Scale(paddingInner=0.35, paddingOuter=0.2),
        axis=alt.Axis(labelAngle=0, labelLimit=int(SIZE[0] / len(bins))),
    )  # fmt: skip
    dodge = alt.XOffset("config:N", sort=configs)
    y = alt.Y("value:Q", scale=y_scale, axis=y_axis)
    colour = alt.Color("colour:N", scale=None)
    strength = alt.Opacity("strength:Q", scale=None)
    base = alt.Chart(data("dots"), width=SIZE[0], height=SIZE[1])
    tips = [
        alt.Tooltip("config:N"),
        alt.Tooltip("bin:N", title="age"),
        alt.Tooltip("number:N", title="mean"),
        alt.Tooltip("interval:N"),
        alt.Tooltip("n:Q"),
    ]
    return layered(
        base.mark_line(strokeWidth=1.2, opacity=0.5).encode(
            x=x, xOffset=dodge, y=y, color=colour, detail="config:N",
            order=alt.Order("bin_order:Q"),
        ),
        base.transform_filter("datum.has_bar").mark_rule(strokeWidth=1.5).encode(
            x=x, xOffset=dodge, y=alt.Y("lo:Q", scale=y_scale, axis=y_axis), y2=alt.Y2("hi"),
            color=colour, opacity=strength,
        ),
        base.mark_point(filled=True, size=62, strokeWidth=1.6).encode(
            x=x, xOffset=dodge, y=y, fill=alt.Fill("filled:N", scale=None),
            stroke=alt.Stroke("colour:N", scale=None), opacity=strength,
            shape=alt.Shape("shape:N", scale=None), tooltip=tips,
        ),
        alt.Chart(data("counts")).mark_text(color=colours.muted).encode(
            x=x, y=alt.value(SIZE[1] - 10), text="text:N"
        ),
        alt.Chart(data("ends")).mark_text(align="left", fontWeight=600, fontSize=11.5).encode(
            x=alt.value(SIZE[0] + 8), y=alt.Y("at:Q", scale=y_scale, axis=y_axis), text="text:N",
            color=alt.Color("colour:N", scale=None),
        ),
    )  # fmt: skip
