"""Vectors made elsewhere, read from one ``.parquet`` or ``.npz`` file and looked up by text."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recalltune.encode.contract import Kind, Lengths, has_words, identity, unit_rows
from recalltune.errors import ContractError, ParameterError, SourceError, nearest
from recalltune.store.texts import text_hash

__all__ = ["Precomputed"]

_COLUMNS = {"vector", "text_hash", "text", "id", "kind", "encoder_id"}
_Key = tuple[str, str]


class Precomputed:
    """An encoder that looks vectors up instead of computing them.

    Parameters
    ----------
    file
        Columns (Parquet) or arrays (npz): ``vector`` (n, dim), and ``text_hash`` or ``text`` to
        find it by. Optional: ``id`` (named in messages), ``kind`` (``query`` or ``passage``, where
        the model had prompts), ``encoder_id`` (one value: the model that made the vectors).

    Raises
    ------
    ParameterError
        If there is no such file, or it ends in neither ``.parquet`` nor ``.npz``.
    SourceError
        If a column is missing, widths or models are mixed, a value is not finite, or one text has
        two vectors.
    """

    def __init__(self, file: str) -> None:
        path = Path(file).expanduser()
        if path.suffix not in {".parquet", ".npz"} or not path.is_file():
            msg = f"precomputed must name an existing .parquet or .npz file, got {file!r}"
            raise ParameterError(msg)
        self._file = path.name
        columns = _read_npz(path) if path.suffix == ".npz" else _read_parquet(path)
        vectors = _vectors(path, columns)
        self._made_by = _one_model(path, columns, vectors)
        self._has_kinds = "kind" in columns
        self._places = _places(path, columns, vectors)
        self._vectors = vectors
        with path.open("rb") as handle:
            self._revision = hashlib.file_digest(handle, "sha256").hexdigest()[:12]

    @property
    def dim(self) -> int:
        """Width of the vectors in the file."""
        return int(self._vectors.shape[1])

    @property
    def encoder_id(self) -> str:
        """Identity: the model the file names, else the file's name, with a digest of the file."""
        if self._has_kinds:
            return self._identity({"query": "as given", "passage": "as given"})
        return self._identity("as given")

    def id_of(self, kind: Kind) -> str:
        """Identity of the vectors of one kind."""
        return self._identity(f"{kind} as given" if self._has_kinds else "as given")

    def encode(self, texts: Sequence[str], kind: Kind) -> NDArray[np.float32]:
        """Unit rows, shape (n, dim); see `recalltune.encode.Encoder`.

        Raises
        ------
        ContractError
            If a text with a word in it has no vector; says how many and the first.
        """
        side = kind if self._has_kinds else ""
        found = [self._places.get((text_hash(text), side), -1) for text in texts]
        missing = [t for t, place in zip(texts, found, strict=True) if place < 0 and has_words(t)]
        if missing:
            msg = (
                f"precomputed:{self._file} must hold every {kind}: {len(missing)} of {len(texts)} "
                f"have no vector, first {missing[0][:60]!r} (text_hash {text_hash(missing[0])})"
            )
            raise ContractError(msg)
        rows = np.zeros((len(texts), self.dim), dtype=np.float32)
        known = [place >= 0 for place in found]
        rows[known] = self._vectors[[place for place in found if place >= 0]]
        return unit_rows(rows, texts, dim=self.dim, encoder_id=self.encoder_id)

    def lengths(self, texts: Sequence[str], kind: Kind) -> Lengths | None:
        """Unknown: a file of vectors does not tell what its model cut."""
        return None

    def _identity(self, prompt: str | dict[Kind, str]) -> str:
        name = self._made_by or f"precomputed:{self._file}"
        return identity(name, self._revision, prompt=prompt, dim=self.dim)


def _read_npz(path: Path) -> dict[str, NDArray[Any]]:
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        msg = f"{path}:1: must be an npz of plain arrays (no pickled objects): {error}"
        raise SourceError(msg) from None


