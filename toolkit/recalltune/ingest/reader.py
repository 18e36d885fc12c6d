"""Bytes of a source file to lines: the one reader every format shares.

In: a file nobody vouches for, plain or gzip. Out: its lines with their numbers, one at a time, so
memory stays bounded by the longest line kept. Only a line feed ends a line; U+2028 and its like
are text.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import math
import re
import stat
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any

import orjson

from recalltune.errors import UnreadableError

__all__ = [
    "MAX_DEPTH",
    "MAX_DOCUMENT_BYTES",
    "MAX_FILE_BYTES",
    "MAX_LINE_BYTES",
    "Line",
    "TooDeepError",
    "decode_json",
    "file_digest",
    "read_document",
    "read_head",
    "read_lines",
    "read_pieces",
]

MAX_LINE_BYTES = 64 * 2**20
"""A longer line is passed over and counted; the lines after it are read."""
MAX_FILE_BYTES = 4 * 2**30
"""A larger file is refused, and so is one that unpacks to more."""
MAX_DOCUMENT_BYTES = 256 * 2**20
"""Bound of a file that must be held whole: one JSON document, one Markdown page."""

MAX_DEPTH = 64
"""Levels of nesting; a deeper JSON value is damaged."""

_CHUNK = 2**20
_BOM = b"\xef\xbb\xbf"
_GZIP = b"\x1f\x8b"
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_MOST_REPAIRED = 0.2
_SURROGATE = re.compile("[\ud800-\udfff]")


class TooDeepError(ValueError):
    """A JSON value that is nested deeper than `MAX_DEPTH`."""

    def __init__(self) -> None:
        super().__init__(f"nested deeper than {MAX_DEPTH} levels")


@dataclass(frozen=True)
class Line:
    """One line: its 1-based number, its bytes, and what was wrong with them.

    ``raw`` is empty if the line was longer than the limit; ``size`` then says how long it was.
    """

    number: int
    raw: bytes
    size: int
    too_long: bool = False
    complete: bool = True
    """False for a last line that no line feed ends."""

    @cached_property
    def text(self) -> str:
        """The line, with U+FFFD for what is not UTF-8."""
        return self.raw.decode(errors="replace")

    @property
    def repaired(self) -> bool:
        """Whether `text` has U+FFFD for bytes that are not UTF-8."""
        return _decoded(self.raw)[1]

    @property
    def blank(self) -> bool:
        """Whether there is nothing on it."""
        return not self.too_long and not self.raw.strip()


def file_digest(path: Path) -> str:
    """SHA-256 of the file's bytes, in hex, read in pieces.

    Raises
    ------
    SourceError
        If it is no regular file, or larger than `MAX_FILE_BYTES`.
    """
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        msg = f"{path.name}:1: not a regular file"
        raise UnreadableError(msg)
    if status.st_size > MAX_FILE_BYTES:
        msg = (
            f"{path.name}:1: file must be at most {MAX_FILE_BYTES:,} bytes, got {status.st_size:,}"
        )
        raise UnreadableError(msg)
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_lines(path: Path, *, max_line_bytes: int = MAX_LINE_BYTES) -> Iterator[Line]:
    """Lines of a file in order, without their ends; CRLF, BOM and a torn last line are handled.

    Parameters
    ----------
    path
        The file; gzip is unpacked on the way, by its first bytes.
    max_line_bytes
        bytes, >= 1. A longer line comes without its bytes, marked ``too_long``.

    Raises
    ------
    SourceError
        If a gzip file is damaged, or unpacks to more than `MAX_FILE_BYTES`.
    """
    number, size, held = 1, 0, bytearray()
    for piece in read_pieces(path, MAX_FILE_BYTES):
        *ended, rest = piece.split(b"\n")
        for part in ended:
            if size:
                size += len(part)
                if size <= max_line_bytes:
                    held += part
                yield _line(number, bytes(held), size, max_line_bytes, complete=True)
                size, held = 0, bytearray()
            else:
                yield _line(number, part, len(part), max_line_bytes, complete=True)
            number += 1
        size += len(rest)
        if size <= max_line_bytes:
            held += rest
        else:
            held.clear()
    if size:
        yield _line(number, bytes(held), size, max_line_bytes, complete=False)


def read_document(path: Path) -> tuple[str, bool]:
    """Whole text of a file without a BOM, and whether invalid bytes were replaced.

    Raises
    ------
    SourceError
        If it is larger than `MAX_DOCUMENT_BYTES`, a damaged gzip file, or text in another encoding:
        UTF-16, bytes of zero, or more than one character in five that is no UTF-8.
    """
    size = path.stat().st_size
    if size > MAX_DOCUMENT_BYTES:
        msg = f"{path.name}:1: document must be at most {MAX_DOCUMENT_BYTES:,} bytes, got {size:,}"
        raise UnreadableError(msg)
    raw = b"".join(read_pieces(path, MAX_DOCUMENT_BYTES)).removeprefix(_BOM)
    text, repaired = _decoded(raw)
    broken = repaired and text.count("\ufffd") > _MOST_REPAIRED * len(text)
    if broken or b"\0" in raw or raw.startswith(_UTF_16):
        msg = f"{path.name}:1: text must be UTF-8, this is another encoding; save it as UTF-8"
        raise UnreadableError(msg)
    return text, repaired


def read_head(path: Path, size: int) -> bytes:
    """First bytes of a file, unpacked; fewer where it ends, or where a packed one is damaged.

    Raises
    ------
    UnreadableError
        If it is damaged from its first byte on.
    """
    held = b""
    try:
        for piece in read_pieces(path, MAX_FILE_BYTES):
            held += piece
            if len(held) >= size:
                break
    except UnreadableError:
        if not held:
            raise
    return held[:size]


def decode_json(data: bytes | str, notes: Counter[str]) -> Any:
    """Value of a JSON text, safe to store: no NaN, no lone surrogate, not nested too deeply.

    Parameters
    ----------
    data
        One JSON value; bytes that are not UTF-8 become U+FFFD.
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
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        # NaN, infinity, half surrogates and broken bytes are let in by the slower reader alone.
        return _decode_leniently(data, notes)
    raw = data if isinstance(data, bytes) else data.encode()
    # Most records do not hold enough brackets to be deep; they are spared the walk.
    return (
        _clean(value, notes, MAX_DEPTH) if raw.count(b"{") + raw.count(b"[") > MAX_DEPTH else value
    )


