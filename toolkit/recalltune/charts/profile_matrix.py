"""`profile` as a count table of two categories, with empty cells framed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import altair as alt
import polars as pl

from recalltune.charts import figures
from recalltune.charts.axes import fixed_axis, label_list
from recalltune.charts.canvas import About, Chart, data, draw, finish, layered, sentence
from recalltune.charts.findings import TOO_FEW, Finding
from recalltune.charts.frames import tidy, without_gaps
from recalltune.charts.look import current
from recalltune.charts.ordering import ordered
from recalltune.charts.shades import ink_on, shade
from recalltune.charts.text import cut
from recalltune.errors import ParameterError

__all__ = ["profile_matrix"]

WIDTH = 520
ROW = 30


def profile_matrix(
    frame: pl.DataFrame,
    *,
    order: Sequence[str],
    column_order: Sequence[str],
    row_name: str,
    column_name: str,
    noun: str,
    **about: Unpack[About],
) -> Chart:
    """`profile` in form *matrix*; see there for columns and options.

    Raises
    ------
    ParameterError
        If a column is missing, a count is negative or a cell occurs twice.
    """
    known = tidy(
        frame,
        "profile",
        {"row": "text", "column": "text", "n": "count"},
        aggregate="count by two categories",
    )
    counts, gaps = without_gaps(known, ["row", "column", "n"])
    if counts.filter(pl.col("n") < 0).height:
        raise ParameterError("n must be at least 0, got a negative count")
    if counts.select("row", "column").is_duplicated().any():
        raise ParameterError("a row and column must occur once, got one twice")
    rows = ordered(counts["row"], order)
    columns = ordered(counts["column"], column_order, "column_order")
    cells = _cells(counts, rows, columns)
    drawing = draw(
        "profile",
        _finding(cells, noun),
        sentences=[
            f"{figures.noun(2, noun).capitalize()} by {row_name or 'row'} and "
            f"{column_name or 'column'}; framed: none; grey: under {TOO_FEW}.",
        ],
        gaps=gaps,
        form=f"Table of {len(rows)} by {len(columns)} counts.",
        rows={"cells": cells},
        table=counts.sort("row", "column"),
        about=about,
    )
    if not cells:
        return sentence(drawing, f"No {cut(noun)} to count.")
    return finish(_marks(rows, columns, cut(row_name), cut(column_name)), drawing)


def _cells(
    counts: pl.DataFrame, rows: Sequence[str], columns: Sequence[str]
) -> list[dict[str, Any]]:
    colours = current()
    known = {(row["row"], row["column"]): row["n"] for row in counts.rows(named=True)}
    largest = max(known.values(), default=0) or 1
    cells = []
    for at, row in enumerate(rows):
        for across, column in enumerate(columns):
            n = known.get((row, column), 0)
            # Square root: counts differ by orders of magnitude, and small ones matter here.
            fill = shade(0.75 * (n / largest) ** 0.5) if n >= TOO_FEW else colours.grid
            fill = fill if n else colours.paper
            cells.append(
                {
                    "row": row,
                    "column": column,
                    "n": n,
                    "number": figures.count(n),
                    "left": across,
                    "right": across + 1,
                    "top": at,
                    "bottom": at + 1,
                    "empty": n == 0,
                    "fill": fill,
                    "text_colour": ink_on(fill) if n else colours.muted,
                }
            )
    return cells


def _finding(cells: list[dict[str, Any]], noun: str) -> Finding:
    if not cells:
        return Finding("No {noun} to count", {"noun": noun})
    empty = sum(cell["empty"] for cell in cells)
    few = sum(0 < cell["n"] < TOO_FEW for cell in cells)
    values = {"cells": len(cells), "empty": empty, "few": few, "limit": TOO_FEW, "noun": noun}
    if empty:
        template = "{empty:count} of {cells:count} cells are empty"
        template += ", {few:count} hold under {limit:count}" if few else ""
        return Finding(template, values)
    if few:
        return Finding("{few:count} of {cells:count} cells hold under {limit:count}", values)
    return Finding("Each of {cells:count} cells holds {limit:count} or above", values)


def _marks(
    rows: Sequence[str], columns: Sequence[str], row_name: str, column_name: str
) -> alt.LayerChart:
    colours = current()
    width = min(WIDTH, 90 * len(columns))
    per = width / len(columns)
    x_scale = alt.Scale(domain=[0, len(columns)], nice=False)
    y_scale = alt.Scale(domain=[0, len(rows)], nice=False, reverse=True)
    across = label_list([cut(name, max(4, int(per / 6.0))) for name in columns])
    down = label_list([cut(name) for name in rows])
    x = alt.X(
        "left:Q", scale=x_scale,
        axis=fixed_axis([at + 0.5 for at in range(len(columns))], orient="top", domain=False,
                        labelExpr=f"{across}[floor(datum.value)]", title=column_name or None),
    )  # fmt: skip
    y = alt.Y(
        "top:Q", scale=y_scale,
        axis=fixed_axis([at + 0.5 for at in range(len(rows))],
                        labelExpr=f"{down}[floor(datum.value)]", title=row_name or None,
                        titleAngle=0, titleAlign="right", titleY=-8),
    )  # fmt: skip
    cells = alt.Chart(data("cells"), width=width, height=ROW * len(rows))
    box = {"x": x, "x2": alt.X2("right"), "y": y, "y2": alt.Y2("bottom")}
    tips = [alt.Tooltip("row:N"), alt.Tooltip("column:N"), alt.Tooltip("n:Q", format=",")]
    middle = cells.transform_calculate(centre="datum.left + 0.5", level="datum.top + 0.5")
    return layered(
        cells.mark_rect(stroke=colours.paper, strokeWidth=2).encode(
            color=alt.Color("fill:N", scale=None), tooltip=tips, **box
        ),
        cells.transform_filter("datum.empty")
        .transform_calculate(
            l="datum.left + 0.03", r="datum.right - 0.03",
            t="datum.top + 0.1", b="datum.bottom - 0.1",
        )
        .mark_rect(fillOpacity=0, stroke=colours.outcome_text["worse"], strokeWidth=1.4,
                   strokeDash=[3, 2])
        .encode(x=alt.X("l:Q", scale=x_scale), x2=alt.X2("r"),
                y=alt.Y("t:Q", scale=y_scale), y2=alt.Y2("b"), tooltip=tips),
        middle.mark_text().encode(
            x=alt.X("centre:Q", scale=x_scale), y=alt.Y("level:Q", scale=y_scale),
            text="number:N", color=alt.Color("text_colour:N", scale=None),
        ),
    )  # fmt: skip
