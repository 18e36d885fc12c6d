"""Near copies of memories, by their vectors: found on request, marked with a pointer.

In: a lab and an encoder. Out: pairs of a copy and the one it repeats. Numbers, dates and negations
are looked at besides: "15 October" and "16 October" have nearly one vector and are two facts.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recalltune.encode import Encoder, vectors_for
from recalltune.errors import ParameterError
from recalltune.ingest.importing import NOT_COMPARED
from recalltune.rank.nearest import cosine_pairs, pad_lanes
from recalltune.store import Lab, note_near_duplicates, read_spans, settle_duplicates

__all__ = ["NearDuplicates", "distinguishing_tokens", "mark_near_duplicates", "nearest_earlier"]

_BLOCK = 512
_MARGIN = 1e-4
_MARKS = re.compile(
    r"\d+|[〇零一二三四五六七八九十百千万两]|\b(?:not|no|never|none|without|cannot"
    r"|jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day|today|tomorrow|yesterday"
    r"|zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b|n't\b"
    r"|[不没未非无别勿]|今天|明天|昨天",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class NearDuplicates:
    """What one search for near copies found."""

    pairs: dict[str, str]
    """Copy -> the memory it repeats."""
    compared: int
    """Memories that were compared."""
    kept_apart: int
    """Memories above the threshold that differ in a number, a date or a negation."""


def mark_near_duplicates(lab: Lab, encoder: Encoder, *, threshold: float = 0.93) -> NearDuplicates:
    """Mark memories whose first text is nearly that of an earlier one of their scope and layer.

    Parameters
    ----------
    lab
        Written to; what was marked so before is marked anew.
    encoder
        Makes the vectors, which the lab keeps.
    threshold
        Cosine in (0, 1] above which two texts are near copies; RecallNest drops above .93.

    Raises
    ------
    ParameterError
        If the threshold is out of range.
    """
    if not 0 < threshold <= 1:
        msg = f"threshold must be in (0, 1], got {threshold}"
        raise ParameterError(msg)
    with lab.reading() as con:
        spans = read_spans(con)
    first = spans.filter(
        (pl.col("version") == 1)
        & ~pl.col("gated")
        & ~pl.col("pinned")
        & ~pl.col("source").is_in(list(NOT_COMPARED))
    ).sort("enters_at", "memory_id")
    encoded = vectors_for(lab, encoder, first["text"].to_list(), "passage")
    pairs: dict[str, str] = {}
    kept_apart = 0
    groups = first.with_row_index("row").group_by("scope", "layer", maintain_order=True)
    for _, group in groups:
        rows, ids = group["row"].to_numpy(), group["memory_id"].to_list()
        marks = [distinguishing_tokens(text) for text in group["text"]]
        found, apart = nearest_earlier(encoded.vectors[rows], marks, threshold)
        pairs |= {ids[n]: ids[at] for n, at in enumerate(found.tolist()) if at != n}
        kept_apart += apart
    with lab.writing() as con:
        note_near_duplicates(con, pairs)
        settle_duplicates(con, NOT_COMPARED)
    return NearDuplicates(pairs, first.height, kept_apart)


def nearest_earlier(
    vectors: NDArray[np.float32], marks: Sequence[Collection[str]], threshold: float
) -> tuple[NDArray[np.intp], int]:
    """Place of the text each one repeats (its own if none), and how many were kept apart.

    In the order given, each text is compared with those before it that repeat nothing; it repeats
    the most similar one, cosine above the threshold, that has the same marks. So nothing that comes
    later changes what an earlier text is.

    Parameters
    ----------
    vectors
        shape (n, d), unit rows or zero.
    marks
        length n, see `distinguishing_tokens`.
    threshold
        Cosine in (0, 1].
    """
    count = len(vectors)
    found = np.arange(count)
    apart = 0
    lanes = pad_lanes(vectors)
    for start in range(0, count, _BLOCK):
        block = vectors[start : start + _BLOCK]
        likeness = block @ vectors[: start + len(block)].T
        for at in range(start, start + len(block)):
            row = likeness[at - start, :at]
            # The product of blocks depends on their shapes in its last bits: it only proposes.
            close = np.flatnonzero((row > threshold - _MARGIN) & (found[:at] == np.arange(at)))
            cosine = cosine_pairs(lanes, lanes, np.full(close.size, at), close)
            near = close[cosine > threshold]
            near = near[np.argsort(-cosine[cosine > threshold], kind="stable")]
            same = [one for one in near.tolist() if marks[one] == marks[at]]
            if same:
                found[at] = same[0]
            elif near.size:
                apart += 1
    return found, apart


def distinguishing_tokens(text: str) -> tuple[str, ...]:
    """Numbers, words of dates and negations of a text, sorted: where they differ, facts differ.

    Examples
    --------
    >>> distinguishing_tokens("Deadline is 15 October"), distinguishing_tokens("会议不在 3 点")
    (('15', 'october'), ('3', '不'))
    """
    return tuple(sorted(found.lower() for found in _MARKS.findall(text)))
