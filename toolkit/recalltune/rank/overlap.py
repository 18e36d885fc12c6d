"""Words a query and a text share, and scores of several views of one memory made one.

In: texts, or word lists; scores per view, NaN where a memory has no such view. Out: a share in
[0, 1]; one blended score.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from recalltune.errors import ParameterError
from recalltune.rank._check import FloatArray, finite, in_range, word_list

__all__ = ["blend_views", "content_words", "word_overlap"]

_WORD = re.compile(r"[a-z0-9_]+|[\u3400-\u4dbf\u4e00-\u9fff]")
# Function words, by what they are: articles, forms of be, have and do, modals, prepositions,
# conjunctions, pronouns, question words; then the same in Chinese.
_FUNCTION_WORDS = """
an the is are was were be been being have has had do does did
will would shall should may might can could
of in to for with on at by from and or but not no so if as
it my me we our us you your he she they them this that what which who how when where why
"""
_UNCOUNTED = frozenset(_FUNCTION_WORDS.split()) | frozenset(
    "的了在是我有和就不人都一上也很到说要去你会着看好这"
)


def content_words(text: str) -> list[str]:
    """Words of a text that carry meaning: single Chinese characters and runs of Latin letters.

    A run of letters, digits and underscores is a word when it is longer than one character.
    Function words of both languages are left out.

    Parameters
    ----------
    text
        Any text.

    Returns
    -------
    list[str]
        Lower-cased words with repeats, in reading order.

    References
    ----------
    RecallNest ``multi-vector.ts`` ``tokenize``.

    Examples
    --------
    >>> content_words("How to tune decay, a b"), content_words("我的数据库")
    (['tune', 'decay'], ['数', '据', '库'])
    """
    words = _WORD.findall(text.lower())
    return [w for w in words if w not in _UNCOUNTED and (len(w) > 1 or not w.isascii())]


def word_overlap(query: Iterable[str], text: Iterable[str], *, coverage: float = 0.7) -> float:
    """Share of a query's words in a short text: ``c * hits / |query| + (1 - c) * hits / |text|``.

    Parameters
    ----------
    query, text
        Words with repeats; ``hits`` counts the query's words that occur in the text.
    coverage
        ``c`` in [0, 1]: weight of how much of the query is met; the rest is how dense the text is.

    Returns
    -------
    float
        >= 0; 1 for the same words without repeats, 0 where either side has no words. A query that
        repeats a word may lift the density above 1.

    Raises
    ------
    ParameterError
        If ``coverage`` lies outside [0, 1], or a side is a bare text.

    References
    ----------
    RecallNest ``multi-vector.ts`` ``textOverlapScore``.

    Examples
    --------
    >>> round(word_overlap(["tune", "decay"], ["tune", "decay", "half", "life"]), 6)
    0.85
    """
    share = float(in_range("coverage", coverage, low=0.0, high=1.0))
    asked, told = word_list("query", query), word_list("text", text)
    if not asked or not told:
        return 0.0
    known = set(told)
    hits = sum(word in known for word in asked)
    return share * hits / len(asked) + (1.0 - share) * hits / len(told)


def blend_views(score: ArrayLike, views: ArrayLike, *, shares: ArrayLike) -> FloatArray:
    """Score of a memory and of its views in one, by the shares of those that are there.

    ``(main * score + sum of share * view) / (main + sum of share)`` over the views that are
    present, with ``main = 1 - sum of all shares``.

    Parameters
    ----------
    score
        shape (…), finite.
    views
        shape (views, …), finite; NaN = the memory has no such view.
    shares
        shape (views,) or (views, …), each >= 0, together at most 1.

    Returns
    -------
    NDArray[np.float64]
        shape (…); exactly ``score`` where no view is present.

    Raises
    ------
    ParameterError
        If a value leaves its range, or shares and views do not match.

    References
    ----------
    RecallNest ``multi-vector.ts`` ``blendMultiVectorScores``.

    Examples
    --------
    >>> blend_views([0.7, 0.7], [[0.5, np.nan], [0.4, np.nan]], shares=[0.25, 0.25]).tolist()
    [0.575, 0.7]
    """
    score, views = finite("score", score), finite("views", views, nan_ok=True)
    shares = in_range("shares", shares, low=0.0, high=1.0)
    if shares.ndim == 0 or views.ndim == 0 or shares.shape[0] != views.shape[0]:
        msg = f"shares must hold one share for each view, got {shares.shape} for {views.shape}"
        raise ParameterError(msg)
    shares = shares.reshape(shares.shape + (1,) * (views.ndim - shares.ndim))
    main = in_range("1 - sum of shares", 1.0 - shares.sum(axis=0), low=0.0, high=1.0)
    present = ~np.isnan(views)
    weight = np.where(present, shares, 0.0)
    total = main + weight.sum(axis=0)
    mixed = main * score + (weight * np.where(present, views, 0.0)).sum(axis=0)
    there = present.any(axis=0) & (total > 0.0)
    return np.where(there, np.divide(mixed, total, out=np.zeros_like(mixed), where=there), score)
