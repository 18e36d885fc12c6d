"""BM25: how well the words of a query match each memory, seen from one world.

In: token lists, a query's tokens, the set of rows that exist for it. Out: one float64 score per
row, higher is better, 0 = no word in common. All statistics (N, df, average length) are counted
over that world only; terms are added in UTF-8 byte order, so a score does not depend on the
order of the query's words, on other queries, or on any row outside the world.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recalltune.errors import ParameterError
from recalltune.rank._check import FloatArray, as_mask, fitting, in_range, word_list

__all__ = ["PostingIndex", "QueryTerms", "idf", "score_terms"]


def idf(n_docs: ArrayLike, df: ArrayLike) -> FloatArray:
    """Weight of a term by its rarity, Lucene's form: ``ln(1 + (N - df + 0.5) / (df + 0.5))``.

    Parameters
    ----------
    n_docs
        broadcasts with ``df``, memories, >= df. Size N of the world.
    df
        shape (…), memories, >= 0. Memories of the world that hold the term.

    Returns
    -------
    NDArray[np.float64]
        shape (…), > 0 even for a term that every memory holds.

    Raises
    ------
    ParameterError
        If ``df`` is negative or larger than ``n_docs``.

    References
    ----------
    Robertson and Zaragoza 2009 (key ``robertson2009``), with the 1 inside the logarithm that
    Lucene adds (key ``lucene_bm25``). The textbook form without it turns negative for df > N/2.

    Examples
    --------
    >>> idf(2, [1, 2]).round(6).tolist()
    [0.693147, 0.182322]
    """
    n_docs = in_range("n_docs", n_docs, low=0.0, high_open=True)
    df = in_range("df", df, low=0.0, high_open=True)
    in_range("n_docs - df", n_docs - df, low=0.0)
    return np.log1p((n_docs - df + 0.5) / (df + 0.5))


@dataclass(frozen=True, slots=True)
class QueryTerms:
    """All that BM25 needs to score some rows for one query, free of ``k1`` and ``b``.

    Attributes
    ----------
    terms
        T distinct query terms that the index knows, in UTF-8 byte order.
    query_tf
        shape (T,), occurrences in the query, >= 1.
    df
        shape (T,), memories of the world that hold the term.
    idf
        shape (T,), > 0.
    tf
        shape (T, C), occurrences in each row, >= 0.
    lengths
        shape (C,), tokens per row.
    average_length
        tokens, > 0. Mean length over the world.
    """

    terms: tuple[str, ...]
    query_tf: FloatArray
    df: NDArray[np.int64]
    idf: FloatArray
    tf: FloatArray
    lengths: FloatArray
    average_length: float


@fitting
def score_terms(query: QueryTerms, *, k1: ArrayLike = 1.2, b: ArrayLike = 0.75) -> FloatArray:
    """BM25 of the rows of ``query``; bit-identical to `PostingIndex.scores` at these rows.

    ``sum over terms of idf * qtf * (k1 + 1) * tf / (tf + k1 * (1 - b) + k1 * b / avgdl * len)``

    Parameters
    ----------
    query
        Stored statistics of one query, C rows.
    k1
        shape (…), >= 0. How much repeats of a word still add; 0 counts a word once.
    b
        shape (…), in [0, 1]. How much long texts are marked down; 0 not at all.

    Returns
    -------
    NDArray[np.float64]
        shape (…, C), >= 0; ``…`` is the broadcast shape of ``k1`` and ``b``.

    Raises
    ------
    ParameterError
        If ``k1`` or ``b`` is outside its range.

    References
    ----------
    Robertson and Zaragoza 2009 (key ``robertson2009``); the form of idf is Lucene's, see `idf`.

    Examples
    --------
    >>> index = PostingIndex.build([["rust", "wins"], ["go", "wins"]])
    >>> terms = index.term_frequencies(["rust"], [0, 1])
    >>> score_terms(terms, k1=[0.0, 1.2], b=0.75).round(6).tolist()
    [[0.693147, 0.0], [0.693147, 0.0]]
    """
    k1, b = np.broadcast_arrays(*_checked(k1, b))
    k1, b = k1[..., np.newaxis], b[..., np.newaxis]
    total = np.zeros(k1.shape[:-1] + query.lengths.shape)
    for qtf, rarity, tf in zip(query.query_tf, query.idf, query.tf, strict=True):
        held = np.maximum(tf, 1.0)  # rows without the term would divide 0 by 0 where k1 is 0
        weight = _weight(rarity * qtf, held, query.lengths, query.average_length, k1, b)
        total += np.where(tf > 0.0, weight, 0.0)
    return total


@dataclass(frozen=True, slots=True, eq=False)
class PostingIndex:
    """Which rows hold which term, and how often: postings sorted by (term, row).

    Attributes
    ----------
    terms
        V terms, each with its number; numbers follow UTF-8 byte order.
    starts
        shape (V + 1,). Postings of term v are ``starts[v]:starts[v + 1]``.
    rows
        shape (P,), row of each posting, rising within a term.
    tf
        shape (P,), occurrences, >= 1.
    lengths
        shape (n,), tokens per row.
    """

    terms: Mapping[str, int]
    starts: NDArray[np.int64]
    rows: NDArray[np.int32]
    tf: NDArray[np.int32]
    lengths: NDArray[np.int64]

    @classmethod
    def build(cls, docs: Sequence[Sequence[str]]) -> Self:
        """Index token lists; row i is ``docs[i]``.

        Parameters
        ----------
        docs
            n token lists, repeats counted; empty lists and an empty corpus are fine.

        Returns
        -------
        PostingIndex
            n rows.

        Raises
        ------
        ParameterError
            If a document is a bare text instead of a list of tokens.

        References
        ----------
        An inverted index, as in `score_terms`.

        Examples
        --------
        >>> PostingIndex.build([["rust", "wins", "wins"], []]).tf.tolist()
        [1, 2]
        """
        docs = [word_list(f"docs[{i}]", doc) for i, doc in enumerate(docs)]
        seen: defaultdict[str, int] = defaultdict(count().__next__)
        lengths = np.fromiter(map(len, docs), np.int64, len(docs))
        met = np.fromiter(
            map(seen.__getitem__, chain.from_iterable(docs)), np.int64, int(lengths.sum())
        )
        ordered = sorted(seen)  # code point order is UTF-8 byte order
        number = np.empty(len(ordered), np.int64)
        number[[seen[term] for term in ordered]] = np.arange(len(ordered))
        row = np.repeat(np.arange(len(docs)), lengths)
        pairs, tf = np.unique(number[met] * max(len(docs), 1) + row, return_counts=True)
        term, row = np.divmod(pairs, max(len(docs), 1))
        return cls(
            terms=dict(zip(ordered, range(len(ordered)), strict=True)),
            starts=np.searchsorted(term, np.arange(len(ordered) + 1)).astype(np.int64),
            rows=row.astype(np.int32),
            tf=tf.astype(np.int32),
            lengths=lengths,
        )

    def scores(
        self,
        query_tokens: Sequence[str],
        *,
        k1: float = 1.2,
        b: float = 0.75,
        world: NDArray[np.bool_] | None = None,
    ) -> FloatArray:
        """BM25 of every row of the world; see `score_terms` for the formula.

        Parameters
        ----------
        query_tokens
            Tokens of the query, repeats counted. Tokens no row holds are ignored.
        k1
            >= 0. How much repeats of a word still add.
        b
            in [0, 1]. How much long texts are marked down.
        world
            shape (n,), Boolean. Rows that exist for this query: only these are scored, and N,
            df and average length are counted over these alone. None means every row.

        Returns
        -------
        NDArray[np.float64]
            shape (n,), >= 0; exactly 0 for rows outside the world or without a shared word.

        Raises
        ------
        ParameterError
            If ``k1`` or ``b`` is outside its range, ``world`` is not a mask of shape (n,), or
            the query is a bare text.

        References
        ----------
        As in `score_terms`.

        Examples
        --------
        >>> index = PostingIndex.build([["rust", "wins"], ["go", "wins"]])
        >>> index.scores(["rust"]).round(6).tolist()
        [0.693147, 0.0]
        """
        k1_, b_ = _checked(k1, b)
        match = self._match(query_tokens, world)
        total = np.zeros(len(self.lengths))
        for qtf, rarity, (rows, tf) in zip(match.query_tf, match.idf, match.postings, strict=True):
            total[rows] += _weight(
                rarity * qtf, tf, self.lengths[rows], match.average_length, k1_, b_
            )
        return total

    def term_frequencies(
        self,
        query_tokens: Sequence[str],
        rows: ArrayLike,
        *,
        world: NDArray[np.bool_] | None = None,
    ) -> QueryTerms:
        """Everything needed to score ``rows`` again for other values of ``k1`` and ``b``.

        Parameters
        ----------
        query_tokens
            Tokens of the query, repeats counted.
        rows
            shape (C,), row numbers, each inside the world.
        world
            shape (n,), Boolean; see `scores`.

        Returns
        -------
        QueryTerms
            T terms found in the world, C rows.

        Raises
        ------
        ParameterError
            If a row does not exist or lies outside the world, or as in `scores`.

        References
        ----------
        As in `score_terms`.

        Examples
        --------
        >>> index = PostingIndex.build([["rust", "wins"], ["go", "wins"]])
        >>> index.term_frequencies(["wins", "rust"], [1]).tf.tolist()
        [[0.0], [1.0]]
        """
        match = self._match(query_tokens, world)
        chosen = self._rows(rows, world)
        tf = np.zeros((len(match.terms), len(chosen)))
        for one, (held, times) in zip(tf, match.postings, strict=True):
            place = np.minimum(np.searchsorted(held, chosen), len(held) - 1)
            one[:] = np.where(held[place] == chosen, times[place], 0)
        return QueryTerms(
            terms=match.terms,
            query_tf=match.query_tf,
            df=match.df,
            idf=match.idf,
            tf=tf,
            lengths=self.lengths[chosen].astype(np.float64),
            average_length=match.average_length,
        )

    def _match(self, query_tokens: Sequence[str], world: NDArray[np.bool_] | None) -> _Match:
        asked = Counter(word_list("query_tokens", query_tokens))
        n, tokens = len(self.lengths), int(self.lengths.sum())
        if world is not None:
            world = as_mask("world", world, self.lengths.shape)
            n, tokens = int(np.count_nonzero(world)), int(self.lengths[world].sum())
        terms, postings = [], []
        for term in sorted(asked.keys() & self.terms.keys()):
            span = slice(*self.starts[self.terms[term] : self.terms[term] + 2])
            rows, tf = self.rows[span], self.tf[span]
            if world is not None:
                seen = world[rows]
                rows, tf = rows[seen], tf[seen]
            if len(rows):
                terms.append(term)
                postings.append((rows, tf))
        df = np.array([len(rows) for rows, _ in postings], np.int64)
        return _Match(
            terms=tuple(terms),
            query_tf=np.array([asked[term] for term in terms], np.float64),
            df=df,
            idf=idf(n, df),
            postings=postings,
            average_length=tokens / n if tokens else 1.0,
        )

    def _rows(self, rows: ArrayLike, world: NDArray[np.bool_] | None) -> NDArray[np.intp]:
        chosen = np.asarray(rows)
        if chosen.ndim != 1 or (chosen.size and chosen.dtype.kind not in "iu"):
            msg = f"rows must be row numbers of shape (C,), got {chosen.dtype} {chosen.shape}"
            raise ParameterError(msg)
        chosen = chosen.astype(np.intp)
        in_range("rows", chosen, low=0, high=len(self.lengths) - 1)
        if world is not None and not world[chosen].all():
            hidden = int(chosen[~world[chosen]][0])
            msg = f"rows must lie inside the world, got row {hidden} outside it"
            raise ParameterError(msg)
        return chosen


@dataclass(frozen=True, slots=True)
class _Match:
    """The postings of one query inside its world, with their statistics."""

    terms: tuple[str, ...]
    query_tf: FloatArray
    df: NDArray[np.int64]
    idf: FloatArray
    postings: list[tuple[NDArray[np.int32], NDArray[np.int32]]]
    average_length: float


def _checked(k1: ArrayLike, b: ArrayLike) -> tuple[FloatArray, FloatArray]:
    return in_range("k1", k1, low=0.0, high_open=True), in_range("b", b, low=0.0, high=1.0)


def _weight(
    term: FloatArray,
    tf: NDArray[np.float64] | NDArray[np.int32],
    lengths: NDArray[np.float64] | NDArray[np.int64],
    average_length: float,
    k1: FloatArray,
    b: FloatArray,
) -> FloatArray:
    # Parenthesised once and for all: any other grouping changes the last bits.
    return (term * (k1 + 1.0)) * tf / (tf + (k1 * (1.0 - b) + k1 * b / average_length * lengths))
