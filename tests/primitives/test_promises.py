"""Promises every primitive keeps: a batch is one by one, places and names do not matter."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

R = import_module("recalltune.rank")
NAN = np.nan
AGES = st.floats(0, 4000, width=32)
SHARES = st.floats(0, 1, width=32)
COUNTS = st.integers(0, 500).map(float)
SCORES = st.floats(0, 50, width=32)

# Element by element: name -> (function of arrays of one shape, values each array holds).
ELEMENTS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "exponential": (lambda t: R.exponential(t, half_life_days=30), (AGES,)),
    "weibull": (lambda t, s: R.weibull(t, half_life_days=30, shape=0.5 + s), (AGES, SHARES)),
    "power": (lambda t: R.power(t, half_life_days=30, exponent=0.5), (AGES,)),
    "linear": (lambda t: R.linear(t, half_life_days=30), (AGES,)),
    "mean_life": (lambda t: R.mean_life(t, mean_life_days=30), (AGES,)),
    "half_floor": (lambda t: R.half_floor(t, mean_life_days=30), (AGES,)),
    "weibull_rate": (lambda t: R.weibull_rate(t, half_life_days=30, shape=0.8), (AGES,)),
    "fsrs": (lambda t: R.fsrs(t, stability_days=3), (AGES,)),
    "with_floor": (lambda w, f: R.with_floor(w, f), (SHARES, SHARES)),
    "reinforced_half_life": (
        lambda n, d: R.reinforced_half_life(n, d, half_life_days=30),
        (COUNTS, AGES),
    ),
    "salience_multiplier": (lambda s: R.salience_multiplier(s, weight=9), (SHARES,)),
    "importance_weight": (lambda s: R.importance_weight(s, base=0.5), (SHARES,)),
    "length_norm": (lambda n: R.length_norm(n, anchor_chars=80), (COUNTS,)),
    "recency_boost": (lambda t: R.recency_boost(t), (AGES,)),
    "access_boost": (lambda n: R.access_boost(n), (COUNTS,)),
    "hotness": (lambda n, d: R.hotness(n, d), (COUNTS, AGES)),
    "frequency_multiplier": (lambda n, d: R.frequency_multiplier(n, d), (COUNTS, AGES)),
    "evolution_score": (
        lambda t, n, d, s: R.evolution_score(t, n, d, s),
        (AGES, COUNTS, AGES, SHARES),
    ),
    "saturate": (lambda s: R.saturate(s), (SCORES,)),
    "logistic": (lambda s: R.logistic(s), (SCORES,)),
    "inverse_distance": (lambda c: R.inverse_distance(c), (SHARES,)),
    "round_significant": (lambda s: R.round_significant(s), (SCORES,)),
    "mmr_objective": (
        lambda r, n: R.mmr_objective(r, n, lambda_=0.7),
        (SHARES, SHARES),
    ),
    "idf": (lambda df: R.idf(500, df), (COUNTS,)),
}
# List by list: name -> function of (queries, candidates).
LISTS: dict[str, Callable[..., Any]] = {
    "min_max": lambda s: R.min_max(s),
    "z_score": lambda s: R.z_score(s),
    "z_score, shifted": lambda s: R.z_score(s, weakest=0.001),
    "rrf": lambda s: R.rrf(np.stack([1 + s, 51 - s])),
    "weighted_sum": lambda s: R.weighted_sum(np.stack([s, 2 * s]), divide_by="present"),
    "rank_order": lambda s: R.rank_order(s),
    "act_r": lambda s: R.act_r(np.stack([s, s / 2], axis=-1)),
}
# Kept elsewhere: their own files prove the same with more shapes.
ELSEWHERE = {
    "mmr": "test_diversity",
    "mmr_batch": "test_diversity",
    "defer": "test_diversity",
    "defer_batch": "test_diversity",
    "jaccard": "test_diversity",
    "cosine_matrix": "test_diversity",
    "quotas": "test_quota",
    "score_terms": "test_bm25",
    "PostingIndex": "test_bm25",
    "QueryTerms": "test_bm25",
    "ranks_of_lists": "test_lists",
}
TABLE = hnp.arrays(np.float64, (3, 5), elements=SCORES, fill=st.nothing())


def drawn(data: st.DataObject, kinds: tuple[Any, ...], shape: tuple[int, ...]) -> list[Any]:
    return [
        data.draw(hnp.arrays(np.float64, shape, elements=kind, fill=st.nothing())) for kind in kinds
    ]


def test_every_primitive_of_the_method_page_is_held_to_them():
    held = {name.partition(",")[0] for name in (*ELEMENTS, *LISTS)} | set(ELSEWHERE)
    rooms = ("decay", "forgetting", "salience", "fusion", "order", "diversity", "lists", "bm25")
    ours = {
        name
        for room in rooms
        for name in import_module(f"recalltune.rank.{room}").__all__
        if callable(getattr(R, name, None))
    }
    assert ours | {"quotas"} == held


@pytest.mark.parametrize("name", ELEMENTS)
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_a_batch_is_one_by_one(name, data):
    function, kinds = ELEMENTS[name]
    arrays = drawn(data, kinds, (2, 3))
    whole = np.asarray(function(*arrays))
    for at in np.ndindex(2, 3):
        alone = function(*[array[at].reshape(1) for array in arrays])
        assert alone.tobytes() == whole[at].tobytes()


@pytest.mark.parametrize("name", LISTS)
@settings(max_examples=10, deadline=None)
@given(scores=TABLE)
def test_a_batch_of_queries_is_one_query_after_the_other(name, scores):
    whole = LISTS[name](scores)
    for row, one in enumerate(scores):
        assert whole[row].tobytes() == LISTS[name](one[np.newaxis])[0].tobytes()


@pytest.mark.parametrize("name", [n for n in LISTS if n not in ("rank_order", "z_score")])
@settings(max_examples=10, deadline=None)
@given(scores=TABLE, places=st.permutations(range(5)))
def test_new_places_of_the_memories_give_every_memory_its_old_score(name, scores, places):
    whole, moved = LISTS[name](scores), LISTS[name](scores[:, places])
    np.testing.assert_allclose(moved, whole[:, places], rtol=1e-12)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.integers(0, 999), min_size=6, max_size=6, unique=True),
    st.permutations(range(6)),
    st.floats(0, 1, width=32),
    st.integers(0, 2**32 - 1),
)
def test_new_names_of_the_memories_change_no_order(relevance, places, lambda_, seed):
    """Distinct relevances, so that no tie is left to the names."""
    vectors = np.random.default_rng(seed).standard_normal((6, 4))
    scores, places = np.array(relevance, dtype=float), np.array(places)
    alike = R.cosine_matrix(vectors)
    moved = alike[np.ix_(places, places)]
    assert places[R.rank_order(scores[places])].tolist() == R.rank_order(scores).tolist()
    old = R.mmr(scores, alike, lambda_=lambda_)
    assert places[R.mmr(scores[places], moved, lambda_=lambda_)].tolist() == old.tolist()


@settings(max_examples=25, deadline=None)
@given(TABLE, st.integers(0, 5))
def test_a_shorter_list_is_the_start_of_a_longer_one(scores, top_k):
    whole = R.rank_order(scores[0])
    alike = R.cosine_matrix(np.eye(5))
    assert (
        R.mmr(scores[0], alike, lambda_=0.5, top_k=top_k).tolist()
        == (R.mmr(scores[0], alike, lambda_=0.5).tolist()[:top_k])
    )
    picked = R.quotas([[0] * 5], [[1] * 5], top_k=top_k, floors=[0], caps=[-1]).picked[0]
    assert whole[picked].tolist() == whole[:top_k].tolist()
