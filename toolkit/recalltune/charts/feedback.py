"""What use does to memory: how exposure gathers on a few, and how far lists drift from the rest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Unpack, get_args

import altair as alt
import polars as pl

from recalltune.charts import figures
from recalltune.charts.canvas import About, Chart, draw, finish, layered, panel_title, sentence
from recalltune.charts.feedback_marks import coloured, lines, panel, still_rows
from recalltune.charts.findings import Finding
from recalltune.charts.frames import tidy, without_gaps
from recalltune.errors import ParameterError

__all__ = ["exposure_share", "feedback_drift"]

Concentration = Literal["gini", "top_1_share", "top_10_share"]

CONFIGS = 5
SIZE = (460, 210)
PANEL = (460, 150)
_MEASURES: Mapping[str, str] = {
    "gini": "Gini coefficient of exposures among memories shown",
    "top_1_share": "Part of all exposures that the most shown 1 % of memories hold",
    "top_10_share": "Part of all exposures that the most shown 10 % of memories hold",
}


def exposure_share(
    frame: pl.DataFrame, *, measure: Concentration = "gini", **about: Unpack[About]
) -> Chart:
    """How unevenly a walk shows its memories, over its steps; a line a config.

    Parameters
    ----------
    frame
        One row a config and step: ``config`` (text), ``step`` (count, queries asked so far), and
        the measure (number, in [0, 1]). At most five configs.
    measure
        ``gini`` (0: all memories shown are shown equally often), ``top_1_share`` or
        ``top_10_share`` (exposures held by the most shown 1 or 10 % of them).

    Raises
    ------
    ParameterError
        If a column is missing, a value leaves [0, 1], a step occurs twice in a config, or there
        are over five configs.
    """
    if measure not in get_args(Concentration):
        msg = f"measure must be one of {', '.join(get_args(Concentration))}, got {measure!r}"
        raise ParameterError(msg)
    known = tidy(
        frame,
        "exposure_share",
        {"config": "text", "step": "count", measure: "number"},
        aggregate="look at fewer steps",
    ).rename({"step": "x", measure: "y"})
    points, gaps = without_gaps(known, ["config", "x", "y"])
    points = _checked(points, "step")
    ends = _ends(points)
    what = _MEASURES[measure]
    drawing = draw(
        "exposure_share",
        _exposure_finding(points, ends, measure),
        sentences=[
            f"{what}, over the queries asked so far.",
            "Right ends: config and last value.",
        ],
        gaps=gaps,
        form=f"Line chart of {figures.counted(len(ends), 'config')} over steps.",
        rows=lines(points, ends, SIZE[1], "amount" if measure == "gini" else "share"),
        table=points.rename({"x": "step", "y": measure}),
        about=about,
    )
    if not points.height:
        return sentence(drawing, "No step to look at.")
    steps, values = points["x"].to_list(), points["y"].to_list()
    marks = panel(("points", "ends"), SIZE, steps, values, "queries asked so far")
    return finish(layered(*marks), drawing)


def feedback_drift(frame: pl.DataFrame, **about: Unpack[About]) -> Chart:
    """How far use moves the lists from those without it, window by window, and what new needs pay.

    Parameters
    ----------
    frame
        One row a config and window, in time order: ``config`` (text), ``window`` (count, from 1),
        ``overlap`` (number, [0, 1], mean share of a list that stands in the list without
        simulated use too), ``first_needed`` (count, targets needed for the first time),
        ``first_recall``, ``still_first_recall`` (number, [0, 1], share of them shown, with
        simulated use and without). At most five configs.

    Raises
    ------
    ParameterError
        If a column is missing, a value leaves [0, 1], a window occurs twice in a config, or there
        are over five configs.
    """
    known = tidy(
        frame,
        "feedback_drift",
        {
            "config": "text",
            "window": "count",
            "overlap": "number",
            "first_needed": "count",
            "first_recall": "number",
            "still_first_recall": "number",
        },
        aggregate="take longer windows",
    )
    rows, gaps = without_gaps(known, ["config", "window", "overlap", "first_needed"])
    overlap = _checked(rows.rename({"window": "x", "overlap": "y"}), "window")
    needed, untold = without_gaps(
        overlap.filter(pl.col("first_needed") > 0), ["first_recall", "still_first_recall"]
    )
    shares = needed.select("first_recall", "still_first_recall")
    if shares.filter(~pl.all_horizontal(pl.all().is_between(0.0, 1.0))).height:
        raise ParameterError("first_recall must lie in [0, 1], got a value outside")
    ends = _ends(overlap)
    recalls = needed.select("config", "x", pl.col("first_recall").alias("y"))
    still = needed.select("config", "x", pl.col("still_first_recall").alias("y"))
    drawing = draw(
        "feedback_drift",
        _drift_finding(overlap, needed, ends),
        sentences=[
            "Above: share of a list that stands in the list without use too.",
            "Below: share shown of targets needed for the first time; pale: without use."
            if recalls.height
            else "No target is needed for the first time, or no labels are given.",
        ],
        gaps=f"{gaps} {untold}".strip(),
        form=f"Two line charts of {figures.counted(len(ends), 'config')} over windows of queries.",
        rows={
            **lines(overlap, ends, PANEL[1], "share"),
            "recalls": coloured(recalls, list(ends)),
            "still": still_rows(still, list(ends)),
        },
        table=overlap.rename({"x": "window", "y": "overlap"}),
        about=about,
    )
    if not overlap.height:
        return sentence(drawing, "No window to look at.")
    steps, title = overlap["x"].to_list(), "window of queries, in time order"
    values = overlap["y"].to_list()
    if not recalls.height:
        return finish(layered(*panel(("points", "ends"), PANEL, steps, values, title)), drawing)
    above = panel(("points", "ends"), PANEL, steps, values, None)
    shown = [*recalls["y"].to_list(), *still["y"].to_list()]
    below = panel(("still", "recalls"), PANEL, steps, shown, title)
    both = alt.vconcat(
        layered(*above).properties(title=panel_title("overlap with the lists without use")),
        layered(*below).properties(title=panel_title("targets needed for the first time")),
        spacing=18,
    )
    return finish(both, drawing)


def _checked(points: pl.DataFrame, name: str) -> pl.DataFrame:
    if points.select("config", "x").is_duplicated().any():
        msg = f"each {name} must occur once in a config, got one again"
        raise ParameterError(msg)
    outside = points.filter(~pl.col("y").is_between(0.0, 1.0))
    if outside.height:
        msg = f"shares must lie in [0, 1], got {outside['y'][0]!r}"
        raise ParameterError(msg)
    if (configs := points["config"].n_unique()) > CONFIGS:
        msg = f"configs must be at most {CONFIGS}, got {configs}; draw the rest in a second chart"
        raise ParameterError(msg)
    return points.sort("config", "x")


def _ends(points: pl.DataFrame) -> dict[str, float]:
    """Last value of each config, by name."""
    last = points.sort("x").group_by("config").agg(pl.col("y").last()).sort("config")
    return dict(last.select("config", "y").iter_rows())


def _exposure_finding(points: pl.DataFrame, ends: Mapping[str, float], measure: str) -> Finding:
    if not ends:
        return Finding("No step to look at")
    how = "amount" if measure == "gini" else "share"
    held = {
        "gini": "Gini of exposures",
        "top_1_share": "Most shown hundredth",
        "top_10_share": "Most shown tenth",
    }[measure]
    verb = "is" if measure == "gini" else "holds"
    high = max(ends, key=lambda name: (ends[name], name))
    low = min(ends, key=lambda name: (ends[name], name))
    values: dict[str, Any] = {"held": held, "high": high, "above": ends[high]}
    values |= {"low": low, "below": ends[low], "steps": points["x"].max()}
    lead = f"{{held}} {verb} {{above:{how}}} under {{high}}"
    if ends[high] == ends[low]:
        values["n"] = len(ends)
        lead = f"{{held}} {verb} {{above:{how}}} after {{steps:count}} queries"
        tail = " under all {n:count} configs" if len(ends) > 1 else ""
        return Finding(lead + tail, values, "exact")
    return Finding(f"{lead}, {{below:{how}}} under {{low}}", values, "exact")


def _drift_finding(
    overlap: pl.DataFrame, needed: pl.DataFrame, ends: Mapping[str, float]
) -> Finding:
    if not ends:
        return Finding("No window to look at")
    farthest = min(ends, key=lambda name: (ends[name], name))
    if overlap["y"].min() == 1.0:
        values: dict[str, Any] = {"n": overlap["x"].n_unique()}
        return Finding("Use changes no list in {n:count} windows", values, "exact")
    values = {"config": farthest, "overlap": ends[farthest]}
    said = "{config} ends with {overlap:share} of the list without use"
    mine = needed.filter(pl.col("config") == farthest)
    if mine.height:
        size = pl.col("first_needed")
        values |= {
            "now": (mine.select((pl.col("first_recall") * size).sum())).item(),
            "was": (mine.select((pl.col("still_first_recall") * size).sum())).item(),
            "of": mine["first_needed"].sum(),
        }
        said += "; it finds {now:count} of {of:count} first needs, {was:count} without"
    return Finding(said, values, "exact")
