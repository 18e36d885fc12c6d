"""What was injected when: tokens per step of a replay by layer, and below them what was dropped."""

from __future__ import annotations

from typing import Any, Unpack

import polars as pl

from recalltune.charts import figures
from recalltune.charts.canvas import About, Chart, Drawing, draw, finish, sentence
from recalltune.charts.findings import Finding
from recalltune.charts.frames import tidy
from recalltune.charts.layout import nice_ticks
from recalltune.charts.look import current
from recalltune.charts.ordering import ordered
from recalltune.charts.text import cut, pixels
from recalltune.charts.timeline_marks import WIDTH, Layout, marks
from recalltune.errors import ParameterError

__all__ = ["quota_timeline", "quota_timeline_drawing"]


def quota_timeline(
    frame: pl.DataFrame,
    *,
    layer: str | None,
    budget_tokens: int | None,
    targets: pl.DataFrame | None,
    round_name: str,
    cursor: int | None = None,
    **about: Unpack[About],
) -> Chart:
    """`quota_account` in form *timeline*; see there for columns and options.

    Raises
    ------
    ParameterError
        If a column is missing, a count is negative, or the budget is not positive.
    """
    drawing, layout = _drawn(frame, layer, budget_tokens, targets, round_name, cursor, about)
    if layout is None:
        return sentence(drawing, f"No {cut(round_name)} injected anything.")
    return finish(marks(layout), drawing)


def quota_timeline_drawing(
    frame: pl.DataFrame,
    *,
    layer: str | None = None,
    budget_tokens: int | None = None,
    targets: pl.DataFrame | None = None,
    round_name: str = "round",
    cursor: int | None = None,
    **about: Unpack[About],
) -> Drawing:
    """What the timeline draws, for `patch`: another ``cursor`` over the same frame."""
    return _drawn(frame, layer, budget_tokens, targets, round_name, cursor, about)[0]


def _drawn(
    frame: pl.DataFrame,
    layer: str | None,
    budget_tokens: int | None,
    targets: pl.DataFrame | None,
    round_name: str,
    cursor: int | None,
    about: About,
) -> tuple[Drawing, Layout | None]:
    used = _checked(frame, budget_tokens)
    marked = (
        pl.DataFrame(schema={"round": pl.Int64, "shown": pl.Boolean})
        if targets is None
        else tidy(targets, "quota_account", {"round": "count", "shown": "flag"})
    ).sort("round", "shown")
    order = sorted(ordered(used["layer"]), key=lambda name: name != layer)
    rounds = [*used["round"], *marked["round"]]
    if cursor is not None and cursor not in rounds:
        msg = f"cursor must be one of the rounds {min(rounds, default=0)} to "
        raise ParameterError(msg + f"{max(rounds, default=0)}, got {cursor!r}")
    layout = _layout(used, marked, budget_tokens, round_name) if used.height else None
    drops = int(used["dropped"].sum() or 0)
    oversize = int(used["oversize"].sum() or 0)
    drawing = draw(
        "quota_account",
        _finding(used, marked, budget_tokens, round_name),
        sentences=[
            f"Up: tokens injected by layer in "
            f"{figures.counted(used['round'].n_unique(), round_name)}.",
            "Down, pale, own scale: candidates dropped." if drops else "",
            "Cross: some are larger than the whole budget." if oversize else "",
            "Circle: target shown; triangle: target lost." if marked.height else "",
        ],
        form=f"Stacked bars of {figures.counted(len(order), 'layer')}.",
        rows={} if layout is None else _rows(used, marked, order, layout, cursor),
        table=used,
        about=about,
    )
    return drawing, layout


def _checked(frame: pl.DataFrame, budget_tokens: int | None) -> pl.DataFrame:
    used = tidy(
        frame,
        "quota_account",
        {"round": "count", "layer": "text", "tokens": "count"},
        {"dropped": "count", "oversize": "count", "part": "text"},
        aggregate="sum up steps",
    ).sort("round", "layer")
    if budget_tokens is not None and budget_tokens <= 0:
        msg = f"budget_tokens must be positive, got {budget_tokens!r}"
        raise ParameterError(msg)
    for name in ("tokens", "dropped", "oversize"):
        if used.filter(pl.col(name) < 0).height:
            msg = f"{name} must be at least 0, got a negative count"
            raise ParameterError(msg)
    if used.select("round", "layer").is_duplicated().any():
        raise ParameterError("a round and layer must occur once, got one twice")
    if used["tokens"].null_count() or used["round"].null_count() or used["layer"].null_count():
        raise ParameterError("round, layer and tokens must be set in every row, got a gap")
    if used.group_by("round").agg(pl.col("part").n_unique() > 1)["part"].any():
        raise ParameterError("a round must lie in one part, got one in two")
    return used