def _decode_leniently(data: bytes | str, notes: Counter[str]) -> Any:
    text = data.decode(errors="replace") if isinstance(data, bytes) else data
    try:
        value = json.loads(text, parse_constant=lambda _: None, parse_float=_finite)
    except RecursionError:
        raise TooDeepError from None
    return _clean(value, notes, MAX_DEPTH)


def _clean(value: Any, notes: Counter[str], depth: int) -> Any:
    if isinstance(value, str):
        text, count = _SURROGATE.subn("\ufffd", value)
        notes["lone surrogate, replaced by U+FFFD"] += count
        return text
    if not isinstance(value, dict | list):
        return value
    if depth == 0:
        raise TooDeepError
    if isinstance(value, list):
        return [_clean(item, notes, depth - 1) for item in value]
    return {
        _clean(key, notes, depth): _clean(item, notes, depth - 1) for key, item in value.items()
    }


def read_pieces(path: Path, limit: int) -> Iterator[bytes]:
    """Bytes of a file in pieces, unpacked; never more than ``limit`` of them."""
    if path.is_dir():
        msg = f"{path.name}:1: is a folder, not a file"
        raise UnreadableError(msg)
    with path.open("rb") as file:
        packed = file.read(2) == _GZIP
        file.seek(0)
        source: IO[bytes] = io.BufferedReader(gzip.GzipFile(fileobj=file)) if packed else file
        total = 0
        try:
            while piece := source.read(_CHUNK):
                total += len(piece)
                if total > limit:
                    msg = f"{path.name}:1: file must hold at most {limit:,} bytes, it goes on"
                    raise UnreadableError(msg)
                yield piece
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            msg = f"{path.name}:1: damaged gzip file: {error}"
            raise UnreadableError(msg) from None


def _line(number: int, raw: bytes, size: int, limit: int, *, complete: bool) -> Line:
    if size > limit:
        return Line(number, b"", size, too_long=True, complete=complete)
    if number == 1:
        raw = raw.removeprefix(_BOM)
    return Line(number, raw.removesuffix(b"\r"), size, complete=complete)


def _decoded(raw: bytes) -> tuple[str, bool]:
    try:
        return raw.decode(), False
    except UnicodeDecodeError:
        return raw.decode(errors="replace"), True


def _finite(digits: str) -> float | None:
    value = float(digits)
    return value if math.isfinite(value) else None
