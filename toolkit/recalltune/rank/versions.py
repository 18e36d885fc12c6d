"""Several versions of one memory in, the one to show out.

In: attributes and group of each candidate. Out: how much a version counts, and which one of each
group stays.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recalltune.errors import ParameterError
from recalltune.rank._check import FloatArray, as_mask, finite, fitting, in_range, whole_numbers

__all__ = ["best_versions", "version_rank"]


@fitting
def version_rank(
    importance: ArrayLike,
    confidence: ArrayLike,
    access_count: ArrayLike,
    *,
    importance_share: ArrayLike = 0.5,
) -> FloatArray:
    """How much a version counts: ``(w * importance + (1 - w) * confidence) * (1 + ln(1 + n))``.

    Parameters
    ----------
    importance, confidence
        shape (…), in [0, 1]; a missing one is the caller's to fill.
    access_count
        shape (…), accesses ``n``, >= 0.
    importance_share
        ``w`` in [0, 1], broadcasts.

    Returns
    -------
    NDArray[np.float64]
        shape (…), >= 0 and without a ceiling; never falling with any of the three.

    Raises
    ------
    ParameterError
        If a value leaves its range.

    References
    ----------
    RecallNest ``version-manager.ts`` ``computeVersionRank``.

    Examples
    --------
    >>> version_rank([0.5, 0.9], [0.7, 0.3], [0, 5]).round(6).tolist()
    [0.6, 1.675056]
    """
    importance = in_range("importance", importance, low=0.0, high=1.0)
    confidence = in_range("confidence", confidence, low=0.0, high=1.0)
    count = in_range("access_count", access_count, low=0.0, high_open=True)
    share = in_range("importance_share", importance_share, low=0.0, high=1.0)
    quality: FloatArray = share * importance + (1.0 - share) * confidence
    return quality * (1.0 + np.log1p(count))


def best_versions(rank: ArrayLike, group: ArrayLike, valid: ArrayLike) -> NDArray[np.bool_]:
    """True for what stays when only the highest version of every group does.

    Parameters
    ----------
    rank
        shape (…, P), finite wherever ``valid``. Equals: the earlier position stays.
    group
        shape (…, P), whole numbers; negative = in no group, stays.
    valid
        shape (…, P), Boolean. False stays False.

    Returns
    -------
    NDArray[np.bool_]
        shape (…, P).

    Raises
    ------
    ParameterError
        If the shapes differ or a rank is not finite.

    References
    ----------
    RecallNest ``version-manager.ts`` ``deduplicateByVersionGroup``.

    Examples
    --------
    >>> best_versions([0.6, 0.9, 0.9, 0.1], [7, 7, 7, -1], [True] * 4).tolist()
    [False, True, False, True]
    """
    group = whole_numbers("group", group, low=np.iinfo(np.int64).min)
    valid = as_mask("valid", valid, group.shape)
    rank = finite("rank", np.where(valid, rank, 0.0))
    if rank.shape != group.shape:
        msg = f"rank must have shape {group.shape} to match group, got {rank.shape}"
        raise ParameterError(msg)
    grouped = valid & (group >= 0)
    # Best of each group first: by group, then falling rank, then position.
    order = np.lexsort((-rank, np.where(grouped, group, np.iinfo(np.int64).max)), axis=-1)
    ordered = np.take_along_axis(group, order, axis=-1)
    opens = np.ones(group.shape, dtype=np.bool_)
    opens[..., 1:] = ordered[..., 1:] != ordered[..., :-1]
    first = np.empty_like(opens)
    np.put_along_axis(first, order, opens, axis=-1)
    return valid & (~grouped | first)
