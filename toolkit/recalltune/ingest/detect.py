"""Which format a file is, by what is in it; its name decides only for Markdown.

In: a path. Out: a format with the share of the looked-at records that speak for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from recalltune.errors import SourceError
from recalltune.ingest.reader import decode_json, read_document, read_lines

__all__ = ["FORMATS", "Detection", "detect"]

FORMATS = ("claude_code", "connector_v1", "locomo", "markdown_folder", "search_log")
"""Every format `ingest` reads."""

_SAMPLE = 100
_ENOUGH = 0.5


@dataclass(frozen=True)
class Detection:
    """A format and how sure it is."""

    format: str
    confidence: float
    """share in [0, 1] of the sampled records that have this format's shape."""


def detect(path: Path, file: str) -> Detection | None:
    """Format of a file, or none for a file without content.

    Parameters
    ----------
    path
        The file.
    file
        Its name for messages.

    Raises
    ------
    SourceError
        If nothing fits at least half of the first records; the message names what there is.
    """
    if path.suffix.lower() in (".md", ".markdown"):
        return Detection("markdown_folder", 1.0)
    lines = (line for line in read_lines(path) if line.too_long or line.text.strip())
    sampled = list(islice(lines, _SAMPLE))
    if not sampled:
        return None
    records = []
    for line in sampled:
        try:
            records.append(decode_json(line.text, Counter()))
        except ValueError:
            records.append(None)
    shares = {
        name: sum(isinstance(record, dict) and fits(record) for record in records) / len(records)
        for name, fits in _LINE_SHAPES.items()
    }
    best = max(shares, key=lambda name: shares[name])
    if shares[best] >= _ENOUGH:
        return Detection(best, shares[best])
    document = _document(path)
    for name, fits_document in _DOCUMENT_SHAPES.items():
        if fits_document(document):
            return Detection(name, 1.0)
    msg = (
        f"{file}:1: format not recognised (it {_looks_like(document, records)}); "
        f"known: {', '.join(FORMATS)}. Name one with format= if it is one of these"
    )
    raise SourceError(msg)


def _claude_code(record: Mapping[str, Any]) -> bool:
    kind = record.get("type")
    if kind in ("user", "assistant"):
        return isinstance(record.get("message"), dict)
    return isinstance(kind, str) and bool(
        {"uuid", "sessionId", "leafUuid", "messageId"} & record.keys()
    )


def _search_log(record: Mapping[str, Any]) -> bool:
    return {"query_id", "query"} <= record.keys()


def _connector(document: Any) -> bool:
    return isinstance(document, dict) and str(document.get("version", "")).startswith("connector")


def _locomo(document: Any) -> bool:
    return (
        isinstance(document, list)
        and bool(document)
        and isinstance(document[0], dict)
        and {"conversation", "qa"} <= document[0].keys()
    )


_LINE_SHAPES: dict[str, Callable[[Mapping[str, Any]], bool]] = {
    "claude_code": _claude_code,
    "search_log": _search_log,
}
_DOCUMENT_SHAPES: dict[str, Callable[[Any], bool]] = {
    "connector_v1": _connector,
    "locomo": _locomo,
}


def _document(path: Path) -> Any:
    try:
        return decode_json(read_document(path)[0], Counter())
    except (ValueError, SourceError):
        return None


def _looks_like(document: Any, records: list[Any]) -> str:
    seen = document if document is not None else next(filter(None, records), None)
    if isinstance(seen, list):
        seen = seen[0] if seen else seen
    if isinstance(seen, dict):
        return f"starts with an object of the keys {', '.join(sorted(map(str, seen))[:8])[:120]}"
    return "holds no JSON object"
