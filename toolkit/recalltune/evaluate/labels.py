"""Labels of many cases in one ragged layout: the rows every metric adds up.

Labels are sorted by case; ``offsets`` says where each case starts. A case may have no label at
all. Leading axes of the ranks (settings of a sweep) need no copy of anything here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recalltune.errors import ContractError

__all__ = ["CaseLabels", "case_of_label", "per_case_sum", "reduce_by_case"]

NO_ORDER = -1


@dataclass(frozen=True, eq=False)
class CaseLabels:
    """What N cases expect, as L labels sorted by case.

    One memory may carry two labels of a case (a target that is also part of an expected order);
    it then stands in two rows with the same rank. Labels that are not valid at the time of the
    case (not told yet, already gone) are left out by whoever builds this, and counted there.
    """

    offsets: NDArray[np.intp]
    """shape (N + 1,). Labels of case i are rows ``offsets[i]`` to ``offsets[i + 1]``."""
    gains: NDArray[np.float64]
    """shape (L,), grade, >= 0. 0 means the label is not a target."""
    hard_negative: NDArray[np.bool_]
    """shape (L,). The memory must stay out of the top of the list."""
    order: NDArray[np.int64]
    """shape (L,). Position in the expected order of its case, -1 outside of it."""
    groups: NDArray[np.int64] | None = None
    """shape (L,). Targets of one case with the same number are alternatives: one is enough."""

    @property
    def n_cases(self) -> int:
        """Number of cases N."""
        return len(self.offsets) - 1

    @classmethod
    def build(
        cls,
        case_of_label: ArrayLike,
        *,
        n_cases: int,
        gains: ArrayLike | None = None,
        hard_negative: ArrayLike | None = None,
        order: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> CaseLabels:
        """Lay out labels given with the number of their case, rising.

        Parameters
        ----------
        case_of_label
            shape (L,), case numbers 0 to N - 1, never falling.
        n_cases
            N, cases without a label included.
        gains
            shape (L,), grades >= 0; every label is a target of grade 1 if left out.
        hard_negative
            shape (L,), bool; none if left out.
        order
            shape (L,), positions or -1; no order if left out.
        groups
            shape (L,), numbers of alternative answers; every target alone if left out.

        Returns
        -------
        CaseLabels
            The checked layout.

        Raises
        ------
        ContractError
            If cases are not sorted, a shape differs, or a gain is negative or not finite.

        Examples
        --------
        >>> CaseLabels.build([0, 0, 2], n_cases=3).offsets
        array([0, 2, 2, 3])
        """
        case = np.asarray(case_of_label, dtype=np.int64)
        if case.ndim != 1 or (np.diff(case) < 0).any():
            raise ContractError("labels must come as one row sorted by case")
        if len(case) and not 0 <= case[0] <= case[-1] < n_cases:
            msg = f"case numbers must lie in [0, {n_cases}), got {case[0]} to {case[-1]}"
            raise ContractError(msg)
        one = np.ones(len(case))
        labels = cls(
            offsets=np.searchsorted(case, np.arange(n_cases + 1)).astype(np.intp),
            gains=np.asarray(one if gains is None else gains, dtype=np.float64),
            hard_negative=np.asarray(0 * one if hard_negative is None else hard_negative, bool),
            order=np.asarray(NO_ORDER * one if order is None else order, dtype=np.int64),
            groups=None if groups is None else np.asarray(groups, dtype=np.int64),
        )
        for name in ("gains", "hard_negative", "order", "groups"):
            column = getattr(labels, name)
            if column is not None and column.shape != case.shape:
                msg = f"{name} must be {case.shape} to match the labels, got {column.shape}"
                raise ContractError(msg)
        bad = ~(np.isfinite(labels.gains) & (labels.gains >= 0))
        if bad.any():
            at = int(np.flatnonzero(bad)[0])
            msg = f"gains must lie in [0, inf), got {labels.gains[at]} at label {at}"
            raise ContractError(msg)
        return labels


def case_of_label(offsets: NDArray[np.intp], size: int) -> NDArray[np.intp]:
    """Case number of each of ``size`` labels, after checking that the offsets cover them.

    Examples
    --------
    >>> case_of_label(np.array([0, 2, 2, 3]), 3)
    array([0, 0, 2])
    """
    if offsets[0] != 0 or offsets[-1] != size:
        msg = f"offsets must run from 0 to {size}, got {offsets[0]} to {offsets[-1]}"
        raise ContractError(msg)
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))


def per_case_sum(values: NDArray[np.float64], offsets: NDArray[np.intp]) -> NDArray[np.float64]:
    """Sum of a label column over the labels of each case; 0 for a case without labels.

    Parameters
    ----------
    values
        shape (..., L).
    offsets
        shape (N + 1,).

    Returns
    -------
    NDArray[np.float64]
        shape (..., N).

    Examples
    --------
    >>> per_case_sum(np.array([1.0, 2.0, 4.0]), np.array([0, 2, 2, 3]))
    array([3., 0., 4.])
    """
    return reduce_by_case(np.add, values, offsets, empty=0.0)


def reduce_by_case(
    operation: np.ufunc,
    values: NDArray[np.float64],
    offsets: NDArray[np.intp],
    *,
    empty: float,
) -> NDArray[np.float64]:
    """Apply a binary operation (add, fmin, maximum) over the labels of each case."""
    if offsets[0] != 0 or offsets[-1] != values.shape[-1]:
        msg = f"offsets must run from 0 to {values.shape[-1]}, got {offsets[0]} to {offsets[-1]}"
        raise ContractError(msg)
    # reduceat returns an element, not the neutral value, for an empty slice; slices of the cases
    # that have labels touch one another, so the empty ones can simply be left out.
    filled = offsets[:-1] < offsets[1:]
    out = np.full((*values.shape[:-1], len(filled)), empty)
    if filled.any():
        out[..., filled] = operation.reduceat(values, offsets[:-1][filled], axis=-1)
    return out
