from __future__ import annotations

import json
import shutil

import pytest

from recalltune.encode.folder import model_folder
from recalltune.errors import ParameterError, SourceError

ST = "sentence_transformers.models"


@pytest.fixture
def folder(tmp_path):
    """A folder with the shape of a model, and nothing a loader could use."""
    path = tmp_path / "toy"
    modules = [
        {"idx": 0, "name": "0", "path": "", "type": f"{ST}.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Pooling", "type": f"{ST}.Pooling"},
        {"idx": 2, "name": "2", "path": "2_Normalize", "type": f"{ST}.Normalize"},
    ]
    write(path / "modules.json", modules)
    pooling = {"word_embedding_dimension": 8, "pooling_mode_mean_tokens": True}
    write(path / "1_Pooling/config.json", pooling)
    write(path / "sentence_bert_config.json", {"max_seq_length": 256})
    (path / "model.safetensors").write_bytes(b"weights")
    return path


def write(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")


def with_module(folder, **module):
    modules = json.loads((folder / "modules.json").read_text())
    write(folder / "modules.json", [*modules, {"idx": 3, "name": "3", **module}])


def test_a_folder_tells_width_limit_and_prompts_without_being_loaded(folder):
    write(
        folder / "config_sentence_transformers.json",
        {"prompts": {"query": "query: ", "passage": "passage: ", "document": ""}},
    )
    facts = model_folder(folder)
    assert (facts.dim, facts.max_tokens, facts.routed) == (8, 256, False)
    assert facts.prompts == {"query": "query: ", "passage": "passage: "}


def test_the_document_prompt_wins_over_the_passage_prompt(folder):
    prompts = {"document": "doc: ", "passage": "passage: "}
    write(folder / "config_sentence_transformers.json", {"prompts": prompts})
    assert model_folder(folder).prompts["passage"] == "doc: "


def test_a_dense_layer_at_the_end_gives_the_width(folder):
    with_module(folder, path="3_Dense", type=f"{ST}.Dense")
    activation = "torch.nn.modules.activation.Tanh"
    write(folder / "3_Dense/config.json", {"out_features": 4, "activation_function": activation})
    (folder / "3_Dense/model.safetensors").write_bytes(b"w")
    assert model_folder(folder).dim == 4


def test_a_changed_weight_is_another_revision(folder):
    before = model_folder(folder).revision
    (folder / "model.safetensors").write_bytes(b"weightz")
    assert model_folder(folder).revision != before


def test_a_copy_is_the_same_revision(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "copy")
    assert model_folder(copy).revision == model_folder(folder).revision


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "weights.pkl"])
def test_weights_that_are_only_pickles_are_refused(folder, name):
    (folder / "model.safetensors").rename(folder / name)
    with pytest.raises(ParameterError, match=f"as .safetensors, got {name}"):
        model_folder(folder)


def test_a_pickle_in_one_module_is_refused_though_another_is_safe(folder):
    with_module(folder, path="3_Dense", type=f"{ST}.Dense")
    write(folder / "3_Dense/config.json", {"out_features": 4})
    (folder / "3_Dense/pytorch_model.bin").write_bytes(b"pickle")
    with pytest.raises(ParameterError, match=r"got 3_Dense/pytorch_model\.bin"):
        model_folder(folder)


def test_a_pickle_beside_the_same_weights_as_safetensors_is_never_read_and_so_accepted(folder):
    (folder / "pytorch_model.bin").write_bytes(b"pickle")
    assert model_folder(folder).dim == 8


def test_a_folder_without_weights_is_refused(folder):
    (folder / "model.safetensors").unlink()
    with pytest.raises(ParameterError, match="no weights at all"):
        model_folder(folder)


@pytest.mark.parametrize(
    "foreign",
    [
        "custom_model.Evil",
        "os.system",
        "sentence_transformers",
        "sentence_transformers_evil.Model",
        "sentence_transformers.._x.Y",
        "",
    ],
)
def test_a_module_class_from_elsewhere_is_refused(folder, foreign):
    with_module(folder, path="3_X", type=foreign)
    with pytest.raises(ParameterError, match="classes of sentence-transformers"):
        model_folder(folder)


def test_a_route_to_a_class_from_elsewhere_is_refused(folder):
    with_module(folder, path="3_R", type=f"{ST}.Router")
    write(folder / "3_R/router_config.json", {"types": {"query_0": "evil.Model"}})
    with pytest.raises(ParameterError, match=r"got 'evil\.Model'"):
        model_folder(folder)


