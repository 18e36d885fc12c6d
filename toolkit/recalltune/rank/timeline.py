"""Spans in the order in which they enter: what exists at an instant is a prefix, less what left.

In: when each span enters and leaves. Out: for any instant, how many members of a list (the holders
of a word, the spans of a scope) exist, without looking at one of them. An event at time e is seen
at t iff e < t.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recalltune.errors import ParameterError
from recalltune.rank._check import whole_numbers

__all__ = ["NEVER_US", "DatedLists", "Instants", "Timeline"]

NEVER_US = np.iinfo(np.int64).max
"""``leaves`` of a span that stays."""


@dataclass(frozen=True, slots=True, eq=False)
class Instants:
    """Q instants as a timeline counts them.

    Attributes
    ----------
    entered
        shape (Q,), spans that entered strictly before each instant: a prefix of the places.
    left
        shape (Q,), spans that left strictly before it.
    """

    entered: NDArray[np.int64]
    left: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Timeline:
    """n spans by (enters, row), leaving out those that leave as they enter.

    Attributes
    ----------
    rows
        shape (n,), row of the span at each place in time.
    places
        shape (S,), place of each row; -1 for a span that is never there.
    enters
        shape (n,), microseconds, rising.
    leaving
        shape (L,), microseconds, rising: the instants at which spans leave.
    leave_rank
        shape (n,), position of each place's span in ``leaving``; -1 for one that stays.
    """

    rows: NDArray[np.intp]
    places: NDArray[np.int64]
    enters: NDArray[np.int64]
    leaving: NDArray[np.int64]
    leave_rank: NDArray[np.int64]

    @classmethod
    def of(cls, enters: ArrayLike, leaves: ArrayLike) -> Self:
        """Order S spans in time.

        Parameters
        ----------
        enters
            shape (S,), microseconds. A span is seen after it, never at it.
        leaves
            shape (S,), microseconds; `NEVER_US` = stays. A span is seen at it, never after it.

        Raises
        ------
        ParameterError
            If the shapes differ or an instant is no whole number.

        Examples
        --------
        >>> line = Timeline.of([5, 3, 4], [9, NEVER_US, 4])
        >>> line.rows.tolist(), line.instants([4, 6, 10]).entered.tolist()
        ([1, 0], [1, 2, 2])
        >>> line.instants([9, 10]).left.tolist()
        [0, 1]
        """
        lowest = int(np.iinfo(np.int64).min)
        start = whole_numbers("enters", enters, low=lowest)
        end = whole_numbers("leaves", leaves, low=lowest)
        if start.ndim != 1 or start.shape != end.shape:
            message = f"leaves must have the shape of enters, got {end.shape} and {start.shape}"
            raise ParameterError(message)
        there = np.flatnonzero(start < end)
        rows = there[np.argsort(start[there], kind="stable")]
        places = np.full(start.shape, -1, dtype=np.int64)
        places[rows] = np.arange(rows.size)
        gone = np.flatnonzero(end[rows] < NEVER_US)
        by_leaving = gone[np.argsort(end[rows][gone], kind="stable")]
        rank = np.full(rows.size, -1, dtype=np.int64)
        rank[by_leaving] = np.arange(by_leaving.size)
        return cls(rows, places, start[rows], end[rows][by_leaving], rank)

    def instants(self, at: ArrayLike) -> Instants:
        """Count what entered and what left strictly before each of (Q,) instants."""
        when = np.asarray(at, dtype=np.int64)
        return Instants(
            np.searchsorted(self.enters, when, "left"), np.searchsorted(self.leaving, when, "left")
        )


@dataclass(frozen=True, slots=True, eq=False)
class DatedLists:
    """Lists of spans, each in order of entering, and beside them the same in order of leaving.

    Attributes
    ----------
    order, starts
        shape (P,) and (G + 1,). Members of list g, by time, are ``order[starts[g]:starts[g + 1]]``.
    places
        shape (P,), place in time of ``order``'s members, rising within a list.
    leave_order, leave_starts
        The same for members that leave, by the instant of leaving.
    """

    order: NDArray[np.intp]
    starts: NDArray[np.int64]
    places: NDArray[np.int32]
    leave_order: NDArray[np.intp]
    leave_starts: NDArray[np.int64]
    _entering: NDArray[np.int64]
    _leaving: NDArray[np.int64]
    _stride: int

    @classmethod
    def build(
        cls, group: NDArray[np.int64], place: NDArray[np.int64], groups: int, timeline: Timeline
    ) -> Self:
        """Sort P members, given as (list, place in time) each, into G lists."""
        stride = timeline.rows.size + 1
        entering = group * stride + place
        order = np.argsort(entering, kind="stable")
        rank = timeline.leave_rank[place]
        gone = np.flatnonzero(rank >= 0)
        leaving = group[gone] * stride + rank[gone]
        by_leaving = np.argsort(leaving, kind="stable")
        entering, leaving = entering[order], leaving[by_leaving]
        ends = np.arange(groups + 1, dtype=np.int64) * stride
        return cls(
            order=order,
            starts=np.searchsorted(entering, ends),
            places=place[order].astype(np.int32),
            leave_order=gone[by_leaving],
            leave_starts=np.searchsorted(leaving, ends),
            _entering=entering,
            _leaving=leaving,
            _stride=stride,
        )

    def until(
        self, lists: NDArray[np.int64], entered: NDArray[np.int64], left: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return positions in ``order`` and ``leave_order`` where what came before ends.

        Parameters
        ----------
        lists
            shape (E,), numbers of lists.
        entered, left
            shape (E,), from `Timeline.instants`.
        """
        # Needles in order walk through memory once, instead of jumping about in it.
        order = np.argsort(lists, kind="stable")
        first = lists[order] * self._stride
        stop, gone = np.empty_like(lists), np.empty_like(lists)
        stop[order] = np.searchsorted(self._entering, first + entered[order])
        gone[order] = np.searchsorted(self._leaving, first + left[order])
        return stop, gone
