"""Golden groups of memory-lancedb-pro, which RecallNest descends from.

In: the input of one golden case and a config. Out: what its stage makes of it. A parameter of the
case that is the published one is left to the config, so that a config with another value differs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from recalltune.pipeline.config import RankingConfig
from recalltune.pipeline.stages import (
    CompositeDecay,
    HalfFloorDecay,
    Importance,
    LanceDbFusion,
    Length,
)
from recalltune.pipeline.stages.recallnest_fade import TIERS
from recalltune.production.golden.group import Case, Golden
from recalltune.production.golden.one_query import one_query, stage_of
from recalltune.production.golden.recallnest_scores import moved
from recalltune.rank.tiers import composite_tier_move

__all__ = ["GROUPS"]

_PUBLISHED = {
    "dense_weight": 0.7,
    "lexical_weight": 0.3,
    "anchor_chars": 500,
    "mean_life_days": 60,
    "reinforcement": 0.5,
    "max_multiple": 3,
}


def _as_asked(stage: Any, **values: float) -> Any:
    others = {name: value for name, value in values.items() if value != _PUBLISHED[name]}
    return stage.with_(**others) if others else stage


def fusion(case: Case, config: RankingConfig) -> float:
    """Score of one row after the fusion."""
    stage = _as_asked(
        stage_of(config, LanceDbFusion),
        dense_weight=case["vectorWeight"],
        lexical_weight=case["bm25Weight"],
    )
    row = {
        "dense_score": case["vector"],
        "dense_rank": None if case["vector"] is None else 1.0,
        "lexical_score": case["bm25"],
        "lexical_rank": None if case["bm25"] is None else 1.0,
    }
    # The recorded scores are calibrated ones.
    return moved(stage.with_(calibration={}), row, 0.0)


def engine(case: Case, config: RankingConfig) -> dict[str, Any]:
    """Terms of the decay engine, a score after it, and the tier it moves a memory to."""
    stage = stage_of(config, CompositeDecay)
    count, tier = case["accessCount"], case["tier"]
    row = {
        "age_days": case["createdDaysAgo"],
        "days_since_access": case["accessedDaysAgo"] if count else None,
        "access_count": count,
        "salience": case["importance"],
        "confidence": case["confidence"],
        "tier": tier,
        "temporal_type": case["temporalType"],
    }
    found = stage.lifecycle(one_query([row]))
    composite = float(found.composite[0, 0])
    moves_to = composite_tier_move(
        TIERS.index(tier), composite, count, case["importance"], case["createdDaysAgo"]
    )
    return {
        "recency": float(found.recency[0, 0]),
        "frequency": float(found.frequency[0, 0]),
        "intrinsic": float(found.intrinsic[0, 0]),
        "composite": composite,
        "boosted_0_8": moved(stage, row, 0.8),
        "tierChange": None if TIERS[int(moves_to)] == tier else TIERS[int(moves_to)],
    }


def importance(case: Case, config: RankingConfig) -> float:
    """Score after importance."""
    return moved(stage_of(config, Importance), {"salience": case["importance"]}, case["score"])


def length(case: Case, config: RankingConfig) -> float:
    """Score after the length normalisation."""
    stage = _as_asked(stage_of(config, Length), anchor_chars=case["anchor"])
    return moved(stage, {"utf16_chars": case["charLen"]}, case["score"])


def decay(case: Case, config: RankingConfig) -> float:
    """Score after the decay half of which never fades."""
    stage = _as_asked(stage_of(config, HalfFloorDecay), mean_life_days=case["halfLifeDays"])
    return moved(stage, {"age_days": case["ageDays"]}, case["score"])


def stretched(case: Case, config: RankingConfig) -> float:
    """Mean life as use has stretched it."""
    stage = _as_asked(
        stage_of(config, HalfFloorDecay),
        mean_life_days=case["baseHalfLife"],
        reinforcement=case["reinforcementFactor"],
        max_multiple=case["maxMultiplier"],
    )
    row = {"access_count": case["accessCount"], "days_since_access": case["daysSinceAccess"]}
    return float(stage.mean_life(one_query([row]))[0, 0])


GROUPS: Mapping[str, Golden] = {
    "ancestor_fusion": Golden(fusion, preset="lancedb-pro"),
    "ancestor_decay_engine": Golden(engine, preset="lancedb-pro"),
    "ancestor_length_norm": Golden(length, preset="lancedb-pro"),
    "ancestor_importance": Golden(importance, preset="lancedb-pro-plain"),
    "ancestor_time_decay": Golden(decay, preset="lancedb-pro-plain"),
    "ancestor_access_half_life": Golden(stretched, preset="lancedb-pro-plain"),
}
