"""Parity with OpenClaw and dsh-auto-memory where a primitive has the same thing."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from recalltune.rank.decay import exponential, weibull
from recalltune.rank.diversity import jaccard, mmr
from recalltune.rank.fusion import rrf, saturate
from recalltune.rank.order import rank_order
from recalltune.rank.token_variants import tokenize_openclaw_release

pytestmark = pytest.mark.shared

# Degenerate upstream input -> the valid input with the same meaning.
TRANSLATED = {
    "a half-life of 0 or less: off": lambda x: x if x > 0 else math.inf,
    "an age in the future: today": lambda days: max(days, 0.0),
    "a lambda outside [0, 1]: the nearer end": lambda x: min(max(x, 0.0), 1.0),
    "a shape outside [0.1, 5]: the nearer end, or 1.5 where it is not positive": lambda x: (
        min(max(x, 0.1), 5.0) if x > 0 else 1.5
    ),
}
off, today, share, shape_of = TRANSLATED.values()


@pytest.fixture(scope="module")
def golden(shared: Path) -> dict:
    return json.loads((shared / "golden" / "openclaw.json").read_text("utf-8"))["groups"]


def upstream_tokens(text: str) -> set[str]:
    """The token set of the release behind the golden values; an empty text is its own token."""
    return set(tokenize_openclaw_release(text)) or {f"text:{text.lower().strip()}"}


def test_decay(golden):
    for case in golden["decay"]["cases"]:
        curve = exponential(today(case["age_days"]), half_life_days=off(case["half_life_days"]))
        assert case["score"] * curve == pytest.approx(case["decayed"], rel=1e-12), case


def test_decay_weibull_half_life(golden):
    for case in golden["decay_weibull_half_life"]["cases"]:
        found = weibull(
            case["age_days"], half_life_days=case["half_life_days"], shape=shape_of(case["beta"])
        )
        assert found == pytest.approx(case["multiplier"], rel=1e-12, abs=0), case


def test_negative_better_lexical_ranks_saturate(golden):
    negative = [c for c in golden["bm25_rank_to_score"]["cases"] if _below_zero(c["rank"])]
    assert negative
    for case in negative:
        assert saturate(-case["rank"]) == pytest.approx(case["score"], rel=1e-12), case


def _below_zero(rank):
    return not isinstance(rank, str) and rank < 0


def test_text_similarity(golden):
    for case in golden["text_similarity"]["cases"]:
        found = jaccard([upstream_tokens(case["a"]), upstream_tokens(case["b"])])[0, 1]
        assert found == pytest.approx(case["similarity"], rel=1e-12), case


def test_mmr_score(golden):
    # A rival of known objective stands a hair above or below: the higher of the two is picked.
    for case in golden["mmr_score"]["cases"]:
        lambda_ = case["lambda"]
        for hair, expected in ((1e-9, [0, 2, 1]), (-1e-9, [0, 1, 2])):
            rival = case["score"] + hair
            relevance, near = (rival / lambda_, 0.0) if lambda_ else (case["relevance"], -rival)
            alike = np.eye(3)
            alike[0, 1:] = alike[1:, 0] = case["max_similarity"], near
            first = max(case["relevance"], relevance) + 1.0
            scores = [first, case["relevance"], relevance]
            assert mmr(scores, alike, lambda_=lambda_, normalise=False).tolist() == expected, case


def test_mmr_rerank(golden):
    for case in golden["mmr_rerank"]["cases"]:
        items = case["items"]
        alike = jaccard([upstream_tokens(item["snippet"]) for item in items])
        order = mmr([item["score"] for item in items], alike, lambda_=share(case["lambda"]))
        assert [items[i]["id"] for i in order] == case["order"], case


def test_r4_rrf(golden):
    for case in golden["r4_rrf"]["cases"]:
        rows = sorted(case["output"], key=lambda row: row["id"])
        arms = ("rank_dense", "rank_lex", "rank_layer", "rank_temp")
        ranks = [[math.nan if row[arm] is None else row[arm] for row in rows] for arm in arms]
        options = case["options"]
        fused = rrf(ranks, k=options["k"], divisor=options["divisor"])
        np.testing.assert_allclose(fused, [row["fused"] for row in rows], rtol=1e-12)
        order = [rows[i]["id"] for i in rank_order(fused)]
        assert order == [row["id"] for row in case["output"]], case
