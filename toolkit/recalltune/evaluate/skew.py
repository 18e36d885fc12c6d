"""Guard against winners that skew alone makes.

Sign changes assume that, without a real gain, a difference is as likely to be negative as positive
at every size. Many small gains against few large losses break that, and the rare loss may simply
not have occurred yet.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recalltune.evaluate.maxt import MaxT, student_scale

__all__ = ["hall_t", "skew_guard"]

Floats = NDArray[np.float64]


def hall_t(t: Floats, skewness: Floats, clusters: int) -> Floats:
    """Student's t corrected for skew (Hall 1992): lower where rare large losses are at work."""
    root = np.sqrt(clusters)
    tilt = skewness * t**2 / (3 * root) + skewness**2 * t**3 / (27 * clusters)
    corrected: Floats = t + tilt + skewness / (6 * root)
    return corrected


def skew_guard(sums: Floats, test: MaxT) -> NDArray[np.bool_]:
    """Which settings stay above the critical value when their skew is allowed for.

    Sign changes assume symmetry. Many small gains against a few large losses break it; for such
    a setting both t and Hall's t must exceed the critical value.

    Parameters
    ----------
    sums
        shape (G, J).
    test
        From `max_t` on the same sums.

    Returns
    -------
    NDArray[np.bool_]
        shape (G,). Whether the setting stays above.
    """
    clusters = sums.shape[1]
    t = student_scale(test.statistic, clusters)
    above = t > test.critical_t
    rows = sums[above]
    centred = rows - rows.mean(axis=1, keepdims=True)
    squared = centred * centred
    variance, third = squared.mean(axis=1), (squared * centred).mean(axis=1)
    skewed = variance > 1e-24
    skewness = np.divide(third, variance**1.5, out=np.zeros(len(rows)), where=skewed)
    # Clusters that agree completely have an infinite t and no skew to correct for.
    finite = np.isfinite(t[above])
    corrected = hall_t(np.where(finite, t[above], 0.0), skewness, clusters)
    holds = above.copy()
    holds[above] = ~finite | (corrected > test.critical_t)
    return holds
