"""Memories that say the same: which rows belong together, and which of them speaks for a query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

__all__ = ["Copies"]


@dataclass(frozen=True, eq=False)
class Copies:
    """Rows of memories that say the same, first text against first text, in order of entering."""

    rows: NDArray[np.intp]
    """By time, then row."""
    group: NDArray[np.intp]
    """Which of them belong together."""

    @classmethod
    def of(cls, spans: pl.DataFrame, enters: NDArray[np.int64]) -> Copies:
        """Find them by ``duplicate_of``; only rows of version 1 take part."""
        ids, said = spans["memory_id"].to_list(), spans["duplicate_of"].to_list()
        pointers = {one: other for one, other in zip(ids, said, strict=True) if other is not None}
        roots = _roots(pointers)
        roots |= {root: root for root in roots.values()}
        first = (spans["version"] == 1).to_list()
        rows = [row for row, one in enumerate(ids) if first[row] and one in roots]
        rows.sort(key=lambda row: (enters[row], row))
        numbers = {root: number for number, root in enumerate(sorted(set(roots.values())))}
        return cls(
            np.array(rows, dtype=np.intp),
            np.array([numbers[roots[ids[row]]] for row in rows], dtype=np.intp),
        )

    def later(self, shown: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Rows of ``shown``, a mask over all spans, of which an earlier copy is shown as well."""
        here = shown[self.rows]
        rows = self.rows[here]
        _, firsts = np.unique(self.group[here], return_index=True)
        return np.delete(rows, firsts)

    def speaker(self, group: int, shown: NDArray[np.bool_]) -> int | None:
        """Row that is shown for a group; None where none of its rows is in ``shown``."""
        rows = self.rows[self.group == group]
        return next((int(row) for row in rows if shown[row]), None)


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
