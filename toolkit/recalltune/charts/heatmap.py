"""Two parameters against a measure, with the settings that cannot be told from the best."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import altair as alt
import polars as pl

from recalltune.charts import figures
from recalltune.charts.canvas import About, Chart, Drawing, draw, finish, sentence
from recalltune.charts.findings import Finding
from recalltune.charts.frames import refuse_nan, tidy
from recalltune.charts.heatmap_marks import WIDTH, Setting, grid, printed, strip_panel
from recalltune.charts.look import current
from recalltune.charts.measures import Measure, as_measure
from recalltune.charts.shades import ink_on, shade
from recalltune.errors import ParameterError

__all__ = ["sweep_heatmap"]


def sweep_heatmap(
    frame: pl.DataFrame,
    *,
    x_name: str,
    y_name: str,
    measure: Measure | str = "nDCG@10",
    default: tuple[Setting, Setting] | None = None,
    x_order: Sequence[str] = (),
    y_order: Sequence[str] = (),
    strip_name: str = "off",
    tie_method: str = "max-T, 95 %",
    noun: str = "setting",
    **about: Unpack[About],
) -> Chart:
    """Cells coloured by the difference to the default, one frame round the tie set.

    Parameters
    ----------
    frame
        One row a setting: ``x`` and ``y`` (numbers or text; both null = the setting in which the
        two parameters do not exist, drawn as a strip), ``mean`` (number, null = not run),
        ``diff`` (number, mean minus the default's), ``tie`` (flag: cannot be told from the best),
        optional ``n`` (count), ``lo`` and ``hi`` (number).
    x_name, y_name
        Names of the parameters as in the configuration.
    measure
        What ``mean`` measures.
    default
        x and y of the current default, marked by a hollow diamond.
    x_order, y_order
        Order of text values; numbers are sorted.
    strip_name
        Name of the strip: ``no decay``.
    tie_method
        How the tie set was found, said in the subtitle.
    noun
        What a row is, in the singular.

    Raises
    ------
    ParameterError
        If a column is missing, a cell occurs twice, the default is not a cell, or an order does
        not name every value.
    """
    kind = as_measure(measure)
    cells, strip = _cells(frame, x_order, y_order)
    drawing = _drawing(cells, strip, kind, (x_name, y_name), default, tie_method, noun, about)
    if not cells.height:
        return sentence(drawing, f"No {noun} was run.")
    cells_panel = grid(cells, x_name, y_name)
    if not strip.height:
        return finish(cells_panel, drawing)
    both = alt.hconcat(cells_panel, strip_panel(strip_name, cells["row"].n_unique()), spacing=14)
    return finish(both, drawing)


def _cells(
    frame: pl.DataFrame, x_order: Sequence[str], y_order: Sequence[str]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    axes = {name: _axis_kind(frame, name) for name in ("x", "y")}
    known = tidy(
        frame,
        "sweep_heatmap",
        {"x": axes["x"], "y": axes["y"], "mean": "number", "diff": "number", "tie": "flag"},
        {"n": "count", "lo": "number", "hi": "number"},
        aggregate="fix the other parameters first",
    ).with_columns(pl.col("tie").fill_null(value=False))
    refuse_nan(frame, ["x", "y"], "sweep_heatmap")
    strip = known.filter(pl.col("x").is_null() & pl.col("y").is_null())
    cells = known.filter(pl.col("x").is_not_null() & pl.col("y").is_not_null())
    if strip.height > 1 or strip.height + cells.height != known.height:
        msg = (
            "x and y must both be set, or both be null in at most one row, got "
            f"{strip.height} rows without either and "
            f"{known.height - strip.height - cells.height} with one"
        )
        raise ParameterError(msg)
    if twice := cells.filter(cells.select("x", "y").is_duplicated()).rows():
        msg = f"each cell must occur once, got x={twice[0][0]!r}, y={twice[0][1]!r} again"
        raise ParameterError(msg)
    columns = _places(cells["x"], x_order, "x_order")
    rows = _places(cells["y"], y_order, "y_order")
    placed = cells.with_columns(
        column=pl.Series([columns[value] for value in cells["x"]], dtype=pl.Int64),
        row=pl.Series([rows[value] for value in cells["y"]], dtype=pl.Int64),
    )
    return placed.sort("row", "column"), strip


def _axis_kind(frame: pl.DataFrame, name: str) -> Any:
    if isinstance(frame, pl.DataFrame) and name in frame.columns:
        return "number" if frame.schema[name].is_numeric() else "text"
    return "number"


def _places(values: pl.Series, order: Sequence[str], option: str) -> dict[Any, int]:
    present = values.unique(maintain_order=True).to_list()
    if not order:
        numeric = values.dtype.is_numeric()
        return {value: at for at, value in enumerate(sorted(present) if numeric else present)}
    if missing := [value for value in present if value not in order]:
        msg = f"{option} must name every value, got none for {missing[0]!r}"
        raise ParameterError(msg)
    listed = [value for value in order if value in present]
    return {value: at for at, value in enumerate(listed)}


def _drawing(
    cells: pl.DataFrame,
    strip: pl.DataFrame,
    kind: Measure,
    names: tuple[str, str],
    default: tuple[Setting, Setting] | None,
    tie_method: str,
    noun: str,
    about: About,
) -> Drawing:
    at_default = (
        cells.filter((pl.col("x") == default[0]) & (pl.col("y") == default[1]))
        if default is not None
        else cells.clear()
    )
    if default is not None and cells.height and not at_default.height:
        msg = f"default must be one of the cells, got {default!r}"
        raise ParameterError(msg)
    best = _best(cells, kind)
    reach = max((abs(v) for v in (*cells["diff"], *strip["diff"]) if v is not None), default=0.0)
    n = cells["n"].drop_nulls()
    measured = f"{kind.name}, {figures.counted(int(n[0]), 'case')}" if len(n) else kind.name
    marks = ["diamond default"] if default is not None else []
    marks += ["dot best"] if best.height else []
    marks += [f"frame tie set ({tie_method})"] if cells["tie"].any() else []
    cell_rows = [_cell(row, kind, reach) for row in cells.to_dicts()]
    marked = [
        {"row": r["row"], "column": r["column"], "mark": name}
        for name, part in (("default", at_default), ("best", best))
        for r in part.to_dicts()
    ]
    not_run = cells["mean"].null_count()
    tied = cells.filter(pl.col("tie"))
    return draw(
        "sweep_heatmap",
        _finding(cells, strip, at_default, tied, kind, noun),
        sentences=[
            f"{measured}; colour: difference to the current default.",
            f"Marks: {', '.join(marks)}." if marks else "",
        ],
        gaps=f"Crossed: {figures.counted(not_run, noun)} not run." if not_run else "",
        form=f"Heat map of {figures.counted(cells.height, noun)}, {names[0]} by {names[1]}.",
        rows={
            "cells": cell_rows,
            "sides": _sides(tied),
            "marked": marked,
            "strip": [_cell(row, kind, reach) for row in strip.to_dicts()],
            "ramp": _ramp(reach, kind, cells["column"].n_unique()),
        },
        table=pl.concat([cells.drop("row", "column"), strip]),
        about=about,
    )


def _best(cells: pl.DataFrame, kind: Measure) -> pl.DataFrame:
    run = cells.drop_nulls("mean")
    if run["mean"].n_unique() < 2:
        return run.clear()
    return run.sort("mean", "row", "column", descending=[kind.higher_is_better, False, False]).head(
        1
    )


def _finding(
    cells: pl.DataFrame,
    strip: pl.DataFrame,
    at_default: pl.DataFrame,
    tied: pl.DataFrame,
    kind: Measure,
    noun: str,
) -> Finding:
    run = pl.concat([cells.drop("row", "column"), strip]).drop_nulls("mean")
    total, ties = run.height, run["tie"].sum()
    values = {
        "ties": ties,
        "total": total,
        "nouns": figures.noun(total, noun),
        "measure": kind.name,
    }
    if total == 0:
        return Finding("No {noun} was run", {"noun": noun})
    if run["mean"].n_unique() == 1:
        if total == 1:
            return Finding("One {noun} was run; there is nothing to compare", {"noun": noun})
        return Finding("All {total:count} {nouns} have the same {measure}", values, "exact")
    if ties == 0:
        return Finding("No tie set is given for these {total:count} {nouns}", values, "exact")
    if ties == total:
        return Finding("None of {total:count} {nouns} can be told from the best", values, "exact")
    template = "{ties:count} of {total:count} {nouns} cannot be told from the best"
    if ties == 1:
        template = "Only the best of {total:count} {nouns} is in the tie set, in sample"
    if at_default.height:
        within = bool(tied.join(at_default, on=["row", "column"], how="semi").height)
        template += "; the default is among them" if within else "; the default is not among them"
        if ties == 1:
            template = template.replace("is among them", "is it").replace(
                "is not among them", "is not"
            )
    return Finding(template, values, "exact")


def _cell(row: dict[str, Any], kind: Measure, reach: float) -> dict[str, Any]:
    colours = current()
    run = row["mean"] is not None
    part = 0.0 if not row["diff"] else row["diff"] / reach
    fill = shade(part if kind.higher_is_better else -part) if run else colours.grid
    mean = figures.metric(row["mean"]) if run and kind.decimals else ""
    if run and not kind.decimals:
        mean = figures.count(row["mean"])
    return {
        "row": row.get("row", 0),
        "column": row.get("column", 0),
        "x_value": printed(row["x"]),
        "y_value": printed(row["y"]),
        "number": mean if run else "not run",
        "diff": "" if row["diff"] is None else figures.signed(row["diff"], decimals=kind.decimals),
        "interval": figures.bounds(row["lo"], row["hi"]),
        "tie": "in the tie set" if row["tie"] else "",
        "crossed": "" if run else "✕",
        "fill": fill,
        "text_colour": ink_on(fill),
    }


def _ramp(reach: float, kind: Measure, columns: int) -> list[dict[str, Any]]:
    """Legend of the ramp in column units, 200 px wide; empty if every difference is 0."""
    if not reach:
        return []
    unit = columns / WIDTH
    steps = 40
    rows: list[dict[str, Any]] = [
        {
            "left": (200 * at / steps) * unit,
            "right": (200 * (at + 1) / steps) * unit,
            "fill": shade((2 * (at + 0.5) / steps - 1) * (1 if kind.higher_is_better else -1)),
            "text": "",
        }
        for at in range(steps)
    ]
    rows += [
        {
            "left": 200 * place * unit,
            "right": 200 * place * unit,
            "fill": current().paper,
            "text": figures.signed((2 * place - 1) * reach, decimals=kind.decimals),
        }
        for place in (0.0, 0.5, 1.0)
    ]
    return rows


def _sides(tied: pl.DataFrame) -> list[dict[str, int]]:
    """Edges of tied cells that border no other tied cell, as segments in cell units."""
    members = set(zip(tied["row"].to_list(), tied["column"].to_list(), strict=True))
    sides = []
    for row, column in sorted(members):
        corners = {
            (row - 1, column): (column, column + 1, row, row),
            (row + 1, column): (column, column + 1, row + 1, row + 1),
            (row, column - 1): (column, column, row, row + 1),
            (row, column + 1): (column + 1, column + 1, row, row + 1),
        }
        sides += [
            {"x1": x1, "x2": x2, "y1": y1, "y2": y2}
            for neighbour, (x1, x2, y1, y2) in corners.items()
            if neighbour not in members
        ]
    return sides
