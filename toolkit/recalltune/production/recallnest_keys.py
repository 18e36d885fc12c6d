"""The one table between RecallNest's `retrieval` keys and our parameter addresses.

In: a RankingConfig, or the values of a `retrieval` block. Out: the other. Keys whose 0 means off
stand for a stage that is left out; everything RecallNest holds as a constant is in no key.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from recalltune.pipeline.config import RankingConfig
from recalltune.pipeline.stages.recallnest_keep import CATEGORIES

__all__ = [
    "KEYS",
    "KNOWN_KEYS",
    "LONGEST_DAYS",
    "MINIMA",
    "POOL_LIMIT",
    "WEIGHTS",
    "WIDEST",
    "Key",
    "floor_of",
    "half_life_of",
    "of_kind",
    "wanted",
]

LONGEST_DAYS = 36_500.0
POOL_LIMIT = 20
"""Rows RecallNest's store returns at most, whatever candidatePoolSize says."""
WIDEST = 100_000
"""The widest arm of ours; a larger candidatePoolSize means no more."""
NO_FLOOR = 1 / 3
"""Up to here minScore does nothing: a vector score is 1 / (2 - cosine)."""
WEIGHTS: Mapping[str, str] = {
    "vectorWeight": "recallnest_fusion.dense_weight",
    "bm25Weight": "recallnest_fusion.lexical_weight",
}
"""Keys that hybrid mode alone reads."""


@dataclass(frozen=True)
class Key:
    """One key of the `retrieval` block and the parameter it is."""

    path: tuple[str, ...]
    """Below `retrieval`."""
    kind: str
    """Kind of the stage that holds the parameter."""
    field: str
    default: float
    """What RecallNest takes where the key is missing."""
    low: float
    high: float
    zero_is_off: bool = False
    """0 stands for a config without the stage, whose field must be above 0."""

    @property
    def name(self) -> str:
        """The key as messages write it, such as ``categoryMinScores.events``."""
        return ".".join(self.path)

    @property
    def address(self) -> str:
        """The parameter's address where the stage has its default name."""
        return f"{self.kind}.{self.field}"


_BUILT_IN = {
    "profile": 0.25,
    "preferences": 0.25,
    "entities": 0.30,
    "events": 0.35,
    "cases": 0.40,
    "patterns": 0.45,
}
MINIMA = tuple(
    Key(("categoryMinScores", name), "category_minimum", name, _BUILT_IN[name], 0.0, 1.0)
    for name in CATEGORIES
)
"""The complete map: a partial one would send the other categories to hardMinScore."""

KEYS = (
    Key(("recencyHalfLifeDays",), "recency_boost", "mean_life_days", 14.0, 0.0, LONGEST_DAYS, True),
    Key(("recencyWeight",), "recency_boost", "weight", 0.1, 0.0, 1.0),
    Key(("lengthNormAnchor",), "length", "anchor_chars", 800.0, 0.0, 1_000_000.0, True),
    Key(("timeDecayHalfLifeDays",), "tier_decay", "half_life_days", 60.0, 0.0, LONGEST_DAYS, True),
    Key(("hotnessWeight",), "hotness_blend", "weight", 0.0, 0.0, 1.0),
    Key(("hardMinScore",), "category_minimum", "other", 0.35, 0.0, 1.0),
    *MINIMA,
)
"""Keys that are one number of one stage each."""

KNOWN_KEYS: Mapping[str, Any] = {
    "mode": "vector",
    "vectorWeight": 0.7,
    "bm25Weight": 0.3,
    "minScore": 0.3,
    "rerank": "cross-encoder",
    "candidatePoolSize": 30,
    "sourceDiversity": 1,
    "recencyHalfLifeDays": 14,
    "recencyWeight": 0.1,
    "filterNoise": True,
    "enableRIF": False,
    "rifThreshold": 0.85,
    "rifScoreRatio": 0.8,
    "rerankModel": "jina-reranker-v3",
    "rerankEndpoint": "https://api.jina.ai/v1/rerank",
    "rerankProvider": None,
    "rerankApiKey": None,
    "lengthNormAnchor": 800,
    "hardMinScore": 0.35,
    "timeDecayHalfLifeDays": 60,
    "hotnessWeight": 0,
    "categoryMinScores": None,
    "adaptivePoolMultiplier": 1,
    "multiHop": False,
    "multiHopMaxQueries": 3,
}
"""Every key RecallNest's `retrieval` block has, with the default in its code (None = none)."""


def of_kind(config: RankingConfig, kind: str) -> Any | None:
    """Return the first stage of a kind, or None."""
    return next((stage for stage in config.stages if stage.kind == kind), None)


def wanted(config: RankingConfig) -> dict[tuple[str, ...], float]:
    """Return path -> the value that makes RecallNest rank as the config does, for `KEYS`.

    A stage the config does not list is off: its key becomes the 0 that means so. A generic
    `decay` stands in for `tier_decay` with the age at which it weighs one half.
    """
    values: dict[tuple[str, ...], float] = {}
    for key in KEYS:
        stage = of_kind(config, key.kind)
        if stage is not None:
            values[key.path] = float(getattr(stage, key.field))
        else:
            values[key.path] = 0.0
    length, decay = of_kind(config, "length"), of_kind(config, "decay")
    if length is not None and length.strength == 0:
        values["lengthNormAnchor",] = 0.0
    if of_kind(config, "tier_decay") is None and decay is not None:
        values["timeDecayHalfLifeDays",] = half_life_of(decay) or 0.0
    return values


def half_life_of(decay: Any) -> float | None:
    """Return the days at which a generic `decay` weighs one half, if the file can say them."""
    days = decay.half_age_days
    return float(days) if days is not None and days <= LONGEST_DAYS else None


def floor_of(config: RankingConfig) -> float:
    """Return the minScore that makes RecallNest ask for as much; its default where none binds."""
    stage, dense = of_kind(config, "similarity_minimum"), config.arms.dense
    floor = 0.0 if stage is None else float(stage.min_score)
    if dense is not None and dense.min_cosine > -1.0:
        floor = max(floor, round(1.0 / (2.0 - dense.min_cosine), 12))
    return floor if floor > NO_FLOOR else float(KNOWN_KEYS["minScore"])
