"""RecallNest's golden groups of single formulas, answered by the stages that hold them.

In: the input of one golden case and a config. Out: what its stage makes of it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from recalltune.pipeline.config import RankingConfig
from recalltune.pipeline.stages import (
    AccessBoost,
    Asset,
    Boundary,
    Confidence,
    EvolutionBlend,
    FrequencyBoost,
    HotnessBlend,
    Importance,
    Length,
    RecallNestFusion,
    RecencyBoost,
    TierDecay,
    WeightedSum,
)
from recalltune.pipeline.stages.recallnest_fade import TIERS
from recalltune.production.golden.group import Case
from recalltune.production.golden.one_query import applied, features_of, one_query, stage_of
from recalltune.rank.tokens import estimate_tokens

__all__ = [
    "access",
    "asset",
    "boundary",
    "confidence",
    "dense",
    "evolution",
    "exempt",
    "frequency",
    "half_life",
    "hotness",
    "hotness_blend",
    "importance",
    "length",
    "lexical",
    "moved",
    "recency",
    "tier",
    "time_decay",
    "tokens",
    "weibull",
    "worth",
]


def moved(stage: Any, row: Case, score: float) -> float:
    """Return the score of one row after one stage."""
    return float(applied([stage], one_query([row]), [score])[-1].score[0, 0])


def weibull(case: Case, config: RankingConfig) -> float:
    """Weight of a memory by age and tier."""
    if case["halfLifeDays"] <= 0:
        return 1.0
    stage = stage_of(config, TierDecay).with_(half_life_days=case["halfLifeDays"])
    row = {"age_days": max(case["ageDays"], 0.0), "tier": case["tier"]}
    return moved(stage, row, 1.0)


def recency(case: Case, config: RankingConfig) -> float:
    """Score after the recency bonus."""
    if case["halfLifeDays"] <= 0:
        return float(case["score"])
    stage = stage_of(config, RecencyBoost).with_(
        weight=case["weight"], mean_life_days=case["halfLifeDays"]
    )
    age = case["ageDays"]
    row = {"age_days": max(age, 0.0), "days_ahead": max(-age, 0.0)}
    return moved(stage, row, case["score"])


def importance(case: Case, config: RankingConfig) -> float:
    """Score after importance."""
    stage = stage_of(config, Importance)
    importance = case["importance"]
    excess = 1.0
    if importance is not None and importance > 1:
        excess, importance = stage.base + (1 - stage.base) * importance, 1.0
    return moved(stage, {"salience": importance}, case["score"] * excess)


def confidence(case: Case, config: RankingConfig) -> dict[str, float]:
    """Score after confidence, for both ways production stores it."""
    row = {"confidence": case["confidence"]}
    return dict.fromkeys(("flat", "obj"), moved(stage_of(config, Confidence), row, case["score"]))


def boundary(case: Case, config: RankingConfig) -> float:
    """Score after the boundary factor."""
    return moved(stage_of(config, Boundary), case, case["score"])


def asset(case: Case, config: RankingConfig) -> float:
    """Score after the asset factor."""
    scope = case["scope"]
    if case["source"] == "asset":
        kind = case["assetType"] or "pinned-memory"
        scope = {"memory-brief": "asset:brief:", "pinned-memory": "asset:"}.get(kind, "")
    return moved(stage_of(config, Asset), {"scope": scope}, case["score"])


def length(case: Case, config: RankingConfig) -> float:
    """Score after the length normalisation."""
    if case["anchor"] <= 0:
        return float(case["score"])
    stage = stage_of(config, Length).with_(anchor_chars=case["anchor"])
    return moved(stage, {"utf16_chars": case["charLen"]}, case["score"])


def half_life(case: Case, config: RankingConfig) -> float:
    """Half-life as use has stretched it."""
    count, days = case["accessCount"], case["daysSinceAccess"]
    stage = stage_of(config, TierDecay).with_(half_life_days=case["baseHalfLife"])
    if days is not None and days < 0:
        count, days = count * math.exp(-days / stage.access_mean_life_days), 0.0
    table = one_query([{"access_count": count, "days_since_access": days}])
    return float(stage.half_life(table)[0, 0])


def tier(case: Case, config: RankingConfig) -> str:
    """Tier a memory is in."""
    tier = case["explicitTier"]
    if "metadata" in case and case["metadata"] is None:
        tier = "peripheral"
    row = {"tier": tier, "salience": case["importance"], "access_count": case["accessCount"]}
    return TIERS[int(stage_of(config, TierDecay).tier(one_query([row]))[0, 0])]


def exempt(case: Case, config: RankingConfig) -> int:
    """1 where a memory never fades."""
    row = {
        "tier": case["tier"],
        "salience": case["imp"],
        "days_since_access": case["days"],
        "pinned": float(case["pinned"]),
        "category": case["cat"],
    }
    return int(stage_of(config, TierDecay).exempt(one_query([row]))[0, 0])


def time_decay(case: Case, config: RankingConfig) -> float:
    """Score after the time decay."""
    if case["halfLifeDays"] <= 0:
        return float(case["score"])
    stage = stage_of(config, TierDecay).with_(half_life_days=case["halfLifeDays"])
    return moved(stage, features_of(case), case["score"])


def worth(case: Case, config: RankingConfig) -> float:
    """What a memory is worth."""
    days = case["daysSinceAccess"]
    row = {
        "age_days": case["daysSinceValidFrom"],
        "access_count": case["accessCount"],
        "days_since_access": None if days is None else max(days, 0.0),
        "salience": min(case["importance"], 1.0),
    }
    return float(stage_of(config, EvolutionBlend).worth(one_query([row]))[0, 0])


def evolution(case: Case, config: RankingConfig) -> float:
    """Score after the evolution blend."""
    row = {
        "age_days": case["daysSinceValidFrom"],
        "access_count": case["evoAccessCount"],
        "days_since_access": case["daysSinceEvoAccess"],
        "salience": case["importance"],
        "category": case["category"],
    }
    return moved(stage_of(config, EvolutionBlend).with_(exempt_days=0.0), row, case["score"])


def access(case: Case, config: RankingConfig) -> float:
    """Score after the access bonus."""
    return moved(
        stage_of(config, AccessBoost), {"access_count": case["evoAccessCount"]}, case["score"]
    )


def hotness(case: Case, config: RankingConfig) -> float:
    """Hotness: the blend of weight 1 into a score of 0."""
    return hotness_blend({**case, "alpha": 1.0, "score": 0.0}, config)


def hotness_blend(case: Case, config: RankingConfig) -> float:
    """Score after the hotness blend."""
    stage = stage_of(config, HotnessBlend).with_(weight=min(case["alpha"], 1.0))
    row = {
        "access_count": case["accessCount"],
        "days_since_access": max(case["daysSinceAccess"], 0.0),
    }
    return moved(stage, row, case["score"])


def frequency(case: Case, config: RankingConfig) -> dict[str, float]:
    """Multiplier, and score after it."""
    stage = stage_of(config, FrequencyBoost)
    row = {"access_count": case["hitCount"], "days_since_access": case["daysSinceHit"]}
    scale = np.asarray(stage.affine(one_query([row])).scale)
    return {"multiplier": float(scale[0, 0]), "score": moved(stage, row, case["score"])}


def lexical(case: Case, config: RankingConfig) -> float:
    """Calibrated score of the lexical arm."""
    row = {"lexical_score": max(case["raw"], 0.0), "lexical_rank": 1.0}
    stage = stage_of(config, WeightedSum).with_(calibration={"lexical": "logistic"})
    return moved(stage, row, 0.0)


def dense(case: Case, config: RankingConfig) -> float:
    """Calibrated score of the dense arm."""
    row = {"dense_score": 1.0 - case["cosineDistance"], "dense_rank": 1.0}
    return moved(stage_of(config, RecallNestFusion), row, 0.0)


def tokens(case: Case, config: RankingConfig) -> int:
    """Estimated model tokens of a text."""
    del config
    return estimate_tokens(case["text"])
