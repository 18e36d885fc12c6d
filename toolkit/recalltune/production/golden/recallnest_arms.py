"""RecallNest's golden groups of what comes before its chain: gate, scope, fusion, overlap, rerank.

In: the input of one golden case and a config. Out: what its stage makes of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from recalltune.candidates.world import in_scope
from recalltune.pipeline.config import RankingConfig
from recalltune.pipeline.run import with_profile
from recalltune.pipeline.stages import (
    AnchorBoost,
    ExactTokens,
    LightRerank,
    RecallNestFusion,
    SkipTrivial,
    ViewBlend,
)
from recalltune.pipeline.stages.recallnest_keep import count_words
from recalltune.production.golden.group import Case
from recalltune.production.golden.one_query import applied, one_query, stage_of
from recalltune.production.golden.recallnest_scores import moved

__all__ = ["LONG", "SHORT", "fused", "fused_lists", "gates", "overlap", "rerank", "scope", "views"]

LONG, SHORT = "tune decay params right now", "tune decay params now"
"""Queries of five and of four counted words: the shortest long one and the longest short one."""

_PROFILES = {(0.8, 0.2): "writing", (0.55, 0.45): "debug", (0.5, 0.5): "fact-check"}
_DEFAULT = (0.7, 0.3)


def fused(case: Case, config: RankingConfig) -> float:
    """Score of one row after the fusion."""
    row = _arms(case["vector"], case["bm25"]) | {"graph_score": case["graph"]}
    table = one_query([row], text=SHORT if case["shortQuery"] else LONG)
    return float(applied([_fusion(case, config)], table, [0.0])[-1].score[0, 0])


def fused_lists(case: Case, config: RankingConfig) -> list[list[Any]]:
    """Rows in order with their scores, after the fusion of two lists."""
    dense, lexical = case["vector"], case["bm25"]
    ids = [*dense, *(name for name in lexical if name not in dense)]
    rows = [{**_arms(dense.get(name), lexical.get(name)), "memory_id": name} for name in ids]
    table = one_query(rows, text=SHORT if case["shortQuery"] else LONG)
    state = applied([_fusion(case, config)], table, [0.0] * len(rows))[-1]
    return [[ids[at], float(state.score[0, at])] for at in state.listed()[0]]


def _arms(dense: float | None, lexical: float | None) -> dict[str, float | None]:
    return {
        "dense_score": dense,
        "dense_rank": None if dense is None else 1.0,
        "lexical_score": lexical,
        "lexical_rank": None if lexical is None else 1.0,
    }


def _fusion(case: Case, config: RankingConfig) -> RecallNestFusion:
    """The fusion of the profile that has the case's weights, else with these weights."""
    weights = case["vectorWeight"], case["bm25Weight"]
    stage = stage_of(with_profile(config, _PROFILES.get(weights)), RecallNestFusion)
    if weights != _DEFAULT and weights not in _PROFILES:
        stage = stage.with_(dense_weight=weights[0], lexical_weight=weights[1])
    # The recorded scores are calibrated ones.
    return stage.with_(calibration={})  # type: ignore[no-any-return]


def rerank(case: Case, config: RankingConfig) -> float:
    """Score after the cosine is blended in."""
    query, vector = np.array(case["query"]), np.array(case["vector"])
    cosine = query @ vector / (np.linalg.norm(query) * np.linalg.norm(vector))
    row = {"dense_score": min(float(cosine), 1.0)}
    return moved(stage_of(config, LightRerank), row, case["score"])


def overlap(case: Case, config: RankingConfig) -> dict[str, float]:
    """Counted words of a query, and its overlap with an anchor."""
    table = one_query([{"anchor": case["anchor"]}], text=case["query"])
    found = stage_of(config, AnchorBoost).overlap(table)
    return {"queryTokens": count_words(case["query"]), "overlap": float(found[0, 0])}


def views(case: Case, config: RankingConfig) -> float:
    """Score after the views are blended in."""
    row = {"abstract_score": case["l0"], "overview_score": case["l1"]}
    text = " ".join(f"word{number}" for number in range(case["queryTokens"]))
    state = applied([stage_of(config, ViewBlend)], one_query([row], text=text), [case["main"]])[-1]
    return float(state.score[0, 0])


def scope(case: Case, config: RankingConfig) -> int:
    """1 where a query in the scope filter searches a row's scope."""
    del config
    asked = next(iter(case["filter"]), None)
    return int(in_scope(np.array([case["rowScope"]]), asked, case["mode"])[0])


def gates(case: Case, config: RankingConfig) -> dict[str, int]:
    """Whether a query is answered with nothing; whether it gets keyword matches put first."""
    rows = [_arms(0.9, None), _arms(None, 9.0)]
    table = one_query(rows, text=case["query"])
    asked = applied([stage_of(config, SkipTrivial)], table, [0.9, 0.0])[-1]
    # The second row is one the list does not hold.
    before = applied([], table, [0.9, 0.0])[0].then(alive=np.array([[True, False]]))
    first = stage_of(config, ExactTokens).apply(before, table).listed()[0, 0]
    return {"skip": int(not asked.alive.any()), "exactToken": int(first == 1)}
