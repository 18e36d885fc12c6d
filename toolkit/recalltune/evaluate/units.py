"""Coarser units: a session counts as found at the place of its best memory."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recalltune.candidates.table import Candidates
from recalltune.errors import ContractError
from recalltune.evaluate.judged import Judged
from recalltune.evaluate.labels import CaseLabels

__all__ = ["by_session"]


def by_session(
    candidates: Candidates, order: NDArray[np.intp], judged: Judged
) -> tuple[NDArray[np.float64], CaseLabels]:
    """Collapse lists and labels of memories to sessions.

    A list becomes its sessions in the order of their first memory; a session is labelled with the
    best grade among its labelled memories, and is a hard negative only if it holds no target.

    Returns
    -------
    tuple
        Ranks of the labelled sessions, shape (L',), NaN = not shown; and their labels.

    Raises
    ------
    ContractError
        If a candidate memory belongs to no session.
    """
    session = candidates.spans["session"]
    if session.gather(np.unique(candidates.span[candidates.valid])).null_count():
        raise ContractError("unit 'session' needs a session for every memory; some have none")
    codes = session.rank("dense").fill_null(0).to_numpy().astype(np.int64)
    labels = pl.DataFrame(
        {
            "case": judged.slots.query,
            "code": codes[_rows_then(candidates, judged)],
            "gain": judged.labels.gains,
            "negative": judged.labels.hard_negative,
        }
    )
    merged = (
        labels.group_by("case", "code", maintain_order=True)
        .agg(pl.col("gain").max(), pl.col("negative").any())
        .sort("case", "code")
    )
    places = [_places(codes[candidates.span[q, row[row >= 0]]]) for q, row in enumerate(order)]
    ranks = [
        places[case].get(code, np.nan) for case, code in merged.select("case", "code").iter_rows()
    ]
    return np.array(ranks, dtype=np.float64), CaseLabels.build(
        merged["case"].to_numpy(),
        n_cases=candidates.queries.height,
        gains=merged["gain"].to_numpy(),
        hard_negative=(merged["negative"] & (merged["gain"] == 0)).to_numpy(),
    )


def _rows_then(candidates: Candidates, judged: Judged) -> list[int]:
    """Row of each labelled memory, which exists, that was open when its case was asked."""
    spans = candidates.spans.select("memory_id", "enters_at", "leaves_at").with_row_index("row")
    rows_of: dict[str, list[tuple[int, int, int | None]]] = {}
    for row, memory_id, enters, leaves in spans.iter_rows():
        rows_of.setdefault(memory_id, []).append((row, enters, leaves))
    asked = candidates.queries["asked_at"].to_list()
    return [
        next(
            row
            for row, enters, leaves in rows_of[memory_id]
            if enters < asked[case] and (leaves is None or asked[case] <= leaves)
        )
        for case, memory_id in zip(judged.slots.query.tolist(), judged.memory_ids, strict=True)
    ]


def _places(codes: NDArray[np.int64]) -> dict[int, float]:
    """Session -> its place among the distinct sessions, from 1."""
    return {code: float(place) for place, code in enumerate(dict.fromkeys(codes.tolist()), start=1)}
