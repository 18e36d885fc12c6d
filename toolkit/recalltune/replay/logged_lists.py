"""Production's own searches, made ready to be replayed: what was asked, and which shown ids exist.

In: the search log of a lab, and the worlds that may be searched. Out: queries, and of each the ids
that a replay could show. An id outside a query's world is a number here and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from recalltune.candidates.table import QUERY_COLUMNS
from recalltune.candidates.world import Worlds, in_scope
from recalltune.errors import ParameterError

__all__ = ["SET_ASIDE_ABOVE", "LoggedList", "WorldIds", "logged_list", "logged_queries"]

SET_ASIDE_ABOVE = 0.1
"""Share of a query's ids that cannot be replayed, above which it is compared with nothing."""


@dataclass(frozen=True)
class LoggedList:
    """What production showed to one query, as far as a replay can show it."""

    ids: tuple[str, ...]
    """Best first, each once, all in the query's world."""
    asked: int
    """Different ids the log names."""
    not_yet: int
    """Those of them that enter their world at the query's time or later."""
    repeated: int
    """Ids the log names again; the first place counts."""

    @property
    def unreplayable(self) -> int:
        """Ids that are unknown, or outside the query's world."""
        return self.asked - len(self.ids)

    @property
    def set_aside(self) -> bool:
        """Whether too much is missing for a comparison."""
        return self.unreplayable > SET_ASIDE_ABOVE * self.asked


class WorldIds:
    """Which ids a query may be shown, asked of some ids at a time."""

    def __init__(self, worlds: Worlds) -> None:
        self._spans, self._match = worlds.spans, worlds.admit.scope_match
        self._rows: dict[str, list[int]] = {}
        for row, memory_id in enumerate(self._spans.frame["memory_id"].to_list()):
            self._rows.setdefault(memory_id, []).append(row)

    def holds(self, memory_id: str, at: int, scope: str | None) -> bool:
        """Whether the memory is in the world of a query at ``at`` in ``scope``."""
        rows = self._in_scope(memory_id, scope)
        spans = self._spans
        return bool(((spans.enters[rows] < at) & (at <= spans.leaves[rows])).any())

    def enters_later(self, memory_id: str, at: int, scope: str | None) -> bool:
        """Whether the memory is told in ``scope``, but at ``at`` or later."""
        rows = self._in_scope(memory_id, scope)
        return bool(rows.size and (self._spans.enters[rows] >= at).all())

    def anywhere(self, memory_id: str, at: int) -> bool:
        """Whether the memory exists at ``at`` in any scope, for this audience."""
        return self.holds(memory_id, at, None)

    def _in_scope(self, memory_id: str, scope: str | None) -> np.ndarray:
        rows = np.array(self._rows.get(memory_id, []), dtype=np.intp)
        return rows[in_scope(self._spans.scope[rows], scope, self._match)]


def logged_list(
    shown: Sequence[str], worlds: Sequence[WorldIds], at: int, scope: str | None
) -> LoggedList:
    """Return which ids of one logged list can be replayed: those in every one of ``worlds``."""
    ids = tuple(dict.fromkeys(shown))
    kept = tuple(one for one in ids if all(world.holds(one, at, scope) for world in worlds))
    return LoggedList(
        ids=kept,
        asked=len(ids),
        not_yet=sum(any(w.enters_later(one, at, scope) for w in worlds) for one in ids),
        repeated=len(shown) - len(ids),
    )


def logged_queries(log: pl.DataFrame) -> pl.DataFrame:
    """Return the dated searches of ``store.read_search_log`` with the columns of QUERY_COLUMNS.

    A log names no sessions. The ``session`` of a search is its day in UTC: whatever is searched on
    one day counts as one unit, since searches of one conversation want the same and conversations
    of one day touch each other. A cluster too wide costs width of the interval, one too
    narrow claims more than is known.

    Raises
    ------
    ParameterError
        If there is no search, or none has a time.
    """
    if not log.height:
        raise ParameterError("the lab holds no search log; read one with: recalltune ingest")
    dated = log.drop_nulls("asked_at")
    if not dated.height:
        message = f"no search can be replayed: none of {log.height:,} says when it was asked"
        raise ParameterError(message)
    day = pl.from_epoch("asked_at", time_unit="us").dt.strftime("%Y-%m-%d")
    return dated.select(
        "query_id",
        pl.col("query").alias("text"),
        "asked_at",
        "scope",
        day.alias("session"),
        pl.lit("search").alias("kind"),
        *(
            pl.lit(None, dtype).alias(name)
            for name, dtype in QUERY_COLUMNS.items()
            if name in ("profile", "top_k", "lang", "split")
        ),
    ).select(*QUERY_COLUMNS)
