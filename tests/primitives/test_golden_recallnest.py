"""Parity with RecallNest and its ancestor, formula by formula, at 1e-12 relative.

Upstream accepts what the primitives refuse. What it means by that is translated here, in the
small table below, and nowhere in a primitive.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from recalltune.rank.decay import half_floor, reinforced_half_life, weibull, with_floor
from recalltune.rank.diversity import cosine_matrix, defer
from recalltune.rank.fusion import inverse_distance, logistic
from recalltune.rank.salience import (
    access_boost,
    evolution_score,
    frequency_multiplier,
    hotness,
    importance_weight,
    length_norm,
    recency_boost,
)
from recalltune.rank.tokens import estimate_tokens

pytestmark = pytest.mark.shared

TIERS = {"core": (0.8, 0.85), "working": (1.0, 0.65), "peripheral": (1.3, 0.45)}

# Degenerate upstream input -> the valid input with the same meaning.
TRANSLATED = {
    "a half-life or an anchor of 0 or less: off": lambda x: x if x > 0 else math.inf,
    "a day in the future: today": lambda days: max(days, 0.0),
    "an importance above 1: 1": lambda x: min(x, 1.0),
    "a raw BM25 of 0 or less: 0": lambda x: max(x, 0.0),
    "never: not a number": lambda days: math.nan if days is None else days,
}
off, today, at_most_one, not_negative, never = TRANSLATED.values()


@pytest.fixture(scope="module")
def golden(shared: Path) -> dict:
    return json.loads((shared / "golden" / "recallnest.json").read_text("utf-8"))["groups"]


def agree(group: dict, ours) -> None:
    assert group["cases"], "the group must not be empty"
    for case in group["cases"]:
        found = ours(**case["in"])
        assert found == pytest.approx(case["out"], rel=1e-12, abs=0), case


def capped(score: float) -> float:
    """Upstream clamps every step to [0, 1]; here the stage does, not the primitive."""
    return min(max(float(score), 0.0), 1.0)


def test_weibull_decay(golden):
    def ours(ageDays, halfLifeDays, tier):
        shape, floor = TIERS[tier]
        curve = weibull(today(ageDays), half_life_days=off(halfLifeDays), shape=shape)
        return with_floor(curve, floor)

    agree(golden["weibull_decay"], ours)


def test_recency_boost(golden):
    def ours(score, ageDays, halfLifeDays, weight):
        # Ahead of now the boost grows above its weight: the same as a larger weight today.
        grown = weight * math.exp(max(-ageDays, 0) / halfLifeDays) if halfLifeDays > 0 else 0.0
        boost = recency_boost(today(ageDays), weight=grown, mean_life_days=off(halfLifeDays))
        return capped(score + boost)

    agree(golden["recency_boost"], ours)


def test_importance_weight(golden):
    def ours(score, importance, base=0.5, missing=0.5):
        known = [math.nan if importance is None else at_most_one(importance), 0.0, 1.0]
        weight, least, most = importance_weight(known, base=base, missing=missing)
        beyond = max((importance or 0.0) - 1.0, 0.0)  # a straight line, upstream beyond 1 too
        return capped(score * (weight + beyond * (most - least)))

    agree(golden["importance_weight"], ours)
    agree(
        golden["ancestor_importance"],
        lambda score, importance: ours(score, importance, base=0.7, missing=0.7),
    )


def test_confidence_weight(golden):
    def ours(score, confidence):
        known = never(confidence)
        weighed = score * float(importance_weight(known, base=0.5, missing=0.7))
        return {"flat": weighed, "obj": weighed}

    agree(golden["confidence_weight"], ours)


@pytest.mark.parametrize("group", ["length_norm", "ancestor_length_norm"])
def test_length_norm(golden, group):
    agree(
        golden[group],
        lambda score, charLen, anchor: score * length_norm(charLen, anchor_chars=off(anchor)),
    )


def test_access_reinforced_half_life(golden):
    def ours(baseHalfLife, accessCount, daysSinceAccess):
        # An access ahead of now counts more than one: the same as more accesses today.
        ahead = max(-(daysSinceAccess or 0), 0)
        return reinforced_half_life(
            accessCount * math.exp(ahead / 30.0),
            today(never(daysSinceAccess)),
            half_life_days=baseHalfLife,
        )

    agree(golden["access_reinforced_half_life"], ours)


def test_ancestor_access_half_life(golden):
    agree(
        golden["ancestor_access_half_life"],
        lambda baseHalfLife, accessCount, daysSinceAccess, reinforcementFactor, maxMultiplier: (
            reinforced_half_life(
                accessCount,
                daysSinceAccess,
                half_life_days=baseHalfLife,
                factor=reinforcementFactor,
                max_multiple=maxMultiplier,
                fade="half_life",
            )
        ),
    )


def test_ancestor_time_decay(golden):
    agree(
        golden["ancestor_time_decay"],
        lambda score, ageDays, halfLifeDays: (
            score * half_floor(ageDays, mean_life_days=halfLifeDays)
        ),
    )


def test_hotness(golden):
    agree(
        golden["hotness"],
        lambda accessCount, daysSinceAccess: hotness(accessCount, today(daysSinceAccess)),
    )


def test_frequency_boost(golden):
    def ours(hitCount, daysSinceHit, score):
        multiplier = float(frequency_multiplier(hitCount, daysSinceHit))
        return {"multiplier": multiplier, "score": min(1.0, score * multiplier)}

    agree(golden["frequency_boost"], ours)


def test_access_count_boost(golden):
    agree(
        golden["access_count_boost"],
        lambda score, evoAccessCount: capped(score * access_boost(evoAccessCount)),
    )


def test_evolution_decay_score(golden):
    agree(
        golden["evolution_decay_score"],
        lambda daysSinceValidFrom, accessCount, daysSinceAccess, importance: evolution_score(
            today(daysSinceValidFrom),
            accessCount,
            today(never(daysSinceAccess)),
            at_most_one(importance),
        ),
    )


def test_bm25_normalise(golden):
    agree(golden["bm25_normalise"], lambda raw: logistic(not_negative(raw), scale=5.0))


def test_vector_score(golden):
    agree(golden["vector_score"], lambda cosineDistance: inverse_distance(1.0 - cosineDistance))


def test_mmr_defer_order(golden):
    def ours(vectors, scores, threshold):
        assert scores == sorted(scores, reverse=True)
        return defer(cosine_matrix(vectors), threshold=threshold).tolist()

    agree(golden["mmr_defer_order"], ours)


def test_token_estimate(golden):
    agree(golden["token_estimate"], lambda text: estimate_tokens(text))
