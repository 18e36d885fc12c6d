"""The primitives: arrays in, arrays out.

In: NumPy arrays (or texts and tokens) and keyword parameters with units. Out: scores, weights or
positions. Nothing here knows a table, a configuration or a clock; equal input gives equal bits.
`bm25` is a module (`bm25.PostingIndex`, `bm25.idf`, `bm25.score_terms`); `quotas` is the function
`quota.select`.
"""

from __future__ import annotations

from recalltune.rank import bm25
from recalltune.rank.bm25 import PostingIndex, QueryTerms, idf, score_terms
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
)
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
from recalltune.rank.order import rank_order, round_significant
from recalltune.rank.quota import Selection
from recalltune.rank.quota import select as quotas
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
from recalltune.rank.tokens import TOKENIZERS, estimate_tokens, tokenize, tokenize_plain

__all__ = [  # noqa: RUF022 - reading order: from text to list
    # words
    "tokenize",
    "tokenize_plain",
    "TOKENIZERS",
    "estimate_tokens",
    # lexical score
    "bm25",
    "idf",
    "PostingIndex",
    "QueryTerms",
    "score_terms",
    # one score from several arms
    "rrf",
    "weighted_sum",
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
    # worth
    "salience_multiplier",
    "importance_weight",
    "length_norm",
    "recency_boost",
    "access_boost",
    "hotness",
    "frequency_multiplier",
    "evolution_score",
    # order
    "round_significant",
    "rank_order",
    # variety
    "mmr",
    "mmr_batch",
    "defer",
    "defer_batch",
    "jaccard",
    "cosine_matrix",
    # places
    "quotas",
    "Selection",
]
