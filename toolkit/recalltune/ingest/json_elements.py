"""Objects of one JSON list, one at a time: for lists too large to be held whole.

In: a file that is one JSON list. Out: its elements, decoded one by one, so memory stays bounded by
the longest of them; what is damaged is counted, and the elements after it are read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recalltune.errors import SourceError
from recalltune.ingest.parsed import Parsed
from recalltune.ingest.reader import (
    MAX_DEPTH,
    MAX_FILE_BYTES,
    MAX_LINE_BYTES,
    TooDeepError,
    decode_json,
    read_pieces,
)

__all__ = ["json_elements"]

# One character after a backslash says nothing of the structure; each byte is looked at once.
_TOKEN = re.compile(rb'\\.|["{}\[\]]', re.DOTALL)
_BLANK = b" \t\r\n"
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class _Part:
    """A stretch of the list: an object or a list in it, or what stands between two of them."""

    raw: bytes
    size: int
    element: bool
    complete: bool = True


def json_elements(path: Path, file: str, parsed: Parsed) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each object of a list with its number, from 1; every other element is dropped with a reason.

    Raises
    ------
    SourceError
        If the file does not hold a JSON list.
    """
    number = 0
    for part in _parts(path, file):
        parsed.bytes_read += part.size
        if not part.element:
            for reason in _between(part):
                number += 1
                parsed.drop(reason, number)
            continue
        number += 1
        value = _value(part, parsed)
        if isinstance(value, dict):
            yield number, value
        else:
            parsed.drop(value, number)


def _value(part: _Part, parsed: Parsed) -> dict[str, Any] | str:
    """An element's object, or why it has none."""
    if part.size > MAX_LINE_BYTES:
        return f"element longer than {MAX_LINE_BYTES // 2**20} MiB"
    if not part.complete:
        return "incomplete element at the end"
    try:
        value = decode_json(part.raw, parsed.notes)
    except TooDeepError:
        return f"nested deeper than {MAX_DEPTH} levels"
    except ValueError:
        return "damaged element"
    if not isinstance(value, dict):
        return "not a JSON object"
    try:
        part.raw.decode()
    except UnicodeDecodeError:
        parsed.notes["element with bytes that are not UTF-8, replaced by U+FFFD"] += 1
    return value


def _between(part: _Part) -> list[str]:
    """Why what stands between two objects is none; nothing for blanks and commas."""
    raw = part.raw.strip(_BLANK + b",")
    if part.size > MAX_LINE_BYTES:
        return [f"element longer than {MAX_LINE_BYTES // 2**20} MiB"]
    if not raw:
        return []
    try:
        return ["not a JSON object"] * len(decode_json(b"[" + raw + b"]", parsed_notes()))
    except ValueError:
        return ["damaged element"]


def _parts(path: Path, file: str) -> Iterator[_Part]:
    held, size, depth, quoted, ended, carry = bytearray(), 0, 0, False, False, _NOTHING
    for place, piece in enumerate(read_pieces(path, MAX_FILE_BYTES)):
        data = carry + (piece.removeprefix(_BOM) if place == 0 else piece)
        pass
    yield from ()
