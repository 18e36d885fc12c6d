"""What a decay formula does with age, or a fusion formula with rank."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any, Literal, Unpack

import altair as alt
import polars as pl

from recalltune.charts import figures
from recalltune.charts.axes import fixed_axis, range_axis
from recalltune.charts.canvas import About, Chart, Drawing, data, draw, finish
from recalltune.charts.findings import Finding
from recalltune.charts.frames import tidy, without_gaps
from recalltune.charts.layout import nice_ticks, spread
from recalltune.charts.look import current
from recalltune.charts.palette import DASHES, FAMILIES, family_of
from recalltune.charts.text import cut
from recalltune.errors import ParameterError

__all__ = ["decay_curves", "decay_curves_drawing"]

WHOLE = (300, 230)
EARLY = 170
AGES = (0.25, 730.0)
EARLY_DAYS = 10.0
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
    return finish(_panels(drawing.rows, x, early and x == "age_days"), drawing)


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
            gaps,
        ],
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
        for (age, apart, weight), (later, then, after) in zip(shared, shared[1:], strict=False):
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
    lo, hi = _weights(points, x)
    hi = _top(lo, hi)
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


def _weights(points: pl.DataFrame, x: str) -> tuple[float, float]:
    weights = points["weight"].to_list()
    if not weights or (x == "age_days" and all(0 <= weight <= 1 for weight in weights)):
        return 0.0, 1.0
    ticks = nice_ticks(min(0.0, *weights), max(weights), 4)
    return ticks[0], ticks[-1]


def _top(lo: float, hi: float) -> float:
    # Room above the highest tick: its label would push the panel's title up.
    return hi + 0.04 * (hi - lo)


def _panels(rows: Mapping[str, list[dict[str, Any]]], x: str, early: bool) -> Chart:
    frame = pl.DataFrame(
        {"weight": [row["weight"] for row in rows["points"]]}, schema={"weight": pl.Float64}
    )
    lo, hi = _weights(frame, x)
    title = "age, days (log)" if x == "age_days" else "rank"
    if x == "age_days":
        scale = alt.Scale(type="log", domain=list(AGES), nice=False)
        axis = fixed_axis([0.25, 1, 7, 30, 180, 730], format="~g", title=title, grid=True)
    else:
        last = max((row["x"] for row in rows["points"]), default=10.0)
        scale = alt.Scale(domain=[1, max(last, 2.0)], nice=False, zero=False)
        axis = fixed_axis(_rank_ticks(last), format="d", title=title, grid=True)
    decimals = max(2, -math.floor(math.log10((hi - lo) / 4)))
    y_axis = fixed_axis(nice_ticks(lo, hi, 4), format=f".{decimals}f", title=None, grid=True)
    y_scale = alt.Scale(domain=[lo, _top(lo, hi)], nice=False, zero=False)
    whole = alt.layer(*_lines(WHOLE, scale, axis, y_scale, y_axis), *_notes(scale, y_scale))
    if not early:
        return whole
    near = [row["weight"] for row in rows["points"] if row["x"] <= EARLY_DAYS] or [0.0, 1.0]
    near_scale, near_axis = range_axis(min(near), max(near), about=3, grid=True)
    first = alt.Scale(type="log", domain=[AGES[0], EARLY_DAYS], nice=False)
    first_axis = fixed_axis([0.25, 1, 2, 4, 10], format="~g", title=title, grid=True)
    left = alt.layer(
        *_lines((EARLY, WHOLE[1]), first, first_axis, near_scale, near_axis),
        *_ring(first, near_scale),
    )

    def headed(panel: alt.LayerChart, text: str) -> alt.LayerChart:
        heading = alt.TitleParams(text, fontSize=12, offset=8, anchor="start")
        return panel.properties(title=heading)

    return alt.hconcat(
        headed(left, "first ten days, enlarged"), headed(whole, "whole range"), spacing=26
    )


def _rank_ticks(last: float) -> list[float]:
    step = max(1, round(last / 5))
    return [1.0, *[float(at) for at in range(step, int(last) + 1, step) if at > 1]]


def _lines(
    size: tuple[int, int], scale: alt.Scale, axis: alt.Axis, y_scale: alt.Scale, y_axis: alt.Axis
) -> list[Any]:
    x = alt.X("x:Q", scale=scale, axis=axis)
    y = alt.Y("weight:Q", scale=y_scale, axis=y_axis)
    dashes = alt.Scale(
        domain=list(DASHES),
        range=[[] if dash == (1, 0) else list(dash) for dash in DASHES.values()],
    )
    points = alt.Chart(data("points"), width=size[0], height=size[1])
    tips = [alt.Tooltip("curve:N"), alt.Tooltip("x:Q", format=".3~g"),
            alt.Tooltip("weight:Q", format=".3f")]  # fmt: skip
    return [
        points.mark_line(strokeWidth=2.2, clip=True).encode(
            x=x, y=y, detail="curve:N", color=alt.Color("colour:N", scale=None), tooltip=tips,
            strokeDash=alt.StrokeDash("family:N", scale=dashes, legend=None),
        )
    ]  # fmt: skip


def _notes(scale: alt.Scale, y_scale: alt.Scale) -> list[Any]:
    colours = current()
    x = alt.X("x:Q", scale=scale)
    half = alt.Chart(data("half_life"))
    text = {"align": "right", "dx": -5, "baseline": "middle"}
    return [
        half.mark_rule(strokeDash=[4, 3], color=colours.muted, clip=True).encode(x=x),
        half.mark_text(stroke=colours.paper, strokeWidth=3, **text).encode(
            x=x, y=alt.value(WHOLE[1] - 20), text="text:N"
        ),
        half.mark_text(color=colours.muted, **text).encode(
            x=x, y=alt.value(WHOLE[1] - 20), text="text:N"
        ),
        alt.Chart(data("evidence")).mark_rule(color=colours.ink, opacity=0.7).encode(
            x=x, y=alt.value(WHOLE[1] - 8), y2=alt.value(WHOLE[1])
        ),
        alt.Chart(data("ends")).mark_text(align="left", fontWeight=600, fontSize=11.5).encode(
            x=alt.value(WHOLE[0] + 8), y=alt.Y("at:Q", scale=y_scale), text="text:N",
            color=alt.Color("colour:N", scale=None),
        ),
        alt.Chart(data("note")).mark_text(align="left", color=colours.muted).encode(
            x=alt.value(8), y=alt.value(20), text="text:N"
        ),
    ]  # fmt: skip


def _ring(scale: alt.Scale, y_scale: alt.Scale) -> list[Any]:
    colours = current()
    crossings = alt.Chart(data("crossings"))
    x, y = alt.X("x:Q", scale=scale), alt.Y("weight:Q", scale=y_scale)
    text = {"align": "left", "dx": 5, "dy": -12}
    return [
        crossings.mark_point(size=80, stroke=colours.ink, fill=colours.paper, strokeWidth=1.8,
                             opacity=1, clip=True).encode(x=x, y=y),
        crossings.mark_text(stroke=colours.paper, strokeWidth=3, **text).encode(x=x, y=y, text="text:N"),
        crossings.mark_text(color=colours.ink, **text).encode(x=x, y=y, text="text:N"),
    ]  # fmt: skip
