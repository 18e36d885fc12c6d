"""Judgements laid over a candidate table: which cell each label stands in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recalltune.candidates.table import Candidates
from recalltune.errors import ContractError
from recalltune.evaluate.labels import CaseLabels
from recalltune.pipeline.ranks import LabelSlots

__all__ = ["Judged", "judge"]


@dataclass(frozen=True, eq=False)
class Judged:
    """Labels of Q cases, as rows that metrics add up and as cells that a run ranks."""

    labels: CaseLabels
    slots: LabelSlots
    memory_ids: tuple[str, ...]
    """L ids, in the order of the labels."""
    not_yet: tuple[tuple[str, str], ...]
    """(query_id, memory_id) of labels whose memory did not exist yet: they judge nothing."""


def judge(candidates: Candidates) -> Judged:
    """Lay the labels of a case set over its candidate table.

    Raises
    ------
    ContractError
        If the table was not made from eval cases.
    """
    if not candidates.labels.columns:
        raise ContractError("these candidates carry no labels; make them from a case set")
    queries = candidates.queries["query_id"].to_list()
    number = {query_id: row for row, query_id in enumerate(queries)}
    merged = _one_row_per_memory(candidates.labels)
    invalid = merged.filter(~pl.col("exists"))
    valid = merged.filter(pl.col("exists")).with_columns(
        pl.col("query_id").replace_strict(number, return_dtype=pl.Int64).alias("row")
    )
    valid = valid.sort("row", "memory_id")
    cells = _cells(candidates)
    placed = valid.join(cells, on=["row", "memory_id"], how="left", maintain_order="left")
    rows = placed["row"].to_numpy()
    return Judged(
        labels=CaseLabels.build(
            rows,
            n_cases=len(queries),
            gains=placed["grade"].to_numpy(),
            hard_negative=placed["hard_negative"].to_numpy(),
            order=placed["place"].to_numpy(),
            groups=_groups(candidates, placed),
        ),
        slots=LabelSlots(rows, placed["column"].fill_null(-1).to_numpy()),
        memory_ids=tuple(placed["memory_id"].to_list()),
        not_yet=tuple(invalid.select("query_id", "memory_id").iter_rows()),
    )


def _one_row_per_memory(labels: pl.DataFrame) -> pl.DataFrame:
    """Merge the roles one memory plays in one case; only a target carries a grade."""
    role = pl.col("role")
    return labels.group_by("query_id", "memory_id", maintain_order=True).agg(
        pl.col("grade").filter(role == "target").max().fill_null(0).alias("grade"),
        (role == "hard_negative").any().alias("hard_negative"),
        pl.col("place").filter(role == "expected_order").min().fill_null(0).cast(pl.Int64) - 1,
        pl.col("exists").first(),
    )


def _groups(candidates: Candidates, labels: pl.DataFrame) -> NDArray[np.int64] | None:
    """Number the targets of each case; alternatives of one answer share a number."""
    shared: dict[tuple[str, str], int] = {}
    for query_id, expected in candidates.expectations.items():
        for number, several in enumerate(expected.get("alternatives", [])):
            shared |= {(query_id, memory_id): -1 - number for memory_id in several}
    if not shared:
        return None
    rows = labels.select("query_id", "memory_id").iter_rows()
    return np.array([shared.get(row, place) for place, row in enumerate(rows)], dtype=np.int64)


def _cells(candidates: Candidates) -> pl.DataFrame:
    row, column = np.nonzero(candidates.valid)
    ids = candidates.spans["memory_id"].gather(candidates.span[row, column])
    return pl.DataFrame({"row": row, "column": column, "memory_id": ids})
