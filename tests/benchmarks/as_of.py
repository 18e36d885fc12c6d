"""2,000 queries over 50,000 memories, each as of its own time, beside an index that never changes.

The gate: as of the end of a history in which nothing leaves, ours gives the rival's rows, and its
scores to 1e-12; and what the compiled loops give is what NumPy gives, to the bit. Times of the
queries are spread over the history, or all stand at its end, which is the worst case: then
nothing is saved by not reading what came later.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from benchmarks.machine import Limits
from benchmarks.rows import Row, against
from benchmarks.static_index import StaticIndex, nearest
from benchmarks.text_data import documents, queries
from benchmarks.timing import interleaved
from recalltune.rank.bm25 import PostingIndex
from recalltune.rank.dated_postings import DatedPostings
from recalltune.rank.nearest import nearest_rows
from recalltune.rank.timeline import NEVER_US, Timeline
from recalltune.rank.walk import Proposable, Proposed, walk

DOCUMENTS, QUERIES, DIMENSION, WIDTH = 50_000, 2_000, 384, 200
HISTORY_US = 365 * 86_400_000_000
ENDED = SUPERSEDED = 0.05


@dataclass(frozen=True, eq=False)
class History:
    """Memories that come, are superseded and leave, and what is asked of them."""

    words: list[list[str]]
    line: Timeline
    until: NDArray[np.int64]
    """By place in time."""
    postings: DatedPostings
    vectors: NDArray[np.float32]
    """By place in time."""
    asked: NDArray[np.float32]
    static: StaticIndex
    by_row: NDArray[np.float32]

    def ends(self, *, spread: bool) -> NDArray[np.int64]:
        """When each query is asked."""
        if not spread:
            return np.full(len(self.words), HISTORY_US + 1)
        return np.random.default_rng(3).integers(0, HISTORY_US, len(self.words))


def history(
    documents_: int = DOCUMENTS, queries_: int = QUERIES, *, seed: int = 20_261_201,
    changes: bool = True,
) -> History:  # fmt: skip
    rng = np.random.default_rng(seed)
    docs = documents(documents_)
    enters = rng.integers(0, HISTORY_US, documents_)
    later = enters + rng.integers(1, HISTORY_US, documents_)
    leaves = np.where(changes & (rng.random(documents_) < ENDED), later, NEVER_US)
    gone = np.where(changes & (rng.random(documents_) < SUPERSEDED), later, NEVER_US)
    line, index = Timeline.of(enters, leaves), PostingIndex.build(docs)
    vectors, asked = _unit(rng, documents_), _unit(rng, queries_)
    return History(
        words=queries(docs, queries_),
        line=line,
        until=np.minimum(leaves, gone)[line.rows],
        postings=DatedPostings.build(index, line),
        vectors=vectors[line.rows],
        asked=asked,
        static=StaticIndex.build(index),
        by_row=vectors,
    )


def _unit(rng: np.random.Generator, rows: int) -> NDArray[np.float32]:
    drawn = rng.standard_normal((rows, DIMENSION), dtype=np.float32)
    drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
    return drawn


def _may(past: History, at: NDArray[np.int64]) -> Proposable:
    return Proposable(at, past.until, np.array([], np.int64), np.zeros(at.size + 1, np.int64))


def lexical(past: History, at: NDArray[np.int64], *, compiled: bool = True) -> Proposed:
    instants = past.line.instants(at)
    stretches = past.postings.stretches(past.words, instants)
    statistics = past.postings.statistics(stretches, instants)
    may = _may(past, at)
    return walk(past.postings, stretches, statistics, may, width=WIDTH, compiled=compiled)


def dense(past: History, at: NDArray[np.int64], *, compiled: bool = True) -> Proposed:
    entered = past.line.instants(at).entered
    return nearest_rows(
        past.asked, past.vectors, past.line.rows, entered, _may(past, at), width=WIDTH,
        compiled=compiled,
    )  # fmt: skip


def gate(past: History, still: History) -> None:
    for spread in (True, False):
        at = past.ends(spread=spread)
        for arm in (lexical, dense):
            one, two = arm(past, at), arm(past, at, compiled=False)
            np.testing.assert_array_equal(one.rows, two.rows)
            assert one.scores.tobytes() == two.scores.tobytes()
    at = still.ends(spread=False)
    rivals = (
        (lexical(still, at), still.static.search(still.words, WIDTH)),
        (dense(still, at), nearest(still.asked, still.by_row, WIDTH)),
    )
    for mine, (rows, scores) in rivals:
        np.testing.assert_allclose(mine.scores, scores, rtol=1e-12)
        np.testing.assert_array_equal(mine.rows, rows)


def bench(limits: Limits, *, repeats: int = 5) -> list[Row]:
    gate(history(1_000, 200), history(1_000, 200, changes=False))
    past = history()
    told: list[Row] = []
    for compiled in (True, False):
        way = "numba" if compiled else "NumPy"
        static_words = partial(past.static.search, past.words, WIDTH, compiled=compiled)
        static_near = partial(nearest, past.asked, past.by_row, WIDTH, compiled=compiled)
        for spread in (True, False):
            at = past.ends(spread=spread)
            words = partial(lexical, past, at, compiled=compiled)
            near = partial(dense, past, at, compiled=compiled)
            times = interleaved(
                {
                    "ours bm25": words,
                    "static bm25": static_words,
                    "ours both": lambda words=words, near=near: (words(), near()),
                    "static both": lambda words=static_words, near=static_near: (words(), near()),
                },
                repeats=repeats if compiled else min(repeats, 3),
            )
            when = "times spread" if spread else "all at the end"
            for arms in ("bm25", "both"):
                pair = {name: times[f"{name} {arms}"] for name in ("ours", "static")}
                ratio = pair["ours"].cpu_median / pair["static"].cpu_median
                told += against(
                    f"as of, {arms}, {way}, {when}", pair, limit=f"{ratio:.2f} x its cost"
                )
    return told
