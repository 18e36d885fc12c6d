"""Frames for the question how many places each layer gets."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from recalltune.candidates.table import Candidates
from recalltune.charts import Finding
from recalltune.evaluate.run import Evaluation
from recalltune.evaluate.views import accounts, targets
from recalltune.sweep.engine import SweepResult
from recalltune.widgets.tables import Table

__all__ = ["by_target_layer", "layer_shares", "layer_verdicts", "some_rounds", "with_none"]

ROUNDS = 40


def layer_shares(candidates: Candidates, run: Evaluation) -> tuple[pl.DataFrame, Finding]:
    """Share of each layer among the places shown and among the targets.

    Returns
    -------
    tuple[pl.DataFrame, Finding]
        row (layer), layer, metric (*share*), role (*places*, *targets*), value, count; and a title
        about the layer whose two shares are furthest apart.
    """
    known = targets(candidates)
    frames = [
        frame.group_by("layer")
        .agg(pl.len().cast(pl.Int64).alias("count"))
        .with_columns(
            (pl.col("count") / max(frame.height, 1)).alias("value"), pl.lit(role).alias("role")
        )
        for role, frame in (("places", run.hits), ("targets", known))
    ]
    every = pl.concat(frames)
    grid = every.select("layer").unique().join(every.select("role").unique(), how="cross")
    frame = (
        grid.join(every, on=["layer", "role"], how="left")
        .with_columns(
            pl.col("value").fill_null(0.0),
            pl.col("count").fill_null(0),
            pl.col("layer").alias("row"),
            pl.lit("share").alias("metric"),
        )
        .sort("layer", "role")
    )
    return frame, _furthest_apart(frame)


def _furthest_apart(shares: pl.DataFrame) -> Finding:
    wide = shares.pivot(on="role", index="layer", values="value").sort("layer")
    if not wide.height:
        return Finding("No layer is shown")
    row = wide.sort((pl.col("places") - pl.col("targets")).abs(), "layer").row(-1, named=True)
    return Finding(
        "{layer} takes {places:share} of the places and holds {targets:share} of the targets",
        row,
        "exact",
    )


def some_rounds(candidates: Candidates, run: Evaluation, *, rounds: int = ROUNDS) -> pl.DataFrame:
    """Places per layer in every n-th case by time, numbered as rounds: see `accounts`."""
    order = candidates.queries.sort("asked_at", "query_id")["query_id"].to_list()
    taken = order[:: -(-len(order) // rounds)]
    number = {query_id: place for place, query_id in enumerate(taken, start=1)}
    return (
        accounts(run)
        .filter(pl.col("query_id").is_in(taken))
        .with_columns(
            pl.col("query_id").replace_strict(number, return_dtype=pl.Int64).alias("round")
        )
        .sort("round", "layer")
    )


def by_target_layer(result: SweepResult) -> SweepResult:
    """Return the sweep with the layer of a case's first target in place of its kind.

    Views that slice by kind then slice by that layer; a case without a target says *none*.
    """
    first = (
        targets(result.candidates)
        .group_by("query_id", maintain_order=True)
        .agg(pl.col("layer").first().alias("kind"))
    )
    cases = (
        result.cases.drop("kind")
        .join(first, on="query_id", how="left", maintain_order="left")
        .with_columns(pl.col("kind").fill_null("none"))
        .select(result.cases.columns)
    )
    return replace(result, cases=cases)


def layer_verdicts(candidates: Candidates, default: Evaluation, other: Evaluation) -> Table:
    """Who gains and who loses places and targets: one row a layer, two runs.

    Columns: layer, targets, shown_default, shown_other (targets shown), places_default,
    places_other (mean places a case), empty_default, empty_other (cases in which the layer had
    candidates and got no place).
    """
    known = targets(candidates)
    frame = known.group_by("layer").agg(pl.len().cast(pl.Int64).alias("targets"))
    for name, run in (("default", default), ("other", other)):
        shown = known.join(run.hits, on=["query_id", "memory_id"], how="semi")
        frame = frame.join(
            shown.group_by("layer").agg(pl.len().cast(pl.Int64).alias(f"shown_{name}")),
            on="layer", how="full", coalesce=True,
        ).join(
            run.accounts.group_by("layer").agg(
                pl.col("picked").mean().alias(f"places_{name}"),
                ((pl.col("picked") == 0) & (pl.col("dropped") > 0))
                .sum().cast(pl.Int64).alias(f"empty_{name}"),
            ),
            on="layer", how="full", coalesce=True,
        )  # fmt: skip
    columns = [
        "targets",
        *(f"{what}_{n}" for what in ("shown", "places", "empty") for n in ("default", "other")),
    ]
    filled = frame.select("layer", *(pl.col(name).fill_null(0) for name in columns))
    return Table(filled.sort("layer"), "", {"places_default": 1, "places_other": 1})


def with_none(frame: pl.DataFrame, column: str, name: str) -> pl.DataFrame:
    """Return a frame of settings whose missing values in one column are called ``name``.

    Charts read a missing value as *not set*; where *none* is one of the stops it needs a name.
    """
    numbers = pl.col(column).map_elements(lambda value: f"{value:g}", return_dtype=pl.String)
    return frame.with_columns(numbers.fill_null(name).alias(column))
