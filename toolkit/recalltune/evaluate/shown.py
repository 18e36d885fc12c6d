"""What one config shows for every query: the lists, their account by layer, and the hits.

In: candidates, a config. Out: lists of candidates, best first; no judgement is read here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recalltune.candidates.table import Candidates
from recalltune.pipeline.config import RankingConfig
from recalltune.pipeline.run import check_setup, profile_groups, start, steps, with_profile
from recalltune.pipeline.stage import FilterStage, Stage

__all__ = ["Shown", "rank", "shown_hits"]


@dataclass(frozen=True, eq=False)
class Shown:
    """The list each query is shown, and the score of every candidate."""

    order: NDArray[np.intp]
    """shape (Q, K), candidate columns best first, -1 after the last."""
    score: NDArray[np.float64]
    """shape (Q, C)."""
    accounts: pl.DataFrame
    """query_id, layer, candidates, picked, dropped, oversize, tokens, cap, floor."""
    filtered: Mapping[str, int]
    """Name of each filter stage -> rows it dropped, over all queries."""


def rank(
    candidates: Candidates,
    config: RankingConfig,
    *,
    without: Callable[[Stage], bool] | None = None,
) -> Shown:
    """Rank every query; a case's profile selects the config's profile of that name.

    Parameters
    ----------
    candidates
        Made for ``config``.
    config
        The ranking.
    without
        Stages for which it is true are passed over, to tell what they change.

    Raises
    ------
    ContractError
        If the candidates were made with other admit or arms models.
    ParameterError
        If a case names a profile the config does not have.
    """
    check_setup(candidates, config)
    shape = candidates.span.shape
    lists: list[tuple[list[int], NDArray[np.intp]]] = []
    score = np.zeros(shape)
    filtered = {stage.name: 0 for stage in config.stages if isinstance(stage, FilterStage)}
    for profile, rows in profile_groups(candidates, config).items():
        part = candidates.take(rows)
        state = start(part)
        for stage, _, after in steps(part, with_profile(config, profile), without=without):
            if stage.name in filtered:
                filtered[stage.name] += int(state.alive.sum() - after.alive.sum())
            state = after
        lists.append((rows, state.listed()))
        score[rows] = state.score
    order = np.full((shape[0], max((o.shape[1] for _, o in lists), default=0)), -1, dtype=np.intp)
    for rows, listed in lists:
        order[np.asarray(rows, dtype=np.intp), : listed.shape[1]] = listed
    return Shown(order, score, _accounts(candidates, config, order), filtered)


def _accounts(
    candidates: Candidates, config: RankingConfig, order: NDArray[np.intp]
) -> pl.DataFrame:
    """Count candidates and places per query and layer, whatever selection did it."""
    select = next((stage for stage in config.stages if stage.kind == "select"), None)
    layer = candidates.feature("layer")
    tokens = candidates.feature("tokens")
    shown = np.zeros(candidates.span.shape, dtype=np.bool_)
    rows, places = np.nonzero(order >= 0)
    shown[rows, order[rows, places]] = True
    frames = []
    # A layer of the config has a row even if empty; another only where a query sees some of it, so
    # that nothing later, hidden or foreign decides which rows there are.
    for name in sorted({*config.layers, *candidates.codes["layer"]}):
        mine = candidates.valid & (layer == candidates.code("layer", name))
        picked = mine & shown
        budget = None if select is None else select.budget_tokens
        oversize = mine & (tokens > budget) if budget else np.zeros_like(mine)
        frames.append(
            pl.DataFrame(
                {
                    "query_id": candidates.queries["query_id"],
                    "layer": [name] * candidates.queries.height,
                    "candidates": mine.sum(axis=1),
                    "picked": picked.sum(axis=1),
                    "dropped": (mine & ~shown).sum(axis=1),
                    "oversize": oversize.sum(axis=1),
                    "tokens": np.where(picked, tokens, 0).sum(axis=1).astype(np.int64),
                }
            ).with_columns(
                pl.lit(None if select is None else select.caps.get(name), pl.Int64).alias("cap"),
                pl.lit(0 if select is None else select.floors.get(name, 0), pl.Int64).alias(
                    "floor"
                ),
            )
        )
    seen = (pl.col("candidates") > 0) | pl.col("layer").is_in(config.layers)
    return pl.concat(frames).filter(seen).sort("query_id", "layer")


def shown_hits(candidates: Candidates, shown: Shown) -> pl.DataFrame:
    """Return query_id, rank, memory_id, score, layer, superseded, tokens of everything shown."""
    rows, places = np.nonzero(shown.order >= 0)
    columns = shown.order[rows, places]
    span = candidates.span[rows, columns]
    layers = np.array(candidates.codes["layer"], dtype=object)
    return pl.DataFrame(
        {
            "query_id": candidates.queries["query_id"].gather(rows),
            "rank": (places + 1).astype(np.int64),
            "memory_id": candidates.spans["memory_id"].gather(span),
            "score": shown.score[rows, columns],
            "layer": layers[candidates.feature("layer")[rows, columns].astype(np.intp)].tolist(),
            "superseded": candidates.feature("superseded")[rows, columns] > 0,
            "tokens": candidates.feature("tokens")[rows, columns].astype(np.int64),
        }
    )
