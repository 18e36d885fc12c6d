"""RecallNest's golden groups of what is done to a text before it is a memory.

In: the input of one golden case; no config has a say in them. Out: what our import makes of it.
"""

from __future__ import annotations

import numpy as np

from recalltune.ingest.chunks import chunk_spans, production_rounds
from recalltune.pipeline.config import RankingConfig
from recalltune.production.golden.group import Case
from recalltune.rank import survivors

__all__ = ["chunks", "kept"]


def chunks(case: Case, _: RankingConfig) -> list[list[int]]:
    """Places of the pieces, as many as production cuts."""
    text, limits = case["text"], case["config"]
    longest, overlap = limits["maxChunkSize"], limits["overlapSize"]
    spans = chunk_spans(
        text,
        max_chars=longest,
        overlap_chars=overlap,
        min_chars=limits["minChunkSize"],
        max_lines=limits["maxLinesPerChunk"],
        semantic=limits["semanticSplit"],
    )
    return [list(span) for span in spans[: production_rounds(len(text), longest, overlap)]]


def kept(case: Case, _: RankingConfig) -> list[int]:
    """Positions of the vectors that are kept, in the order given."""
    found = survivors(case["vectors"], case["importances"], threshold=case["threshold"])
    return np.flatnonzero(found == np.arange(len(found))).tolist()
