"""Retrieval metrics from the ranks of the labelled items alone.

Only the ranks of labels are needed, never the lists: a whole sweep is ``ranks (settings, L)``.
Ranks are 1-based places in the list that was *shown*; NaN means not shown. A case for which a
metric is undefined (no target, no hard negative, no order) gets NaN, which the caller counts; a
case whose list is empty gets 0 and stays in the average.

Every metric takes ranks (..., L), columns of the labels (L,), offsets (N + 1,) and a cutoff in
places, >= 1, as `ndcg` does, raises as it does, and gives (..., N).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from recalltune.errors import ContractError, ParameterError
from recalltune.evaluate.labels import case_of_label, per_case_sum, reduce_by_case

__all__ = [
    "average_precision",
    "hard_negative_rate",
    "ideal_dcg",
    "ndcg",
    "order_violations",
    "precision",
    "recall",
    "recall_all",
    "recall_any",
    "reciprocal_rank",
]

Floats = NDArray[np.float64]
Offsets = NDArray[np.intp]
Gain = Literal["linear", "exponential"]
_GAINS: Mapping[str, Callable[[Floats], Floats]] = {
    "linear": lambda grades: grades,
    "exponential": lambda grades: np.exp2(grades) - 1.0,
}


def ndcg(
    ranks: Floats,
    gains: Floats,
    offsets: Offsets,
    *,
    cutoff: float = np.inf,
    gain: Gain = "linear",
    ideal: Floats | None = None,
) -> Floats:
    """Discounted gain of the list over that of the best possible list (nDCG).

    ``sum over shown labels of g / log2(rank + 1)``, divided by the same sum for all targets in
    falling order of grade. The ideal counts every target, shown or not.

    Parameters
    ----------
    ranks
        shape (..., L), places from 1, NaN = not shown.
    gains
        shape (L,), grades >= 0; 0 is not relevant.
    offsets
        shape (N + 1,), see `CaseLabels`.
    cutoff
        places, >= 1. Deeper labels count nothing.
    gain
        ``linear``: g = grade (trec_eval); ``exponential``: g = 2^grade - 1.
    ideal
        shape (N,), from `ideal_dcg`; for callers whose targets are not all in ``gains``.

    Returns
    -------
    Floats
        shape (..., N), in [0, 1]; NaN where a case has no target.

    Raises
    ------
    ContractError
        If shapes differ or a rank lies below 1.
    ParameterError
        If ``cutoff`` or ``gain`` is not allowed.

    References
    ----------
    Järvelin & Kekäläinen 2002.

    Examples
    --------
    >>> ndcg(np.array([3.0]), np.array([1.0]), np.array([0, 1]), cutoff=10)
    array([0.5])
    """
    shown = _shown(ranks, gains, cutoff)
    discounted = np.divide(
        _gain_of(gains, gain), np.log2(ranks + 1.0), out=np.zeros(ranks.shape), where=shown
    )
    best = ideal_dcg(gains, offsets, cutoff=cutoff, gain=gain) if ideal is None else ideal
    return _ratio(per_case_sum(discounted, offsets), best)


def ideal_dcg(
    gains: Floats, offsets: Offsets, *, cutoff: float = np.inf, gain: Gain = "linear"
) -> Floats:
    """Discounted gain of each case's targets in falling order of grade, shape (N,)."""
    case = case_of_label(offsets, len(gains))
    best_first = np.lexsort((-gains, case))
    place = np.arange(len(gains)) - offsets[case] + 1.0
    discounted = _gain_of(gains, gain)[best_first] / np.log2(place + 1.0)
    return per_case_sum(np.where(place <= cutoff, discounted, 0.0), offsets)


