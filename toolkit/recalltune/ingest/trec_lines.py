"""How files of plain fields, which have no keys, are told from other text."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

from recalltune.ingest.format import Sample, Source

__all__ = ["is_plain", "share_of_lines"]

_LINES = 100
_MARKDOWN = (".md", ".markdown")


def share_of_lines(sample: Sample, fits: Callable[[list[str]], bool]) -> float:
    """Share of the first lines whose fields have a shape; Markdown has its own formats."""
    if sample.source.suffix in _MARKDOWN:
        return 0.0
    told = (line for line in sample.text.split("\n") if line.strip())
    lines = list(islice(told, _LINES))
    return sum(fits(line.split()) for line in lines) / len(lines) if lines else 0.0


def is_plain(source: Source, word: str) -> bool:
    """Whether a folder's file is worth a look: not every text is, only one named for it."""
    name = source.inside.lower().split("/")[-1]
    return source.suffix != ".txt" or word in name
