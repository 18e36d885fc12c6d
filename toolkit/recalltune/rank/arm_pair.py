"""A memory's dense and lexical score in one, as two production systems compute it.

In: scores of the arms on comparable scales, NaN where an arm did not return the memory. Out: one
score in [0, 1]. Neither is a rank fusion, and neither treats the arms alike.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from recalltune.errors import ParameterError
from recalltune.rank._check import FloatArray, fitting, in_range

__all__ = ["agreeing_mean", "rescued_sum"]


@fitting
def agreeing_mean(
    dense: ArrayLike,
    lexical: ArrayLike,
    graph: ArrayLike = np.nan,
    *,
    dense_weight: ArrayLike = 0.7,
    lexical_weight: ArrayLike = 0.3,
    agreement: ArrayLike = 1.05,
    lexical_factor: ArrayLike = 1.0,
    graph_weight: ArrayLike = 0.15,
    graph_bonus: ArrayLike = 0.10,
) -> FloatArray:
    """Weighted mean where both arms agree, the one score where only one arm speaks.

    - both: ``agreement * (wd * dense + wl * lexical) / (wd + wl) + graph_weight * graph``
    - dense only: ``dense + graph_weight * graph``
    - graph without dense: ``graph``, plus ``graph_bonus`` where the lexical arm agrees
    - lexical only: ``lexical_factor * lexical``

    Every result is clipped to [0, 1]; an absent graph score counts 0.

    Parameters
    ----------
    dense, lexical, graph
        shape (…), in [0, 1]; NaN = that arm did not return the memory.
    dense_weight, lexical_weight
        ``wd``, ``wl`` >= 0, not both 0, broadcast. Only their ratio matters.
    agreement, lexical_factor, graph_weight, graph_bonus
        >= 0, broadcast. See above.

    Returns
    -------
    NDArray[np.float64]
        shape (…), in [0, 1]; 0 where no arm returned the memory. Missing one arm costs nothing.

    Raises
    ------
    ParameterError
        If a score lies outside [0, 1], a parameter is negative, or both weights are 0.

    References
    ----------
    RecallNest ``retriever.ts`` ``fuseResults``, called RRF there.

    Examples
    --------
    >>> agreeing_mean([0.8, 0.8, np.nan], [0.6, np.nan, 0.62]).round(6).tolist()
    [0.777, 0.8, 0.62]
    """
    v, b, g = (_score(n, s) for n, s in (("dense", dense), ("lexical", lexical), ("graph", graph)))
    wd = in_range("dense_weight", dense_weight, low=0.0, high_open=True)
    wl = in_range("lexical_weight", lexical_weight, low=0.0, high_open=True)
    if not np.all(wd + wl > 0.0):
        msg = "dense_weight and lexical_weight must not both be 0"
        raise ParameterError(msg)
    agreement = in_range("agreement", agreement, low=0.0, high_open=True)
    lexical_factor = in_range("lexical_factor", lexical_factor, low=0.0, high_open=True)
    graph_weight = in_range("graph_weight", graph_weight, low=0.0, high_open=True)
    graph_bonus = in_range("graph_bonus", graph_bonus, low=0.0, high_open=True)
    has_v, has_b, has_g = ~np.isnan(v), ~np.isnan(b), ~np.isnan(g)
    v, b, g = np.nan_to_num(v), np.nan_to_num(b), np.nan_to_num(g)
    both = (wd * v + wl * b) / (wd + wl) * agreement + graph_weight * g
    found = [has_v & has_b, has_v & ~has_b, ~has_v & has_g, ~has_v & has_b]
    fused = [both, v + graph_weight * g, g + graph_bonus * has_b, b * lexical_factor]
    chosen: FloatArray = np.select(
        list(np.broadcast_arrays(*found)), list(np.broadcast_arrays(*fused)), 0.0
    )
    return np.clip(chosen, 0.0, 1.0)


@fitting
def rescued_sum(
    dense: ArrayLike,
    lexical: ArrayLike,
    *,
    dense_weight: ArrayLike = 0.7,
    lexical_weight: ArrayLike = 0.3,
    rescue_from: ArrayLike = 0.75,
    rescue_share: ArrayLike = 0.92,
) -> FloatArray:
    """Weighted sum that a strong keyword match lifts to a share of its own score.

    - dense found it: ``max(wd * dense + wl * lexical, rescue_share * lexical)``, the second only
      where ``lexical >= rescue_from``; an absent lexical score counts 0
    - lexical only: ``lexical``, unweighted

    Parameters
    ----------
    dense, lexical
        shape (…), in [0, 1]; NaN = that arm did not return the memory.
    dense_weight, lexical_weight
        ``wd``, ``wl`` >= 0, broadcast. A memory only the dense arm found keeps ``wd * dense``.
    rescue_from
        in [0, 1], broadcasts. Lexical score from which a match counts as exact.
    rescue_share
        >= 0, broadcasts. 0 switches the rescue off.

    Returns
    -------
    NDArray[np.float64]
        shape (…), clipped to [0, 1]; 0 where no arm returned the memory.

    Raises
    ------
    ParameterError
        If a score or parameter leaves its range.

    Notes
    -----
    A keyword match alone outranks the same match that the dense arm found too: lexical 0.9 alone
    is 0.9, with dense 0.8 it is ``max(0.83, 0.828)`` (CortexReach/memory-lancedb-pro #978).

    References
    ----------
    memory-lancedb-pro ``retriever.ts`` ``fuseResults``.

    Examples
    --------
    >>> rescued_sum([0.8, 0.5, np.nan], [np.nan, 0.75, 0.62]).round(6).tolist()
    [0.56, 0.69, 0.62]
    """
    v, b = _score("dense", dense), _score("lexical", lexical)
    wd = in_range("dense_weight", dense_weight, low=0.0, high_open=True)
    wl = in_range("lexical_weight", lexical_weight, low=0.0, high_open=True)
    rescue_from = in_range("rescue_from", rescue_from, low=0.0, high=1.0)
    rescue_share = in_range("rescue_share", rescue_share, low=0.0, high_open=True)
    alone = np.isnan(v)
    v, b = np.nan_to_num(v), np.nan_to_num(b)
    rescued = np.where(b >= rescue_from, rescue_share * b, 0.0)
    return np.clip(np.where(alone, b, np.maximum(wd * v + wl * b, rescued)), 0.0, 1.0)


def _score(name: str, values: ArrayLike) -> FloatArray:
    return in_range(name, values, low=0.0, high=1.0, nan_ok=True)