def reciprocal_rank(
    ranks: Floats, gains: Floats, offsets: Offsets, *, cutoff: float = np.inf
) -> Floats:
    """One over the place of the first target shown; 0 if none is within the cutoff."""
    shown = _shown(ranks, gains, cutoff) & (gains > 0)
    reciprocal = np.divide(1.0, ranks, out=np.zeros(ranks.shape), where=shown)
    first = reduce_by_case(np.maximum, reciprocal, offsets, empty=0.0)
    return _where_defined(first, _count(gains > 0, offsets))


def average_precision(
    ranks: Floats, gains: Floats, offsets: Offsets, *, cutoff: float = np.inf
) -> Floats:
    """Mean over all targets of the precision at the place of each; 0 for a target not shown.

    Divides by the number of targets, not by the smaller of it and the cutoff (trec_eval).
    """
    relevant = gains > 0
    shown = _shown(ranks, gains, cutoff) & relevant
    left, right, starts = _pairs(offsets, relevant)
    # Place of a target among the targets: how many of its case stand at or above it.
    above = np.zeros(ranks.shape)
    if len(left):
        not_later = (ranks[..., right] <= ranks[..., left]).astype(np.float64)
        above[..., relevant] = np.add.reduceat(not_later, starts, axis=-1)
    precision_there = np.divide(above, ranks, out=np.zeros(ranks.shape), where=shown)
    return _ratio(per_case_sum(precision_there, offsets), _count(relevant, offsets))


def recall(
    ranks: Floats,
    gains: Floats,
    offsets: Offsets,
    *,
    cutoff: float = np.inf,
    groups: NDArray[np.int64] | None = None,
) -> Floats:
    """Share of a case's targets shown within the cutoff (never capped by the cutoff).

    With ``groups``, targets of one case that share a number are alternatives and count once.

    Examples
    --------
    >>> recall(np.array([2.0, np.nan]), np.ones(2), np.array([0, 2]), cutoff=3)
    array([0.5])
    """
    return _ratio(*_found_and_needed(ranks, gains, offsets, cutoff, groups))


def recall_any(ranks: Floats, gains: Floats, offsets: Offsets, *, cutoff: float = np.inf) -> Floats:
    """1 if at least one target is shown within the cutoff (a hit), else 0."""
    found, needed = _found_and_needed(ranks, gains, offsets, cutoff, None)
    return _where_defined((found > 0).astype(np.float64), needed)


def recall_all(
    ranks: Floats,
    gains: Floats,
    offsets: Offsets,
    *,
    cutoff: float = np.inf,
    groups: NDArray[np.int64] | None = None,
) -> Floats:
    """1 if every target (or one of each group of alternatives) is shown within the cutoff."""
    found, needed = _found_and_needed(ranks, gains, offsets, cutoff, groups)
    return _where_defined((found >= needed).astype(np.float64), needed)


def precision(ranks: Floats, gains: Floats, offsets: Offsets, *, cutoff: float) -> Floats:
    """Share of the first ``cutoff`` places that hold a target; empty places count as misses."""
    found, needed = _found_and_needed(ranks, gains, offsets, cutoff, None)
    return _where_defined(found / cutoff, needed)


def hard_negative_rate(
    ranks: Floats, hard_negative: NDArray[np.bool_], offsets: Offsets, *, cutoff: float = np.inf
) -> Floats:
    """Share of a case's hard negatives shown within the cutoff; lower is better.

    NaN for a case without hard negatives. Divided by their number, not by the cutoff, so that
    showing the one wrong memory costs 1 at every list length.
    """
    shown = _shown(ranks, hard_negative, cutoff) & hard_negative
    return _ratio(per_case_sum(shown.astype(np.float64), offsets), _count(hard_negative, offsets))


def order_violations(
    ranks: Floats, order: NDArray[np.int64], offsets: Offsets, *, cutoff: float = np.inf
) -> Floats:
    """Share of neighbours in the expected order that are shown the wrong way round.

    A pair is violated if the later memory is shown and the earlier is missing or does not stand
    strictly above it. NaN for a case with fewer than two ordered labels; lower is better.
    """
    case = case_of_label(offsets, len(order))
    earlier, later = order_pairs(order, offsets)
    shown = _shown(ranks, order, cutoff)
    place = np.where(shown, ranks, np.inf)
    violated = shown[..., later] & ~(place[..., earlier] < place[..., later])
    bounds = np.searchsorted(case[earlier], np.arange(len(offsets))).astype(np.intp)
    return _ratio(per_case_sum(violated.astype(np.float64), bounds), np.diff(bounds).astype(float))


