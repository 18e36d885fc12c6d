"""Lists of ids in, ranks by memory out: what several searches returned, made ready to fuse.

In: for each arm the ids it returned, best first. Out: one column a memory and one row an arm, NaN
where the arm did not return the memory. Only ids decide what is the same memory, never texts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from recalltune.errors import ParameterError
from recalltune.rank._check import FloatArray

__all__ = ["ranks_of_lists"]


def ranks_of_lists(
    lists: Mapping[str, Sequence[str]], *, memory_of: Mapping[str, str] | None = None
) -> tuple[tuple[str, ...], FloatArray]:
    """Ranks of every memory in every list: ``rank = 1 + memories before it in the list``.

    An id that a list holds twice counts where it stands first, and the ranks after it close up;
    so do the chunks of one memory, once ``memory_of`` names their memory.

    Parameters
    ----------
    lists
        arm -> its ids, best first. Arms become rows in the order of their names.
    memory_of
        chunk id -> id of its memory; an id that it does not name is its own memory. None = no
        chunks.

    Returns
    -------
    tuple[tuple[str, ...], NDArray[np.float64]]
        n ids, rising, which is the order that breaks ties; and shape (arms, n), ranks >= 1, NaN =
        not returned.

    Raises
    ------
    ParameterError
        If an arm returned an id that is not text, or a bare text instead of a list.

    References
    ----------
    Ours; the ranks are what `rrf` takes.

    Examples
    --------
    >>> ids, ranks = ranks_of_lists({"dense": ["m", "t"], "sparse": ["t", "t", "u"]})
    >>> ids, ranks.tolist()
    (('m', 't', 'u'), [[1.0, 2.0, nan], [nan, 1.0, 2.0]])
    """
    memories = {
        arm: list(dict.fromkeys(_memory(arm, one, memory_of) for one in _ids(arm, lists[arm])))
        for arm in sorted(lists)
    }
    ids = tuple(sorted(set().union(*memories.values())))
    column = {memory: place for place, memory in enumerate(ids)}
    ranks = np.full((len(memories), len(ids)), np.nan)
    for row, listed in zip(ranks, memories.values(), strict=True):
        row[[column[memory] for memory in listed]] = np.arange(1, len(listed) + 1)
    return ids, ranks


def _ids(arm: str, listed: Sequence[str]) -> Sequence[str]:
    if isinstance(listed, str):
        msg = f"arm {arm!r} must return a list of ids, got the text {listed[:40]!r}"
        raise ParameterError(msg)
    return listed


def _memory(arm: str, one: object, memory_of: Mapping[str, str] | None) -> str:
    if not isinstance(one, str):
        msg = f"arm {arm!r} must return ids as text, got {type(one).__name__} ids such as {one!r}"
        raise ParameterError(msg)
    return one if memory_of is None else memory_of.get(one, one)
