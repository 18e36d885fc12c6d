"""Text of the data made harmless: no control or bidi character, no more than a stated width."""

from __future__ import annotations

import html
import unicodedata

__all__ = ["escaped", "plain", "width"]

_BLANK = {"\n", "\t", "\r", "\u2028", "\u2029", "\x85"}


def width(text: str) -> int:
    """Display columns of a text: East Asian wide characters take two, combining ones none."""
    return sum(_columns(character) for character in text)


def _columns(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Cf", "Mn"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def plain(text: str, *, columns: int = 240) -> str:
    r"""Return ``text`` on one line, controls shown as named boxes, cut with an ellipsis.

    Examples
    --------
    >>> plain("a\u202eb")
    'a[U+202E]b'
    """
    shown: list[str] = []
    used = 0
    for character in text:
        piece = _piece(character)
        used += width(piece)
        if used > columns:
            return "".join(shown).rstrip() + "…"
        shown.append(piece)
    return "".join(shown)


def _piece(character: str) -> str:
    if character in _BLANK:
        return " "
    if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Cn"):
        return f"[U+{ord(character):04X}]"
    return character


def escaped(text: str, *, columns: int = 240) -> str:
    """Return `plain` text for an HTML element; never for an attribute, URL, style or id."""
    return html.escape(plain(text, columns=columns), quote=True)
