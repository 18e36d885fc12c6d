"""How much a memory matters apart from the query: importance, length, use.

In: attributes of memories. Out: multipliers around 1 (or, for `recency_boost`, an amount to add;
for `hotness` and `evolution_score`, a score to blend in). Parameters broadcast against the
attributes. Attributes outside their range are refused, never clamped: a 7 in a 0-to-1 field is
a 1-to-10 scale read wrongly.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from recalltune.errors import ParameterError
from recalltune.rank._check import FloatArray, fitting, in_range
from recalltune.rank.decay import exponential, mean_life

__all__ = [
    "access_boost",
    "evolution_score",
    "frequency_multiplier",
    "hotness",
    "importance_weight",
    "length_norm",
    "recency_boost",
    "salience_multiplier",
]


@fitting
def salience_multiplier(salience: ArrayLike, *, weight: ArrayLike) -> FloatArray:
    """Bonus for salient memories: ``1 + weight * salience``.

    Parameters
    ----------
    salience
        shape (…), in [0, 1]; NaN = missing, multiplier exactly 1.
    weight
        >= 0, broadcasts. Bonus of a memory of salience 1; 0 switches salience off.

    Returns
    -------
    NDArray[np.float64]
        shape (…), in [1, 1 + weight], never falling with salience.

    Raises
    ------
    ParameterError
        If a salience lies outside [0, 1] or the weight is negative.

    References
    ----------
    The form of the HEL-847 probe, where ``weight`` is 9.

    Examples
    --------
    >>> salience_multiplier([0.0, 0.5, np.nan], weight=0.5).tolist()
    [1.0, 1.25, 1.0]
    """
    salience = in_range("salience", salience, low=0.0, high=1.0, nan_ok=True)
    weight = in_range("weight", weight, low=0.0, high_open=True)
    return 1.0 + weight * np.where(np.isnan(salience), 0.0, salience)


@fitting
def importance_weight(
    importance: ArrayLike, *, base: ArrayLike, missing: float | None = None
) -> FloatArray:
    """Penalty for unimportant memories: ``base + (1 - base) * importance``.

    Parameters
    ----------
    importance
        shape (…), in [0, 1]; NaN = missing. Confidence is weighted by the same formula.
    base
        in [0, 1], broadcasts. Multiplier at importance 0; 1 switches the penalty off.
    missing
        in [0, 1]. Importance taken for a missing one; None = multiplier exactly 1.

    Returns
    -------
    NDArray[np.float64]
        shape (…), in [base, 1], never falling with importance.

    Raises
    ------
    ParameterError
        If an importance, ``base`` or ``missing`` lies outside [0, 1].

    References
    ----------
    RecallNest ``applyImportanceWeight`` (base 0.5, missing 0.5) and ``confidence-tracker.ts``
    (base 0.5, missing 0.7); memory-lancedb-pro (base 0.7, missing 0.7).

    Examples
    --------
    >>> importance_weight([0.0, 0.5, 1.0, np.nan], base=0.5).tolist()
    [0.5, 0.75, 1.0, 1.0]
    """
    importance = in_range("importance", importance, low=0.0, high=1.0, nan_ok=True)
    base = in_range("base", base, low=0.0, high=1.0)
    instead = 1.0 if missing is None else in_range("missing", missing, low=0.0, high=1.0)
    return base + (1.0 - base) * np.where(np.isnan(importance), instead, importance)


@fitting
def length_norm(
    length_chars: ArrayLike, *, anchor_chars: ArrayLike, strength: ArrayLike = 0.5
) -> FloatArray:
    """Penalty for long texts: ``1 / (1 + strength * log2(max(length / anchor, 1)))``.

    Parameters
    ----------
    length_chars
        shape (…), characters, >= 0. Upstream counts UTF-16 units.
    anchor_chars
        characters, > 0, broadcasts; infinity = off. Up to this length there is no penalty.
    strength
        >= 0, broadcasts. 0.5 takes a third off at twice the anchor.

    Returns
    -------
    NDArray[np.float64]
        shape (…), in (0, 1], never rising with length.

    Raises
    ------
    ParameterError
        If a value leaves its range.

    References
    ----------
    RecallNest and memory-lancedb-pro ``applyLengthNormalization``.

    Examples
    --------
    >>> length_norm([100, 800, 1600], anchor_chars=800.0).round(6).tolist()
    [1.0, 1.0, 0.666667]
    """
    length = in_range("length_chars", length_chars, low=0.0, high_open=True)
    anchor = in_range("anchor_chars", anchor_chars, low=0.0, low_open=True)
    strength = in_range("strength", strength, low=0.0, high_open=True)
    return 1.0 / (1.0 + strength * np.log2(np.maximum(length / anchor, 1.0)))


@fitting
def recency_boost(
    age_days: ArrayLike,
    *,
    weight: ArrayLike = 0.1,
    mean_life_days: ArrayLike = 14.0,
    days_ahead: ArrayLike = 0.0,
) -> FloatArray:
    """Amount to add to the score of a young memory: ``weight * e ** ((ahead - t) / m)``.

    Parameters
    ----------
    age_days
        shape (…), days, finite, >= 0.
    weight
        score units, >= 0, broadcasts. Amount at age 0; 0 switches the boost off. Compare it
        with the score it is added to: RRF scores end at 0.033.
    mean_life_days
        days, > 0, broadcasts. 1/e of the amount is left here; upstream calls it half-life.
    days_ahead
        days, >= 0, broadcasts. How far the memory lies after the query; 0 for all others. Upstream
        adds the more the further ahead; left at 0, a future memory counts as new.

    Returns
    -------
    NDArray[np.float64]
        shape (…), score units, in [0, weight] for memories that are not ahead.

    Raises
    ------
    ParameterError
        If a value leaves its range.

    Notes
    -----
    The exponent stops at 700, where the amount is still a number and far beyond any score.

    References
    ----------
    RecallNest ``applyRecencyBoost``.

    Examples
    --------
    >>> recency_boost([0.0, 14.0]).round(6).tolist()
    [0.1, 0.036788]
    >>> recency_boost(0.0, days_ahead=3.0).round(6).item()
    0.123898
    """
    weight = in_range("weight", weight, low=0.0, high_open=True)
    faded = weight * mean_life(age_days, mean_life_days=mean_life_days)
    ahead = in_range("days_ahead", days_ahead, low=0.0, high_open=True)
    with np.errstate(over="ignore"):
        lives = ahead / np.asarray(mean_life_days, np.float64)
    return faded * np.exp(np.minimum(lives, 700.0))


@fitting
def access_boost(
    access_count: ArrayLike, *, weight: ArrayLike = 0.03, cap: ArrayLike = 0.15
) -> FloatArray:
    """Bonus for memories used before: ``1 + min(cap, weight * log2(1 + n))``.

    Parameters
    ----------
    access_count
        shape (…), accesses, >= 0.
    weight
        >= 0, broadcasts. Bonus of the first access, and of each doubling after it.
    cap
        >= 0, broadcasts. Largest bonus.

    Returns
    -------
    NDArray[np.float64]
        shape (…), in [1, 1 + cap], never falling with accesses.

    Raises
    ------
    ParameterError
        If a value leaves its range.

    References
    ----------
    RecallNest ``applyAccessCountBoost``.

    Examples
    --------
    >>> access_boost([0, 1, 3, 1000]).round(6).tolist()
    [1.0, 1.03, 1.06, 1.15]
    """
    count = in_range("access_count", access_count, low=0.0, high_open=True)
    weight = in_range("weight", weight, low=0.0, high_open=True)
    cap = in_range("cap", cap, low=0.0, high_open=True)
    return 1.0 + np.minimum(cap, weight * np.log2(1.0 + count))


@fitting
def hotness(
    access_count: ArrayLike, days_since_access: ArrayLike, *, mean_life_days: ArrayLike = 10.0
) -> FloatArray:
    """Score of recent and frequent use: ``(1 + n) / (2 + n) * e ** (-d / m)``, 0 without use.

    Parameters
    ----------
    access_count
        shape (…), accesses, >= 0.
    days_since_access
        shape (…), days, >= 0; NaN only where ``access_count`` is 0.
    mean_life_days
        days, > 0, broadcasts. 1/e of the heat is left here.

    Returns
    -------
    NDArray[np.float64]
        shape (…), in [0, 1), never falling with accesses, never rising with days.

    Raises
    ------
    ParameterError
        If a value leaves its range, or a used memory has no day of last access.

    Notes
    -----
    ``(1 + n) / (2 + n)`` is the logistic of ``ln(1 + n)``.

    References
    ----------
    RecallNest ``computeHotnessScore`` (rate 0.1 per day).

    Examples
    --------
    >>> hotness([0, 1, 1], [np.nan, 0.0, 10.0]).round(6).tolist()
    [0.0, 0.666667, 0.245253]
    """
    count, days = _use("access_count", access_count, "days_since_access", days_since_access)
    heat = (1.0 + count) / (2.0 + count)
    cooled = heat * mean_life(days, mean_life_days=mean_life_days)
    return np.where(count > 0.0, cooled, 0.0)


@fitting
def frequency_multiplier(
    hit_count: ArrayLike,
    days_since_hit: ArrayLike,
    *,
    weight: ArrayLike = 0.15,
    half_life_days: ArrayLike = 30.0,
    min_hits: ArrayLike = 2.0,
) -> FloatArray:
    """Bonus for memories often found: ``1 + weight * log2(e)``, ``e = n * 2 ** (-d / h)``.

    Parameters
    ----------
    hit_count
        shape (…), hits, >= 0.
    days_since_hit
        shape (…), days, >= 0; NaN only where ``hit_count`` is 0.
    weight
        >= 0, broadcasts. Bonus of each doubling of the effective hits ``e``.
    half_life_days
        days, > 0, broadcasts. A hit this old counts half.
    min_hits
        hits, >= 1, broadcasts. Below it, in ``n`` or in ``e``, the multiplier is 1.

    Returns
    -------
    NDArray[np.float64]
        shape (…), >= 1 and without a ceiling: 100 fresh hits nearly double a score.

    Raises
    ------
    ParameterError
        If a value leaves its range, or a memory with hits has no day of the last one.

    References
    ----------
    RecallNest ``frequency-tracker.ts``.

    Examples
    --------
    >>> frequency_multiplier([1, 2, 8], [0.0, 0.0, 60.0]).round(6).tolist()
    [1.0, 1.15, 1.15]
    """
    count, days = _use("hit_count", hit_count, "days_since_hit", days_since_hit)
    weight = in_range("weight", weight, low=0.0, high_open=True)
    min_hits = in_range("min_hits", min_hits, low=1.0, high_open=True)
    effective = count * exponential(days, half_life_days=half_life_days)
    # effective <= count, so one comparison checks both.
    return 1.0 + weight * np.log2(np.where(effective >= min_hits, effective, 1.0))


@fitting
def evolution_score(
    age_days: ArrayLike,
    access_count: ArrayLike,
    days_since_access: ArrayLike,
    importance: ArrayLike,
    *,
    weights: tuple[float, float, float] = (0.2, 0.3, 0.5),
    age_half_life_days: ArrayLike = 90.0,
    access_half_life_days: ArrayLike = 30.0,
) -> FloatArray:
    """Worth of a memory from age, use and importance, each in [0, 1].

    ``w0 * 2 ** (-t / h_age) + w1 * min(1, log2(1 + n) * r) + w2 * importance`` with
    ``r = 2 ** (-d / h_access)``, or 1/2 for a memory whose last access is not known.

    Parameters
    ----------
    age_days
        shape (…), days since the memory became valid, finite, >= 0.
    access_count
        shape (…), accesses, >= 0.
    days_since_access
        shape (…), days, >= 0; NaN = never, or not known.
    importance
        shape (…), in [0, 1].
    weights
        three weights, >= 0: age, use, importance.
    age_half_life_days
        days, > 0, broadcasts. Age at which the age term is half of its weight.
    access_half_life_days
        days, > 0, broadcasts. Days after which an access counts half.

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
    RecallNest ``memory-evolution.ts`` ``computeDecayScore``, without emotion.

    Examples
    --------
    >>> evolution_score([0.0, 90.0], [0, 1], [np.nan, 30.0], [0.5, 0.5]).round(6).tolist()
    [0.45, 0.5]
    """
    parts = in_range("weights", weights, low=0.0, high_open=True)
    if parts.shape != (3,):
        msg = f"weights must be three numbers (age, use, importance), got shape {parts.shape}"
        raise ParameterError(msg)
    count = in_range("access_count", access_count, low=0.0, high_open=True)
    importance = in_range("importance", importance, low=0.0, high=1.0)
    days = in_range("days_since_access", days_since_access, low=0.0, high_open=True, nan_ok=True)
    known = np.where(np.isnan(days), 0.0, days)
    recency = exponential(known, half_life_days=access_half_life_days)
    recency = np.where(np.isnan(days), 0.5, recency)
    use = np.minimum(1.0, np.log2(1.0 + count) * recency)
    young = exponential(age_days, half_life_days=age_half_life_days)
    worth: FloatArray = parts[0] * young + parts[1] * use + parts[2] * importance
    return worth


def _use(
    count_name: str, count: ArrayLike, days_name: str, days: ArrayLike
) -> tuple[FloatArray, FloatArray]:
    """Counts and days, with the NaN of unused memories made 0."""
    counts = in_range(count_name, count, low=0.0, high_open=True)
    days = in_range(days_name, days, low=0.0, high_open=True, nan_ok=True)
    if np.any(np.isnan(days) & (counts > 0.0)):
        msg = f"{days_name} must be given where {count_name} > 0, got nan"
        raise ParameterError(msg)
    return counts, np.where(np.isnan(days), 0.0, days)
