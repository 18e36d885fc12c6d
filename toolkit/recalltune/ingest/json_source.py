"""JSON from files nobody vouches for: one object a line, or one document a file.

In: a path. Out: plain values; what is damaged is counted, and the rest of the file goes on.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from recalltune.errors import UnreadableError
from recalltune.ingest.parsed import Parsed
from recalltune.ingest.reader import (
    MAX_DEPTH,
    MAX_LINE_BYTES,
    Line,
    TooDeepError,
    decode_json,
    read_document,
    read_lines,
)

__all__ = ["json_document", "json_objects"]


def json_objects(path: Path, parsed: Parsed) -> Iterator[tuple[Line, dict[str, Any]]]:
    """Each line that holds a JSON object; every other non-blank line is dropped with a reason."""
    for line in read_lines(path):
        parsed.bytes_read += line.size + 1
        if line.too_long:
            reason = f"line longer than {MAX_LINE_BYTES // 2**20} MiB"
            parsed.notes[f"{reason}, passed over ({-(-line.size // 2**20)} MiB)"] += 1
            parsed.drop(reason, line.number)
            continue
        if line.blank:
            continue
        try:
            value = decode_json(line.raw, parsed.notes)
        except TooDeepError:
            parsed.drop(f"nested deeper than {MAX_DEPTH} levels", line.number)
            continue
        except ValueError:
            whole = line.complete
            parsed.drop("damaged line" if whole else "incomplete line at the end", line.number)
            continue
        if not isinstance(value, dict):
            parsed.drop("not a JSON object", line.number)
            continue
        if line.repaired:
            parsed.notes["line with bytes that are not UTF-8, replaced by U+FFFD"] += 1
        yield line, value


def json_document(path: Path, file: str, parsed: Parsed) -> Any:
    """Value of a file that is one JSON document.

    Raises
    ------
    SourceError
        If it is no JSON; the message names the line where reading stopped.
    """
    text, repaired = read_document(path)
    if repaired:
        parsed.notes["bytes that are not UTF-8, replaced by U+FFFD"] += 1
    try:
        return decode_json(text, parsed.notes)
    except ValueError as error:
        line, why = getattr(error, "lineno", 1), getattr(error, "msg", str(error))
        msg = f"{file}:{line}: not a JSON document: {why}"
        raise UnreadableError(msg) from None
