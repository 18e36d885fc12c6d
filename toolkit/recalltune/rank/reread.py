"""Rereading: which entries of a packed list give their gist up for the messages behind it.

In: characters of entries and of their messages, which messages may be shown, a budget. Out: what
became of each message, and which entries are replaced. Messages are read whole or not at all, and
what is withheld has no influence: neither its length nor its place moves anything else.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recalltune.errors import ParameterError
from recalltune.rank._check import at_least, whole_numbers

__all__ = ["OUTCOMES", "Reread", "reread"]

OUTCOMES = ("read", "read above", "withheld", "too long")
"""What becomes of a message, by code."""
_READ, _ABOVE, _WITHHELD, _TOO_LONG = range(len(OUTCOMES))


@dataclass(frozen=True, slots=True, eq=False)
class Reread:
    """What one list reads again.

    Attributes
    ----------
    outcome
        shape (K, P), place in `OUTCOMES`, -1 = no message.
    replaced
        shape (K,), True where the original stands instead of the entry.
    chars
        Characters of the whole list afterwards, <= the budget.
    """

    outcome: NDArray[np.int8]
    replaced: NDArray[np.bool_]
    chars: int


def reread(
    entry_chars: ArrayLike,
    message: ArrayLike,
    message_chars: ArrayLike,
    may_show: ArrayLike,
    *,
    budget_chars: int,
) -> Reread:
    """Spend what a list leaves of its budget on originals.

    1. Best entry first, each entry's own message takes the place of the entry, if the list then
       still fits: ``used - entry + message <= budget``. An own message that stands further up
       already only takes the entry away.
    2. Then, in the same order, the other messages of these exchanges are added, each if it fits.

    Parameters
    ----------
    entry_chars
        shape (K,), characters, whole numbers >= 0: the list as it stands, best first.
    message
        shape (K, P), whole numbers: the same number is the same message, -1 = none. Column 0 is
        the entry's own message, the others are those around it, in their order.
    message_chars
        shape (K, P), characters, whole numbers >= 0. Not read where nothing may be shown.
    may_show
        shape (K, P), bool.
    budget_chars
        Characters, >= 0 and enough for the list as it stands.

    Returns
    -------
    Reread
        Outcomes of shape (K, P), replaced entries of shape (K,), and characters, <= the budget.

    Raises
    ------
    ParameterError
        If shapes differ, a number is out of range, or the list does not fit into its budget.

    References
    ----------
    HEL-847 plan, the step it proposes after a hit (``reread_turn``), here within the budget.

    Examples
    --------
    >>> found = reread([30, 20], [[0, 1], [2, -1]], [[60, 40], [25, 0]],
    ...                [[True, False], [True, False]], budget_chars=80)
    >>> found.replaced.tolist(), found.chars
    ([True, False], 80)
    >>> [[OUTCOMES[code] for code in row if code >= 0] for row in found.outcome.tolist()]
    [['read', 'withheld'], ['too long']]
    """
    entries = whole_numbers("entry_chars", entry_chars, low=0)
    messages = whole_numbers("message", message, low=-1)
    shown = np.asarray(may_show, dtype=np.bool_)
    if entries.ndim != 1 or messages.ndim != 2 or messages.shape[0] != entries.size:
        msg = (
            "entry_chars must have shape (K,) and message (K, P), "
            f"got {entries.shape} and {messages.shape}"
        )
        raise ParameterError(msg)
    sizes = np.asarray(message_chars)
    for name, array in (("message_chars", sizes), ("may_show", shown)):
        if array.shape != messages.shape:
            msg = f"{name} must have the shape of message, {messages.shape}, got {array.shape}"
            raise ParameterError(msg)
    # What may not be shown is not even measured.
    sizes = whole_numbers("message_chars", np.where(shown, sizes, 0), low=0)
    budget, used = at_least("budget_chars", budget_chars, low=0), int(entries.sum())
    if used > budget:
        msg = f"budget_chars must hold the list as it stands, {used} characters, got {budget}"
        raise ParameterError(msg)
    outcome = np.where(messages < 0, -1, np.where(shown, _TOO_LONG, _WITHHELD)).astype(np.int8)
    replaced = np.zeros(entries.size, dtype=np.bool_)
    read: set[int] = set()
    own_first = [(k, 0) for k in range(entries.size)]
    others = [(k, p) for k in range(entries.size) for p in range(1, messages.shape[1])]
    for k, p in own_first[: entries.size * min(messages.shape[1], 1)] + others:
        if outcome[k, p] != _TOO_LONG:
            continue
        gives_up = int(entries[k]) if p == 0 else 0
        above = int(messages[k, p]) in read
        after = used - gives_up + (0 if above else int(sizes[k, p]))
        if after > budget:
            continue
        outcome[k, p] = _ABOVE if above else _READ
        replaced[k] |= p == 0
        read.add(int(messages[k, p]))
        used = after
    return Reread(outcome, replaced, used)
