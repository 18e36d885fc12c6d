"""Objects of one JSON list, one at a time: for lists too large to be held whole.

In: a file that is one JSON list. Out: its elements, decoded one by one, so memory stays bounded by
the longest of them; what is damaged is counted, and the elements after it are read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

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
_QUOTE, _BACKSLASH = b'"\\'
_OPEN = frozenset(b"{[")
_BLANK = b" \t\r\n"
_BOM = b"\xef\xbb\xbf"
_TOO_LONG = f"element longer than {MAX_LINE_BYTES // 2**20} MiB"


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
        if part.kind == "between":
            for reason in _no_objects(part):
                number += 1
                parsed.drop(reason, number)
            continue
        if part.kind == "open":
            parsed.notes["list without its end"] += 1
            continue
        number += 1
        value = _value(part, parsed)
        if isinstance(value, dict):
            yield number, value
        else:
            parsed.drop(value, number)


@dataclass(frozen=True)
class _Part:
    """A stretch of the file; ``raw`` is empty if it is longer than `MAX_LINE_BYTES`."""

    raw: bytes
    size: int
    kind: Literal["element", "between", "torn", "open", "after"]


def _value(part: _Part, parsed: Parsed) -> dict[str, Any] | str:
    """An element's object, or why there is none."""
    if part.kind == "torn":
        return "incomplete element at the end"
    if part.kind == "after":
        return "text after the list"
    if part.size > MAX_LINE_BYTES:
        return _TOO_LONG
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


def _no_objects(part: _Part) -> list[str]:
    """Why each thing between two objects is none; nothing for blanks and a comma."""
    if part.size > MAX_LINE_BYTES:
        return [_TOO_LONG]
    raw = part.raw.strip(_BLANK + b",")
    if not raw:
        return []
    try:
        return ["not a JSON object"] * len(decode_json(b"[" + raw + b"]", Counter()))
    except ValueError:
        return ["damaged element"]


def _parts(path: Path, file: str) -> Iterator[_Part]:
    scan, rest = _Scan(file), b""
    for place, piece in enumerate(read_pieces(path, MAX_FILE_BYTES)):
        data = rest + (piece if place else piece.removeprefix(_BOM))
        # A backslash at the very end belongs to the character after it.
        odd = (len(data) - len(data.rstrip(b"\\"))) % 2
        data, rest = (data[:-1], data[-1:]) if odd else (data, b"")
        yield from scan.feed(data)
    yield from scan.close()


@dataclass
class _Scan:
    """Where in the list the reading stands."""

    file: str
    held: bytearray = field(default_factory=bytearray)
    size: int = 0
    depth: int = 0
    quoted: bool = False
    state: Literal["before", "inside", "after"] = "before"

    def feed(self, data: bytes) -> Iterator[_Part]:
        """Parts that are complete with these bytes."""
        if self.state == "before":
            data = data.lstrip(_BLANK)
            if data and data[:1] != b"[":
                self._refuse()
            self.state = "inside" if data else "before"
        start = 0
        for token in _TOKEN.finditer(data) if self.state == "inside" else ():
            mark, end = data[token.start()], token.end()
            if mark == _QUOTE:
                self.quoted = not self.quoted
            elif self.quoted or mark == _BACKSLASH:
                continue
            elif mark in _OPEN:
                self.depth += 1
                if self.depth == 2:
                    self._hold(data[start : end - 1])
                    yield self._part("between")
                if self.depth <= 2:
                    start = end if self.depth == 1 else end - 1
            else:
                self.depth -= 1
                if self.depth == 1:
                    self._hold(data[start:end])
                    yield self._part("element")
                    start = end
                elif self.depth == 0:
                    self._hold(data[start : end - 1])
                    yield self._part("between")
                    self.state, start = "after", end
                    break
        self._hold(data[start:])

    def close(self) -> Iterator[_Part]:
        """What is left where the file ends."""
        if self.state == "before":
            self._refuse()
        if self.state == "after":
            yield from [self._part("after")] if self.held.strip(_BLANK) else []
        elif self.depth > 1:
            yield self._part("torn")
        else:
            yield self._part("between")
            yield self._part("open")

    def _hold(self, data: bytes) -> None:
        self.size += len(data)
        if self.size <= MAX_LINE_BYTES:
            self.held += data
        else:
            self.held.clear()

    def _part(self, kind: Literal["element", "between", "torn", "open", "after"]) -> _Part:
        part = _Part(bytes(self.held), self.size, kind)
        self.held.clear()
        self.size = 0
        return part

    def _refuse(self) -> None:
        msg = f"{self.file}:1: must be a JSON list of objects"
        raise SourceError(msg)
