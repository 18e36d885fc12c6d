"""An index of texts under one tokeniser: which words to ask of which postings.

In: texts and the name of a tokeniser. Out: a `PostingIndex` and the tokens to ask it for. The name
is given once, so memories and queries cannot be cut differently.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from recalltune.errors import ParameterError, nearest
from recalltune.rank.bm25 import PostingIndex
from recalltune.rank.stop_words import WithoutStopWords
from recalltune.rank.tokens import TOKENIZERS

__all__ = ["TextIndex"]


@dataclass(frozen=True, slots=True, eq=False)
class TextIndex:
    """Postings of texts, and of their stop words where the tokeniser leaves some out.

    Attributes
    ----------
    tokeniser
        Name in `TOKENIZERS`.
    postings
        Row i is the i-th text.
    token_sets
        n sets: the tokens of each text.
    every_word
        Postings with stop words; None for a tokeniser that leaves nothing out.
    """

    tokeniser: str
    postings: PostingIndex
    token_sets: list[frozenset[str]]
    every_word: PostingIndex | None = None

    @classmethod
    def build(cls, texts: Sequence[str], tokeniser: str = "words_cjk_bigrams") -> Self:
        """Index texts under a named tokeniser.

        Raises
        ------
        ParameterError
            If there is no tokeniser of that name.
        """
        if tokeniser not in TOKENIZERS:
            message = f"no tokeniser {tokeniser!r}; {nearest(tokeniser, TOKENIZERS)}"
            raise ParameterError(message)
        tokenise = TOKENIZERS[tokeniser]
        tokens = [tokenise(text) for text in texts]
        every_word = None
        if isinstance(tokenise, WithoutStopWords):
            every_word = PostingIndex.build([tokenise.every(text) for text in texts])
        return cls(
            tokeniser=tokeniser,
            postings=PostingIndex.build(tokens),
            token_sets=[frozenset(words) for words in tokens],
            every_word=every_word,
        )

    def asked(self, query: str) -> tuple[PostingIndex, list[str]]:
        """Return the postings a query is looked up in, and its tokens.

        A query of stop words alone is looked up among all words, where it can be found; any other
        among the words that stay.

        Examples
        --------
        >>> index = TextIndex.build(["The Who at Leeds", "a cheese"], "porter")
        >>> postings, tokens = index.asked("the")
        >>> (postings.scores(tokens) > 0).tolist()
        [True, False]
        """
        tokenise = TOKENIZERS[self.tokeniser]
        tokens = tokenise(query)
        if (
            self.every_word is not None
            and isinstance(tokenise, WithoutStopWords)
            and tokenise.only_stop_words(query)
        ):
            return self.every_word, tokens
        return self.postings, tokens
