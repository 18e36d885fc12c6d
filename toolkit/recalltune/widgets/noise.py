"""The interval of a paired difference, quick enough for a slider: resamples are drawn once.

The numbers are those of `recalltune.evaluate.paired`: same seed, same draws, same interval. Only
the drawing of the resamples, most of the time, is not repeated.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from recalltune.candidates.table import Candidates
from recalltune.evaluate.catalogue import parse_metric
from recalltune.evaluate.clusters import Clusters
from recalltune.evaluate.intervals import default_interval
from recalltune.evaluate.paired import SEED, Paired

__all__ = ["Noise", "StoredDraws"]


class StoredDraws(np.random.Generator):
    """A generator that answers every request for resamples as one freshly seeded would."""

    def __init__(self, seed: int) -> None:
        super().__init__(np.random.PCG64(seed))
        self._seed = seed
        self._drawn: dict[tuple[int, int, Any], NDArray[np.int64]] = {}

    def multinomial(self, n: Any, pvals: Any, size: Any = None) -> Any:
        """Draws of ``n`` over equally likely places, made once for each n and size."""
        key = (int(n), len(pvals), size)
        if key not in self._drawn:
            fresh = np.random.default_rng(self._seed)
            self._drawn[key] = fresh.multinomial(n, pvals, size=size)
        return self._drawn[key]


class Noise:
    """Paired differences of one set of cases."""

    def __init__(self, candidates: Candidates) -> None:
        queries = candidates.queries
        self._sessions = np.array(queries["session"].fill_null(queries["query_id"]).to_list())
        self._clusters: dict[bytes, Clusters] = {}
        self._draws = StoredDraws(SEED)

    def paired(self, change: NDArray[np.float64], metric: str) -> Paired:
        """Mean change with its 95 % interval over whole sessions, not corrected for looking often.

        Parameters
        ----------
        change
            shape (N,), value minus the default's; NaN where undefined.
        metric
            Decides the span of the values.
        """
        defined = ~np.isnan(change)
        if not defined.any():
            return Paired(None, None, None, 0, 0)
        key = defined.tobytes()
        if key not in self._clusters:
            self._clusters[key] = Clusters.of(self._sessions[defined].tolist())
        clusters, values = self._clusters[key], change[defined]
        interval = default_interval(
            clusters.sums(values), clusters.sizes, rng=self._draws, span=_span(metric, values)
        )
        return Paired(
            diff=float(values.mean()),
            lo=_finite(interval.low),
            hi=_finite(interval.high),
            n=int(defined.sum()),
            changed=int(np.count_nonzero(values)),
        )


def _span(metric: str, values: NDArray[np.float64]) -> float:
    if metric == "tokens":
        return float(max(np.abs(values).max(), 1.0))
    return parse_metric(metric)[0].span


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
