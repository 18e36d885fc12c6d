"""Bounds of a score: the lowest and the highest it can be, and what an affine step makes of them.

In: bounds as pairs (low, high), infinite where there is none. Out: the same. What no datum can
pass is known before a run: a threshold outside its bounds, or a boost larger than what it boosts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from recalltune.candidates.settings import Arms

__all__ = ["ANY_ARM", "ArmBounds", "Bounds", "affine_bounds", "arm_bounds"]

Bounds = tuple[float, float]
"""(lowest, highest)."""


@dataclass(frozen=True)
class ArmBounds:
    """What one arm can say of a row it proposes."""

    score: Bounds
    """Of its raw score."""
    width: float
    """The worst rank it gives; the best is 1."""


ANY_ARM = ArmBounds((-math.inf, math.inf), math.inf)
"""An arm of which nothing is known."""


def arm_bounds(arms: Arms) -> Mapping[str, ArmBounds]:
    """Return the bounds of every arm that is on."""
    on = {name: getattr(arms, name) for name in arms.names}
    return {name: ArmBounds(arm.attainable(), arm.proposed()) for name, arm in on.items()}


def affine_bounds(
    score: Bounds,
    *,
    scale: Bounds = (1.0, 1.0),
    shift: Bounds = (0.0, 0.0),
    clamp: Bounds | None = None,
) -> Bounds:
    """Return the bounds of ``clip(score * scale + shift)``.

    Parameters
    ----------
    score, scale, shift
        Bounds; score and shift may be infinite.
    clamp
        What the result is clipped to; None is nothing.

    Examples
    --------
    >>> affine_bounds((0.0, 1.0), scale=(0.5, 1.0), shift=(0.0, 0.1))
    (0.0, 1.1)
    """
    # A score of 0 stays 0 under any factor, an infinite one too.
    corners = [0.0 if 0.0 in (s, f) else s * f for s in score for f in scale]
    low, high = min(corners) + shift[0], max(corners) + shift[1]
    if clamp is None:
        return low, high
    return min(max(low, clamp[0]), clamp[1]), min(max(high, clamp[0]), clamp[1])
