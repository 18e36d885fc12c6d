"""BM25 statistics as of any instant: which postings a query walks, and N, df and average length.

In: an index of postings, when their spans enter and leave, and the scope of each. Out, for a batch
of queries at once: per query its terms in UTF-8 byte order with idf, and the stretches of postings
that entered before it. Everything is a count over a prefix, so it equals an index built at that
instant of nothing but the query's world, to the bit, and is never built again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from recalltune.rank._check import FloatArray, in_range
from recalltune.rank.bm25 import PostingIndex, idf
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
    distinct
        shape (Q,), distinct words of each query, those that no span holds included.
    """

    query_ptr: NDArray[np.int64]
    term: NDArray[np.int64]
    query_tf: FloatArray
    term_ptr: NDArray[np.int64]
    start: NDArray[np.int64]
    stop: NDArray[np.int64]
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
        asked = [Counter(one) for one in words]
        known = [sorted(one.keys() & self.terms.keys()) for one in asked]
        counts = np.array([len(one) for one in known], dtype=np.int64)
        term = np.array([self.terms[one] for ones in known for one in ones], dtype=np.int64)
        times = [ask[one] for ask, ones in zip(asked, known, strict=True) for one in ones]
        query = np.repeat(np.arange(len(asked)), counts)
        entry, group = self._groups_of(term, query, scopes)
        of = query[entry]
        stop, _ = self._postings.until(group, instants.entered[of], instants.left[of])
        return Stretches(
            query_ptr=_pointers(counts),
            term=term,
            query_tf=np.array(times, dtype=np.float64),
            term_ptr=_pointers(np.bincount(entry, minlength=term.size)),
            start=self._postings.starts[group],
            stop=stop,
            distinct=np.array([len(one) for one in asked], dtype=np.int64),
        )

    def statistics(
        self,
        asked: Stretches,
        instants: Instants,
        scopes: Sequence[NDArray[np.int64]] | None = None,
    ) -> Statistics:
        """Count N, df and lengths over the spans of ``scopes`` that exist at each instant.

        Parameters
        ----------
        asked
            From `stretches` of an index over the same texts.
        instants, scopes
            As there. Other scopes than those give the statistics of another world.
        """
        query = np.repeat(np.arange(asked.distinct.size), np.diff(asked.query_ptr))
        entry, group = self._groups_of(asked.term, query, scopes)
        of = query[entry]
        stop, gone = self._postings.until(group, instants.entered[of], instants.left[of])
        alive = (stop - self._postings.starts[group]) - (gone - self._postings.leave_starts[group])
        df = np.bincount(entry, alive, minlength=asked.term.size).astype(np.int64)
        n_docs, tokens = self._world(instants, scopes)
        average = np.ones(n_docs.size)
        np.divide(tokens, n_docs, out=average, where=tokens > 0)
        return Statistics(idf(n_docs[query], df), average, n_docs, df)

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
        n_docs, lengths = np.zeros(queries, np.int64), np.zeros(queries, np.int64)
        np.add.at(n_docs, query, spans)
        np.add.at(lengths, query, tokens)
        return n_docs, lengths

    def _groups_of(
        self,
        term: NDArray[np.int64],
        query: NDArray[np.int64],
        scopes: Sequence[NDArray[np.int64]] | None,
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return (entry, list of postings) of every term in every scope it is searched in."""
        if scopes is None:
            first = np.searchsorted(self._groups, term * self._scopes)
            count = np.searchsorted(self._groups, (term + 1) * self._scopes) - first
            entry = np.repeat(np.arange(term.size), count)
            within = np.arange(entry.size) - np.repeat(_pointers(count)[:-1], count)
            return entry, np.repeat(first, count) + within
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


def _pointers(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
