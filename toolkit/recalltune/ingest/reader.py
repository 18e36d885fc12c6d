"""Bytes of a source file to lines: the one reader every line-based format shares.

In: a file nobody vouches for. Out: its lines with their numbers, one at a time, so memory stays
bounded by the longest line kept. Only a line feed ends a line; U+2028 and its like are text.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import stat
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recalltune.errors import SourceError

__all__ = [
    "MAX_DEPTH",
    "MAX_DOCUMENT_BYTES",
    "MAX_FILE_BYTES",
    "MAX_LINE_BYTES",
    "Line",
    "decode_json",
    "file_digest",
    "read_document",
    "read_lines",
]

MAX_LINE_BYTES = 8 * 2**20
"""A longer line is passed over and counted; the lines after it are read."""
MAX_FILE_BYTES = 4 * 2**30
"""A larger file is refused."""
MAX_DOCUMENT_BYTES = 256 * 2**20
"""Bound of a file that must be held whole: one JSON document, one Markdown page."""

MAX_DEPTH = 64
"""Levels of nesting; a deeper JSON value is damaged."""

_TOO_DEEP = f"nested deeper than {MAX_DEPTH} levels"
_CHUNK = 2**20
_BOM = b"\xef\xbb\xbf"
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class Line:
    """One line: its 1-based number, its text, and what was wrong with its bytes.

    ``text`` is empty if the line was longer than the limit; ``size`` then says how long it was.
    """

    number: int
    text: str
    size: int
    too_long: bool = False
    repaired: bool = False
    """Bytes that are not UTF-8 were replaced by U+FFFD."""
    complete: bool = True
    """False for a last line that no line feed ends."""


def file_digest(path: Path) -> str:
    """SHA-256 of the file's bytes, in hex, read in pieces.

    Raises
    ------
    SourceError
        If it is no regular file, or larger than `MAX_FILE_BYTES`.
    """
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        msg = f"{path}:1: not a regular file"
        raise SourceError(msg)
    if status.st_size > MAX_FILE_BYTES:
        msg = f"{path}:1: file must be at most {MAX_FILE_BYTES:,} bytes, got {status.st_size:,}"
        raise SourceError(msg)
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_lines(path: Path, *, max_line_bytes: int = MAX_LINE_BYTES) -> Iterator[Line]:
    """Lines of a file in order, without their ends; CRLF, BOM and a torn last line are handled.

    Parameters
    ----------
    path
        The file.
    max_line_bytes
        bytes, >= 1. A longer line comes without its text, marked ``too_long``.
    """
    number, size, held = 1, 0, bytearray()
    with path.open("rb") as file:
        while piece := file.read(_CHUNK):
            *ended, rest = piece.split(b"\n")
            for part in ended:
                size += len(part)
                if size <= max_line_bytes:
                    held += part
                yield _line(number, held, size, max_line_bytes, complete=True)
                number, size, held = number + 1, 0, bytearray()
            size += len(rest)
            if size <= max_line_bytes:
                held += rest
    if size:
        yield _line(number, held, size, max_line_bytes, complete=False)


def read_document(path: Path) -> tuple[str, bool]:
    """Whole text of a file without a BOM, and whether invalid bytes were replaced.

    Raises
    ------
    SourceError
        If it is larger than `MAX_DOCUMENT_BYTES`.
    """
    size = path.stat().st_size
    if size > MAX_DOCUMENT_BYTES:
        msg = f"{path.name}:1: document must be at most {MAX_DOCUMENT_BYTES:,} bytes, got {size:,}"
        raise SourceError(msg)
    return _decoded(path.read_bytes().removeprefix(_BOM))


def decode_json(text: str, notes: Counter[str]) -> Any:
    """Value of a JSON text, safe to store: no NaN, no lone surrogate, not nested too deeply.

    Parameters
    ----------
    text
        One JSON value.
    notes
        Counter that receives one count per lone surrogate replaced by U+FFFD.

    Raises
    ------
    ValueError
        If it is no JSON, or nested deeper than `MAX_DEPTH`.

    Examples
    --------
    >>> decode_json('{"score": NaN, "text": "half ' + chr(92) + 'ud83d"}', Counter())
    {'score': None, 'text': 'half �'}
    """
    try:
        value = json.loads(text, parse_constant=lambda _: None, parse_float=_finite)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    # Most records hold neither an escape nor enough brackets; they are spared the walk.
    if "\\u" in text or text.count("{") + text.count("[") > MAX_DEPTH:
        return _clean(value, notes, MAX_DEPTH)
    return value


def _clean(value: Any, notes: Counter[str], depth: int) -> Any:
    if isinstance(value, str):
        text, count = _SURROGATE.subn("\ufffd", value)
        notes["lone surrogate, replaced by U+FFFD"] += count
        return text
    if not isinstance(value, dict | list):
        return value
    if depth == 0:
        raise ValueError(_TOO_DEEP)
    if isinstance(value, list):
        return [_clean(item, notes, depth - 1) for item in value]
    return {
        _clean(key, notes, depth): _clean(item, notes, depth - 1) for key, item in value.items()
    }


def _line(number: int, held: bytearray, size: int, limit: int, *, complete: bool) -> Line:
    if size > limit:
        return Line(number, "", size, too_long=True, complete=complete)
    raw = bytes(held).removeprefix(_BOM) if number == 1 else bytes(held)
    text, repaired = _decoded(raw.removesuffix(b"\r"))
    return Line(number, text, size, repaired=repaired, complete=complete)


def _decoded(raw: bytes) -> tuple[str, bool]:
    try:
        return raw.decode(), False
    except UnicodeDecodeError:
        return raw.decode(errors="replace"), True


def _finite(digits: str) -> float | None:
    value = float(digits)
    return value if math.isfinite(value) else None
