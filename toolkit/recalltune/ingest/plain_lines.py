"""Lines of plain text, each counted: what is too long is left out, what is no UTF-8 is repaired."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from recalltune.ingest.parsed import Parsed
from recalltune.ingest.reader import MAX_LINE_BYTES, Line, read_lines

__all__ = ["plain_lines"]


def plain_lines(path: Path, parsed: Parsed) -> Iterator[Line]:
    """Each line that is not blank; one that is too long is dropped with a reason."""
    for line in read_lines(path):
        parsed.bytes_read += line.size + 1
        if line.too_long:
            parsed.drop(f"line longer than {MAX_LINE_BYTES // 2**20} MiB", line.number)
        elif not line.blank:
            if line.repaired:
                parsed.notes["line with bytes that are not UTF-8, replaced by U+FFFD"] += 1
            yield line
