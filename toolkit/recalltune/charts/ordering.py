"""The order of categories: layers in their fixed order, others by name or as told."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from recalltune.errors import ParameterError
from recalltune.pipeline.config import LAYERS

__all__ = ["ordered"]


def ordered(names: Iterable[str], order: Sequence[str] = (), option: str = "order") -> list[str]:
    """Distinct names in the order told; by default layers first in their order, then by name.

    Raises
    ------
    ParameterError
        If an order is given that does not name every value.

    Examples
    --------
    >>> ordered(["log", "zz", "project", "log"])
    ['project', 'log', 'zz']
    """
    present = set(names)
    if order:
        if missing := sorted(present - set(order)):
            msg = f"{option} must name every value, got none for {missing[0]!r}"
            raise ParameterError(msg)
        return [name for name in order if name in present]
    return sorted(present, key=lambda n: (LAYERS.index(n) if n in LAYERS else len(LAYERS), n))
