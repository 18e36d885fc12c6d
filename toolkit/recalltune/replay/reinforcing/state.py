"""What use has done so far in one walk: counts, last uses, and what is still to be written."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import overload

import numpy as np
from numpy.typing import NDArray

from recalltune.replay.reinforcing.rule import Counter
from recalltune.replay.reinforcing.uses import Recorded, days_between

__all__ = ["History", "Use"]


class Use:
    """One counter over one walk. An access waits for its flush, then it is a use."""

    def __init__(self, recorded: Recorded, counter: Counter) -> None:
        self.count = np.zeros(len(recorded.ids), dtype=np.int64)
        """Simulated uses of each memory."""
        self.last = recorded.last.copy()
        """The last use, recorded before the start or simulated; microseconds."""
        self._recorded = recorded
        self._counted = recorded.last.copy()
        self._waiting: deque[tuple[int, NDArray[np.int64]]] = deque()
        self._lag, self._cooldown = counter.lag_us, counter.cooldown_us

    def flush(self, before: int) -> list[tuple[int, NDArray[np.int64]]]:
        """Write the accesses whose use lies strictly before an instant; return them."""
        done = []
        while self._waiting and self._waiting[0][0] < before:
            used_at, memories = self._waiting.popleft()
            self.count[memories] += 1
            self.last[memories] = used_at
            done.append((used_at, memories))
        return done

    def queue(self, at: int, memories: NDArray[np.int64]) -> None:
        """Take in a list that was shown; no memory twice. What still cools down does not count."""
        counted = memories[at - self._counted[memories] >= self._cooldown]
        if counted.size:
            self._counted[counted] = at
            self._waiting.append((at + self._lag, counted))

    def features(self, row: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return shape (1, C) each: accesses, and days since the last or NaN, for one query."""
        recorded = self._recorded
        count = recorded.candidates.feature("access_count")[[row]]
        since = recorded.candidates.feature("days_since_access")[[row]]
        cell = recorded.cell[row]
        touched = (recorded.candidates.span[row] >= 0) & (self.count[cell] > 0)
        if touched.any():
            mine = cell[touched]
            count, since = count.copy(), since.copy()
            count[0, touched] = recorded.count[mine] + self.count[mine]
            since[0, touched] = days_between(int(recorded.asked[row]), self.last[mine])
        return count, since


class History(Sequence[NDArray[np.int64]]):
    """Instants of every use by span, as `Candidates.uses`: before the start, and simulated."""

    def __init__(self, recorded: Recorded) -> None:
        self._recorded = recorded
        self._simulated: dict[int, list[int]] = {}

    def add(self, used_at: int, memories: NDArray[np.int64]) -> None:
        """Take in uses that were written."""
        for memory in memories.tolist():
            self._simulated.setdefault(memory, []).append(used_at)

    @overload
    def __getitem__(self, row: int) -> NDArray[np.int64]: ...
    @overload
    def __getitem__(self, row: slice) -> Sequence[NDArray[np.int64]]: ...
    def __getitem__(self, row: int | slice) -> NDArray[np.int64] | Sequence[NDArray[np.int64]]:
        if isinstance(row, slice):
            return [self[one] for one in range(*row.indices(len(self)))]
        memory = int(self._recorded.memory[row])
        simulated = np.array(self._simulated.get(memory, []), dtype=np.int64)
        return np.concatenate([self._recorded.before_start(row), simulated])

    def __len__(self) -> int:
        return self._recorded.memory.size
