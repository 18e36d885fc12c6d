"""The compiled loops of search as of an instant; importing this module compiles, or loads, them.

`rank/walk.py` and `rank/nearest.py` hold the NumPy twins and say what the arguments mean.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from recalltune.rank.compiled import kernel
from recalltune.rank.order import NEAR_CUT

__all__ = ["dot_pairs", "fold_tile", "keep_best", "keep_near", "settle_near", "walk_postings"]

Array = NDArray[Any]


@kernel
def _largest(values: Array, count: int, k: int) -> Any:
    """The k-th largest of ``values[:count]``, which are rearranged."""
    low, high, wanted = 0, count - 1, k - 1
    while low < high:
        pivot = values[(low + high) >> 1]
        i, j = low, high
        while i <= j:
            while values[i] > pivot:
                i += 1
            while values[j] < pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if wanted <= j:
            high = j
        elif wanted >= i:
            low = i
        else:
            break
    return values[wanted]


@kernel
def keep_best(scores: Array, places: Array, scratch: Array, count: int, width: int) -> Any:
    """Drop what cannot be among the ``width`` best once scores are rounded; (kept, the least)."""
    scratch[:count] = scores[:count]
    cut = _largest(scratch, count, width)
    least = cut - NEAR_CUT * abs(cut)
    kept = 0
    for i in range(count):
        if scores[i] >= least:
            scores[kept] = scores[i]
            places[kept] = places[i]
            kept += 1
    return kept, least


@kernel
def walk_postings(
    query_ptr: Array,
    weight: Array,
    term_ptr: Array,
    start: Array,
    stop: Array,
    rare_first: Array,
    post_place: Array,
    post_tf: Array,
    post_length: Array,
    flat: float,
    slope: Array,
    at: Array,
    until: Array,
    hidden_ptr: Array,
    hidden: Array,
    every: Array,
    width: int,
    peek_ptr: Array,
    peek: Array,
    peeked: Array,
    found_place: Array,
    found_score: Array,
    found: Array,
) -> None:
    """Score, peek, and keep the best of each query; the arguments are those of `walk`."""
    spans = until.size
    total = np.zeros(spans)
    held = np.zeros(spans, np.int32)
    out_of_sight = np.zeros(spans, np.int64)
    weights = np.empty(512)
    scores, scratch = np.empty(spans + 1), np.empty(spans + 1)
    places = np.empty(spans + 1, np.int64)
    for q in range(at.size):
        first, last = query_ptr[q], query_ptr[q + 1]
        asked = every[q]
        for e in range(first, last):
            term, c1 = weight[e], slope[q]
            for s in range(term_ptr[e], term_ptr[e + 1]):
                # Weights first, in blocks: that loop runs in vector registers, the scatter cannot.
                for begin in range(start[s], stop[s], 512):
                    end = min(begin + 512, stop[s])
                    tfs, lengths = post_tf[begin:end], post_length[begin:end]
                    where = post_place[begin:end]
                    for i in range(end - begin):
                        tf = np.float64(tfs[i])
                        weights[i] = term * tf / (tf + (flat + c1 * np.float64(lengths[i])))
                    for i in range(end - begin):
                        total[where[i]] += weights[i]
                if asked > 0:
                    for p in range(start[s], stop[s]):
                        held[post_place[p]] += 1
        for i in range(peek_ptr[q], peek_ptr[q + 1]):
            peeked[i] = total[peek[i]]
        for i in range(hidden_ptr[q], hidden_ptr[q + 1]):
            out_of_sight[hidden[i]] = q + 1
        hides = hidden_ptr[q] < hidden_ptr[q + 1]
        count, trigger, least = 0, 3 * width, -1.0
        # Holders of rare words score high: met first, they raise the bar for all others.
        for turn in range(term_ptr[first], term_ptr[last]):
            s = rare_first[turn]
            for p in range(start[s], stop[s]):
                place = post_place[p]
                score = total[place]
                if score > 0.0:
                    total[place] = 0.0
                    if asked > 0:
                        words = held[place]
                        held[place] = 0
                        if words < asked:
                            continue
                    if score >= least and until[place] >= at[q]:
                        if hides and out_of_sight[place] == q + 1:
                            continue
                        scores[count] = score
                        places[count] = place
                        count += 1
                        if count >= trigger:
                            count, least = keep_best(scores, places, scratch, count, width)
                            trigger = max(3 * width, 2 * count)
        if count > width:
            count, least = keep_best(scores, places, scratch, count, width)
        found[q] = count
        for i in range(min(count, found_place.shape[1])):
            found_place[q, i] = places[i]
            found_score[q, i] = scores[i]


@kernel
def fold_tile(
    tile: Array,
    first_query: int,
    first_place: int,
    entered: Array,
    at: Array,
    until: Array,
    hidden_ptr: Array,
    hidden: Array,
    margin: Any,
    width: int,
    least: Array,
    near: Array,
    place: Array,
    count: Array,
) -> int:
    """Put one block of products into the queries' best so far; the first query that overflows."""
    scratch = np.empty(near.shape[1], near.dtype)
    room = near.shape[1]
    for i in range(tile.shape[0]):
        q = first_query + i
        stop = min(tile.shape[1], entered[q] - first_place)
        bar, n, when = least[q], count[q], at[q]
        for j in range(stop):
            if tile[i, j] < bar:
                continue
            where = first_place + j
            if until[where] < when or _holds(hidden, hidden_ptr[q], hidden_ptr[q + 1], where):
                continue
            if n == room:
                n, bar = keep_near(near[q], place[q], scratch, n, width, margin, bar)
                if n > room // 2:
                    return q
                if tile[i, j] < bar:
                    continue
            near[q, n] = tile[i, j]
            place[q, n] = where
            n += 1
        least[q], count[q] = bar, n
    return -1


@kernel
def keep_near(
    near: Array, place: Array, scratch: Array, count: int, width: int, margin: Any, bar: Any
) -> Any:
    """Drop what the error of a product cannot bring among the ``width`` best; (kept, the least)."""
    if count <= width:
        return count, bar
    scratch[:count] = near[:count]
    least = max(bar, _largest(scratch, count, width) - margin)
    kept = 0
    for i in range(count):
        if near[i] >= least:
            near[kept] = near[i]
            place[kept] = place[i]
            kept += 1
    return kept, least


@kernel
def settle_near(
    near: Array, place: Array, count: Array, least: Array, width: int, margin: Any
) -> None:
    """Leave each query the places that may be among its ``width`` best."""
    scratch = np.empty(near.shape[1], near.dtype)
    for q in range(count.size):
        count[q], least[q] = keep_near(
            near[q], place[q], scratch, count[q], width, margin, least[q]
        )


@kernel
def _holds(values: Array, begin: int, end: int, wanted: int) -> bool:
    """Whether ``values[begin:end]``, rising, holds a number."""
    low, high = begin, end
    while low < high:
        middle = (low + high) >> 1
        if values[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low < end and values[low] == wanted


@kernel
def dot_pairs(asked: Array, vectors: Array, query: Array, row: Array, out: Array) -> None:
    """Sixteen lanes in float64, each in order, then the lanes in order: one bit pattern a pair."""
    lanes = np.empty(16)
    width = asked.shape[1]
    for pair in range(query.size):
        lanes[:] = 0.0
        q, r = query[pair], row[pair]
        for begin in range(0, width, 16):
            for lane in range(16):
                lanes[lane] += np.float64(asked[q, begin + lane]) * np.float64(
                    vectors[r, begin + lane]
                )
        total = lanes[0]
        for lane in range(1, 16):
            total += lanes[lane]
        out[pair] = total
