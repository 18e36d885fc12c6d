"""Use and age in, tier out: when a memory moves up or down, and when the top is too crowded.

In: tiers as whole numbers (0 peripheral, 1 working, 2 core) and what a memory was used for. Out:
the tier after one evaluation; a memory moves by one evaluation at a time, so replay these at every
use. Nothing in a single ranking moves a tier.
"""

from __future__ import annotations

from math import ceil

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recalltune.rank._check import at_least, fitting, in_range, whole_numbers

__all__ = [
    "CORE",
    "PERIPHERAL",
    "WORKING",
    "composite_tier_move",
    "core_minimum",
    "tier_move",
]

PERIPHERAL, WORKING, CORE = 0, 1, 2

Tiers = NDArray[np.int64]


@fitting
def tier_move(
    tier: ArrayLike,
    access_count: ArrayLike,
    importance: ArrayLike,
    days_since_access: ArrayLike,
    *,
    working_accesses: int = 3,
    working_importance: float = 0.5,
    core_accesses: int = 10,
    core_importance: float = 0.8,
    stale_days: float = 60.0,
    stale_accesses: int = 3,
) -> Tiers:
    """Tier after a look at use and importance; the first rule that fits decides.

    1. peripheral to working: ``n >= working_accesses`` and importance reached
    2. peripheral or working to core: ``n >= core_accesses`` and importance reached
    3. core or working one down: not used for more than ``stale_days`` and ``n < stale_accesses``

    Parameters
    ----------
    tier
        shape (…), 0 peripheral, 1 working, 2 core.
    access_count
        shape (…), accesses ``n``, >= 0.
    importance
        shape (…), in [0, 1].
    days_since_access
        shape (…), days, >= 0; NaN = never used, older than any limit.
    working_accesses
        accesses, >= 0.
    working_importance
        in [0, 1].
    core_accesses
        accesses, >= 0.
    core_importance
        in [0, 1].
    stale_days
        days, >= 0; strictly more is stale.
    stale_accesses
        accesses, >= 0.

    Returns
    -------
    NDArray[np.int64]
        shape (…), tiers. By rule 1 even a memory that core would take goes to working first.

    Raises
    ------
    ParameterError
        If a value leaves its range.

    References
    ----------
    RecallNest ``decay-engine.ts`` ``evaluateTierChange``.

    Examples
    --------
    >>> tier_move([0, 0, 1, 2], [3, 2, 10, 2], [0.5, 0.9, 0.8, 0.9], [1.0, 1.0, 1.0, 61.0]).tolist()
    [1, 0, 2, 1]
    """
    tier = _tiers(tier)
    count = in_range("access_count", access_count, low=0.0, high_open=True)
    importance = in_range("importance", importance, low=0.0, high=1.0)
    days = in_range("days_since_access", days_since_access, low=0.0, nan_ok=True)
    to_working = (count >= at_least("working_accesses", working_accesses, low=0)) & (
        importance >= in_range("working_importance", working_importance, low=0.0, high=1.0)
    )
    to_core = (count >= at_least("core_accesses", core_accesses, low=0)) & (
        importance >= in_range("core_importance", core_importance, low=0.0, high=1.0)
    )
    limit = in_range("stale_days", stale_days, low=0.0)
    stale = (np.isnan(days) | (days > limit)) & (
        count < at_least("stale_accesses", stale_accesses, low=0)
    )
    rules = [
        (tier == PERIPHERAL) & to_working,
        (tier != CORE) & to_core,
        (tier != PERIPHERAL) & stale,
    ]
    return _first(rules, [np.int64(WORKING), np.int64(CORE), tier - 1], tier)


