"""Memories that say the same: which rows belong together, and which of them speaks for a query."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

__all__ = ["Copies"]

_OF_A_TEXT = ("text_hash", "scope", "event_at")
"""What stays where only attributes are restated."""


@dataclass(frozen=True, eq=False)
class Copies:
    """Rows of memories that say the same, first text against first text, in order of entering."""

    rows: NDArray[np.intp]
    """By the time their memory entered, then row."""
    group: NDArray[np.intp]
    """Which of them belong together."""

    @classmethod
    def of(cls, spans: pl.DataFrame, enters: NDArray[np.int64]) -> Copies:
        """Find them by ``duplicate_of``.

        Rows of a memory's first text take part, whatever is said of it later; but one that was
        pinned since is kept in view, and no copy of anything.
        """
        ids, said = spans["memory_id"].to_list(), spans["duplicate_of"].to_list()
        pointers = {one: other for one, other in zip(ids, said, strict=True) if other is not None}
        roots = _roots(pointers)
        roots |= {root: root for root in roots.values()}
        begins = _first_texts(spans, roots)
        rows = sorted(begins, key=lambda row: (enters[begins[row]], row))
        numbers = {root: number for number, root in enumerate(sorted(set(roots.values())))}
        return cls(
            np.array(rows, dtype=np.intp),
            np.array([numbers[roots[ids[row]]] for row in rows], dtype=np.intp),
        )

    def later(self, shown: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Rows of ``shown``, a mask over all spans, of which an earlier copy is shown as well."""
        return self.later_of(shown[self.rows])

    def later_of(self, shown: NDArray[np.bool_]) -> NDArray[np.intp]:
        """The same for a mask over `rows`."""
        _, firsts = np.unique(self.group[shown], return_index=True)
        return np.delete(self.rows[shown], firsts)

    def speaker(self, group: int, shown: NDArray[np.bool_]) -> int | None:
        """Row that is shown for a group; None where none of its rows is in ``shown``."""
        rows = self.rows[self.group == group]
        return next((int(row) for row in rows if shown[row]), None)


def _first_texts(spans: pl.DataFrame, ids: Collection[str]) -> dict[int, int]:
    """Rows of the first texts of some memories, each with the row of its memory's version 1."""
    mine = spans.with_row_index("row").filter(pl.col("memory_id").is_in(list(ids)))
    same = [name for name in _OF_A_TEXT if name in spans.columns]
    begins = {row["memory_id"]: row for row in mine.filter(version=1).iter_rows(named=True)}
    return {
        row["row"]: begin["row"]
        for row in mine.iter_rows(named=True)
        if (begin := begins.get(row["memory_id"])) is not None
        and all(row[name] == begin[name] for name in same)
        and (begin.get("pinned") or not row.get("pinned"))
    }


def _roots(pointers: Mapping[str, str]) -> dict[str, str]:
    """Where the pointers from each id lead to in the end; of a circle, its first id."""
    roots: dict[str, str] = {}
    for start in pointers:
        path: dict[str, None] = {}
        here = start
        while here in pointers and here not in roots and here not in path:
            path[here] = None
            here = pointers[here]
        if here in path:  # a circle
            ring = list(path)[list(path).index(here) :]
            here = min(ring)
        roots |= dict.fromkeys(path, roots.get(here, here))
    return roots
