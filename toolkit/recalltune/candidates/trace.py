"""Where a wanted memory stands before any stage: in the table, or the first thing that kept it out.

In: a candidate table, its config, pairs of query and memory. Out: one row a pair. Nothing is
added to the table for it: a row that is looked at takes part in no rank and no count.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recalltune.candidates.arm_views import ArmView, arm_views
from recalltune.candidates.corpus import Corpus
from recalltune.candidates.settings import Admit, Arms
from recalltune.candidates.table import Candidates
from recalltune.candidates.world import DAY_US
from recalltune.errors import ContractError, ParameterError

__all__ = ["STANDS", "trace", "visible_successor"]

STANDS = (
    "unknown_id", "not_yet", "ended", "scope", "gate", "status", "copy", "in_context", "arms",
    "table",
)  # fmt: skip
"""Where a memory can stand, in the order they are asked for: the first that holds is told."""

_TRACE = {
    "query_id": pl.String,
    "memory_id": pl.String,
    "stands": pl.String,
    "column": pl.Int64,
    "changed_at": pl.Int64,
    "distance_days": pl.Float64,
    "by": pl.String,
}


class Setup(Protocol):
    """What a trace needs of a config."""

    @property
    def admit(self) -> Admit: ...
    @property
    def arms(self) -> Arms: ...
    @property
    def setup(self) -> str: ...


def trace(candidates: Candidates, config: Setup, wanted: pl.DataFrame) -> pl.DataFrame:
    """Return where each wanted memory stands for its query, before any stage ranks it.

    Parameters
    ----------
    candidates
        From `candidates`; it keeps what was searched.
    config
        The config it was made for.
    wanted
        query_id, memory_id: distinct pairs.

    Returns
    -------
    pl.DataFrame
        A row a pair, in their order. ``stands``: one of `STANDS`. ``column``: of the table, null
        outside it. ``changed_at``: microseconds UTC of what decided (enters, leaves, is told, was
        superseded or retracted), ``distance_days``: from there to the query, >= 0. ``by``: what
        replaced it or speaks for it, where the query may see that. For each arm that is on, of the
        rows no arm proposed: ``ARM_rank`` in the whole world, from 1; ``ARM_score``; ``ARM_cut``,
        the score of the last row proposed; ``ARM_why``: no_match, abstained, below_minimum or
        null (outside the width). A memory that nobody was told is one that is not there.

    Raises
    ------
    ContractError
        If the table was made for another setup, or keeps nothing of what was searched while a
        memory is not in it.
    ParameterError
        If a column is missing, a query is unknown or a pair occurs twice.
    """
    if candidates.stamp.setup not in ("none", config.setup):
        message = (
            f"the config asks for admit/arms {config.setup}, the candidates were made with "
            f"{candidates.stamp.setup}"
        )
        raise ContractError(message)
    pairs = _checked(wanted)
    place = {query_id: row for row, query_id in enumerate(candidates.queries["query_id"])}
    asked: dict[int, list[str]] = {}
    for query_id, memory_id in pairs.iter_rows():
        row = place[query_id] if query_id in place else candidates.position(query_id)
        asked.setdefault(row, []).append(memory_id)
    spans = _rows_of(candidates)
    found = {row: _of_query(candidates, config, row, ids, spans) for row, ids in asked.items()}
    rows = [found[place[query_id]][memory_id] for query_id, memory_id in pairs.iter_rows()]
    return pl.DataFrame(rows, schema=_TRACE | _arm_columns(config.arms))


def _checked(wanted: pl.DataFrame) -> pl.DataFrame:
    for name in ("query_id", "memory_id"):
        if name not in wanted.columns:
            message = f"wanted needs a column {name!r}, got {', '.join(wanted.columns) or 'none'}"
            raise ParameterError(message)
    pairs = wanted.select(pl.col("query_id", "memory_id").cast(pl.String))
    twice = pairs.filter(pairs.is_duplicated())
    if twice.height:
        message = f"wanted must name a pair once, got {twice.row(0)} more than once"
        raise ParameterError(message)
    return pairs


def _arm_columns(arms: Arms) -> dict[str, Any]:
    of_arm = {"rank": pl.Int64, "score": pl.Float64, "cut": pl.Float64, "why": pl.String}
    return {f"{arm}_{name}": kind for arm in arms.names for name, kind in of_arm.items()}


def _of_query(
    candidates: Candidates,
    config: Setup,
    row: int,
    ids: Iterable[str],
    rows_of: Mapping[str, list[int]],
) -> dict[str, dict[str, Any]]:
    """Rows of the trace by memory_id, for one query."""
    query_id = str(candidates.queries["query_id"][row])
    spans = candidates.span[row][candidates.span[row] >= 0]
    listed = candidates.spans["memory_id"].gather(spans).to_list()
    column = {memory_id: place for place, memory_id in enumerate(listed)}
    found = {
        memory_id: {
            "query_id": query_id,
            "memory_id": memory_id,
            "stands": "table",
            "column": column.get(memory_id),
        }
        for memory_id in ids
    }
    outside = [memory_id for memory_id in found if memory_id not in column]
    if not outside:
        return found
    if candidates.corpus is None:
        message = (
            f"candidates keep nothing of what was searched, and {outside[0]!r} is no candidate of "
            f"query {query_id!r}; candidates(...) keeps it"
        )
        raise ContractError(message)
    look = _Look.of(candidates, candidates.corpus, row, rows_of)
    views: Mapping[str, ArmView] | None = None
    for memory_id in outside:
        found[memory_id] |= look.stands(candidates, memory_id)
        if found[memory_id]["stands"] == "arms":
            views = arm_views(candidates, config.arms, row) if views is None else views
            found[memory_id] |= _of_arms(views, look.open_row(memory_id))
    return found


@dataclass(frozen=True, eq=False)
class _Look:
    """What one query sees of all spans, one filter after the other."""

    corpus: Corpus
    query: int
    at: int
    world: NDArray[np.bool_]
    current: NDArray[np.bool_]
    allowed: NDArray[np.bool_]
    in_prompt: frozenset[int]
    rows: Mapping[str, list[int]]
    """memory_id -> its spans."""

    @classmethod
    def of(
        cls, candidates: Candidates, corpus: Corpus, row: int, rows: Mapping[str, list[int]]
    ) -> _Look:
        asked = candidates.queries.row(row, named=True)
        worlds, at = corpus.worlds, int(asked["asked_at"])
        world = worlds.world(at, asked["scope"])
        current = worlds.current(at, world)
        held = candidates.in_prompt[row] if candidates.in_prompt else np.array([], dtype=np.intp)
        allowed = worlds.proposable(at, world, held)
        return cls(corpus, row, at, world, current, allowed, frozenset(held.tolist()), rows)

    def open_row(self, memory_id: str) -> int:
        """The span of a memory that is in the world."""
        return next(row for row in self.rows[memory_id] if self.world[row])

    def stands(self, candidates: Candidates, memory_id: str) -> dict[str, Any]:
        """Where a memory stands that is no candidate."""
        rows = self.rows.get(memory_id, [])
        if not rows:
            return {"stands": "unknown_id"}
        if not any(self.world[row] for row in rows):
            return self._outside(rows)
        row = self.open_row(memory_id)
        if not self.current[row]:
            spans = self.corpus.worlds.spans
            since = [
                int(times[row])
                for times in (spans.superseded, spans.retracted)
                if times[row] < self.at
            ]
            by = visible_successor(candidates, self.query, row)
            return self._decided("status", min(since)) | {"by": by}
        if row in self.in_prompt:
            return {"stands": "in_context"}
        if not self.allowed[row]:
            return {"stands": "copy", "by": self._speaker(row)}
        return {"stands": "arms"}

    def _outside(self, rows: list[int]) -> dict[str, Any]:
        """A memory without a span in the world: elsewhere, gone, or not there yet."""
        spans = self.corpus.worlds.spans
        if any(spans.enters[row] < self.at <= spans.leaves[row] for row in rows):
            return {"stands": "scope"}
        gone = [int(spans.leaves[row]) for row in rows if spans.leaves[row] < self.at]
        if gone:
            return self._decided("ended", max(gone))
        first = min(rows, key=lambda row: int(spans.enters[row]))
        known = spans.frame["known_at"][first]
        waits = known is None or known < self.at
        return self._decided("gate" if waits else "not_yet", int(spans.enters[first]))

    def _decided(self, stands: str, changed_at: int) -> dict[str, Any]:
        return {
            "stands": stands,
            "changed_at": changed_at,
            "distance_days": abs(self.at - changed_at) / DAY_US,
        }

    def _speaker(self, row: int) -> str | None:
        spans = self.corpus.worlds.spans
        group = spans.copies.group[spans.copies.rows == row]
        speaker = spans.copies.speaker(int(group[0]), self.current) if group.size else None
        return None if speaker is None else str(spans.frame["memory_id"][speaker])


def _rows_of(candidates: Candidates) -> Mapping[str, list[int]]:
    """Return memory_id -> rows of its spans."""
    grouped: dict[str, list[int]] = {}
    for row, memory_id in enumerate(candidates.spans["memory_id"].to_list()):
        grouped.setdefault(memory_id, []).append(row)
    return grouped


def visible_successor(candidates: Candidates, query: int, row: int) -> str | None:
    """Return what had replaced the memory of a span by the query's time, if the query sees it."""
    if candidates.corpus is None:
        return None
    successor, worlds = candidates.spans["superseded_by"][row], candidates.corpus.worlds
    asked = candidates.queries.row(query, named=True)
    at = int(asked["asked_at"])
    # What was retracted by then may be replaced later still.
    if successor is None or worlds.spans.superseded[row] >= at:
        return None
    world = worlds.world(at, asked["scope"])
    ids = candidates.spans["memory_id"]
    there = bool((ids == successor).to_numpy()[world].any())
    return str(successor) if there else None


def _of_arms(views: Mapping[str, ArmView], row: int) -> dict[str, Any]:
    """What each arm says of a row that none of them proposed."""
    told: dict[str, Any] = {}
    for arm, view in views.items():
        rank = view.rank_of(row)
        score = float(view.score[row])
        told |= {
            f"{arm}_rank": rank,
            f"{arm}_score": None if np.isnan(score) else score,
            f"{arm}_cut": view.cut,
            f"{arm}_why": view.why(row, rank),
        }
    return told
