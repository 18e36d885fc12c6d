"""RecallNest's golden groups of cuts and orders, and of whole retrievals.

In: the input of one golden case and a config. Out: what the config's stages make of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from recalltune.candidates.table import Candidates
from recalltune.pipeline.address import set_many
from recalltune.pipeline.config import RankingConfig
from recalltune.pipeline.run import run, with_profile
from recalltune.pipeline.stage import State
from recalltune.pipeline.stages import (
    AccessBoost,
    Active,
    Asset,
    Boundary,
    CategoryMinimum,
    Confidence,
    Defer,
    EvolutionBlend,
    HotnessBlend,
    Importance,
    Interference,
    Length,
    RecencyBoost,
    Select,
    SourceDiversity,
    TierDecay,
)
from recalltune.production.golden.group import Case
from recalltune.production.golden.one_query import (
    applied,
    features_of,
    one_query,
    stage_of,
    status_of,
)
from recalltune.production.golden.recallnest_arms import LONG, SHORT

__all__ = ["active", "chain", "defer", "diversity", "interference", "minimum", "retrieve"]


def defer(case: Case, config: RankingConfig) -> list[int]:
    """Order after the deferral."""
    table = one_query([{}] * len(case["scores"]), vectors=case["vectors"])
    stage = stage_of(config, Defer).with_(threshold=case["threshold"])
    return _shown(applied([stage], table, case["scores"])[-1])


def interference(case: Case, config: RankingConfig) -> list[list[Any]]:
    """Rows left with their scores, the weak ones dropped as production's code does."""
    table = one_query([{}] * len(case["scores"]), vectors=case["vectors"])
    stage = stage_of(config, Interference).with_(drop_weaker=True)
    state = applied([stage], table, case["scores"])[-1]
    return [[at, float(state.score[0, at])] for at in _shown(state)]


def _shown(state: State) -> list[int]:
    return [int(column) for column in state.listed()[0] if column >= 0]


def diversity(case: Case, config: RankingConfig) -> list[Any]:
    """Rows shown, and how many were left out."""
    table = one_query([{"scope": scope} for scope in case["scopes"]])
    stages = [
        stage_of(config, SourceDiversity).with_(places=case["limit"]),
        stage_of(config, Select).with_(top_k=case["limit"]),
    ]
    before, *_, after = applied(stages, table, case["scores"])
    return [_shown(after), len(_shown(before)) - len(_shown(after))]


def minimum(case: Case, config: RankingConfig) -> dict[str, float]:
    """Minimum of a category, for a long and for a short query."""
    stage = stage_of(with_profile(config, case["profile"]), CategoryMinimum)
    row = {"category": case["category"]}
    texts = {"normal": LONG, "short": SHORT}
    return {
        name: float(stage.minima(one_query([row], text=text))[0, 0]) for name, text in texts.items()
    }


def active(case: Case, config: RankingConfig) -> int:
    """1 where an entry of that status stays."""
    stage = stage_of(config, Active)
    table = one_query([status_of(case["status"])])
    return int(applied([stage], table, [1.0])[-1].alive[0, 0])


_CHAIN: Mapping[type, str] = {
    RecencyBoost: "recency",
    Importance: "importance",
    Confidence: "confidence",
    Boundary: "boundary",
    Asset: "asset",
    Length: "length",
    TierDecay: "timeDecay",
    EvolutionBlend: "evolution",
    AccessBoost: "accessCount",
    HotnessBlend: "hotness",
}


def chain(case: Case, config: RankingConfig) -> dict[str, Any]:
    """Score after every stage between fusion and cuts."""
    row = features_of(case)
    tables = {
        "accessCount": one_query([row]),
        "evoAccessCount": one_query([{**row, "access_count": case["evoAccessCount"]}]),
    }
    score, after = case["score"], {}
    for stage in with_profile(config, case["profile"]).stages:
        if type(stage) in _CHAIN:
            second = isinstance(stage, EvolutionBlend | AccessBoost)
            table = tables["evoAccessCount" if second else "accessCount"]
            score = float(applied([stage], table, [score])[-1].score[0, 0])
            after[_CHAIN[type(stage)]] = score
    after.pop("hotness", None)
    return {"stages": after, "final": score}


def retrieve(case: Case, config: RankingConfig) -> list[Any]:
    """Rows shown with their scores, and how many the last cut left out."""
    limit = case["limit"]
    config = set_many(
        with_profile(config, case["profile"]),
        {"source_diversity.places": limit, "select.top_k": limit},
    )
    table = _asked(case)
    state = run(table, config)
    shown = [[table.memory_id(0, at), float(state.score[0, at])] for at in _shown(state)]
    return [shown, int(state.alive.sum()) - len(shown)]


def _asked(case: Case) -> Candidates:
    vectors = np.array([entry["vector"] for entry in case["entries"]])
    query = np.array(case["queryVector"])
    cosine = vectors @ query / (np.linalg.norm(vectors, axis=1) * np.linalg.norm(query))
    ranks = np.empty(len(cosine))
    ranks[np.argsort(-cosine, kind="stable")] = np.arange(1, len(cosine) + 1)
    rows = [
        {**features_of(entry), "dense_score": float(score), "dense_rank": float(rank)}
        for entry, score, rank in zip(case["entries"], cosine, ranks, strict=True)
    ]
    return one_query(rows, text=case["query"], vectors=vectors.tolist())
