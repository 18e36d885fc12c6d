"""What this machine can do at most, measured in the same process as everything else."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np

from benchmarks.timing import interleaved


@dataclass(frozen=True)
class Limits:
    """Rates of NumPy's inner loops on one thread; a kernel of ours is told as a share of one."""

    copy_bytes: float
    """Bytes read and written a second by a copy of 64 MB."""
    compares: float
    """float64 comparisons a second, rows of 500 that stay in cache."""
    divides: float
    """float64 divisions a second, 8,192 at a time."""
    sorted_keys: float
    """uint64 keys a second in rows of 200."""

    def lines(self) -> list[str]:
        return [
            f"  copy of 64 MB      {self.copy_bytes / 1e9:8.1f} GB/s read and written",
            f"  float64 compares   {self.compares / 1e9:8.2f} G/s",
            f"  float64 divisions  {self.divides / 1e9:8.2f} G/s",
            f"  uint64 row sort    {self.sorted_keys / 1e6:8.0f} M keys/s",
        ]


def measure_limits() -> Limits:
    """Best of five: a limit is what the machine does when nothing disturbs it."""
    rng = np.random.default_rng(1)
    big, copy = np.ones(16 << 20, dtype=np.float32), np.empty(16 << 20, dtype=np.float32)
    left, right = rng.random((200, 500)), rng.random(500)
    below = np.empty(left.shape, dtype=bool)
    top, bottom = rng.random(8192), rng.random(8192) + 1.0
    quotient = np.empty(8192)
    keys = rng.integers(0, 2**63, (5_000, 200), dtype=np.uint64)
    times = interleaved(
        {
            "copy": lambda: np.copyto(copy, big),
            "compare": lambda: np.greater(left, right, out=below),
            "divide": lambda: np.divide(top, bottom, out=quotient),
            "sort": lambda: np.sort(keys, axis=1),
        }
    )
    return Limits(
        copy_bytes=2 * big.nbytes / times["copy"].best,
        compares=left.size / times["compare"].best,
        divides=top.size / times["divide"].best,
        sorted_keys=keys.size / times["sort"].best,
    )


def threads() -> list[str]:
    """The thread counts that decide what a timing means."""
    from threadpoolctl import threadpool_info

    pools = ", ".join(f"{pool['internal_api']} {pool['num_threads']}" for pool in threadpool_info())
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    return [
        f"  cores {os.cpu_count()}, numpy {np.__version__}, threads: {pools or 'no pool'}, "
        f"numba {os.environ.get('NUMBA_NUM_THREADS', 'all')}",
        f"  one-minute load when started {load:.1f}",
    ]
