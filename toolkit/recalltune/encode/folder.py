"""A model folder: what may be loaded from it, and what its files tell without loading it.

A folder is data from strangers. Nothing in it may run: no pickled weights, no module class from
outside sentence-transformers, no file outside the folder.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from recalltune.encode.contract import Kind
from recalltune.errors import ParameterError, RecalltuneError, SourceError

__all__ = ["ModelFolder", "model_folder"]

_PICKLED = {".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt", ".joblib", ".npy"}
_CLASS = re.compile(r"sentence_transformers(\.[A-Za-z]\w*)+")
_ACTIVATION = re.compile(r"torch\.nn\.modules\.[a-z]+\.[A-Za-z0-9]+")
_TANH = "torch.nn.modules.activation.Tanh"
_SHARD = re.compile(r"[\w.-]+\.safetensors")
_MAX_PARTS = 64
_MAX_CONFIG_BYTES = 16 * 2**20
_PASSAGE_PROMPTS = ("document", "passage", "corpus")


@dataclass(frozen=True)
class ModelFolder:
    """A folder that passed the checks."""

    path: Path
    name: str
    revision: str
    """First 12 hex digits of a digest over every file: edited weights are another model."""
    prompts: Mapping[Kind, str]
    routed: bool
    """Whether queries and passages take different ways through the model."""
    dim: int | None
    """Width as the files tell it; None where only loading can."""
    max_tokens: int | None
    tokenizer: Path | None
    """A ``tokenizer.json`` that can count tokens without loading the model."""


def model_folder(path: Path, *, name: str | None = None, root: Path | None = None) -> ModelFolder:
    """Check a sentence-transformers folder and read what identifies it.

    Parameters
    ----------
    path
        The folder.
    name
        How the model is called in ids; default: the folder's own name.
    root
        Where links may point to; default: the folder itself.

    Raises
    ------
    ParameterError
        If it is not in sentence-transformers format, holds weights only as pickles, names code
        outside sentence-transformers, or a link leaves ``root``.
    """
    folder = path.resolve()
    files = _files(folder, (root or folder).resolve())
    if "modules.json" not in files:
        msg = f"{folder} must be a sentence-transformers folder: it has no modules.json"
        raise ParameterError(msg)
    try:
        _refuse_pickles(folder, files)
        modules = _modules(folder)
        config = _config(folder, "config_sentence_transformers.json")
        first = folder / modules[0]["path"]
        dim, limit, prompts = _width(folder, modules), _limit(first), _prompts(config)
    except RecalltuneError:
        raise
    except (AttributeError, TypeError, KeyError, ValueError) as error:
        msg = f"{folder / 'modules.json'}:1: a configuration has a value of another type ({error})"
        raise SourceError(msg) from None
    counted = first / "tokenizer.json"
    return ModelFolder(
        path=folder,
        name=name or folder.name,
        revision=_digest(files),
        prompts=prompts,
        routed=any(module["type"].endswith(".Router") for module in modules),
        dim=dim,
        max_tokens=limit,
        tokenizer=counted if counted.exists() else None,
    )


def _files(folder: Path, root: Path) -> dict[str, Path]:
    found = {}
    for path in sorted(folder.rglob("*")):
        if not path.resolve().is_relative_to(root):
            msg = f"{path} must stay inside the model folder, links to {path.resolve()}"
            raise ParameterError(msg)
        if path.is_file():
            found[path.relative_to(folder).as_posix()] = path
    return found


def _refuse_pickles(folder: Path, files: Mapping[str, Path]) -> None:
    safe = {PurePosixPath(name).parent for name in files if name.endswith(".safetensors")}
    unsafe = [
        name
        for name in files
        if PurePosixPath(name).suffix in _PICKLED and PurePosixPath(name).parent not in safe
    ]
    if unsafe or not safe:
        seen = ", ".join(unsafe[:3]) or "no weights at all"
        msg = f"{folder} must hold its weights as .safetensors, got {seen}; pickles can run code"
        raise ParameterError(msg)
    if "adapter_config.json" in files:
        msg = f"{folder} is an adapter of another model (adapter_config.json): merge it first"
        raise ParameterError(msg)
    for name in files:
        if name.endswith(".safetensors.index.json"):
            shards = map(str, _config(folder, name).get("weight_map", {}).values())
            foreign = [shard for shard in shards if not _SHARD.fullmatch(shard)]
            _refuse(name, ".safetensors files beside it", foreign)


def _modules(folder: Path) -> list[dict[str, Any]]:
    modules = _read(folder / "modules.json")
    if not (isinstance(modules, list) and modules and all(isinstance(m, dict) for m in modules)):
        msg = f"{folder / 'modules.json'}:1: must be a list of modules"
        raise SourceError(msg)
    parts = [(str(m.setdefault("path", "")), str(m.get("type"))) for m in modules]
    for path, name in parts:  # grows while it is walked: a router's parts may be routers
        if len(parts) > _MAX_PARTS:
            msg = f"{folder} must have at most {_MAX_PARTS} modules, its routers lead to more"
            raise ParameterError(msg)
        if not (folder / path).resolve().is_relative_to(folder):
            _refuse("modules.json", "folders inside the model", [path])
        if not _CLASS.fullmatch(name):
            _refuse("modules.json", "classes of sentence-transformers", [name])
        config = _config(folder / path, "config.json")
        if name.endswith(".Router"):
            routes = _config(folder / path, "router_config.json") or config
            types = routes.get("types", {})
            parts += [(f"{path}/{part}".lstrip("/"), str(cls)) for part, cls in types.items()]
        activation = str(config.get("activation_function", _TANH))
        if name.endswith(".Dense") and not _ACTIVATION.fullmatch(activation):
            # The loader would warn and put tanh in its place: other numbers without an error.
            _refuse("activation_function", "a module of torch.nn", [activation])
    return modules


def _refuse(where: str, allowed: str, foreign: list[str]) -> None:
    if foreign:
        msg = f"{where} must name {allowed}, got {foreign[0]!r}"
        raise ParameterError(msg)


def _prompts(config: Mapping[str, Any]) -> dict[Kind, str]:
    told = {name: text for name, text in (config.get("prompts") or {}).items() if text}
    # The first that is not empty: the library adds an empty document prompt to every model.
    passage = next((told[name] for name in _PASSAGE_PROMPTS if name in told), "")
    return {"query": str(told.get("query", "")), "passage": str(passage)}


def _width(folder: Path, modules: list[dict[str, Any]]) -> int | None:
    for module in reversed(modules):
        config = _config(folder / module["path"], "config.json")
        kind = str(module["type"]).rsplit(".", 1)[-1]
        if kind == "Dense":
            return int(config["out_features"]) if "out_features" in config else None
        if kind == "Pooling":
            modes = [key for key, on in config.items() if key.startswith("pooling_mode_") and on]
            dim = config.get("word_embedding_dimension")
            return int(dim) if dim is not None and len(modes) == 1 else None
        if kind != "Normalize":
            return None
    return None


def _limit(first: Path) -> int | None:
    told = _config(first, "sentence_bert_config.json").get("max_seq_length")
    if told is not None:
        return int(told)
    tokens = _config(first, "tokenizer_config.json").get("model_max_length")
    places = _config(first, "config.json").get("max_position_embeddings")
    # Tokenisers without a limit write 1e30.
    limits = [int(n) for n in (tokens, places) if n is not None and 0 < n < 1e9]
    return min(limits, default=None)


def _config(folder: Path, name: str) -> dict[str, Any]:
    path = folder / name
    told = _read(path) if path.is_file() else {}
    if not isinstance(told, dict):
        msg = f"{path}:1: must be a JSON object"
        raise SourceError(msg)
    return told


def _read(path: Path) -> Any:
    if (size := path.stat().st_size) > _MAX_CONFIG_BYTES:
        msg = f"{path}:1: must be at most {_MAX_CONFIG_BYTES} bytes, has {size}"
        raise SourceError(msg)
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        msg = f"{path}:{getattr(error, 'lineno', 1)}: not JSON ({error})"
        raise SourceError(msg) from None


def _digest(files: Mapping[str, Path]) -> str:
    whole = hashlib.sha256()
    for name, path in files.items():
        with path.open("rb") as handle:
            whole.update(f"{name}\0{hashlib.file_digest(handle, 'sha256').hexdigest()}\n".encode())
    return whole.hexdigest()[:12]
