"""TREC runs: one line a result, ``query Q0 document rank score tag``, to searches.

Each query is one search, ``<tag>:<query>``, that shows its documents as trec_eval orders them: by
falling score, equal scores by falling id; the rank that is written is not read. A run has no words
and no times: the query's id stands for its text. A document that a query has twice is dropped by
line. ``evaluate.trec.write_run`` writes such files.

References
----------
TREC; the file format and the order of NIST's trec_eval, which keeps scores as 32-bit floats.
"""

from __future__ import annotations

import math

import numpy as np

from recalltune.errors import SourceError
from recalltune.ingest.format import Format, Sample, Source
from recalltune.ingest.parsed import Parsed
from recalltune.ingest.plain_lines import plain_lines
from recalltune.ingest.reader import MAX_DOCUMENT_BYTES
from recalltune.ingest.trec_lines import is_plain, share_of_lines
from recalltune.store import SearchLogEntry

__all__ = ["FORMAT", "as_trec_orders"]


def as_trec_orders(scores: dict[str, float]) -> list[str]:
    """Documents by falling score as a 32-bit float, equal ones by falling id.

    Examples
    --------
    >>> as_trec_orders({"a": 1.0, "b": 1.0 + 1e-12, "c": 2.0})
    ['c', 'b', 'a']
    """
    with np.errstate(over="ignore"):
        single = {name: float(np.float32(score)) for name, score in scores.items()}
    by_id = sorted(scores, key=str.encode, reverse=True)
    return sorted(by_id, key=lambda name: -single[name])


def _read(source: Source, parsed: Parsed) -> None:
    """All lines of a file, which is held whole: a query's need not stand together.

    Raises
    ------
    SourceError
        If the file is larger than a document may be.
    """
    size = source.path.stat().st_size
    if size > MAX_DOCUMENT_BYTES:
        msg = f"{source.file}:1: a run must be at most {MAX_DOCUMENT_BYTES:,} bytes, got {size:,}"
        raise SourceError(msg)
    found: dict[tuple[str, str], dict[str, float]] = {}
    for line in plain_lines(source.path, parsed):
        fields = line.text.split()
        if len(fields) != 6:
            parsed.drop("not six fields between blanks", line.number)
            continue
        query, _, document, _, told, tag = fields
        score = _number(told)
        shown = found.setdefault((tag, query), {})
        if score is None:
            parsed.drop("score is not a finite number", line.number)
        elif document in shown:
            parsed.drop("document repeated for its query", line.number)
        else:
            shown[document] = score
            parsed.keep()
    for (tag, query), scores in found.items():
        if not scores:
            continue
        order = as_trec_orders(scores)
        parsed.notes["search of a run, its query known by id alone"] += 1
        parsed.searches.append(
            SearchLogEntry(
                query_id=f"{tag}:{query}",
                query=query,
                scope=parsed.settings.scope,
                shown=tuple(order),
                scores=tuple(scores[document] for document in order),
                file=parsed.file,
            )
        )
        parsed.full()


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _shape(fields: list[str]) -> bool:
    if len(fields) != 6 or fields[1] != "Q0":
        return False
    rank = fields[3].removeprefix("-")
    return rank.isascii() and rank.isdigit() and _number(fields[4]) is not None


def _fits(sample: Sample) -> float:
    return share_of_lines(sample, _shape)


FORMAT = Format(
    name="trec_run",
    title="TREC run (results of a ranking)",
    suffixes=frozenset({".res", ".run", ".trec", ".txt"}),
    fits=_fits,
    read=_read,
    evaluation=True,
    wanted=lambda source: is_plain(source, "run"),
)
