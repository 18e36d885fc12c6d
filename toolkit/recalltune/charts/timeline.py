"""Tokens injected per step of a replay, by layer, against the budget."""

from __future__ import annotations

from typing import Any, Unpack

import altair as alt
import polars as pl

from recalltune.charts import figures
from recalltune.charts.axes import fixed_axis
from recalltune.charts.canvas import About, Chart, data, draw, finish, layered, sentence
from recalltune.charts.findings import Finding
from recalltune.charts.frames import tidy
from recalltune.charts.layout import nice_ticks
from recalltune.charts.look import current
from recalltune.charts.ordering import ordered
from recalltune.charts.text import cut
from recalltune.errors import ParameterError

__all__ = ["quota_timeline"]

WIDTH = 560
HEIGHT = 190
STRIP = 26


def quota_timeline(
    frame: pl.DataFrame,
    *,
    layer: str | None,
    budget_tokens: int | None,
    targets: pl.DataFrame | None,
    round_name: str,
    **about: Unpack[About],
) -> Chart:
    """`quota_account` in form *timeline*; see there for columns and options.

    Raises
    ------
    ParameterError
        If a column is missing, tokens are negative, or the budget is not positive.
    """
    used = tidy(
        frame,
        "quota_account",
        {"round": "count", "layer": "text", "tokens": "count"},
        aggregate="sum up steps",
    ).sort("round", "layer")
    if budget_tokens is not None and budget_tokens <= 0:
        msg = f"budget_tokens must be positive, got {budget_tokens!r}"
        raise ParameterError(msg)
    if used.filter(pl.col("tokens") < 0).height:
        raise ParameterError("tokens must be at least 0, got a negative count")
    if used.select("round", "layer").is_duplicated().any():
        raise ParameterError("a round and layer must occur once, got one twice")
    marked = (
        pl.DataFrame(schema={"round": pl.Int64, "shown": pl.Boolean})
        if targets is None
        else tidy(targets, "quota_account", {"round": "count", "shown": "flag"})
    ).sort("round", "shown")
    order = sorted(ordered(used["layer"]), key=lambda name: name != layer)
    totals = used.group_by("round").agg(pl.col("tokens").sum()).sort("round")
    drawing = draw(
        "quota_account",
        _finding(totals, marked, budget_tokens, round_name),
        sentences=[
            f"Tokens injected by layer in {figures.counted(totals.height, round_name)}.",
            "Circle: target shown; triangle: target lost." if marked.height else "",
        ],
        form=f"Stacked bars of {figures.counted(len(order), 'layer')}.",
        rows=_rows(used, marked, order),
        table=used,
        about=about,
    )
    if not used.height:
        return sentence(drawing, f"No {cut(round_name)} injected anything.")
    top = max([*totals["tokens"], budget_tokens or 0, 1])
    rounds = [*used["round"], *marked["round"]]
    return finish(
        _marks((min(rounds), max(rounds)), top, budget_tokens, round_name,
               marked=marked.height > 0),
        drawing,
    )  # fmt: skip


def _finding(
    totals: pl.DataFrame, marked: pl.DataFrame, budget_tokens: int | None, round_name: str
) -> Finding:
    if not totals.height:
        return Finding("No {round} injected anything", {"round": round_name})
    values: dict[str, Any] = {
        "rounds": totals.height,
        "unit": figures.noun(totals.height, round_name),
    }
    if marked.height:
        lost = int((~marked["shown"]).sum())
        values |= {"lost": lost, "targets": marked.height}
        return Finding(
            "{lost:count} of {targets:count} labelled targets are lost in {rounds:count} {unit}",
            values,
            "exact",
        )
    if budget_tokens is not None:
        over = int((totals["tokens"] > budget_tokens).sum())
        values |= {"over": over, "budget": budget_tokens}
        return Finding(
            "{over:count} of {rounds:count} {unit} exceed the budget of {budget:count} tokens",
            values,
            "exact",
        )
    values["tokens"] = int(totals["tokens"].sum())
    return Finding("{tokens:count} tokens injected in {rounds:count} {unit}", values)


def _rows(
    used: pl.DataFrame, marked: pl.DataFrame, order: list[str]
) -> dict[str, list[dict[str, Any]]]:
    colours = current()
    place = {name: at for at, name in enumerate(order)}
    bars = []
    for (at,), part in used.group_by("round", maintain_order=True):
        base = 0
        for row in sorted(part.rows(named=True), key=lambda row: place[row["layer"]]):
            bars.append(
                {
                    "round": at,
                    "layer": row["layer"],
                    "tokens": row["tokens"],
                    "low": base,
                    "high": base + row["tokens"],
                    "colour": colours.layer_mark(row["layer"]),
                }
            )
            base += row["tokens"]
    seen: dict[int, int] = {}
    targets = []
    for row in marked.rows(named=True):
        level = seen.get(row["round"], 0)
        seen[row["round"]] = level + 1
        targets.append(
            {
                "round": row["round"],
                "level": level,
                "shown": "shown" if row["shown"] else "lost",
                "shape": "circle" if row["shown"] else "triangle-down",
                "colour": colours.outcome["better" if row["shown"] else "worse"],
                "filled": colours.outcome["better"] if row["shown"] else colours.paper,
            }
        )
    keys = []
    left = 0.0
    for name in order:
        keys.append({"left": left, "text": cut(name, 20), "colour": colours.layer_mark(name)})
        left += 34 + 6.4 * len(cut(name, 20))
    return {"bars": bars, "targets": targets, "keys": keys}