def _finding(
    used: pl.DataFrame, marked: pl.DataFrame, budget_tokens: int | None, round_name: str
) -> Finding:
    totals = used.group_by("round").agg(pl.col("tokens").sum())
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
    by_layer = used.group_by("layer").agg(pl.col("tokens").sum()).sort("tokens", "layer")
    total, largest = int(totals["tokens"].sum()), by_layer.row(-1, named=True)
    values |= {"tokens": total, "layer": largest["layer"]}
    if not total:
        return Finding("No token injected in {rounds:count} {unit}", values)
    values["share"] = largest["tokens"] / total
    return Finding(
        "{tokens:count} tokens injected in {rounds:count} {unit}, {share:share} of them {layer}",
        values,
    )


def _layout(
    used: pl.DataFrame, marked: pl.DataFrame, budget_tokens: int | None, round_name: str
) -> Layout:
    """Where things stand, in px from the top; the same for every cursor."""
    rounds = [*used["round"], *marked["round"]]
    sums = used.group_by("round").agg(pl.col("tokens", "dropped").sum())
    top = max([*sums["tokens"], budget_tokens or 0, 1])
    parts = used.drop_nulls("part").height > 0
    levels = max(marked.group_by("round").len()["len"], default=0)
    return Layout(
        first=min(rounds),
        last=max(rounds),
        heading=16 if parts else 0,
        strip=8 + 13 * levels if levels else 6,
        ticks=tuple(nice_ticks(0, top, 4)),
        most_dropped=max(sums["dropped"], default=0),
        budget_tokens=budget_tokens,
        round_name=cut(round_name),
        marked=marked.height > 0,
    )


def _rows(
    used: pl.DataFrame,
    marked: pl.DataFrame,
    order: list[str],
    layout: Layout,
    cursor: int | None,
) -> dict[str, list[dict[str, Any]]]:
    colours = current()
    place = {name: at for at, name in enumerate(order)}
    bars, drops, crosses = [], [], []
    for (at,), part in used.group_by("round", maintain_order=True):
        base = gone = 0
        for row in sorted(part.rows(named=True), key=lambda row: place[row["layer"]]):
            told = {name: row[name] for name in ("round", "layer", "tokens", "dropped")}
            told["colour"] = colours.layer_mark(row["layer"])
            level, dropped = base + row["tokens"], row["dropped"] or 0
            ends = {"low": base, "high": level}
            bars.append({**told, **ends, "from": layout.up(base), "to": layout.up(level)})
            if dropped:
                span = {"from": layout.down(gone), "to": layout.down(gone + dropped)}
                drops.append({**told, **span})
            base, gone = level, gone + dropped
        if oversize := int(part["oversize"].sum() or 0):
            crosses.append({"round": at, "oversize": oversize, "y": layout.down(gone) + 8})
    return {
        "bars": bars,
        "drops": drops,
        "oversize": crosses,
        "targets": _targets(marked, layout),
        "levels": _levels(layout),
        "parts": _parts(used, layout),
        "keys": _keys(order, layout),
        "cursor": [] if cursor is None else [{"round": cursor}],
    }


def _targets(marked: pl.DataFrame, layout: Layout) -> list[dict[str, Any]]:
    colours = current()
    seen: dict[int, int] = {}
    rows = []
    for row in marked.rows(named=True):
        level = seen.get(row["round"], 0)
        seen[row["round"]] = level + 1
        rows.append(
            {
                "round": row["round"],
                "y": layout.heading + 8 + 13 * level,
                "shown": "shown" if row["shown"] else "lost",
                "shape": "circle" if row["shown"] else "triangle-down",
                "colour": colours.outcome["better" if row["shown"] else "worse"],
                "filled": colours.outcome["better"] if row["shown"] else colours.paper,
            }
        )
    return rows


def _levels(layout: Layout) -> list[dict[str, Any]]:
    """Grid lines with their numbers, above and below the line of nothing."""
    rows = [
        {"y": layout.up(tick), "text": figures.count(tick), "zero": tick == 0}
        for tick in layout.ticks
    ]
    if layout.most_dropped:
        text = figures.count(layout.most_dropped)
        rows.append({"y": layout.down(layout.most_dropped), "text": text, "zero": False})
    return rows


def _parts(used: pl.DataFrame, layout: Layout) -> list[dict[str, Any]]:
    """Runs of rounds in one part; a name that has no room is in the tooltip of its rule only."""
    runs: list[tuple[str, int, int]] = []
    for at, name in used.select("round", "part").unique(maintain_order=True).iter_rows():
        if name is None:
            continue
        if runs and runs[-1][0] == name:
            runs[-1] = (name, runs[-1][1], at)
        else:
            runs.append((name, at, at))
    unit = WIDTH / layout.width
    return [
        {
            "part": name,
            "start": first - 0.5,
            "text": name if pixels(name, 10.5) + 8 < unit * (last - first + 1) else "",
        }
        for name, first, last in runs
    ]


def _keys(order: list[str], layout: Layout) -> list[dict[str, Any]]:
    keys, left = [], 6.0
    for name in order:
        text = cut(name, 20)
        where = {"square": layout.along(left), "word": layout.along(left + 10)}
        keys.append({**where, "text": text, "colour": current().layer_mark(name)})
        left += 34 + pixels(text, 11.5)
    return keys
