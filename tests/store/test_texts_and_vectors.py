"""Texts stored once under their hash; vectors stored once under (encoder, text)."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalltune import store
from recalltune.errors import ContractError

THREE = np.eye(3, dtype=np.float32)


def test_a_text_is_stored_once_under_the_hash_of_its_bytes(con):
    hashes = store.put_texts(con, ["café", "b", "café"])
    assert hashes[0] == hashlib.sha256("café".encode()).hexdigest() == hashes[2]
    store.put_texts(con, ["b", "c"])
    assert sorted(store.read_table(con, "text")["text"]) == ["b", "c", "café"]


def test_a_lone_surrogate_is_refused_before_the_database_sees_it(con):
    with pytest.raises(ContractError, match="lone surrogate"):
        store.put_texts(con, ["half \ud83d"])


@given(st.text(max_size=60), st.text(max_size=60))
def test_token_estimates_never_fall_when_text_is_added(first: str, second: str):
    whole = store.estimate_tokens(first + second)
    assert whole >= max(store.estimate_tokens(first), store.estimate_tokens(second))
    assert whole <= store.estimate_tokens(first) + store.estimate_tokens(second)


def test_vectors_come_back_bit_for_bit_and_missing_ones_are_marked(con):
    rng = np.random.default_rng(7)
    vectors = rng.normal(size=(4, 5)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    hashes = [store.text_hash(text) for text in "abcd"]
    assert store.put_vectors(con, "e", hashes, vectors) == 4
    wanted = [hashes[2], store.text_hash("z"), hashes[0], hashes[2]]
    found, read = store.get_vectors(con, "e", wanted)
    assert found.tolist() == [True, False, True, True]
    expected = np.stack([vectors[2], np.zeros(5, np.float32), vectors[0], vectors[2]])
    assert read.tobytes() == expected.tobytes()


def test_bug_31_the_same_text_under_five_encoders_has_five_vectors(con):
    names = ["M1", "M2", "M1 prefix query:", "M1 normalised", "M1 r2"]
    for name in names:
        assert store.put_vectors(con, name, ["h"], THREE[:1]) == 1
    assert sum(store.put_vectors(con, name, ["h"], THREE[:1]) for name in names) == 0


def test_a_cached_vector_is_the_truth_and_is_not_replaced(con):
    store.put_vectors(con, "e", ["h"], THREE[:1])
    store.put_vectors(con, "e", ["h"], THREE[1:2])
    assert store.get_vectors(con, "e", ["h"])[1].tolist() == [[1.0, 0.0, 0.0]]


def test_bug_30_another_width_names_both_widths_and_both_encoders(con):
    store.put_vectors(con, "small", ["h"], THREE[:1])
    store.put_vectors(con, "large", ["h"], np.eye(4, dtype=np.float32)[:1])
    expected = "'small' holds vectors of width 3, got width 4.*'large'"
    with pytest.raises(ContractError, match=expected):
        store.put_vectors(con, "small", ["g"], np.eye(4, dtype=np.float32)[:1])


def test_bug_29_a_zero_vector_is_kept_as_zero_and_nan_is_refused(con):
    store.put_vectors(con, "e", ["silent"], np.zeros((1, 3), dtype=np.float32))
    found, read = store.get_vectors(con, "e", ["silent"])
    assert found.all()
    assert not read.any()
    with pytest.raises(ContractError, match=r"finite and of length 1.*for text bad"):
        store.put_vectors(con, "e", ["bad"], np.full((1, 3), np.nan, dtype=np.float32))
    with pytest.raises(ContractError, match="length 2 for text long"):
        store.put_vectors(con, "e", ["long"], 2 * THREE[:1])


def test_bug_117_a_ragged_batch_is_refused_with_both_shapes(con):
    """O117. Kind: ragged or numpy values into DuckDB."""
    with pytest.raises(ContractError, match=r"shape \(3, d >= 1\), got \(2, 3\)"):
        store.put_vectors(con, "e", ["a", "b", "c"], THREE[:2])


def test_an_encoder_without_vectors_has_width_zero(con):
    found, read = store.get_vectors(con, "nobody", ["h"])
    assert (found.tolist(), read.shape) == ([False], (1, 0))


def test_the_vector_digest_ignores_order_and_sees_every_bit(con):
    store.put_vectors(con, "e", ["a", "b"], THREE[:2])
    one = store.vector_digest(con, "e")
    con.execute("delete from vector")
    store.put_vectors(con, "e", ["b", "a"], THREE[[1, 0]])
    assert store.vector_digest(con, "e") == one
    con.execute("delete from vector")
    store.put_vectors(con, "e", ["b", "a"], THREE[[1, 2]])
    assert store.vector_digest(con, "e") != one
