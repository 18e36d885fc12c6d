"""Why rows left a list: what a stage knows of its own decision, in one form for all stages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from recalltune.rank.refusals import REFUSALS, Refusals

__all__ = ["Losses", "places_in"]

Cells = NDArray[np.intp]

_OF_REFUSAL = {
    "oversize": ("oversize", ""),
    "cap": ("quota", "items"),
    "floor": ("quota", "places"),
    "places": ("limit", "places"),
    "budget": ("budget", ""),
}
"""Reason in `REFUSALS` -> fate, unit; an empty unit is that of the budget."""


@dataclass(frozen=True, eq=False)
class Losses:
    """What became of L rows that a stage took out of their lists, in the order asked for."""

    fate: tuple[str, ...]
    """L names: status, pool, threshold, suppress, quota, budget, oversize or limit."""
    margin: NDArray[np.float64]
    """shape (L,). By how much each was lost, all else equal; NaN where no number says it."""
    unit: tuple[str, ...]
    """L units: score, similarity, worth, days, places, items, tokens or chars; empty = none."""
    by: Cells
    """shape (L,). Column of the row that stood in the way; -1 = no single one."""

    @classmethod
    def of(
        cls,
        fate: str,
        size: int,
        *,
        margin: NDArray[np.float64] | None = None,
        unit: str = "",
        by: Cells | None = None,
    ) -> Self:
        """Return the losses of ``size`` rows that have one fate and one unit."""
        return cls(
            (fate,) * size,
            np.full(size, np.nan) if margin is None else margin,
            (unit,) * size,
            np.full(size, -1, dtype=np.intp) if by is None else by,
        )

    @classmethod
    def refused(
        cls, found: Refusals, order: Cells, lane: Cells, position: Cells, *, unit: str
    ) -> Self:
        """Return the losses at some positions of the lists that `refusals` walked.

        Parameters
        ----------
        found
            Of B lists.
        order
            shape (B, P), the columns that stood in them.
        lane, position
            shape (L,), which list and where in it, from 0.
        unit
            Of the budget.
        """
        told = [_OF_REFUSAL[REFUSALS[code]] for code in found.reason[lane, position]]
        blocker = found.by[lane, position]
        return cls(
            tuple(fate for fate, _ in told),
            found.margin[lane, position].astype(np.float64),
            tuple(of_fate or unit for _, of_fate in told),
            np.where(blocker >= 0, order[lane, np.maximum(blocker, 0)], -1),
        )


def places_in(order: Cells, query: Cells, column: Cells) -> Cells:
    """Return shape (L,): the position, from 0, of each column in the list of its query."""
    found: Cells = (order[query] == column[:, np.newaxis]).argmax(axis=1)
    return found
