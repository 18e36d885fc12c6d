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

__all__ = ["narrowed", "narrows", "widest"]

_NARROWING = ("width", "min_cosine", "store_limit")


def narrows(arms: Arms, address: str) -> bool:
    """Whether a parameter decides how many rows an arm proposes and nothing else.

    Under ``match = "all_then_any"`` the width also decides which rows are asked for.
    """
    root, *path = address.split(".")
    return (
        root == "arms"
        and len(path) == 2
        and path[1] in _NARROWING
        and _cuts(getattr(arms, path[0]))
    )


def _cuts(arm: Any) -> bool:
    """Whether a narrower arm proposes the first rows of a wider one."""
    return getattr(arm, "match", "any") != "all_then_any"


class Setup(Protocol):
    """What a candidate table is stamped with."""

    @property
    def arms(self) -> Arms: ...
    @property
    def setup(self) -> str: ...


def widest(arms: Arms, width: int) -> Arms:
    """Return the same arms, each that `narrows` proposing ``width`` rows whatever their scores."""
    changes: dict[str, Any] = {}
    for name in arms.names:
        arm = getattr(arms, name)
        if not _cuts(arm):
            continue
        open_ = {"width": max(width, arm.width), "min_cosine": -1.0, "store_limit": None}
        changes[name] = arm.with_(**{k: v for k, v in open_.items() if k in type(arm).model_fields})
    return arms.with_(**changes)


def narrowed(wide: Candidates, setup: Setup) -> Candidates:
    """Return the rows of ``wide`` that the arms of ``setup`` propose.

    Parameters
    ----------
    wide
        Made with the same admit and the same arms, but for parameters that `narrows`.
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
