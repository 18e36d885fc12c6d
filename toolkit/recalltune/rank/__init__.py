"""The primitives: arrays in, arrays out.

In: NumPy arrays (or texts and tokens) and keyword parameters with units. Out: scores, weights or
positions. Nothing here knows a table, a configuration or a clock; equal input gives equal bits.
`bm25` is a module (`bm25.PostingIndex`, `bm25.idf`, `bm25.score_terms`); `quotas` is the function
`quota.select`.
"""

from __future__ import annotations

from recalltune.rank import bm25
from recalltune.rank.accessibility import accessibility
from recalltune.rank.annotations import project_multiplier, ten_point_multiplier
from recalltune.rank.arm_pair import agreeing_mean, rescued_sum
from recalltune.rank.bm25 import PostingIndex, QueryTerms, idf, score_terms
from recalltune.rank.dated_path import path_dates
from recalltune.rank.decay import (
    exponential,
    half_floor,
    linear,
    mean_life,
    power,
    reinforced_half_life,
    weibull,
    weibull_rate,
    with_floor,
)
from recalltune.rank.diversity import (
    cosine_matrix,
    defer,
    defer_batch,
    jaccard,
    mmr,
    mmr_batch,
    mmr_objective,
)
from recalltune.rank.emotion import arousal_multiplier, emotional_half_life
from recalltune.rank.exact_path import exact_tie, path_exactness
from recalltune.rank.forgetting import act_r, fsrs
from recalltune.rank.fusion import (
    inverse_distance,
    logistic,
    min_max,
    rrf,
    saturate,
    weighted_sum,
    z_score,
)
from recalltune.rank.interference import Interference, interfere
from recalltune.rank.keyword import (
    KeywordPlan,
    fts_query,
    fts_rank_score,
    keyword_plan,
    lexical_boost,
    search_words,
    words_in_path,
)
from recalltune.rank.lifecycle import (
    importance_half_life,
    lifecycle_composite,
    search_multiplier,
    use_frequency,
)
from recalltune.rank.likeness import text_likeness
from recalltune.rank.lists import ranks_of_lists
from recalltune.rank.order import rank_order, round_significant
from recalltune.rank.overlap import blend_views, content_words, word_overlap
from recalltune.rank.query_gates import has_exact_token, is_trivial
from recalltune.rank.quota import Selection
from recalltune.rank.quota import select as quotas
from recalltune.rank.rank_biased_overlap import rank_biased_overlap
from recalltune.rank.repeats import survivors
from recalltune.rank.reread import Reread, reread
from recalltune.rank.salience import (
    access_boost,
    evolution_score,
    frequency_multiplier,
    hotness,
    importance_weight,
    length_norm,
    recency_boost,
    salience_multiplier,
)
from recalltune.rank.stems import porter_stem
from recalltune.rank.stop_words import LUCENE_STOP_WORDS, WithoutStopWords, tokenize_porter
from recalltune.rank.substring import SubstringIndex, substring_terms
from recalltune.rank.text_index import TextIndex
from recalltune.rank.tiers import composite_tier_move, core_minimum, tier_move
from recalltune.rank.token_estimates import (
    estimate_tokens_half,
    estimate_tokens_quarter,
    utf16_units,
)
from recalltune.rank.token_variants import (
    tokenize_openclaw_main,
    tokenize_openclaw_release,
    tokenize_plain,
    tokenize_probe,
)
from recalltune.rank.tokens import TOKENIZERS, estimate_tokens, tokenize
from recalltune.rank.versions import best_versions, version_rank

__all__ = [  # noqa: RUF022 - reading order: from text to list
    # words
    "tokenize",
    "tokenize_plain",
    "tokenize_openclaw_release",
    "tokenize_openclaw_main",
    "tokenize_probe",
    "tokenize_porter",
    "porter_stem",
    "WithoutStopWords",
    "LUCENE_STOP_WORDS",
    "TOKENIZERS",
    "estimate_tokens",
    "estimate_tokens_quarter",
    "estimate_tokens_half",
    "utf16_units",
    # the query
    "is_trivial",
    "has_exact_token",
    "content_words",
    "word_overlap",
    # lexical score
    "bm25",
    "idf",
    "PostingIndex",
    "TextIndex",
    "QueryTerms",
    "score_terms",
    # keyword search of production
    "fts_query",
    "keyword_plan",
    "KeywordPlan",
    "fts_rank_score",
    "search_words",
    "words_in_path",
    "lexical_boost",
    "path_exactness",
    "exact_tie",
    # letter by letter
    "substring_terms",
    "SubstringIndex",
    # one score from several arms
    "ranks_of_lists",
    "rrf",
    "weighted_sum",
    "agreeing_mean",
    "rescued_sum",
    "blend_views",
    "min_max",
    "z_score",
    "saturate",
    "logistic",
    "inverse_distance",
    # age
    "exponential",
    "weibull",
    "power",
    "linear",
    "mean_life",
    "half_floor",
    "weibull_rate",
    "fsrs",
    "act_r",
    "with_floor",
    "reinforced_half_life",
    "importance_half_life",
    "emotional_half_life",
    "path_dates",
    # worth
    "salience_multiplier",
    "importance_weight",
    "length_norm",
    "recency_boost",
    "access_boost",
    "hotness",
    "frequency_multiplier",
    "evolution_score",
    "arousal_multiplier",
    "use_frequency",
    "lifecycle_composite",
    "search_multiplier",
    "tier_move",
    "composite_tier_move",
    "core_minimum",
    "ten_point_multiplier",
    "project_multiplier",
    # order
    "round_significant",
    "rank_order",
    # variety
    "mmr",
    "mmr_batch",
    "mmr_objective",
    "defer",
    "defer_batch",
    "jaccard",
    "text_likeness",
    "interfere",
    "Interference",
    "version_rank",
    "best_versions",
    "cosine_matrix",
    "survivors",
    # places
    "quotas",
    "Selection",
    # the block in a prompt
    "accessibility",
    "reread",
    "Reread",
    # two lists compared
    "rank_biased_overlap",
]
