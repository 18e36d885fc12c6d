"""Why `quota.select` passed a candidate over: each refusal at the moment of its turn.

In: what `quota.select` takes. Out: for every candidate it does not pick, the first limit that
stood in its way, by how much, and which candidate had what it lacked.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recalltune.rank.quota import select

__all__ = ["REFUSALS", "Refusals", "refusals"]

REFUSALS = ("", "oversize", "cap", "floor", "places", "budget")
"""Names of the codes: none, larger than the whole budget, its layer's cap is full, a floor took the
place it would have had, all places are taken, too little of the budget is left."""

_NONE, _OVERSIZE, _CAP, _FLOOR, _PLACES, _BUDGET = range(len(REFUSALS))
_NO_LIMIT = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True, eq=False)
class Refusals:
    """What stood in the way of each candidate; shape (B, P) throughout."""

    picked: NDArray[np.bool_]
    """As `quota.select` picks."""
    reason: NDArray[np.int8]
    """Code in `REFUSALS`; 0 where picked, and at padding."""
    margin: NDArray[np.int64]
    """>= 1 where refused. Items over the cap, places or tokens missing; else 0."""
    by: NDArray[np.intp]
    """Position of the candidate that had what was lacking; -1 where there is no single one."""


def refusals(
    layer: ArrayLike,
    tokens: ArrayLike,
    *,
    top_k: int,
    floors: ArrayLike,
    caps: ArrayLike,
    budget_tokens: int | None = None,
    packer: str = "skip",
) -> Refusals:
    """First limit that refused each candidate: cap, then places, then what is left of the budget.

    Parameters
    ----------
    layer, tokens
        shape (B, P), as in `quota.select`.
    top_k
        places, >= 0.
    floors, caps
        shape (L,), as in `quota.select`.
    budget_tokens
        >= 0, unit of ``tokens``. None = no budget.
    packer
        ``skip`` or ``prefix``.

    Returns
    -------
    Refusals
        A candidate refused for lack of places counts as refused by a *floor* where it would have
        been picked without floors.

    Raises
    ------
    ParameterError
        As `quota.select` does.

    References
    ----------
    As `quota.select`: the same walk, one candidate at a time, with the reason kept.

    Examples
    --------
    >>> found = refusals([[0, 0, 0, 1]], [[9, 9, 9, 9]], top_k=2, floors=[0, 1], caps=[-1, -1])
    >>> [REFUSALS[code] for code in found.reason[0]], found.margin[0].tolist()
    (['', 'floor', 'places', ''], [0, 1, 2, 0])
    """
    pick = partial(
        select, layer, tokens, top_k=top_k, caps=caps, budget_tokens=budget_tokens, packer=packer
    )
    picked, free = pick(floors=floors).picked, pick(floors=np.zeros_like(floors)).picked
    codes, sizes = np.asarray(layer, np.int64), np.asarray(tokens, np.int64)
    rooms = np.where(np.asarray(caps) < 0, _NO_LIMIT, caps)
    reason = np.zeros(codes.shape, np.int8)
    margin, by = np.zeros(codes.shape, np.int64), np.full(codes.shape, -1, np.intp)
    for lane in range(codes.shape[0]):
        walk = _Lane(
            codes[lane].tolist(), sizes[lane].tolist(), top_k, rooms.tolist(), budget_tokens, packer
        )
        walk.fill(np.asarray(floors, np.int64).tolist())
        for position, (code, missing, blocker) in walk.refused.items():
            displaced = code == _PLACES and bool(free[lane, position])
            reason[lane, position] = _FLOOR if displaced else code
            margin[lane, position] = missing
            by[lane, position] = walk.admitted_below(position) if displaced else blocker
    return Refusals(picked, reason, margin, by)


class _Lane:
    """One list on its way through the two passes of `quota.select`."""

    def __init__(
        self,
        layer: list[int],
        size: list[int],
        places: int,
        room: list[int],
        budget: int | None,
        packer: str,
    ) -> None:
        self.layer, self.size = layer, size
        self.budget = _NO_LIMIT if budget is None else budget
        self.places, self.room, self.left = places, room, self.budget
        self.prefix = packer == "prefix"
        self.refused: dict[int, tuple[int, int, int]] = {}
        """position -> code, margin, blocker."""
        self._taken: set[int] = set()
        self._reserved: set[int] = set()

    def fill(self, floors: list[int]) -> None:
        """Pack the reserved candidates, then the rest."""
        fitting = []
        for position, layer in enumerate(self.layer):
            if layer < 0:
                continue
            if (over := self.size[position] - self.budget) > 0:
                self.refused[position] = (_OVERSIZE, over, -1)
                continue
            fitting.append(position)
            if floors[layer] > 0:
                floors[layer] -= 1
                self._reserved.add(position)
        self._pass([position for position in fitting if position in self._reserved])
        self._pass([position for position in fitting if position not in self._reserved])

    def _pass(self, wanted: list[int]) -> None:
        places, room, left = self.places, self.room.copy(), self.left
        waiting, capped, ended = 0, [0] * len(room), -1
        for position in wanted:
            layer, size = self.layer[position], self.size[position]
            if room[layer] <= 0:
                capped[layer] += 1
                self.refused[position] = (_CAP, capped[layer], self._last(layer))
                continue
            if places <= 0:
                waiting += 1
                self.refused[position] = (_PLACES, waiting, self._last_above(position))
                continue
            fits = size <= left
            if fits:
                self._taken.add(position)
                self.places, self.left = self.places - 1, self.left - size
                self.room[layer] -= 1
            else:
                self.refused[position] = (_BUDGET, size - left, ended)
                ended = position if ended < 0 and self.prefix else ended
            if fits or self.prefix:  # a prefix goes on counting what no longer fits
                places, left = places - 1, left - size
                room[layer] -= 1

    def _last(self, layer: int) -> int:
        return max((one for one in self._taken if self.layer[one] == layer), default=-1)

    def _last_above(self, position: int) -> int:
        return max((one for one in self._taken if one < position), default=-1)

    def admitted_below(self, position: int) -> int:
        """The lowest reserved candidate that has a place although it stands below ``position``."""
        admitted = self._taken & self._reserved
        return max((one for one in admitted if one > position), default=-1)
