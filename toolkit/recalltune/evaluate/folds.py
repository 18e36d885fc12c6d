"""Gain of the best setting on cases it was not chosen on, by repeated grouped folds.

The apparent gain of a winner is too high, because it was chosen for it. Choosing on four fifths
of the clusters and measuring on the rest, many times over, estimates the gain of the *rule*
"take the best of the grid".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recalltune.errors import ContractError, ParameterError
from recalltune.evaluate.clusters import Clusters

__all__ = ["FoldGain", "fold_gain"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FoldGain:
    """Held-out gain of choosing the best, averaged over repeats."""

    gain: float
    """Mean over cases of (chosen on the other folds - default); unit of the metric."""
    by_repeat: Floats
    """shape (repeats,). Its spread is not an interval: repeats share all cases."""
    winners: NDArray[np.intp]
    """shape (repeats * folds,). Setting chosen in each fold."""

    @property
    def agreement(self) -> float:
        """Share of folds that chose the most frequent setting, in (0, 1]."""
        return float(np.bincount(self.winners).max() / len(self.winners))


def fold_gain(
    matrix: Floats,
    default: int,
    clusters: Clusters,
    *,
    rng: np.random.Generator,
    folds: int = 5,
    repeats: int = 10,
) -> FoldGain:
    """Held-out gain over the default by repeated K-fold with folds of whole clusters.

    A fold that cut through a cluster would measure on cases that resemble those chosen on.

    Parameters
    ----------
    matrix
        shape (G, N), metric per setting and case, higher is better, finite.
    default
        Row of the default. It is kept when nothing beats it on the other folds.
    clusters
        The N cases in clusters, at least 2.
    rng
        Source of the partitions.
    folds
        K, >= 2; at most one per cluster is used.
    repeats
        >= 1, random partitions averaged over.

    Returns
    -------
    FoldGain
        Held-out gain, its repeats, and what each fold chose.

    Raises
    ------
    ParameterError
        If ``folds`` or ``repeats`` is out of range.
    ContractError
        If there is only one cluster.
    """
    if folds < 2 or repeats < 1:
        msg = f"folds must be at least 2 and repeats at least 1, got {folds} and {repeats}"
        raise ParameterError(msg)
    if clusters.count < 2:
        raise ContractError("folds need at least 2 clusters, got 1")
    used = min(folds, clusters.count)
    held_out = _fold_indicators(clusters, used, repeats, rng)
    cases = held_out.sum(axis=1)
    held = held_out @ matrix.T
    train = (matrix.sum(axis=1) - held) / (matrix.shape[1] - cases)[:, None]
    # Means that differ by rounding only are a tie, and ties keep the default.
    train[:, default] += 1e-12 * max(1.0, float(np.abs(train).max()))
    winners = train.argmax(axis=1)
    rows = np.arange(len(winners))
    by_fold = held[rows, winners] - held[:, default]
    by_repeat = by_fold.reshape(repeats, used).sum(axis=1) / matrix.shape[1]
    return FoldGain(gain=float(by_repeat.mean()), by_repeat=by_repeat, winners=winners)


def _fold_indicators(
    clusters: Clusters, folds: int, repeats: int, rng: np.random.Generator
) -> Floats:
    """Which cases each fold holds out, shape (repeats * folds, N)."""
    cluster_of_case = np.empty(len(clusters.rows), dtype=np.intp)
    cluster_of_case[clusters.rows] = np.repeat(np.arange(clusters.count), clusters.sizes)
    indicators = np.zeros((repeats, folds, len(cluster_of_case)))
    for repeat in range(repeats):
        fold_of_cluster = np.empty(clusters.count, dtype=np.intp)
        fold_of_cluster[rng.permutation(clusters.count)] = np.arange(clusters.count) % folds
        fold = fold_of_cluster[cluster_of_case]
        indicators[repeat, fold, np.arange(len(fold))] = 1.0
    return indicators.reshape(repeats * folds, -1)
