"""The space of a sweep: parameter addresses and the values each may take."""

from __future__ import annotations

import itertools
import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w

from recalltune.errors import ParameterError, SourceError
from recalltune.pipeline.address import resolve, set_many
from recalltune.pipeline.config import RankingConfig

__all__ = ["LARGEST_GRID", "Space", "load_space"]

LARGEST_GRID = 200_000
"""Points above which a grid has to be confirmed."""
_LARGEST_END = 1e15
"""Of a range: beyond it neighbouring decimals are the same float."""


class Space:
    """A grid: the product of the values of every axis.

    Parameters
    ----------
    axes
        address -> values. A range is written ``{"start": 0.1, "stop": 0.5, "step": 0.1}``; its
        points are decimal, so 0.3 is 0.3 and not 0.30000000000000004.

    Examples
    --------
    >>> Space({"decay.half_life_days": [7, 30], "mmr.lambda_": [0.5, 1.0]}).size
    4
    """

    def __init__(self, axes: Mapping[str, Sequence[Any] | Mapping[str, float]]) -> None:
        if not axes:
            raise ParameterError("a space needs at least one axis, got none")
        self.axes: dict[str, tuple[Any, ...]] = {}
        for address, values in axes.items():
            points = _points(address, values)
            if not points:
                message = f"axis {address!r} needs at least one value, got none"
                raise ParameterError(message)
            twice = [value for value in points if points.count(value) > 1]
            if twice:
                message = f"axis {address!r} holds {twice[0]!r} more than once"
                raise ParameterError(message)
            self.axes[address] = points

    @property
    def size(self) -> int:
        """How many points the grid has."""
        return math.prod(len(values) for values in self.axes.values())

    def points(self) -> Iterator[dict[str, Any]]:
        """Yield every point, the last axis fastest."""
        for values in itertools.product(*self.axes.values()):
            yield dict(zip(self.axes, values, strict=True))

    def resolved(self, config: RankingConfig) -> Space:
        """Return the same space with full addresses, each value checked against its range."""
        axes = {resolve(config, address): values for address, values in self.axes.items()}
        if len(axes) < len(self.axes):
            message = f"two axes address the same parameter: {', '.join(self.axes)}"
            raise ParameterError(message)
        for address, values in axes.items():
            for value in values:
                set_many(config, {address: value})
        return Space(axes)

    def to_toml(self) -> str:
        """Return the TOML text that `load_space` reads back to an equal space."""
        return tomli_w.dumps(
            {"space": {address: list(values) for address, values in self.axes.items()}}
        )

    def __repr__(self) -> str:
        inner = ", ".join(f"{address}: {len(values)}" for address, values in self.axes.items())
        return f"Space({self.size:,} points; {inner})"


def _points(address: str, values: Sequence[Any] | Mapping[str, float]) -> tuple[Any, ...]:
    if isinstance(values, Mapping):
        if set(values) != {"start", "stop", "step"}:
            message = f"axis {address!r}: a range has start, stop, step; got {sorted(values)}"
            raise ParameterError(message)
        return _decimal_range(address, values["start"], values["stop"], values["step"])
    if isinstance(values, str) or not isinstance(values, Sequence | np.ndarray):
        message = f"axis {address!r} must be a list of values or a range, got {values!r}"
        raise ParameterError(message)
    return tuple(value.item() if isinstance(value, np.generic) else value for value in values)


def _decimal_range(address: str, start: float, stop: float, step: float) -> tuple[float, ...]:
    ends = (start, stop, step)
    numbers = all(type(v) in (int, float) and abs(v) < _LARGEST_END for v in ends)
    if not numbers or step <= 0 or stop < start or (stop - start) / step >= LARGEST_GRID:
        message = (
            f"axis {address!r}: a range needs numbers with step > 0, start <= stop and at most "
            f"{LARGEST_GRID:,} points, got start {start!r}, stop {stop!r}, step {step!r}"
        )
        raise ParameterError(message)
    decimals = max(-int(Decimal(repr(v)).as_tuple().exponent) for v in (start, step))
    count = math.floor((stop - start) / step + 1e-9) + 1
    return tuple(round(start + index * step, decimals) for index in range(count))


def load_space(path: str | Path) -> Space:
    """Read a space from TOML: a table ``[space]`` of address = values."""
    file = Path(path)
    if not file.is_file():
        message = f"space {str(path)!r} is not a file"
        raise ParameterError(message)
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        message = f"{path}:1: not TOML: {error}"
        raise SourceError(message) from None
    axes = table.get("space")
    if not isinstance(axes, dict):
        message = f"{path}:1: a space file has one table [space], got {sorted(table)}"
        raise SourceError(message)
    return Space(_flat(axes))


def _flat(node: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in node.items():
        if isinstance(value, Mapping) and set(value) != {"start", "stop", "step"}:
            flat.update(_flat(value, f"{prefix}{key}."))
        else:
            flat[prefix + key] = value
    return flat
