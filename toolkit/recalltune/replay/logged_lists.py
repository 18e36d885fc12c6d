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

__all__ = ["SET_ASIDE_ABOVE", "LoggedList", "WorldIds", "day_of", "logged_list", "logged_queries"]

SET_ASIDE_ABOVE = 0.1
"""Share of a query's ids that cannot be replayed, above which it is compared with nothing."""


@dataclass(frozen=True)
class LoggedList:
    """What production showed to one query, as far as a replay can show it."""

    ids: tuple[str, ...]
    """Best first, each once, all in the query's world."""
    missing: frozenset[str]
    """Ids the log names that are unknown, or outside the query's world: never to be shown."""
    not_yet: int
    """Those of them that enter their world at the query's time or later."""
    repeated: int
    """Ids the log names again; the first place counts."""

    @property
    def asked(self) -> int:
        """Different ids the log names."""
        return len(self.ids) + len(self.missing)

    @property
    def unreplayable(self) -> int:
        """How many of them cannot be replayed."""
        return len(self.missing)

    @property
    def set_aside(self) -> bool:
        """Whether too much is missing for a comparison."""
        return self.unreplayable / max(self.asked, 1) > SET_ASIDE_ABOVE


class WorldIds:
    """Which ids a query may be shown, asked of some ids at a time."""

    def __init__(self, worlds: Worlds) -> None:
        spans = worlds.spans
        self._match = worlds.admit.scope_match
        self._scopes = np.unique(spans.scope)
        self._searched: dict[str | None, frozenset[str]] = {}
        self._open: dict[str, list[tuple[str, int, int]]] = {}
        rows = zip(
            spans.frame["memory_id"].to_list(),
            spans.scope.tolist(),
            spans.enters.tolist(),
            spans.leaves.tolist(),
            strict=True,
        )
        for memory_id, scope, enters, leaves in rows:
            self._open.setdefault(memory_id, []).append((scope, enters, leaves))

    def holds(self, memory_id: str, at: int, scope: str | None) -> bool:
        """Whether the memory is in the world of a query at ``at`` in ``scope``; None = in any."""
        return any(enters < at <= leaves for enters, leaves in self._spans(memory_id, scope))

    def enters_later(self, memory_id: str, at: int, scope: str | None) -> bool:
        """Whether the memory enters the world of ``scope``, but at ``at`` or later."""
        spans = self._spans(memory_id, scope)
        return bool(spans) and all(enters >= at for enters, _ in spans)

    def _spans(self, memory_id: str, scope: str | None) -> list[tuple[int, int]]:
        if scope not in self._searched:
            searched = self._scopes[in_scope(self._scopes, scope, self._match)]
            self._searched[scope] = frozenset(searched.tolist())
        known = self._open.get(memory_id, [])
        return [(start, end) for where, start, end in known if where in self._searched[scope]]


def logged_list(
    shown: Sequence[str], worlds: Sequence[WorldIds], at: int, scope: str | None
) -> LoggedList:
    """Return which ids of one logged list can be replayed: those in every one of ``worlds``."""
    ids = tuple(dict.fromkeys(shown))
    kept = tuple(one for one in ids if all(world.holds(one, at, scope) for world in worlds))
    return LoggedList(
        ids=kept,
        missing=frozenset(ids).difference(kept),
        not_yet=sum(any(w.enters_later(one, at, scope) for w in worlds) for one in ids),
        repeated=len(shown) - len(ids),
    )


def logged_queries(log: pl.DataFrame) -> pl.DataFrame:
    """Return the dated searches of ``store.read_search_log`` with the columns of QUERY_COLUMNS.

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
    asked = dated.select(
        "query_id", pl.col("query").alias("text"), "asked_at", "scope", kind=pl.lit("search")
    )
    unsaid = [
        pl.lit(None, dtype).alias(name)
        for name, dtype in QUERY_COLUMNS.items()
        if name not in asked.columns
    ]
    return asked.with_columns(unsaid).select(*QUERY_COLUMNS)


def day_of(asked_at: pl.Expr) -> pl.Expr:
    """The day of an instant in UTC, which stands for the session of a logged search.

    A log names no sessions. Whatever is searched on one day counts as one unit, since searches of
    one conversation want the same, and conversations of one day touch each other. A cluster too
    wide costs width of the interval; one too narrow claims more than is known.
    """
    return pl.from_epoch(asked_at, time_unit="us").dt.strftime("%Y-%m-%d")
