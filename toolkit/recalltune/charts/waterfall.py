"""How a score came about, stage by stage, for a target and its rival."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import altair as alt
import polars as pl

from recalltune.charts import figures
from recalltune.charts.axes import fixed_axis
from recalltune.charts.canvas import (
    About,
    Chart,
    asked,
    data,
    draw,
    finish,
    layered,
    panel_title,
    sentence,
)
from recalltune.charts.findings import Finding
from recalltune.charts.frames import refuse_others, tidy
from recalltune.charts.layout import nice_ticks
from recalltune.charts.look import current
from recalltune.charts.text import cut, pixels
from recalltune.errors import ParameterError

__all__ = ["score_waterfall"]

WIDTH = 265
ROW = 23
KINDS = ("start", "factor", "add", "final")
SPILL = 26  # px a label may stand out to the right of its panel


def score_waterfall(
    frame: pl.DataFrame,
    *,
    threshold: tuple[float, str] | None = None,
    items: Sequence[str] = (),
    query: str = "",
    unit: str = "score",
    without: Mapping[str, Any] | None = None,
    **about: Unpack[About],
) -> Chart:
    """Floating bars, a stage a row, up to two items side by side.

    Parameters
    ----------
    frame
        One row an item and stage: ``item`` (text, panel title), ``step`` (count, pipeline order),
        ``stage`` (text), ``before`` and ``after`` (number), ``kind`` (start: a bar from 0;
        factor: labelled after / before; add: labelled by the signed amount; final: a bar from 0);
        optional ``reason`` (text, said behind the final score: rank 3, below its minimum).
    threshold
        A value and its name, drawn as a rule: ``(0.35, "minimum 0.35")``.
    items
        Panels from left to right, at most two; by default names that start with *target* first.
    query
        Query, already gated; said in the subtitle.
    unit
        Title of the x axis.
    without
        An exact recomputation for the title: ``stage``, ``factor``, ``score`` and, if it is
        known, ``rank`` of the first item without that stage.

    Raises
    ------
    ParameterError
        If a column is missing, a kind or item is unknown, there are over two items, or a stage
        does not begin where the one before it ended.
    """
    bars = tidy(
        frame,
        "score_waterfall",
        {
            "item": "text",
            "step": "count",
            "stage": "text",
            "before": "number",
            "after": "number",
            "kind": "text",
        },
        {"reason": "text"},
        aggregate="draw one case",
    ).sort("step", "item")
    names = list(items) or sorted(bars["item"].unique(), key=_target_first)
    _check(bars, names)
    stages = bars.unique("step", keep="first").sort("step")["stage"].to_list()
    rows = _rows(bars, names)
    drawing = draw(
        "score_waterfall",
        _finding(bars, names, without),
        sentences=[
            asked(query) or f"{figures.counted(len(names), 'item')}.",
            f"Each bar: one stage; blue raises, orange lowers the {unit}.",
        ],
        form=f"Waterfall chart of {figures.counted(len(stages), 'stage')}.",
        rows=rows,
        table=bars,
        about=about,
    )
    if not bars.height:
        return sentence(drawing, "No stage to show.")
    return finish(_panels(rows, names, stages, threshold, unit), drawing)


def _target_first(item: str) -> tuple[bool, str]:
    return not item.casefold().startswith("target"), item


def _check(bars: pl.DataFrame, names: Sequence[str]) -> None:
    if len(names) > 2:
        msg = f"items must be at most two, got {len(names)}; draw the rest in a second chart"
        raise ParameterError(msg)
    refuse_others(bars["kind"], KINDS, "kind")
    refuse_others(bars["item"], names, "item")
    if bars.select("item", "step").is_duplicated().any():
        raise ParameterError("a step must occur once in an item, got one twice")
    if bars["after"].is_null().any():
        raise ParameterError("after must be a finite number in every row, got a gap")
    for name in names:
        last: float | None = None
        for row in bars.filter(pl.col("item") == name).rows(named=True):
            if row["kind"] in ("factor", "add"):
                before = row["before"]
                if before is None or (
                    last is not None and abs(before - last) > 1e-9 * max(1.0, abs(last))
                ):
                    msg = (
                        f"stage {row['stage']!r} must begin at {last!r}, where the one before it "
                        f"ended, got {before!r}"
                    )
                    raise ParameterError(msg)
            last = row["after"]


def _finding(
    bars: pl.DataFrame, names: Sequence[str], without: Mapping[str, Any] | None
) -> Finding:
    if not bars.height:
        return Finding("No stage to show")
    if without is not None:
        values = dict(without)
        values.setdefault("rank", None)
        times = "" if values.get("factor") is None else " ({factor:factor})"
        template = f"Without {{stage}}{times} the target would score {{score:amount}}"
        template += "" if values["rank"] is None else " and rank {rank:count}"
        return Finding(template, values, "exact")
    if not bars["kind"].is_in(["factor", "add"]).any():
        return Finding("{item} has no stage to explain", {"item": names[0]})
    first = bars.filter((pl.col("item") == names[0]) & pl.col("kind").is_in(["factor", "add"]))
    moves = first.with_columns(change=pl.col("after") - pl.col("before")).filter(
        pl.col("change") != 0
    )
    if not moves.height:
        values = {"item": names[0], "stages": first.height}
        return Finding("No stage of {stages:count} moves {item}", values, "exact")
    row = moves.sort(pl.col("change").abs(), "step", descending=[True, False]).row(0, named=True)
    values = {"stage": row["stage"], "item": names[0], "change": row["change"]}
    verb = "lowers" if row["change"] < 0 else "raises"
    stage = "{stage}"
    if row["kind"] == "factor" and row["before"]:
        values["by"] = figures.factor(row["after"] / row["before"])
        stage = "{stage} ({by})"
    return Finding(
        f"{stage} {verb} {{item}} by {{change:amount}}, its largest step", values, "exact"
    )


def _rows(bars: pl.DataFrame, names: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    steps = {step: at for at, step in enumerate(bars["step"].unique().sort())}
    last = max(steps.values(), default=0)
    rows = {}
    for at, name in enumerate(names):
        part = bars.filter(pl.col("item") == name).rows(named=True)
        rows[f"panel_{at}"] = [
            _bar(row, steps[row["step"]], last=steps[row["step"]] == last) for row in part
        ]
    return rows


def _bar(row: dict[str, Any], order: int, *, last: bool) -> dict[str, Any]:
    colours = current()
    whole = row["kind"] in ("start", "final")
    before = 0.0 if whole else row["before"]
    change = row["after"] - before
    still = not whole and change == 0
    colour = colours.outcome["better" if change > 0 else "worse"]
    if row["kind"] == "start":
        colour = colours.family["textbook"]
    elif row["kind"] == "final":
        colour = colours.ink
    return {
        "order": order,
        "stage": cut(row["stage"] or "", 30),
        "low": min(before, row["after"]),
        "high": max(before, row["after"]),
        "after": row["after"],
        "still": still,
        "joined": not last,
        "colour": colour,
        "text": cut(_text(row, change, still=still), 40),
        "score": figures.metric(row["after"]),
    }


def _text(row: dict[str, Any], change: float, *, still: bool) -> str:
    if row["kind"] in ("start", "final"):
        score = figures.metric(row["after"])
        return f"{score}: {row['reason']}" if row["reason"] else score
    if still:
        return f"no effect: {row['reason']}" if row["reason"] else "no effect"
    if row["kind"] == "factor" and row["before"]:
        return figures.factor(row["after"] / row["before"])
    return figures.signed(change)


def _panels(
    rows: Mapping[str, list[dict[str, Any]]],
    names: Sequence[str],
    stages: Sequence[str],
    threshold: tuple[float, str] | None,
    unit: str,
) -> Chart:
    every = [row for part in rows.values() for row in part]
    low = min(0.0, *(row["low"] for row in every))
    top = max(row["high"] for row in every) or 1.0
    # Wide enough that the longest label beside its bar still fits.
    for row in every:
        room = WIDTH + SPILL - 10 - min(pixels(row["text"], 11), WIDTH * 0.7)
        top = max(top, low + (row["high"] - low) * WIDTH / room)
    if threshold:
        top = max(top, threshold[0] * 1.05)
    ticks = [tick for tick in nice_ticks(low, top, 3) if low <= tick <= top]
    scale = alt.Scale(domain=[low, top], nice=False, zero=False)
    decimals = 2 if top - low < 20 else 0
    axis = fixed_axis(ticks, format=f",.{decimals}f", title=cut(unit), grid=True)
    panels = [
        _panel(f"panel_{at}", name, len(stages), scale, axis, threshold, labels=at == 0)
        for at, name in enumerate(names)
    ]
    return alt.hconcat(*panels, spacing=30)


def _panel(
    name: str,
    item: str,
    stages: int,
    scale: alt.Scale,
    axis: alt.Axis,
    threshold: tuple[float, str] | None,
    *,
    labels: bool,
) -> alt.LayerChart:
    colours = current()
    # The name of the threshold stands in a row of its own above the first bar.
    first = -1.4 if threshold else -0.6
    y = alt.Y("order:Q", axis=None, scale=alt.Scale(domain=[first, stages - 0.4], reverse=True))
    rows = alt.Chart(data(name), width=WIDTH, height=round(ROW * (stages - 0.4 - first)))
    joints = rows.transform_filter("datum.joined").transform_calculate(next="datum.order + 1")
    tips = [alt.Tooltip("stage:N"), alt.Tooltip("text:N", title="effect"), alt.Tooltip("score:N")]
    layers: list[Any] = [
        joints.mark_rule(color=colours.muted, strokeWidth=1).encode(
            x=alt.X("after:Q", scale=scale, axis=axis), y=y, y2=alt.Y2("next")
        ),
        rows.mark_bar(height=16).encode(
            x=alt.X("low:Q", scale=scale, axis=axis), x2=alt.X2("high"), y=y,
            color=alt.Color("colour:N", scale=None), tooltip=tips,
        ),
        rows.transform_filter("datum.still")
        .mark_tick(color=colours.muted, thickness=2, size=16, orient="vertical")
        .encode(x=alt.X("after:Q", scale=scale, axis=axis), y=y, tooltip=tips),
    ]  # fmt: skip
    if threshold:
        rule = alt.Chart(alt.InlineData(values=[{"at": threshold[0]}]))
        x = alt.X("at:Q", scale=scale, axis=axis)
        layers += [
            rule.mark_rule(strokeDash=[4, 3], color=colours.ink).encode(x=x),
            rule.mark_text(align="left", dx=5, color=colours.muted).encode(
                x=x, y=alt.value(9), text=alt.value(cut(threshold[1]))
            ),
        ]
    at_end = {"x": alt.X("high:Q", scale=scale, axis=axis), "y": y, "text": alt.Text("text:N")}
    layers += [
        rows.mark_text(align="left", dx=7, stroke=colours.paper, strokeWidth=3, aria=False).encode(
            **at_end
        ),
        rows.mark_text(align="left", dx=7).encode(**at_end),
    ]
    if labels:
        layers.append(rows.mark_text(align="right").encode(x=alt.value(-8), y=y, text="stage:N"))
    return layered(*layers).properties(title=panel_title(cut(item, 40)))
