"""Rows of uneven length, one after another in flat arrays: where each begins, and places within.

In: how many entries each row has. Out: pointers into the flat array, and each entry's place in its
row.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["places_within", "pointers"]


def pointers(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return shape (R + 1,): entries of row r are ``pointers[r]:pointers[r + 1]``.

    Examples
    --------
    >>> pointers(np.array([2, 0, 3])).tolist()
    [0, 2, 2, 5]
    """
    return np.concatenate(([0], np.cumsum(counts))).astype(np.int64)


def places_within(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return, for each entry of all rows in turn, its place in its row, from 0.

    Examples
    --------
    >>> places_within(np.array([2, 0, 3])).tolist()
    [0, 1, 0, 1, 2]
    """
    starts = pointers(counts)
    return np.arange(starts[-1]) - np.repeat(starts[:-1], counts)
