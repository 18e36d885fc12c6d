"""How much of what is shown would change, query by query, and which stage explains it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
OTHERS, NOISE = LAST = ("other stages", "noise floor")
"""What is no stage of a configuration: grey, after those that are."""
PALE = "59"
"""Opacity of the noise floor in a bar, .35, as the last two digits of a colour."""
STRIP = 2.6  # rows kept above the bars for the mean
FLOOR_STRIP = 1.5  # rows more for the noise floor


def churn(
    frame: pl.DataFrame,
    *,
    mean: Mapping[str, float] | None = None,
    floor: Mapping[str, float] | None = None,
    level: str = "95 %",
    subject: str = "The choice",
    **about: Unpack[About],
) -> Chart:
    """Share of each list that changes, a bar a query, coloured by the stage that explains it.

    A bar is as long as the churn of its list, ``max(entered, left) / (max(entered, left) + moved +
    kept)``. It is made up of what entered, by the stage that explains it; of what left, where more
    left than entered.

    Parameters
    ----------
    frame
        One row a query and stage: ``query_id`` (text), ``stage`` (text, what explains the
        change), ``entered``, ``left``, ``moved`` (count, memories, explained by this stage),
        ``kept`` (count, memories of the query that neither moved nor changed; the same in each
        of its rows); optional ``label`` (text, already gated) and ``ids`` (text, for the
        tooltip). A query that does not change has one row of zeros.
    mean
        ``value``, ``lo``, ``hi`` of the mean share, over all queries, in [0, 1].
    floor
        The same of the current default against its own lists: what a replay changes when nothing
        is changed. A mean says something above it only.
    level
        Level of these intervals.
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
    rows = _parts(rows, queries)
    stages = _stages(rows)
    changed = queries.filter(pl.col("share") > 0)
    shown = changed.head(QUERIES)
    few = queries.height < TOO_FEW
    drawing = draw(
        "churn",
        _finding(queries, mean, floor, subject),
        sentences=[
            f"Part of each list that changes, {figures.counted(queries.height, 'query')}; "
            "colour: stage that explains it.",
            f"Diamond: mean and its {level} interval." if mean and not few else "",
            "Hollow: what a replay of its own lists changes." if floor and not few else "",
            f"The {shown.height} largest of {changed.height} drawn."
            if shown.height < changed.height
            else "",
        ],
        form=f"Bars of {figures.counted(shown.height, 'query')}, from 0 to 100 %.",
        rows=_rows(rows, shown, stages)
        | {"mean": _points(None if few else mean), "floor": _points(None if few else floor)},
        table=rows.drop("part").sort("query_id", "stage"),
        about=about,
    )
    if not shown.height:
        return sentence(drawing, "No memory enters or leaves a list.")
    return finish(_marks(shown.height, has_floor=bool(floor) and not few), drawing)


def _queries(rows: pl.DataFrame) -> pl.DataFrame:
    changed = pl.max_horizontal("entered", "left")
    total = changed + pl.col("kept") + pl.col("moved")
    return (
        rows.group_by("query_id")
        .agg(
            pl.col("entered", "left", "moved").sum(),
            pl.col("kept").max(),
            pl.col("label").sort().first(),
        )
        .with_columns(total=total)
        .with_columns(share=pl.when(total > 0).then(changed / total).otherwise(0.0))
        .sort("share", "query_id", descending=[True, False])
    )


def _parts(rows: pl.DataFrame, queries: pl.DataFrame) -> pl.DataFrame:
    """Rows with ``part``, the count a stage adds to the bar: of the side with the larger sum."""
    shrunk = queries.select("query_id", shrunk=pl.col("left") > pl.col("entered"))
    joined = rows.join(shrunk, on="query_id", how="left", maintain_order="left")
    part = pl.when("shrunk").then("left").otherwise("entered")
    return joined.with_columns(part=part).drop("shrunk")


def _stages(rows: pl.DataFrame) -> list[str]:
    """Stages by how much of the bars they make up; what is none of a configuration comes last."""
    changing = rows.filter(pl.col("part") > 0)
    sizes = changing.group_by("stage").agg(pl.col("part").sum())
    names = sizes.sort("part", "stage", descending=[True, False])["stage"].to_list()
    if len(names) > STAGES:
        msg = f"stages must be at most {STAGES}, got {len(names)}; sum the small ones up"
        raise ParameterError(msg)
    return [*(name for name in names if name not in LAST), *(n for n in LAST if n in names)]


