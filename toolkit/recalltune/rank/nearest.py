"""Exact cosine as of many instants: the nearest spans of each query among those that entered.

In: query vectors, the vectors of spans in the order of time, what each query may be proposed. Out:
per query the rows of its ``width`` nearest. A matrix product in float32 only proposes, with the
largest error it can have as a margin; a dot product of fixed order in float64 decides. So the bits
depend neither on the shape of a batch nor on the machine's matrix kernels.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recalltune.rank._check import FloatArray, at_least
from recalltune.rank.compiled import compiled_kernels
from recalltune.rank.ragged import places_within, pointers
from recalltune.rank.walk import WORTH_COMPILING, Proposable, Proposed, first_rows

__all__ = ["LANES", "cosine_pairs", "nearest_rows", "pad_lanes"]

LANES = 16
"""Vectors are padded with zeros to a multiple of it."""

_QUERIES, _SPANS = 512, 4_096
"""Shape of one matrix product."""
_BLOCK = 8_192
"""Pairs computed at once."""


def pad_lanes(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Pad the width of (n, d) vectors with zeros to a multiple of `LANES`."""
    missing = -vectors.shape[1] % LANES
    return np.pad(vectors, ((0, 0), (0, missing))) if missing else vectors


def cosine_pairs(
    asked: NDArray[np.float32],
    vectors: NDArray[np.float32],
    query: NDArray[np.int64],
    row: NDArray[np.int64],
    *,
    compiled: bool | None = None,
) -> FloatArray:
    """Dot products of chosen pairs of unit vectors, clipped to [-1, 1].

    Sixteen lanes are summed in order, then the lanes; products of two float32 are exact in float64.

    Parameters
    ----------
    asked, vectors
        shape (Q, d) and (S, d), d a multiple of `LANES`, unit rows.
    query, row
        shape (P,), which rows of ``asked`` and ``vectors`` make each pair.
    compiled
        None decides by the size of the work; the bits are the same.
    """
    out = np.empty(query.size)
    if compiled is None:
        compiled = query.size * asked.shape[1] >= WORTH_COMPILING and compiled_kernels()
    if compiled:
        from recalltune.rank.walk_kernels import dot_pairs

        dot_pairs(asked, vectors, query, row, out)
    else:
        for begin in range(0, query.size, _BLOCK):
            part = slice(begin, begin + _BLOCK)
            left = asked[query[part]].astype(np.float64)
            out[part] = _lane_sums(left * vectors[row[part]])
    # A float32 unit vector is not quite 1 long, so a cosine could pass 1 by 1e-7.
    return np.clip(out, -1.0, 1.0, out=out)


def _lane_sums(products: FloatArray) -> FloatArray:
    by_lane = products.reshape(products.shape[0], -1, LANES)
    lanes = np.zeros((products.shape[0], LANES))
    for step in range(by_lane.shape[1]):
        lanes += by_lane[:, step]
    total = lanes[:, 0].copy()
    for lane in range(1, LANES):
        total += lanes[:, lane]
    return total


def nearest_rows(
    asked: NDArray[np.float32],
    vectors: NDArray[np.float32],
    row_of: NDArray[np.intp],
    entered: NDArray[np.int64],
    may: Proposable,
    *,
    width: int,
    min_cosine: float = -1.0,
    compiled: bool | None = None,
) -> Proposed:
    """The nearest spans of each query among those it may be proposed.

    Parameters
    ----------
    asked
        shape (Q, d), unit rows, d a multiple of `LANES`.
    vectors
        shape (n, d), unit rows of the spans in time.
    row_of
        shape (n,), row of each span; rows stand in memory_id order.
    entered
        shape (Q,), how many of the n entered before each query.
    may
        What each may be proposed; a span without direction may never be.
    width
        >= 1, rows.
    min_cosine
        in [-1, 1]. Rows below it are not proposed.
    compiled
        None decides by the size of the work; the bits are the same.
    """
    at_least("width", width, low=1)
    if compiled is None:
        compiled = entered.size * row_of.size >= WORTH_COMPILING and compiled_kernels()
    # Worst rounding of a float32 dot product of unit vectors in any order, and of two of them.
    margin = np.float32(2.0 * 1.01 * asked.shape[1] * 2.0**-24)
    propose = _by_tiles if compiled else _by_query
    query, place = propose(asked, vectors, entered, may, width, np.float32(min_cosine), margin)
    score = cosine_pairs(asked, vectors, query, place, compiled=compiled)
    near = score >= min_cosine
    query, place, score = query[near], place[near], score[near]
    counts = np.bincount(query, minlength=entered.size)
    column = places_within(counts)
    shape = entered.size, int(counts.max(initial=0))
    places, scores = np.full(shape, -1, np.int64), np.zeros(shape)
    places[query, column], scores[query, column] = place, score
    rows, scores = first_rows(row_of, places, scores, width)
    return Proposed(rows, scores, np.array([]))


