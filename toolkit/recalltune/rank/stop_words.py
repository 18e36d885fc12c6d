"""Tokenisers that leave stop words out, and the classic English one of them.

In: any text. Out: a list of tokens with repeats. A text that holds nothing but stop words keeps
them: "the who" is a band, "to be or not to be" a question.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from recalltune.rank.stems import porter_stem
from recalltune.rank.token_variants import tokenize_plain

__all__ = ["LUCENE_STOP_WORDS", "WithoutStopWords", "tokenize_porter"]

_LUCENE = """
a an and are as at be but by for if in into is it no not of on or such that the their then there
these they this to was will with
"""
LUCENE_STOP_WORDS = frozenset(_LUCENE.split())
"""The 33 English stop words of Lucene's EnglishAnalyzer (key ``lucene_stop``)."""


@dataclass(frozen=True, slots=True)
class WithoutStopWords:
    """A tokeniser that leaves stop words out of a text, unless nothing else is in it.

    Attributes
    ----------
    words
        Text to words, before anything is left out.
    stop_words
        Words to leave out, in the form that ``words`` gives them.
    ending
        Word to token, for the words that stay; `str` keeps them as they are.

    Examples
    --------
    >>> tokenise = WithoutStopWords(str.split, frozenset({"the", "of"}))
    >>> tokenise("the smell of rain"), tokenise("of the")
    (['smell', 'rain'], ['of', 'the'])
    """

    words: Callable[[str], list[str]]
    stop_words: frozenset[str]
    ending: Callable[[str], str] = str

    def __call__(self, text: str) -> list[str]:
        """Tokens of a text in reading order, with repeats."""
        words = self.words(text)
        told = [word for word in words if word not in self.stop_words] or words
        return [self.ending(word) for word in told]

    def every(self, text: str) -> list[str]:
        """Tokens of all words, stop words too."""
        return [self.ending(word) for word in self.words(text)]

    def only_stop_words(self, text: str) -> bool:
        """Whether a text has words, and every one is a stop word."""
        words = self.words(text)
        return bool(words) and self.stop_words.issuperset(words)


def _english(word: str) -> str:
    return porter_stem(word) if word.isascii() else word


tokenize_porter = WithoutStopWords(tokenize_plain, LUCENE_STOP_WORDS, _english)
"""The classic English analyser: `tokenize_plain`, Lucene's stop words out, Porter stems.

CJK runs are cut as in `tokenize_plain`. Lucene itself makes nothing of a text of stop words.
"""
