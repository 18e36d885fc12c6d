"""Retrieval-induced forgetting: what resembles a stronger memory steps back.

In: scores of a list that is best first, and a similarity per pair. Out: the new order, and what
each score is multiplied by. Deferral (`diversity.defer`) looks at likeness alone; this looks at
strength, too, and at how many alike there are already.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recalltune.errors import ParameterError
from recalltune.rank._check import FloatArray, as_floats, as_mask, at_least, finite, in_range

__all__ = ["Interference", "interfere"]


@dataclass(frozen=True, eq=False)
class Interference:
    """What is left of each list."""

    order: NDArray[np.intp]
    """shape (…, P): positions in their new order, -1 after the last."""
    factor: FloatArray
    """shape (…, P), by old position: what the score is multiplied by."""
    dropped: NDArray[np.bool_]
    """shape (…, P), by old position."""
    beside: NDArray[np.intp]
    """shape (…, P), by old position: the stronger one a weak candidate resembles; -1 = not weak."""


def interfere(
    scores: ArrayLike,
    similarity: ArrayLike,
    valid: ArrayLike,
    *,
    threshold: float = 0.85,
    ratio: float = 0.8,
    cluster_size: int = 3,
    crowded_factor: float = 0.5,
    drop_weaker: bool = False,
    min_rows: int = 3,
) -> Interference:
    """Weak and superfluous near-duplicates behind the rest.

    Going down the list, a candidate is compared with the first one kept that it resembles. Is its
    score below ``ratio`` times that one's, it goes to the tail (or out, with ``drop_weaker``). Does
    the other's cluster hold ``cluster_size`` already, it goes to the tail with its score times
    ``crowded_factor``. Else it is kept and joins that cluster.

    Parameters
    ----------
    scores
        shape (…, P), finite wherever ``valid``, falling.
    similarity
        shape (…, P, P), in [-1, 1] where both are valid; NaN = not comparable.
    valid
        shape (…, P), Boolean. False for padding, which comes last.
    threshold
        in [-1, 1]. Strictly above it is alike.
    ratio
        in [0, 1]. 0 calls nothing weak.
    cluster_size
        >= 1. How many alike are kept.
    crowded_factor
        in [0, 1].
    drop_weaker
        ``True``: the weak leave the list, as production's code has it by a slip. ``False``: they go
        to the tail, as its comments say.
    min_rows
        >= 0. Shorter lists are left as they are.

    Returns
    -------
    Interference
        order shape (…, P): kept first, then the tail, both in list order; factor, dropped and
        beside by old position.

    Raises
    ------
    ParameterError
        If shapes differ or a value leaves its range.

    References
    ----------
    RecallNest ``rif.ts`` ``filterInterference``, off by default; after Anderson, Bjork and Bjork
    1994 (key ``anderson1994``).

    Examples
    --------
    >>> alike = [[1.0, 0.9, 0.1], [0.9, 1.0, 0.1], [0.1, 0.1, 1.0]]
    >>> interfere([0.9, 0.7, 0.6], alike, [True] * 3).order.tolist()
    [0, 2, 1]
    """
    scores, similarity = as_floats("scores", scores), as_floats("similarity", similarity)
    size = scores.shape[-1] if scores.ndim else -1
    valid = as_mask("valid", valid, scores.shape)
    if similarity.shape != (*scores.shape, size):
        msg = f"similarity must be {(*scores.shape, size)} to match scores, got {similarity.shape}"
        raise ParameterError(msg)
    scores = finite("scores", np.where(valid, scores, 0.0))
    in_range("threshold", threshold, low=-1.0, high=1.0)
    in_range("ratio", ratio, low=0.0, high=1.0)
    in_range("crowded_factor", crowded_factor, low=0.0, high=1.0)
    room = at_least("cluster_size", cluster_size, low=1)
    long = valid.sum(axis=-1, keepdims=True) >= at_least("min_rows", min_rows, low=0)
    near = (similarity > threshold) & long[..., np.newaxis]
    weak, crowded, beside = _walk(scores, near, valid, ratio=ratio, room=room)
    dropped = weak & drop_weaker
    order = np.argsort(
        np.where(~valid | dropped, 2, np.where(weak | crowded, 1, 0)), axis=-1, kind="stable"
    )
    gone = np.take_along_axis(~valid | dropped, order, axis=-1)
    return Interference(
        order=np.where(gone, -1, order),
        factor=np.where(crowded, crowded_factor, 1.0),
        dropped=dropped,
        beside=beside,
    )


def _walk(
    scores: FloatArray,
    near: NDArray[np.bool_],
    valid: NDArray[np.bool_],
    *,
    ratio: float,
    room: int,
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.intp]]:
    """Which candidates are weak, which find their cluster full, and beside what they are weak."""
    size = scores.shape[-1]
    kept, weak, crowded = (np.zeros(scores.shape, dtype=np.bool_) for _ in range(3))
    # A cluster is named by the position of its first member.
    cluster = np.broadcast_to(np.arange(size), scores.shape).copy()
    beside = np.full(scores.shape, -1, dtype=np.intp)
    for p in range(size):
        alike = near[..., p, :p] & kept[..., :p]
        matched = alike.any(axis=-1)
        first = alike.argmax(axis=-1)[..., np.newaxis] if p else np.zeros((*matched.shape, 1), int)
        theirs = np.take_along_axis(cluster, first, axis=-1)[..., 0]
        members = (kept & (cluster == theirs[..., np.newaxis])).sum(axis=-1)
        stronger = np.take_along_axis(scores, first, axis=-1)[..., 0]
        weak[..., p] = matched & (scores[..., p] < ratio * stronger) & valid[..., p]
        crowded[..., p] = matched & ~weak[..., p] & (members >= room) & valid[..., p]
        kept[..., p] = valid[..., p] & ~weak[..., p] & ~crowded[..., p]
        cluster[..., p] = np.where(matched, theirs, p)
        beside[..., p] = np.where(weak[..., p], first[..., 0], -1)
    return weak, crowded, beside
