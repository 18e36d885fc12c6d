"""A long text cut into pieces that overlap, as RecallNest cuts it.

In: a text and limits. Out: places in the text, [start, end). Nothing is lost: every character that
is not blank lies in a piece.
"""

from __future__ import annotations

from recalltune.errors import ParameterError

__all__ = ["chunk_spans", "production_rounds"]

_ENDS = ".!?。！？"
# What JavaScript calls white space. Python's own idea has four control characters more, and no BOM.
_BLANKS = (
    " \n\t\r\v\f\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)


def chunk_spans(
    text: str,
    *,
    max_chars: int = 2000,
    overlap_chars: int = 100,
    min_chars: int = 100,
    max_lines: int = 40,
    semantic: bool = True,
) -> list[tuple[int, int]]:
    r"""Places of the pieces of a text: cut at the last good place before ``max_chars``.

    A rest of at most ``max_chars`` is one piece, however many lines it has. From a longer one a
    piece is cut, at the first of these that lies between ``min_chars`` and ``max_chars``: after
    line ``max_lines`` (or at ``min_chars``, if that is later); after the last sentence end and the
    blanks behind it; after the last line end; before the last blank; at ``max_chars``. What comes
    out shorter than ``min_chars`` without its outer blanks is cut at ``max_chars`` instead. The
    next piece begins ``overlap_chars`` before the end of this one, and at least one character
    further on.

    Parameters
    ----------
    text
        Any text.
    max_chars
        Characters of a piece, >= 1.
    overlap_chars
        Characters two neighbours share, in [0, ``max_chars``).
    min_chars
        Characters a piece has at least, the last one aside, in [1, ``max_chars``].
    max_lines
        Lines of a piece, >= 1. A bound for pieces that are cut, not for the last one; it yields to
        ``min_chars``.
    semantic
        Look for ends of sentences and lines; without, for blanks alone.

    Returns
    -------
    list[tuple[int, int]]
        Pieces as [start, end), outer blanks left out, in reading order, in characters. None is
        empty or longer than ``max_chars``; every character that is not blank is in one.

    Raises
    ------
    ParameterError
        If a limit is out of its range.

    Notes
    -----
    RecallNest stops after `production_rounds` pieces and loses the rest, which happens to texts of
    short lines. There this one goes on, and from there on neighbours share at most half a piece,
    so that the time stays linear in the text. Characters beyond U+FFFF count once here, twice
    there.

    References
    ----------
    RecallNest ``chunker.ts`` ``chunkDocument``.

    Examples
    --------
    >>> text = "One is short. Two is longer than that. Three."
    >>> [text[a:b] for a, b in chunk_spans(text, max_chars=30, overlap_chars=4, min_chars=8)]
    ['One is short.', 'rt. Two is longer than that.', 'at. Three.']
    """
    _check("max_chars", max_chars, 1, None)
    _check("overlap_chars", overlap_chars, 0, max_chars - 1)
    _check("min_chars", min_chars, 1, max_chars)
    _check("max_lines", max_lines, 1, None)
    spans: list[tuple[int, int]] = []
    known = production_rounds(len(text), max_chars, overlap_chars)
    at = rounds = 0
    while at < len(text):
        end = len(text)
        if end - at > max_chars:
            highest = at + max_chars
            end = _cut(text, at, at + min_chars, highest, max_lines, semantic)
            low, high = _without_blanks(text, at, end)
            end = highest if high - low < min_chars else end
        low, high = _without_blanks(text, at, end)
        if low < high:
            spans.append((low, high))
        if end == len(text):
            break
        rounds += 1
        overlap = overlap_chars if rounds < known else min(overlap_chars, (end - at) // 2)
        at = max(end - overlap, at + 1)
    return spans


def production_rounds(chars: int, max_chars: int, overlap_chars: int) -> int:
    """How many pieces RecallNest cuts from a text at most: ``ceil(chars / step) + 5``, at least 4.

    ``step`` is ``max_chars - overlap_chars``, >= 1.

    References
    ----------
    RecallNest ``chunker.ts`` ``maxGuard``.
    """
    return max(4, -(-chars // (max_chars - overlap_chars)) + 5)


def _cut(text: str, start: int, low: int, high: int, max_lines: int, semantic: bool) -> int:
    """Where a piece from ``start`` ends, in [low, high]."""
    line = start - 1
    for _ in range(max_lines):
        line = text.find("\n", line + 1, high)
        if line < 0:
            break
    else:
        return max(line + 1, low)
    if semantic:
        end = _last(text, _ENDS, low, high)
        if end >= 0:
            rest = text[end + 1 : high]
            return high - len(rest.lstrip(_BLANKS))
        line = text.rfind("\n", low, high)
        if line >= 0:
            return line + 1
    blank = _last(text, _BLANKS, low, high)
    return blank if blank >= 0 else high


def _last(text: str, wanted: str, low: int, high: int) -> int:
    return max(text.rfind(one, low, high) for one in wanted)


def _without_blanks(text: str, start: int, end: int) -> tuple[int, int]:
    piece = text[start:end]
    return end - len(piece.lstrip(_BLANKS)), start + len(piece.rstrip(_BLANKS))


def _check(name: str, value: int, low: int, high: int | None) -> None:
    if value < low or (high is not None and value > high):
        allowed = f"in [{low}, {high}]" if high is not None else f">= {low}"
        msg = f"{name} must be {allowed}, got {value}"
        raise ParameterError(msg)