def _finding(
    queries: pl.DataFrame,
    mean: Mapping[str, float] | None,
    floor: Mapping[str, float] | None,
    subject: str,
) -> Finding:
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
    replaced = queries.filter(pl.any_horizontal(pl.col("entered", "left") > 0)).height
    values |= {name: figures.share(mean[name]) for name in ("value", "lo", "hi")} | {"k": replaced}
    said = "{subject} changes {value} [{lo}, {hi}] of what is shown, in {k:count} lists"
    if floor is not None:
        values["floor"] = figures.share(floor["value"])
        said += "; noise floor {floor}"
    return Finding(said, values, "exact")


def _points(mean: Mapping[str, float] | None) -> list[dict[str, Any]]:
    return [] if mean is None else [{name: mean[name] for name in ("value", "lo", "hi")}]


def _rows(
    rows: pl.DataFrame, shown: pl.DataFrame, stages: Sequence[str]
) -> dict[str, list[dict[str, Any]]]:
    colours = current()
    told_apart = [stage for stage in stages if stage not in LAST]
    families = (*FAMILIES[1:5], FAMILIES[0])
    worn = {stage: colours.family[families[at]] for at, stage in enumerate(told_apart)}
    worn |= {OTHERS: colours.outcome["unchanged"], NOISE: colours.outcome["unchanged"] + PALE}
    bars: list[dict[str, Any]] = []
    names: list[dict[str, Any]] = []
    for order, query in enumerate(shown.rows(named=True)):
        part = rows.filter((pl.col("query_id") == query["query_id"]) & (pl.col("part") > 0))
        base = 0.0
        for row in sorted(part.rows(named=True), key=lambda row: stages.index(row["stage"])):
            end = base + row["part"] / query["total"]
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
                    "colour": worn[row["stage"]],
                }
            )
            base = end
        names.append({"order": order, "label": cut(query["label"] or query["query_id"], 34)})
    keys, left = [], 0.0
    for stage in stages:
        keys.append({"left": left / WIDTH, "text": cut(stage, 20),
                     "colour": worn[stage]})  # fmt: skip
        left += 34 + 6.4 * len(cut(stage, 20))
    return {"bars": bars, "names": names, "keys": keys}


def _marks(count: int, *, has_floor: bool) -> alt.LayerChart:
    strip = STRIP + FLOOR_STRIP * has_floor
    height = round(ROW * (count + strip))
    scale = alt.Scale(domain=[0, 1], nice=False)
    axis = fixed_axis([0, 0.25, 0.5, 0.75, 1], grid=True, title="part of the list that changes",
                      labelExpr="format(100 * datum.value, 'd') + ' %'")  # fmt: skip
    y_scale = alt.Scale(domain=[-strip, count - 0.4], reverse=True, nice=False, zero=False)
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
        *_mean(mean, x, 12, "mean", filled=True),
        *_mean(alt.Chart(data("floor")), x, 12 + 1.5 * ROW, "noise floor", filled=False),
        keys.mark_point(shape="square", filled=True, size=70, opacity=1).encode(
            x=alt.X("square:Q", scale=scale), y=alt.value(height + 52), color=colour
        ),
        keys.mark_text(align="left").encode(
            x=alt.X("word:Q", scale=scale), y=alt.value(height + 52), text="text:N"
        ),
    )  # fmt: skip


def _mean(
    mean: alt.Chart, x: Callable[[str], alt.X], height: float, name: str, *, filled: bool
) -> list[alt.Chart]:
    """Interval, diamond and name of one mean over all queries."""
    colours = current()
    y = alt.value(height)
    return [
        mean.mark_rule(strokeWidth=1.5, color=colours.ink).encode(
            x=x("lo"), x2=alt.X2("hi"), y=y
        ),
        mean.mark_point(
            shape="diamond", filled=True, size=64, opacity=1, stroke=colours.ink,
            fill=colours.ink if filled else colours.paper,
        ).encode(x=x("value"), y=y),
        mean.mark_text(align="right").encode(x=alt.value(-8), y=y, text=alt.value(name)),
    ]  # fmt: skip
