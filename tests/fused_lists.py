"""Lists of ids, ranked by a config: the fusion part of a run without a database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from recalltune.candidates.table import QUERY_COLUMNS, Candidates
from recalltune.errors import checked
from recalltune.pipeline.config import RankingConfig
from recalltune.pipeline.run import run
from recalltune.rank import ranks_of_lists

ARMS = {"dense": {}, "lexical": {}}


def config(*stages: Mapping[str, Any], arms: Mapping[str, Any] = ARMS) -> RankingConfig:
    """A config of these stages; RRF with its published constant where none is given."""
    listed = [dict(stage) for stage in stages] or [{"kind": "rrf"}]
    return checked(RankingConfig, {"layers": ["log"], "arms": dict(arms), "stages": listed})


def table(
    lists: Mapping[str, Sequence[str]],
    *,
    memory_of: Mapping[str, str] | None = None,
    scores: Mapping[str, Mapping[str, float]] | None = None,
    **more: Any,
) -> Candidates:
    """Candidates of one query, out of what each arm returned; scores fall with the rank."""
    ids, ranks = ranks_of_lists(lists, memory_of=memory_of)
    shape = (1, len(ids))
    features = {"layer": np.zeros(shape), "tokens": np.ones(shape)}
    for arm, row in zip(sorted(lists), ranks, strict=True):
        known = (scores or {}).get(arm)
        score = 1 / row if known is None else np.array([known.get(one, np.nan) for one in ids])
        features |= {f"{arm}_rank": row[None], f"{arm}_score": np.nan_to_num(score)[None]}
    query = dict.fromkeys(QUERY_COLUMNS) | {"query_id": "q", "asked_at": 0}
    return Candidates(
        queries=pl.DataFrame([query], schema=dict(QUERY_COLUMNS)),
        spans=pl.DataFrame({"memory_id": ids}, schema={"memory_id": pl.String}),
        span=np.arange(len(ids))[None],
        features=features | more.pop("features", {}),
        codes={"layer": ("log",)},
        **more,
    )


def shown(candidates: Candidates, setting: RankingConfig) -> dict[str, float]:
    """What is shown, best first: id -> score."""
    state = run(candidates, setting)
    columns = [int(column) for column in state.listed()[0] if column >= 0]
    return {candidates.memory_id(0, column): float(state.score[0, column]) for column in columns}
