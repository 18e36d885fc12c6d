"""Alternating timings in one process: a busy neighbour then slows every contestant alike."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

Work = Callable[[], object]

SHORTEST = 0.1
"""Seconds of one turn, at least."""


@dataclass(frozen=True)
class Timed:
    """Seconds of one contestant over the repeats."""

    wall: tuple[float, ...]
    cpu: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.wall)

    @property
    def best(self) -> float:
        return min(self.wall)

    @property
    def cpu_median(self) -> float:
        """Seconds of processor time, all threads: what waiting for a busy core does not add to."""
        return statistics.median(self.cpu)


def interleaved(contestants: Mapping[str, Work], *, repeats: int = 5) -> dict[str, Timed]:
    """Time every contestant once a round; one round beforehand warms caches and compilers.

    Work that is over sooner than the clocks of a processor tick is repeated within its turn.
    """
    often = {name: _loops(work) for name, work in contestants.items()}
    wall: dict[str, list[float]] = {name: [] for name in contestants}
    cpu: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(repeats):
        for name, work in contestants.items():
            began, used = time.perf_counter(), time.process_time()
            for _ in range(often[name]):
                work()
            cpu[name].append((time.process_time() - used) / often[name])
            wall[name].append((time.perf_counter() - began) / often[name])
    return {name: Timed(tuple(wall[name]), tuple(cpu[name])) for name in contestants}


def _loops(work: Work) -> int:
    work()
    began = time.perf_counter()
    work()
    return max(1, math.ceil(SHORTEST / max(time.perf_counter() - began, 1e-9)))
