"""One query, several columns: where each memory ranks in each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import altair as alt
import polars as pl

from recalltune.charts import figures
from recalltune.charts.axes import fixed_axis, label_list
from recalltune.charts.canvas import About, Chart, asked, data, draw, finish, layered, sentence
from recalltune.charts.findings import Finding
from recalltune.charts.frames import refuse_others, tidy
from recalltune.charts.look import current
from recalltune.charts.shades import ink_on
from recalltune.charts.text import cut
from recalltune.errors import ParameterError

__all__ = ["rank_flow"]

WIDTH = 440
ROW = 27
MEMORIES = 12
ROLES = ("target", "superseded", "other")


def rank_flow(
    frame: pl.DataFrame,
    *,
    query: str = "",
    columns: Sequence[str] = (),
    noun: str = "column",
    **about: Unpack[About],
) -> Chart:
    """Ranks of up to twelve memories over presets or times, joined by lines.

    Parameters
    ----------
    frame
        One row a memory and column: ``memory_id``, ``label`` (text, already gated), ``column``
        (text), ``rank`` (count, >= 1, null = not shown); optional ``role`` (target, superseded or
        other) and ``layer`` (text).
    query
        Query, already gated; said in the subtitle.
    columns
        Columns from left to right; by default as they come.
    noun
        What a column is, in the singular: ``preset``.

    Raises
    ------
    ParameterError
        If a column is missing, there are over twelve memories, two memories share a rank in a
        column, or a role is unknown.
    """
    places = tidy(
        frame,
        "rank_flow",
        {"memory_id": "text", "label": "text", "column": "text", "rank": "count"},
        {"role": "text", "layer": "text"},
        aggregate="keep the memories that any column shows near the top",
    ).with_columns(pl.col("role").fill_null("other"), pl.col("layer").fill_null(""))
    names = list(columns) or places["column"].unique(maintain_order=True).to_list()
    _check(places, names)
    rows = _rows(places, names)
    depth = max((row["lane"] for row in rows["nodes"]), default=1.0)
    drawing = draw(
        "rank_flow",
        _finding(places, names, noun),
        sentences=[
            f"{asked(query)} Ranks in {figures.counted(len(names), noun)}.".strip(),
            "Thick: target; thick and dashed: superseded; cross: not shown.",
        ],
        form=f"Bump chart of {places['memory_id'].n_unique()} memories.",
        rows=rows,
        table=places,
        about=about,
    )
    if not places.height:
        return sentence(drawing, "No memory to show.")
    return finish(_marks(names, depth, places["rank"].max()), drawing)


def _check(places: pl.DataFrame, names: Sequence[str]) -> None:
    if (n := places["memory_id"].n_unique()) > MEMORIES:
        msg = f"rank_flow takes at most {MEMORIES} memories, got {n}; keep those near the top"
        raise ParameterError(msg)
    refuse_others(places["role"], ROLES, "role")
    refuse_others(places["column"], names, "column")
    if (low := places.filter(pl.col("rank") < 1)).height:
        msg = f"rank must be at least 1, or null where not shown, got {low['rank'][0]}"
        raise ParameterError(msg)
    shown = places.drop_nulls("rank").select("column", "rank")
    twice = shown.filter(shown.is_duplicated())
    if twice.height:
        row = twice.row(0, named=True)
        msg = f"a rank must occur once in a column, got {row['rank']} twice in {row['column']!r}"
        raise ParameterError(msg)
    if places.select("memory_id", "column").is_duplicated().any():
        raise ParameterError("a memory must occur once in a column, got one twice")


def _rows(places: pl.DataFrame, names: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    colours = current()
    last_rank = float(places["rank"].max() or 0)  # type: ignore[arg-type]
    known = {(row["memory_id"], row["column"]): row for row in places.rows(named=True)}
    memories = places.sort("rank", "memory_id", nulls_last=True).unique(
        "memory_id", keep="first", maintain_order=True
    )
    # Each memory that some column leaves out has a lane of its own, so labels never collide.
    missing = [
        memory
        for memory in memories["memory_id"]
        if any(known.get((memory, name), {}).get("rank") is None for name in names)
    ]
    lanes = {memory: last_rank + 1.7 + 0.8 * at for at, memory in enumerate(missing)}
    nodes: list[dict[str, Any]] = []
    for head in memories.rows(named=True):
        for at, name in enumerate(names):
            rank = known.get((head["memory_id"], name), {}).get("rank")
            layer = head["layer"]
            nodes.append(
                {
                    "memory_id": head["memory_id"],
                    "full": head["label"],
                    "label": _label(head),
                    "place": at,
                    "column": name,
                    "rank": rank,
                    "rank_text": "not shown" if rank is None else str(rank),
                    "lane": lanes[head["memory_id"]] if rank is None else float(rank),
                    "role": head["role"],
                    "layer": layer,
                    "shown": rank is not None,
                    "colour": colours.layer_mark(layer),
                    "text_colour": colours.layer_label(layer),
                    "number_colour": ink_on(colours.layer_mark(layer)),
                }
            )
    return {"nodes": nodes}


def _label(head: dict[str, Any]) -> str:
    role = "" if head["role"] == "other" else f" ({head['role']})"
    return f"{cut(head['label'] or '', 30)}{role}"


def _finding(places: pl.DataFrame, names: Sequence[str], noun: str) -> Finding:
    values: dict[str, Any] = {
        "noun": noun,
        "columns": len(names),
        "nouns": figures.noun(len(names), noun),
    }
    if not places.height:
        return Finding("No memory to show")
    best = {
        (row["column"], row["role"]): row["rank"]
        for row in places.drop_nulls("rank")
        .group_by("column", "role")
        .agg(pl.col("rank").min())
        .rows(named=True)
    }
    roles = set(places["role"])
    if {"target", "superseded"} <= roles:
        wrong = [
            name
            for name in names
            if best.get((name, "superseded"), 10**9) < best.get((name, "target"), 10**9)
        ]
        if not wrong:
            return Finding(
                "The superseded version is above its successor in none of {columns:count} {nouns}",
                values,
                "exact",
            )
        if len(names) == 1:
            return Finding(
                "The superseded version, rank {old:count}, is above its successor",
                {**values, "old": best[names[0], "superseded"]},
                "exact",
            )
        if len(wrong) == 1:
            return Finding(
                "Only {only} of {columns:count} ranks the superseded version above its successor",
                {**values, "only": wrong[0]},
                "exact",
            )
        return Finding(
            "{wrong:count} of {columns:count} {nouns} rank the superseded version above its"
            " successor",
            {**values, "wrong": len(wrong)},
            "exact",
        )
    if "target" in roles:
        first = sum(best.get((name, "target")) == 1 for name in names)
        unseen = sum((name, "target") not in best for name in names)
        template = "The target comes first in {first:count} of {columns:count} {nouns}"
        if unseen:
            template += ", is not shown in {unseen:count}"
        return Finding(template, {**values, "first": first, "unseen": unseen}, "exact")
    return Finding(
        "{memories:count} memories over {columns:count} {nouns}",
        {**values, "memories": places["memory_id"].n_unique()},
    )


def _marks(names: Sequence[str], depth: float, last_rank: Any) -> alt.LayerChart:
    colours = current()
    last = len(names) - 1
    width = WIDTH if last else 60
    room = 72 if not last else int(width / last / 7.0)
    headings = label_list([cut(name, max(room, 8)) for name in names])
    x_axis = fixed_axis(
        list(range(len(names))), orient="top", labelExpr=f"{headings}[datum.value]", title=None,
        domain=False, labelFontSize=12, labelFontWeight=600, labelPadding=14,
    )  # fmt: skip
    pad = 0.06 * max(last, 1)
    x_scale = alt.Scale(domain=[-pad, last + pad], nice=False, zero=False)
    y_scale = alt.Scale(domain=[0.4, depth + 0.6], reverse=True, nice=False, zero=False)
    x = alt.X("place:Q", scale=x_scale, axis=x_axis)
    y = alt.Y("lane:Q", scale=y_scale, axis=None)
    nodes = alt.Chart(data("nodes"), width=width, height=round(ROW * (depth + 0.2)))
    colour = alt.Color("colour:N", scale=None)
    detail = alt.Detail("memory_id:N")
    tips = [
        alt.Tooltip("memory_id:N", title="memory"),
        alt.Tooltip("full:N", title="text"),
        alt.Tooltip("column:N"),
        alt.Tooltip("rank_text:N", title="rank"),
        alt.Tooltip("layer:N"),
    ]
    styles: dict[str, dict[str, Any]] = {
        "other": {"strokeWidth": 1.5, "opacity": 0.55},
        "superseded": {"strokeWidth": 3.5, "strokeDash": [5, 3]},
        "target": {"strokeWidth": 3.5},
    }
    layers: list[Any] = [
        nodes.transform_filter(f"datum.role === '{role}'")
        .mark_line(interpolate="monotone", **styles[role])
        .encode(x=x, y=y, color=colour, detail=detail, order=alt.Order("place:Q"))
        for role in ("other", "superseded", "target")
    ]
    shown = nodes.transform_filter("datum.shown")
    layers += [
        shown.mark_point(shape="circle", filled=True, size=300, opacity=1, strokeWidth=2,
                         stroke=colours.paper).encode(x=x, y=y, color=colour, tooltip=tips),
        shown.mark_text(fontSize=11, fontWeight=600).encode(
            x=x, y=y, text="rank:Q", color=alt.Color("number_colour:N", scale=None), tooltip=tips
        ),
        nodes.transform_filter("!datum.shown")
        .mark_point(shape="cross", filled=True, size=70, opacity=1, angle=45)
        .encode(x=x, y=y, color=colour, tooltip=tips),
    ]  # fmt: skip
    text = alt.Color("text_colour:N", scale=None)
    layers.append(
        nodes.transform_filter("datum.place === 0")
        .mark_text(align="right", dx=-16)
        .encode(x=x, y=y, text="label:N", color=text)
    )
    if last:
        layers.append(
            nodes.transform_filter(f"datum.place === {last}")
            .mark_text(align="left", dx=16)
            .encode(x=x, y=y, text="label:N", color=text)
        )
    if depth > (last_rank or 0):
        lane = alt.Chart(alt.InlineData(values=[{"lane": float(last_rank or 0) + 0.75}]))
        y_lane = alt.Y("lane:Q", scale=y_scale, axis=None)
        layers += [
            lane.mark_rule(strokeDash=[4, 3], color=colours.muted).encode(y=y_lane),
            lane.mark_text(baseline="top", dy=3, align="left", color=colours.muted,
                           stroke=colours.paper, strokeWidth=3, aria=False).encode(
                y=y_lane, x=alt.value(width * 0.04 + 22 if last else width + 8),
                text=alt.value("not shown")),
            lane.mark_text(baseline="top", dy=3, align="left", color=colours.muted).encode(
                y=y_lane, x=alt.value(width * 0.04 + 22 if last else width + 8),
                text=alt.value("not shown")),
        ]  # fmt: skip
    return layered(*layers)
