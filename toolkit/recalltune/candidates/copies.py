"""Memories that say the same: which rows belong together, and which of them speaks for a query."""

from __future__ import annotations

from collections.abc import Sequence
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
        begins = _first_texts(spans, enters)
        rows = sorted(begins, key=lambda row: (enters[begins[row]], row))
        groups = _groups(spans, [row for row in rows if row == begins[row]])
        return cls(
            np.array(rows, dtype=np.intp),
            np.array([groups[begins[row]] for row in rows], dtype=np.intp),
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


def _first_texts(spans: pl.DataFrame, enters: NDArray[np.int64]) -> dict[int, int]:
    """Rows of the first texts of repeated memories, each with the row of its memory's version 1.

    A row that enters before version 1 is left out: whether that will ever enter is not known then.
    """
    pointing = spans.filter(pl.col("duplicate_of").is_not_null())
    ids = {*pointing["memory_id"], *pointing["duplicate_of"]}
    mine = spans.with_row_index("row").filter(pl.col("memory_id").is_in(list(ids)))
    same = [name for name in _OF_A_TEXT if name in spans.columns]
    begins = {row["memory_id"]: row for row in mine.filter(version=1).iter_rows(named=True)}
    return {
        row["row"]: begin["row"]
        for row in mine.iter_rows(named=True)
        if (begin := begins.get(row["memory_id"])) is not None
        and enters[begin["row"]] <= enters[row["row"]]
        and all(row[name] == begin[name] for name in same)
        and (begin.get("pinned") or not row.get("pinned"))
    }


def _groups(spans: pl.DataFrame, rows: Sequence[int]) -> dict[int, int]:
    """The group of each of some rows of different memories, given in order of entering.

    A memory joins the group that its pointer leads to, or that points to it, within its scope. It
    never joins two groups into one: what enters later, or elsewhere, would change what stood here.
    """
    scopes = spans["scope"].to_list() if "scope" in spans.columns else [None] * spans.height
    named: dict[tuple[str, str | None], int] = {}
    groups: dict[int, int] = {}
    for row in rows:
        memory_id, other = spans["memory_id"][row], spans["duplicate_of"][row]
        scope = scopes[row]
        keys = [(one, scope) for one in (memory_id, other) if one is not None]
        known = [named[key] for key in keys if key in named]
        groups[row] = known[0] if known else len(groups)
        for key in keys:
            named.setdefault(key, groups[row])
    return groups
