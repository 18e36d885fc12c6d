"""Vectors that say nearly the same as a more important one, and which one that is.

In: vectors and importances. Out: for each vector the position of the one that stands for it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recalltune.errors import ParameterError
from recalltune.rank._check import FloatArray, finite, in_range

__all__ = ["survivors"]


def survivors(
    vectors: ArrayLike, importances: ArrayLike, *, threshold: float = 0.93
) -> NDArray[np.intp]:
    """Who stands for each vector: itself, or the kept one it repeats.

    The most important goes first, of equals the one given first. A vector repeats another if its
    cosine with one that was kept before is strictly above the threshold; it then points to the
    most similar of those, of equals to the one kept first. Kept are ``survivors == arange(n)``.

    Parameters
    ----------
    vectors
        shape (n, d), finite, any length. A zero vector repeats nothing and nothing repeats it.
    importances
        shape (n,), finite, higher is better.
    threshold
        Cosine in [0, 1].

    Returns
    -------
    NDArray[np.intp]
        shape (n,), positions in [0, n). Every one it names names itself.

    Raises
    ------
    ParameterError
        If a shape is wrong, a value is not finite, or the threshold leaves its range.

    References
    ----------
    RecallNest ``ingest.ts`` ``batchInternalDedup``, which drops what repeats.

    Examples
    --------
    >>> survivors([[1.0, 0.0], [0.0, 1.0], [0.99, 0.1]], [0.5, 0.5, 0.9]).tolist()
    [2, 1, 2]
    """
    vectors, importances = finite("vectors", vectors), finite("importances", importances)
    in_range("threshold", threshold, low=0.0, high=1.0)
    if vectors.ndim != 2:
        msg = f"vectors must have shape (n, d), got {vectors.shape}"
        raise ParameterError(msg)
    if importances.shape != vectors.shape[:1]:
        msg = f"importances must have shape {vectors.shape[:1]}, got {importances.shape}"
        raise ParameterError(msg)
    unit = _units(vectors)
    found = np.arange(len(unit))
    kept = np.empty_like(unit)
    places: list[int] = []
    for at in np.argsort(-importances, kind="stable").tolist():
        cosines = kept[: len(places)] @ unit[at]
        if len(places) and cosines.max() > threshold:
            found[at] = places[int(cosines.argmax())]
        else:
            kept[len(places)] = unit[at]
            places.append(at)
    return found


def _units(vectors: FloatArray) -> FloatArray:
    """Vectors of length 1; a zero vector stays as it is."""
    largest = np.abs(vectors).max(axis=1, keepdims=True, initial=0.0)
    # First by the largest component: squares of very large or small ones leave float64.
    scaled = np.divide(vectors, largest, out=np.zeros_like(vectors), where=largest > 0.0)
    length = np.linalg.norm(scaled, axis=1, keepdims=True)
    unit: FloatArray = np.divide(scaled, length, out=np.zeros_like(scaled), where=length > 0.0)
    return unit
