"""Full-text search as OpenClaw runs it: what is asked of the index, and what a hit is worth.

In: queries and texts; ranks of SQLite's FTS5, counts of words in common. Out: match expressions;
scores in [0, 1], higher is better.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from recalltune.rank._check import FloatArray, finite, fitting, in_range

__all__ = [
    "KeywordPlan",
    "fts_query",
    "fts_rank_score",
    "keyword_plan",
    "lexical_boost",
    "search_words",
    "words_in_path",
]

# Letters, digits and underscores of every script; marks separate words.
_WORD = re.compile(r"\w+")
_TRIGRAM = 3


def fts_rank_score(rank: ArrayLike) -> FloatArray:
    """Rank of FTS5 as a score: ``-r / (1 - r)`` below 0, ``1 / (1 + r)`` from 0 on.

    FTS5's BM25 is negative and *lower is better*; -s gives what `saturate` gives for a BM25 of s.
    A rank of 0 or more is a place in a list, 0 the best.

    Parameters
    ----------
    rank
        shape (…), finite. Lower is better, on either side of 0.

    Returns
    -------
    NDArray[np.float64]
        shape (…), in (0, 1], higher is better. It jumps at 0: the two sides are not to be mixed.

    Raises
    ------
    ParameterError
        If a rank is not finite.

    References
    ----------
    OpenClaw ``hybrid.ts`` ``bm25RankToScore``; before its issue 5767 every negative rank gave 1.

    Examples
    --------
    >>> fts_rank_score([-6.0, -3.0, -1.0, 1.0]).round(6).tolist()
    [0.857143, 0.75, 0.5, 0.5]
    """
    rank = finite("rank", rank)
    relevance = np.maximum(-rank, 0.0)
    return np.where(rank < 0.0, relevance / (1.0 + relevance), 1.0 / (1.0 + np.maximum(rank, 0.0)))


def search_words(text: str) -> list[str]:
    """Words of a text as the ranking of keyword hits compares them.

    Parameters
    ----------
    text
        Any text; NFC, lower-cased.

    Returns
    -------
    list[str]
        Runs of letters, digits and underscores with repeats, in reading order. A run of Chinese
        characters is one word.

    References
    ----------
    OpenClaw ``manager-search.ts`` ``normalizeSearchTokens``.

    Examples
    --------
    >>> search_words("Retry_3 ×, 记忆排序")
    ['retry_3', '记忆排序']
    """
    return _WORD.findall(unicodedata.normalize("NFC", text).lower())


def words_in_path(words: Collection[str], path: str) -> int:
    """How many words occur in a path, anywhere in it.

    Parameters
    ----------
    words
        From `search_words`.
    path
        Any path; NFC, lower-cased.

    Returns
    -------
    int
        0 to the number of words.

    References
    ----------
    OpenClaw ``manager-search.ts`` ``scoreFallbackKeywordResult``.

    Examples
    --------
    >>> words_in_path(["alpha", "beta", "gamma"], "memory/Alpha-beta.md")
    2
    """
    within = unicodedata.normalize("NFC", path).lower()
    return sum(word in within for word in words)


@fitting
def lexical_boost(
    score: ArrayLike,
    *,
    asked: ArrayLike,
    matched: ArrayLike,
    distinct: ArrayLike,
    in_path: ArrayLike,
    length_chars: ArrayLike,
    overlap_weight: float = 0.45,
    density_weight: float = 0.2,
    path_weight: float = 0.18,
    length_cap: float = 0.18,
    length_scale_chars: float = 160.0,
) -> FloatArray:
    """Keyword score raised by words in common, words in the path, and length; at most 1.

    ``score + overlap_weight * m/q + density_weight * m/max(1, d) + path_weight * p +
    min(length_cap, length / length_scale_chars)``, m of q words of the query matched, d distinct
    words in the text, p words of the query in the path. It orders hits; it is no confidence.

    Parameters
    ----------
    score
        shape (…), in [0, 1].
    asked, matched, distinct, in_path
        q, m, d, p: counts, >= 0, broadcast. A query of no words leaves the score as it is.
    length_chars
        UTF-16 units of the text, >= 0, broadcasts.
    overlap_weight, density_weight, path_weight, length_cap
        >= 0.
    length_scale_chars
        UTF-16 units, > 0.

    Returns
    -------
    NDArray[np.float64]
        shape (…), in [0, 1], never below ``score``.

    Raises
    ------
    ParameterError
        If a value leaves its range.

    References
    ----------
    OpenClaw ``manager-search.ts`` ``scoreFallbackKeywordResult``.

    Examples
    --------
    >>> counts = {"asked": 3, "matched": 1, "distinct": 2, "in_path": 2, "length_chars": 10}
    >>> round(float(lexical_boost(0.2, **counts)), 6)
    0.8725
    """
    score = in_range("score", score, low=0.0, high=1.0)
    q = in_range("asked", asked, low=0.0, high_open=True)
    m = in_range("matched", matched, low=0.0, high_open=True)
    d = in_range("distinct", distinct, low=0.0, high_open=True)
    p = in_range("in_path", in_path, low=0.0, high_open=True)
    length = in_range("length_chars", length_chars, low=0.0, high_open=True)
    for name, weight in (
        ("overlap_weight", overlap_weight),
        ("density_weight", density_weight),
        ("path_weight", path_weight),
        ("length_cap", length_cap),
    ):
        in_range(name, weight, low=0.0, high_open=True)
    scale = in_range("length_scale_chars", length_scale_chars, low=0.0, low_open=True)
    in_common = overlap_weight * m / np.maximum(q, 1.0) + density_weight * m / np.maximum(d, 1.0)
    raised = score + in_common + path_weight * p + np.minimum(length_cap, length / scale)
    return np.where(q > 0.0, np.minimum(1.0, raised), score)


def fts_query(query: str) -> str | None:
    """Match expression that asks for every word: each in quotes, joined by AND.

    Parameters
    ----------
    query
        Any text; nothing in it is read as syntax.

    Returns
    -------
    str or None
        None where the query holds no word.

    References
    ----------
    OpenClaw ``hybrid.ts`` ``buildFtsQuery``.

    Examples
    --------
    >>> fts_query("FOO_bar baz-1"), fts_query("!?")
    ('"FOO_bar" AND "baz" AND "1"', None)
    """
    return _all_of(_WORD.findall(query))


class KeywordPlan(NamedTuple):
    """What an index of character trigrams is asked."""

    match: str | None
    """Match expression; None where no word is long enough for one."""
    substrings: tuple[str, ...]
    """Words too short for the index: rows must contain them, and get no score for it."""


def keyword_plan(query: str) -> KeywordPlan:
    """Split a query for an index of trigrams, which cannot find fewer than three characters.

    Parameters
    ----------
    query
        Any text.

    References
    ----------
    OpenClaw ``manager-search.ts`` ``planKeywordSearch`` with the tokeniser ``trigram``.

    Examples
    --------
    >>> keyword_plan("旧书店 封面")
    KeywordPlan(match='"旧书店"', substrings=('封面',))
    """
    words = _WORD.findall(query)
    return KeywordPlan(
        _all_of([word for word in words if len(word) >= _TRIGRAM]),
        tuple(word for word in words if len(word) < _TRIGRAM),
    )


def _all_of(words: list[str]) -> str | None:
    return " AND ".join(f'"{word}"' for word in words) or None
