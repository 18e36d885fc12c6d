"""Text of the data made harmless: no control or bidi character, no more than a stated width."""

from __future__ import annotations

import html
import unicodedata

__all__ = ["escaped", "plain", "width"]

# Combining marks take no column, so a text of nothing else is bounded by its characters.
_CHARACTERS_PER_COLUMN = 4


def width(text: str) -> int:
    """Display columns of a text: East Asian wide characters take two, combining ones none."""
    return sum(_columns(character) for character in text)


def _columns(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Cf", "Mn"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def plain(text: str, *, columns: int = 240, keep_spaces: bool = True) -> str:
    r"""Return ``text`` on one line, controls shown as named boxes, cut with an ellipsis.

    Without ``keep_spaces`` every run of white space is one space, and none ends the text.

    Examples
    --------
    >>> plain("a\u202eb")
    'a[U+202E]b'
    """
    shown: list[str] = []
    used = 0
    blank = True
    for count, character in enumerate(text):
        space = character.isspace()
        if space and blank and not keep_spaces:
            continue
        piece = " " if space else _piece(character)
        used += width(piece)
        if used > columns or count > _CHARACTERS_PER_COLUMN * columns:
            return "".join(shown).rstrip() + "…"
        shown.append(piece)
        blank = space
    line = "".join(shown)
    return line if keep_spaces else line.rstrip()


def _piece(character: str) -> str:
    if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Cn"):
        return f"[U+{ord(character):04X}]"
    return character


def escaped(text: str, *, columns: int = 240) -> str:
    """Return `plain` text for an HTML element; never for an attribute, URL, style or id."""
    return html.escape(plain(text, columns=columns, keep_spaces=False), quote=True)
