"""What holds for all walks of fades that differ in nothing but use: scores, ages, bounds, reach."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["ABSENT", "FADING", "NEAR", "UNMOVED", "Tables"]

Floats = NDArray[np.float64]

UNMOVED, FADING, ABSENT = 0, 1, 2
"""What use does to a cell: nothing, it stretches the days; or there is no row."""
NEAR = 1e-10
"""More than the rounding to 12 significant digits moves a score, relatively."""


@dataclass(frozen=True, eq=False)
class Tables:
    """What holds whatever a walk does; shape (Q, C) each, shared by configs."""

    kind: NDArray[np.int8]
    """UNMOVED, FADING or ABSENT."""
    rounded: Floats
    """The final score of a row that no list has used yet, to 12 significant digits."""
    base: Floats
    """The score before the fade."""
    scaled: Floats
    """The same, times all that multiplies it after the fade."""
    age: Floats
    """Days; 0 where use moves nothing."""
    days: Floats
    """The fade's days of a memory never used; 1 where use moves nothing."""
    upper: Floats
    """No use can bring the final score above this."""
    lower: Floats
    """No use can bring it below this."""
    _made: dict[tuple[str, int], Any] = field(default_factory=dict, repr=False)

    def still(self, top_k: int) -> NDArray[np.int32]:
        """Return shape (Q, top_k), the lists where nothing shown is a use; made once."""
        if ("still", top_k) not in self._made:
            alive = self.kind != ABSENT
            order = np.argsort(np.where(alive, -self.rounded, np.inf), axis=1, kind="stable")
            shown = order[:, :top_k]
            listed = np.where(np.take_along_axis(alive, shown, axis=1), shown, -1)
            self._made["still", top_k] = listed.astype(np.int32)
        still: NDArray[np.int32] = self._made["still", top_k]
        return still

    def within_reach(self, top_k: int) -> NDArray[np.bool_]:
        """Return shape (Q, C), True where some use could bring a row into a list; made once.

        The last place never scores less than the ``top_k``-th of the lowest scores there can be.
        """
        if ("reach", top_k) not in self._made:
            alive = self.kind != ABSENT
            reach = alive
            if top_k < alive.shape[1]:
                lowest = np.where(alive, self.lower, -np.inf)
                least = np.partition(lowest, -top_k, axis=1)[:, [-top_k]]
                reach = alive & (self.upper + NEAR * np.abs(self.upper) >= least)
            self._made["reach", top_k] = reach
        found: NDArray[np.bool_] = self._made["reach", top_k]
        return found

    def compact(self, top_k: int) -> Compact:
        """Return the rows within reach, query by query; made once."""
        if ("compact", top_k) not in self._made:
            reach = self.within_reach(top_k)
            row, column = np.nonzero(reach)
            self._made["compact", top_k] = Compact(
                start=np.searchsorted(row, np.arange(reach.shape[0] + 1)),
                column=column.astype(np.int32),
                fading=self.kind[reach] == FADING,
                rounded=self.rounded[reach],
                upper=self.upper[reach],
                scaled=self.scaled[reach],
                age=self.age[reach],
                days=self.days[reach],
            )
        made: Compact = self._made["compact", top_k]
        return made


@dataclass(frozen=True, eq=False)
class Compact:
    """Rows of `Tables` that any use could bring into a list, N in all; shape (N,) but for start."""

    start: NDArray[np.int64]
    """shape (Q + 1,), where the rows of each query start."""
    column: NDArray[np.int32]
    """Rising within a query."""
    fading: NDArray[np.bool_]
    """Whether use stretches its days."""
    rounded: Floats
    upper: Floats
    scaled: Floats
    age: Floats
    days: Floats