def order_pairs(
    order: NDArray[np.int64], offsets: Offsets
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Label rows of neighbours in the expected orders: (earlier, later), sorted by case."""
    case = case_of_label(offsets, len(order))
    rows = np.lexsort((order, case))
    rows = rows[order[rows] >= 0]
    same = case[rows[:-1]] == case[rows[1:]]
    return rows[:-1][same], rows[1:][same]


def _shown(ranks: Floats, column: NDArray[np.generic], cutoff: float) -> NDArray[np.bool_]:
    if ranks.ndim == 0 or ranks.shape[-1:] != column.shape:
        msg = f"ranks must be (..., {len(column)}) to match the labels, got {ranks.shape}"
        raise ContractError(msg)
    if not cutoff >= 1:
        msg = f"cutoff must lie in [1, inf), got {cutoff}"
        raise ParameterError(msg)
    if (ranks < 1).any():
        msg = f"ranks must lie in [1, inf) or be NaN, got {ranks[ranks < 1].flat[0]}"
        raise ContractError(msg)
    return ranks <= cutoff


def _gain_of(gains: Floats, gain: Gain) -> Floats:
    if gain not in _GAINS:
        msg = f"gain must be 'linear' or 'exponential', got {gain!r}"
        raise ParameterError(msg)
    return _GAINS[gain](gains)


def _found_and_needed(
    ranks: Floats,
    gains: Floats,
    offsets: Offsets,
    cutoff: float,
    groups: NDArray[np.int64] | None,
) -> tuple[Floats, Floats]:
    relevant = gains > 0
    found = (_shown(ranks, gains, cutoff) & relevant).astype(np.float64)
    if groups is None:
        return per_case_sum(found, offsets), _count(relevant, offsets)
    case = case_of_label(offsets, len(gains))
    rows = np.lexsort((groups, case))
    rows = rows[relevant[rows]]
    opens = np.ones(len(rows), dtype=bool)
    opens[1:] = (np.diff(case[rows]) != 0) | (np.diff(groups[rows]) != 0)
    bounds = np.append(np.flatnonzero(opens), len(rows)).astype(np.intp)
    answered = reduce_by_case(np.maximum, found[..., rows], bounds, empty=0.0)
    of_case = np.searchsorted(case[rows[opens]], np.arange(len(offsets))).astype(np.intp)
    return per_case_sum(answered, of_case), np.diff(of_case).astype(np.float64)


def _pairs(
    offsets: Offsets, relevant: NDArray[np.bool_]
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """All (target, target of the same case) pairs, grouped by the first."""
    rows = np.flatnonzero(relevant)
    case = case_of_label(offsets, len(relevant))[rows]
    first = np.searchsorted(case, case, side="left")
    count = np.searchsorted(case, case, side="right") - first
    starts = np.concatenate(([0], np.cumsum(count)[:-1])) if len(rows) else count
    within = np.arange(count.sum()) - np.repeat(starts, count)
    return np.repeat(rows, count), rows[np.repeat(first, count) + within], starts.astype(np.intp)


def _count(mask: NDArray[np.bool_], offsets: Offsets) -> Floats:
    return per_case_sum(mask.astype(np.float64), offsets)


def _ratio(part: Floats, whole: Floats) -> Floats:
    ratio: Floats = np.divide(part, whole, out=np.full(part.shape, np.nan), where=whole > 0)
    return ratio


def _where_defined(values: Floats, needed: Floats) -> Floats:
    return np.where(needed > 0, values, np.nan)