def _by_query(
    asked: NDArray[np.float32],
    vectors: NDArray[np.float32],
    entered: NDArray[np.int64],
    may: Proposable,
    width: int,
    least: np.float32,
    margin: np.float32,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return (query, place) of all that may be among the nearest, queries rising."""
    queries, places = [], []
    for begin in range(0, entered.size, 64):
        stop = min(begin + 64, entered.size)
        products = asked[begin:stop] @ vectors[: entered[begin:stop].max(initial=0)].T
        for q in range(begin, stop):
            near = products[q - begin, : entered[q]]
            allowed = (may.until[: entered[q]] >= may.at[q]) & (near >= least - margin)
            hidden = may.hidden[may.hidden_ptr[q] : may.hidden_ptr[q + 1]]
            allowed[hidden[hidden < entered[q]]] = False
            place = np.flatnonzero(allowed)
            if place.size > width:
                mine = near[place]
                cut = np.partition(mine, place.size - width)[place.size - width]
                place = place[mine >= cut - margin]
            queries.append(np.full(place.size, q))
            places.append(place)
    nothing = np.array([], np.int64)
    return np.concatenate([nothing, *queries]), np.concatenate([nothing, *places])


def _by_tiles(
    asked: NDArray[np.float32],
    vectors: NDArray[np.float32],
    entered: NDArray[np.int64],
    may: Proposable,
    width: int,
    least: np.float32,
    margin: np.float32,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The same, spans outside: late blocks of them meet only the queries that came after."""
    order = np.argsort(entered, kind="stable")
    hidden, hidden_ptr = _reordered(may, order)
    sorted_may = Proposable(may.at[order], may.until, hidden, hidden_ptr)
    in_time, since = np.ascontiguousarray(asked[order]), entered[order]
    room = 4 * width + 64
    while (
        best := _folded(in_time, vectors, since, sorted_may, width, least, margin, room)
    ) is None:
        room *= 4  # many equal vectors at a cut all have to be kept
    place, count = best
    back = np.argsort(order, kind="stable")
    counts = count[back]
    query = np.repeat(np.arange(order.size), counts)
    return query, place[back[query], places_within(counts)]


def _folded(
    asked: NDArray[np.float32],
    vectors: NDArray[np.float32],
    entered: NDArray[np.int64],
    may: Proposable,
    width: int,
    least: np.float32,
    margin: np.float32,
    room: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """Places (Q, room) and how many of each row count; None where the room is too small."""
    from recalltune.rank.walk_kernels import fold_tile, settle_near

    near, place = (
        np.empty((entered.size, room), np.float32),
        np.empty((entered.size, room), np.int64),
    )
    count, bar = np.zeros(entered.size, np.int64), np.full(entered.size, least - margin)
    tile = np.empty(_QUERIES * _SPANS, np.float32)
    for first in range(0, vectors.shape[0], _SPANS):
        block = vectors[first : first + _SPANS].T
        tail = int(np.searchsorted(entered, first, "right"))
        for begin in range(tail, entered.size, _QUERIES):
            part = asked[begin : begin + _QUERIES]
            shape = part.shape[0], block.shape[1]
            products = tile[: shape[0] * shape[1]].reshape(shape)
            np.matmul(part, block, out=products)
            overflows = fold_tile(
                products, begin, first, entered, may.at, may.until, may.hidden_ptr, may.hidden,
                margin, width, bar, near, place, count,
            )  # fmt: skip
            if overflows >= 0:
                return None
    settle_near(near, place, count, bar, width, margin)
    return place, count


def _reordered(
    may: Proposable, order: NDArray[np.intp]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    sizes = np.diff(may.hidden_ptr)[order]
    first = np.repeat(may.hidden_ptr[:-1][order], sizes)
    return may.hidden[first + places_within(sizes)], pointers(sizes)
