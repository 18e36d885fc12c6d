"""Which golden group of RecallNest is answered by what.

Inputs that production accepts and our checked parameters do not are translated by these answers
and nowhere else; each group lists what it translates.
"""

from __future__ import annotations

from collections.abc import Mapping

from recalltune.production.golden import recallnest_arms as arms
from recalltune.production.golden import recallnest_import as taken_in
from recalltune.production.golden import recallnest_lists as lists
from recalltune.production.golden import recallnest_scores as scores
from recalltune.production.golden import recallnest_state as state
from recalltune.production.golden.group import Golden

__all__ = ["GROUPS"]

GROUPS: Mapping[str, Golden] = {
    "weibull_decay": Golden(
        scores.weibull,
        translated=(
            "age -5: age 0",
            "half-life 0 means off: the stage is not listed",
        ),
    ),
    "recency_boost": Golden(
        scores.recency,
        translated=(
            "age -3: age 0 and days_ahead 3",
            "half-life 0 means off: the stage is not listed",
        ),
    ),
    "importance_weight": Golden(
        scores.importance,
        translated=("importance 1.2: importance 1, the excess factor on the score",),
    ),
    "confidence_weight": Golden(
        scores.confidence,
        translated=("confidence as {score} is the same number as a flat one",),
    ),
    "boundary_weight": Golden(scores.boundary),
    "asset_type_weight": Golden(
        scores.asset,
        translated=("asset metadata: the scope that means the same",),
    ),
    "length_norm": Golden(
        scores.length,
        translated=("anchor 0 means off: the stage is not listed",),
    ),
    "access_reinforced_half_life": Golden(
        scores.half_life,
        translated=("access in one day's time: n * e^(1/30) accesses today",),
    ),
    "resolve_tier": Golden(
        scores.tier,
        translated=("no metadata at all: tier peripheral",),
    ),
    "decay_exempt": Golden(scores.exempt),
    "time_decay_stage": Golden(
        scores.time_decay,
        translated=("half-life 0 means off: the stage is not listed",),
    ),
    "evolution_decay_score": Golden(
        scores.worth,
        translated=(
            "access in two days' time: today",
            "importance 1.4: 1",
        ),
    ),
    "evolution_blend": Golden(
        scores.evolution,
        translated=("production's second access counter exempts nothing: exempt_days 0",),
    ),
    "access_count_boost": Golden(scores.access),
    "hotness": Golden(
        scores.hotness,
        translated=("access in two days' time: today",),
    ),
    "hotness_blend": Golden(
        scores.hotness_blend,
        translated=("weight 2: 1",),
    ),
    "frequency_boost": Golden(scores.frequency),
    "bm25_normalise": Golden(
        scores.lexical,
        translated=("raw score -1: 0",),
    ),
    "vector_score": Golden(scores.dense),
    "mmr_defer_order": Golden(lists.defer),
    "source_diversity": Golden(lists.diversity),
    "category_min_score": Golden(lists.minimum),
    "active_filter": Golden(
        lists.active,
        translated=("archived, consolidated: retracted; pending_review: current",),
    ),
    "shared_scoring_chain": Golden(
        lists.chain,
        translated=("two access counters: each stage reads the one production reads",),
    ),
    "retrieve_vector_end_to_end": Golden(lists.retrieve),
    "token_estimate": Golden(scores.tokens),
    "emotion_half_life": Golden(state.emotion),
    "tier_change": Golden(state.move),
    "tier_homeostasis": Golden(state.core),
    "version_rank": Golden(state.version),
    "rif_filter": Golden(lists.interference),
    "scope_match": Golden(arms.scope),
    "query_gates": Golden(arms.gates),
    "text_overlap": Golden(arms.overlap),
    "multi_vector_blend": Golden(arms.views),
    "fusion_weighted": Golden(arms.fused, preset="recallnest-hybrid"),
    "fusion_lists": Golden(arms.fused_lists, preset="recallnest-hybrid"),
    "rerank_lightweight": Golden(arms.rerank, preset="recallnest-hybrid"),
    "chunk_document": Golden(
        taken_in.chunks,
        translated=(
            "production stops after so many pieces and loses the rest: those are compared",
        ),
    ),
    "batch_internal_dedup": Golden(taken_in.kept),
}
