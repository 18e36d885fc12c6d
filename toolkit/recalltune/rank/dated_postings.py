"""BM25 statistics as of any instant: which postings a query walks, and N, df and average length.

In: an index of postings, when their spans enter and leave, and the scope of each. Out, for a batch
of queries at once: per query its terms in UTF-8 byte order with idf, and the stretches of postings
that entered before it. Everything is a count over a prefix, so it equals an index built at that
instant of nothing but the query's world, to the bit, and is never built again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from recalltune.rank._check import FloatArray, in_range
from recalltune.rank.bm25 import PostingIndex, idf
from recalltune.rank.ragged import places_within, pointers
from recalltune.rank.timeline import DatedLists, Instants, Timeline

__all__ = ["DatedPostings", "Statistics", "Stretches"]


@dataclass(frozen=True, slots=True, eq=False)
class Stretches:
    """What Q queries walk.

    Attributes
    ----------
    query_ptr
        shape (Q + 1,). Terms of query q are ``query_ptr[q]:query_ptr[q + 1]``.
    term
        shape (E,), number of each term; per query in UTF-8 byte order.
    query_tf
        shape (E,), occurrences in the query, >= 1.
    term_ptr
        shape (E + 1,). Stretches of term e are ``term_ptr[e]:term_ptr[e + 1]``, one a scope.
    start, stop
        shape (T,), postings of each stretch that entered before the query.
    df
        shape (E,), spans that hold the term, in the scopes that are searched, at the instant.
    distinct
        shape (Q,), distinct words of each query, those that no span holds included.
    """

    query_ptr: NDArray[np.int64]
    term: NDArray[np.int64]
    query_tf: FloatArray
    term_ptr: NDArray[np.int64]
    start: NDArray[np.int64]
    stop: NDArray[np.int64]
    df: NDArray[np.int64]
    distinct: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Statistics:
    """What a world says of the terms of Q queries.

    Attributes
    ----------
    idf
        shape (E,), > 0.
    average_length
        shape (Q,), tokens, > 0; 1 for an empty world.
    n_docs
        shape (Q,), spans.
    df
        shape (E,), spans of the world that hold the term.
    """

    idf: FloatArray
    average_length: FloatArray
    n_docs: NDArray[np.int64]
    df: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class DatedPostings:
    """Postings sorted by (term, scope, place in time).

    Attributes
    ----------
    terms
        V terms, each with its number; numbers follow UTF-8 byte order.
    timeline
        n spans in time.
    places, tf, lengths
        shape (P,): place in time of each posting's span, occurrences in it, its tokens. The length
        stands here a second time so that a walk reads forward only.
    """

    terms: Mapping[str, int]
    timeline: Timeline
    places: NDArray[np.int32]
    tf: NDArray[Any]
    lengths: NDArray[Any]
    _scopes: int
    _groups: NDArray[np.int64]
    _group_ptr: NDArray[np.int64]
    _postings: DatedLists
    _spans: DatedLists
    _tokens: NDArray[np.int64]
    _tokens_left: NDArray[np.int64]

    @classmethod
    def build(
        cls,
        index: PostingIndex,
        timeline: Timeline,
        scope: NDArray[np.int64] | None = None,
    ) -> Self:
        """Order an index in time.

        Parameters
        ----------
        index
            Postings of S spans.
        timeline
            The same S spans.
        scope
            shape (S,), number of each span's scope, >= 0; None keeps no scopes apart, which is
            faster for queries that search all of them.
        """
        codes = np.zeros(index.lengths.size, np.int64) if scope is None else scope
        scopes = int(codes.max(initial=0)) + 1
        there = np.flatnonzero(timeline.places[index.rows] >= 0)
        row = index.rows[there]
        term = np.repeat(np.arange(len(index.terms)), np.diff(index.starts))[there]
        pair = term * scopes + codes[row]
        groups, group = np.unique(pair, return_inverse=True)
        postings = DatedLists.build(group, timeline.places[row], groups.size, timeline)
        everyone = timeline.rows
        spans = DatedLists.build(codes[everyone], np.arange(everyone.size), scopes, timeline)
        tokens = index.lengths[everyone]
        return cls(
            terms=index.terms,
            timeline=timeline,
            places=postings.places,
            tf=_narrow(index.tf[there][postings.order]),
            lengths=_narrow(index.lengths[row][postings.order]),
            _scopes=scopes,
            _groups=groups,
            _group_ptr=np.searchsorted(groups, np.arange(len(index.terms) + 1) * scopes),
            _postings=postings,
            _spans=spans,
            _tokens=np.concatenate(([0], np.cumsum(tokens[spans.order]))),
            _tokens_left=np.concatenate(([0], np.cumsum(tokens[spans.leave_order]))),
        )

    def stretches(
        self,
        words: Sequence[Sequence[str]],
        instants: Instants,
        scopes: Sequence[NDArray[np.int64]] | None = None,
    ) -> Stretches:
        """Find what Q queries walk.

        Parameters
        ----------
        words
            Q token lists, repeats counted. Words that no span holds are ignored.
        instants
            Q instants.
        scopes
            Q arrays of scope numbers each query searches; None searches all.
        """
        counts = np.array([len(one) for one in words], dtype=np.int64)
        number = np.array([self.terms.get(w, -1) for one in words for w in one], dtype=np.int64)
        said = np.repeat(np.arange(counts.size), counts)
        # Numbers follow the bytes of the words, so sorting numbers puts terms in their order.
        key, times = np.unique(
            (said * (len(self.terms) + 1) + number)[number >= 0], return_counts=True
        )
        query, term = np.divmod(key, len(self.terms) + 1)
        entry, group = self._groups_of(term, query, scopes)
        stop, alive = self._alive(group, instants, query[entry])
        return Stretches(
            query_ptr=pointers(np.bincount(query, minlength=counts.size)),
            term=term,
            query_tf=times.astype(np.float64),
            term_ptr=pointers(np.bincount(entry, minlength=term.size)),
            start=self._postings.starts[group],
            stop=stop,
            df=_summed(entry, alive, term.size),
            distinct=np.array([len(set(one)) for one in words], dtype=np.int64),
        )

    def statistics(
        self,
        asked: Stretches,
        instants: Instants,
        scopes: Sequence[NDArray[np.int64]] | None = None,
        *,
        everywhere: bool = False,
    ) -> Statistics:
        """Count N, df and lengths over the spans that exist at each instant.

        Parameters
        ----------
        asked
            From `stretches` with the same instants and scopes.
        instants, scopes
            As there.
        everywhere
            Whether to count over every scope, whatever is searched, as a store without worlds does.
        """
        query = np.repeat(np.arange(asked.distinct.size), np.diff(asked.query_ptr))
        df = asked.df
        if everywhere and scopes is not None:
            entry, group = self._groups_of(asked.term, query, None)
            df = _summed(entry, self._alive(group, instants, query[entry])[1], asked.term.size)
        n_docs, tokens = self._world(instants, None if everywhere else scopes)
        average = np.ones(n_docs.size)
        np.divide(tokens, n_docs, out=average, where=tokens > 0)
        return Statistics(idf(n_docs[query], df), average, n_docs, df)

    def _alive(
        self, group: NDArray[np.int64], instants: Instants, query: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where each list ends at its query's instant, and how many of its members exist then."""
        stop, gone = self._postings.until(group, instants.entered[query], instants.left[query])
        left = gone - self._postings.leave_starts[group]
        return stop, stop - self._postings.starts[group] - left

    def _world(
        self, instants: Instants, scopes: Sequence[NDArray[np.int64]] | None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Spans and tokens of Q worlds."""
        queries = instants.entered.size
        sets = [np.arange(self._scopes)] * queries if scopes is None else scopes
        query = np.repeat(np.arange(queries), [one.size for one in sets])
        scope = self._numbers(sets)
        stop, gone = self._spans.until(scope, instants.entered[query], instants.left[query])
        start, first = self._spans.starts[scope], self._spans.leave_starts[scope]
        spans = (stop - start) - (gone - first)
        tokens = self._tokens[stop] - self._tokens[start]
        tokens -= self._tokens_left[gone] - self._tokens_left[first]
        return _summed(query, spans, queries), _summed(query, tokens, queries)

    def _groups_of(
        self,
        term: NDArray[np.int64],
        query: NDArray[np.int64],
        scopes: Sequence[NDArray[np.int64]] | None,
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return (entry, list of postings) of every term in every scope it is searched in."""
        if scopes is None:
            first = self._group_ptr[term]
            count = self._group_ptr[term + 1] - first
            entry = np.repeat(np.arange(term.size), count)
            return entry, np.repeat(first, count) + places_within(count)
        sizes = np.array([scopes[one].size for one in query.tolist()], dtype=np.int64)
        entry = np.repeat(np.arange(term.size), sizes)
        scope = self._numbers([scopes[one] for one in query.tolist()])
        pair = term[entry] * self._scopes + scope
        group = np.searchsorted(self._groups, pair)
        held = np.zeros(pair.size, dtype=np.bool_)
        inside = group < self._groups.size
        held[inside] = self._groups[group[inside]] == pair[inside]
        return entry[held], group[held]

    def _numbers(self, sets: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
        scope = np.concatenate([*sets, np.array([], np.int64)]).astype(np.int64)
        in_range("scopes", scope, low=0, high=self._scopes - 1)
        return scope


def _narrow(counts: NDArray[Any]) -> NDArray[Any]:
    """Hold counts in two bytes where they fit; wider ones are not clamped."""
    small = counts.size == 0 or int(counts.max()) <= np.iinfo(np.uint16).max
    return counts.astype(np.uint16 if small else np.int64)


def _summed(group: NDArray[np.int64], counts: NDArray[np.int64], groups: int) -> NDArray[np.int64]:
    """Sums of counts by group; whole numbers below 2**53 are exact in the float64 they pass."""
    return np.bincount(group, counts, minlength=groups).astype(np.int64)
