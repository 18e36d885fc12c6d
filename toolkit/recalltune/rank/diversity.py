"""Relevance and similarity in, a less repetitive order out: lambda-MMR and deferral.

In: relevance per candidate and a similarity per pair (cosine of vectors or Jaccard of tokens).
Out: positions, best first. The batched forms take any number of lanes and give each lane what
the single form gives it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recalltune.errors import ParameterError
from recalltune.rank._check import (
    FloatArray,
    as_floats,
    as_mask,
    at_least,
    finite,
    fitting,
    in_range,
    word_list,
)

__all__ = [
    "cosine_matrix",
    "defer",
    "defer_batch",
    "jaccard",
    "mmr",
    "mmr_batch",
    "mmr_objective",
]

# A cosine of rounded unit vectors may end this far outside [-1, 1].
_SLACK = 1e-6


@fitting
def mmr(
    relevance: ArrayLike,
    similarity: ArrayLike,
    *,
    lambda_: float,
    top_k: int | None = None,
    normalise: bool = True,
) -> NDArray[np.intp]:
    """Maximal marginal relevance: positions picked one by one, relevant and unlike the picked.

    Each step picks the largest ``lambda * relevance - (1 - lambda) * m``, m = the largest
    similarity to anything picked before (0 for the first pick). Equals: the more relevant, then
    the smaller position.

    Parameters
    ----------
    relevance
        shape (n,), finite, higher is better.
    similarity
        shape (n, n), in [-1, 1]. Row i: similarity of i to all others.
    lambda_
        in [0, 1]. 1 = order of relevance, 0 = only difference counts after the first pick.
    top_k
        positions, >= 0; None or more than n = all n. A smaller value gives a prefix.
    normalise
        Stretch relevance over [0, 1] first (equal values become 1), so that ``lambda_`` weighs
        like with like whatever the scale of the scores. Then a new weak candidate moves the
        balance for all others.

    Returns
    -------
    NDArray[np.intp]
        shape (min(top_k, n),), distinct positions in the order picked.

    Raises
    ------
    ParameterError
        If a shape, ``lambda_`` or ``top_k`` is wrong, a relevance is not finite, or a
        similarity lies outside [-1, 1].

    References
    ----------
    Carbonell and Goldstein 1998 (key ``carbonell1998``). Min-max and ties as in OpenClaw
    ``mmr.ts``.

    Examples
    --------
    >>> alike = [[1.0, 0.98, 0.10], [0.98, 1.0, 0.12], [0.10, 0.12, 1.0]]
    >>> mmr([0.90, 0.89, 0.60], alike, lambda_=0.7, normalise=False).tolist()
    [0, 2, 1]
    """
    relevance = finite("relevance", relevance)
    if relevance.ndim != 1:
        msg = f"relevance must have shape (n,), got {relevance.shape}"
        raise ParameterError(msg)
    top_k = len(relevance) if top_k is None else at_least("top_k", top_k, low=0)
    return mmr_batch(
        relevance,
        similarity,
        np.ones(relevance.shape, np.bool_),
        lambda_=lambda_,
        top_k=min(top_k, len(relevance)),
        normalise=normalise,
    )


@fitting
def mmr_batch(
    relevance: ArrayLike,
    similarity: ArrayLike,
    valid: ArrayLike,
    *,
    lambda_: ArrayLike,
    top_k: int | None = None,
    normalise: bool = True,
) -> NDArray[np.intp]:
    """`mmr` of many lanes at once: each lane gets what `mmr` gives it alone.

    Parameters
    ----------
    relevance
        shape (…, P), finite wherever ``valid``.
    similarity
        shape (…, P, P), broadcasts over the leading axes, so that settings share one matrix
        per query. In [-1, 1] wherever both are valid; other cells are never used.
    valid
        shape (…, P), Boolean. False for padding.
    lambda_
        in [0, 1], broadcasts with the leading axes.
    top_k
        positions per lane, >= 0; None = P.
    normalise
        As in `mmr`, over the valid candidates of each lane.

    Returns
    -------
    NDArray[np.intp]
        shape (…, min(top_k, P)), positions in the order picked; -1 after the last valid one.

    Raises
    ------
    ParameterError
        As in `mmr`.

    References
    ----------
    As in `mmr`.

    Examples
    --------
    >>> mmr_batch([[0.9, 0.8]], np.eye(2), [[True, False]], lambda_=[0.5]).tolist()
    [[0, -1]]
    """
    relevance = as_floats("relevance", relevance)
    size = relevance.shape[-1] if relevance.ndim else -1
    similarity = np.asarray(similarity)
    if similarity.shape[-2:] != (size, size):
        msg = f"similarity must be {(size, size)} to match relevance, got {similarity.shape}"
        raise ParameterError(msg)
    valid = as_mask("valid", valid, relevance.shape)
    relevance = finite("relevance", np.where(valid, relevance, 0.0))
    lambda_ = in_range("lambda_", lambda_, low=0.0, high=1.0)
    picks = size if top_k is None else min(at_least("top_k", top_k, low=0), size)

    lead = np.broadcast_shapes(relevance.shape[:-1], similarity.shape[:-2], lambda_.shape)
    shape = (*lead, size)
    alike = np.broadcast_to(similarity, (*shape, size))
    free = np.broadcast_to(valid, shape).copy()
    gain = np.where(free, relevance, -np.inf)  # decides between equals, and rules out the rest
    worth = _stretched(relevance, valid) if normalise else relevance
    return _walk(worth, lambda_[..., np.newaxis], gain, free, alike, picks)


@fitting
def mmr_objective(relevance: ArrayLike, nearest: ArrayLike, *, lambda_: ArrayLike) -> FloatArray:
    """What one step of MMR maximises: ``lambda * relevance - (1 - lambda) * nearest``.

    Parameters
    ----------
    relevance
        shape (…), finite, higher is better.
    nearest
        shape (…), in [-1, 1]. Largest similarity to anything picked before.
    lambda_
        in [0, 1], broadcasts.

    Returns
    -------
    NDArray[np.float64]
        shape (…).

    Raises
    ------
    ParameterError
        If a relevance is not finite, or another value leaves its range.

    References
    ----------
    Carbonell and Goldstein 1998 (key ``carbonell1998``); OpenClaw ``computeMMRScore``.

    Examples
    --------
    >>> round(float(mmr_objective(1.0, 0.5, lambda_=0.7)), 6)
    0.55
    """
    return _objective(
        finite("relevance", relevance),
        in_range("nearest", nearest, low=-1.0 - _SLACK, high=1.0 + _SLACK),
        in_range("lambda_", lambda_, low=0.0, high=1.0),
    )


def _objective(relevance: FloatArray, nearest: FloatArray, lambda_: FloatArray) -> FloatArray:
    objective: FloatArray = lambda_ * relevance - (1.0 - lambda_) * nearest
    return objective


def _walk(
    worth: FloatArray,
    lambda_: FloatArray,
    gain: FloatArray,
    free: NDArray[np.bool_],
    alike: NDArray[np.floating],
    picks: int,
) -> NDArray[np.intp]:
    lanes = np.ix_(*map(range, free.shape[:-1]))
    chosen = np.full((*free.shape[:-1], picks), -1, np.intp)
    nearest = np.zeros(free.shape)
    for step in range(picks):
        objective = np.where(free, _objective(worth, nearest, lambda_), -np.inf)
        best = objective == objective.max(axis=-1, keepdims=True)
        pick = np.where(best & free, gain, -np.inf).argmax(axis=-1)
        at = (*lanes, pick)
        chosen[..., step] = np.where(free[at], pick, -1)
        free[at] = False
        row = _checked_row(alike[at].astype(np.float64, copy=False), free)
        nearest = row if step == 0 else np.maximum(nearest, row)
    return chosen


def _checked_row(row: FloatArray, free: NDArray[np.bool_]) -> FloatArray:
    """Similarities to the pick; what lies outside [-1, 1] must be padding."""
    fine = np.abs(row) <= 1.0 + _SLACK
    if not (fine | ~free).all():
        bad = row[free & ~fine][0]
        msg = f"similarity must lie in [-1, 1], got {bad!r}"
        raise ParameterError(msg)
    return np.where(fine, row, 0.0)


def _stretched(relevance: FloatArray, valid: NDArray[np.bool_]) -> FloatArray:
    low = np.min(relevance, axis=-1, keepdims=True, where=valid, initial=np.inf)
    high = np.max(relevance, axis=-1, keepdims=True, where=valid, initial=-np.inf)
    spread = high - low
    part: FloatArray = np.divide(
        relevance - low, spread, out=np.ones_like(relevance), where=(spread > 0.0) & valid
    )
    return part


def defer(similarity: ArrayLike, *, threshold: float) -> NDArray[np.intp]:
    """Near-duplicates moved behind the rest: positions of a list that is best first.

    Going down the list, a candidate is kept unless its similarity to a candidate kept before is
    larger than ``threshold``. The kept come first, then the deferred, both in list order.

    Parameters
    ----------
    similarity
        shape (n, n), in [-1, 1]; NaN = not comparable (no vector), never deferred.
    threshold
        in [-1, 1]. Strictly above it is a near-duplicate; 1 defers nothing.

    Returns
    -------
    NDArray[np.intp]
        shape (n,), a permutation: nothing is removed.

    Raises
    ------
    ParameterError
        If the matrix is not square or a value leaves its range.

    References
    ----------
    RecallNest ``applyMMRDiversity`` (0.85), which is not lambda-MMR.

    Examples
    --------
    >>> defer([[1.0, 0.9, 0.1], [0.9, 1.0, 0.2], [0.1, 0.2, 1.0]], threshold=0.85).tolist()
    [0, 2, 1]
    """
    similarity = np.asarray(similarity)
    size = similarity.shape[0] if similarity.ndim == 2 else -1
    return defer_batch(similarity, np.ones(max(size, 0), np.bool_), threshold=threshold)


@fitting
def defer_batch(
    similarity: ArrayLike, valid: ArrayLike, *, threshold: ArrayLike
) -> NDArray[np.intp]:
    """`defer` of many lanes at once: each lane gets what `defer` gives it alone.

    Parameters
    ----------
    similarity
        shape (…, P, P), broadcasts over the leading axes; in [-1, 1] or NaN where both are
        valid.
    valid
        shape (…, P), Boolean. False for padding, which comes last.
    threshold
        in [-1, 1], broadcasts with the leading axes.

    Returns
    -------
    NDArray[np.intp]
        shape (…, P), each row a permutation of 0…P-1.

    Raises
    ------
    ParameterError
        As in `defer`.

    References
    ----------
    As in `defer`.

    Examples
    --------
    >>> defer_batch(np.ones((2, 2)), [[True, True]], threshold=[0.5, 1.0]).tolist()
    [[0, 1], [0, 1]]
    """
    similarity = as_floats("similarity", similarity)
    valid = np.asarray(valid)
    size = valid.shape[-1] if valid.ndim else -1
    if similarity.shape[-2:] != (size, size):
        msg = f"similarity must be (…, P, P) to match P = {size}, got {similarity.shape}"
        raise ParameterError(msg)
    valid = as_mask("valid", valid, valid.shape)
    threshold = in_range("threshold", threshold, low=-1.0, high=1.0)
    both = valid[..., np.newaxis] & valid[..., np.newaxis, :]
    slack = 1.0 + _SLACK
    in_range("similarity", np.where(both, similarity, 0.0), low=-slack, high=slack, nan_ok=True)

    lead = np.broadcast_shapes(valid.shape[:-1], similarity.shape[:-2], threshold.shape)
    near = np.broadcast_to(similarity > threshold[..., np.newaxis, np.newaxis], (*lead, size, size))
    valid = np.broadcast_to(valid, (*lead, size))
    deferred = np.zeros(valid.shape, np.bool_)
    for p in range(size - 1):
        kept = valid[..., p] & ~deferred[..., p]
        deferred[..., p + 1 :] |= kept[..., np.newaxis] & near[..., p, p + 1 :]
    return np.argsort(np.where(valid, deferred, 2), axis=-1, kind="stable")


def jaccard(token_sets: Sequence[Collection[str]]) -> FloatArray:
    """Share of tokens two texts have in common: ``|A and B| / |A or B|``.

    Parameters
    ----------
    token_sets
        n collections of tokens; repeats are ignored.

    Returns
    -------
    NDArray[np.float64]
        shape (n, n), in [0, 1], symmetric, diagonal 1. Two empty sets are equal, so 1; an
        empty and another set have nothing in common, so 0.

    Raises
    ------
    ParameterError
        If an item is a bare text instead of a collection of tokens.

    References
    ----------
    OpenClaw ``mmr.ts`` ``jaccardSimilarity``.

    Examples
    --------
    >>> jaccard([["a", "b", "c"], ["b", "c", "d"], []]).tolist()
    [[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    sets = [set(word_list(f"token_sets[{i}]", one)) for i, one in enumerate(token_sets)]
    number = {token: i for i, token in enumerate(sorted(set().union(*sets)))}
    common = np.zeros((len(sets), len(sets)))
    block = 4096  # columns at a time: memory stays bounded; whole numbers, so sums are exact
    for start in range(0, len(number), block):
        held = np.zeros((len(sets), min(block, len(number) - start)))
        for row, one in zip(held, sets, strict=True):
            row[[n - start for n in map(number.__getitem__, one) if start <= n < start + block]] = 1
        common += held @ held.T
    size = np.array([len(one) for one in sets], np.float64)
    either = size[:, np.newaxis] + size - common
    return np.divide(common, either, out=np.ones_like(common), where=either > 0.0)


def cosine_matrix(vectors: ArrayLike) -> FloatArray:
    """Cosine of every pair, ``a.b / (|a| |b|)``, the same bits in any batch and on any BLAS.

    Parameters
    ----------
    vectors
        shape (…, n, d), finite, any length.

    Returns
    -------
    NDArray[np.float64]
        shape (…, n, n), in [-1, 1] within 1e-12, symmetric. A zero vector has no direction:
        its row and column are 0, its diagonal cell too.

    Raises
    ------
    ParameterError
        If a component is not finite or there is no axis of components.

    Notes
    -----
    A matrix product sums in an order that depends on its shape. Here each unit vector is cut
    into two parts of whole numbers, so small that every sum is exact in float64; then order
    does not matter. The cut costs about ``1e-14 * sqrt(d)``.

    References
    ----------
    Ozaki, Ogita, Oishi and Rump 2012 (key ``ozaki2012``), two slices.

    Examples
    --------
    >>> cosine_matrix([[3.0, 0.0], [1.0, 1.0], [0.0, 0.0]]).round(6).tolist()
    [[1.0, 0.707107, 0.0], [0.707107, 1.0, 0.0], [0.0, 0.0, 0.0]]
    """
    vectors = np.ascontiguousarray(finite("vectors", vectors))
    if vectors.ndim < 2:
        msg = f"vectors must have shape (…, n, d), got {vectors.shape}"
        raise ParameterError(msg)
    unit = _units(vectors)
    # |high| <= 2**26 and |low| <= 2**(low_bits - 1) per component; by Cauchy-Schwarz the sums
    # stay below 2**53.
    low_bits = 26 - math.ceil(math.log2(max(vectors.shape[-1], 2)) / 2.0)
    high = np.rint(unit * 2.0**26)
    low = np.rint((unit * 2.0**26 - high) * 2.0**low_bits)
    across = high @ low.swapaxes(-1, -2)
    fine = (across + across.swapaxes(-1, -2)) * 2.0**-low_bits
    cosine: FloatArray = (high @ high.swapaxes(-1, -2) + fine) * 2.0**-52
    return cosine


def _units(vectors: FloatArray) -> FloatArray:
    largest = np.max(np.abs(vectors), axis=-1, keepdims=True, initial=0.0)
    largest = np.where(largest > 0.0, largest, 1.0)
    scaled = vectors / largest  # so that squares neither overflow nor vanish
    length = np.sqrt(np.sum(scaled * scaled, axis=-1, keepdims=True))
    unit: FloatArray = np.divide(scaled, length, out=np.zeros_like(scaled), where=length > 0.0)
    return unit