def _read_parquet(path: Path) -> dict[str, NDArray[Any]]:
    try:
        frame = pl.read_parquet(path)
        if isinstance(frame.schema.get("vector"), pl.List):
            frame = frame.with_columns(pl.col("vector").list.to_array(_one_width(path, frame)))
    except (pl.exceptions.PolarsError, OSError) as error:
        msg = f"{path}:1: must be a Parquet file with a vector column: {error}"
        raise SourceError(msg) from None
    return {name: frame[name].to_numpy() for name in frame.columns}


def _one_width(path: Path, frame: pl.DataFrame) -> int:
    """Width of all vectors of a file; the first that is missing or has another one is named."""
    lengths = frame["vector"].list.len()
    widths = lengths.unique().sort().to_list()
    if len(widths) > 1:
        usual = lengths.drop_nulls().mode().max()
        row = int((lengths.ne_missing(usual)).arg_true()[0])
        name = f", first {frame['id'][row]}" if "id" in frame.columns else ""
        msg = f"{path}:{row + 1}: vectors must have one width, got {widths}{name}"
        raise SourceError(msg)
    return int(widths[0] or 1) if widths else 1


def _vectors(path: Path, columns: dict[str, NDArray[Any]]) -> NDArray[np.float32]:
    for name in columns:
        if name not in _COLUMNS:
            msg = f"{path}:1: unknown column {name!r}; {nearest(name, _COLUMNS)}"
            raise SourceError(msg)
    if "vector" not in columns or not columns.keys() & {"text_hash", "text"}:
        msg = f"{path}:1: must have vector and text_hash or text, got {sorted(columns)}"
        raise SourceError(msg)
    vectors = columns["vector"]
    if vectors.ndim != 2 or vectors.dtype.kind != "f" or vectors.shape[1] == 0:
        msg = f"{path}:1: vector must be (n, dim) floats, got {vectors.shape} {vectors.dtype}"
        raise SourceError(msg)
    n = len(vectors)
    uneven = {name: v.shape for name, v in columns.items() if name != "encoder_id" and len(v) != n}
    if uneven:
        msg = f"{path}:1: every column must have {n} rows like vector, got {uneven}"
        raise SourceError(msg)
    broken = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if broken.size:
        msg = f"{path}:{broken[0] + 1}: vector must be finite, {broken.size} of {n} are not"
        raise SourceError(msg)
    return vectors.astype(np.float32)


def _one_model(
    path: Path, columns: dict[str, NDArray[Any]], vectors: NDArray[np.float32]
) -> str | None:
    if "encoder_id" not in columns:
        return None
    made_by, counts = np.unique(
        np.atleast_1d(columns["encoder_id"]).astype(str), return_counts=True
    )
    if len(made_by) != 1:
        mixed = ", ".join(f"{m} ({c})" for m, c in zip(made_by, counts, strict=True))
        msg = f"{path}:1: vectors must come from one model, got {mixed}, all {vectors.shape[1]}-d"
        raise SourceError(msg)
    return str(made_by[0])


def _places(
    path: Path, columns: dict[str, NDArray[Any]], vectors: NDArray[np.float32]
) -> dict[_Key, int]:
    n = len(vectors)
    if "text_hash" in columns:
        hashes = [str(value) for value in columns["text_hash"]]
    else:
        hashes = [text_hash(str(value)) for value in columns["text"]]
    sides = [str(value) for value in columns.get("kind", np.full(n, ""))]
    if wrong := sorted(set(sides) - {"", "query", "passage"}):
        msg = f"{path}:1: kind must be query or passage, got {wrong[0]!r}"
        raise SourceError(msg)
    ids = columns.get("id", np.arange(n))
    places: dict[_Key, int] = {}
    for place, key in enumerate(zip(hashes, sides, strict=True)):
        first = places.setdefault(key, place)
        if first != place and not np.array_equal(vectors[first], vectors[place]):
            msg = f"{path}:{place + 1}: {ids[place]} has the text of {ids[first]}, another vector"
            raise SourceError(msg)
    return places
