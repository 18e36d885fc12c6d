"""From a replay to the tidy frames that charts and the step slider draw.

Steps are numbered from 1 by the time they were asked at, across all sessions.
"""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from recalltune.errors import ContractError
from recalltune.replay.fate_views import NOT_THERE
from recalltune.replay.fates import fates
from recalltune.replay.steps import Replay

__all__ = [
    "UNNAMED_FATES",
    "followed",
    "injected",
    "numbered",
    "targets_by_step",
    "telling_step",
]

UNNAMED_FATES = ("scope", "gate")
"""Fates of a memory that the step may not see: they are counted, and named nowhere."""


def numbered(replay: Replay) -> pl.DataFrame:
    """The steps by time, with ``round`` (from 1) and ``part`` (day in UTC) in front."""
    return (
        replay.steps.sort("asked_at", "query_id")
        .with_row_index("round", offset=1)
        .with_columns(
            pl.col("round").cast(pl.Int64),
            pl.from_epoch("asked_at", time_unit="us").dt.strftime("%Y-%m-%d").alias("part"),
        )
        .select("round", "part", pl.exclude("round", "part"))
    )


def injected(replay: Replay) -> pl.DataFrame:
    """What each step put into the prompt, as `charts.quota_account` draws it over time.

    Returns
    -------
    pl.DataFrame
        round, layer, tokens, dropped, oversize, part; one row a step and layer with candidates.
    """
    steps = numbered(replay).select("round", "part", "query_id")
    return (
        replay.accounts.filter(pl.col("candidates") > 0)
        .join(steps, on="query_id")
        .select("round", "layer", "tokens", "dropped", "oversize", "part")
        .sort("round", "layer")
    )


def targets_by_step(replay: Replay) -> pl.DataFrame:
    """Round, shown: one row a labelled target that could have been shown at its step."""
    steps = numbered(replay).select("round", "query_id")
    valid = replay.fates.filter(~pl.col("fate").is_in([*NOT_THERE, *UNNAMED_FATES]))
    return (
        valid.join(steps, on="query_id")
        .select("round", (pl.col("fate") == "shown").alias("shown"))
        .sort("round", "shown")
    )


def followed(walked: Replay, labelled: Replay) -> Replay:
    """Return a walk whose turns are followed for the targets of cases that ask the same then.

    Parameters
    ----------
    walked
        Over turns.
    labelled
        Over the cases of a set, same lab, same config. A case speaks of a turn if both ask the
        same words at the same instant.

    Returns
    -------
    Replay
        ``walked`` with the labels of those cases, and so with fates; its lists are the same.

    Raises
    ------
    ContractError
        If the two walks differ in data, config or encoder.
    """
    if walked.config.fingerprint != labelled.config.fingerprint:
        message = (
            f"both walks must have one config, got {walked.config.fingerprint} and "
            f"{labelled.config.fingerprint}"
        )
        raise ContractError(message)
    # The vectors of the stamps differ in any case: they are those of the questions, too.
    for name in ("data", "encoder"):
        mine, theirs = (getattr(walk.stamp, name) for walk in (walked, labelled))
        if mine != theirs:
            message = (
                f"both walks must be of one lab and encoder; the {name} differ: {mine}, {theirs}"
            )
            raise ContractError(message)
    same = ["text", "asked_at"]
    turns = walked.candidates.queries.select(pl.col("query_id").alias("turn_id"), *same)
    asked = labelled.candidates.queries.select("query_id", *same).join(turns, on=same)
    labels = labelled.candidates.labels
    if labels.columns:
        labels = (
            labels.join(asked.select("query_id", "turn_id"), on="query_id")
            .with_columns(pl.col("turn_id").alias("query_id"))
            .drop("turn_id")
            .unique(["query_id", "memory_id", "role"], keep="first", maintain_order=True)
            .sort("query_id", "role", "memory_id")
        )
    candidates = replace(walked.candidates, labels=labels)
    told = fates(candidates, walked.config)
    answerable = told.filter(~pl.col("fate").is_in(NOT_THERE))["query_id"].unique().to_list()
    asks = pl.when(pl.col("query_id").is_in(answerable)).then(pl.lit("answerable"))
    steps = walked.steps.with_columns(asks.otherwise("asks").alias("asks"))
    return replace(walked, candidates=candidates, fates=told, steps=steps)


def telling_step(replay: Replay) -> str:
    """Return the query_id of the step whose targets fare worst among the candidates.

    Most targets lost behind the arms, then the one that is shown furthest down, then the first by
    time. A target that never became a candidate has no score to look at. Without any that did, it
    is the first step.
    """
    steps = numbered(replay).select("round", "query_id")
    proposed = replay.fates.filter(
        pl.col("stage").is_null() | ~pl.col("stage").is_in(["world", "admit", "arms"])
    )
    if not proposed.height:
        return str(steps["query_id"][0])
    worst = (
        proposed.join(steps, on="query_id")
        .group_by("round", "query_id")
        .agg((pl.col("fate") != "shown").sum().alias("lost"), pl.col("position").max())
        .sort("lost", "position", "round", descending=[True, True, False], nulls_last=True)
    )
    return str(worst["query_id"][0])
