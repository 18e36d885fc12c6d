"""Several arms in, one score out: rank fusion, score fusion, and the calibrations before it.

In: ranks or scores per arm, first axis = arms in fixed order, NaN where an arm did not return
the memory. Out: one float64 score per memory, higher is better. Arms are added in the order
given; the calibrations put scores of different arms on comparable scales and keep NaN as NaN.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from recalltune.errors import ParameterError
from recalltune.rank._check import FloatArray, choice, finite, fitting, in_range

__all__ = [
    "inverse_distance",
    "logistic",
    "min_max",
    "rrf",
    "saturate",
    "weighted_sum",
    "z_score",
]

# Unit vectors stored as float32 may give a cosine this far outside [-1, 1].
_COSINE_SLACK = 1e-6


@fitting
def rrf(
    ranks: ArrayLike,
    *,
    k: ArrayLike = 60.0,
    divisor: ArrayLike = 1.0,
    weights: ArrayLike | None = None,
) -> FloatArray:
    """Reciprocal rank fusion: ``sum over arms of weight / (k + rank / divisor)``.

    Parameters
    ----------
    ranks
        shape (arms, …, n), >= 1, 1 = best of its arm; NaN = the arm did not return it.
    k
        ranks, >= 0, broadcasts with (…, n). Larger values flatten the top of each list.
    divisor
        > 0, broadcasts with (…, n). Ranks per step of ``k``; 1 is the published formula, 60
        makes neighbouring ranks nearly equal.
    weights
        shape (arms,) or (arms, …) broadcasting with (…, n), >= 0. None = 1 for every arm.

    Returns
    -------
    NDArray[np.float64]
        shape (…, n), >= 0; exactly 0 where no arm of positive weight returned the memory. At
        most ``sum(weights) / (k + 1 / divisor)``, about 0.033 for two arms at k = 60.

    Raises
    ------
    ParameterError
        If a rank is below 1 (ranks start at 1, absent is NaN), a parameter leaves its range,
        or the weights do not match the arms.

    References
    ----------
    Cormack, Clarke and Büttcher 2009 (key ``cormack2009``). ``divisor`` and ``weights`` are
    ours; the rank divided by 60 is found in dsh-auto-memory.

    Examples
    --------
    >>> rrf([[1.0, 2.0, np.nan], [2.0, np.nan, 1.0]], k=60.0).round(6).tolist()
    [0.032522, 0.016129, 0.016393]
    """
    ranks = _by_arm("ranks", in_range("ranks", ranks, low=1.0, high_open=True, nan_ok=True))
    k = in_range("k", k, low=0.0, high_open=True)
    divisor = in_range("divisor", divisor, low=0.0, low_open=True, high_open=True)
    total = np.zeros(())
    for rank, weight in zip(ranks, _per_arm(weights, len(ranks)), strict=True):
        total = total + np.where(np.isnan(rank), 0.0, weight / (k + rank / divisor))
    return total


@fitting
def weighted_sum(
    scores: ArrayLike, *, weights: ArrayLike | None = None, divide_by: str = "nothing"
) -> FloatArray:
    """Weighted sum of calibrated scores: ``sum over arms of weight * score``.

    Parameters
    ----------
    scores
        shape (arms, …, n), finite, on comparable scales; NaN = absent, adds nothing.
    weights
        shape (arms,) or (arms, …) broadcasting with (…, n), >= 0. None = 1 for every arm.
    divide_by
        ``nothing``; ``all``: the sum of all weights; ``present``: the sum of the weights of
        the arms that returned the memory, so that absence costs nothing.

    Returns
    -------
    NDArray[np.float64]
        shape (…, n); exactly 0 where no arm of positive weight returned the memory.

    Raises
    ------
    ParameterError
        If a score is infinite, a weight is negative, the weights do not match the arms, all
        weights are 0 while dividing, or ``divide_by`` is unknown.

    References
    ----------
    OpenClaw ``hybrid.ts`` (``nothing``), RecallNest ``fuseResults`` (``present``).

    Examples
    --------
    >>> weighted_sum([[0.9, np.nan], [0.5, 1.0]], weights=[0.7, 0.3]).round(6).tolist()
    [0.78, 0.3]
    """
    scores = _by_arm("scores", finite("scores", scores, nan_ok=True))
    choice("divide_by", divide_by, ("nothing", "all", "present"))
    total, share = np.zeros(()), np.zeros(())
    for score, weight in zip(scores, _per_arm(weights, len(scores)), strict=True):
        absent = np.isnan(score)
        total = total + np.where(absent, 0.0, weight * score)
        share = share + (weight if divide_by == "all" else np.where(absent, 0.0, weight))
    if divide_by == "nothing":
        return total
    if divide_by == "all" and not np.all(share > 0.0):
        msg = "weights must not all be 0 when the sum is divided by them, got a sum of 0.0"
        raise ParameterError(msg)
    return np.divide(total, share, out=np.zeros_like(total), where=share > 0.0)


def min_max(scores: ArrayLike, *, floor: float = 0.001) -> FloatArray:
    """Scores stretched over [floor, 1]: ``floor + (1 - floor) * (s - min) / (max - min)``.

    Parameters
    ----------
    scores
        shape (…, n), finite; NaN = absent, ignored. Each list is one slice of the last axis.
    floor
        in [0, 1). Value of the weakest hit. Above 0, so that it still beats a memory the arm
        did not return.

    Returns
    -------
    NDArray[np.float64]
        shape (…, n), in [floor, 1], NaN where absent. A list of equal scores is all 1.

    Raises
    ------
    ParameterError
        If a score is infinite or ``floor`` is outside its range.

    References
    ----------
    Lee 1997 (key ``lee1997``); the small floor as in OpenSearch neural-search.

    Examples
    --------
    >>> min_max([4.0, 2.0, 3.0, np.nan], floor=0.0).tolist()
    [1.0, 0.0, 0.5, nan]
    >>> min_max([0.62]).tolist()
    [1.0]
    """
    scores = finite("scores", scores, nan_ok=True)
    in_range("floor", floor, low=0.0, high=1.0, high_open=True)
    low = np.min(scores, axis=-1, keepdims=True, where=~np.isnan(scores), initial=np.inf)
    high = np.max(scores, axis=-1, keepdims=True, where=~np.isnan(scores), initial=-np.inf)
    # Halved before subtracting: the spread of two large numbers may exceed float64.
    spread = high / 2.0 - low / 2.0
    flat = np.where(np.isnan(scores), np.nan, 1.0)
    part: FloatArray = np.divide(scores / 2.0 - low / 2.0, spread, out=flat, where=spread > 0.0)
    return floor + (1.0 - floor) * part


def z_score(scores: ArrayLike, *, weakest: float | None = None) -> FloatArray:
    """Scores in standard deviations from the mean of their list: ``(s - mean) / sd``.

    Parameters
    ----------
    scores
        shape (…, n), finite; NaN = absent, ignored. Each list is one slice of the last axis.
    weakest
        standard deviations, >= 0. Each list is shifted so that its weakest hit has this value.
        Above 0, a hit adds more to a sum than a memory the arm did not return, which adds 0;
        None = no shift, and half of the hits add less.

    Returns
    -------
    NDArray[np.float64]
        shape (…, n), population standard deviation 1 per list, mean 0 without a shift, NaN where
        absent. A list of equal scores is all 0, or all ``weakest``.

    Raises
    ------
    ParameterError
        If a score is infinite or ``weakest`` is outside its range.

    References
    ----------
    Montague and Aslam 2001, ZMUV (key ``montague2001``).

    Examples
    --------
    >>> z_score([1.0, 3.0, np.nan]).tolist()
    [-1.0, 1.0, nan]
    >>> z_score([1.0, 3.0, np.nan], weakest=0.5).tolist()
    [0.5, 2.5, nan]
    """
    scores = finite("scores", scores, nan_ok=True)
    if weakest is not None:
        in_range("weakest", weakest, low=0.0, high_open=True)
    here = ~np.isnan(scores)
    # A power of two is taken out, which rounds nothing: squares stay within float64.
    largest = np.max(np.abs(scores), axis=-1, keepdims=True, where=here, initial=0.0)
    scores = np.ldexp(scores, -np.frexp(largest)[1])
    n = np.maximum(np.sum(here, axis=-1, keepdims=True), 1)
    mean = np.sum(scores, axis=-1, keepdims=True, where=here) / n
    away = scores - mean
    spread = np.sqrt(np.sum(away * away, axis=-1, keepdims=True, where=here) / n)
    # Equal scores leave a spread of pure rounding error; they are told by their values.
    low = np.min(scores, axis=-1, keepdims=True, where=here, initial=np.inf)
    high = np.max(scores, axis=-1, keepdims=True, where=here, initial=-np.inf)
    flat = np.where(here, 0.0, np.nan)
    told: FloatArray = np.divide(away, spread, out=flat, where=(high > low) & (spread > 0.0))
    if weakest is None:
        return told
    shifted: FloatArray = told - np.min(told, axis=-1, keepdims=True, where=here, initial=np.inf)
    return shifted + weakest


@fitting
def saturate(scores: ArrayLike, *, half: ArrayLike = 1.0) -> FloatArray:
    """Unbounded scores pressed into [0, 1): ``s / (half + s)``.

    Parameters
    ----------
    scores
        shape (…), >= 0, such as BM25; NaN = absent, stays NaN.
    half
        > 0, in units of the score, broadcasts. The score that becomes 0.5.

    Returns
    -------
    NDArray[np.float64]
        shape (…), in [0, 1], rising with the score.

    Raises
    ------
    ParameterError
        If a score is negative or infinite, or ``half`` is not positive.

    References
    ----------
    OpenClaw ``bm25RankToScore`` for ``half`` = 1.

    Examples
    --------
    >>> saturate([0.0, 1.0, 3.0]).tolist()
    [0.0, 0.5, 0.75]
    """
    scores = in_range("scores", scores, low=0.0, high_open=True, nan_ok=True)
    half = in_range("half", half, low=0.0, low_open=True, high_open=True)
    # Halved, since the sum of two large numbers may exceed float64.
    return scores / 2.0 / (half / 2.0 + scores / 2.0)


@fitting
def logistic(scores: ArrayLike, *, scale: ArrayLike = 5.0) -> FloatArray:
    """Scores pressed into (0, 1): ``1 / (1 + exp(-s / scale))``.

    Parameters
    ----------
    scores
        shape (…), finite, any sign; NaN = absent, stays NaN.
    scale
        > 0, in units of the score, broadcasts. Score at which 0.731 is reached.

    Returns
    -------
    NDArray[np.float64]
        shape (…), in [0, 1], 0.5 at score 0: a lexical hit never falls below 0.5.

    Raises
    ------
    ParameterError
        If a score is infinite or ``scale`` is not positive.

    References
    ----------
    RecallNest ``store.ts`` ``bm25Search`` for ``scale`` = 5.

    Examples
    --------
    >>> logistic([0.0, 5.0]).round(6).tolist()
    [0.5, 0.731059]
    """
    scores = finite("scores", scores, nan_ok=True)
    scale = in_range("scale", scale, low=0.0, low_open=True, high_open=True)
    # exp of the negative side only, so that no score overflows.
    with np.errstate(over="ignore"):
        small = np.exp(-np.abs(scores / scale))
    return np.where(scores < 0.0, small, 1.0) / (1.0 + small)


def inverse_distance(cosine: ArrayLike) -> FloatArray:
    """Cosine similarity as a score in [1/3, 1]: ``1 / (1 + d) = 1 / (2 - cos)``.

    Parameters
    ----------
    cosine
        shape (…), in [-1, 1] (1e-6 of rounding is let through); NaN = absent, stays NaN.

    Returns
    -------
    NDArray[np.float64]
        shape (…), in [1/3, 1]; 0.5 at cosine 0, so a threshold below 1/3 removes nothing.

    Raises
    ------
    ParameterError
        If a cosine lies outside [-1, 1].

    References
    ----------
    RecallNest ``store.ts`` ``vectorSearch``.

    Examples
    --------
    >>> inverse_distance([1.0, 0.0]).tolist()
    [1.0, 0.5]
    """
    slack = 1.0 + _COSINE_SLACK
    return 1.0 / (2.0 - in_range("cosine", cosine, low=-slack, high=slack, nan_ok=True))


def _by_arm(name: str, values: FloatArray) -> FloatArray:
    if values.ndim < 2 or values.shape[0] == 0:
        msg = f"{name} must have shape (arms, …, n) with at least one arm, got {values.shape}"
        raise ParameterError(msg)
    return values


def _per_arm(weights: ArrayLike | None, arms: int) -> FloatArray:
    if weights is None:
        return np.ones(arms)
    weights = in_range("weights", weights, low=0.0, high_open=True)
    if weights.ndim == 0 or weights.shape[0] != arms:
        msg = f"weights must hold one weight for each of {arms} arms, got shape {weights.shape}"
        raise ParameterError(msg)
    return weights
