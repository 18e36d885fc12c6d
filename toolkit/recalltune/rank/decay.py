"""Age in, weight out: the forgetting curves that production systems and the literature use.

In: ages in days, finite and >= 0. Out: weights in [0, 1], 1 at age 0, never rising with age.
A memory without an age is the caller's business: curves refuse NaN. Parameters broadcast against
ages, so a leading settings axis scores a whole grid at once. An infinite half-life is "off": the
weight is exactly 1.

"Half-life" has three meanings in the wild. Here `half_life_days` is only ever the age at which
the unfloored weight is 1/2 (`weibull_rate` says where that fails); what others call half-life
but is not has a parameter of its own name.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from recalltune.rank._check import FloatArray, choice, fitting, in_range

__all__ = [
    "exponential",
    "half_floor",
    "linear",
    "mean_life",
    "power",
    "reinforced_half_life",
    "weibull",
    "weibull_rate",
    "with_floor",
]


@fitting
def exponential(age_days: ArrayLike, *, half_life_days: ArrayLike) -> FloatArray:
    """Weight that halves with every half-life: ``2 ** (-t / h)``.

    Parameters
    ----------
    age_days
        shape (…), days, finite, >= 0.
    half_life_days
        days, > 0, broadcasts; infinity = no decay. Weight 1/2 here.

    Returns
    -------
    NDArray[np.float64]
        shape (…), in [0, 1].

    Raises
    ------
    ParameterError
        If an age is negative or not finite, or the half-life is not positive.

    References
    ----------
    OpenClaw ``temporal-decay.ts``; Ebbinghaus 1885 in its popular form.

    Examples
    --------
    >>> exponential([0.0, 30.0, 60.0], half_life_days=30.0).tolist()
    [1.0, 0.5, 0.25]
    """
    return np.exp2(-_in_units(age_days, "half_life_days", half_life_days))


@fitting
def weibull(age_days: ArrayLike, *, half_life_days: ArrayLike, shape: ArrayLike) -> FloatArray:
    """Stretched exponential pinned at its half-life: ``2 ** (-(t / h) ** shape)``.

    Parameters
    ----------
    age_days
        shape (…), days, finite, >= 0.
    half_life_days
        days, > 0, broadcasts; infinity = no decay. Weight 1/2 here for every shape.
    shape
        > 0, broadcasts. 1 is the exponential. Below 1 forgets faster before the half-life and
        slower after it (heavy tail); above 1 slower before and faster after (a cliff).

    Returns
    -------
    NDArray[np.float64]
        shape (…), in [0, 1].

    Raises
    ------
    ParameterError
        If an age is negative or not finite, or a parameter is not positive.

    Notes
    -----
    Textbook scale: ``half_life_days / ln(2) ** (1 / shape)``. Shape 0.5 is among the four
    best of 105 forgetting functions in Rubin and Wenzel 1996 (key ``rubin1996``).

    References
    ----------
    RecallNest ``decay-engine.ts`` (there with a floor, see `with_floor`). Its comment on the
    direction of the shape holds only after the half-life.

    Examples
    --------
    >>> weibull([3.0, 30.0, 180.0], half_life_days=30.0, shape=0.8).round(3).tolist()
    [0.896, 0.5, 0.055]
    >>> weibull([3.0, 30.0, 180.0], half_life_days=30.0, shape=1.3).round(3).tolist()
    [0.966, 0.5, 0.001]
    """
    shape = _shape(shape)
    with np.errstate(over="ignore"):
        return np.exp2(-(_in_units(age_days, "half_life_days", half_life_days) ** shape))


@fitting
def power(age_days: ArrayLike, *, half_life_days: ArrayLike, exponent: ArrayLike) -> FloatArray:
    """Power law pinned at its half-life: ``(1 + (2 ** (1 / p) - 1) * t / h) ** -p``.

    Parameters
    ----------
    age_days
        shape (…), days, finite, >= 0.
    half_life_days
        days, > 0, broadcasts; infinity = no decay. Weight 1/2 here for every exponent.
    exponent
        in [0.01, 100], broadcasts. Smaller forgets faster before the half-life and has the
        heavier tail after it; large values approach the exponential.

    Returns
    -------
    NDArray[np.float64]
        shape (…), in [0, 1].

    Raises
    ------
    ParameterError
        If an age is negative or not finite, or a parameter leaves its range.

    Notes
    -----
    Exponent 1 is FSRS v4 (``h = 9 S``), 0.5 is FSRS-4.5 and 5, 0.1542 is FSRS-6; see `fsrs` for
    the form in stabilities.

    References
    ----------
    Wixted and Ebbesen 1991 (key ``wixted1991``).

    Examples
    --------
    >>> power([0.0, 30.0, 90.0], half_life_days=30.0, exponent=1.0).tolist()
    [1.0, 0.5, 0.25]
    """
    exponent = in_range("exponent", exponent, low=0.01, high=100.0)
    units = _in_units(age_days, "half_life_days", half_life_days)
    with np.errstate(over="ignore"):
        weight: FloatArray = (1.0 + np.expm1(np.log(2.0) / exponent) * units) ** -exponent
    return weight


@fitting
def linear(age_days: ArrayLike, *, half_life_days: ArrayLike) -> FloatArray:
    """Weight that falls on a straight line to 0 at twice the half-life: ``max(0, 1 - t / 2h)``.

    Parameters
    ----------
    age_days
        shape (…), days, finite, >= 0.
    half_life_days
        days, > 0, broadcasts; infinity = no decay. Weight 1/2 here, 0 from twice this age on.

    Returns
    -------
    NDArray[np.float64]
        shape (…), in [0, 1].

    Raises
    ------
    ParameterError
        If an age is negative or not finite, or the half-life is not positive.

    References
    ----------
    vectorize-io/hindsight: linear over 365 days, a half-life of 182.5 days.

    Examples
    --------
    >>> linear([0.0, 30.0, 90.0], half_life_days=30.0).tolist()
    [1.0, 0.5, 0.0]
    """
    units = _in_units(age_days, "half_life_days", half_life_days)
    return np.maximum(0.0, 1.0 - units / 2.0)


@fitting
def mean_life(age_days: ArrayLike, *, mean_life_days: ArrayLike) -> FloatArray:
    """Exponential by its mean life: ``e ** (-t / m)``; often shipped under the name half-life.

    Parameters
    ----------
    age_days
        shape (…), days, finite, >= 0.
    mean_life_days
        days, > 0, broadcasts; infinity = no decay. Weight 1/e = 0.368 here; the half-life is
        0.693 of it.

    Returns
    -------
    NDArray[np.float64]
        shape (…), in [0, 1].

    Raises
    ------
    ParameterError
        If an age is negative or not finite, or the mean life is not positive.

    References
    ----------
    OpenClaw PR 4963 and RecallNest ``applyRecencyBoost``, both call ``m`` the half-life.

    Examples
    --------
    >>> mean_life([0.0, 30.0], mean_life_days=30.0).round(6).tolist()
    [1.0, 0.367879]
    """
    return np.exp(-_in_units(age_days, "mean_life_days", mean_life_days))


@fitting
def half_floor(age_days: ArrayLike, *, mean_life_days: ArrayLike) -> FloatArray:
    """Exponential that forgets only half: ``0.5 + 0.5 * e ** (-t / m)``.

    Parameters
    ----------
    age_days
        shape (…), days, finite, >= 0.
    mean_life_days
        days, > 0, broadcasts; infinity = no decay. Weight 0.684 here; 1/2 is never reached.

    Returns
    -------
    NDArray[np.float64]
        shape (…), in [0.5, 1].

    Raises
    ------
    ParameterError
        If an age is negative or not finite, or the mean life is not positive.

    References
    ----------
    memory-lancedb-pro ``applyTimeDecay`` (without its decay engine), calls ``m`` the half-life.

    Examples
    --------
    >>> half_floor([0.0, 30.0], mean_life_days=30.0).round(6).tolist()
    [1.0, 0.68394]
    """
    return 0.5 + 0.5 * mean_life(age_days, mean_life_days=mean_life_days)


@fitting
def weibull_rate(age_days: ArrayLike, *, half_life_days: ArrayLike, shape: ArrayLike) -> FloatArray:
    """Stretched exponential in rate form: ``2 ** (-(t ** shape) / h)``.

    Parameters
    ----------
    age_days
        shape (…), days, finite, >= 0.
    half_life_days
        days ** shape, > 0, broadcasts; infinity = no decay. A half-life only for shape 1:
        weight 1/2 is reached at ``h ** (1 / shape)`` days, and the curve depends on the unit
        of time.
    shape
        > 0, broadcasts. Below 1 forgets faster before one day and slower after it; above 1 is
        the reverse (the curves cross at age 1, not at the half-life).

    Returns
    -------
    NDArray[np.float64]
        shape (…), in [0, 1].

    Raises
    ------
    ParameterError
        If an age is negative or not finite, or a parameter is not positive.

    References
    ----------
    memory-lancedb-pro decay engine, recency term. Prefer `weibull` for anything new.

    Examples
    --------
    >>> weibull_rate([1.0, 30.0], half_life_days=30.0, shape=0.8).round(6).tolist()
    [0.97716, 0.70393]
    """
    shape = _shape(shape)
    age_days = in_range("age_days", age_days, low=0.0, high_open=True)
    half_life_days = in_range("half_life_days", half_life_days, low=0.0, low_open=True)
    with np.errstate(over="ignore"):
        return np.exp2(-(age_days**shape / half_life_days))


@fitting
def with_floor(weight: ArrayLike, floor: ArrayLike) -> FloatArray:
    """Weight that never falls below a floor: ``floor + (1 - floor) * weight``.

    Parameters
    ----------
    weight
        shape (…), in [0, 1].
    floor
        in [0, 1], broadcasts. Weight of an infinitely old memory; 1 switches decay off.

    Returns
    -------
    NDArray[np.float64]
        shape (…), in [floor, 1]. At the half-life it is ``(1 + floor) / 2``, not 1/2.

    Raises
    ------
    ParameterError
        If a weight or the floor lies outside [0, 1].

    References
    ----------
    RecallNest ``decay-engine.ts``. Averell and Heathcote 2011 (key ``averell2011``) find an
    asymptote above chance in people, too.

    Examples
    --------
    >>> with_floor([1.0, 0.5, 0.0], 0.5).tolist()
    [1.0, 0.75, 0.5]
    """
    weight = in_range("weight", weight, low=0.0, high=1.0)
    floor = in_range("floor", floor, low=0.0, high=1.0)
    return floor + (1.0 - floor) * weight


@fitting
def reinforced_half_life(
    access_count: ArrayLike,
    days_since_access: ArrayLike,
    *,
    half_life_days: ArrayLike,
    factor: ArrayLike = 0.5,
    fade_days: ArrayLike = 30.0,
    max_multiple: ArrayLike = 3.0,
    fade: str = "mean_life",
) -> FloatArray:
    """Half-life stretched by use: ``min(h + h * factor * ln(1 + n * faded), h * max_multiple)``.

    ``faded`` is ``e ** (-d / fade_days)`` (``mean_life``) or ``2 ** (-d / fade_days)``
    (``half_life``): an access long ago counts for less.

    Parameters
    ----------
    access_count
        shape (…), accesses, >= 0.
    days_since_access
        shape (…), days since the last access, >= 0; NaN = never, or not known.
    half_life_days
        days, > 0, broadcasts. Half-life of a memory that was never used.
    factor
        >= 0, broadcasts. 0 switches reinforcement off.
    fade_days
        days, > 0, broadcasts. See ``fade``.
    max_multiple
        >= 1, broadcasts. Ceiling, in units of ``half_life_days``.
    fade
        ``mean_life`` or ``half_life``: what ``fade_days`` means.

    Returns
    -------
    NDArray[np.float64]
        shape (…), days, in [h, h * max_multiple]; exactly h without accesses or without the
        day of the last one. Never falls with more or with more recent accesses.

    Raises
    ------
    ParameterError
        If a value leaves its range or ``fade`` is unknown.

    References
    ----------
    RecallNest ``computeEffectiveHalfLife`` (``mean_life``), memory-lancedb-pro (``half_life``).

    Examples
    --------
    >>> reinforced_half_life([0, 1, 500], [1.0, 0.0, 0.0], half_life_days=60.0).round(3).tolist()
    [60.0, 80.794, 180.0]
    """
    access_count = in_range("access_count", access_count, low=0.0, high_open=True)
    days = in_range("days_since_access", days_since_access, low=0.0, high_open=True, nan_ok=True)
    half_life_days = in_range("half_life_days", half_life_days, low=0.0, low_open=True)
    factor = in_range("factor", factor, low=0.0, high_open=True)
    fade_days = in_range("fade_days", fade_days, low=0.0, low_open=True)
    max_multiple = in_range("max_multiple", max_multiple, low=1.0)
    curve = {"mean_life": np.exp, "half_life": np.exp2}[
        choice("fade", fade, ("mean_life", "half_life"))
    ]
    faded = np.where(np.isnan(days), 0.0, curve(-days / fade_days))
    stretch = 1.0 + factor * np.log1p(access_count * faded)
    return half_life_days * np.minimum(stretch, max_multiple)


def _in_units(age_days: ArrayLike, name: str, period: ArrayLike) -> FloatArray:
    """Ages in half-lives or mean lives."""
    age = in_range("age_days", age_days, low=0.0, high_open=True)
    period = in_range(name, period, low=0.0, low_open=True)
    with np.errstate(over="ignore"):
        return age / period


def _shape(shape: ArrayLike) -> FloatArray:
    return in_range("shape", shape, low=0.0, low_open=True, high_open=True)
