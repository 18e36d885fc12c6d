"""What a decay formula does with age, or a fusion formula with rank."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any, Literal, Unpack

import polars as pl

from recalltune.charts import figures
from recalltune.charts.canvas import About, Chart, Drawing, draw, finish
from recalltune.charts.curves_marks import (
    AGES,
    EARLY_DAYS,
    WHOLE,
    curve_panels,
    weight_range,
    with_room,
)
from recalltune.charts.findings import Finding
from recalltune.charts.frames import tidy, without_gaps
from recalltune.charts.layout import spread
from recalltune.charts.look import current
from recalltune.charts.palette import FAMILIES, family_of
from recalltune.charts.text import cut
from recalltune.errors import ParameterError

__all__ = ["decay_curves", "decay_curves_drawing"]

CURVES = 5


def decay_curves(
    frame: pl.DataFrame,
    *,
    x: Literal["age_days", "rank"] = "age_days",
    half_life_days: float | None = None,
    evidence: pl.DataFrame | None = None,
    enlarge: bool | None = None,
    **about: Unpack[About],
) -> Chart:
    """Weight by age on a log axis from 0.25 to 730 days, or score by rank.

    Parameters
    ----------
    frame
        One row a point: ``curve`` (text), ``age_days`` or ``rank`` (number), ``weight`` (number);
        optional ``family`` (preset family, for colour and dash). At most five curves. Ages under
        0.25 or over 730 days are not drawn.
    x
        Column of the x axis.
    half_life_days
        > 0. Drawn as a rule.
    evidence
        Optional ages of evidence as a rug: ``age_days`` (number).
    enlarge
        Whether a second panel shows the first ten days; by default where curves cross there.
        Say True or False for a chart that will be patched.

    Raises
    ------
    ParameterError
        If a column is missing, there are over five curves, or an option is out of range.
    """
    drawing = decay_curves_drawing(
        frame, x=x, half_life_days=half_life_days, evidence=evidence, **about
    )
    early = bool(drawing.rows["crossings"]) if enlarge is None else enlarge
    return finish(curve_panels(drawing.rows, x, early and x == "age_days"), drawing)


def decay_curves_drawing(
    frame: pl.DataFrame,
    *,
    x: Literal["age_days", "rank"] = "age_days",
    half_life_days: float | None = None,
    evidence: pl.DataFrame | None = None,
    **about: Unpack[About],
) -> Drawing:
    """What `decay_curves` draws, without the marks: for `patch`. Same options, same errors."""
    if x not in ("age_days", "rank"):
        msg = f"x must be age_days or rank, got {x!r}"
        raise ParameterError(msg)
    if half_life_days is not None and not 0 < half_life_days < math.inf:
        msg = f"half_life_days must lie in (0, inf), got {half_life_days!r}"
        raise ParameterError(msg)
    known = tidy(
        frame,
        "decay_curves",
        {"curve": "text", x: "number", "weight": "number"},
        {"family": "text"},
        aggregate="draw each curve at about 200 points",
    ).rename({x: "x"})
    points, gaps = without_gaps(known, ["curve", "x", "weight"])
    if x == "age_days":
        points = points.filter(pl.col("x").is_between(*AGES))
    points = points.sort("curve", "x")
    curves = _curves(points)
    crossing = _crossing(curves) if x == "age_days" else None
    return draw(
        "decay_curves",
        _finding(curves, crossing, x),
        sentences=[
            "Weight by age in days." if x == "age_days" else "Score by rank.",
            "Right ends: name and last value.",
            "Ticks at the bottom: ages of evidence." if evidence is not None else "",
        ],
        gaps=gaps,
        form=f"Line chart of {figures.counted(len(curves), 'curve')} over {x}.",
        rows=_rows(points, curves, crossing, half_life_days, evidence, x),
        table=points.rename({"x": x}),
        about=about,
    )


def _curves(points: pl.DataFrame) -> dict[str, list[tuple[float, float]]]:
    names = points["curve"].unique(maintain_order=True).to_list()
    if len(names) > CURVES:
        msg = f"curves must be at most {CURVES}, got {len(names)}; draw the rest in a second chart"
        raise ParameterError(msg)
    return {
        name: points.filter(pl.col("curve") == name).select("x", "weight").rows() for name in names
    }


def _crossing(
    curves: Mapping[str, list[tuple[float, float]]],
) -> tuple[float, float, str, str] | None:
    """Age and weight of the crossing in the first ten days with the widest gap before it."""
    best: tuple[float, float, float, str, str] | None = None
    for (one, first), (two, second) in itertools.combinations(curves.items(), 2):
        at = dict(second)
        shared = [(age, w - at[age], w) for age, w in first if age in at and age <= EARLY_DAYS]
        gap = 0.0
        for (age, apart, weight), (later, then, after) in itertools.pairwise(shared):
            gap = max(gap, abs(apart))
            if apart * then < 0:
                part = apart / (apart - then)
                where = age * (later / age) ** part
                level = weight + part * (after - weight)
                ahead, behind = (one, two) if apart > 0 else (two, one)
                if best is None or gap > best[0]:
                    best = (gap, where, level, ahead, behind)
                break
    return best and best[1:]


def _finding(
    curves: Mapping[str, list[tuple[float, float]]],
    crossing: tuple[float, float, str, str] | None,
    x: str,
) -> Finding:
    if not curves:
        return Finding("No curve to draw")
    if crossing:
        age, _, ahead, behind = crossing
        values = {"age": age, "ahead": ahead, "behind": behind}
        return Finding("For its first {age:age} days {ahead} outweighs {behind}", values, "exact")
    ends = {name: points[-1][1] for name, points in curves.items()}
    if len(curves) == 1:
        name, weight = next(iter(ends.items()))
        last = next(iter(curves.values()))[-1][0]
        unit = "after {age:age} days" if x == "age_days" else "at rank {age:count}"
        values = {"curve": name, "age": last, "weight": weight}
        return Finding(f"{{curve}} leaves {{weight:amount}} {unit}", values, "exact")
    if all(points == next(iter(curves.values())) for points in curves.values()):
        return Finding("All {curves:count} curves are the same", {"curves": len(curves)}, "exact")
    high = max(ends, key=lambda name: (ends[name], name))
    low = min(ends, key=lambda name: (ends[name], name))
    values = {"high": high, "low": low, "above": ends[high], "below": ends[low]}
    return Finding("{high} ends at {above:amount}, {low} at {below:amount}", values, "exact")


def _rows(
    points: pl.DataFrame,
    curves: Mapping[str, list[tuple[float, float]]],
    crossing: tuple[float, float, str, str] | None,
    half_life_days: float | None,
    evidence: pl.DataFrame | None,
    x: str,
) -> dict[str, list[dict[str, Any]]]:
    colours = current()
    families = dict(points.select("curve", "family").unique("curve", maintain_order=True).rows())
    # Curves without a family take the families' colours and dashes in turn.
    wears = {
        name: family_of(families[name]) if families[name] else FAMILIES[(at + 1) % len(FAMILIES)]
        for at, name in enumerate(curves)
    }
    lo, hi = weight_range(points, x)
    hi = with_room(lo, hi)
    ends = {name: part[-1][1] for name, part in curves.items()}
    tall = WHOLE[1]
    wanted = [tall * (hi - weight) / (hi - lo) for weight in ends.values()]
    places = spread(wanted, 15.0, 4.0, tall - 4.0)
    half = [] if half_life_days is None else [half_life_days]
    return {
        "points": [
            {
                "curve": row["curve"],
                "x": row["x"],
                "weight": row["weight"],
                "family": wears[row["curve"]],
                "colour": colours.family[wears[row["curve"]]],
            }
            for row in points.rows(named=True)
        ],
        "ends": [
            {
                "at": hi - place * (hi - lo) / tall,
                "text": f"{cut(name, 26)} {_ending(ends[name], x)}",
                "colour": colours.family_text[wears[name]],
            }
            for name, place in zip(curves, places, strict=True)
        ],
        "crossings": [
            {"x": age, "weight": level, "text": f"{figures.age(age)} days"}
            for age, level, _, _ in ([crossing] if crossing else [])
        ],
        "half_life": [{"x": days, "text": f"half-life {figures.tried(days)}"} for days in half],
        "evidence": _rug(evidence),
        "note": [{"text": "" if curves else "No curve to draw."}],
    }


def _ending(weight: float, x: str) -> str:
    return f"{weight:.2f}" if x == "age_days" else figures.amount(weight)


def _rug(evidence: pl.DataFrame | None) -> list[dict[str, float]]:
    if evidence is None:
        return []
    known = tidy(evidence, "decay_curves", {"age_days": "number"}, aggregate="sample the ages")
    ages = known["age_days"].drop_nulls().clip(*AGES)
    # One tick a pixel is all a reader sees.
    low, high = (math.log(age) for age in AGES)
    pixel = {round((math.log(age) - low) / (high - low) * WHOLE[0]) for age in ages}
    return [{"x": math.exp(low + at / WHOLE[0] * (high - low))} for at in sorted(pixel)]
