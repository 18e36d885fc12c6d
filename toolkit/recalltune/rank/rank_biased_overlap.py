"""Two rankings in, their overlap out, in which the first ranks count most.

In: two lists of ids, best first, of any two lengths. Out: one number in [0, 1].
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from recalltune.errors import ParameterError
from recalltune.rank._check import FloatArray, in_range

__all__ = ["rank_biased_overlap"]


def rank_biased_overlap(
    first: Sequence[Hashable], second: Sequence[Hashable], *, p: float = 0.9
) -> float:
    """Overlap of two rankings: ``(1 - p) * sum over d of p^(d-1) * A_d  +  p^l * A_l``.

    ``A_d`` is the agreement at depth d, the overlap of the first d of each list divided by d. For
    lists of lengths s <= l with overlaps ``X_d`` it is ``X_d / d`` down to s, and
    ``(X_d + X_s (d - s) / s) / d`` below: the shorter list is taken to go on agreeing as it did
    at its end, and from l on both are (the extrapolated form). So the start of a list
    against the whole list gives 1, and the two lengths belong beside the number.

    Parameters
    ----------
    first, second
        s and l ids, best first, in either order; equal ids are the same item. None twice.
    p
        in (0, 1). Chance that a reader at one rank goes on to the next one: the first 10 ranks
        carry 85.6 % of the weight at .9, 96.9 % at .8.

    Returns
    -------
    float
        in [0, 1]. 1 for equal lists and for two empty ones, 0 for lists that share nothing and
        for an empty one against another; symmetric.

    Raises
    ------
    ParameterError
        If p is not in (0, 1), a list holds an id twice, or a bare text is given as a list.

    References
    ----------
    Webber, Moffat & Zobel 2010, equation 32, key ``webber2010``; the same number, written as a
    weighted mean of the agreements, so that it cannot leave [0, 1] by rounding.

    Examples
    --------
    >>> round(rank_biased_overlap(["b", "a", "c"], ["a", "b", "c"], p=0.9), 12)
    0.9
    >>> rank_biased_overlap(["a", "b"], ["a", "b", "c"]), rank_biased_overlap([], ["a"])
    (1.0, 0.0)
    """
    in_range("p", p, low=0.0, high=1.0, low_open=True, high_open=True)
    short, long = sorted((_ranking("first", first), _ranking("second", second)), key=len)
    if not short:
        return float(not long)
    agreement = _agreements(short, long)
    weight = (1.0 - p) * p ** np.arange(len(long), dtype=np.float64)
    # Beyond the longer list both agree as they do at its end.
    weight = np.append(weight, p ** len(long))
    return float((weight * np.append(agreement, agreement[-1])).sum() / weight.sum())


def _agreements(short: Sequence[Hashable], long: Sequence[Hashable]) -> FloatArray:
    """Shape (l,): A_d at d = 1…l."""
    s, depth = len(short), np.arange(1, len(long) + 1)
    place = {one: at for at, one in enumerate(short)}
    # An item in both lists overlaps from the deeper of its two ranks on.
    met = np.zeros(len(long), dtype=np.int64)
    for at, one in enumerate(long):
        if one in place:
            met[max(at, place[one])] += 1
    overlap: NDArray[np.int64] = np.cumsum(met)
    gone_on = overlap[s - 1] * np.maximum(depth - s, 0) / s
    agreement: FloatArray = (overlap + gone_on) / depth
    return agreement


def _ranking(name: str, ids: Sequence[Hashable]) -> Sequence[Hashable]:
    if isinstance(ids, str | bytes):
        msg = f"{name} must be a list of ids, got the text {ids[:40]!r}"
        raise ParameterError(msg)
    seen: set[Hashable] = set()
    for at, one in enumerate(ids):
        if one in seen:
            msg = f"{name} must hold every id once, got {one!r} again at position {at}"
            raise ParameterError(msg)
        seen.add(one)
    return ids
