"""Alternating timings in one process: a busy neighbour then slows every contestant alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

Work = Callable[[], object]


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
    """Time every contestant once a round; one round beforehand warms caches and compilers."""
    for work in contestants.values():
        work()
    wall: dict[str, list[float]] = {name: [] for name in contestants}
    cpu: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(repeats):
        for name, work in contestants.items():
            began, used = time.perf_counter(), time.process_time()
            work()
            cpu[name].append(time.process_time() - used)
            wall[name].append(time.perf_counter() - began)
    return {name: Timed(tuple(wall[name]), tuple(cpu[name])) for name in contestants}
