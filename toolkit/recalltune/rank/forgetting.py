"""Models of human memory with a state of their own: FSRS stability and ACT-R use history.

In: age with a stability, or the ages of every past use. Out: the probability of recall, in
[0, 1], to be used as a weight like the curves of `decay`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from recalltune.rank._check import FloatArray, finite, fitting, in_range

__all__ = ["act_r", "fsrs"]


@fitting
def fsrs(
    age_days: ArrayLike, *, stability_days: ArrayLike, exponent: ArrayLike = 0.1542
) -> FloatArray:
    """Retrievability of FSRS: ``(1 + (0.9 ** (-1 / p) - 1) * t / S) ** -p``.

    Parameters
    ----------
    age_days
        shape (…), days since the last review, finite, >= 0.
    stability_days
        days, > 0, broadcasts; infinity = no decay. Weight 0.9 here, for every exponent.
    exponent
        in [0.01, 100], broadcasts. 0.1542 FSRS-6, 0.5 FSRS-4.5 and 5, 1 FSRS v4.

    Returns
    -------
    NDArray[np.float64]
        shape (…), in [0, 1]. Weight 1/2 at ``S * (2**(1/p) - 1) / (0.9**(-1/p) - 1)``.

    Raises
    ------
    ParameterError
        If an age is negative or not finite, or a parameter leaves its range.

    References
    ----------
    open-spaced-repetition, FSRS-6 as in py-fsrs 6 (key ``fsrs6``).

    Examples
    --------
    >>> fsrs([0.0, 10.0, 90.0], stability_days=10.0, exponent=1.0).round(6).tolist()
    [1.0, 0.9, 0.5]
    """
    age = in_range("age_days", age_days, low=0.0, high_open=True)
    stability = in_range("stability_days", stability_days, low=0.0, low_open=True)
    exponent = in_range("exponent", exponent, low=0.01, high=100.0)
    with np.errstate(over="ignore"):
        aged = np.expm1(-np.log(0.9) / exponent) * (age / stability)
        weight: FloatArray = (1.0 + aged) ** -exponent
    return weight


@fitting
def act_r(
    use_ages_days: ArrayLike,
    *,
    exponent: ArrayLike = 0.5,
    threshold: ArrayLike = 0.0,
    noise: ArrayLike = 0.4,
) -> FloatArray:
    """Probability of recall from the history of use: ``1 / (1 + e ** ((threshold - B) / noise))``.

    ``B = ln(sum over uses of t ** -exponent)`` is the base-level activation: recency and
    frequency in one number.

    Parameters
    ----------
    use_ages_days
        shape (…, U), days since each use (the birth of the memory is one), finite, >= 0;
        NaN = no use, pads the axis.
    exponent
        in (0, 1], broadcasts with (…). How fast one use fades.
    threshold
        finite, broadcasts with (…). Activation recalled half of the time; depends on the unit
        of time (days).
    noise
        > 0, broadcasts with (…). Small values make recall all or nothing.

    Returns
    -------
    NDArray[np.float64]
        shape (…), in [0, 1]; 0 for a memory never used, 1 for one used this instant. Never
        falls with another use.

    Raises
    ------
    ParameterError
        If an age is negative or infinite, or a parameter leaves its range.

    References
    ----------
    Anderson and Schooler 1991 (key ``anderson1991``); ACT-R default exponent 0.5.

    Examples
    --------
    >>> act_r([[1.0, np.nan], [4.0, 4.0], [np.nan, np.nan]]).tolist()
    [0.5, 0.5, 0.0]
    """
    ages = in_range("use_ages_days", use_ages_days, low=0.0, high_open=True, nan_ok=True)
    exponent = in_range("exponent", exponent, low=0.0, high=1.0, low_open=True)
    threshold = finite("threshold", threshold)
    noise = in_range("noise", noise, low=0.0, low_open=True, high_open=True)
    with np.errstate(divide="ignore", over="ignore"):
        strength = np.where(np.isnan(ages), 0.0, ages ** -exponent[..., np.newaxis])
        activation = np.log(np.sum(strength, axis=-1))
        recalled: FloatArray = 1.0 / (1.0 + np.exp((threshold - activation) / noise))
    return recalled
