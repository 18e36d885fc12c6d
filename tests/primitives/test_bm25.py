"""BM25: hand-worked scores, and that nothing outside the world reaches a score."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalltune.errors import ParameterError
from recalltune.rank.bm25 import PostingIndex, idf, score_terms

WORDS = st.sampled_from(["ant", "bee", "cat", "dog", "检索", "Ω"])
DOCS = st.lists(st.lists(WORDS, max_size=8), max_size=10)
QUERY = st.lists(WORDS, max_size=6)
K1 = st.sampled_from([0.0, 0.4, 1.2, 3.0])
B = st.sampled_from([0.0, 0.3, 0.75, 1.0])


def scores(docs, query, **parameters):
    return PostingIndex.build([doc.split() for doc in docs]).scores(query.split(), **parameters)


def rebuilt(docs, query, k1, b):
    """BM25 in plain Python, one document and one term at a time."""
    n = len(docs)
    average = sum(map(len, docs)) / n if any(docs) else 1.0
    result = []
    for doc in docs:
        total = 0.0
        for term in sorted(set(query), key=lambda t: t.encode()):
            df = sum(term in other for other in docs)
            tf = doc.count(term)
            if tf:
                weight = float(idf(n, df)) * query.count(term)
                total += (
                    (weight * (k1 + 1.0))
                    * tf
                    / (tf + (k1 * (1.0 - b) + k1 * b / average * len(doc)))
                )
        result.append(total)
    return result


@pytest.mark.parametrize(
    ("docs", "query", "expected"),
    [
        # N 2, df 1 and 2, average length 2: ln 2 and ln 1.2, length 3 against 2 and 1.
        (
            ["ant bee bee", "bee"],
            "ant bee",
            [
                math.log(2) * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 1.5))
                + math.log(1.2) * 2.2 * 2 / (2 + 1.2 * (0.25 + 0.75 * 1.5)),
                math.log(1.2) * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 0.5)),
            ],
        ),
        (["ant bee", "cat"], "dog", [0, 0]),
        (["ant"], "", [0]),
    ],
)
def test_scores_worked_by_hand(docs, query, expected):
    np.testing.assert_allclose(scores(docs, query), expected, rtol=1e-15, atol=0)


def test_a_word_asked_for_twice_counts_twice():
    once = scores(["ant bee", "cat"], "ant")
    assert scores(["ant bee", "cat"], "ant ant").tolist() == (2 * once).tolist()


def test_a_word_in_every_text_still_weighs_more_than_nothing():
    assert (idf(5, np.arange(6)) > 0).all()
    assert float(idf(3, 3)) == pytest.approx(math.log(8 / 7), rel=1e-15)


@given(DOCS, QUERY, K1, B)
def test_scores_equal_a_rebuild_in_plain_python_bit_for_bit(docs, query, k1, b):
    found = PostingIndex.build(docs).scores(query, k1=k1, b=b)
    assert found.tolist() == rebuilt(docs, query, k1, b)


@given(DOCS, QUERY, K1, B, st.data())
def test_a_world_scores_as_if_nothing_else_were_indexed(docs, query, k1, b, data):
    world = np.array(data.draw(st.lists(st.booleans(), min_size=len(docs), max_size=len(docs))))
    world = world.astype(bool)
    found = PostingIndex.build(docs).scores(query, k1=k1, b=b, world=world)
    inside = [doc for doc, here in zip(docs, world, strict=True) if here]
    assert found[world].tolist() == PostingIndex.build(inside).scores(query, k1=k1, b=b).tolist()
    assert not found[~world].any()


@given(DOCS, DOCS, QUERY, st.data())
def test_hidden_texts_may_say_anything(docs, hidden, query, data):
    mixed = [(doc, True) for doc in docs] + [(doc, False) for doc in hidden]
    mixed = data.draw(st.permutations(mixed))
    world = np.array([here for _, here in mixed], dtype=bool)
    found = PostingIndex.build([doc for doc, _ in mixed]).scores(query, world=world)
    alone = PostingIndex.build([doc for doc, here in mixed if here]).scores(query)
    assert found[world].tolist() == alone.tolist()


@given(DOCS, QUERY, st.randoms(use_true_random=False))
def test_the_order_of_the_words_of_a_query_changes_no_bit(docs, query, random):
    index = PostingIndex.build(docs)
    shuffled = random.sample(query, len(query))
    assert index.scores(query).tolist() == index.scores(shuffled).tolist()


@given(DOCS, QUERY, st.data())
def test_stored_term_frequencies_give_the_same_bits_for_any_k1_and_b(docs, query, data):
    index = PostingIndex.build(docs)
    world = np.array(data.draw(st.lists(st.booleans(), min_size=len(docs), max_size=len(docs))))
    world = world.astype(bool)
    rows = data.draw(st.permutations(np.flatnonzero(world).tolist()))
    terms = index.term_frequencies(query, np.array(rows, dtype=np.int64), world=world)
    k1, b = np.array([[0.0], [1.2], [2.5]]), np.array([0.0, 0.75, 1.0])
    grid = score_terms(terms, k1=k1, b=b)
    assert grid.shape == (3, 3, len(rows))
    for i, one_k1 in enumerate(k1[:, 0]):
        for j, one_b in enumerate(b):
            expected = index.scores(query, k1=one_k1, b=one_b, world=world)[rows]
            assert grid[i, j].tolist() == expected.tolist()


@given(st.integers(1, 200), st.integers(0, 200), st.integers(0, 200))
def test_a_rarer_word_never_weighs_less(n_docs, df, other):
    low, high = sorted([min(df, n_docs), min(other, n_docs)])
    assert idf(n_docs, low) >= idf(n_docs, high)


@given(st.integers(1, 9), st.integers(1, 9), K1, B)
def test_more_of_a_word_at_equal_length_never_scores_less(tf, more, k1, b):
    docs = [["ant"] * tf + ["bee"] * (20 - tf), ["ant"] * (tf + more) + ["bee"] * (20 - tf - more)]
    fewer, many = PostingIndex.build(docs).scores(["ant"], k1=k1, b=b)
    assert many >= fewer > 0


def test_postings_are_sorted_by_term_and_row_with_counts():
    index = PostingIndex.build([["b", "a", "b"], [], ["a"]])
    assert dict(index.terms) == {"a": 0, "b": 1}
    assert index.starts.tolist() == [0, 2, 3]
    assert index.rows.tolist() == [0, 2, 0]
    assert index.tf.tolist() == [1, 1, 2]
    assert index.lengths.tolist() == [3, 0, 1]


def test_terms_are_numbered_in_the_order_of_their_bytes():
    words = ["z", "é", "检", "\U0001f642", "Z", "\uffee"]
    index = PostingIndex.build([words])
    assert list(index.terms) == sorted(words, key=lambda word: word.encode())


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"k1": -0.1}, r"k1 must lie in \[0, inf\), got -0.1"),
        ({"k1": math.nan}, r"k1 must lie in \[0, inf\), got nan"),
        ({"b": 1.1}, r"b must lie in \[0, 1\], got 1.1"),
        ({"world": np.ones(3, bool)}, r"world must have shape \(1,\), got \(3,\)"),
        ({"world": np.ones(1, int)}, "world must be a Boolean mask"),
    ],
)
def test_a_wrong_parameter_is_named_with_its_range(parameters, message):
    with pytest.raises(ParameterError, match=message):
        scores(["ant"], "ant", **parameters)


def test_a_bare_text_is_refused_where_tokens_are_expected():
    with pytest.raises(ParameterError, match=r"docs\[1\] must be a list of tokens"):
        PostingIndex.build([["ant"], "ant"])
    with pytest.raises(ParameterError, match="query_tokens must be a list of tokens"):
        PostingIndex.build([["ant"]]).scores("ant")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([2], r"rows must lie in \[0, 1\], got 2.0 at position 0"),
        ([1], "rows must lie inside the world, got row 1"),
        ([0.0], "rows must be row numbers"),
        ([[0]], "rows must be row numbers"),
    ],
)
def test_rows_outside_the_world_cannot_be_scored(rows, message):
    index = PostingIndex.build([["ant"], ["bee"]])
    with pytest.raises(ParameterError, match=message):
        index.term_frequencies(["ant"], rows, world=np.array([True, False]))


def test_more_texts_with_a_word_than_texts_is_refused():
    with pytest.raises(ParameterError, match="n_docs - df"):
        idf(2, 3)
