"""explain: what every stage did to every hit, so that replaying it gives the score again."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recalltune.candidates.table import Candidates
from recalltune.pipeline.config import RankingConfig
from recalltune.pipeline.run import check_setup, start, steps, with_profile
from recalltune.pipeline.stage import Affine, FilterStage

__all__ = ["EVIDENCE_SCHEMA", "explain", "replay_evidence"]

EVIDENCE_SCHEMA = {
    "query_id": pl.String,
    "memory_id": pl.String,
    "step": pl.Int64,
    "stage": pl.String,
    "scale": pl.Float64,
    "shift": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "before": pl.Float64,
    "after": pl.Float64,
    "needs": pl.Float64,
    "alive": pl.Boolean,
    "rank": pl.Int64,
}


def explain(candidates: Candidates, config: RankingConfig, query_id: str) -> pl.DataFrame:
    """Return one row per (candidate, stage): before * scale + shift, clipped, is after.

    Columns ``scale``, ``shift``, ``low``, ``high`` are null where a stage moves no score; where a
    list stage lowers some, ``scale`` is the factor. ``needs`` is the score a stage asks of the row,
    null where it asks for none. ``alive`` says whether the row is still in the
    list after the stage and ``rank`` where it stands, null when it is out.

    Raises
    ------
    ParameterError
        If the query is unknown.
    """
    check_setup(candidates, config)
    one = candidates.take([candidates.position(query_id)])
    config = with_profile(config, one.queries["profile"][0])
    columns = np.flatnonzero(one.valid[0])
    ids = [one.memory_id(0, int(column)) for column in columns]
    frames = []
    before = start(one).score[0]
    for step, (stage, operands, state) in enumerate(steps(one, config)):
        listed = state.listed()[0]
        places = np.full(one.span.shape[1], -1, dtype=np.int64)
        shown = listed[listed >= 0]
        places[shown] = np.arange(1, shown.size + 1)
        rank = places[columns]
        moved = _moved(before, state.score[0]) if operands is None else operands
        scale = np.broadcast_to(moved.scale, one.span.shape)[0]
        shift = np.broadcast_to(moved.shift, one.span.shape)[0]
        low, high = moved.clamp or (None, None)
        minima = stage.minima(one) if isinstance(stage, FilterStage) else None
        frames.append(
            pl.DataFrame(
                {
                    "query_id": [query_id] * columns.size,
                    "memory_id": ids,
                    "step": [step] * columns.size,
                    "stage": [stage.name] * columns.size,
                    "scale": scale[columns],
                    "shift": shift[columns],
                    "low": [low] * columns.size,
                    "high": [high] * columns.size,
                    "before": before[columns],
                    "after": state.score[0][columns],
                    "needs": [None] * columns.size if minima is None else minima[0][columns],
                    "alive": rank > 0,
                    "rank": rank,
                },
                schema=EVIDENCE_SCHEMA,
            ).with_columns(
                pl.col("scale", "shift").fill_nan(None),
                pl.when(pl.col("rank") > 0).then("rank").alias("rank"),
            )
        )
        before = state.score[0]
    return pl.concat(frames).sort("memory_id", "step")


def _moved(before: NDArray[np.float64], after: NDArray[np.float64]) -> Affine:
    """What a stage that is no score stage multiplied scores by; nothing where it left them all."""
    if np.array_equal(before, after):
        return Affine(np.nan, np.nan)
    moved = (before != after) & (before != 0.0)
    factor = np.divide(after, before, out=np.ones_like(before), where=moved)
    return Affine(factor[np.newaxis], np.zeros((1, 1)))


def replay_evidence(evidence: pl.DataFrame) -> pl.DataFrame:
    """Return memory_id, score: the evidence applied step by step, from nothing else.

    Raises nothing; equality with the final ``after`` column is what a test checks.
    """
    scores: dict[str, float] = {}
    for row in evidence.sort("memory_id", "step").iter_rows(named=True):
        score = scores.get(row["memory_id"], 0.0)
        if row["scale"] is not None:
            score = score * row["scale"] + row["shift"]
            if row["low"] is not None:
                score = min(max(score, row["low"]), row["high"])
        scores[row["memory_id"]] = score
    return pl.DataFrame(
        {"memory_id": list(scores), "score": list(scores.values())},
        schema={"memory_id": pl.String, "score": pl.Float64},
    )
