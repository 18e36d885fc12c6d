"""RecallNest's golden groups of what a memory is: feeling, tier moves, versions.

In: the input of one golden case and a config. Out: what our stage or primitive makes of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from recalltune.pipeline.config import RankingConfig
from recalltune.pipeline.stages import BestVersion, EmotionDecay
from recalltune.pipeline.stages.recallnest_fade import TIERS
from recalltune.production.golden.group import Case
from recalltune.production.golden.one_query import one_query, stage_of
from recalltune.rank.tiers import core_minimum, tier_move

__all__ = ["core", "emotion", "move", "version"]


def emotion(case: Case, config: RankingConfig) -> dict[str, float]:
    """Half-life a feeling gives, and the bonus of arousal."""
    stage = stage_of(config, EmotionDecay).with_(half_life_days=case["halfLifeDays"])
    table = one_query([{"valence": case["valence"], "arousal": case["arousal"]}])
    return {
        "halfLife": float(stage.half_life(table)[0, 0]),
        "arousalBoost": float(stage.lift(table)[0, 0]),
    }


def move(case: Case, config: RankingConfig) -> str:
    """Tier after one evaluation."""
    del config
    days = case["daysSinceAccess"]
    moved = tier_move(
        TIERS.index(case["tier"]),
        case["accessCount"],
        case["importance"],
        np.nan if days is None else days,
    )
    return TIERS[int(moved)]


def core(case: Case, config: RankingConfig) -> dict[str, Any]:
    """What it takes to become core among so many."""
    del config
    accesses, importance = core_minimum(case["coreCount"])
    return {"coreAccessMin": accesses, "coreImportanceMin": importance}


def version(case: Case, config: RankingConfig) -> float:
    """How much a version counts."""
    row = {
        "salience": case["importance"],
        "confidence": case["confidence"],
        "access_count": case["accessCount"],
    }
    return float(stage_of(config, BestVersion).rank(one_query([row]))[0, 0])
