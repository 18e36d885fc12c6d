"""Search as of an instant: against an index built at that instant, and loop against array."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recalltune.errors import ParameterError
from recalltune.rank.bm25 import PostingIndex
from recalltune.rank.compiled import compiled_kernels
from recalltune.rank.dated_postings import DatedPostings
from recalltune.rank.nearest import cosine_pairs, nearest_rows
from recalltune.rank.order import rank_order
from recalltune.rank.timeline import NEVER_US, Timeline
from recalltune.rank.walk import Proposable, Proposed, walk

SCOPES = 3
WORDS = [f"w{n}" for n in range(6)]


@dataclass(frozen=True, eq=False)
class Past:
    """Spans with a history, and queries that fall on its very instants."""

    docs: list[list[str]]
    enters: np.ndarray
    leaves: np.ndarray
    hidden_from: np.ndarray
    scope: np.ndarray
    words: list[list[str]]
    at: np.ndarray
    scopes: list[np.ndarray]
    withheld: list[np.ndarray]

    def world(self, query: int, *, scoped: bool) -> np.ndarray:
        """The rule, written down a second time."""
        seen = (self.enters < self.at[query]) & (self.at[query] <= self.leaves)
        return seen & np.isin(self.scope, self.scopes[query]) if scoped else seen

    def may(self, line: Timeline) -> Proposable:
        places = [np.sort(line.places[rows]) for rows in self.withheld]
        places = [one[one >= 0] for one in places]
        until = np.minimum(self.leaves, self.hidden_from)[line.rows]
        ends = np.array([0, *accumulate(one.size for one in places)])
        return Proposable(self.at, until, np.concatenate([*places, np.array([], int)]), ends)

    def proposable(self, query: int, *, scoped: bool) -> np.ndarray:
        allowed = self.world(query, scoped=scoped) & (self.at[query] <= self.hidden_from)
        allowed[self.withheld[query]] = False
        return allowed


def draw(seed: int) -> Past:
    rng = np.random.default_rng(seed)
    spans, queries = int(rng.integers(1, 40)), 8
    enters = rng.integers(0, 8, spans)

    def later(share: float) -> np.ndarray:
        return np.where(rng.random(spans) < share, enters + rng.integers(0, 6, spans), NEVER_US)

    def tokens(most: int, words: list[str]) -> list[str]:
        return rng.choice(words, int(rng.integers(0, most))).tolist()

    scope = rng.integers(0, SCOPES, spans)
    scope[0] = SCOPES - 1
    return Past(
        [tokens(7, WORDS[:-1]) for _ in range(spans)],
        enters,
        later(0.3),
        later(0.3),
        scope,
        [tokens(6, WORDS) for _ in range(queries)],
        rng.integers(0, 14, queries),
        [rng.choice(SCOPES, int(rng.integers(1, 4)), replace=False) for _ in range(queries)],
        [rng.choice(spans, int(rng.integers(0, 3)) % (spans + 1)) for _ in range(queries)],
    )


def same(one: Proposed, two: Proposed) -> None:
    np.testing.assert_array_equal(one.rows, two.rows)
    assert one.scores.tobytes() == two.scores.tobytes()
    assert one.peeked.tobytes() == two.peeked.tobytes()


def first(scores: np.ndarray, allowed: np.ndarray, width: int) -> list[int]:
    """All rows in order, then the first: no partition, no bar."""
    order = rank_order(np.where(allowed, scores, 0.0), allowed)
    return order[: min(width, int(allowed.sum()))].tolist()


def found(past: Past, width: int, *, scoped: bool, compiled: bool, every: bool = False) -> Proposed:
    line = Timeline.of(past.enters, past.leaves)
    index = DatedPostings.build(PostingIndex.build(past.docs), line, past.scope if scoped else None)
    instants, scopes = line.instants(past.at), past.scopes if scoped else None
    asked = index.stretches(past.words, instants, scopes)
    worlds = [np.flatnonzero(past.world(query, scoped=scoped)) for query in range(len(past.words))]
    return walk(
        index,
        asked,
        index.statistics(asked, instants, scopes),
        past.may(line),
        width=width,
        every=asked.distinct if every else None,
        peek=line.places[np.concatenate(worlds)],
        peek_ptr=np.array([0, *accumulate(one.size for one in worlds)]),
        compiled=compiled,
    )


BOTH = [False, pytest.param(True, marks=pytest.mark.skipif(not compiled_kernels(), reason="numba"))]


@pytest.mark.parametrize("compiled", BOTH)
@settings(max_examples=60)
@given(st.integers(0, 2**32), st.integers(1, 12), st.booleans())
def test_bm25_equals_an_index_built_at_the_instant(
    compiled: bool, seed: int, width: int, scoped: bool
) -> None:
    past = draw(seed)
    told = found(past, width, scoped=scoped, compiled=compiled)
    peeked = 0
    for query, words in enumerate(past.words):
        world = past.world(query, scoped=scoped)
        rows = np.flatnonzero(world)
        alone = PostingIndex.build([past.docs[row] for row in rows]).scores(words)
        scores = np.zeros(world.size)
        scores[rows] = alone
        assert told.peeked[peeked : peeked + rows.size].tobytes() == alone.tobytes()
        peeked += rows.size
        allowed = past.proposable(query, scoped=scoped) & (scores > 0)
        mine = told.rows[query][told.rows[query] >= 0]
        assert mine.tolist() == first(scores, allowed, width)
        assert told.scores[query][: mine.size].tobytes() == scores[mine].tobytes()


@pytest.mark.parametrize("compiled", BOTH)
@settings(max_examples=30)
@given(st.integers(0, 2**32), st.integers(1, 12))
def test_a_row_may_be_asked_to_hold_every_word(compiled: bool, seed: int, width: int) -> None:
    past = draw(seed)
    told = found(past, width, scoped=True, compiled=compiled, every=True)
    for query, words in enumerate(past.words):
        holds = np.array([set(words) <= set(doc) for doc in past.docs]) & bool(words)
        allowed = past.proposable(query, scoped=True) & holds
        assert set(told.rows[query][told.rows[query] >= 0]) <= set(np.flatnonzero(allowed))
        assert (told.rows[query] >= 0).sum() == min(width, allowed.sum())


@pytest.mark.skipif(not compiled_kernels(), reason="numba")
@settings(max_examples=40)
@given(st.integers(0, 2**32), st.integers(1, 40), st.booleans(), st.booleans())
def test_the_compiled_walk_equals_the_arrays(
    seed: int, width: int, scoped: bool, every: bool
) -> None:
    past = draw(seed)
    one, two = (
        found(past, width, scoped=scoped, compiled=compiled, every=every)
        for compiled in (True, False)
    )
    same(one, two)


@settings(max_examples=20)
@given(st.integers(0, 2**32))
def test_searching_every_scope_equals_a_layout_without_scopes(seed: int) -> None:
    past = draw(seed)
    every = [np.arange(SCOPES)] * len(past.words)
    scoped = Past(**{**vars(past), "scopes": every})
    same(
        found(scoped, 5, scoped=True, compiled=False),
        found(scoped, 5, scoped=False, compiled=False),
    )


@settings(max_examples=20)
@given(st.integers(0, 2**32))
def test_one_by_one_equals_the_batch(seed: int) -> None:
    past = draw(seed)
    batch = found(past, 4, scoped=True, compiled=False)
    for query in range(len(past.words)):
        alone = Past(
            **{
                **vars(past),
                **{
                    name: getattr(past, name)[query : query + 1]
                    for name in ("words", "at", "scopes", "withheld")
                },
            }
        )
        told = found(alone, 4, scoped=True, compiled=False)
        size = told.rows.shape[1]
        assert batch.rows[query, :size].tolist() == told.rows[0].tolist()
        assert batch.scores[query, :size].tobytes() == told.scores[0].tobytes()


def unit(rng: np.random.Generator, rows: int) -> np.ndarray:
    drawn = rng.standard_normal((rows, 32), dtype=np.float32)
    drawn[rng.random(rows) < 0.4] = drawn[0]  # equals at the cut
    drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
    return drawn


def in_python(one: np.ndarray, two: np.ndarray) -> float:
    lanes = [0.0] * 16
    for place, (left, right) in enumerate(zip(one.tolist(), two.tolist(), strict=True)):
        lanes[place % 16] += left * right
    total = lanes[0]
    for lane in lanes[1:]:
        total += lane
    return min(1.0, max(-1.0, total))


@pytest.mark.parametrize("compiled", BOTH)
@settings(max_examples=40)
@given(st.integers(0, 2**32), st.integers(1, 12), st.sampled_from([-1.0, 0.1]))
def test_the_nearest_are_those_of_every_pair_in_plain_python(
    compiled: bool, seed: int, width: int, min_cosine: float
) -> None:
    past, rng = draw(seed), np.random.default_rng(seed + 1)
    vectors, asked = unit(rng, len(past.docs)), unit(rng, len(past.words))
    line = Timeline.of(past.enters, past.leaves)
    told = nearest_rows(
        asked,
        vectors[line.rows],
        line.rows,
        line.instants(past.at).entered,
        past.may(line),
        width=width,
        min_cosine=min_cosine,
        compiled=compiled,
    )
    for query in range(len(past.words)):
        every = np.array([in_python(asked[query], vector) for vector in vectors])
        allowed = past.proposable(query, scoped=False) & (every >= min_cosine)
        mine = told.rows[query][told.rows[query] >= 0]
        assert mine.tolist() == first(every, allowed, width)
        assert told.scores[query][: mine.size].tobytes() == every[mine].tobytes()


@pytest.mark.skipif(not compiled_kernels(), reason="numba")
def test_more_equals_than_there_is_room_for_are_all_looked_at() -> None:
    vectors = np.zeros((5_000, 16), np.float32)
    vectors[:, 0] = 1.0
    rows = np.arange(5_000)[::-1].copy()
    nobody = np.array([], np.int64), np.zeros(2, np.int64)
    may = Proposable(np.array([1]), np.full(5_000, NEVER_US), *nobody)
    told = [
        nearest_rows(vectors[:1], vectors, rows, np.array([5_000]), may, width=3, compiled=compiled)
        for compiled in (True, False)
    ]
    assert told[0].rows.tolist() == told[1].rows.tolist() == [[0, 1, 2]]


def test_a_pair_of_loops_has_one_bit_pattern() -> None:
    rng = np.random.default_rng(5)
    one, two = unit(rng, 40), unit(rng, 70)
    query, row = rng.integers(0, 40, 500), rng.integers(0, 70, 500)
    arrays = cosine_pairs(one, two, query, row, compiled=False)
    if compiled_kernels():
        assert cosine_pairs(one, two, query, row, compiled=True).tobytes() == arrays.tobytes()
    told = [in_python(one[q], two[r]) for q, r in zip(query, row, strict=True)]
    assert np.array(told).tobytes() == arrays.tobytes()


def test_wide_counts_are_not_clamped() -> None:
    docs = [["tea"] * 70_000, ["tea", "pot"]]
    line = Timeline.of([0, 0], [NEVER_US, NEVER_US])
    index = DatedPostings.build(PostingIndex.build(docs), line)
    assert index.tf.max() == index.lengths.max() == 70_000


def test_a_span_that_leaves_as_it_enters_counts_nowhere() -> None:
    line = Timeline.of([1, 1, 5], [NEVER_US, 1, 3])
    index = DatedPostings.build(PostingIndex.build([["tea"], ["tea"], ["tea"]]), line)
    instants = line.instants([4, 9])
    asked = index.stretches([["tea"], ["tea"]], instants)
    assert index.statistics(asked, instants).n_docs.tolist() == [1, 1]
    assert asked.df.tolist() == [1, 1]


def test_a_scope_nobody_has_is_refused() -> None:
    line = Timeline.of([0], [NEVER_US])
    index = DatedPostings.build(PostingIndex.build([["tea"]]), line, np.array([0]))
    with pytest.raises(ParameterError, match=r"scopes must lie in \[0, 0\], got 1"):
        index.stretches([["tea"]], line.instants([1]), [np.array([1])])
