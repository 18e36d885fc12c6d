"""The arms: exact BM25 and exact cosine over one query's world, and their first `width` rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from recalltune.candidates.settings import LexicalArm
from recalltune.rank.bm25 import PostingIndex
from recalltune.rank.order import round_significant

__all__ = ["exact_cosine", "matching", "pad_lanes", "top"]

_LANES = 16
_BLOCK = 8_192


def top(score: NDArray[np.float64], allowed: NDArray[np.bool_], width: int) -> NDArray[np.intp]:
    """Return the rows of the ``width`` best allowed scores, best first, ties by row.

    Rows stand in memory_id order, so the row is the tie rule.
    """
    rows = np.flatnonzero(allowed)
    if rows.size > width:
        # Everything within the rounding of the width-th best takes part, so that equals are
        # settled by row and not by the partition.
        cut = np.partition(score[rows], rows.size - width)[rows.size - width]
        rows = rows[score[rows] >= cut - 1e-11 * abs(cut)]
    rounded = round_significant(score[rows])
    return rows[np.argsort(-rounded, kind="stable")[:width]]


def matching(
    postings: PostingIndex,
    words: Sequence[str],
    some: NDArray[np.bool_],
    arm: LexicalArm,
    *,
    world: NDArray[np.bool_],
) -> NDArray[np.bool_]:
    """Return which of the rows that hold ``some`` token of the query the arm may propose."""
    if arm.match == "any":
        return some
    rows, every = np.flatnonzero(some), np.zeros_like(some)
    held = postings.term_frequencies(words, rows, world=world)
    if len(held.terms) == len(set(words)):
        every[rows] = (held.tf > 0).all(axis=0)
    few = int(every.sum()) < arm.width
    return some if arm.match == "all_then_any" and few else every


def pad_lanes(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Pad the width of (n, d) vectors with zeros to a multiple of the lane count."""
    missing = -vectors.shape[1] % _LANES
    return np.pad(vectors, ((0, 0), (0, missing))) if missing else vectors


def exact_cosine(query: NDArray[np.float32], vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the dot product of one unit vector with each row, bit-equal however it is batched.

    Sixteen lanes are summed in a fixed order; products of two float32 are exact in float64, so
    neither the number of rows nor the machine's matrix kernels can change a bit.
    """
    out = np.empty(vectors.shape[0])
    wide = query.astype(np.float64)
    for begin in range(0, vectors.shape[0], _BLOCK):
        block = vectors[begin : begin + _BLOCK]
        products = (wide * block).reshape(block.shape[0], -1, _LANES)
        lanes = np.zeros((block.shape[0], _LANES))
        for step in range(products.shape[1]):
            lanes += products[:, step]
        total = lanes[:, 0].copy()
        for lane in range(1, _LANES):
            total += lanes[:, lane]
        out[begin : begin + _BLOCK] = total
    return out
