"""Golden groups of what no stage of the preset runs: the ancestor's forms, the token estimate.

In: the input of one golden case and a config. Out: what our primitive or stage makes of it.
"""

from __future__ import annotations

from recalltune.pipeline.config import RankingConfig
from recalltune.pipeline.stages import Importance
from recalltune.production.golden.group import Case
from recalltune.production.golden.recallnest_scores import length, moved
from recalltune.rank.decay import half_floor, reinforced_half_life
from recalltune.rank.tokens import estimate_tokens

__all__ = [
    "ancestor_decay",
    "ancestor_half_life",
    "ancestor_importance",
    "ancestor_length",
    "tokens",
]


def ancestor_importance(case: Case, config: RankingConfig) -> float:
    """Score after importance as the ancestor weighs it: base 0.7."""
    del config
    stage = Importance(name="importance", base=0.7, missing=0.7)
    return moved(stage, {"salience": case["importance"]}, case["score"])


def ancestor_length(case: Case, config: RankingConfig) -> float:
    """Score after the length normalisation, which the two share."""
    return length(case, config)


def ancestor_decay(case: Case, config: RankingConfig) -> float:
    """Score after the ancestor's decay, half of which never fades."""
    del config
    weight = half_floor(case["ageDays"], mean_life_days=case["halfLifeDays"])
    return float(case["score"] * weight)


def ancestor_half_life(case: Case, config: RankingConfig) -> float:
    """Half-life as use has stretched it, accesses fading by a true half-life."""
    del config
    return float(
        reinforced_half_life(
            case["accessCount"],
            case["daysSinceAccess"],
            half_life_days=case["baseHalfLife"],
            factor=case["reinforcementFactor"],
            max_multiple=case["maxMultiplier"],
            fade="half_life",
        )
    )


def tokens(case: Case, config: RankingConfig) -> int:
    """Estimated model tokens of a text."""
    del config
    return estimate_tokens(case["text"])
