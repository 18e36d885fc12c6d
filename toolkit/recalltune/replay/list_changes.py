"""Two lists of ids in, what changed from one to the other out: a pure comparison.

In: the ids that were shown before and after, best first. Out: what entered, left and moved, the
share that changed, and the rank-biased overlap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from recalltune.errors import ContractError
from recalltune.rank import rank_biased_overlap

__all__ = ["ListChange", "list_change"]


@dataclass(frozen=True)
class ListChange:
    """What one list has become; ranks count from 1."""

    left: tuple[tuple[str, int], ...]
    """(id, rank before) of what is in the list before only, best first."""
    entered: tuple[tuple[str, int], ...]
    """(id, rank after) of what is in the list after only, best first."""
    moved: tuple[tuple[str, int, int], ...]
    """(id, rank before, rank after) of what is in both at another rank, by rank after."""
    kept: int
    """Ids in both at the same rank."""
    rbo: float
    """Rank-biased overlap, in [0, 1]; 1 = the same list, or the start of it."""

    @property
    def length(self) -> int:
        """Ids in the list after."""
        return self.kept + len(self.moved) + len(self.entered)

    @property
    def churn(self) -> float:
        """``1 - |before and after| / max(|before|, |after|)``, in [0, 1]; two empty lists 0."""
        both = self.kept + len(self.moved)
        longer = both + max(len(self.left), len(self.entered))
        return 1.0 - both / longer if longer else 0.0


def list_change(before: Sequence[str], after: Sequence[str], *, p: float = 0.9) -> ListChange:
    """Compare two lists of ids.

    Parameters
    ----------
    before, after
        Ids, best first, each at most once in a list.
    p
        in (0, 1), of `rank_biased_overlap`.

    Raises
    ------
    ParameterError
        If p is not in (0, 1), or a list holds an id twice.

    Examples
    --------
    >>> change = list_change(["a", "b", "c", "d"], ["b", "a", "c", "e"])
    >>> change.left, change.entered, change.moved
    ((('d', 4),), (('e', 4),), (('b', 2, 1), ('a', 1, 2)))
    >>> change.kept, change.churn
    (1, 0.25)
    """
    rbo = rank_biased_overlap(before, after, p=p)
    was = {one: rank for rank, one in enumerate(before, start=1)}
    now = {one: rank for rank, one in enumerate(after, start=1)}
    moved = tuple((one, was[one], rank) for one, rank in now.items() if was.get(one, rank) != rank)
    change = ListChange(
        left=tuple((one, rank) for one, rank in was.items() if one not in now),
        entered=tuple((one, rank) for one, rank in now.items() if one not in was),
        moved=moved,
        kept=sum(was.get(one) == rank for one, rank in now.items()),
        rbo=rbo,
    )
    if change.length != len(after):
        raise ContractError("what entered, moved and stayed must make up the list after")
    return change
