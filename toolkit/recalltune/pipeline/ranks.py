"""Ranks of the labelled items by counting, never by sorting."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recalltune.pipeline.stage import State
from recalltune.rank.order import round_significant

__all__ = ["LabelSlots", "ranks_in_list", "ranks_of"]

# Rounding to 12 significant digits moves a value by at most half a unit of its last digit, a
# relative 5e-12; two values further apart than twice that keep their order.
_NEAR = 1.01e-11


class LabelSlots:
    """Where the labelled items stand in a candidate table.

    Parameters
    ----------
    query
        shape (L,); row of the candidate table.
    column
        shape (L,); column there, -1 where the item is no candidate.
    """

    def __init__(self, query: NDArray[np.intp], column: NDArray[np.intp]) -> None:
        self.query = np.asarray(query, dtype=np.intp)
        self.column = np.asarray(column, dtype=np.intp)
        self.present = self.column >= 0
        self.at = np.maximum(self.column, 0)


def ranks_of(state: State, slots: LabelSlots) -> NDArray[np.float64]:
    """Return shape (L,): the 1-based rank each labelled item is shown at, NaN where it is not."""
    if state.order is not None:
        return ranks_in_list(state.order, slots)
    mine = state.score[slots.query, slots.at]
    rows = np.where(state.alive, state.score, -np.inf)[slots.query]
    margin = (_NEAR * np.abs(mine))[:, None]
    above = rows > mine[:, None] + margin
    near = (rows >= mine[:, None] - margin) & ~above
    ranks = 1.0 + above.sum(axis=1)
    lost = ~slots.present | ~state.alive[slots.query, slots.at]
    # A living item is always near itself; where it is not alone, the rounded values decide.
    for label in np.flatnonzero(~lost & (near.sum(axis=1) > 1)):
        ranks[label] += _tied_above(rows[label], near[label], int(slots.at[label]))
    if state.limit is not None:
        lost |= ranks > state.limit
    return np.where(lost, np.nan, ranks)


def _tied_above(row: NDArray[np.float64], near: NDArray[np.bool_], at: int) -> int:
    rounded = round_significant(row[near])
    columns = np.flatnonzero(near)
    mine = rounded[np.searchsorted(columns, at)]
    return int(np.sum((rounded > mine) | ((rounded == mine) & (columns < at))))


def ranks_in_list(order: NDArray[np.intp], slots: LabelSlots) -> NDArray[np.float64]:
    """Return shape (L,): the place of each labelled column in its query's list, NaN if absent."""
    if order.shape[1] == 0:
        return np.full(slots.query.shape, np.nan)
    hits = order[slots.query] == slots.column[:, None]
    shown = hits.any(axis=1) & slots.present
    return np.where(shown, hits.argmax(axis=1) + 1.0, np.nan)
