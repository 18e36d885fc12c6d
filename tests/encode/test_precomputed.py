from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from recalltune.encode import encoder
from recalltune.errors import ContractError, ParameterError, SourceError
from recalltune.store.texts import text_hash

TEXTS = ["red fox", "blue whale"]
VECTORS = np.array([[3.0, 4.0], [0.0, 2.0]], dtype=np.float32)
UNIT = [[0.6, 0.8], [0.0, 1.0]]


def save_npz(path, **arrays):
    np.savez(path, **arrays)
    return f"precomputed:{path}"


def save_parquet(path, frame):
    frame.write_parquet(path)
    return f"precomputed:{path}"


def test_vectors_of_an_npz_are_found_by_text_and_scaled_to_length_one(tmp_path):
    found = encoder(save_npz(tmp_path / "v.npz", text=np.array(TEXTS), vector=VECTORS))
    assert found.dim == 2
    np.testing.assert_allclose(found.encode(TEXTS[::-1], "passage"), UNIT[::-1], rtol=1e-6)


def test_vectors_of_a_parquet_are_found_by_hash(tmp_path):
    frame = pl.DataFrame({"text_hash": map(text_hash, TEXTS), "vector": VECTORS.tolist()})
    found = encoder(save_parquet(tmp_path / "v.parquet", frame))
    np.testing.assert_allclose(found.encode(TEXTS, "query"), UNIT, rtol=1e-6)


def test_nothing_in_gives_no_rows_of_the_right_width(tmp_path):
    found = encoder(save_npz(tmp_path / "v.npz", text=np.array(TEXTS), vector=VECTORS))
    assert found.encode([], "query").shape == (0, 2)


def test_missing_texts_are_counted_and_the_first_is_named(tmp_path):
    found = encoder(save_npz(tmp_path / "v.npz", text=np.array(TEXTS), vector=VECTORS))
    with pytest.raises(ContractError, match="2 of 3 have no vector, first 'lynx'"):
        found.encode(["red fox", "lynx", "owl"], "passage")


def test_a_text_without_a_word_needs_no_vector(tmp_path):
    found = encoder(save_npz(tmp_path / "v.npz", text=np.array(TEXTS), vector=VECTORS))
    assert not found.encode(["..."], "passage").any()


def test_queries_and_passages_may_have_vectors_of_their_own(tmp_path):
    arrays = {
        "text": np.array(["red fox", "red fox"]),
        "kind": np.array(["query", "passage"]),
        "vector": np.array([[1.0, 0.0], [0.0, 1.0]]),
    }
    found = encoder(save_npz(tmp_path / "v.npz", **arrays))
    assert found.encode(["red fox"], "query").tolist() == [[1.0, 0.0]]
    assert found.encode(["red fox"], "passage").tolist() == [[0.0, 1.0]]
    assert found.id_of("query") != found.id_of("passage")


def test_the_file_is_part_of_the_identity(tmp_path):
    one = encoder(save_npz(tmp_path / "v.npz", text=np.array(TEXTS), vector=VECTORS))
    before = one.encoder_id
    two = encoder(save_npz(tmp_path / "v.npz", text=np.array(TEXTS), vector=2 * VECTORS[::-1]))
    assert before != two.encoder_id


def test_vectors_of_two_models_in_one_file_are_refused_though_equally_wide(tmp_path):
    made_by = np.array(["A"] * 3 + ["B"])
    arrays = {"text": np.array(list("abcd")), "vector": np.ones((4, 384)), "encoder_id": made_by}
    with pytest.raises(SourceError, match=r"one model, got A \(3\), B \(1\), all 384-d"):
        encoder(save_npz(tmp_path / "v.npz", **arrays))


def test_mixed_widths_are_refused_with_both(tmp_path):
    frame = pl.DataFrame({"text": TEXTS, "vector": [[1.0, 2.0, 3.0], [1.0, 2.0]]})
    with pytest.raises(SourceError, match=r"one width, got \[2, 3\]"):
        encoder(save_parquet(tmp_path / "v.parquet", frame))


def test_a_pickled_object_in_an_npz_is_never_loaded(tmp_path):
    arrays = {"text": np.array(TEXTS, dtype=object), "vector": VECTORS}
    with pytest.raises(SourceError, match="no pickled objects"):
        encoder(save_npz(tmp_path / "v.npz", **arrays))


def test_a_file_that_is_not_an_archive_is_refused(tmp_path):
    (tmp_path / "v.npz").write_bytes(b"not a zip")
    with pytest.raises(SourceError, match=r"v\.npz:1:"):
        encoder(f"precomputed:{tmp_path / 'v.npz'}")


def test_a_file_without_a_text_to_find_by_is_refused(tmp_path):
    with pytest.raises(SourceError, match="text_hash or text, got"):
        encoder(save_npz(tmp_path / "v.npz", id=np.array(["a", "b"]), vector=VECTORS))


def test_an_unknown_column_is_refused_with_the_nearest(tmp_path):
    with pytest.raises(SourceError, match="unknown column 'vectors'; nearest: 'vector'"):
        encoder(save_npz(tmp_path / "v.npz", text=np.array(TEXTS), vectors=VECTORS))


def test_a_value_that_is_not_finite_is_refused_with_its_row(tmp_path):
    broken = VECTORS.copy()
    broken[1, 0] = np.inf
    with pytest.raises(SourceError, match=r"v\.npz:2: vector must be finite, 1 of 2"):
        encoder(save_npz(tmp_path / "v.npz", text=np.array(TEXTS), vector=broken))


def test_one_text_with_two_vectors_is_refused_with_both_ids(tmp_path):
    arrays = {"id": np.array(["m1", "m2"]), "text": np.array(["fox", "fox"]), "vector": VECTORS}
    with pytest.raises(SourceError, match="m2 has the text of m1, another vector"):
        encoder(save_npz(tmp_path / "v.npz", **arrays))


@pytest.mark.parametrize("name", ["precomputed", "precomputed:", "precomputed:gone.npz"])
def test_a_file_has_to_be_named_and_to_exist(name):
    with pytest.raises(ParameterError, match=r"existing \.parquet or \.npz"):
        encoder(name)
