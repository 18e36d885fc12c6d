"""Conversations of an export: a list of them, read one at a time, or one alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from recalltune.ingest.format import Sample, Source
from recalltune.ingest.json_elements import json_elements
from recalltune.ingest.json_source import json_document
from recalltune.ingest.parsed import Parsed

__all__ = ["conversations_of", "share_of_conversations"]


def conversations_of(source: Source, parsed: Parsed) -> Iterator[Any]:
    """Elements of the list, or the document itself; damaged elements are dropped with a reason.

    Raises
    ------
    SourceError
        If it is neither a list nor a JSON document.
    """
    if Sample(source).text.lstrip().startswith("["):
        for _, conversation in json_elements(source.path, source.file, parsed):
            yield conversation
    else:
        yield json_document(source.path, source.file, parsed)


def share_of_conversations(
    sample: Sample, fits: Callable[[Any], bool], marks: tuple[str, ...]
) -> float:
    """Share of the conversations that have a shape.

    Parameters
    ----------
    sample
        The beginning of a file.
    fits
        Whether a value is a conversation.
    marks
        Pieces of JSON without blanks, all of which stand at the beginning of a list that is larger
        than any document that is held; inside a text their quotes would be escaped.
    """
    document = sample.document
    if document is not None:
        conversations = document if isinstance(document, list) else [document]
        return sum(map(fits, conversations)) / max(len(conversations), 1)
    start = "".join(sample.text.split())
    return float(start.startswith("[{") and all(mark in start for mark in marks))
