"""Narrower arms without asking again: rows that they would not propose leave a wider table.

In: a candidate table made with wide arms, and a setup whose arms differ in nothing but how many
rows they propose. Out: the table that setup would have made, so that a width is swept in no time.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from recalltune.candidates.settings import Arms
from recalltune.candidates.table import Candidates
from recalltune.errors import ContractError

__all__ = ["NARROWING", "narrowed", "widest"]

NARROWING = ("width", "min_cosine", "store_limit")
"""Fields of an arm that decide how many rows it proposes and nothing else."""


class Setup(Protocol):
    """What a candidate table is stamped with."""

    @property
    def arms(self) -> Arms: ...
    @property
    def setup(self) -> str: ...


def widest(arms: Arms, width: int) -> Arms:
    """Return the same arms, each proposing up to ``width`` rows whatever their scores."""
    changes: dict[str, Any] = {}
    for name in arms.names:
        arm = getattr(arms, name)
        open_ = {"width": max(width, arm.width), "min_cosine": -1.0, "store_limit": None}
        changes[name] = arm.with_(**{k: v for k, v in open_.items() if k in type(arm).model_fields})
    return arms.with_(**changes)


def narrowed(wide: Candidates, setup: Setup) -> Candidates:
    """Return the rows of ``wide`` that the arms of ``setup`` propose.

    Parameters
    ----------
    wide
        Made with the same admit and the same arms, but for the fields of `NARROWING`.
    setup
        Whose arms propose no more rows than those of ``wide``.

    Returns
    -------
    Candidates
        Notices stay those of the wide table.

    Raises
    ------
    ContractError
        If ``wide`` lacks an arm of ``setup``.
    """
    ranks: dict[str, NDArray[np.float64]] = {}
    for name in setup.arms.names:
        arm, feature = getattr(setup.arms, name), f"{name}_rank"
        if feature not in wide.features:
            message = f"the wider table has no arm {name!r}"
            raise ContractError(message)
        proposes = wide.feature(feature) <= arm.proposed()
        if hasattr(arm, "min_cosine"):
            proposes &= wide.feature(f"{name}_score") >= arm.min_cosine
        ranks[feature] = np.where(proposes, wide.feature(feature), np.nan)
    kept = wide.valid & np.logical_or.reduce([~np.isnan(rank) for rank in ranks.values()])
    # Kept columns move to the left, in their order.
    columns = np.argsort(~kept, axis=1, kind="stable")[:, : int(kept.sum(axis=1).max(initial=0))]

    def along(values: NDArray[Any]) -> NDArray[Any]:
        return np.take_along_axis(values, columns, axis=1)

    return replace(
        wide,
        span=along(np.where(kept, wide.span, -1)),
        features={name: along(ranks.get(name, values)) for name, values in wide.features.items()},
        stamp=replace(wide.stamp, setup=setup.setup),
        _kept={},
    )
