"""What existed for a query: spans in arrays, and the mask of one query's world."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recalltune.candidates.copies import Copies
from recalltune.candidates.settings import Admit
from recalltune.errors import ContractError
from recalltune.rank.timeline import NEVER_US, Timeline

__all__ = ["DAY_US", "AccessLog", "SpanTable", "Worlds", "in_scope"]

DAY_US = 86_400_000_000


@dataclass(frozen=True, eq=False)
class SpanTable:
    """Spans that enter at some time, as arrays; row order is memory_id, then version.

    An event at time e is seen by a query at t iff e < t. Spans never told to anyone are not here.
    """

    frame: pl.DataFrame
    enters: NDArray[np.int64]
    leaves: NDArray[np.int64]
    superseded: NDArray[np.int64]
    retracted: NDArray[np.int64]
    event: NDArray[np.float64]
    """Microseconds; NaN = the source gave no time: it exists from the beginning, without age."""
    scope: NDArray[np.str_]
    untold: int
    """Spans left out because nobody was told them."""
    copies: Copies
    """Which rows say the same."""

    @classmethod
    def of(cls, spans: pl.DataFrame, audience: str) -> SpanTable:
        """Build the table from `store.read_spans` for one audience."""
        mine = spans.filter(pl.col("audience").is_in(["everyone", audience]))
        told = mine.filter(pl.col("enters_at").is_not_null()).sort("memory_id", "version")

        def times(column: str, absent: int) -> NDArray[np.int64]:
            return told[column].fill_null(absent).to_numpy().astype(np.int64)

        enters, leaves = times("enters_at", 0), times("leaves_at", NEVER_US)
        _refuse_two_at_once(told["memory_id"].to_list(), told["version"].to_list(), enters, leaves)
        return cls(
            frame=told,
            enters=enters,
            leaves=leaves,
            superseded=times("superseded_at", NEVER_US),
            retracted=times("retracted_at", NEVER_US),
            event=told["event_at"].cast(pl.Float64).fill_null(np.nan).to_numpy().copy(),
            scope=np.array(told["scope"].fill_null("").to_list(), dtype=np.str_),
            untold=mine.height - told.height,
            copies=Copies.of(told, enters),
        )


def _refuse_two_at_once(
    ids: Sequence[str],
    versions: Sequence[int],
    enters: NDArray[np.int64],
    leaves: NDArray[np.int64],
) -> None:
    """A memory that is there twice would be listed twice, and counted twice by every metric."""
    last: dict[str, int] = {}
    open_ever = np.flatnonzero(enters < leaves)
    for row in open_ever[np.argsort(enters[open_ever], kind="stable")].tolist():
        before = last.get(ids[row])
        if before is not None and enters[row] < leaves[before]:
            msg = (
                f"memory {ids[row]!r} must have one text at a time, got versions "
                f"{versions[before]} and {versions[row]} at once"
            )
            raise ContractError(msg)
        last[ids[row]] = row


def in_scope(
    scopes: NDArray[np.str_], asked: str | None, match: Literal["exact", "family"]
) -> NDArray[np.bool_]:
    """Return which scopes a query in ``asked`` searches.

    Parameters
    ----------
    scopes
        shape (S,).
    asked
        None searches every scope.
    match
        exact: equal. family: equal if ``asked`` holds a colon, else every scope it is a prefix of.

    Examples
    --------
    >>> in_scope(np.array(["project", "project:a", "project:ab"]), "project", "family").tolist()
    [True, True, True]
    >>> in_scope(np.array(["project:a", "project:ab"]), "project:a", "family").tolist()
    [True, False]
    """
    if asked is None:
        return np.ones(scopes.shape, dtype=np.bool_)
    if match == "family" and ":" not in asked:
        family: NDArray[np.bool_] = np.char.startswith(scopes, asked)
        return family
    mine: NDArray[np.bool_] = scopes == asked
    return mine


@dataclass(frozen=True, eq=False)
class Worlds:
    """The rules of one admit model over one span table."""

    spans: SpanTable
    admit: Admit

    @cached_property
    def timeline(self) -> Timeline:
        """The spans in the order in which they enter."""
        return Timeline.of(self.spans.enters, self.spans.leaves)

    @cached_property
    def until(self) -> NDArray[np.int64]:
        """Shape (S,); the last instant at which each span passes the status filters."""
        until = self.spans.leaves
        if self.admit.superseded == "hide":
            until = np.minimum(until, self.spans.superseded)
        if self.admit.retracted == "hide":
            until = np.minimum(until, self.spans.retracted)
        return until

    @cached_property
    def scopes(self) -> tuple[NDArray[np.str_], NDArray[np.int64]]:
        """Names of the scopes, rising, and the number of each span's scope."""
        names, code = np.unique(self.spans.scope, return_inverse=True)
        return names, code.astype(np.int64)

    def searched(self, scope: str | None) -> NDArray[np.int64] | None:
        """Numbers of the scopes a query searches; None where these are all there are."""
        names, _ = self.scopes
        mine = in_scope(names, scope, self.admit.scope_match)
        return None if mine.all() else np.flatnonzero(mine).astype(np.int64)

    def alive(self, at: int) -> NDArray[np.bool_]:
        """Shape (S,); spans open at ``at``, in every scope."""
        return (self.spans.enters < at) & (at <= self.spans.leaves)

    def world(self, at: int, scope: str | None) -> NDArray[np.bool_]:
        """Shape (S,); W(q): open at ``at`` and in scope. No scope means every scope."""
        return self.alive(at) & in_scope(self.spans.scope, scope, self.admit.scope_match)

    def current(self, at: int, world: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Shape (S,); spans of a world that pass the status filters."""
        return world & (at <= self.until)

    def proposable(
        self, at: int, world: NDArray[np.bool_], in_prompt: NDArray[np.intp] | None = None
    ) -> NDArray[np.bool_]:
        """Shape (S,); spans of a world that an arm may propose: of copies, the first one alone.

        ``in_prompt`` are rows that the prompt holds already; a later copy of them stays hidden.
        """
        allowed = self.current(at, world)
        if self.admit.duplicates == "hide" and self.spans.copies.rows.size:
            allowed[self.spans.copies.later(allowed)] = False
        if in_prompt is not None:
            allowed[in_prompt] = False
        return allowed

    def same_instant(
        self, at: NDArray[np.int64], scopes: Sequence[NDArray[np.int64] | None]
    ) -> NDArray[np.int64]:
        """Shape (Q,); spans that enter at the very instant of each query, and so are not seen."""
        first = np.searchsorted(self.timeline.enters, at, "left")
        last = np.searchsorted(self.timeline.enters, at, "right")
        counts = last - first
        for query in np.flatnonzero(counts).tolist():
            searched = scopes[query]
            if searched is not None:
                rows = self.timeline.rows[first[query] : last[query]]
                counts[query] = np.isin(self.scopes[1][rows], searched).sum()
        return counts

    def counts_others(self, at: int, scopes: NDArray[np.int64] | None) -> bool:
        """Whether words are counted over spans outside the scopes that are searched as well."""
        if self.admit.statistics == "world" or scopes is None:
            return False
        return bool((self.alive(at) & ~np.isin(self.scopes[1], scopes)).any())

    def withheld(
        self, at: int, scopes: NDArray[np.int64] | None, in_prompt: NDArray[np.intp]
    ) -> NDArray[np.intp]:
        """Rows of a world that pass the status filters and that no arm may propose even so."""
        if self.admit.duplicates == "show" or not self.spans.copies.rows.size:
            return in_prompt
        rows = self.spans.copies.rows
        shown = (self.spans.enters[rows] < at) & (at <= self.until[rows])
        if scopes is not None:
            shown &= np.isin(self.scopes[1][rows], scopes)
        return np.union1d(self.spans.copies.later_of(shown), in_prompt)


class AccessLog:
    """Access counts and last accesses as of a time, for many (memory, time) pairs at once."""

    def __init__(self, memory: NDArray[np.int64], used_at: NDArray[np.int64], count: int) -> None:
        order = np.lexsort((used_at, memory))
        self._used = used_at[order]
        self._times = np.unique(used_at)
        self._stride = self._times.size + 1
        self._key = memory[order] * self._stride + np.searchsorted(self._times, self._used)
        self._first = np.searchsorted(memory[order], np.arange(count))

    def before(
        self, memory: NDArray[np.int64], at: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return (count, days since the last access or NaN) strictly before ``at``, elementwise."""
        position = np.searchsorted(
            self._key, memory * self._stride + np.searchsorted(self._times, at)
        )
        counts = position - self._first[memory]
        since = np.full(memory.shape, np.nan)
        used = counts > 0
        since[used] = (at[used] - self._used[position[used] - 1]) / DAY_US
        return counts.astype(np.float64), since
