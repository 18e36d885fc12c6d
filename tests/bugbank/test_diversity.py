"""Bug bank E33-E37, O106: what lambda means, on every way that leads to it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fused_lists import config, shown, table
from recalltune.errors import ParameterError
from recalltune.pipeline.run import run
from recalltune.pipeline.stages import Diversify
from recalltune.rank import cosine_matrix, mmr
from toy_candidates import LAYERS, toy

RELEVANCE = [0.90, 0.89, 0.60]  # a, b, c
ALIKE = [[1.0, 0.98, 0.10], [0.98, 1.0, 0.12], [0.10, 0.12, 1.0]]


def vectors_of(similarity: Any) -> np.ndarray:
    """Unit vectors whose cosines are these."""
    values, axes = np.linalg.eigh(np.asarray(similarity))
    return (axes * np.sqrt(np.maximum(values, 0.0))).astype(np.float32)


def diversified(
    relevance: list[float], similarity: Any, *, top_k: int = 10, **mmr_parameters: Any
) -> list[str]:
    """The ids a config with MMR shows; scores are the relevances as they stand."""
    ids = "abcdefgh"[: len(relevance)]
    ranked = sorted(ids, key=lambda one: -relevance[ids.index(one)])
    lists = table(
        {"dense": ranked},
        scores={"dense": dict(zip(ids, relevance, strict=True))},
        vectors=vectors_of(similarity),
    )
    stages = [
        {"kind": "weighted"},
        {"kind": "mmr", **mmr_parameters},
        {"kind": "select", "top_k": top_k},
    ]
    return list(shown(lists, config(*stages, arms={"dense": {}})))


# --- E33 ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lambda_", "order"), [(1.0, [0, 1, 2]), (0.7, [0, 2, 1]), (0.5, [0, 2, 1])]
)
def test_lambda_reaches_the_choice(lambda_, order):
    """E33. Kind: lambda never reaches the function (misspelt keyword)."""
    # 0.7: c 0.42 - 0.03 = 0.390, b 0.623 - 0.294 = 0.329
    assert mmr(RELEVANCE, ALIKE, lambda_=lambda_, normalise=False).tolist() == order


def test_a_misspelt_lambda_is_refused_everywhere_with_the_nearest_name():
    """E33. Kind: lambda never reaches the function (misspelt keyword)."""
    with pytest.raises(TypeError, match="lambda_mul"):
        mmr(RELEVANCE, ALIKE, lambda_mul=0.5)
    with pytest.raises(ParameterError, match=r"lambda_mul is not a parameter; nearest: 'lambda_'"):
        Diversify().with_(lambda_mul=0.5)
    with pytest.raises(ParameterError, match=r"lambda_mul is not a parameter"):
        config({"kind": "rrf"}, {"kind": "mmr", "lambda_mul": 0.5})


# --- E34 ------------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 10_000),
    st.sampled_from(
        [{"kind": "mmr"}, {"kind": "mmr", "similarity": "jaccard"}, {"kind": "openclaw_rank"}]
    ),
)
def test_lambda_one_is_the_order_of_scores_whatever_the_data_and_whoever_diversifies(seed, kind):
    """E34. Kind: lambda inverted between layers."""
    lists, stage = toy(seed), {**kind, "lambda_": 1.0}
    plain = config({"kind": "rrf"}).with_(layers=LAYERS)
    same = config({"kind": "rrf"}, stage).with_(layers=LAYERS)
    assert run(lists, same).listed().tolist() == run(lists, plain).listed().tolist()


def test_lambda_nought_starts_with_the_best_and_then_wants_what_is_unlike_it():
    """E34. Kind: lambda inverted between layers."""
    assert mmr(RELEVANCE, ALIKE, lambda_=0.0).tolist() == [0, 2, 1]
    assert diversified(RELEVANCE, ALIKE, lambda_=0.0) == ["a", "c", "b"]
    assert diversified(RELEVANCE, ALIKE, lambda_=1.0) == ["a", "b", "c"]


# --- E35 ------------------------------------------------------------------------------------


def test_more_places_than_rows_are_no_error_and_no_places_are_none():
    """E35. Kind: k larger than the pool; k = 0."""
    assert len(mmr(RELEVANCE, ALIKE, lambda_=0.5, top_k=10)) == 3
    assert mmr(RELEVANCE, ALIKE, lambda_=0.5, top_k=0).tolist() == []
    assert len(diversified(RELEVANCE, ALIKE, lambda_=0.5, top_k=10)) == 3
    with pytest.raises(ParameterError, match=r"top_k .*greater than or equal to 1, got 0"):
        config({"kind": "rrf"}, {"kind": "select", "top_k": 0})


def test_a_pool_smaller_than_the_list_never_shortens_it():
    """E35. Kind: k larger than the pool; k = 0."""
    relevance = [0.9, 0.89, 0.6, 0.5]
    alike = np.eye(4)
    alike[:3, :3] = ALIKE
    # Only the first two (three) take part; the others follow as they stood.
    assert diversified(relevance, alike, lambda_=0.3, pool=2, top_k=4) == ["a", "b", "c", "d"]
    assert diversified(relevance, alike, lambda_=0.3, pool=3, top_k=4) == ["a", "c", "b", "d"]


# --- E36, E37 -------------------------------------------------------------------------------


def test_two_memories_of_one_vector_are_each_chosen_once():
    """E36. Kind: same item chosen twice."""
    same = cosine_matrix([[1.0, 2.0], [1.0, 2.0], [2.0, -1.0]])
    for lambda_ in (0.0, 0.3, 0.7, 1.0):
        assert sorted(diversified([0.9, 0.9, 0.4], same, lambda_=lambda_)) == ["a", "b", "c"]
        assert sorted(mmr([0.9, 0.9, 0.4], same, lambda_=lambda_).tolist()) == [0, 1, 2]


def test_negative_similarities_attract_and_lose_no_one():
    """E37. Kind: negative similarities break the start value."""
    alike = [[1, 0.9, -0.6], [0.9, 1, -0.5], [-0.6, -0.5, 1]]
    # w 0.5 * 0.20 + 0.5 * 0.60 = 0.40, v 0.5 * 0.70 - 0.5 * 0.90 = -0.10
    assert mmr([0.8, 0.7, 0.2], alike, lambda_=0.5, normalise=False).tolist() == [0, 2, 1]
    assert sorted(diversified([0.8, 0.7, 0.2], alike, lambda_=0.5)) == ["a", "b", "c"]


# --- O106 -----------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", [1.0, 1e-3, 1e6])
def test_lambda_means_the_same_on_every_scale_of_scores(unit):
    """O106. Kind: relevance scale makes lambda meaningless."""
    relevance = [0.032787 * unit, 0.032258 * unit, 0.016129 * unit]
    alike = [[1.0, 0.9, 0.1], [0.9, 1.0, 0.1], [0.1, 0.1, 1.0]]
    # Min-maxed b is 0.9682: 0.7 * 0.9682 - 0.3 * 0.9 = 0.4078, c 0 - 0.03
    assert mmr(relevance, alike, lambda_=0.7).tolist() == [0, 1, 2]
    assert diversified(relevance, alike, lambda_=0.7) == ["a", "b", "c"]


def test_scores_of_rrf_as_they_stand_would_let_likeness_decide_alone():
    """O106. Only on request, and no config can ask for it."""
    alike = [[1.0, 0.9, 0.1], [0.9, 1.0, 0.1], [0.1, 0.1, 1.0]]
    raw = mmr([0.032787, 0.032258, 0.016129], alike, lambda_=0.7, normalise=False)
    assert raw.tolist() == [0, 2, 1]
    with pytest.raises(ParameterError, match="normalise is not a parameter"):
        Diversify().with_(normalise=False)
