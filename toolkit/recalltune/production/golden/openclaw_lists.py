"""OpenClaw's golden groups of orders and selections, and of whole merges.

In: one golden case and a config. Out: what the config's stages make of its inputs. Rows stand in
the order upstream gets them; those of a merge by path, its last tie.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from recalltune.candidates.table import Candidates
from recalltune.pipeline.config import RankingConfig
from recalltune.pipeline.stage import State
from recalltune.pipeline.stages import (
    OpenClawDecay,
    OpenClawFuse,
    OpenClawImportance,
    OpenClawMinimum,
    OpenClawRank,
    Select,
)
from recalltune.pipeline.stages.openclaw import text_score, vector_score
from recalltune.production.golden.group import Case
from recalltune.production.golden.one_query import applied, one_query, stage_of
from recalltune.production.golden.openclaw_scores import bm25_of

__all__ = ["merge", "rerank", "select"]


def rerank(case: Case, config: RankingConfig) -> list[str]:
    """Ids in their order after MMR."""
    items, lambda_ = case["items"], min(max(case["lambda"], 0.0), 1.0)
    table = one_query([{"memory_id": item["id"], "text": item["snippet"]} for item in items])
    stage = stage_of(config, OpenClawRank).with_(lambda_=float(lambda_))
    return _ids(table, applied([stage], table, [item["score"] for item in items])[-1])


def merge(case: Case, config: RankingConfig) -> list[dict[str, Any]]:
    """Rows in their order, with the scores that are shown."""
    fade, vary = case.get("temporalDecay", {}), case.get("mmr", {})
    fades = fade.get("enabled", False)
    stages = [
        stage_of(config, OpenClawFuse).with_(
            vector_weight=float(case["vectorWeight"]),
            text_weight=float(case["textWeight"]),
            exact_tie="halved" if fades else "content",
        ),
        stage_of(config, OpenClawDecay).with_(
            enabled=fades, half_life_days=float(fade.get("halfLifeDays", 30))
        ),
        stage_of(config, OpenClawImportance),
        stage_of(config, OpenClawRank).with_(
            diversify=vary.get("enabled", False), lambda_=float(vary.get("lambda", 0.7))
        ),
    ]
    rows = _merged(case)
    table = one_query(rows, asked_at=case["nowMs"] * 1000 if "nowMs" in case else None)
    state = applied(stages, table, [0.0] * len(rows))[-1]
    vector, text = vector_score(table), text_score(table)
    return [
        {
            "path": rows[column]["path"],
            "score": float(state.score[0, column]),
            "vector_score": float(vector[0, column]),
            "text_score": float(text[0, column]),
        }
        for column in _shown(state)
    ]


def _merged(case: Case) -> list[dict[str, Any]]:
    """Rows of both lists by id, in the order of their paths."""
    absent = dict.fromkeys(
        ("dense_score", "dense_rank", "lexical_score", "lexical_rank", "ranking_score")
    )
    rows: dict[str, dict[str, Any]] = {}
    for place, hit in enumerate(case["vector"], start=1):
        rows[hit["id"]] = absent | _of_file(hit)
        rows[hit["id"]] |= {"dense_score": hit["vectorScore"], "dense_rank": float(place)}
    for place, hit in enumerate(case["keyword"], start=1):
        text = hit["textScore"]
        row = rows.setdefault(hit["id"], absent | _of_file(hit))
        ranking = hit.get("rankingScore", text)
        row["text"] = hit["snippet"] or row["text"]
        row |= {"lexical_score": bm25_of(text), "lexical_rank": float(place)}
        row |= {"ranking_score": ranking, "path_score": hit.get("pathScore")}
        row["exact_tier"] = hit.get("exactPathSpecificity", 0)
        row["like_score"] = ranking if hit.get("hasBodyMatch") and text == 0 else None
        for key, value in (("importance", "importance"), ("project", "projectKey")):
            row[key] = hit.get(value) if row[key] is None else row[key]
    return sorted(rows.values(), key=lambda row: row["path"])


def _of_file(hit: Case) -> dict[str, Any]:
    return {
        "path": hit["path"],
        "text": hit["snippet"],
        "importance": hit.get("importance"),
        "project": hit.get("projectKey"),
        "exact_tier": hit.get("exactPathSpecificity", 0),
        "path_score": None,
        "like_score": None,
    }


def select(case: Case, config: RankingConfig) -> list[str]:
    """Ids of what is selected from a list that is ordered already."""
    merged, by_words = case["merged"], set(case["keyword_ids"])
    table = one_query(
        [
            {
                "memory_id": row["id"],
                "dense_score": row["vector_score"],
                "dense_rank": float(place) if row["vector_score"] else None,
                "lexical_rank": float(place) if row["id"] in by_words else None,
            }
            for place, row in enumerate(merged, start=1)
        ]
    )
    state = State(
        score=np.array([[float(row["score"]) for row in merged]]),
        alive=table.valid,
        order=np.arange(len(merged))[None, :],
    )
    stages = [
        stage_of(config, OpenClawMinimum).with_(min_score=float(case["min_score"])),
        stage_of(config, Select).with_(top_k=case["max_results"]),
    ]
    for stage in stages:
        state = stage.apply(state, table)
    return _ids(table, state)


def _ids(table: Candidates, state: State) -> list[str]:
    return [table.memory_id(0, column) for column in _shown(state)]


def _shown(state: State) -> Sequence[int]:
    return [int(column) for column in state.listed()[0] if column >= 0]
