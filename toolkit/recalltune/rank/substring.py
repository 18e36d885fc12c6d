"""Substring search: memories that hold the words of a query letter by letter, word limits aside.

In: texts with their gists, a query, the rows that exist for it. Out: the rows found, best first,
and which of three ways found them. It needs no tokeniser, so it finds words inside unspaced text;
it finds no paraphrase at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from recalltune.errors import ParameterError
from recalltune.rank._check import FloatArray, as_mask, word_list
from recalltune.rank.order import round_significant

__all__ = ["MODES", "SubstringHits", "SubstringIndex", "SubstringTerms", "substring_terms"]

MODES = ("none", "phrase", "trigram", "like")
"""How the rows of one query were found; ``none``: no row was."""

_SEGMENT = re.compile(r"[^\W_]+")
_QUERY_CHARS, _PHRASE_CHARS = 4_000, 128
_SEGMENTS, _TRIGRAMS, _LIKE_TERMS = 64, 64, 16
_GRAM = 3
_FEWEST_TRIGRAMS = 2  # one trigram in common is chance

# SQLite's FTS5: the parameters are fixed there, and a term most rows hold still counts a little.
_K1, _B, _LEAST_IDF = 1.2, 0.75, 1e-6


@dataclass(frozen=True, slots=True)
class SubstringTerms:
    """What one query asks for, lower-cased.

    Attributes
    ----------
    segments
        Distinct runs of letters and digits of the first 4,000 characters, in order, at most 64.
    phrases
        Segments of at least three characters, cut at 128.
    trigrams
        Distinct pieces of three characters of the phrases, in order, at most 64.
    like
        Segments asked for one by one, at most 16, and only where there is no phrase.
    """

    segments: tuple[str, ...]
    phrases: tuple[str, ...]
    trigrams: tuple[str, ...]
    like: tuple[str, ...]


def substring_terms(query: str) -> SubstringTerms:
    """Terms of a query for the three ways of searching.

    Parameters
    ----------
    query
        Any text.

    Returns
    -------
    SubstringTerms
        Lower-cased; empty where the query holds no letter or digit.

    References
    ----------
    HEL-847 probe, ``ProdEpisodic.search``.

    Examples
    --------
    >>> substring_terms("旧书店 tea").phrases, substring_terms("诗集 床头").like
    (('旧书店', 'tea'), ('诗集', '床头'))
    """
    segments = _distinct(_SEGMENT.findall(query[:_QUERY_CHARS].lower()), _SEGMENTS)
    phrases = tuple(segment[:_PHRASE_CHARS] for segment in segments if len(segment) >= _GRAM)
    grams = (word[at : at + _GRAM] for word in phrases for at in range(len(word) - _GRAM + 1))
    like = () if phrases else segments[:_LIKE_TERMS]
    return SubstringTerms(segments, phrases, _distinct(grams, _TRIGRAMS), like)


def _distinct(words: Iterable[str], most: int) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words))[:most]


@dataclass(frozen=True, slots=True, eq=False)
class SubstringHits:
    """What one query found.

    Attributes
    ----------
    mode
        One of `MODES`.
    rows
        shape (H,), distinct rows, best first.
    occurrences
        shape (H,), >= 0. How often each row holds the query's segments, the first 16; its
        trigrams where those found it.
    """

    mode: str
    rows: NDArray[np.intp]
    occurrences: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class SubstringIndex:
    """Texts and gists, lower-cased, ready to be searched.

    Attributes
    ----------
    bodies
        n texts, each followed by its gist on a line of its own: no term crosses the two.
    lengths
        shape (n,), pieces of three characters per row.
    """

    bodies: tuple[str, ...]
    lengths: FloatArray

    @classmethod
    def build(cls, texts: Sequence[str], gists: Sequence[str | None] | None = None) -> Self:
        """Index texts, each with a gist or none; row i is ``texts[i]``.

        Raises
        ------
        ParameterError
            If ``texts`` is one text instead of a list, or there are more or fewer gists.
        """
        texts = word_list("texts", texts)
        gists = [None] * len(texts) if gists is None else list(gists)
        if len(gists) != len(texts):
            msg = f"gists must be as many as the {len(texts)} texts, got {len(gists)}"
            raise ParameterError(msg)
        parts = [
            (text.lower(), (gist or "").lower()) for text, gist in zip(texts, gists, strict=True)
        ]
        lengths = [sum(max(len(part) - _GRAM + 1, 0) for part in both) for both in parts]
        return cls(tuple("\n".join(both) for both in parts), np.array(lengths, dtype=np.float64))

    def search(
        self,
        query: str,
        *,
        world: NDArray[np.bool_] | None = None,
        allowed: NDArray[np.bool_] | None = None,
    ) -> SubstringHits:
        """Rows that hold the query's words, by the first of three ways that finds any.

        1. ``phrase``: any segment of three or more characters. Order: BM25 over pieces of three
           characters, then the later row.
        2. ``trigram``: two or more different pieces of three characters. The same order.
        3. ``like``: any segment; tried only where the query has none of three characters. Order:
           the later row.

        Parameters
        ----------
        query
            Any text; case does not matter.
        world
            shape (n,), Boolean. Rows that exist for this query: only these are searched, and N,
            df and average length are counted over these alone. None means every row.
        allowed
            shape (n,), Boolean. Rows of the world that may be returned; a way that finds none of
            them has found nothing. None means every row of the world.

        Returns
        -------
        SubstringHits
            Mode ``none`` and no rows where nothing was found.

        Raises
        ------
        ParameterError
            If a mask has another shape.

        Notes
        -----
        FTS5's BM25 is ``sum of idf * f * (k1 + 1) / (f + k1 * (1 - b + b * len / average))`` with
        ``idf = ln((N - df + 0.5) / (df + 0.5))``, at least 1e-6, k1 = 1.2, b = 0.75, and f
        overlapping occurrences. Rows are in memory_id order, so *the later row* is the larger id:
        the newest, where ids count up.

        References
        ----------
        HEL-847 probe, ``ProdEpisodic.search``; SQLite ``fts5_aux.c``.

        Examples
        --------
        >>> index = SubstringIndex.build(["北门茶铺", "雨天去北门", "开了"], [None, None, "北门"])
        >>> hits = index.search("北门")
        >>> hits.mode, hits.rows.tolist(), hits.occurrences.tolist()
        ('like', [2, 1, 0], [1.0, 1.0, 1.0])
        >>> index.search("去北门").mode, index.search("去北门").rows.tolist()
        ('phrase', [1])
        """
        every = np.ones(len(self.bodies), dtype=np.bool_)
        world = every if world is None else as_mask("world", world, every.shape)
        allowed = world if allowed is None else world & as_mask("allowed", allowed, every.shape)
        terms = substring_terms(query)
        for mode, words, fewest in (
            ("phrase", terms.phrases, 1),
            ("trigram", terms.trigrams, _FEWEST_TRIGRAMS),
        ):
            rows = self._ranked(words, fewest, np.flatnonzero(world), allowed)
            if rows.size:
                return self._hits(mode, rows, terms)
        held = [row for row in np.flatnonzero(allowed)[::-1] if _any(terms.like, self.bodies[row])]
        return self._hits("like" if held else "none", np.array(held, dtype=np.intp), terms)

    def _hits(self, mode: str, rows: NDArray[np.intp], terms: SubstringTerms) -> SubstringHits:
        words = terms.trigrams if mode == "trigram" else terms.segments[:_LIKE_TERMS]
        counts = [sum(map(self.bodies[row].count, words)) for row in rows]
        return SubstringHits(mode, rows, np.array(counts, dtype=np.float64))

    def _ranked(
        self,
        words: Sequence[str],
        fewest: int,
        seen: NDArray[np.intp],
        allowed: NDArray[np.bool_],
    ) -> NDArray[np.intp]:
        """Allowed rows that hold enough of the words, by BM25 over the rows seen."""
        if not words or not seen.size:
            return np.array([], dtype=np.intp)
        times = np.array([[_times(word, self.bodies[row]) for row in seen] for word in words])
        found = ((times > 0).sum(axis=0) >= fewest) & allowed[seen]
        score = round_significant(_bm25(times, self.lengths[seen])[found])
        rows = seen[found]
        ranked: NDArray[np.intp] = rows[np.lexsort((-rows, -score))]
        return ranked


def _bm25(times: NDArray[np.int64], lengths: FloatArray) -> FloatArray:
    df = (times > 0).sum(axis=1)
    rarity = np.maximum(np.log((lengths.size - df + 0.5) / (df + 0.5)), _LEAST_IDF)
    average = max(float(lengths.mean()), 1.0)
    total = np.zeros(lengths.shape)
    for idf, f in zip(rarity, times.astype(np.float64), strict=True):
        total += idf * f * (_K1 + 1.0) / (f + _K1 * (1.0 - _B + _B * lengths / average))
    return total


def _times(word: str, body: str) -> int:
    """Occurrences of a word, overlapping ones too."""
    count, at = 0, body.find(word)
    while at >= 0:
        count, at = count + 1, body.find(word, at + 1)
    return count


def _any(words: Sequence[str], body: str) -> bool:
    return any(word in body for word in words)
