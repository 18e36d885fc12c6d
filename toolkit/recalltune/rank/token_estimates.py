"""Token estimates of dsh-auto-memory: from lengths alone, in the units JavaScript counts in.

In: any text. Out: model tokens it may cost, without a model. `tokens.estimate_tokens` knows wide
characters; these two know only how long a text is.
"""

from __future__ import annotations

__all__ = ["estimate_tokens_half", "estimate_tokens_quarter", "utf16_units"]

_LINE_TOKENS = 4


def utf16_units(text: str) -> int:
    """Length of a text in UTF-16 units, which is what ``length`` says in JavaScript.

    Parameters
    ----------
    text
        Any text.

    Returns
    -------
    int
        units, >= 0. A character beyond U+FFFF, such as an emoji, is two.

    References
    ----------
    ECMAScript, String ``length``; the unit of production's length norms and budgets.

    Examples
    --------
    >>> utf16_units("风筝"), utf16_units("🪁")
    (2, 2)
    """
    return len(text) + sum(character > "\uffff" for character in text)


def estimate_tokens_quarter(text: str) -> int:
    """Tokens of a line in a catalogue, few: ``ceil(units / 4) + 4``; 0 for the empty text.

    Parameters
    ----------
    text
        Any text, line ends included.

    Returns
    -------
    int
        tokens, 0 or >= 5. Too few for Chinese, where a character is about a token.

    References
    ----------
    dsh-auto-memory ``tier0-catalog-pre.js``, estimator ``repo``.

    Examples
    --------
    >>> [estimate_tokens_quarter(text) for text in ("", "a", "a" * 17)]
    [0, 5, 9]
    """
    units = utf16_units(text)
    return -(-units // 4) + _LINE_TOKENS if units else 0


def estimate_tokens_half(text: str) -> int:
    """Tokens of a line in a catalogue, many: ``max(ceil(units / 2), ceil(units / 4) + 4)``.

    Parameters
    ----------
    text
        Any text, line ends included.

    Returns
    -------
    int
        tokens, 0 or >= 5, never fewer than `estimate_tokens_quarter`.

    References
    ----------
    dsh-auto-memory ``tier0-catalog-pre.js``, estimator ``conservative``, its default.

    Examples
    --------
    >>> [estimate_tokens_half(text) for text in ("", "a", "a" * 17)]
    [0, 5, 9]
    """
    return max(-(-utf16_units(text) // 2), estimate_tokens_quarter(text))
