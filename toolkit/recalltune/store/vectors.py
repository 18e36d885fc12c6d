"""Cached embedding vectors: the truth about a text under one encoder, stored once.

In: an encoder id, text hashes and float32 arrays. Out: the same arrays, bit for bit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import duckdb
import numpy as np
import polars as pl
from numpy.typing import NDArray

from recalltune.errors import ContractError
from recalltune.store.frames import run

__all__ = ["check_vectors", "get_vectors", "put_vectors", "vector_digest"]

_DIM = "select max(dim) from vector where encoder_id = $encoder_id"
_ENCODERS = "select distinct encoder_id, dim from vector order by encoder_id"
_INSERT = """
insert into vector by name
select incoming.* from incoming anti join vector using (encoder_id, text_hash) order by text_hash
"""
_SELECT = """
select wanted.place, vector.vector
from wanted join vector on vector.text_hash = wanted.text_hash and vector.encoder_id = $encoder_id
order by wanted.place
"""
_DIGEST = """
select text_hash, vector from vector where encoder_id = $encoder_id order by text_hash
"""


def put_vectors(
    con: duckdb.DuckDBPyConnection,
    encoder_id: str,
    text_hashes: Sequence[str],
    vectors: NDArray[np.float32],
) -> int:
    """Number of vectors added; one already cached stays as it is, for it is the truth.

    Parameters
    ----------
    con
        An open connection inside `Lab.writing`.
    encoder_id
        Model, revision, prompt, width, precision and normalisation in one name.
    text_hashes
        length n. Hashes of the texts, see `put_texts`.
    vectors
        shape (n, d), unit length or all zero (a text the encoder has nothing to say about).

    Raises
    ------
    ContractError
        If shapes disagree, a value is not finite, a row is neither unit nor zero, or the encoder's
        stored vectors have another width.
    """
    hashes = list(text_hashes)
    if not hashes:
        return 0
    check_vectors(hashes, vectors)
    dim = vectors.shape[1]
    _same_width(con, encoder_id, dim)
    rows = np.ascontiguousarray(vectors, dtype="<f4")
    blobs = {text: row.tobytes() for text, row in zip(hashes, rows, strict=True)}
    frame = pl.DataFrame(
        {"text_hash": list(blobs), "vector": list(blobs.values())},
        schema={"text_hash": pl.String, "vector": pl.Binary},
    ).with_columns(encoder_id=pl.lit(encoder_id), dim=pl.lit(dim, dtype=pl.Int32))
    before = con.table("vector").count("*").fetchall()[0][0]
    run(con, _INSERT, incoming=frame)
    return int(con.table("vector").count("*").fetchall()[0][0]) - int(before)


def get_vectors(
    con: duckdb.DuckDBPyConnection, encoder_id: str, text_hashes: Sequence[str]
) -> tuple[NDArray[np.bool_], NDArray[np.float32]]:
    """Which texts have a vector, and the vectors; a row without one is zero.

    Returns
    -------
    tuple
        found, shape (n,), and vectors, shape (n, d). With no vector of this encoder, d is 0.
    """
    hashes = list(text_hashes)
    dim = con.sql(_DIM, params={"encoder_id": encoder_id}).fetchall()[0][0] or 0
    found = np.zeros(len(hashes), dtype=np.bool_)
    vectors = np.zeros((len(hashes), int(dim)), dtype=np.float32)
    if not hashes or not dim:
        return found, vectors
    wanted = pl.DataFrame(
        {"place": range(len(hashes)), "text_hash": hashes},
        schema={"place": pl.Int64, "text_hash": pl.String},
    )
    rows = run(con, _SELECT, {"encoder_id": encoder_id}, wanted=wanted)
    places = rows["place"].to_numpy()
    found[places] = True
    values = np.frombuffer(b"".join(rows["vector"].to_list()), dtype="<f4")
    vectors[places] = values.reshape(len(places), dim)
    return found, vectors


def vector_digest(con: duckdb.DuckDBPyConnection, encoder_id: str) -> str:
    """SHA-256 over an encoder's vectors in order of their texts."""
    rows = con.sql(_DIGEST, params={"encoder_id": encoder_id}).pl()
    digest = hashlib.sha256(encoder_id.encode())
    for text, vector in rows.iter_rows():
        digest.update(text.encode())
        digest.update(vector)
    return digest.hexdigest()


def _same_width(con: duckdb.DuckDBPyConnection, encoder_id: str, dim: int) -> None:
    widths = dict(con.sql(_ENCODERS).fetchall())
    stored = widths.get(encoder_id, dim)
    if stored != dim:
        fitting = sorted(name for name, width in widths.items() if width == dim)
        msg = (
            f"encoder {encoder_id!r} holds vectors of width {stored}, got width {dim}"
            f" (encoders of width {dim}: {', '.join(map(repr, fitting)) or 'none'})"
        )
        raise ContractError(msg)


def check_vectors(hashes: Sequence[str], vectors: NDArray[np.float32]) -> None:
    """Refuse rows that no encoder may give.

    Raises
    ------
    ContractError
        If the shape is not (n, d >= 1), a value is not finite, or a row is neither unit nor zero.
    """
    if vectors.ndim != 2 or len(vectors) != len(hashes) or vectors.shape[1] < 1:
        msg = f"vectors must have shape ({len(hashes)}, d >= 1), got {vectors.shape}"
        raise ContractError(msg)
    norms = np.linalg.norm(vectors.astype(np.float64), axis=1)
    wrong = ~((np.abs(norms - 1.0) <= 1e-3) | (norms == 0.0))
    if wrong.any():
        first = int(np.flatnonzero(wrong)[0])
        msg = (
            f"vectors must be finite and of length 1 (or all zero), got length {norms[first]:.6g} "
            f"for text {hashes[first]} and {int(wrong.sum())} such in all"
        )
        raise ContractError(msg)
