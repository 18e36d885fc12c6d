"""Which golden group of RecallNest is answered by what, and what is translated on the way.

Inputs that production accepts and our checked parameters do not are translated by these answers
and nowhere else; `TRANSLATED` lists every one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from recalltune.pipeline.config import RankingConfig
from recalltune.production import golden_lists, golden_primitives, golden_scores
from recalltune.production.one_query import Case

__all__ = ["GROUPS", "TRANSLATED"]

GROUPS: Mapping[str, Callable[[Case, RankingConfig], Any]] = {
    "weibull_decay": golden_scores.weibull,
    "recency_boost": golden_scores.recency,
    "importance_weight": golden_scores.importance,
    "confidence_weight": golden_scores.confidence,
    "boundary_weight": golden_scores.boundary,
    "asset_type_weight": golden_scores.asset,
    "length_norm": golden_scores.length,
    "access_reinforced_half_life": golden_scores.half_life,
    "resolve_tier": golden_scores.tier,
    "decay_exempt": golden_scores.exempt,
    "time_decay_stage": golden_scores.time_decay,
    "evolution_decay_score": golden_scores.worth,
    "evolution_blend": golden_scores.evolution,
    "access_count_boost": golden_scores.access,
    "hotness": golden_scores.hotness,
    "hotness_blend": golden_scores.hotness_blend,
    "frequency_boost": golden_scores.frequency,
    "bm25_normalise": golden_scores.lexical,
    "vector_score": golden_scores.dense,
    "mmr_defer_order": golden_lists.defer,
    "source_diversity": golden_lists.diversity,
    "category_min_score": golden_lists.minimum,
    "active_filter": golden_lists.active,
    "shared_scoring_chain": golden_lists.chain,
    "retrieve_vector_end_to_end": golden_lists.retrieve,
    "token_estimate": golden_primitives.tokens,
    "ancestor_importance": golden_primitives.ancestor_importance,
    "ancestor_length_norm": golden_primitives.ancestor_length,
    "ancestor_time_decay": golden_primitives.ancestor_decay,
    "ancestor_access_half_life": golden_primitives.ancestor_half_life,
}
"""Group of the golden file -> what answers one of its cases; a group not named here is `later`."""

TRANSLATED: Mapping[str, tuple[str, ...]] = {
    "weibull_decay": (
        "age -5: age 0",
        "half-life 0 means off: the stage is not listed",
    ),
    "recency_boost": (
        "age -3 gives more than the weight: age 0 and weight * e^(3/14)",
        "half-life 0 means off: the stage is not listed",
    ),
    "importance_weight": ("importance 1.2: importance 1, the excess factor on the score",),
    "confidence_weight": ("confidence as {score} is the same number as a flat one",),
    "asset_type_weight": ("asset metadata: the scope that means the same",),
    "length_norm": ("anchor 0 means off: the stage is not listed",),
    "access_reinforced_half_life": ("access in one day's time: n * e^(1/30) accesses today",),
    "resolve_tier": ("no metadata at all: tier peripheral",),
    "time_decay_stage": ("half-life 0 means off: the stage is not listed",),
    "evolution_decay_score": ("access in two days' time: today", "importance 1.4: 1"),
    "evolution_blend": ("production's second access counter exempts nothing: exempt_days 0",),
    "hotness": ("access in two days' time: today",),
    "hotness_blend": ("weight 2: 1",),
    "bm25_normalise": ("raw score -1: 0",),
    "active_filter": ("archived, consolidated: retracted; pending_review: current",),
    "shared_scoring_chain": ("two access counters: each stage reads the one production reads",),
}
