"""The family of settings a decision allows for, reduced to what can be compared.

In: a metric per setting and case. Out: distinct rows of paired differences to the default and
their sums per cluster, with rounding noise taken out and every case accounted for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from recalltune.errors import ContractError, ParameterError
from recalltune.evaluate.clusters import Clusters

__all__ = ["Direction", "Family"]

Floats = NDArray[np.float64]
Direction = Literal["higher", "lower"]
# Two sums that differ by rounding only must not count as a difference: a hundred such cases
# with the same sign would look like perfect agreement.
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Family:
    """G settings as U distinct rows over N cases in J clusters; higher is better here."""

    values: Floats
    """shape (U, N), metric of each distinct row, turned so that higher is better."""
    row_of: NDArray[np.intp]
    """shape (G,). Distinct row that each setting equals."""
    default: int
    """Setting that is the default."""
    difference: Floats
    """shape (U, N), value minus the default's."""
    sums: Floats
    """shape (U, J), difference summed over each cluster."""
    clusters: Clusters
    dropped: tuple[int, ...]
    """Positions of the cases without a value in any setting."""

    @property
    def base(self) -> int:
        """Distinct row of the default."""
        return int(self.row_of[self.default])

    @property
    def moving(self) -> NDArray[np.bool_]:
        """Which settings change at least one case, shape (G,)."""
        changes: NDArray[np.bool_] = (self.difference != 0).any(axis=1, keepdims=False)
        return changes[self.row_of]

    @classmethod
    def of(
        cls, matrix: Floats, default: int, clusters: Sequence[str], direction: Direction
    ) -> Family:
        """Check and reduce a metric matrix.

        Parameters
        ----------
        matrix
            shape (G, N), NaN only where a case is undefined in all settings.
        default
            Row of the default.
        clusters
            length N, cluster of each case.
        direction
            Which way the metric is better.

        Returns
        -------
        Family
            Distinct rows with their differences.

        Raises
        ------
        ContractError
            If shapes differ, a case lacks a value in some settings only, or no case is defined.
        ParameterError
            If ``default`` or ``direction`` is not allowed.
        """
        _check(matrix, default, clusters, direction)
        defined = _defined_cases(matrix)
        kept = np.flatnonzero(defined)
        # Adding 0 makes -0.0 equal to 0.0 byte by byte.
        turned = matrix[:, kept] * (1.0 if direction == "higher" else -1.0) + 0.0
        rows, row_of = _distinct(turned)
        groups = Clusters.of([clusters[i] for i in kept.tolist()])
        noise = ROUNDING * float(np.abs(turned).max())
        difference = _without_noise(turned[rows] - turned[default], noise)
        return cls(
            values=turned[rows],
            row_of=row_of,
            default=default,
            difference=difference,
            sums=_without_noise(groups.sums(difference), noise * int(groups.sizes.max())),
            clusters=groups,
            dropped=tuple(np.flatnonzero(~defined).tolist()),
        )


def _check(matrix: Floats, default: int, clusters: Sequence[str], direction: str) -> None:
    if matrix.ndim != 2 or len(matrix) < 2 or matrix.shape[1] < 1:
        msg = f"metric_matrix must be (settings >= 2, cases >= 1), got {matrix.shape}"
        raise ContractError(msg)
    if len(clusters) != matrix.shape[1]:
        msg = f"clusters must name one per case, {matrix.shape[1]}, got {len(clusters)}"
        raise ContractError(msg)
    if not 0 <= default < len(matrix):
        msg = f"default must lie in [0, {len(matrix)}), got {default}"
        raise ParameterError(msg)
    if direction not in ("higher", "lower"):
        msg = f"direction must be 'higher' or 'lower', got {direction!r}"
        raise ParameterError(msg)
    if np.isinf(matrix).any():
        raise ContractError("metric_matrix must be finite, got infinity")


def _defined_cases(matrix: Floats) -> NDArray[np.bool_]:
    missing = np.isnan(matrix)
    settings_without = missing.sum(axis=0)
    partly = (settings_without > 0) & (settings_without < len(matrix))
    if partly.any():
        case = int(partly.argmax())
        msg = (
            f"every case must have a value in all settings or in none: case {case} lacks one in "
            f"{settings_without[case]} of {len(matrix)}, first in setting "
            f"{missing[:, case].argmax()}"
        )
        raise ContractError(msg)
    if settings_without.all():
        raise ContractError("the metric is undefined for every case; label some targets")
    defined: NDArray[np.bool_] = settings_without == 0
    return defined


def _distinct(values: Floats) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """First setting of each set of equal rows, rising, and the set each setting is in."""
    seen: dict[bytes, int] = {}
    row_of = [seen.setdefault(row.tobytes(), len(seen)) for row in values]
    _, first = np.unique(row_of, return_index=True)
    return first.astype(np.intp), np.array(row_of, dtype=np.intp)


def _without_noise(values: Floats, noise: float) -> Floats:
    return np.where(np.abs(values) <= noise, 0.0, values)
