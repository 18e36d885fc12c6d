"""At which stage the targets are lost."""

from __future__ import annotations

from typing import Any, Unpack

import altair as alt
import polars as pl

from recalltune.charts import figures
from recalltune.charts.canvas import About, Chart, data, draw, finish, layered, sentence
from recalltune.charts.findings import Finding
from recalltune.charts.frames import tidy
from recalltune.charts.look import current
from recalltune.charts.text import cut
from recalltune.errors import ContractError, ParameterError

__all__ = ["loss_stages"]

WIDTH = 300
ROW = 25
REASONS = 2


def loss_stages(frame: pl.DataFrame, *, cases: int | None = None, **about: Unpack[About]) -> Chart:
    """One bar a stage: targets still alive, targets lost here, and why.

    Parameters
    ----------
    frame
        One row a stage and reason: ``step`` (count, pipeline order), ``stage`` (text, a noun:
        *layer places*), ``alive`` (count, targets left *after* the stage), ``lost`` (count, lost
        here for this reason; a target counts at the first stage that loses it), optional
        ``reason`` (text). A stage that loses none has one row with ``lost`` 0.
    cases
        Cases the targets belong to, said in the subtitle.

    Raises
    ------
    ParameterError
        If a column is missing or a count is negative.
    ContractError
        If the account does not balance: alive before a stage minus lost is not alive after it.
    """
    account = tidy(
        frame,
        "loss_stages",
        {"step": "count", "stage": "text", "alive": "count", "lost": "count"},
        {"reason": "text"},
        aggregate="sum up targets by stage and reason",
    )
    stages = _stages(account)
    total = stages[0]["alive"] + stages[0]["lost"] if stages else 0
    of = "" if cases is None else f" of {figures.counted(cases, 'case')}"
    drawing = draw(
        "loss_stages",
        _finding(stages, total),
        sentences=[
            f"{figures.counted(total, 'target')}{of}.",
            "Grey: alive after the stage; orange: lost at it first.",
        ],
        form=f"Bar chart of {figures.counted(len(stages), 'stage')}, from 0 to {total}.",
        rows={"stages": stages},
        table=account.sort("step"),
        about=about,
    )
    if not total:
        return sentence(drawing, "No target to follow.")
    return finish(_marks(len(stages), total), drawing)


def _stages(account: pl.DataFrame) -> list[dict[str, Any]]:
    if account.filter((pl.col("alive") < 0) | (pl.col("lost") < 0)).height:
        raise ParameterError("alive and lost must be at least 0, got a negative count")
    rows: list[dict[str, Any]] = []
    before: int | None = None
    for (step,), part in account.sort("step").group_by("step", maintain_order=True):
        lost = int(part["lost"].sum())
        alive = int(part["alive"][0])
        stage = part["stage"][0]
        if part["alive"].n_unique() > 1 or (before is not None and before - lost != alive):
            msg = (
                f"step {step} ({stage!r}) must leave {before} - {lost} targets, got "
                f"{part['alive'].unique().sort().to_list()}"
            )
            raise ContractError(msg)
        before = alive
        rows.append(
            {
                "order": len(rows),
                "stage": cut(stage or ""),
                "alive": alive,
                "lost": lost,
                "reach": alive + lost,
                "alive_text": figures.count(alive),
                "lost_text": figures.signed(-lost, decimals=0) if lost else "",
                "reasons": _reasons(part),
            }
        )
    return rows


def _reasons(part: pl.DataFrame) -> str:
    known = part.filter(pl.col("lost") > 0).drop_nulls("reason")
    ordered = known.sort("lost", "reason", descending=[True, False])
    said = [f"{row['lost']} {cut(row['reason'], 30)}" for row in ordered.rows(named=True)]
    rest = int(ordered["lost"][REASONS:].sum())
    return ", ".join([*said[:REASONS], *([f"{rest} others"] if rest else [])])


def _finding(stages: list[dict[str, Any]], total: int) -> Finding:
    if not total:
        return Finding("No target to follow")
    losing = sorted((row for row in stages if row["lost"]), key=lambda r: (-r["lost"], r["order"]))
    if not losing:
        return Finding("All {total:count} targets reach the list", {"total": total}, "exact")
    first = losing[0]
    values = {"stage": first["stage"], "lost": first["lost"], "total": total}
    template = "{lost:count} of {total:count} targets are lost at {stage}"
    if len(losing) > 1:
        values |= {"next": losing[1]["stage"], "next_lost": losing[1]["lost"]}
        template += ", {next_lost:count} at {next}"
    return Finding(template, values, "exact")


def _marks(count: int, total: int) -> alt.LayerChart:
    colours = current()
    scale = alt.Scale(domain=[0, total], nice=False)
    y = alt.Y("order:Q", axis=None, scale=alt.Scale(domain=[-0.6, count - 0.4], reverse=True))
    rows = alt.Chart(data("stages"), width=WIDTH, height=ROW * count)
    x = alt.X("alive:Q", scale=scale, axis=None)
    tips = [
        alt.Tooltip("stage:N"),
        alt.Tooltip("alive:Q", format=","),
        alt.Tooltip("lost:Q", format=","),
        alt.Tooltip("reasons:N"),
    ]
    orange = colours.outcome_text["worse"]
    return layered(
        rows.mark_bar(
            orient="horizontal", height=18, color=colours.outcome["unchanged"], opacity=0.75
        ).encode(x=x, y=y, tooltip=tips),
        rows.mark_bar(orient="horizontal", height=18, color=colours.outcome["worse"]).encode(
            x=x, x2=alt.X2("reach"), y=y, tooltip=tips
        ),
        rows.mark_text(align="right").encode(x=alt.value(-8), y=y, text="stage:N"),
        rows.mark_text(align="left", fontWeight=600).encode(
            x=alt.value(6), y=y, text="alive_text:N"
        ),
        rows.mark_text(align="left", fontWeight=600, color=orange).encode(
            x=alt.value(WIDTH + 8), y=y, text="lost_text:N"
        ),
        rows.mark_text(align="left", color=colours.muted).encode(
            x=alt.value(WIDTH + 44), y=y, text="reasons:N"
        ),
    )
