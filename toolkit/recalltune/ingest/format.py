"""What a format is: how a file of it is recognised, and how it is read.

One module in ``formats/`` defines one `Format` as ``FORMAT``; nothing else has to know of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from recalltune.errors import SourceError
from recalltune.ingest.parsed import Parsed
from recalltune.ingest.reader import (
    MAX_FILE_BYTES,
    decode_json,
    read_document,
    read_head,
    read_lines,
    read_pieces,
)

__all__ = ["Format", "Sample", "Source", "share_of_records"]

_RECORDS = 100
_HEAD_BYTES = 65_536
_BLANK = b" \t\r\n\xef\xbb\xbf"


@dataclass(frozen=True)
class Source:
    """One file to read."""

    path: Path
    inside: str
    """Path relative to the given folder, with forward slashes."""
    file: str
    """The given folder's own name and `inside`: how the lab knows the file."""
    named: bool = True
    """The user named the file itself, so that it holds nothing readable is an error."""
    root: Path | None = None
    """The folder the user gave, if it was found by walking one."""

    @property
    def suffix(self) -> str:
        """Ending of the name in lower case, without that of gzip: ``.jsonl`` of ``A.JSONL.gz``."""
        name = Path(self.inside.lower().removesuffix(".gz"))
        return name.suffix


@dataclass(frozen=True)
class Sample:
    """The beginning of a file, as far as recognising it needs; read when it is asked for."""

    source: Source

    @cached_property
    def head(self) -> bytes:
        """The first 64 KiB."""
        # A folder that is one source has no bytes of its own.
        return b"" if self.source.path.is_dir() else read_head(self.source.path, _HEAD_BYTES)

    @cached_property
    def text(self) -> str:
        """The first 64 KiB as text."""
        return self.head.decode(errors="replace").removeprefix("\ufeff")

    @cached_property
    def records(self) -> tuple[Any, ...]:
        """Values of the first 100 lines that are not blank; None for what is no JSON."""
        try:
            lines = (line for line in read_lines(self.source.path) if not line.blank)
            return tuple(_value(line.raw) for line in islice(lines, _RECORDS))
        except SourceError:
            return ()

    @property
    def of_lines(self) -> bool:
        """Whether it is one JSON object a line; a document may have such lines further inside."""
        objects = [isinstance(record, dict) for record in self.records]
        return objects[:1] == [True] and sum(objects) > 1

    @cached_property
    def document(self) -> Any:
        """Value of the whole file, if it is one JSON document; else None."""
        # A file of lines is not decoded whole to find that it is no document.
        if self.of_lines or self.text.lstrip()[:1] not in ("{", "["):
            return None
        try:
            return decode_json(read_document(self.source.path)[0], Counter())
        except (ValueError, SourceError):
            return None

    @property
    def empty(self) -> bool:
        """Whether there is nothing but blanks in it."""
        if self.source.path.is_dir() or self.head.strip(_BLANK):
            return False
        pieces = read_pieces(self.source.path, MAX_FILE_BYTES)
        return not any(piece.strip(_BLANK) for piece in pieces)


@dataclass(frozen=True)
class Format:
    """A format a file may have."""

    name: str
    """As the user writes it, and ``memory.source`` of what it brings."""
    title: str
    """What it is, for people."""
    suffixes: frozenset[str]
    """Endings of its files, in lower case."""
    fits: Callable[[Sample], float]
    """Share in [0, 1] of what was looked at that has this format's shape; at most one format
    has half or more of any file."""
    read: Callable[[Source, Parsed], None]
    """Give every record of the file to `Parsed.keep` or `Parsed.drop`."""
    evaluation: bool = False
    """An evaluation set: every item is judged by itself, so repetitions stay."""
    wanted: Callable[[Source], bool] = field(default=lambda _: True)
    """Which files with such an ending are taken from a walked folder, by their path."""


def share_of_records(sample: Sample, fits: Callable[[dict[str, Any]], bool]) -> float:
    """Share of the first records that are JSON objects of a shape; 0 for none at all."""
    records = sample.records
    fitting = sum(isinstance(record, dict) and fits(record) for record in records)
    return fitting / len(records) if records else 0.0


def _value(raw: bytes) -> Any:
    try:
        return decode_json(raw, Counter())
    except ValueError:
        return None
