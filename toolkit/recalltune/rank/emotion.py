"""Feeling in, memory strength out: what moved one fades more slowly.

In: valence in [-1, 1] and arousal in [0, 1] of a memory, NaN where it is not known. Out: a
half-life in days, a multiplier of the score.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from recalltune.rank._check import FloatArray, fitting, in_range

__all__ = ["arousal_multiplier", "emotional_half_life"]


@fitting
def emotional_half_life(
    valence: ArrayLike,
    *,
    half_life_days: ArrayLike,
    stretch: ArrayLike = 0.3,
    dead_zone: ArrayLike = 0.1,
) -> FloatArray:
    """Half-life of a memory with a feeling: ``h * (1 + stretch * |valence|)``.

    Parameters
    ----------
    valence
        shape (…), in [-1, 1]; NaN = not known, no stretch. Good and bad count alike.
    half_life_days
        days, > 0, broadcasts. Half-life of a memory without feeling.
    stretch
        >= 0, broadcasts. 0 switches the stretch off.
    dead_zone
        in [0, 1], broadcasts. Weaker feelings than this (strictly) count 0.

    Returns
    -------
    NDArray[np.float64]
        shape (…), days, in [h, h * (1 + stretch)]. Jumps at the dead zone.

    Raises
    ------
    ParameterError
        If a value leaves its range.

    References
    ----------
    RecallNest ``decay-engine.ts`` ``adjustHalfLifeForEmotion``, behind a flag that is off.

    Examples
    --------
    >>> emotional_half_life([0.05, 0.5, -0.9, np.nan], half_life_days=60.0).round(6).tolist()
    [60.0, 69.0, 76.2, 60.0]
    """
    valence = in_range("valence", valence, low=-1.0, high=1.0, nan_ok=True)
    half_life_days = in_range("half_life_days", half_life_days, low=0.0, low_open=True)
    stretch = in_range("stretch", stretch, low=0.0, high_open=True)
    dead_zone = in_range("dead_zone", dead_zone, low=0.0, high=1.0)
    strength = np.abs(np.nan_to_num(valence))
    felt = np.where(strength < dead_zone, 0.0, strength)
    return half_life_days * (1.0 + stretch * felt)


@fitting
def arousal_multiplier(arousal: ArrayLike, *, weight: ArrayLike = 0.1) -> FloatArray:
    """Bonus of an exciting memory: ``1 + weight * arousal``.

    Parameters
    ----------
    arousal
        shape (…), in [0, 1]; NaN = not known, multiplier exactly 1.
    weight
        >= 0, broadcasts. Bonus of arousal 1; 0 is off.

    Returns
    -------
    NDArray[np.float64]
        shape (…), in [1, 1 + weight].

    Raises
    ------
    ParameterError
        If a value leaves its range.

    References
    ----------
    RecallNest ``decay-engine.ts`` ``computeArousalBoost``, behind a flag that is off.

    Examples
    --------
    >>> arousal_multiplier([0.0, 0.5, np.nan]).tolist()
    [1.0, 1.05, 1.0]
    """
    arousal = in_range("arousal", arousal, low=0.0, high=1.0, nan_ok=True)
    weight = in_range("weight", weight, low=0.0, high_open=True)
    return 1.0 + weight * np.nan_to_num(arousal)
