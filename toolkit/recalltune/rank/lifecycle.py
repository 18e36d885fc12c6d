"""The life of a memory as memory-lancedb-pro sees it: recency, use, worth, and their composite.

In: age, accesses, importance and confidence. Out: three numbers in [0, 1] and a search multiplier.
The recency term is `weibull_rate` with the half-life `importance_half_life` gives.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from recalltune.errors import ParameterError
from recalltune.rank._check import FloatArray, fitting, in_range

__all__ = ["importance_half_life", "lifecycle_composite", "search_multiplier", "use_frequency"]


@fitting
def importance_half_life(
    importance: ArrayLike, *, half_life_days: ArrayLike = 30.0, modulation: ArrayLike = 1.5
) -> FloatArray:
    """Half-life that grows with importance: ``h * e ** (modulation * importance)``.

    Parameters
    ----------
    importance
        shape (…), in [0, 1].
    half_life_days
        days, > 0, broadcasts. Half-life at importance 0.
    modulation
        >= 0, broadcasts. 1.5 makes it 4.5 times as long at importance 1; 0 is off.

    Returns
    -------
    NDArray[np.float64]
        shape (…), days, in [h, h * e ** modulation].

    Raises
    ------
    ParameterError
        If a value leaves its range.

    References
    ----------
    memory-lancedb-pro ``decay-engine.ts``.

    Examples
    --------
    >>> importance_half_life([0.0, 1.0]).round(3).tolist()
    [30.0, 134.451]
    """
    importance = in_range("importance", importance, low=0.0, high=1.0)
    half_life_days = in_range("half_life_days", half_life_days, low=0.0, low_open=True)
    modulation = in_range("modulation", modulation, low=0.0, high_open=True)
    return half_life_days * np.exp(modulation * importance)


@fitting
def use_frequency(
    access_count: ArrayLike,
    span_days: ArrayLike,
    *,
    saturation: ArrayLike = 5.0,
    gap_mean_life_days: ArrayLike = 30.0,
) -> FloatArray:
    """How often a memory was used: ``1 - e ** (-n / saturation)``, less where uses are far apart.

    From two uses on it is multiplied by ``0.5 + 0.5 * e ** (-gap / m)`` with the mean gap
    ``max(1, span) / (n - 1)`` days.

    Parameters
    ----------
    access_count
        shape (…), accesses ``n``, >= 0.
    span_days
        shape (…), days from creation to the last access; below 1, or NaN, counts as 1.
    saturation
        accesses, > 0, broadcasts. 0.632 is reached here.
    gap_mean_life_days
        days ``m``, > 0, broadcasts.

    Returns
    -------
    NDArray[np.float64]
        shape (…), in [0, 1]. The second use can lower it: 0.181 after one, 0.165 after two that
        are 200 days apart.

    Raises
    ------
    ParameterError
        If a value leaves its range.

    References
    ----------
    memory-lancedb-pro ``decay-engine.ts``.

    Examples
    --------
    >>> use_frequency([0, 1, 2], [0.0, 0.0, 200.0]).round(6).tolist()
    [0.0, 0.181269, 0.16505]
    """
    count = in_range("access_count", access_count, low=0.0, high_open=True)
    span = in_range("span_days", span_days, high_open=True, nan_ok=True)
    saturation = in_range("saturation", saturation, low=0.0, low_open=True, high_open=True)
    mean_life = in_range("gap_mean_life_days", gap_mean_life_days, low=0.0, low_open=True)
    gap = np.fmax(span, 1.0) / np.maximum(count - 1.0, 1.0)
    dense = np.where(count > 1.0, 0.5 + 0.5 * np.exp(-gap / mean_life), 1.0)
    return -np.expm1(-count / saturation) * dense


@fitting
def lifecycle_composite(
    recency: ArrayLike,
    frequency: ArrayLike,
    intrinsic: ArrayLike,
    *,
    weights: tuple[float, float, float] = (0.4, 0.3, 0.3),
) -> FloatArray:
    """What a memory is worth now: ``w0 * recency + w1 * frequency + w2 * intrinsic``.

    Parameters
    ----------
    recency, frequency
        shape (…), in [0, 1].
    intrinsic
        shape (…), in [0, 1]: importance times confidence.
    weights
        three weights, >= 0.

    Returns
    -------
    NDArray[np.float64]
        shape (…), in [0, sum(weights)].

    Raises
    ------
    ParameterError
        If a value leaves its range or there are not three weights.

    References
    ----------
    memory-lancedb-pro ``decay-engine.ts``.

    Examples
    --------
    >>> lifecycle_composite([0.5, 1.0], [0.0, 0.5], [0.5, 1.0]).round(6).tolist()
    [0.35, 0.85]
    """
    parts = in_range("weights", weights, low=0.0, high_open=True)
    if parts.shape != (3,):
        msg = f"weights must be three numbers (recency, frequency, intrinsic), got {parts.shape}"
        raise ParameterError(msg)
    recency = in_range("recency", recency, low=0.0, high=1.0)
    frequency = in_range("frequency", frequency, low=0.0, high=1.0)
    intrinsic = in_range("intrinsic", intrinsic, low=0.0, high=1.0)
    worth: FloatArray = parts[0] * recency + parts[1] * frequency + parts[2] * intrinsic
    return worth


@fitting
def search_multiplier(
    composite: ArrayLike, recency: ArrayLike, floor: ArrayLike, *, lowest: ArrayLike = 0.3
) -> FloatArray:
    """Factor on a score: ``lowest + (1 - lowest) * max(floor, composite, recency)``, at most 1.

    Parameters
    ----------
    composite, recency
        shape (…), >= 0.
    floor
        in [0, 1], broadcasts. What the tier of the memory guarantees.
    lowest
        in [0, 1], broadcasts. 1 switches the multiplier off.

    Returns
    -------
    NDArray[np.float64]
        shape (…), in [lowest, 1]; with a floor of 0.9 never below 0.93, whatever the age.

    Raises
    ------
    ParameterError
        If a value leaves its range.

    References
    ----------
    memory-lancedb-pro ``decay-engine.ts`` ``applySearchBoost``.

    Examples
    --------
    >>> search_multiplier([0.33, 0.95], [0.45, 1.0], [0.9, 0.9]).round(6).tolist()
    [0.93, 1.0]
    """
    composite = in_range("composite", composite, low=0.0, high_open=True)
    recency = in_range("recency", recency, low=0.0, high_open=True)
    floor = in_range("floor", floor, low=0.0, high=1.0)
    lowest = in_range("lowest", lowest, low=0.0, high=1.0)
    best = np.maximum(np.maximum(floor, composite), recency)
    return np.clip(lowest + (1.0 - lowest) * best, lowest, 1.0)
