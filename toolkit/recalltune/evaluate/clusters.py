"""Cases grouped into the units that vary as one: conversations, sessions, users.

Cases of one session share what they prefer, so every test and interval of this room works on
one sum per cluster, never on single cases.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recalltune.errors import ContractError

__all__ = ["Clusters", "mean_and_se", "sessions_of"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Clusters:
    """N cases in J clusters, the clusters in the order of their ids."""

    ids: tuple[str, ...]
    """J cluster ids, rising: results that depend on the order of clusters are reproducible."""
    sizes: NDArray[np.int64]
    """shape (J,), cases, >= 1."""
    rows: NDArray[np.intp]
    """shape (N,). Case positions sorted by cluster."""

    @classmethod
    def of(cls, names: Sequence[str]) -> Clusters:
        """Group cases by the cluster each names.

        Raises
        ------
        ContractError
            If there is no case.
        """
        if not len(names):
            raise ContractError("clusters need at least one case, got none")
        ids, code, sizes = np.unique(
            np.asarray(names, dtype=np.str_), return_inverse=True, return_counts=True
        )
        return cls(
            ids=tuple(ids.tolist()),
            sizes=sizes.astype(np.int64),
            rows=np.argsort(code, kind="stable"),
        )

    @property
    def count(self) -> int:
        """Number of clusters J."""
        return len(self.ids)

    def sums(self, values: Floats) -> Floats:
        """Sum of per-case values (..., N) over the cases of each cluster, shape (..., J)."""
        starts = np.concatenate(([0], np.cumsum(self.sizes)[:-1]))
        sums: Floats = np.add.reduceat(values[..., self.rows], starts, axis=-1)
        return sums


def sessions_of(cases: pl.DataFrame) -> list[str]:
    """Cluster of each case, shape (N,): its session, or itself where it has none.

    Examples
    --------
    >>> sessions_of(pl.DataFrame({"query_id": ["q1", "q2"], "session": ["s", None]}))
    ['s', 'q2']
    """
    return cases["session"].fill_null(cases["query_id"]).to_list()


def mean_and_se(sums: Floats, sizes: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Mean over cases and its standard error, with clusters as the independent units.

    ``mean = sum_j C_j / N`` and ``se = sqrt(J / (J - 1) * sum_j (C_j - mean n_j)^2) / N``, the
    linearised error of a ratio. With one case per cluster this is the usual s / sqrt(N).

    Parameters
    ----------
    sums
        shape (..., J), sum of the values of each cluster.
    sizes
        shape (J,), cases of each cluster.

    Returns
    -------
    tuple[Floats, Floats]
        Mean and standard error, shape (...,). One cluster alone has an infinite error.

    References
    ----------
    Cochran 1977, section 9; Cameron, Gelbach & Miller 2008.

    Examples
    --------
    >>> mean_and_se(np.array([0.0, 2.0]), np.array([1, 1]))
    (np.float64(1.0), np.float64(1.0))
    """
    total, count = int(sizes.sum()), len(sizes)
    mean = sums.sum(axis=-1) / total
    if count == 1:
        return mean, np.full(np.shape(mean), np.inf)[()]
    spread = ((sums - np.multiply.outer(mean, sizes)) ** 2).sum(axis=-1)
    return mean, np.sqrt(count / (count - 1) * spread) / total
