"""Recorded uses before a walk starts, and which memory stands in which cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recalltune.candidates.table import Candidates
from recalltune.candidates.world import DAY_US, AccessLog
from recalltune.errors import ContractError
from recalltune.replay.reinforcing.rule import AccessRule

__all__ = ["NEVER", "Recorded", "days_between", "with_use"]

NEVER = np.iinfo(np.int64).min // 4
"""An instant before every other, from which no cooldown runs."""


@dataclass(frozen=True, eq=False)
class Recorded:
    """A candidate table as the walk meets it: nothing simulated yet."""

    candidates: Candidates
    """Its features count recorded uses before the start alone."""
    memory: NDArray[np.int64]
    """shape (S,), number of the memory of each span."""
    cell: NDArray[np.int64]
    """shape (Q, C), number of the memory in each cell; 0 on padding."""
    ids: tuple[str, ...]
    """memory_id of each number, rising."""
    count: NDArray[np.int64]
    """shape (number of memories,), recorded uses before the start."""
    last: NDArray[np.int64]
    """shape (number of memories,), the last of them in microseconds, `NEVER` without one."""
    order: NDArray[np.intp]
    """shape (Q,), rows in the order they are asked; of one instant, as they stand."""
    silent: NDArray[np.bool_]
    """shape (Q,), queries whose lists are no use."""
    asked: NDArray[np.int64]
    """shape (Q,), microseconds."""
    start: int
    """Microseconds: when the first query that counts is asked; recorded uses from it on do not."""
    uses: Sequence[NDArray[np.int64]]
    """By span: every use recorded, rising."""
    _singles: dict[int, Candidates] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, candidates: Candidates, rule: AccessRule) -> Recorded:
        """Read the uses of a table.

        Raises
        ------
        ContractError
            If the table was made without the history of use, or a query has no time.
        """
        queries = candidates.queries
        if queries["asked_at"].null_count():
            name = queries.filter(queries["asked_at"].is_null())["query_id"][0]
            message = f"queries must have a time to be walked through, {name!r} has none"
            raise ContractError(message)
        asked = queries["asked_at"].to_numpy().astype(np.int64)
        # An order of equal instants that no numbering of the queries can change the outcome of.
        order = np.argsort(asked, kind="stable")
        kinds = queries["kind"].to_list()
        silent = np.array([kind in rule.silent_kinds for kind in kinds], dtype=np.bool_)
        loud = asked[~silent]
        start = int(loud.min()) if loud.size else int(np.iinfo(np.int64).max)
        ids, first, memory = np.unique(
            np.array(candidates.spans["memory_id"].to_list(), dtype=np.str_),
            return_index=True,
            return_inverse=True,
        )
        uses = _uses(candidates, rule)
        # All spans of a memory share its uses.
        early = [_before(uses[row], start) for row in first.tolist()]
        return cls(
            candidates=_as_of(candidates, early, memory, asked),
            memory=memory.astype(np.int64),
            cell=_in_cells(memory, candidates.span),
            ids=tuple(ids.tolist()),
            count=np.array([times.size for times in early], dtype=np.int64),
            last=np.array([times[-1] if times.size else NEVER for times in early], dtype=np.int64),
            order=order,
            silent=silent,
            asked=asked,
            start=start,
            uses=uses,
        )

    def before_start(self, row: int) -> NDArray[np.int64]:
        """Return the recorded uses of one span's memory before the start, rising."""
        return _before(self.uses[row], self.start)

    def single(self, row: int) -> Candidates:
        """Return the table of one query, shape (1, C), without labels; made once."""
        if row not in self._singles:
            bare = replace(self.candidates, labels=pl.DataFrame())
            self._singles[row] = bare.take([row])
        return self._singles[row]


def with_use(
    candidates: Candidates, count: NDArray[np.float64], since: NDArray[np.float64]
) -> Candidates:
    """Return the same table with other uses: accesses, and days since the last or NaN."""
    features: dict[str, NDArray[Any]] = {
        **candidates.features,
        "access_count": count,
        "days_since_access": since,
    }
    return replace(candidates, features=features)


def days_between(at: NDArray[np.int64] | int, used: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return days from a use to a question, in the arithmetic of the candidate table."""
    days: NDArray[np.float64] = (at - used) / DAY_US
    return days


def _uses(candidates: Candidates, rule: AccessRule) -> Sequence[NDArray[np.int64]]:
    if not rule.recorded_before_start:
        return [np.array([], dtype=np.int64)] * candidates.spans.height
    if candidates.uses is None:
        raise ContractError(
            "candidates hold no history of use; candidates(...) reads it, and "
            "recorded_before_start = false starts without any"
        )
    return candidates.uses


def _in_cells(memory: NDArray[Any], span: NDArray[np.int64]) -> NDArray[np.int64]:
    if memory.size == 0:
        return np.zeros(span.shape, dtype=np.int64)
    return np.where(span >= 0, memory[np.maximum(span, 0)], 0).astype(np.int64)


def _before(times: NDArray[np.int64], start: int) -> NDArray[np.int64]:
    return times[: np.searchsorted(times, start)]


def _as_of(
    candidates: Candidates,
    early: Sequence[NDArray[np.int64]],
    memory: NDArray[Any],
    asked: NDArray[np.int64],
) -> Candidates:
    """The table with the uses before the start alone, as of each query."""
    nothing = np.array([], dtype=np.int64)
    number = np.repeat(np.arange(len(early)), [times.size for times in early])
    log = AccessLog(number, np.concatenate([nothing, *early]), len(early))
    valid = candidates.valid
    count, since = np.zeros(valid.shape), np.full(valid.shape, np.nan)
    at = np.broadcast_to(asked[:, None], valid.shape)
    count[valid], since[valid] = log.before(memory[candidates.span[valid]], at[valid])
    return with_use(candidates, count, since)
