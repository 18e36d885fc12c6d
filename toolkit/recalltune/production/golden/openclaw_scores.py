"""OpenClaw's golden groups of single formulas, answered by the stages that hold them.

In: one golden case, inputs and outputs in one mapping, and a config. Out: what its stage or
primitive makes of the inputs.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from recalltune.candidates.world import DAY_US
from recalltune.pipeline.config import RankingConfig
from recalltune.pipeline.stages import (
    Decay,
    OpenClawDecay,
    OpenClawFuse,
    OpenClawImportance,
    OpenClawRank,
)
from recalltune.pipeline.stages.openclaw import exact_tier, raised_score, text_score
from recalltune.production.golden.group import Case
from recalltune.production.golden.one_query import applied, one_query, stage_of
from recalltune.production.golden.recallnest_scores import moved
from recalltune.rank.dated_path import EVERGREEN, path_dates
from recalltune.rank.diversity import jaccard, mmr_objective
from recalltune.rank.keyword import fts_query, fts_rank_score, keyword_plan
from recalltune.rank.likeness import text_likeness
from recalltune.rank.token_estimates import utf16_units
from recalltune.rank.tokens import TOKENIZERS

__all__ = [
    "bm25_of",
    "boost",
    "date",
    "decay",
    "decay_by_source",
    "fts",
    "importance",
    "likeness",
    "objective",
    "path",
    "plan",
    "project",
    "rank",
    "tie",
    "timed",
    "weibull",
]


def bm25_of(text: float) -> float:
    """Return the BM25 whose score is the one given: t / (1 - t), and a huge one for 1."""
    return text / (1.0 - text) if text < 1.0 else 1e17


def rank(case: Case, config: RankingConfig) -> float:
    """Score of a rank of the full-text index; below 0 as the fusion calibrates BM25."""
    del config
    given = float(case["rank"])
    given = given if math.isfinite(given) else 999.0
    if given >= 0:
        return float(fts_rank_score(given))
    table = one_query([{"lexical_score": -given, "lexical_rank": 1.0}])
    return float(text_score(table)[0, 0])


def likeness(case: Case, config: RankingConfig) -> dict[str, float]:
    """Similarity of two texts, and the Jaccard index of their tokens."""
    tokenise = TOKENIZERS[stage_of(config, OpenClawRank).tokeniser]
    texts = [case["a"], case["b"]]
    return {
        "similarity": float(text_likeness(texts, tokenise=tokenise)[0, 1]),
        "raw_jaccard": float(jaccard([tokenise(text) for text in texts])[0, 1]),
    }


def importance(case: Case, config: RankingConfig) -> float:
    """Multiplier of an importance."""
    points = case["importance"]
    points = None if points is None else min(max(points, 1.0), 10.0)
    return moved(stage_of(config, OpenClawImportance), {"importance": points}, 1.0)


def project(case: Case, config: RankingConfig) -> float:
    """Multiplier of the projects of a memory."""
    stage = stage_of(config, OpenClawRank).with_(active_projects=tuple(case["active"]))
    return float(stage.project_factor(one_query([{"project": case["key"]}]))[0, 0])


def decay(case: Case, config: RankingConfig) -> float:
    """Score after decay, by the age alone."""
    stage = stage_of(config, OpenClawDecay)
    half_life = case["half_life_days"]
    stage = stage.with_(**({"half_life_days": half_life} if half_life > 0 else {"enabled": False}))
    return moved(stage, {"age_days": max(case["age_days"], 0.0)}, case["score"])


def date(case: Case, config: RankingConfig) -> dict[str, Any]:
    """Day a path is named after, and whether it never fades."""
    (kind,), days = path_dates([case["path"]], rule=stage_of(config, OpenClawDecay).paths)
    day = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=float(np.nan_to_num(days[0])))
    return {
        "date": None if np.isnan(days[0]) else day.date().isoformat(),
        "evergreen": kind == EVERGREEN,
    }


def decay_by_source(case: Case, config: RankingConfig) -> float:
    """Score after decay, by the date in the path or the recorded time of the file."""
    table = one_query(
        [{"path": case["path"], "age_days": case["age_days"]}], asked_at=case["now_ms"] * 1000
    )
    stage = stage_of(config, OpenClawDecay)
    return float(applied([stage], table, [case["score"]])[-1].score[0, 0])


def timed(group: Case) -> list[Case]:
    """Return the cases of `decay_by_source`, each with its now and the age of its file."""
    files = {**group["memory_mtimes"], **group["session_mtimes"]}
    now = group["now_ms"]

    def age(path: str) -> float | None:
        return (now - files[path]) * 1000 / DAY_US if path in files else None

    return [{**case, "now_ms": now, "age_days": age(case["path"])} for case in group["cases"]]


def path(case: Case, config: RankingConfig) -> int:
    """How exactly a query names a path."""
    del config
    row = {"path": case["path"], "lexical_rank": None}
    return int(exact_tier(one_query([row], text=case["query"]))[0, 0])


def tie(case: Case, config: RankingConfig) -> float:
    """Score of a row whose path the query names, from the score of its content."""
    stage = stage_of(config, OpenClawFuse).with_(vector_weight=1.0)
    row = {"exact_tier": 1.0, "lexical_rank": None}
    return moved(stage, {**row, "dense_score": case["content"], "dense_rank": 1.0}, 0.0)


def objective(case: Case, config: RankingConfig) -> float:
    """What one step of MMR maximises."""
    del config
    value = mmr_objective(case["relevance"], case["max_similarity"], lambda_=case["lambda"])
    return float(value)


def boost(case: Case, config: RankingConfig) -> float:
    """Keyword score raised by words in common with the text and the path."""
    del config
    row = {
        "text": case["text"],
        "path": case["path"],
        "lexical_score": bm25_of(case["fts"]),
        "lexical_rank": 1.0,
    }
    table = one_query([{**row, "utf16_chars": utf16_units(case["text"])}], text=case["query"])
    return float(raised_score(table)[0, 0])


def fts(case: Case, config: RankingConfig) -> str | None:
    """Match expression of a query."""
    del config
    return fts_query(case["query"])


def plan(case: Case, config: RankingConfig) -> dict[str, Any]:
    """What an index of trigrams is asked."""
    del config
    match, substrings = keyword_plan(case["query"])
    return {"matchQuery": match, "substringTerms": list(substrings)}


def weibull(case: Case, config: RankingConfig) -> float:
    """Multiplier of the proposed stretched curve, which the common stage has."""
    shape = case["beta"]
    shape = min(max(shape, 0.1), 5.0) if shape > 0 else 1.5
    stage = stage_of(config, Decay).with_(
        family="weibull", half_life_days=float(case["half_life_days"]), shape=shape
    )
    return moved(stage, {"age_days": case["age_days"]}, 1.0)
