"""BM25 as of many instants at once: the best spans of each query, and the scores of chosen ones.

In: what the queries walk (`rank/dated_postings`), the statistics of their worlds, and what each of
them may be proposed. Out: per query the rows of its ``width`` best, best first. The cost is that
of a search in an index that never changes: postings are sorted by time, so what a query may not
have seen is never read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recalltune.rank._check import FloatArray, at_least, in_range
from recalltune.rank.compiled import compiled_kernels
from recalltune.rank.dated_postings import DatedPostings, Statistics, Stretches
from recalltune.rank.order import NEAR_CUT, rank_order

__all__ = ["Proposable", "Proposed", "first_rows", "walk"]

WORTH_COMPILING = 20_000_000
"""Queries times spans from which on loading the compiled loops pays."""

_ROOM = 64
"""Equals at the cut for which there is room at once."""


@dataclass(frozen=True, slots=True, eq=False)
class Proposable:
    """What each of Q queries may be proposed of n spans in time.

    Attributes
    ----------
    at
        shape (Q,), microseconds: when each query is asked.
    until
        shape (n,), microseconds. A span is proposed to a query at ``at`` only if
        ``at <= until``: until it leaves, is superseded, or whatever hides it from then on.
    hidden, hidden_ptr
        shape (H,) and (Q + 1,). Query q is not proposed the places
        ``hidden[hidden_ptr[q]:hidden_ptr[q + 1]]``, which rise.
    """

    at: NDArray[np.int64]
    until: NDArray[np.int64]
    hidden: NDArray[np.int64]
    hidden_ptr: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Proposed:
    """The best rows of Q queries.

    Attributes
    ----------
    rows
        shape (Q, W), rows of the spans, best first, -1 after the last.
    scores
        shape (Q, W), NaN after the last.
    peeked
        shape (K,), scores of the places that were asked for, 0 = no word in common.
    """

    rows: NDArray[np.int64]
    scores: FloatArray
    peeked: FloatArray


def walk(
    index: DatedPostings,
    asked: Stretches,
    statistics: Statistics,
    may: Proposable,
    *,
    width: int,
    k1: float = 1.2,
    b: float = 0.75,
    every: NDArray[np.int64] | None = None,
    peek: NDArray[np.int64] | None = None,
    peek_ptr: NDArray[np.int64] | None = None,
    compiled: bool | None = None,
) -> Proposed:
    """BM25 of every span each query may be proposed, cut to the best; as `PostingIndex.scores`.

    Parameters
    ----------
    index, asked, statistics
        What is searched, what the queries walk, and N, df and lengths of their worlds.
    may
        What each may be proposed.
    width
        >= 1, rows.
    k1, b
        >= 0 and in [0, 1]; see `score_terms`.
    every
        shape (Q,), >= 0. How many distinct words of the query a proposed span must hold; None = 1.
    peek, peek_ptr
        shape (K,) and (Q + 1,). Places whose scores are told whether proposed or not; each has
        entered before its query.
    compiled
        None decides by the size of the work; the bits are the same.

    References
    ----------
    Robertson and Zaragoza 2009 (key ``robertson2009``); idf as in Lucene.
    """
    at_least("width", width, low=1)
    k1 = float(in_range("k1", k1, low=0.0, high_open=True))
    b = float(in_range("b", b, low=0.0, high=1.0))
    queries = may.at.size
    wanted = np.zeros(queries, np.int64) if every is None else every
    if peek is None or peek_ptr is None:
        peek, peek_ptr = np.array([], np.int64), np.zeros(queries + 1, np.int64)
    loop = _loop(compiled, queries * may.until.size)
    # Parenthesised as in `score_terms`: any other grouping changes the last bits.
    weight = (statistics.idf * asked.query_tf) * (k1 + 1.0)
    flat, slope = k1 * (1.0 - b), k1 * b / statistics.average_length
    peeked, found = np.zeros(peek.size), np.zeros(queries, np.int64)
    room = width + _ROOM
    while True:
        place = np.full((queries, room), -1, np.int64)
        score = np.zeros((queries, room))
        loop(
            asked.query_ptr, weight, asked.term_ptr, asked.start, asked.stop, _rare_first(asked),
            index.places, index.tf, index.lengths, flat, slope,
            may.at, may.until, may.hidden_ptr, may.hidden, wanted, width,
            peek_ptr, peek, peeked, place, score, found,
        )  # fmt: skip
        if found.max(initial=0) <= room:
            break
        room = int(found.max())  # more equals at a cut than expected
    most = int(found.max(initial=0))
    rows, scores = first_rows(index.timeline.rows, place[:, :most], score[:, :most], width)
    return Proposed(rows, scores, peeked)


def first_rows(
    row_of: NDArray[np.intp], place: NDArray[np.int64], score: FloatArray, width: int
) -> tuple[NDArray[np.int64], FloatArray]:
    """The ``width`` best of each query's (Q, M) places, best first, equals by row.

    Parameters
    ----------
    row_of
        shape (n,), row of each place; rows stand in memory_id order.
    place
        shape (Q, M), -1 = nothing.
    score
        shape (Q, M), rounded to 12 significant digits before it decides.
    """
    nothing = np.iinfo(np.int64).max
    row = np.where(place >= 0, row_of[place] if row_of.size else 0, nothing)
    by_row = np.argsort(row, axis=1)
    row, score = np.take_along_axis(row, by_row, 1), np.take_along_axis(score, by_row, 1)
    best = rank_order(score, row < nothing)[:, :width]
    row, score = np.take_along_axis(row, best, 1), np.take_along_axis(score, best, 1)
    filled = row < nothing
    return np.where(filled, row, -1), np.where(filled, score, np.nan)


def _rare_first(asked: Stretches) -> NDArray[np.intp]:
    """Shape (T,), stretches of each query from the shortest to the longest."""
    per_query = np.diff(asked.term_ptr[asked.query_ptr])
    query = np.repeat(np.arange(per_query.size), per_query)
    return np.lexsort((asked.stop - asked.start, query))


def _loop(compiled: bool | None, work: int) -> Callable[..., None]:
    if compiled is None:
        compiled = work >= WORTH_COMPILING and compiled_kernels()
    if not compiled:
        return _walk_postings
    from recalltune.rank.walk_kernels import walk_postings

    return walk_postings


def _walk_postings(
    query_ptr: NDArray[Any],
    weight: NDArray[Any],
    term_ptr: NDArray[Any],
    start: NDArray[Any],
    stop: NDArray[Any],
    rare_first: NDArray[Any],
    post_place: NDArray[Any],
    post_tf: NDArray[Any],
    post_length: NDArray[Any],
    flat: float,
    slope: NDArray[Any],
    at: NDArray[Any],
    until: NDArray[Any],
    hidden_ptr: NDArray[Any],
    hidden: NDArray[Any],
    every: NDArray[Any],
    width: int,
    peek_ptr: NDArray[Any],
    peek: NDArray[Any],
    peeked: NDArray[Any],
    found_place: NDArray[Any],
    found_score: NDArray[Any],
    found: NDArray[Any],
) -> None:
    """What `walk_postings` compiles, with arrays; a partition needs no bar to be raised."""
    del rare_first
    total, held = np.zeros(until.size), np.zeros(until.size, np.int32)
    for q in range(at.size):
        for e in range(query_ptr[q], query_ptr[q + 1]):
            for s in range(term_ptr[e], term_ptr[e + 1]):
                part = slice(start[s], stop[s])
                place, tf = post_place[part], post_tf[part].astype(np.float64)
                length = post_length[part].astype(np.float64)
                total[place] += weight[e] * tf / (tf + (flat + slope[q] * length))
                if every[q] > 0:
                    held[place] += 1
        mine = slice(peek_ptr[q], peek_ptr[q + 1])
        peeked[mine] = total[peek[mine]]
        met = np.flatnonzero(total)
        allowed = (until[met] >= at[q]) & (held[met] >= every[q])
        if hidden_ptr[q] < hidden_ptr[q + 1]:
            allowed &= ~np.isin(met, hidden[hidden_ptr[q] : hidden_ptr[q + 1]])
        place = met[allowed]
        score = total[place]
        total[met], held[met] = 0.0, 0
        if place.size > width:
            cut = np.partition(score, place.size - width)[place.size - width]
            near = score >= cut - NEAR_CUT * abs(cut)
            place, score = place[near], score[near]
        found[q] = place.size
        fits = min(place.size, found_place.shape[1])
        found_place[q, :fits], found_score[q, :fits] = place[:fits], score[:fits]
