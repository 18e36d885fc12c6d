"""A retrieval collection as BEIR lays it out: one folder, three kinds of files, each read alone.

``corpus.jsonl`` (``_id``, ``title``, ``text``) becomes memories of the scope ``beir:<folder>``,
without a time, under their own ids; a text is title, blank, text. ``queries.jsonl`` (``_id``,
``text``) becomes the cases of the set ``<folder>``, ``qrels.tsv`` or ``qrels/<split>.tsv`` (a
header, then query, document and grade, tab by tab) their labels: all judgements of a folder belong
to one set, and a folder that is walked gives those of ``qrels.tsv`` and ``qrels/`` alone. Names
tell corpus and queries apart.

Ids are texts and are joined as they stand. Documents of two collections with one id cannot be in
one lab: one of them is kept, the other dropped with a reason. A grade below 0 is kept as 0, not
relevant. Judgements of a query or document that is not there are counted when cases are read, and
judge nothing.

References
----------
Thakur et al. 2021, BEIR, arXiv:2104.08663; custom data sets in the authors' wiki.
"""

from __future__ import annotations

from typing import Any

from recalltune.errors import SourceError
from recalltune.ingest.attributes import Attributes
from recalltune.ingest.claim import claim_of
from recalltune.ingest.format import Format, Sample, Source, share_of_records
from recalltune.ingest.json_source import json_objects
from recalltune.ingest.judgements import Judgements, collection_of
from recalltune.ingest.parsed import Parsed
from recalltune.ingest.plain_lines import plain_lines
from recalltune.store import EvalCaseRow

__all__ = ["FORMAT"]

NAME = "beir"
_HEADER = ("query-id", "corpus-id", "score")


def _read(source: Source, parsed: Parsed) -> None:
    """One file of a collection.

    Raises
    ------
    SourceError
        If the name does not tell which, or judgements have no header.
    """
    kind = _kind(source)
    if kind == "corpus":
        _documents(source, parsed)
    elif kind == "queries":
        _queries(source, parsed)
    elif kind == "qrels":
        _judgements(source, parsed)
    else:
        msg = (
            f"{source.file}:1: a file of a collection must be called corpus*.jsonl, "
            "queries*.jsonl or *.tsv"
        )
        raise SourceError(msg)


def _kind(source: Source) -> str | None:
    name = source.inside.lower().split("/")[-1]
    if source.suffix == ".tsv":
        return "qrels"
    return next((kind for kind in ("corpus", "queries") if name.startswith(kind)), None)


def _documents(source: Source, parsed: Parsed) -> None:
    scope = parsed.settings.scope or f"{NAME}:{collection_of(source)}"
    seen: set[str] = set()
    for line, record in json_objects(source.path, parsed):
        parts = [record.get(key) for key in ("title", "text")]
        text = " ".join(part for part in parts if isinstance(part, str)).strip()
        if (name := _fresh(record, seen, line.number, parsed)) is None:
            continue
        if not text:
            parsed.drop("empty document", line.number)
            continue
        parsed.keep()
        parsed.claims.append(
            claim_of(
                name,
                parsed.text(text),
                Attributes({"layer": parsed.settings.layer or "log"}),
                scope=scope,
                at=None,
                source=NAME,
                file=source.file,
                line=line.number,
            )
        )
        parsed.full()


def _queries(source: Source, parsed: Parsed) -> None:
    case_set = collection_of(source)
    seen: set[str] = set()
    for line, record in json_objects(source.path, parsed):
        text = record.get("text")
        if (name := _fresh(record, seen, line.number, parsed)) is None:
            continue
        if not isinstance(text, str) or not text.strip():
            parsed.drop("query without a text", line.number)
            continue
        parsed.keep()
        parsed.others.append(
            EvalCaseRow(
                case_set=case_set,
                case_id=name,
                query=text,
                scope=parsed.settings.scope or f"{NAME}:{case_set}",
                top_k=10,
                file=source.file,
            )
        )
        parsed.full()


def _fresh(record: dict[str, Any], seen: set[str], line: int, parsed: Parsed) -> str | None:
    """A record's id, if no record before has it; else it is dropped."""
    name = record.get("_id")
    if isinstance(name, int) and not isinstance(name, bool):
        parsed.notes["_id that is a number, taken as text"] += 1
        name = str(name)
    if not isinstance(name, str) or not name:
        parsed.drop("_id missing or not text", line)
    elif name in seen:
        parsed.drop("_id repeated", line)
    else:
        seen.add(name)
        return name
    return None


def _judgements(source: Source, parsed: Parsed) -> None:
    labels = Judgements(collection_of(source), parsed)
    for place, line in enumerate(plain_lines(source.path, parsed)):
        fields = line.text.split("\t")
        if place == 0:
            if tuple(fields) != _HEADER:
                msg = f"{source.file}:{line.number}: must start with {', '.join(_HEADER)}, by tabs"
                raise SourceError(msg)
            parsed.drop("header", line.number)
        elif len(fields) != 3:
            parsed.drop("not three fields between tabs", line.number)
        else:
            labels.add(*fields, line=line.number)


def _fits(sample: Sample) -> float:
    kind = _kind(sample.source)
    if kind == "qrels":
        first = sample.text.partition("\n")[0].removesuffix("\r")
        return float(tuple(first.split("\t")) == _HEADER)
    if kind is None or sample.source.suffix != ".jsonl":
        return 0.0
    return share_of_records(sample, lambda record: {"_id", "text"} <= record.keys())


def _wanted(source: Source) -> bool:
    # Variants of judgements often lie beside them, and two of them would contradict each other.
    folder, _, name = source.inside.lower().removesuffix(".gz").rpartition("/")
    return source.suffix != ".tsv" or name == "qrels.tsv" or folder.split("/")[-1] == "qrels"


FORMAT = Format(
    name=NAME,
    title="retrieval collection as BEIR lays it out (corpus, queries, qrels)",
    suffixes=frozenset({".jsonl", ".tsv"}),
    fits=_fits,
    read=_read,
    evaluation=True,
    wanted=_wanted,
)
