"""From a replayed search log to the frame its chart draws.

In: a `LogReplay`. Out: what `charts.churn` asks for.
"""

from __future__ import annotations

import polars as pl

from recalltune.errors import ParameterError
from recalltune.replay.search_log import LogReplay

__all__ = ["OTHERS", "churn_means", "churn_rows"]

OTHERS = "other stages"
"""Stages that explain least, summed up."""
MOVED = "order alone"


def churn_rows(replayed: LogReplay, *, stages: int = 5) -> pl.DataFrame:
    """One row a query and stage: how much entered and left because of it.

    Parameters
    ----------
    replayed
        From `replay_search_log`.
    stages
        >= 2. Stages told apart; those that explain least are summed up as ``other stages``.

    Returns
    -------
    pl.DataFrame
        query_id, stage, entered, left, moved, kept, label (what was asked), ids (what entered and
        left). Queries that are set aside are not in it; one whose list stays has one row of zeros,
        and what only moved stands in a row of its own.

    Raises
    ------
    ParameterError
        If fewer than two stages are to be told apart.
    """
    if stages < 2:
        message = f"stages must be a whole number >= 2, got {stages}"
        raise ParameterError(message)
    compared = replayed.queries.filter(~pl.col("set_aside")).select(
        "query_id",
        pl.col("query").alias("label"),
        (pl.col("p_shown") - pl.col("left") - pl.col("moved")).alias("kept"),
    )
    told = replayed.differences.with_columns(
        pl.when(pl.col("change") == "moved")
        .then(pl.lit(MOVED))
        .otherwise("explained_by")
        .alias("stage")
    )
    named = _largest(told.filter(pl.col("change") != "moved"), stages)
    told = told.with_columns(
        pl.when(pl.col("stage").is_in([*named, MOVED]))
        .then("stage")
        .otherwise(pl.lit(OTHERS))
        .alias("stage")
    )
    changed = told.group_by("query_id", "stage").agg(
        *((pl.col("change") == one).sum().cast(pl.Int64).alias(one) for one in _CHANGES),
        pl.col("memory_id").sort().str.join(", ").alias("ids"),
    )
    whole = compared.join(changed, on="query_id", how="left").with_columns(
        pl.col("stage").fill_null(MOVED), pl.col(*_CHANGES).fill_null(0)
    )
    return whole.select("query_id", "stage", *_CHANGES, "kept", "label", "ids").sort(
        "query_id", "stage"
    )


def churn_means(replayed: LogReplay) -> tuple[dict[str, float], dict[str, float]] | None:
    """Return ``value``, ``lo``, ``hi`` of the mean churn and of the noise floor.

    None where there is no interval: without a query, or with one session only.
    """
    rows = replayed.summary().rows_by_key("measure", named=True, unique=True)
    told = [
        {"value": row["mean"], "lo": row["lo"], "hi": row["hi"]}
        for row in (rows["churn"], rows["noise floor"])
    ]
    if any(value is None for one in told for value in one.values()):
        return None
    return told[0], told[1]


_CHANGES = ("entered", "left", "moved")


def _largest(told: pl.DataFrame, stages: int) -> list[str]:
    """Names of the stages that explain most, one place kept for the others where it is needed."""
    sizes = told.group_by("stage").len().sort("len", "stage", descending=[True, False])
    names: list[str] = sizes["stage"].to_list()
    return names if len(names) <= stages else names[: stages - 1]
