"""Scores in, ranking out: the one arithmetic that decides who is first.

In: float64 scores along the last axis, positions in memory_id order. Out: positions, best
first. Scores that agree to 12 significant digits are equal, and equals follow position: two
sums of the same terms in another order must never swap two memories.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recalltune.errors import ParameterError
from recalltune.rank._check import FloatArray, as_mask, at_least, finite

__all__ = ["NEAR_CUT", "SIGNIFICANT_DIGITS", "rank_order", "round_significant"]

SIGNIFICANT_DIGITS = 12
NEAR_CUT = 1e-11
"""Relative. Scores further apart than this round to different numbers."""

# Powers come from decimal literals, so each is the nearest double; 10.0**n computed at run time
# is not, on every platform.
_POWER = np.array([float(f"1e{n}") for n in range(309)])
# Decades are counted from 1e-280: below it 10**places would overflow, so the grid stays fixed.
_LOWEST = -280
# By the eleven exponent bits of a float64: the decade of the smallest number with these bits.
# One comparison with the next power of ten then finds the decade of any number exactly.
_DECADE = np.array([math.floor((e - 1023) * math.log10(2.0)) for e in range(2047)])
_DECADE = np.maximum(_DECADE, _LOWEST) - _LOWEST
_NEXT = np.array([float(f"1e{n + 1}") for n in range(_LOWEST, 309)])

# A packed sort key holds sign (1), decimal exponent (10), digits (40) and position (13 bits).
_DIGIT_BITS, _POSITION_BITS = 40, 13


def round_significant(x: ArrayLike, digits: int = SIGNIFICANT_DIGITS) -> FloatArray:
    """Numbers rounded to a count of significant decimal digits.

    Parameters
    ----------
    x
        shape (…), any finite number.
    digits
        1 to 15. Significant decimal digits kept.

    Returns
    -------
    NDArray[np.float64]
        shape (…). Odd, never falling with ``x``, and unchanged by a second rounding; within
        half a unit of the last digit kept, plus one rounding error of float64. Digits of
        numbers below 1e-280 are counted from 1e-280, so the smallest become 0.

    Raises
    ------
    ParameterError
        If a number is not finite or ``digits`` is outside its range.

    References
    ----------
    Ours: sums of the same terms in another order differ in their last bits, never in these.

    Examples
    --------
    >>> round_significant([0.0489159175039661640, 0.0489159175039661710]).tolist()
    [0.048915917504, 0.048915917504]
    """
    if at_least("digits", digits, low=1) > 15:
        msg = f"digits must lie in [1, 15], got {digits}"
        raise ParameterError(msg)
    x = finite("x", x)
    kept, decade = _decimal(x, digits)
    return np.copysign(_shifted(kept, decade + _LOWEST - (digits - 1)), x)


def rank_order(scores: ArrayLike, alive: ArrayLike | None = None) -> NDArray[np.intp]:
    """Positions in rank order, best first.

    Parameters
    ----------
    scores
        shape (…, C), higher is better. Finite wherever ``alive``; elsewhere never read.
        Positions along the last axis must be in memory_id order, since ties follow them.
    alive
        shape (…, C), Boolean. False for padding and for candidates already removed; these
        come last, in position order. None means all are alive.

    Returns
    -------
    NDArray[np.intp]
        shape (…, C). Each row a permutation of 0…C-1.

    Raises
    ------
    ParameterError
        If the score of a living candidate is not finite, or the shapes differ.

    References
    ----------
    Ours; scores as `round_significant` leaves them.

    Examples
    --------
    >>> rank_order([[0.2, 0.5, 0.5, 0.9]], [[True, True, True, False]]).tolist()
    [[1, 2, 0, 3]]
    """
    scores = np.asarray(scores, dtype=np.float64)
    if scores.ndim == 0:
        msg = "scores must have a last axis of candidates, got a single number"
        raise ParameterError(msg)
    if alive is not None:
        alive = as_mask("alive", alive, scores.shape)
        scores = np.where(alive, scores, 0.0)
    key = _sortable(finite("scores", scores))
    if alive is not None:
        key[~alive] = np.iinfo(np.int64).max >> _POSITION_BITS
    if scores.shape[-1] > 1 << _POSITION_BITS:
        return np.argsort(key, axis=-1, kind="stable")
    # One integer sort of (score, position) is several times faster than a stable argsort.
    key = (key << _POSITION_BITS) | np.arange(scores.shape[-1])
    key.sort(axis=-1)
    return (key & ((1 << _POSITION_BITS) - 1)).astype(np.intp, copy=False)


def _sortable(scores: FloatArray) -> NDArray[np.int64]:
    """Integers below 2**50 in size that rise as the rounded score falls."""
    kept, decade = _decimal(scores, SIGNIFICANT_DIGITS)
    size = (decade << _DIGIT_BITS) + kept.astype(np.int64)
    return np.where(scores > 0.0, -size, size)


def _decimal(x: FloatArray, digits: int) -> tuple[FloatArray, NDArray[np.int64]]:
    """Whole ``kept`` < 10**digits and ``decade`` with |x| = kept * 10**(decade - digits + 1)."""
    size = np.abs(x)
    decade = _DECADE.take(size.view(np.int64) >> 52)
    decade += size >= _NEXT.take(decade)
    kept = np.rint(_shifted(size, digits - 1 - _LOWEST - decade))
    carried = kept >= 10.0**digits
    if carried.any():
        kept = np.where(carried, 10.0 ** (digits - 1), kept)
        decade += carried
    return kept, decade


def _shifted(x: FloatArray, places: NDArray[np.int64]) -> FloatArray:
    """``x * 10**places``, dividing where places < 0 so that decimals come out as written."""
    moved: FloatArray = x * _POWER.take(np.maximum(places, 0))
    if places.size and places.min() < 0:
        moved /= _POWER.take(np.maximum(-places, 0))
    return moved