def _marks(
    span: tuple[int, int],
    top: float,
    budget_tokens: int | None,
    round_name: str,
    *,
    marked: bool,
) -> alt.LayerChart:
    colours = current()
    strip = STRIP if marked else 6
    ticks = nice_ticks(0, top, 4)
    # The strip of targets stands above the bars on the same scale, so both share one x axis.
    ceiling = ticks[-1] * (HEIGHT + strip) / HEIGHT
    y_scale = alt.Scale(domain=[0, ceiling], nice=False)
    y_axis = fixed_axis(ticks, format=",d", title=None, grid=True)
    x_scale = alt.Scale(domain=[span[0] - 0.6, span[1] + 0.6], nice=False, zero=False)
    inner = [tick for tick in nice_ticks(*span, 6) if span[0] < tick < span[1] and tick % 1 == 0]
    near = 26 * (span[1] - span[0] + 1.2) / WIDTH
    ends = [float(span[0]), float(span[1])]
    shown = sorted({*ends, *(tick for tick in inner if all(abs(tick - e) > near for e in ends))})
    x = alt.X(
        "round:Q", scale=x_scale,
        axis=fixed_axis(shown, format=",d", title=cut(round_name), ticks=True),
    )  # fmt: skip
    height = HEIGHT + strip
    bars = alt.Chart(data("bars"), width=WIDTH, height=height)
    width = min(max(1.0, WIDTH / (span[1] - span[0] + 1.2) * 0.72), 40.0)
    layers: list[Any] = [
        bars.mark_bar(width=width, stroke=colours.paper, strokeWidth=0.6).encode(
            x=x, y=alt.Y("low:Q", scale=y_scale, axis=y_axis), y2=alt.Y2("high"),
            color=alt.Color("colour:N", scale=None),
            tooltip=[alt.Tooltip("round:Q", title=cut(round_name)), alt.Tooltip("layer:N"),
                     alt.Tooltip("tokens:Q", format=",")],
        )
    ]  # fmt: skip
    if budget_tokens is not None:
        rule = alt.Chart(alt.InlineData(values=[{"budget": budget_tokens}]))
        at = alt.Y("budget:Q", scale=y_scale, axis=y_axis)
        layers += [
            rule.mark_rule(strokeDash=[4, 3], color=colours.ink).encode(y=at),
            rule.mark_text(align="left", color=colours.muted).encode(
                x=alt.value(WIDTH + 8), y=at,
                text=alt.value(f"budget {figures.count(budget_tokens)}")),
        ]  # fmt: skip
    if marked:
        targets = alt.Chart(data("targets"))
        layers += [
            targets.transform_calculate(
                at=f"{ceiling * 0.965!r} - datum.level * {ceiling * 0.05!r}"
            )
            .mark_point(size=62, strokeWidth=1.8, opacity=1, filled=True)
            .encode(
                x=x, y=alt.Y("at:Q", scale=y_scale, axis=y_axis),
                shape=alt.Shape("shape:N", scale=None), fill=alt.Fill("filled:N", scale=None),
                stroke=alt.Stroke("colour:N", scale=None),
                tooltip=[alt.Tooltip("round:Q", title=cut(round_name)),
                         alt.Tooltip("shown:N", title="target")],
            ),
            alt.Chart(alt.InlineData(values=[{"one": 1}]))
            .mark_text(align="left", color=colours.muted)
            .encode(x=alt.value(WIDTH + 8), y=alt.value(height * 0.035),
                    text=alt.value("labelled target")),
        ]  # fmt: skip
    keys = alt.Chart(data("keys"))
    unit = (span[1] - span[0] + 1.2) / WIDTH
    shifted = keys.transform_calculate(
        square=f"{span[0] - 0.6!r} + (datum.left + 6) * {unit!r}",
        word=f"{span[0] - 0.6!r} + (datum.left + 16) * {unit!r}",
    )
    legend = alt.value(height + 58)
    layers += [
        shifted.mark_point(shape="square", filled=True, size=70, opacity=1).encode(
            x=alt.X("square:Q", scale=x_scale), y=legend, color=alt.Color("colour:N", scale=None)
        ),
        shifted.mark_text(align="left").encode(
            x=alt.X("word:Q", scale=x_scale), y=legend, text="text:N"
        ),
    ]
    return layered(*layers)
