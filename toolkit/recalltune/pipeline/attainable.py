"""Attainable scores: after each stage of a config, whatever the data, and for each row of a table.

In: a config, and for the bounds of each row a candidate table. Out: the lowest and the highest
score after every stage. A perfect match is a row of which every arm says the best it can; where
even that is below the minimum the row has to reach, the row is a structural ghost: no query finds
it. RecallNest's `eval/ghost-scan.ts` counts the same with score 1 for every row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recalltune.candidates.table import Candidates
from recalltune.pipeline.bounds import Bounds, arm_bounds
from recalltune.pipeline.config import RankingConfig
from recalltune.pipeline.run import check_setup, profile_groups, with_profile
from recalltune.pipeline.stage import Affine, FilterStage, ScoreStage, Stage

__all__ = ["GHOSTS", "RowBounds", "StageBounds", "ghosts", "row_bounds", "score_bounds"]

Scores = NDArray[np.float64]

GHOSTS = {
    "stage": pl.String,
    "category": pl.String,
    "rows": pl.Int64,
    "ghosts": pl.Int64,
    "memories": pl.Int64,
    "ghost_memories": pl.Int64,
    "share": pl.Float64,
}


@dataclass(frozen=True)
class StageBounds:
    """What a score can be before and after one stage."""

    stage: Stage
    before: Bounds
    after: Bounds


def score_bounds(config: RankingConfig, *, only: str | None = None) -> list[StageBounds]:
    """Return the attainable scores around every stage, from the parameters alone.

    Parameters
    ----------
    config
        As it stands; its profiles are not applied.
    only
        Of a row that this arm alone proposes; None: of any row.

    Examples
    --------
    >>> from recalltune.pipeline.config import preset
    >>> score_bounds(preset("textbook"))[0].after[1]  # 2 / (60 + 1)
    0.03278688524590164
    """
    arms = arm_bounds(config.arms)
    found, bounds = [], (0.0, 0.0)
    for stage in config.stages:
        before = bounds
        if isinstance(stage, ScoreStage) and stage.fuses:
            bounds = stage.fused(arms, only)
        else:
            bounds = stage.attainable(*before)
        found.append(StageBounds(stage, before, bounds))
    return found


@dataclass(frozen=True, eq=False)
class RowBounds:
    """What the score of every candidate can be after one stage, by what the candidate is."""

    stage: Stage
    low: Scores
    """shape (Q, C)."""
    high: Scores
    """shape (Q, C): the score of a perfect match."""


def row_bounds(candidates: Candidates, config: RankingConfig) -> Iterator[RowBounds]:
    """Yield the bounds of every candidate after each stage.

    The fusion gives every row the same bounds, since any row may match or not; what follows moves
    them by the candidate's own operands. An arm without a ceiling, such as raw BM25, stands at the
    best of this table.

    Parameters
    ----------
    candidates
        From `candidates(lab, case_set, config)`.
    config
        As it stands; its profiles are not applied.

    Raises
    ------
    ContractError
        If the candidates were made with other admit or arms models.
    """
    check_setup(candidates, config)
    low = high = np.zeros(candidates.span.shape)
    for stage in config.stages:
        if isinstance(stage, ScoreStage):
            operands = stage.affine(candidates)
            if stage.fuses:
                low, high = _fused(candidates, config, stage, operands)
            else:
                ends = operands(low), operands(high)
                low, high = np.minimum(*ends), np.maximum(*ends)
        yield RowBounds(stage, low, high)


def _fused(
    candidates: Candidates, config: RankingConfig, stage: ScoreStage, operands: Affine
) -> tuple[Scores, Scores]:
    shape = candidates.span.shape
    seen = operands(np.zeros(shape))[candidates.valid]
    low, high = stage.fused(arm_bounds(config.arms))
    low = low if np.isfinite(low) else float(seen.min(initial=0.0))
    high = high if np.isfinite(high) else float(seen.max(initial=0.0))
    return np.full(shape, low), np.full(shape, high)


def ghosts(candidates: Candidates, config: RankingConfig) -> pl.DataFrame:
    """Return how many rows no query can find: their ceiling is below the minimum they face.

    Parameters
    ----------
    candidates
        From `candidates(lab, case_set, config)`.
    config
        A case's profile is honoured.

    Returns
    -------
    pl.DataFrame
        stage, category, rows, ghosts, memories, ghost_memories, share: one row for each stage that
        asks for a score and each category, and one with category "all". A row is a candidate of a
        case; a memory is a ghost where it is one for every case it is a candidate of. ``share`` is
        ghosts / rows.
    """
    found: dict[str, NDArray[np.bool_]] = {}
    for profile, rows in profile_groups(candidates, config).items():
        part = candidates.take(rows)
        for bounds in row_bounds(part, with_profile(config, profile)):
            stage = bounds.stage
            minima = stage.minima(part) if isinstance(stage, FilterStage) else None
            if minima is not None:
                below = found.setdefault(stage.name, np.zeros(candidates.span.shape, dtype=bool))
                below[rows] = bounds.high < minima
    frames = [_by_category(candidates, name, below) for name, below in found.items()]
    return pl.concat(frames) if frames else pl.DataFrame(schema=GHOSTS)


def _by_category(candidates: Candidates, stage: str, below: NDArray[np.bool_]) -> pl.DataFrame:
    valid = candidates.valid
    codes = candidates.codes.get("category", ("",))
    coded = candidates.features.get("category", np.zeros(candidates.span.shape))[valid]
    rows = pl.DataFrame(
        {
            "category": np.array([*codes], dtype=object)[coded.astype(np.int64)].tolist(),
            "memory_id": candidates.spans["memory_id"].gather(candidates.span[valid]),
            "ghost": below[valid],
        },
        schema={"category": pl.String, "memory_id": pl.String, "ghost": pl.Boolean},
    )
    memories = rows.group_by("category", "memory_id").agg(pl.col("ghost").all().alias("always"))
    counted = (
        rows.group_by("category")
        .agg(pl.len().alias("rows"), pl.col("ghost").sum().alias("ghosts"))
        .join(
            memories.group_by("category").agg(
                pl.len().alias("memories"), pl.col("always").sum().alias("ghost_memories")
            ),
            on="category",
        )
        .sort("category")
    )
    total = counted.select(pl.lit("all").alias("category"), pl.exclude("category").sum())
    return (
        pl.concat([counted.with_columns(pl.col("category").replace("", "none")), total])
        .with_columns(
            pl.lit(stage).alias("stage"),
            pl.when(pl.col("rows") > 0)
            .then(pl.col("ghosts") / pl.col("rows"))
            .otherwise(0.0)
            .alias("share"),
        )
        .select(pl.col(name).cast(dtype) for name, dtype in GHOSTS.items())
    )
