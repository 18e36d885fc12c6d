"""The rival of search as of an instant: an index that never changes, with its weights ready.

No time, no filter, every row: BM25 weights are computed once in float64, one addition a posting is
left. Selection is the very code ours runs. It is the cheapest search that is still exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from recalltune.rank.bm25 import PostingIndex, idf
from recalltune.rank.compiled import kernel
from recalltune.rank.nearest import LANES, cosine_pairs
from recalltune.rank.order import NEAR_CUT
from recalltune.rank.walk import first_rows
from recalltune.rank.walk_kernels import keep_best, keep_near, settle_near

TILE_QUERIES, TILE_ROWS = 512, 4_096


@dataclass(frozen=True, eq=False)
class StaticIndex:
    """Postings with their weights."""

    index: PostingIndex
    weights: NDArray[np.float64]

    @classmethod
    def build(cls, index: PostingIndex, *, k1: float = 1.2, b: float = 0.75) -> Self:
        df = np.diff(index.starts)
        rarity = np.repeat(idf(len(index.lengths), df), df)
        tf, length = index.tf.astype(np.float64), index.lengths[index.rows].astype(np.float64)
        average = index.lengths.sum() / len(index.lengths)
        scaled = k1 * (1.0 - b) + k1 * b / average * length
        return cls(index, (rarity * (k1 + 1.0)) * tf / (tf + scaled))

    def search(
        self, words: Sequence[Sequence[str]], width: int, *, compiled: bool = True
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Rows and scores, (Q, width); each query's words are distinct."""
        terms = [[self.index.terms[w] for w in sorted(one)] for one in words]
        ptr = np.cumsum([0, *(len(one) for one in terms)])
        term = np.array([one for ones in terms for one in ones], dtype=np.int64)
        start, stop = self.index.starts[term], self.index.starts[term + 1]
        # Nothing is said of the order of a sum here: rare words first serves both passes.
        query = np.repeat(np.arange(len(words)), np.diff(ptr))
        rare_first = np.lexsort((stop - start, query))
        start, stop = start[rare_first], stop[rare_first]
        room, rows = width + 64, len(self.index.lengths)
        place, score = np.full((len(words), room), -1), np.zeros((len(words), room))
        walked = _walk if compiled else _walk_with_arrays
        walked(ptr, start, stop, self.index.rows, self.weights, rows, width, place, score)
        most = int((place >= 0).sum(axis=1).max(initial=0))
        return first_rows(np.arange(rows), place[:, :most], score[:, :most], width)


@kernel
def _walk(
    ptr: Any, start: Any, stop: Any, rows: Any, weights: Any, count: int, width: int,
    found_place: Any, found_score: Any,
) -> None:  # fmt: skip
    total = np.zeros(count)
    scores, scratch = np.empty(count + 1), np.empty(count + 1)
    places = np.empty(count + 1, np.int64)
    for q in range(ptr.size - 1):
        for e in range(ptr[q], ptr[q + 1]):
            for p in range(start[e], stop[e]):
                total[rows[p]] += weights[p]
        n, trigger, least = 0, 3 * width, -1.0
        for e in range(ptr[q], ptr[q + 1]):
            for p in range(start[e], stop[e]):
                row = rows[p]
                score = total[row]
                if score > 0.0:
                    total[row] = 0.0
                    if score >= least:
                        scores[n], places[n] = score, row
                        n += 1
                        if n >= trigger:
                            n, least = keep_best(scores, places, scratch, n, width)
                            trigger = max(3 * width, 2 * n)
        if n > width:
            n, least = keep_best(scores, places, scratch, n, width)
        for i in range(min(n, found_place.shape[1])):
            found_place[q, i], found_score[q, i] = places[i], scores[i]


def _walk_with_arrays(
    ptr: Any, start: Any, stop: Any, rows: Any, weights: Any, count: int, width: int,
    found_place: Any, found_score: Any,
) -> None:  # fmt: skip
    total = np.zeros(count)
    for q in range(ptr.size - 1):
        for e in range(ptr[q], ptr[q + 1]):
            total[rows[start[e] : stop[e]]] += weights[start[e] : stop[e]]
        place = np.flatnonzero(total)
        score = total[place]
        total[place] = 0.0
        if place.size > width:
            cut = np.partition(score, place.size - width)[place.size - width]
            near = score >= cut - NEAR_CUT * abs(cut)
            place, score = place[near], score[near]
        fits = min(place.size, found_place.shape[1])
        found_place[q, :fits], found_score[q, :fits] = place[:fits], score[:fits]


def nearest(
    asked: NDArray[np.float32], vectors: NDArray[np.float32], width: int, *, compiled: bool = True
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Exact nearest rows over all vectors: products propose, lane sums decide."""
    assert asked.shape[1] % LANES == 0
    margin = np.float32(2.0 * 1.01 * asked.shape[1] * 2.0**-24)
    place, count = (_tiles if compiled else _whole)(asked, vectors, width, margin)
    query = np.repeat(np.arange(len(asked)), count)
    column = np.arange(query.size) - np.repeat(np.cumsum(count) - count, count)
    places = place[query, column]
    shape = len(asked), int(count.max())
    found, scores = np.full(shape, -1), np.zeros(shape)
    found[query, column] = places
    scores[query, column] = cosine_pairs(asked, vectors, query, places, compiled=compiled)
    return first_rows(np.arange(len(vectors)), found, scores, width)


def _tiles(asked: Any, vectors: Any, width: int, margin: Any) -> tuple[Any, Any]:
    room = 4 * width + 64
    near = np.empty((len(asked), room), np.float32)
    place = np.empty((len(asked), room), np.int64)
    count, bar = np.zeros(len(asked), np.int64), np.full(len(asked), -2.0, np.float32)
    tile = np.empty(TILE_QUERIES * TILE_ROWS, np.float32)
    for first in range(0, len(vectors), TILE_ROWS):
        block = vectors[first : first + TILE_ROWS].T
        for begin in range(0, len(asked), TILE_QUERIES):
            part = asked[begin : begin + TILE_QUERIES]
            products = tile[: part.shape[0] * block.shape[1]].reshape(len(part), block.shape[1])
            np.matmul(part, block, out=products)
            _fold(products, begin, first, margin, width, bar, near, place, count)
    settle_near(near, place, count, bar, width, margin)
    return place, count


@kernel
def _fold(
    tile: Any, first_query: int, first_row: int, margin: Any, width: int, least: Any, near: Any,
    place: Any, count: Any,
) -> None:  # fmt: skip
    scratch = np.empty(near.shape[1], near.dtype)
    for i in range(tile.shape[0]):
        q = first_query + i
        bar, n = least[q], count[q]
        for j in range(tile.shape[1]):
            if tile[i, j] < bar:
                continue
            if n == near.shape[1]:
                n, bar = keep_near(near[q], place[q], scratch, n, width, margin, bar)
            near[q, n], place[q, n] = tile[i, j], first_row + j
            n += 1
        least[q], count[q] = bar, n


def _whole(asked: Any, vectors: Any, width: int, margin: Any) -> tuple[Any, Any]:
    places = []
    for begin in range(0, len(asked), 64):
        products = asked[begin : begin + 64] @ vectors.T
        for row in products:
            cut = np.partition(row, row.size - width)[row.size - width]
            places.append(np.flatnonzero(row >= cut - margin))
    count = np.array([one.size for one in places])
    place = np.full((len(asked), int(count.max())), -1)
    for q, one in enumerate(places):
        place[q, : one.size] = one
    return place, count
