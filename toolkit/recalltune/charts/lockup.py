"""Which writes a capacity rule accepts, over the limit and the text already stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import altair as alt
import polars as pl

from recalltune.charts import figures
from recalltune.charts.axes import fixed_axis
from recalltune.charts.canvas import (
    About,
    Chart,
    data,
    draw,
    finish,
    layered,
    panel_title,
    sentence,
)
from recalltune.charts.findings import Finding
from recalltune.charts.frames import json_rows, tidy
from recalltune.charts.layout import nice_ticks
from recalltune.charts.look import current
from recalltune.charts.text import cut
from recalltune.errors import ParameterError, nearest

__all__ = ["lockup_phase"]

SIZE = (270, 240)
OUTCOMES = ("written", "compacted", "refused")


def lockup_phase(
    frame: pl.DataFrame,
    *,
    policies: Sequence[str] = (),
    example: pl.DataFrame | None = None,
    formula: pl.DataFrame | None = None,
    unit: str = "characters",
    **about: Unpack[About],
) -> Chart:
    """Written, compacted, refused: outcome by limit and stored size, policies side by side.

    Parameters
    ----------
    frame
        One row a run of equal outcomes: ``policy`` (text), ``limit_from`` and ``limit_to``,
        ``size_from`` and ``size_to`` (number, a rectangle), ``outcome`` (written, compacted or
        refused). Merge neighbouring cells along the limit before drawing.
    policies
        Panels from left to right, at most three; by default by name.
    example
        Simulated points, joined per policy: ``policy`` (text), ``limit``, ``size`` (number),
        ``outcome`` (text).
    formula
        A thin line: ``policy`` (text), ``limit``, ``size`` (number).
    unit
        What limit and size are counted in.

    Raises
    ------
    ParameterError
        If a column is missing, an outcome or policy is unknown, or a rectangle has no area.
    """
    cells = tidy(
        frame,
        "lockup_phase",
        {
            "policy": "text",
            "limit_from": "number",
            "limit_to": "number",
            "size_from": "number",
            "size_to": "number",
            "outcome": "text",
        },
        aggregate="merge runs of equal outcomes along the limit",
    ).sort("policy", "size_from", "limit_from")
    names = list(policies) or sorted(cells["policy"].unique())
    _check(cells, names)
    points = _points(example, names)
    line = _line(formula, names)
    drawing = draw(
        "lockup_phase",
        _finding(cells, names, points),
        sentences=[
            f"Outcome of one write by limit and text already stored, in {unit}.",
            "Points: simulated." if points.height else "",
            "Line: the formula of the dead zone." if line.height else "",
        ],
        form=f"Phase chart of {figures.counted(len(names), 'policy')}.",
        rows=_rows(cells, points, line, names),
        table=cells,
        about=about,
    )
    if not cells.height:
        return sentence(drawing, "No limit was simulated.")
    spans = [
        (float(min(cells[f"{axis}_from"])), float(max(cells[f"{axis}_to"])))
        for axis in ("limit", "size")
    ]
    panels = [
        _panel(at, name, spans[0], spans[1], unit, labels=at == 0) for at, name in enumerate(names)
    ]
    return finish(alt.hconcat(*panels, spacing=18), drawing)


def _check(cells: pl.DataFrame, names: Sequence[str]) -> None:
    if len(names) > 3:
        msg = f"policies must be at most 3, got {len(names)}"
        raise ParameterError(msg)
    for column, allowed in (("outcome", OUTCOMES), ("policy", names)):
        if odd := [value for value in cells[column] if value not in allowed]:
            msg = f"{column} {odd[0]!r} is not known; {nearest(str(odd[0]), allowed)}"
            raise ParameterError(msg)
    bounds = cells.select("limit_from", "limit_to", "size_from", "size_to")
    flat = cells.filter(
        (pl.col("limit_from") >= pl.col("limit_to")) | (pl.col("size_from") >= pl.col("size_to"))
    )
    if flat.height or bounds.null_count().sum_horizontal()[0]:
        raise ParameterError("each rectangle must have finite bounds and an area, got one without")


def _points(example: pl.DataFrame | None, names: Sequence[str]) -> pl.DataFrame:
    if example is None:
        return pl.DataFrame(schema={"policy": pl.String, "limit": pl.Float64,
                                    "size": pl.Float64, "outcome": pl.String})  # fmt: skip
    known = tidy(example, "lockup_phase", {"policy": "text", "limit": "number",
                                           "size": "number", "outcome": "text"})  # fmt: skip
    return known.filter(pl.col("policy").is_in(names)).sort("policy", "limit")


def _line(formula: pl.DataFrame | None, names: Sequence[str]) -> pl.DataFrame:
    if formula is None:
        return pl.DataFrame(schema={"policy": pl.String, "limit": pl.Float64, "size": pl.Float64})
    known = tidy(formula, "lockup_phase", {"policy": "text", "limit": "number", "size": "number"})
    return known.filter(pl.col("policy").is_in(names)).sort("policy", "limit")


def _finding(cells: pl.DataFrame, names: Sequence[str], points: pl.DataFrame) -> Finding:
    if not cells.height:
        return Finding("No limit was simulated")
    for name in names:
        pair = points.filter(pl.col("policy") == name)
        if pair.height < 2:
            continue
        first, last = pair.row(0, named=True), pair.row(-1, named=True)
        if first["outcome"] != "refused" and last["outcome"] == "refused":
            values = {"policy": name, "low": first["limit"], "high": last["limit"]}
            return Finding(
                "{policy}: raising the limit from {low:count} to {high:count}"
                " turns accepted into refused",
                values,
                "exact",
            )
    refused = {
        name: cells.filter((pl.col("policy") == name) & (pl.col("outcome") == "refused"))
        for name in names
    }
    trapped = [name for name in names if _higher_limit_is_refused(cells, refused[name], name)]
    if not trapped:
        values = {"policies": len(names), "nouns": figures.noun(len(names), "policy")}
        return Finding("In {policies:count} {nouns} no higher limit is refused", values, "exact")
    values = {"trapped": len(trapped), "policies": len(names), "first": trapped[0],
              "nouns": figures.noun(len(names), "policy")}  # fmt: skip
    return Finding(
        "{trapped:count} of {policies:count} {nouns} refuse at a higher limit what a lower accepts:"
        " {first}",
        values,
        "exact",
    )


def _higher_limit_is_refused(cells: pl.DataFrame, refused: pl.DataFrame, name: str) -> bool:
    accepted = cells.filter((pl.col("policy") == name) & (pl.col("outcome") != "refused"))
    lowest = accepted.group_by("size_from").agg(low=pl.col("limit_from").min())
    return bool(
        refused.join(lowest, on="size_from").filter(pl.col("limit_from") > pl.col("low")).height
    )


def _fills() -> dict[str, str]:
    colours = current()
    pale = {"light": "#DCE6F2", "dark": "#2C3A4C"}[colours.name]
    return {
        "written": pale,
        "compacted": colours.diverging[3],
        "refused": colours.outcome["worse"],
    }


def _rows(
    cells: pl.DataFrame, points: pl.DataFrame, line: pl.DataFrame, names: Sequence[str]
) -> dict[str, list[dict[str, Any]]]:
    fills = _fills()
    rows: dict[str, list[dict[str, Any]]] = {}
    for at, name in enumerate(names):
        for label, part in (("cells", cells), ("points", points), ("line", line)):
            kept = json_rows(part.filter(pl.col("policy") == name))
            rows[f"{label}_{at}"] = kept
        for row in rows[f"cells_{at}"]:
            row["fill"] = fills[row["outcome"]]
        for index, row in enumerate(rows[f"points_{at}"]):
            accepted = "refused" if row["outcome"] == "refused" else "accepted"
            row["text"] = f"{figures.count(row['limit'])}: {accepted}"
            row["lift"] = index % 2
    left = 0.0
    rows["keys"] = []
    for outcome in OUTCOMES:
        rows["keys"].append({"left": left, "text": outcome, "fill": fills[outcome]})
        left += 96
    return rows


def _panel(
    at: int,
    name: str,
    limits: tuple[float, float],
    sizes: tuple[float, float],
    unit: str,
    *,
    labels: bool,
) -> alt.LayerChart:
    colours = current()
    x_scale = alt.Scale(domain=list(limits), nice=False, zero=False)
    y_scale = alt.Scale(domain=list(sizes), nice=False, zero=False)

    def ticks(span: tuple[float, float]) -> list[float]:
        return [tick for tick in nice_ticks(*span, 4) if span[0] <= tick <= span[1]]

    x_axis = fixed_axis(ticks(limits), format=",d", title=f"limit, {cut(unit)}", ticks=True)
    y_axis = fixed_axis(
        ticks(sizes), format=",d", labels=labels,
        title=f"text already stored, {cut(unit)}" if labels else None,
    )  # fmt: skip

    def x(field: str) -> alt.X:
        return alt.X(f"{field}:Q", scale=x_scale, axis=x_axis)

    def y(field: str) -> alt.Y:
        return alt.Y(f"{field}:Q", scale=y_scale, axis=y_axis)

    fill = alt.Color("fill:N", scale=None)
    points = alt.Chart(data(f"points_{at}"))
    layers: list[Any] = [
        alt.Chart(data(f"cells_{at}"), width=SIZE[0], height=SIZE[1])
        .mark_rect(clip=True, strokeWidth=0.6)
        .encode(
            x=x("limit_from"), x2=alt.X2("limit_to"), y=y("size_from"), y2=alt.Y2("size_to"),
            # Stroked with their own fill: adjacent rectangles leave hairlines otherwise.
            color=fill, stroke=alt.Stroke("fill:N", scale=None),
            tooltip=[alt.Tooltip("outcome:N"), alt.Tooltip("limit_from:Q", format=","),
                     alt.Tooltip("limit_to:Q", format=","),
                     alt.Tooltip("size_from:Q", format=",")],
        ),
        alt.Chart(data(f"line_{at}")).mark_line(color=colours.ink, strokeWidth=1, clip=True).encode(
            x=x("limit"), y=y("size")
        ),
        points.mark_line(color=colours.ink, strokeDash=[3, 3], strokeWidth=1.5).encode(
            x=x("limit"), y=y("size")
        ),
        points.mark_point(filled=True, size=80, fill=colours.ink, stroke=colours.paper,
                          strokeWidth=1.5, opacity=1).encode(x=x("limit"), y=y("size")),
    ]  # fmt: skip
    bold: dict[str, Any] = {"fontWeight": 600, "fontSize": 11.5}
    for lift, dy in ((0, -14), (1, 18)):
        part = points.transform_filter(f"datum.lift === {lift}")
        at_point: dict[str, Any] = {"x": x("limit"), "y": y("size"), "text": alt.Text("text:N")}
        layers += [
            part.mark_text(dy=dy, stroke=colours.paper, strokeWidth=3, aria=False, **bold).encode(
                **at_point
            ),
            part.mark_text(dy=dy, color=colours.ink, **bold).encode(**at_point),
        ]
    if labels:
        layers += _legend(x_scale, limits)
    title = panel_title(cut(name, 32))
    return layered(*layers).properties(title=title)


def _legend(x_scale: alt.Scale, limits: tuple[float, float]) -> list[Any]:
    unit = (limits[1] - limits[0]) / SIZE[0]
    keys = alt.Chart(data("keys")).transform_calculate(
        square=f"{limits[0]!r} + (datum.left + 6) * {unit!r}",
        word=f"{limits[0]!r} + (datum.left + 16) * {unit!r}",
    )
    level = alt.value(SIZE[1] + 58)
    return [
        keys.mark_point(shape="square", filled=True, size=80, opacity=1).encode(
            x=alt.X("square:Q", scale=x_scale), y=level, color=alt.Color("fill:N", scale=None)
        ),
        keys.mark_text(align="left").encode(
            x=alt.X("word:Q", scale=x_scale), y=level, text="text:N"
        ),
    ]