@fitting
def composite_tier_move(
    tier: ArrayLike,
    composite: ArrayLike,
    access_count: ArrayLike,
    importance: ArrayLike,
    age_days: ArrayLike,
    *,
    working_accesses: int = 3,
    working_composite: float = 0.4,
    core_accesses: int = 10,
    core_composite: float = 0.7,
    core_importance: float = 0.8,
    low_composite: float = 0.15,
    old_days: float = 60.0,
) -> Tiers:
    """Tier after a look at the lifecycle composite; one step at most.

    - peripheral to working: ``n >= working_accesses`` and composite reached
    - working to core: accesses, composite and importance reached
    - working to peripheral: composite below ``low_composite``, or older than ``old_days`` with
      ``n < working_accesses``
    - core to working: composite below ``low_composite`` and ``n < working_accesses``

    Parameters
    ----------
    tier
        shape (…), 0 peripheral, 1 working, 2 core.
    composite
        shape (…), >= 0, from `lifecycle_composite`.
    access_count
        shape (…), accesses ``n``, >= 0.
    importance
        shape (…), in [0, 1].
    age_days
        shape (…), days since creation, >= 0.
    working_accesses
        accesses, >= 0.
    working_composite
        in [0, 1].
    core_accesses
        accesses, >= 0.
    core_composite, core_importance, low_composite
        in [0, 1].
    old_days
        days, >= 0; strictly more is old.

    Returns
    -------
    NDArray[np.int64]
        shape (…), tiers.

    Raises
    ------
    ParameterError
        If a value leaves its range.

    References
    ----------
    memory-lancedb-pro ``tier-manager.ts``.

    Examples
    --------
    >>> composite_tier_move([0, 1, 2], [0.63, 0.03, 0.33], [4, 0, 0], 0.5, 100.0).tolist()
    [1, 0, 2]
    """
    tier = _tiers(tier)
    composite = in_range("composite", composite, low=0.0, high_open=True)
    count = in_range("access_count", access_count, low=0.0, high_open=True)
    importance = in_range("importance", importance, low=0.0, high=1.0)
    age = in_range("age_days", age_days, low=0.0, high_open=True)
    rare = count < at_least("working_accesses", working_accesses, low=0)
    low = composite < in_range("low_composite", low_composite, low=0.0, high=1.0)
    alive = composite >= in_range("working_composite", working_composite, low=0.0, high=1.0)
    strong = (
        (count >= at_least("core_accesses", core_accesses, low=0))
        & (composite >= in_range("core_composite", core_composite, low=0.0, high=1.0))
        & (importance >= in_range("core_importance", core_importance, low=0.0, high=1.0))
    )
    old = age > in_range("old_days", old_days, low=0.0)
    rules = [
        (tier == PERIPHERAL) & ~rare & alive,
        (tier == WORKING) & strong,
        (tier == WORKING) & (low | (old & rare)),
        (tier == CORE) & low & rare,
    ]
    return _first(rules, [tier + 1, tier + 1, tier - 1, tier - 1], tier)


def core_minimum(
    core_count: int,
    *,
    core_accesses: int = 10,
    core_importance: float = 0.8,
    crowd: int = 500,
    max_overflow: float = 3.0,
    max_importance: float = 0.98,
) -> tuple[int, float]:
    """What it takes to become core when core is crowded: accesses and importance.

    With ``o = min(core_count / crowd, max_overflow)`` above ``crowd``:
    ``ceil(core_accesses * o)`` and ``min(core_importance * (1 + o) / 2, max_importance)``.

    Parameters
    ----------
    core_count
        Core memories there are, >= 0.
    core_accesses
        accesses, >= 0. What it takes up to ``crowd``.
    core_importance
        in [0, 1]. What it takes up to ``crowd``.
    crowd
        Core memories, >= 1, beyond which it takes more.
    max_overflow
        >= 1. From ``crowd * max_overflow`` on it takes no more than that.
    max_importance
        in [0, 1]. What importance suffices however crowded it is.

    Returns
    -------
    tuple[int, float]
        For `tier_move`: core_accesses, core_importance.

    Raises
    ------
    ParameterError
        If a value leaves its range.

    References
    ----------
    RecallNest ``decay-engine.ts`` ``homeostasisAdjustedThresholds``.

    Examples
    --------
    >>> core_minimum(500), core_minimum(501), core_minimum(3000)
    ((10, 0.8), (11, 0.8008), (30, 0.98))
    """
    count, crowd = at_least("core_count", core_count, low=0), at_least("crowd", crowd, low=1)
    accesses = at_least("core_accesses", core_accesses, low=0)
    importance = float(in_range("core_importance", core_importance, low=0.0, high=1.0))
    ceiling = float(in_range("max_importance", max_importance, low=0.0, high=1.0))
    most = float(in_range("max_overflow", max_overflow, low=1.0, high_open=True))
    if count <= crowd:
        return accesses, importance
    overflow = min(count / crowd, most)
    return ceil(accesses * overflow), min(importance * (0.5 + 0.5 * overflow), ceiling)


def _tiers(tier: ArrayLike) -> Tiers:
    tier = whole_numbers("tier", tier, low=PERIPHERAL)
    in_range("tier", tier, low=PERIPHERAL, high=CORE)
    return tier


def _first(rules: list[NDArray[np.bool_]], then: list[ArrayLike], otherwise: Tiers) -> Tiers:
    shape = np.broadcast_shapes(otherwise.shape, *(rule.shape for rule in rules))
    chosen = np.select(
        [np.broadcast_to(rule, shape) for rule in rules],
        [np.broadcast_to(np.asarray(tier, dtype=np.int64), shape) for tier in then],
        otherwise,
    )
    return chosen.astype(np.int64)
