"""Which cases move when one configuration replaces another."""

from __future__ import annotations

import math
from typing import Any, Unpack

import altair as alt
import polars as pl

from recalltune.charts.axes import fixed_axis
from recalltune.charts.canvas import About, Chart, Drawing, data, draw, finish, layered
from recalltune.charts.figures import counted
from recalltune.charts.findings import Finding
from recalltune.charts.frames import json_rows, tidy
from recalltune.charts.layout import thinned
from recalltune.charts.look import current
from recalltune.charts.text import cut, pixels
from recalltune.errors import ParameterError

__all__ = ["case_flips", "case_flips_drawing"]

WIDTH = 270
ROW = 21
_TICKS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)


def case_flips(
    frame: pl.DataFrame,
    *,
    cutoff: int = 10,
    list_length: int = 20,
    top: int = 15,
    names: tuple[str, str] = ("current default", "chosen"),
    fixed_rows: bool = False,
    **about: Unpack[About],
) -> Chart:
    """Cases whose first target changes rank: from a hollow diamond to a triangle.

    Parameters
    ----------
    frame
        One row a case: ``case_id`` (text), ``label`` (text, already gated), ``rank_a`` and
        ``rank_b`` (count, >= 1, null = not in the list), optional ``kind`` and ``layer`` (text).
    cutoff
        >= 1. Rank drawn as a rule.
    list_length
        >= cutoff. Ranks beyond it share a last place named *none*.
    top
        1 to 40. Moved cases drawn, those with the largest change of 1 / rank first.
    names
        What the diamond and the triangle stand for.
    fixed_rows
        Keep room for ``top`` rows whatever the data, for a chart that will be patched.

    Raises
    ------
    ParameterError
        If a column is missing, a rank is below 1 or an option is out of range.
    """
    drawing = case_flips_drawing(
        frame, cutoff=cutoff, list_length=list_length, top=top, names=names, **about
    )
    rows = top if fixed_rows else max(len(drawing.rows["cases"]), 2)
    marks = _marks(rows, cutoff, list_length)
    return finish(marks + _spacer() if fixed_rows else marks, drawing)


def case_flips_drawing(
    frame: pl.DataFrame,
    *,
    cutoff: int = 10,
    list_length: int = 20,
    top: int = 15,
    names: tuple[str, str] = ("current default", "chosen"),
    **about: Unpack[About],
) -> Drawing:
    """What `case_flips` draws, without the marks: for `patch`. Same options, same errors."""
    if not 1 <= cutoff <= list_length:
        msg = f"cutoff must lie in [1, {list_length}] (list_length), got {cutoff!r}"
        raise ParameterError(msg)
    if not 1 <= top <= 40:
        msg = f"top must lie in [1, 40], got {top!r}"
        raise ParameterError(msg)
    cases = tidy(
        frame,
        "case_flips",
        {"case_id": "text", "label": "text", "rank_a": "count", "rank_b": "count"},
        {"kind": "text", "layer": "text"},
        aggregate="keep the cases that move",
    )
    _refuse_ranks_below_one(cases)
    moved, better, worse = _moved(cases, list_length)
    drawn = moved.head(top).sort("gain", "case_id", descending=[True, False])
    note = "" if drawn.height else "No first target moves."
    if 0 < drawn.height < moved.height:
        left = f"The {drawn.height} largest of {moved.height} moves."
    else:
        left = ""
    return draw(
        "case_flips",
        _finding(cases.height, better, worse),
        sentences=[
            f"Rank of the first target, {counted(cases.height, 'case')}.",
            f"Diamond: {cut(names[0])}; triangle: {cut(names[1])}.",
            left,
            f"None: not among the first {list_length}.",
        ],
        form=f"Dumbbells of {counted(drawn.height, 'case')}, rank 1 to {list_length} and none.",
        rows={"cases": _rows(drawn, list_length), "note": [{"text": note}]},
        table=cases,
        about=about,
    )


def _refuse_ranks_below_one(cases: pl.DataFrame) -> None:
    wrong = cases.filter((pl.col("rank_a") < 1) | (pl.col("rank_b") < 1))
    if wrong.height:
        row = wrong.row(0, named=True)
        msg = (
            "rank must be at least 1, or null where the target is not in the list, got "
            f"{row['rank_a']} and {row['rank_b']} in case {row['case_id']!r}"
        )
        raise ParameterError(msg)


def _moved(cases: pl.DataFrame, list_length: int) -> tuple[pl.DataFrame, int, int]:
    def within(name: str) -> pl.Expr:
        return pl.when(pl.col(name) <= list_length).then(pl.col(name))

    def reciprocal(name: str) -> pl.Expr:
        return (1.0 / pl.col(name)).fill_null(0.0)

    moved = (
        cases.with_columns(within("rank_a"), within("rank_b"))
        .with_columns(gain=reciprocal("rank_b") - reciprocal("rank_a"))
        .filter(pl.col("gain") != 0)
        .sort(pl.col("gain").abs(), "gain", "case_id", descending=[True, True, False])
    )
    better = moved.filter(pl.col("gain") > 0).height
    return moved, better, moved.height - better


