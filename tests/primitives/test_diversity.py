"""MMR, deferral and the similarities they use."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from recalltune.errors import ParameterError
from recalltune.rank.diversity import (
    cosine_matrix,
    defer,
    defer_batch,
    jaccard,
    mmr,
    mmr_batch,
    mmr_objective,
)

# relevances a 0.90, b 0.89, c 0.60; a and b are near-duplicates
RELEVANCE = [0.90, 0.89, 0.60]
ALIKE = [[1.0, 0.98, 0.10], [0.98, 1.0, 0.12], [0.10, 0.12, 1.0]]
FEW = st.sampled_from([-0.75, -0.25, 0.0, 0.25, 0.5, 1.0])


@st.composite
def lists(draw, most=7):
    size = draw(st.integers(1, most))
    relevance = draw(hnp.arrays(np.float64, size, elements=FEW, fill=st.nothing()))
    half = draw(hnp.arrays(np.float64, (size, size), elements=FEW, fill=st.nothing()))
    return relevance, np.tril(half) + np.tril(half, -1).T


def plain(relevance, similarity, lambda_, top_k):
    """Greedy choice in plain Python, comparing with everything picked at every step."""
    picked, rest = [], list(range(len(relevance)))
    while rest and len(picked) < top_k:

        def value(i):
            nearest = max((similarity[i][j] for j in picked), default=0.0)
            return lambda_ * relevance[i] - (1.0 - lambda_) * nearest, relevance[i], -i

        best = max(rest, key=value)
        picked.append(best)
        rest.remove(best)
    return picked


@pytest.mark.parametrize(
    ("lambda_", "order"), [(1.0, [0, 1, 2]), (0.7, [0, 2, 1]), (0.5, [0, 2, 1]), (0.0, [0, 2, 1])]
)
def test_mmr_of_three_memories_worked_by_hand(lambda_, order):
    # lambda 0.7: c = 0.7 * 0.60 - 0.3 * 0.10 = 0.39, b = 0.7 * 0.89 - 0.3 * 0.98 = 0.329
    assert mmr(RELEVANCE, ALIKE, lambda_=lambda_, normalise=False).tolist() == order


def test_normalised_relevance_makes_lambda_independent_of_the_scale_of_scores():
    scores = np.array([2 / 61, 2 / 62, 1 / 62])
    alike = [[1, 0.9, 0.1], [0.9, 1, 0.1], [0.1, 0.1, 1]]
    # Normalised b = 0.967: 0.7 * 0.967 - 0.3 * 0.9 = 0.407 > -0.03. Raw, c wins by similarity.
    assert mmr(scores, alike, lambda_=0.7).tolist() == [0, 1, 2]
    assert mmr(scores, alike, lambda_=0.7, normalise=False).tolist() == [0, 2, 1]
    assert mmr(scores * 1e6, alike, lambda_=0.7).tolist() == [0, 1, 2]


def test_negative_similarities_attract_and_lose_no_one():
    alike = [[1, 0.9, -0.6], [0.9, 1, -0.5], [-0.6, -0.5, 1]]
    # w = 0.5 * 0.2 + 0.5 * 0.6 = 0.40, v = 0.5 * 0.7 - 0.5 * 0.9 = -0.10
    assert mmr([0.8, 0.7, 0.2], alike, lambda_=0.5, normalise=False).tolist() == [0, 2, 1]
    # Counted as 0, -0.6 would lose: w = 0.5 * 0.2 + 0.5 * 0.6 = 0.40 against 0.35.
    alike = [[1, 0.0, -0.6], [0.0, 1, 0.0], [-0.6, 0.0, 1]]
    assert mmr([0.8, 0.7, 0.2], alike, lambda_=0.5, normalise=False).tolist() == [0, 2, 1]


@pytest.mark.parametrize(("top_k", "count"), [(0, 0), (1, 1), (3, 3), (10, 3), (None, 3)])
def test_top_k_is_met_or_all_there_is(top_k, count):
    assert mmr(RELEVANCE, ALIKE, lambda_=0.5, top_k=top_k).shape == (count,)


def test_identical_memories_are_each_chosen_once():
    vectors = [[1.0, 2.0], [1.0, 2.0], [2.0, -1.0]]
    order = mmr([0.9, 0.9, 0.1], cosine_matrix(vectors), lambda_=0.5, normalise=False)
    assert order.tolist() == [0, 2, 1]


@given(lists(), st.sampled_from([0.0, 0.3, 0.5, 1.0]), st.integers(0, 9))
def test_mmr_equals_the_plain_greedy_choice(problem, lambda_, top_k):
    relevance, similarity = problem
    order = mmr(relevance, similarity, lambda_=lambda_, top_k=top_k, normalise=False)
    assert order.tolist() == plain(relevance, similarity, lambda_, top_k)


@given(lists())
def test_lambda_one_is_the_order_of_relevance(problem):
    relevance, similarity = problem
    expected = np.lexsort((np.arange(len(relevance)), -relevance))
    assert mmr(relevance, similarity, lambda_=1.0).tolist() == expected.tolist()


@given(lists(), st.floats(0, 1))
def test_the_first_pick_is_the_most_relevant_for_every_lambda(problem, lambda_):
    relevance, similarity = problem
    assert relevance[mmr(relevance, similarity, lambda_=lambda_, top_k=1)[0]] == relevance.max()


@given(lists(), st.floats(0, 1), st.integers(0, 8))
def test_fewer_places_are_a_prefix_of_more(problem, lambda_, top_k):
    relevance, similarity = problem
    whole = mmr(relevance, similarity, lambda_=lambda_).tolist()
    assert mmr(relevance, similarity, lambda_=lambda_, top_k=top_k).tolist() == whole[:top_k]
    assert sorted(whole) == list(range(len(relevance)))


@given(st.lists(lists(), min_size=1, max_size=4), st.booleans(), st.data())
def test_lanes_of_different_length_are_each_list_alone(problems, normalise, data):
    width = max(len(relevance) for relevance, _ in problems) + 1
    garbage = data.draw(st.sampled_from([math.nan, math.inf, 7.0]))
    relevance = np.full((len(problems), width), garbage)
    similarity = np.full((len(problems), width, width), garbage)
    valid = np.zeros((len(problems), width), bool)
    for lane, (scores, alike) in enumerate(problems):
        size = len(scores)
        relevance[lane, :size], similarity[lane, :size, :size] = scores, alike
        valid[lane, :size] = True
    lambdas = np.array([[0.0], [0.4], [1.0]])
    together = mmr_batch(relevance, similarity, valid, lambda_=lambdas, normalise=normalise)
    assert together.shape == (3, len(problems), width)
    for setting, lambda_ in enumerate(lambdas[:, 0]):
        for lane, (scores, alike) in enumerate(problems):
            alone = mmr(scores, alike, lambda_=lambda_, normalise=normalise).tolist()
            padding = [-1] * (width - len(alone))
            assert together[setting, lane].tolist() == alone + padding


def test_single_precision_similarities_are_compared_in_double_precision():
    rng = np.random.default_rng(3)
    similarity = cosine_matrix(rng.standard_normal((6, 8))).astype(np.float32)
    relevance = rng.random(6)
    assert (
        mmr(relevance, similarity, lambda_=0.5).tolist()
        == mmr(relevance, similarity.astype(np.float64), lambda_=0.5).tolist()
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mmr(RELEVANCE, ALIKE, lambda_=-0.5), r"lambda_ must lie in \[0, 1\], got -0.5"),
        (lambda: mmr(RELEVANCE, ALIKE, lambda_=1.5), r"lambda_ must lie in \[0, 1\], got 1.5"),
        (lambda: mmr(RELEVANCE, ALIKE, lambda_=0.5, top_k=-1), "top_k must be a whole number"),
        (lambda: mmr(RELEVANCE, np.eye(2), lambda_=0.5), r"similarity must be \(3, 3\) to match"),
        (lambda: mmr([[1.0]], np.eye(1), lambda_=0.5), r"relevance must have shape \(n,\)"),
        (lambda: mmr([math.nan], [[1.0]], lambda_=0.5), "relevance must be finite, got nan"),
        (lambda: mmr(RELEVANCE, np.full((3, 3), 2.0), lambda_=0.5), "similarity must lie in"),
        (lambda: mmr(RELEVANCE, np.full((3, 3), math.nan), lambda_=0.5), "similarity must lie in"),
        (lambda: defer(np.eye(2), threshold=1.5), r"threshold must lie in \[-1, 1\], got 1.5"),
        (lambda: defer(np.ones((2, 3)), threshold=0.5), "similarity must be"),
        (lambda: defer([[1.0, 3.0], [3.0, 1.0]], threshold=0.5), "similarity must lie in"),
        (lambda: jaccard(["bare text"]), r"token_sets\[0\] must be a list of tokens"),
        (lambda: cosine_matrix([1.0]), r"vectors must have shape \(…, n, d\)"),
        (lambda: cosine_matrix([[math.nan]]), "vectors must be finite"),
    ],
)
def test_what_is_wrong_is_named(call, message):
    with pytest.raises(ParameterError, match=message):
        call()


def test_a_misspelt_parameter_never_reaches_the_function():
    with pytest.raises(TypeError, match="lambda_mul"):
        mmr(RELEVANCE, ALIKE, lambda_mul=0.5)


def test_deferral_moves_near_duplicates_behind_and_removes_nothing():
    # b is close to a; c to b only, and b is not kept, so c stays.
    chain = [[1.0, 0.9, 0.5], [0.9, 1.0, 0.9], [0.5, 0.9, 1.0]]
    assert defer(chain, threshold=0.85).tolist() == [0, 2, 1]
    assert defer(chain, threshold=0.9).tolist() == [0, 1, 2]  # strictly above
    assert defer(chain, threshold=-1.0).tolist() == [0, 1, 2]


def test_a_memory_without_a_vector_is_never_deferred_and_defers_no_one():
    alike = np.ones((3, 3))
    alike[1, :] = alike[:, 1] = math.nan
    assert defer(alike, threshold=0.85).tolist() == [0, 1, 2]


@given(lists(), st.sampled_from([-0.5, 0.0, 0.3, 1.0]))
def test_deferral_equals_the_plain_walk(problem, threshold):
    _, similarity = problem
    kept, deferred = [], []
    for i in range(len(similarity)):
        near = any(similarity[i][j] > threshold for j in kept)
        (deferred if near else kept).append(i)
    assert defer(similarity, threshold=threshold).tolist() == kept + deferred


@given(st.lists(lists(), min_size=1, max_size=4))
def test_deferral_of_many_lanes_is_each_lane_alone(problems):
    width = max(len(relevance) for relevance, _ in problems) + 1
    similarity = np.full((len(problems), width, width), 9.0)
    valid = np.zeros((len(problems), width), bool)
    for lane, (scores, alike) in enumerate(problems):
        similarity[lane, : len(scores), : len(scores)] = alike
        valid[lane, : len(scores)] = True
    thresholds = np.array([[0.0], [0.4]])
    together = defer_batch(similarity, valid, threshold=thresholds)
    for setting, threshold in enumerate(thresholds[:, 0]):
        for lane, (scores, alike) in enumerate(problems):
            alone = defer(alike, threshold=threshold).tolist()
            assert together[setting, lane].tolist() == [*alone, *range(len(scores), width)]


def test_jaccard_worked_by_hand():
    similar = jaccard([{"a", "b", "c"}, ["b", "c", "d", "d"], (), frozenset()])
    assert similar.tolist() == [[1, 0.5, 0, 0], [0.5, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]]
    assert jaccard([]).shape == (0, 0)


@given(st.lists(st.sets(st.integers(0, 12).map(str)), max_size=6))
def test_jaccard_equals_set_arithmetic(sets):
    similar = jaccard(sets)
    for i, one in enumerate(sets):
        for j, two in enumerate(sets):
            expected = len(one & two) / len(one | two) if one | two else 1.0
            assert similar[i, j] == expected


def test_jaccard_of_a_large_vocabulary_is_counted_in_blocks_without_loss():
    one = [str(n) for n in range(9000)]
    assert jaccard([one, one[:4500]])[0, 1] == 0.5


def test_cosines_worked_by_hand():
    found = cosine_matrix([[3.0, 0.0], [1.0, 1.0], [-2.0, 0.0], [0.0, 0.0]])
    root = math.sqrt(0.5)
    expected = [[1, root, -1, 0], [root, 1, -root, 0], [-1, -root, 1, 0], [0, 0, 0, 0]]
    np.testing.assert_allclose(found, expected, rtol=1e-14, atol=1e-14)


@given(
    hnp.arrays(
        np.float32,
        st.tuples(st.integers(1, 5), st.integers(1, 40)),
        elements=st.floats(-1, 1, width=32),
    )
)
def test_cosines_agree_with_the_exact_quotient(vectors):
    found = cosine_matrix(vectors)
    assert (found == found.T).all()
    for i, one in enumerate(vectors.astype(float)):
        for j, two in enumerate(vectors.astype(float)):
            if one.any() and two.any():
                one, two = one / np.abs(one).max(), two / np.abs(two).max()
                exact = math.fsum(one * two) / math.hypot(*one) / math.hypot(*two)
                assert found[i, j] == pytest.approx(exact, abs=1e-12)
            else:
                assert found[i, j] == 0.0


@pytest.mark.parametrize("d", [1, 2, 3, 17, 384, 1024])
def test_a_cosine_has_the_same_bits_in_any_company(d):
    vectors = np.random.default_rng(11).standard_normal((7, 30, d)).astype(np.float32)
    whole = cosine_matrix(vectors)
    assert cosine_matrix(vectors[3]).tobytes() == whole[3].tobytes()
    pair = cosine_matrix(vectors[3, [5, 28]])
    assert pair[0, 1] == whole[3, 5, 28]
    order = np.random.default_rng(12).permutation(30)
    shuffled = cosine_matrix(vectors[3, order])
    assert shuffled.tobytes() == whole[3][np.ix_(order, order)].tobytes()


def test_the_length_of_a_vector_does_not_matter_up_to_the_ends_of_the_range():
    direction = np.array([[0.6, 0.8], [1.0, 0.0]])
    for length in (1e-300, 2.0**-20, 1e300):
        assert cosine_matrix(direction * length)[0, 1] == pytest.approx(0.6, rel=1e-13)


def test_the_objective_weighs_relevance_against_the_nearest_pick():
    assert mmr_objective(0.8, 0.5, lambda_=[1.0, 0.0]).tolist() == [0.8, -0.5]
    # 0.5 * 0.8 - 0.5 * 0.6
    assert mmr_objective(0.8, 0.6, lambda_=0.5) == pytest.approx(0.1, rel=1e-12)
    with pytest.raises(ParameterError, match=r"nearest must lie in"):
        mmr_objective(0.8, 1.5, lambda_=0.5)