def test_a_dense_layer_behind_a_router_is_checked_like_any_other(folder):
    with_module(folder, path="3_R", type=f"{ST}.Router")
    write(folder / "3_R/router_config.json", {"types": {"query_0": f"{ST}.Dense"}})
    write(folder / "3_R/query_0/config.json", {"activation_function": "evil.Relu"})
    with pytest.raises(ParameterError, match=r"torch\.nn, got 'evil\.Relu'"):
        model_folder(folder)


def test_a_router_that_routes_to_itself_is_refused(folder):
    with_module(folder, path="3_R", type=f"{ST}.Router")
    write(folder / "3_R/router_config.json", {"types": {".": f"{ST}.Router"}})
    with pytest.raises(ParameterError, match="routers"):
        model_folder(folder)


def test_an_activation_from_elsewhere_is_refused_rather_than_replaced_by_tanh(folder):
    with_module(folder, path="3_Dense", type=f"{ST}.Dense")
    write(folder / "3_Dense/config.json", {"activation_function": "evil.Relu", "out_features": 4})
    with pytest.raises(ParameterError, match=r"activation_function.*got 'evil\.Relu'"):
        model_folder(folder)


@pytest.mark.parametrize("path", ["../outside", "/etc", "1_Pooling/../../outside"])
def test_a_module_path_that_leaves_the_folder_is_refused(folder, path):
    with_module(folder, path=path, type=f"{ST}.Normalize")
    with pytest.raises(ParameterError, match=r"modules\.json"):
        model_folder(folder)


def test_a_link_that_leaves_the_folder_is_refused(folder, tmp_path):
    secret = tmp_path / "secret.safetensors"
    secret.write_bytes(b"other")
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors").symlink_to(secret)
    with pytest.raises(ParameterError, match="must stay inside the model folder"):
        model_folder(folder)


def test_the_links_of_a_hub_cache_stay_inside_its_root(folder, tmp_path):
    blobs, snapshots = tmp_path / "repo/blobs", tmp_path / "repo/snapshots"
    blobs.mkdir(parents=True)
    snapshots.mkdir()
    commit = shutil.move(folder, snapshots / "abc")
    (commit / "model.safetensors").rename(blobs / "1")
    (commit / "model.safetensors").symlink_to("../../blobs/1")
    assert model_folder(commit, name="owner/model", root=tmp_path / "repo").name == "owner/model"
    with pytest.raises(ParameterError, match="must stay inside"):
        model_folder(commit)


def test_shards_may_not_point_out_of_the_folder(folder):
    write(folder / "model.safetensors.index.json", {"weight_map": {"a": "../x.safetensors"}})
    with pytest.raises(ParameterError, match=r"\.\./x\.safetensors"):
        model_folder(folder)


def test_an_adapter_is_refused_because_it_loads_another_model(folder):
    write(folder / "adapter_config.json", {"base_model_name_or_path": "someone/else"})
    with pytest.raises(ParameterError, match="merge it first"):
        model_folder(folder)


def test_a_plain_folder_is_refused_instead_of_guessing_a_pooling(folder):
    (folder / "modules.json").unlink()
    with pytest.raises(ParameterError, match=r"no modules\.json"):
        model_folder(folder)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("config_sentence_transformers.json", {"prompts": ["query: "]}),
        ("1_Pooling/router_config.json", {"types": []}),
        ("sentence_bert_config.json", {"max_seq_length": [1]}),
        ("sentence_bert_config.json", {"max_seq_length": "long"}),
        ("sentence_bert_config.json", []),
        ("model.safetensors.index.json", {"weight_map": ["x"]}),
    ],
)
def test_a_configuration_of_another_shape_is_a_finding_not_a_crash(folder, name, value):
    with_module(folder, path="1_Pooling", type=f"{ST}.Router")
    write(folder / name, value)
    with pytest.raises(SourceError, match=r"\.json:1:"):
        model_folder(folder)


def test_broken_json_is_reported_with_its_line(folder):
    (folder / "modules.json").write_text("[\n{]")
    with pytest.raises(SourceError, match=r"modules\.json:2: not JSON"):
        model_folder(folder)


def test_two_pooling_modes_leave_the_width_to_the_loaded_model(folder):
    both = {"pooling_mode_mean_tokens": True, "pooling_mode_max_tokens": True}
    write(folder / "1_Pooling/config.json", {"word_embedding_dimension": 8, **both})
    assert model_folder(folder).dim is None
