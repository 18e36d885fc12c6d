"""How much of what is shown would change, query by query, and which stage explains it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import altair as alt
import polars as pl

from recalltune.charts import figures
from recalltune.charts.axes import fixed_axis
from recalltune.charts.canvas import About, Chart, data, draw, finish, layered, sentence
from recalltune.charts.findings import TOO_FEW, Finding
from recalltune.charts.frames import tidy
from recalltune.charts.look import current
from recalltune.charts.palette import FAMILIES
from recalltune.charts.text import cut
from recalltune.errors import ParameterError

__all__ = ["churn"]

WIDTH = 520
ROW = 12
QUERIES = 40
STAGES = 5
STRIP = 2.6  # rows kept above the bars for the mean


def churn(
    frame: pl.DataFrame,
    *,
    mean: Mapping[str, float] | None = None,
    level: str = "95 %",
    subject: str = "The choice",
    **about: Unpack[About],
) -> Chart:
    """Share of each list that changes, a bar a query, coloured by the stage that explains it.

    Parameters
    ----------
    frame
        One row a query and stage: ``query_id`` (text), ``stage`` (text, what explains the
        change), ``entered``, ``left``, ``moved`` (count, memories, explained by this stage),
        ``kept`` (count, memories of the query that neither moved nor changed; the same in each
        of its rows); optional ``label`` (text, already gated) and ``ids`` (text, for the
        tooltip). A query that does not change has one row of zeros.
    mean
        ``value``, ``lo``, ``hi`` of the mean share of shown memories that enter, over all
        queries, in [0, 1].
    level
        Level of that interval.
    subject
        What replaces the current default.

    Raises
    ------
    ParameterError
        If a column is missing, a count is negative, or over five stages are named.
    """
    rows = tidy(
        frame,
        "churn",
        {
            "query_id": "text",
            "stage": "text",
            "entered": "count",
            "left": "count",
            "moved": "count",
            "kept": "count",
        },
        {"label": "text", "ids": "text"},
        aggregate="keep the queries that change most",
    )
    counts = ["entered", "left", "moved", "kept"]
    if rows.filter(pl.any_horizontal(pl.col(counts) < 0)).height:
        raise ParameterError("counts must be at least 0, got a negative one")
    queries = _queries(rows)
    stages = _stages(rows)
    changed = queries.filter(pl.col("share") > 0)
    shown = changed.head(QUERIES)
    few = queries.height < TOO_FEW
    drawing = draw(
        "churn",
        _finding(queries, mean, subject),
        sentences=[
            f"Part of each list that enters, {figures.counted(queries.height, 'query')}; "
            "colour: stage that explains it.",
            f"Diamond: mean and its {level} interval." if mean and not few else "",
            f"The {shown.height} largest of {changed.height} drawn."
            if shown.height < changed.height
            else "",
        ],
        form=f"Bars of {figures.counted(shown.height, 'query')}, from 0 to 100 %.",
        rows=_rows(rows, shown, stages, None if few else mean),
        table=rows.sort("query_id", "stage"),
        about=about,
    )
    if not shown.height:
        return sentence(drawing, "No memory enters a list.")
    return finish(_marks(shown.height), drawing)


def _queries(rows: pl.DataFrame) -> pl.DataFrame:
    total = pl.col("entered") + pl.col("kept") + pl.col("moved")
    return (
        rows.group_by("query_id")
        .agg(
            pl.col("entered", "left", "moved").sum(),
            pl.col("kept").max(),
            pl.col("label").sort().first(),
        )
        .with_columns(share=pl.when(total > 0).then(pl.col("entered") / total).otherwise(0.0))
        .sort("share", "query_id", descending=[True, False])
    )


def _stages(rows: pl.DataFrame) -> list[str]:
    """Stages by how much enters because of them."""
    changing = rows.filter(pl.col("entered") > 0)
    sizes = changing.group_by("stage").agg(pl.col("entered").sum())
    names = sizes.sort("entered", "stage", descending=[True, False])["stage"].to_list()
    if len(names) > STAGES:
        msg = f"stages must be at most {STAGES}, got {len(names)}; sum the small ones up"
        raise ParameterError(msg)
    return names


def _finding(queries: pl.DataFrame, mean: Mapping[str, float] | None, subject: str) -> Finding:
    touched = pl.any_horizontal(pl.col("entered", "left", "moved") > 0)
    changed = queries.filter(touched).height
    values: dict[str, Any] = {"changed": changed, "n": queries.height, "subject": subject}
    if not queries.height:
        return Finding("No query to compare")
    if not changed:
        return Finding(
            "{subject} does not bind: {changed:count} of {n:count} lists change", values, "exact"
        )
    if mean is None or queries.height < TOO_FEW:
        return Finding("{subject} changes {changed:count} of {n:count} lists", values, "exact")
    values |= {name: figures.share(mean[name]) for name in ("value", "lo", "hi")} | {"k": changed}
    return Finding(
        "{subject} changes {value} [{lo}, {hi}] of what is shown, in {k:count} lists",
        values,
        "exact",
    )


def _rows(
    rows: pl.DataFrame,
    shown: pl.DataFrame,
    stages: Sequence[str],
    mean: Mapping[str, float] | None,
) -> dict[str, list[dict[str, Any]]]:
    colours = current()
    worn = {stage: FAMILIES[at + 1] if at < 4 else FAMILIES[0] for at, stage in enumerate(stages)}
    bars: list[dict[str, Any]] = []
    names: list[dict[str, Any]] = []
    for order, query in enumerate(shown.rows(named=True)):
        total = query["entered"] + query["kept"] + query["moved"]
        part = rows.filter((pl.col("query_id") == query["query_id"]) & (pl.col("entered") > 0))
        base = 0.0
        for row in sorted(part.rows(named=True), key=lambda row: stages.index(row["stage"])):
            end = base + row["entered"] / total
            bars.append(
                {
                    "order": order,
                    "low": base,
                    "high": end,
                    "query_id": query["query_id"],
                    "stage": row["stage"],
                    "entered": row["entered"],
                    "left": row["left"],
                    "moved": row["moved"],
                    "kept": query["kept"],
                    "ids": row["ids"] or "",
                    "colour": colours.family[worn[row["stage"]]],
                }
            )
            base = end
        names.append({"order": order, "label": cut(query["label"] or query["query_id"], 34)})
    keys, left = [], 0.0
    for stage in stages:
        keys.append({"left": left / WIDTH, "text": cut(stage, 20),
                     "colour": colours.family[worn[stage]]})  # fmt: skip
        left += 34 + 6.4 * len(cut(stage, 20))
    means = [] if mean is None else [{name: mean[name] for name in ("value", "lo", "hi")}]
    return {"bars": bars, "names": names, "keys": keys, "mean": means}


def _marks(count: int) -> alt.LayerChart:
    colours = current()
    height = round(ROW * (count + STRIP))
    scale = alt.Scale(domain=[0, 1], nice=False)
    axis = fixed_axis([0, 0.25, 0.5, 0.75, 1], grid=True, title="part of the list that enters",
                      labelExpr="format(100 * datum.value, 'd') + ' %'")  # fmt: skip
    y_scale = alt.Scale(domain=[-STRIP, count - 0.4], reverse=True, nice=False, zero=False)
    y = alt.Y("order:Q", axis=None, scale=y_scale)

    def x(field: str) -> alt.X:
        return alt.X(f"{field}:Q", scale=scale, axis=axis)

    colour = alt.Color("colour:N", scale=None)
    bars = alt.Chart(data("bars"), width=WIDTH, height=height)
    mean = alt.Chart(data("mean"))
    keys = alt.Chart(data("keys")).transform_calculate(
        square=f"datum.left + {6 / WIDTH!r}", word=f"datum.left + {16 / WIDTH!r}"
    )
    tips = [alt.Tooltip(f"{name}:N") for name in ("query_id", "stage")]
    tips += [alt.Tooltip(f"{name}:Q") for name in ("entered", "left", "moved", "kept")]
    return layered(
        bars.mark_bar(orient="horizontal", height=ROW - 3).encode(
            x=x("low"), x2=alt.X2("high"), y=y, color=colour, tooltip=[*tips, alt.Tooltip("ids:N")]
        ),
        alt.Chart(data("names")).mark_text(align="right", fontSize=10.5).encode(
            x=alt.value(-8), y=y, text="label:N"
        ),
        mean.mark_rule(strokeWidth=1.5, color=colours.ink).encode(
            x=x("lo"), x2=alt.X2("hi"), y=alt.value(12)
        ),
        mean.mark_point(shape="diamond", filled=True, fill=colours.ink, size=64, opacity=1).encode(
            x=x("value"), y=alt.value(12)
        ),
        mean.mark_text(align="right").encode(
            x=alt.value(-8), y=alt.value(12), text=alt.value("mean")
        ),
        keys.mark_point(shape="square", filled=True, size=70, opacity=1).encode(
            x=alt.X("square:Q", scale=scale), y=alt.value(height + 52), color=colour
        ),
        keys.mark_text(align="left").encode(
            x=alt.X("word:Q", scale=scale), y=alt.value(height + 52), text="text:N"
        ),
    )  # fmt: skip
