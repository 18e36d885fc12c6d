"""Who got places, round by round: lines picked and dropped of each layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Unpack

import altair as alt
import polars as pl

from recalltune.charts import figures
from recalltune.charts.axes import fixed_axis
from recalltune.charts.canvas import About, Chart, Drawing, data, draw, finish, layered
from recalltune.charts.findings import Finding
from recalltune.charts.frames import tidy
from recalltune.charts.layout import nice_ticks
from recalltune.charts.look import current
from recalltune.charts.ordering import ordered
from recalltune.charts.text import cut
from recalltune.charts.timeline import quota_timeline
from recalltune.errors import ParameterError

__all__ = ["quota_account", "quota_account_drawing"]

WIDTH = 415
ROW = 62
GAP = 18


def quota_account(
    frame: pl.DataFrame,
    *,
    form: Literal["panels", "timeline"] = "panels",
    layer: str | None = None,
    budget_tokens: int | None = None,
    targets: pl.DataFrame | None = None,
    round_name: str = "round",
    cursor: int | None = None,
    **about: Unpack[About],
) -> Chart:
    """Places per layer over rounds, or tokens per layer over the steps of a replay.

    Parameters
    ----------
    frame
        *panels*: one row a round and layer: ``round`` (count), ``layer`` (text), ``picked`` and
        ``dropped`` (count, >= 0; their sum is the layer's candidates). *timeline*: ``round``,
        ``layer``, ``tokens`` (count, >= 0), and where known ``dropped`` (candidates that got no
        place), ``oversize`` (those larger than the whole budget) and ``part`` (text: the session,
        or the day).
    form
        *panels*: picked above 0, dropped below it pale, a triangle where a layer had candidates
        and showed none. *timeline*: tokens stacked by layer, with budget and targets; below
        them, pale, what was dropped.
    layer
        Layer in question: named in the title of *panels*, at the bottom of the stack in
        *timeline*. By default the one most often empty.
    budget_tokens
        > 0. Drawn as a rule in *timeline*.
    targets
        *timeline*: labelled targets as ``round`` (count) and ``shown`` (flag).
    round_name
        What a round is: ``recall step``.
    cursor
        *timeline*: a round to mark.

    Raises
    ------
    ParameterError
        If a column is missing, a count is negative, or a round and layer occur twice.
    """
    if form not in ("panels", "timeline"):
        msg = f"form must be panels or timeline, got {form!r}"
        raise ParameterError(msg)
    if form == "timeline":
        return quota_timeline(
            frame, layer=layer, budget_tokens=budget_tokens, targets=targets,
            round_name=round_name, cursor=cursor, **about,
        )  # fmt: skip
    drawing = quota_account_drawing(frame, layer=layer, round_name=round_name, **about)
    rounds = [row["round"] for row in drawing.rows["bars"]]
    span = (min(rounds, default=1), max(rounds, default=1))
    return finish(_marks(span, max(len(drawing.rows["layers"]), 1), round_name), drawing)


def quota_account_drawing(
    frame: pl.DataFrame,
    *,
    layer: str | None = None,
    round_name: str = "round",
    **about: Unpack[About],
) -> Drawing:
    """What the panels of `quota_account` draw, for `patch`. Same options, same errors.

    A patched chart keeps its span of rounds and its number of layers.
    """
    account = tidy(
        frame,
        "quota_account",
        {"round": "count", "layer": "text", "picked": "count", "dropped": "count"},
        aggregate="sum up rounds",
    )
    if account.filter((pl.col("picked") < 0) | (pl.col("dropped") < 0)).height:
        raise ParameterError("picked and dropped must be at least 0, got a negative count")
    if account.select("round", "layer").is_duplicated().any():
        raise ParameterError("a round and layer must occur once, got one twice")
    if account.null_count().row(0) != (0, 0, 0, 0):
        raise ParameterError("round, layer, picked and dropped must be set in every row, got a gap")
    if layer is not None and account.height and layer not in account["layer"]:
        msg = f"layer must be one of the frame, got {layer!r}"
        raise ParameterError(msg)
    account = account.sort("round", "layer").with_columns(
        empty=(pl.col("picked") == 0) & (pl.col("dropped") > 0)
    )
    layers = ordered(account["layer"])
    rounds = account["round"].n_unique()
    return draw(
        "quota_account",
        _finding(account, layers, rounds, layer, round_name),
        sentences=[
            f"Memories picked (up), dropped (down, pale), {figures.counted(rounds, round_name)}.",
            "Each layer has its own scale. Triangle: had candidates, shows none.",
        ],
        form=f"Bars of {figures.counted(len(layers), 'layer')}.",
        rows=_rows(account, layers, rounds, round_name),
        table=account,
        about=about,
    )


def _finding(
    account: pl.DataFrame, layers: Sequence[str], rounds: int, layer: str | None, round_name: str
) -> Finding:
    if not layers:
        return Finding("No {round} to account for", {"round": round_name})
    empty = {name: int(account.filter(pl.col("layer") == name)["empty"].sum()) for name in layers}
    # The most often empty layer; ties go to the first in layer order.
    name = layer or max(layers, key=lambda one: (empty[one], -layers.index(one)))
    values = {
        "layer": name,
        "empty": empty[name],
        "rounds": rounds,
        "unit": figures.noun(rounds, round_name),
    }
    if not any(empty.values()):
        return Finding(
            "In {rounds:count} {unit} every layer with candidates shows some", values, "exact"
        )
    if not empty[name]:
        return Finding("{layer} shows something in all of {rounds:count} {unit}", values, "exact")
    return Finding(
        "{layer} shows nothing in {empty:count} of {rounds:count} {unit}"
        " although it had candidates",
        values,
        "exact",
    )


def _rows(
    account: pl.DataFrame, layers: Sequence[str], rounds: int, round_name: str
) -> dict[str, list[dict[str, Any]]]:
    colours = current()
    bars: list[dict[str, Any]] = []
    heads: list[dict[str, Any]] = []
    levels: list[dict[str, Any]] = []
    for at, name in enumerate(layers):
        part = account.filter(pl.col("layer") == name)
        up, down = float(max(part["picked"])), float(max(part["dropped"]))
        unit = ROW / max(up + down, 1.0)
        zero = at * (ROW + GAP) + unit * up
        bars += [
            {
                "round": row["round"],
                "layer": name,
                "picked": row["picked"],
                "dropped": row["dropped"],
                "zero": zero,
                "top": zero - unit * row["picked"],
                "bottom": zero + unit * row["dropped"],
                "empty": row["empty"],
                "flag": zero - 9,
                "colour": colours.layer_mark(name),
            }
            for row in part.rows(named=True)
        ]
        levels += [
            {"y": zero - unit * up, "text": figures.count(up), "zero": False},
            {"y": zero, "text": "0" if up and down else "", "zero": True},
            {"y": zero + unit * down, "text": figures.count(down) if down else "", "zero": False},
        ]
        # A level closer than a line of text to its neighbour goes without label.
        for index in (-3, -1):
            if abs(levels[index]["y"] - levels[-2]["y"]) < 11:
                levels[-2]["text"] = ""
        seen = int(part["picked"].sum())
        total = seen + int(part["dropped"].sum())
        empty = int(part["empty"].sum())
        heads.append(
            {
                "y": at * (ROW + GAP) + 10,
                "layer": cut(name, 20),
                "colour": colours.layer_label(name),
                "share": f"{figures.share(seen / total)} of {figures.count(total)} shown"
                if total
                else "no candidates",
                "empty": f"empty in {empty} of {figures.counted(rounds, cut(round_name, 14))}"
                if empty
                else "never empty",
            }
        )
    note = [] if layers else [{"text": f"No {cut(round_name)} to account for."}]
    return {"bars": bars, "layers": heads, "levels": levels, "note": note}


def _marks(span: tuple[int, int], layers: int, round_name: str) -> alt.LayerChart:
    colours = current()
    height = layers * (ROW + GAP)
    y_scale = alt.Scale(domain=[0, height], reverse=True, nice=False, zero=False)
    x_scale = alt.Scale(domain=[span[0] - 0.6, span[1] + 0.6], nice=False, zero=False)
    inner = [tick for tick in nice_ticks(*span, 4) if span[0] < tick < span[1] and tick % 1 == 0]
    width = WIDTH / (span[1] - span[0] + 1.2)
    ends = [float(span[0]), float(span[1])]
    near = 26 * (span[1] - span[0] + 1.2) / WIDTH
    ticks = sorted({*ends, *(tick for tick in inner if all(abs(tick - e) > near for e in ends))})
    axis = fixed_axis(ticks, format=",d", title=cut(round_name), ticks=True)
    x = alt.X("round:Q", scale=x_scale, axis=axis)

    def y(field: str) -> alt.Y:
        return alt.Y(f"{field}:Q", scale=y_scale, axis=None)

    bars = alt.Chart(data("bars"), width=WIDTH, height=height)
    levels = alt.Chart(data("levels"))
    heads = alt.Chart(data("layers"))
    colour = alt.Color("colour:N", scale=None)
    size = min(max(1.0, width * 0.8), 40.0)
    tips = [
        alt.Tooltip("round:Q", title=cut(round_name)),
        alt.Tooltip("layer:N"),
        alt.Tooltip("picked:Q", format=","),
        alt.Tooltip("dropped:Q", format=","),
    ]

    def said(field: str, dy: float, **style: Any) -> alt.Chart:
        text: alt.Chart = heads.mark_text(align="left", dy=dy, **style)
        return text.encode(x=alt.value(WIDTH + 14), y=y("y"), text=alt.Text(f"{field}:N"))

    return layered(
        levels.transform_filter("!datum.zero").mark_rule(color=colours.grid).encode(y=y("y")),
        bars.mark_bar(width=size, opacity=colours.dropped_opacity).encode(
            x=x, y=y("zero"), y2=alt.Y2("bottom"), color=colour, tooltip=tips
        ),
        bars.mark_bar(width=size).encode(
            x=x, y=y("top"), y2=alt.Y2("zero"), color=colour, tooltip=tips
        ),
        levels.transform_filter("datum.zero").mark_rule(color=colours.muted).encode(y=y("y")),
        levels.mark_text(align="right", dx=-6).encode(x=alt.value(0), y=y("y"), text="text:N"),
        bars.transform_filter("datum.empty")
        .mark_point(shape="triangle-down", filled=True, color=colours.ink, size=48, opacity=1)
        .encode(x=x, y=y("flag"), tooltip=tips),
        said("layer", 0, fontWeight=600, fontSize=11.5).encode(color=colour),
        said("share", 16, color=colours.muted),
        said("empty", 31),
        alt.Chart(data("note")).mark_text(align="left", color=colours.muted).encode(
            x=alt.value(8), y=alt.value(20), text="text:N"
        ),
    )  # fmt: skip
