"""How alike texts are by the words they share, texts without words included.

In: texts and a tokeniser. Out: similarities per pair.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from recalltune.rank._check import FloatArray, word_list
from recalltune.rank.diversity import jaccard

__all__ = ["text_likeness"]

# No tokeniser gives a token with this character in it.
_WHOLE = "\x00"


def text_likeness(texts: Sequence[str], *, tokenise: Callable[[str], Sequence[str]]) -> FloatArray:
    """Share of tokens of every pair of texts: `jaccard`, and equality where there is no token.

    Two texts of which the tokeniser makes nothing are alike only if they are the same text, case
    and surrounding spaces aside. By `jaccard` alone all of them would be duplicates.

    Parameters
    ----------
    texts
        n texts.
    tokenise
        Text in, tokens out; one of ``TOKENIZERS``.

    Returns
    -------
    NDArray[np.float64]
        shape (n, n), in [0, 1], symmetric, diagonal 1.

    Raises
    ------
    ParameterError
        If ``texts`` is a bare text.

    References
    ----------
    OpenClaw ``mmr.ts`` ``textSimilarity``.

    Examples
    --------
    >>> ascii_only = lambda text: [w for w in text.split() if w.isascii()]
    >>> text_likeness(["мир", "Мир ", "сон"], tokenise=ascii_only)[0].tolist()
    [1.0, 1.0, 0.0]
    """
    return jaccard([tokenise(text) or _itself(text) for text in word_list("texts", texts)])


def _itself(text: str) -> list[str]:
    return [_WHOLE + text.strip().lower()]
