"""Rows (presets, arms, policies, sets, layers) against one or more measures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Unpack

import altair as alt
import polars as pl

from recalltune.charts import figures
from recalltune.charts.canvas import About, Chart, draw, finish, sentence
from recalltune.charts.findings import TOO_FEW
from recalltune.charts.frames import refuse_others, tidy, without_gaps
from recalltune.charts.look import current
from recalltune.charts.measures import Measure, as_measure
from recalltune.charts.palette import family_of
from recalltune.charts.presets_finding import presets_finding
from recalltune.charts.presets_marks import difference_column, measure_panel
from recalltune.charts.text import cut
from recalltune.errors import ParameterError, nearest
from recalltune.pipeline.config import LAYERS

__all__ = ["preset_dots"]


def preset_dots(
    frame: pl.DataFrame,
    *,
    metrics: Sequence[Measure | str] = (),
    default_row: str | None = None,
    chosen_row: str | None = None,
    pair: tuple[str, str] | None = None,
    noun: str = "preset",
    interval: Literal["pointwise", "corrected"] = "corrected",
    level: str = "95 %",
    ruled: float | None = None,
    **about: Unpack[About],
) -> Chart:
    """A dot and its interval per row and measure; measures are columns, rows are shared.

    Parameters
    ----------
    frame
        One row a dot: ``row`` and ``metric`` (text), ``value`` (number), optional ``lo`` and
        ``hi`` (interval of the value), ``n`` (count), ``diff``, ``diff_lo``, ``diff_hi`` (paired
        difference to the default row and its interval, printed right for the first measure),
        ``role`` (text, with ``pair``), ``family`` (preset family) or ``layer`` (text) for colour.
    metrics
        Measures in the order of the columns; by default by name. The first one sorts the rows.
    default_row, chosen_row
        Rows marked as the current default (hollow diamond) and the choice (ink circle).
    pair
        Two values of ``role``: each row gets both, joined, the first hollow, the second filled.
    noun
        What a row is, in the singular.
    interval, level
        Kind of ``diff_lo`` and ``diff_hi``, and level; said in the subtitle.
    ruled
        A value marked by a rule in every column, for example 0.5.

    Raises
    ------
    ParameterError
        If a column is missing, a named row is unknown, or a dot occurs twice.
    """
    known = tidy(
        frame,
        "preset_dots",
        {"row": "text", "metric": "text", "value": "number"},
        {
            "lo": "number",
            "hi": "number",
            "n": "count",
            "diff": "number",
            "diff_lo": "number",
            "diff_hi": "number",
            "role": "text",
            "family": "text",
            "layer": "text",
        },
        aggregate="average over cases first",
    )
    dots, gaps = without_gaps(known, ["row", "metric", "value"])
    kinds = _metrics(dots, metrics)
    order = _order(dots, kinds)
    _checked_names(order, default_row, chosen_row, dots, pair)
    first = dots.filter(pl.col("metric") == kinds[0].name) if kinds else dots
    marks = f"Dots: means; bars: {level} interval of each."
    if pair:
        marks = f"Hollow: {cut(pair[0])}; filled: {cut(pair[1])}."
    low = [kind.name for kind in kinds if not kind.higher_is_better]
    tested = first["diff_lo"].is_not_null().any()
    drawing = draw(
        "preset_dots",
        presets_finding(first, kinds, default_row, noun, len(order)),
        sentences=[
            f"{', '.join(kind.name for kind in kinds) or 'Nothing measured'}{_cases(first)}.",
            marks if pair or dots["lo"].is_not_null().any() else "Dots: means.",
            f"Lower is better: {', '.join(low)}." if low else "",
            "Axes need not start at zero.",
            f"Difference: paired, {interval} interval." if tested else "",
            "Diamond: current default." if default_row is not None else "",
        ],
        gaps=gaps,
        form=f"Dot plot of {figures.counted(len(order), noun)}.",
        rows=_rows(dots, kinds, order, default_row, chosen_row, pair),
        table=dots,
        about=about,
    )
    if not dots.height:
        return sentence(drawing, f"No {noun} was measured.")
    panels: list[Any] = [
        measure_panel(at, kind, dots, len(order), ruled, labels=at == 0, joined=pair is not None)
        for at, kind in enumerate(kinds)
    ]
    if tested:
        panels.append(difference_column(kinds[0], len(order)))
    return finish(alt.hconcat(*panels, spacing=18), drawing)


def _metrics(dots: pl.DataFrame, metrics: Sequence[Measure | str]) -> list[Measure]:
    present = sorted(dots["metric"].unique(), key=lambda name: (name.casefold(), name))
    kinds = [as_measure(metric) for metric in metrics] or [as_measure(name) for name in present]
    for kind in kinds:
        if dots.height and kind.name not in present:
            msg = f"metrics must be among those of the frame, got {kind.name!r}; "
            raise ParameterError(msg + nearest(kind.name, present))
    if len(kinds) > 6:
        msg = f"metrics must be at most 6 to a chart, got {len(kinds)}"
        raise ParameterError(msg)
    return kinds


def _order(dots: pl.DataFrame, kinds: Sequence[Measure]) -> list[str]:
    names: list[str] = dots["row"].unique(maintain_order=True).to_list()
    if not kinds:
        return sorted(names)
    if set(names) <= set(LAYERS):
        return [layer for layer in LAYERS if layer in names]
    first = (
        dots.filter(pl.col("metric") == kinds[0].name).group_by("row").agg(pl.col("value").max())
    )
    values = dict(first.rows())
    sign = -1 if kinds[0].higher_is_better else 1
    return sorted(names, key=lambda name: (name not in values, sign * values.get(name, 0.0), name))


def _checked_names(
    order: Sequence[str],
    default_row: str | None,
    chosen_row: str | None,
    dots: pl.DataFrame,
    pair: tuple[str, str] | None,
) -> None:
    for option, name in (("default_row", default_row), ("chosen_row", chosen_row)):
        if name is not None and order and name not in order:
            msg = f"{option} must be a row of the frame, got {name!r}; {nearest(name, order)}"
            raise ParameterError(msg)
    if pair:
        refuse_others(dots["role"], pair, "role")
    key = ["row", "metric", "role"] if pair else ["row", "metric"]
    if dots.select(key).is_duplicated().any():
        row = dots.filter(dots.select(key).is_duplicated()).row(0, named=True)
        msg = f"row and metric must occur once (twice with pair), got {row['row']!r} again"
        raise ParameterError(msg)


def _cases(first: pl.DataFrame) -> str:
    sizes = first["n"].drop_nulls().unique().sort().to_list()
    if not sizes:
        return ""
    if len(sizes) == 1:
        return f", {figures.counted(sizes[0], 'case')}"
    return f", {figures.count(sizes[0])} to {figures.count(sizes[-1])} cases"


def _rows(
    dots: pl.DataFrame,
    kinds: Sequence[Measure],
    order: Sequence[str],
    default_row: str | None,
    chosen_row: str | None,
    pair: tuple[str, str] | None,
) -> dict[str, list[dict[str, Any]]]:
    rows: dict[str, list[dict[str, Any]]] = {}
    place = {name: at for at, name in enumerate(order)}
    for at, kind in enumerate(kinds):
        part = dots.filter(pl.col("metric") == kind.name)
        rows[f"panel_{at}"] = [
            _dot(row, place[row["row"]], kind, default_row, chosen_row, pair)
            for row in part.sort("row", "role").rows(named=True)
        ]
    first = rows.get("panel_0", [])
    heads = {row["row"]: row for row in first}
    rows["names"] = [
        {
            "order": at,
            "label": cut(name),
            "full": name,
            "weight": "bold" if name == default_row else "normal",
            "default": name == default_row,
            "text": heads[name]["difference"] if name in heads else "",
            "text_colour": heads[name]["text_colour"] if name in heads else current().muted,
        }
        for name, at in place.items()
    ]
    return rows


def _dot(
    row: dict[str, Any],
    order: int,
    kind: Measure,
    default_row: str | None,
    chosen_row: str | None,
    pair: tuple[str, str] | None,
) -> dict[str, Any]:
    colours = current()
    colour = colours.outcome["better"]
    if row["layer"] is not None:
        colour = colours.layer_mark(row["layer"])
    elif row["family"] is not None:
        colour = colours.family[family_of(row["family"])]
    filled = colour
    shape = "circle"
    if pair:
        filled = colours.paper if row["role"] == pair[0] else colour
    elif row["row"] == default_row:
        shape, colour, filled = "diamond", colours.ink, colours.paper
    elif row["row"] == chosen_row:
        colour = filled = colours.ink
    is_default = row["row"] == default_row
    return {
        "order": order,
        "row": row["row"],
        "role": row["role"] or "",
        "value": row["value"],
        "lo": row["lo"],
        "hi": row["hi"],
        "has_bar": row["lo"] is not None and row["hi"] is not None,
        "shape": shape,
        "colour": colour,
        "filled": filled,
        "number": figures.amount(row["value"], decimals=kind.decimals)
        if not kind.decimals
        else figures.metric(row["value"]),
        "interval": figures.bounds(row["lo"], row["hi"], decimals=kind.decimals),
        "n": row["n"],
        "difference": "current default" if is_default else _difference(row, kind),
        "text_colour": _outcome_text(row, kind),
    }


def _difference(row: dict[str, Any], kind: Measure) -> str:
    if row["diff"] is None:
        return ""
    size = figures.signed(row["diff"], decimals=kind.decimals)
    bounds = figures.bounds(row["diff_lo"], row["diff_hi"], decimals=kind.decimals)
    return f"{size} {bounds}".strip()


def _outcome_text(row: dict[str, Any], kind: Measure) -> str:
    colours = current()
    if row["diff_lo"] is None or row["diff_hi"] is None or (row["n"] or TOO_FEW) < TOO_FEW:
        return colours.muted
    worst, best = row["diff_lo"], row["diff_hi"]
    if not kind.higher_is_better:
        worst, best = -best, -worst
    if worst > 0:
        return colours.outcome_text["better"]
    return colours.outcome_text["worse"] if best < 0 else colours.muted