def _finding(n: int, better: int, worse: int) -> Finding:
    if n == 0:
        return Finding("No case to compare")
    if better + worse == 0:
        return Finding("No case moves: {n:count} first targets keep their rank", {"n": n}, "exact")
    subject = "case improves" if better == 1 else "cases improve"
    verb = "gets" if worse == 1 else "get"
    rest = "stays" if n - better - worse == 1 else "stay"
    return Finding(
        f"{{better:count}} {subject}, {{worse:count}} {verb} worse, {{same:count}} {rest}",
        {"better": better, "worse": worse, "same": n - better - worse},
        "exact",
    )


def _none_at(list_length: int) -> float:
    return max(list_length * 1.45, list_length + 1)


def _rows(drawn: pl.DataFrame, list_length: int) -> list[dict[str, Any]]:
    colours = current()
    rows = []
    for order, row in enumerate(json_rows(drawn)):
        outcome = "better" if row["gain"] > 0 else "worse"
        before, after = row["rank_a"], row["rank_b"]
        rows.append(
            {
                "order": order,
                "case_id": row["case_id"],
                "label": cut(row["label"] or ""),
                "full": row["label"],
                "from_rank": before or _none_at(list_length),
                "to_rank": after or _none_at(list_length),
                "move": f"{before or 'none'} → {after or 'none'}",
                "kind": cut(row["kind"] or "", 14),
                "layer": cut(row["layer"] or "", 12),
                "shape": "triangle-left" if outcome == "better" else "triangle-right",
                "colour": colours.outcome[outcome],
                "text_colour": colours.outcome_text[outcome],
            }
        )
    return rows


def _marks(rows: int, cutoff: int, list_length: int) -> alt.LayerChart:
    colours = current()
    y = alt.Y("order:Q", axis=None, scale=alt.Scale(domain=[-1.1, rows - 0.4], reverse=True))
    x_scale = alt.Scale(type="log", domain=[0.92, _none_at(list_length) * 1.06], nice=False)
    x = alt.X("from_rank:Q", scale=x_scale, axis=_axis(list_length))
    to = alt.X("to_rank:Q", scale=x_scale)
    colour = alt.Color("colour:N", scale=None)
    text_colour = alt.Color("text_colour:N", scale=None)
    tips = [
        alt.Tooltip("case_id:N", title="case"),
        alt.Tooltip("full:N", title="query"),
        alt.Tooltip("move:N", title="rank"),
        alt.Tooltip("kind:N"),
        alt.Tooltip("layer:N"),
    ]
    cases = alt.Chart(data("cases"), width=WIDTH, height=round(ROW * (rows + 0.7)))
    rule_at = [{"rank": (cutoff * (cutoff + 1)) ** 0.5, "name": f"cutoff {cutoff}"}]
    cut_off = alt.Chart(alt.InlineData(values=rule_at)).encode(x=alt.X("rank:Q", scale=x_scale))

    def column(field: str, left: float, **style: Any) -> alt.Chart:
        text: alt.Chart = cases.mark_text(align="left", **style)
        return text.encode(y=y, x=alt.value(left), text=alt.Text(f"{field}:N"))

    return layered(
        cut_off.mark_rule(strokeDash=[4, 3], color=colours.muted),
        cut_off.mark_text(align="left", dx=4, color=colours.muted).encode(
            y=alt.value(8), text="name:N"
        ),
        cases.mark_rule(strokeWidth=2.5).encode(
            y=y, x=x, x2=alt.X2("to_rank"), color=colour, tooltip=tips
        ),
        cases.mark_point(shape="diamond", filled=True, fill=colours.paper, size=42, opacity=1,
                         stroke=colours.ink, strokeWidth=1.5).encode(y=y, x=x, tooltip=tips),
        cases.mark_point(filled=True, size=85, opacity=1).encode(
            y=y, x=to, color=colour, shape=alt.Shape("shape:N", scale=None), tooltip=tips
        ),
        cases.mark_text(align="right").encode(
            y=y, x=alt.value(-8), text="label:N", tooltip=tips
        ),
        column("move", WIDTH + 14).encode(color=text_colour),
        column("kind", WIDTH + 96, color=colours.muted),
        column("layer", WIDTH + 188, color=colours.muted),
        alt.Chart(data("note")).mark_text(align="left", color=colours.muted).encode(
            x=alt.value(8), y=alt.value(ROW * 1.2), text="text:N"
        ),
    )  # fmt: skip


def _spacer() -> alt.Chart:
    # Keeps the canvas as wide as the longest label, so that patching never shifts the plot.
    marks: alt.Chart = (
        alt.Chart(alt.InlineData(values=[{"left": 0}]))
        .mark_rule(opacity=0)
        .encode(x=alt.value(-240), x2=alt.value(WIDTH + 250), y=alt.value(0))
    )
    return marks


def _axis(list_length: int) -> alt.Axis:
    ticks = [tick for tick in _TICKS if tick <= list_length]
    far = _none_at(list_length)
    places = [*map(float, ticks), far]
    span = WIDTH / _log_ratio(0.92, far * 1.06)
    at = [_log_ratio(0.92, place) * span for place in places]
    widths = [pixels(str(tick), 11) for tick in ticks] + [pixels("none", 11)]
    shown = thinned(at, widths, [0, len(places) - 1])
    return fixed_axis(
        [places[i] for i in shown],
        labelExpr=f"datum.value > {list_length} ? 'none' : format(datum.value, 'd')",
        title="rank of the first target (log)",
        grid=True,
        ticks=True,
    )


def _log_ratio(low: float, high: float) -> float:
    return math.log(high) - math.log(low)
