"""One parameter against the difference to the default, overall and by slice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Unpack

import polars as pl

from recalltune.charts import figures
from recalltune.charts.canvas import About, Chart, draw, finish, sentence
from recalltune.charts.findings import TOO_FEW, Finding, Verdict, verdict_of
from recalltune.charts.frames import refuse_nan, tidy, without_gaps
from recalltune.charts.measures import Measure, as_measure
from recalltune.charts.steps import step_line
from recalltune.charts.sweeps_marks import slice_panels
from recalltune.charts.text import cut
from recalltune.errors import ParameterError

__all__ = ["sweep_line"]

SLICES_AT_MOST = 8


def sweep_line(
    frame: pl.DataFrame,
    *,
    parameter: str,
    form: Literal["difference", "step"] = "difference",
    measure: Measure | str = "nDCG@10",
    default: float | None = None,
    all_name: str = "all cases",
    off_name: str = "off",
    log: bool | None = None,
    interval: Literal["pointwise", "corrected"] = "pointwise",
    level: str = "95 %",
    in_sample: bool = True,
    **about: Unpack[About],
) -> Chart:
    """How a measure changes along one parameter, against the default, with intervals.

    Parameters
    ----------
    frame
        *difference*: ``value`` (number; null = the parameter is off), ``diff``, ``lo``, ``hi``
        (number: paired difference to the default and its interval), ``slice`` (text) and ``n``
        (count, cases of the slice). *step*: ``value``, ``y`` (number, for example lines shown)
        and ``slice`` (text, a panel each); steps down are marked.
    parameter
        Name as in the configuration: ``half_life_days``.
    form
        *difference* or *step*.
    measure
        What is compared; in form *step* what ``y`` counts.
    default
        Current value, where the band is pinched to 0; null = off.
    all_name
        Slice drawn large and first.
    off_name
        Name of the place for rows without a value: ``no decay``.
    log
        Whether x is logarithmic; by default where the stops are spaced by a factor.
    interval
        Whether ``lo`` and ``hi`` are corrected for the number of values tried. With pointwise
        intervals the title counts settings and names no winner.
    level
        Level of the interval, said in the subtitle.
    in_sample
        Whether the cases are those the parameter was swept on; said where a winner is named.

    Raises
    ------
    ParameterError
        If a column is missing, a value occurs twice in a slice, or a bound is upside down.
    """
    if form == "step":
        return step_line(frame, parameter=parameter, default=default, measure=measure, **about)
    if form != "difference" or interval not in ("pointwise", "corrected"):
        msg = (
            "form must be difference or step and interval pointwise or corrected, got "
            f"{form!r} and {interval!r}"
        )
        raise ParameterError(msg)
    kind = as_measure(measure)
    points, gaps = _points(frame)
    slices = _slices(points, all_name)
    title = _finding(points, slices, kind, parameter, default, off_name, interval, in_sample)
    left = max(0, len(slices) - 1 - SLICES_AT_MOST)
    panels = slices[: SLICES_AT_MOST + 1]
    drawing = draw(
        "sweep_line",
        title,
        sentences=[
            f"{kind.name} minus the current default, paired; band: {interval} {level} interval.",
            "Panels share the vertical scale." if len(panels) > 1 else "",
            "Diamond: current default.",
            f"{figures.counted(left, 'smaller slice')} not drawn." if left else "",
        ],
        gaps=gaps,
        form=f"Line chart of {figures.counted(len(panels), 'panel')} over {parameter}.",
        rows=_rows(points, panels, default, kind, off_name),
        table=points,
        about=about,
    )
    if not points.height:
        return sentence(drawing, f"No value of {cut(parameter)} was run.")
    return finish(slice_panels(points, panels, parameter, default, off_name, log), drawing)


def _points(frame: pl.DataFrame) -> tuple[pl.DataFrame, str]:
    known = tidy(
        frame,
        "sweep_line",
        {
            "value": "number",
            "diff": "number",
            "lo": "number",
            "hi": "number",
            "slice": "text",
            "n": "count",
        },
        aggregate="sweep one parameter, or keep fewer slices",
    )
    refuse_nan(frame, ["value"], "sweep_line")
    points, gaps = without_gaps(known, ["diff", "slice", "n"])
    if points.select("value", "slice").is_duplicated().any():
        raise ParameterError("each value must occur once in a slice, got one again")
    wrong = points.filter(pl.col("lo") > pl.col("hi"))
    if wrong.height:
        row = wrong.row(0, named=True)
        msg = f"lo must be at most hi, got lo={row['lo']}, hi={row['hi']} at {row['value']}"
        raise ParameterError(msg)
    # Off is the last place on the axis, so nulls sort last.
    return points.sort("slice", "value", nulls_last=True), gaps


def _slices(points: pl.DataFrame, all_name: str) -> list[tuple[str, int]]:
    """Slices with their n: all cases first, then by n, then by name."""
    sizes = (
        points.group_by("slice").agg(pl.col("n").max()).sort("n", "slice", descending=[True, False])
    )
    ordered = sorted(sizes.rows(), key=lambda row: row[0] != all_name)
    return [(str(name), int(n)) for name, n in ordered]


def _finding(
    points: pl.DataFrame,
    slices: Sequence[tuple[str, int]],
    kind: Measure,
    parameter: str,
    default: float | None,
    off_name: str,
    interval: str,
    in_sample: bool,
) -> Finding:
    if not slices:
        return Finding("No value of {parameter} was run", {"parameter": parameter})
    name, n = slices[0]
    main = points.filter((pl.col("slice") == name) & ~pl.col("value").eq_missing(default))
    if n < TOO_FEW:
        few = {"n": n, "lo": None, "hi": None, "diff": None, "name": name}
        return Finding("{n:count} in {name} are too few to compare", few, "too few")
    if not main.height:
        return Finding("{parameter}: only the default was run", {"parameter": parameter})
    sign = 1 if kind.higher_is_better else -1
    tested = main.drop_nulls(["lo", "hi"])
    apart = [row for row in tested.rows(named=True) if _verdict(row, kind) in ("gains", "costs")]
    counted = {"parameter": parameter, "tried": main.height, "apart": len(apart)}
    if not apart:
        template = "No {parameter} of {tried:count} tried can be told from the current default"
        return Finding(template, counted, "exact")
    if interval == "pointwise":
        template = (
            "{parameter}: at {apart:count} of {tried:count} values"
            " the pointwise interval excludes zero"
        )
        return Finding(template, counted, "exact")
    ahead = _named(apart, kind)
    verb = {"gains": "gains" if sign > 0 else "lowers", "costs": "costs" if sign > 0 else "raises"}
    verdict = _verdict(ahead, kind)
    values: dict[str, Any] = {
        **ahead,
        "parameter": parameter,
        "setting": off_name if ahead["value"] is None else figures.tried(ahead["value"]),
        "higher_is_better": kind.higher_is_better,
        "interval": (ahead["lo"], ahead["hi"]),
        "measure": kind.name,
    }
    whole = "" if kind.decimals else "0"
    what = "" if sign > 0 else " {measure} by"
    size = f"{{diff:amount{whole}}} {{interval:interval{whole}}}"
    template = f"{{parameter}} {{setting}} {verb[verdict]}{what} {size}"
    if in_sample and verdict == "gains":
        template += ", in sample"
    return Finding(template, values, verdict)


def _verdict(row: dict[str, Any], kind: Measure) -> Verdict:
    return verdict_of({**row, "higher_is_better": kind.higher_is_better})


def _named(apart: Sequence[dict[str, Any]], kind: Measure) -> dict[str, Any]:
    """The setting a title names: the largest gain, or the largest cost if none gains."""
    sign = 1 if kind.higher_is_better else -1
    gains = [row for row in apart if _verdict(row, kind) == "gains"]
    return max(gains or apart, key=lambda row: (abs(row["diff"]), sign * row["diff"], str(row)))


def _rows(
    points: pl.DataFrame,
    panels: Sequence[tuple[str, int]],
    default: float | None,
    kind: Measure,
    off_name: str,
) -> dict[str, list[dict[str, Any]]]:
    rows: dict[str, list[dict[str, Any]]] = {}
    for at, (name, _) in enumerate(panels):
        part = points.filter(pl.col("slice") == name)
        rows[f"panel_{at}"] = [
            {
                "value": row["value"],
                "setting": off_name if row["value"] is None else figures.tried(row["value"]),
                "diff": row["diff"],
                # At the default the difference is 0 by definition, and so is its interval.
                "lo": row["diff"] if row["value"] == default else row["lo"],
                "hi": row["diff"] if row["value"] == default else row["hi"],
                "off": row["value"] is None,
                "default": row["value"] == default,
                "difference": figures.signed(row["diff"], decimals=kind.decimals),
                "interval": figures.bounds(row["lo"], row["hi"], decimals=kind.decimals),
                "n": row["n"],
            }
            for row in part.rows(named=True)
        ]
    return rows
