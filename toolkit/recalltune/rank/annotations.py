"""What an entry says of itself: an importance from 1 to 10, and the projects it belongs to.

In: values and keys. Out: multipliers around 1; what says nothing is left exactly as it is.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import ArrayLike

from recalltune.rank._check import FloatArray, fitting, in_range, word_list

__all__ = ["project_multiplier", "ten_point_multiplier"]


@fitting
def ten_point_multiplier(
    importance: ArrayLike, *, base: ArrayLike = 0.75, step: ArrayLike = 0.05
) -> FloatArray:
    """Multiplier of an importance from 1 to 10: ``base + step * floor(importance)``.

    Parameters
    ----------
    importance
        shape (…), in [1, 10], fractions are dropped; NaN = missing, multiplier exactly 1.
    base
        >= 0, broadcasts.
    step
        >= 0, broadcasts. Worth of one point.

    Returns
    -------
    NDArray[np.float64]
        shape (…), in [base + step, base + 10 * step], never falling with importance. As
        published 5 is neutral, and the nearest to a missing one.

    Raises
    ------
    ParameterError
        If a value leaves its range.

    References
    ----------
    OpenClaw ``importance.ts``.

    Examples
    --------
    >>> ten_point_multiplier([1, 5.9, 10, np.nan]).round(6).tolist()
    [0.8, 1.0, 1.25, 1.0]
    """
    points = in_range("importance", importance, low=1.0, high=10.0, nan_ok=True)
    base = in_range("base", base, low=0.0, high_open=True)
    step = in_range("step", step, low=0.0, high_open=True)
    whole = np.floor(np.where(np.isnan(points), 1.0, points))
    return np.where(np.isnan(points), 1.0, base + step * whole)


def project_multiplier(
    keys: Sequence[str], active: Collection[str], *, same: float = 1.15, other: float = 0.9
) -> FloatArray:
    """Multiplier of memories by their projects: all of them active, or not.

    Parameters
    ----------
    keys
        n keys; several projects in one key are separated by ``;``. Empty = no project.
    active
        Projects that are active; none = nobody is told apart.
    same
        >= 0. Every project of the key is active.
    other
        >= 0. At least one is not.

    Returns
    -------
    NDArray[np.float64]
        shape (n,): ``same``, ``other``, or exactly 1.

    Raises
    ------
    ParameterError
        If a factor is negative, or ``keys`` or ``active`` is a bare text.

    References
    ----------
    OpenClaw ``project-ranking.ts`` ``projectScoreMultiplier``.

    Examples
    --------
    >>> project_multiplier(["a", "a; b", "a;z", ""], ["a", "b"]).tolist()
    [1.15, 1.15, 0.9, 1.0]
    """
    in_range("same", same, low=0.0, high_open=True)
    in_range("other", other, low=0.0, high_open=True)
    known = set(word_list("active", active))

    def factor(key: str) -> float:
        if not key or not known:
            return 1.0
        projects = [part.strip() for part in key.split(";")]
        return same if known.issuperset(filter(None, projects)) else other

    return np.array([factor(key) for key in word_list("keys", keys)], dtype=np.float64)
