"""Text from memories and queries, made safe and short enough to stand in a chart.

Memory text is hostile: it may hold control characters, direction overrides, zero-width joiners
or a 50 KB line. Charts show a cleaned copy cut by display width; nothing here is interpreted.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

__all__ = [
    "LABEL_COLUMNS",
    "TOOLTIP_COLUMNS",
    "clean",
    "cut",
    "display_width",
    "flow",
    "pixels",
    "wrap",
]

LABEL_COLUMNS = 40
"""Display columns of a row label; 40 columns are about 230 px at 11 px."""

TOOLTIP_COLUMNS = 240
"""Display columns of a tooltip value: 120 characters of Chinese."""

_ELLIPSIS = "…"
# Cut before cleaning, so that a 50 KB line costs no more than a short one.
_READ_AT_MOST = 4_000
_INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Cn"}


def clean(text: str) -> str:
    r"""Text without control, direction, zero-width or surrogate characters, on one line.

    Parameters
    ----------
    text
        Any string; only the first 4,000 characters are read.

    Returns
    -------
    str
        Every run of white space is one space; never starts or ends with one.

    Examples
    --------
    >>> clean("a\u202eb\n\tc\x00")
    'ab c'
    """
    spaced = " ".join(text[:_READ_AT_MOST].split())
    kept = "".join(sign for sign in spaced if unicodedata.category(sign) not in _INVISIBLE)
    return " ".join(kept.split())


def display_width(text: str) -> int:
    """Columns a text takes: 2 for a wide (CJK) character, 0 for a combining mark, else 1.

    Examples
    --------
    >>> display_width("ab备份")
    6
    """
    return sum(_columns(sign) for sign in text)


def cut(text: str, columns: int = LABEL_COLUMNS) -> str:
    """Cleaned text of at most ``columns`` display columns, ending in an ellipsis if cut.

    Examples
    --------
    >>> cut("GitHub备份放在哪个目录", 11)
    'GitHub备份…'
    """
    line = clean(text)
    if display_width(line) <= columns:
        return line
    room = columns - 1
    kept = ""
    for sign in line:
        room -= _columns(sign)
        if room < 0:
            break
        kept += sign
    return kept.rstrip() + _ELLIPSIS


def pixels(text: str, size: float) -> float:
    """About how wide a text is drawn, in px, at a font size in px (0.56 em a Latin column)."""
    return sum(size if _columns(sign) == 2 else 0.56 * size * _columns(sign) for sign in text)


def wrap(text: str, columns: int) -> tuple[str, ...]:
    """Lines of at most ``columns`` display columns, broken at spaces, else between wide signs.

    Examples
    --------
    >>> wrap("one two three", 8)
    ('one two', 'three')
    """
    return flow(clean(text).split(" "), columns)


def flow(words: Sequence[str], columns: int) -> tuple[str, ...]:
    """Lines made of words that may hold spaces of their own, broken between words only.

    Examples
    --------
    >>> flow(["seen on", "config 3f9a,", "data 77b0"], 20)
    ('seen on config 3f9a,', 'data 77b0')
    """
    lines: list[str] = []
    line = ""
    for word in words:
        joined = f"{line} {word}" if line else word
        if display_width(joined) <= columns:
            line = joined
            continue
        if line:
            lines.append(line)
        *full, line = _broken(word, columns)
        lines.extend(full)
    return (*lines, line) if line else tuple(lines)


def _broken(word: str, columns: int) -> list[str]:
    pieces = [""]
    for sign in word:
        if display_width(pieces[-1]) + _columns(sign) > columns:
            pieces.append("")
        pieces[-1] += sign
    return pieces


def _columns(sign: str) -> int:
    if unicodedata.combining(sign):
        return 0
    return 2 if unicodedata.east_asian_width(sign) in "WF" else 1
