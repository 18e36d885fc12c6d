"""Which sessions a sweep may tune on, and which are held out for the last word."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Literal

from recalltune.errors import ContractError

__all__ = ["Split", "hold_out"]

Split = Literal["tune", "held_out"]


def hold_out(
    sessions: Sequence[str],
    given: Sequence[Split | None],
    *,
    share: float = 1 / 3,
) -> list[Split]:
    """Split cases by whole sessions, the same way every time and on every machine.

    Sessions are taken in the order of the SHA-256 of their ids until at least a third of all cases
    is held out, so a set that is loaded under another name keeps its split. A split given for
    one case holds for its session. The last session left for tuning is never taken.

    Parameters
    ----------
    sessions
        length N, session of each case.
    given
        length N, split fixed in the file, or none.
    share
        in [0, 1), share of cases to hold out.

    Returns
    -------
    list[Split]
        length N.

    Raises
    ------
    ContractError
        If one session has cases fixed in both splits.

    Examples
    --------
    >>> hold_out(["a", "a", "b", "c"], ["held_out", None, None, None])
    ['held_out', 'held_out', 'tune', 'tune']
    """
    split: dict[str, Split] = {}
    for session, fixed in zip(sessions, given, strict=True):
        if fixed is not None and split.setdefault(session, fixed) != fixed:
            msg = f"session {session!r} must lie in one split, got cases in tune and in held_out"
            raise ContractError(msg)
    size = {session: sessions.count(session) for session in dict.fromkeys(sessions)}
    held = sum(size[session] for session, fixed in split.items() if fixed == "held_out")
    free = sorted((s for s in size if s not in split), key=_draw)
    tunes = sum(fixed == "tune" for fixed in split.values()) + len(free)
    for session in free:
        take = held < share * len(sessions) and tunes > 1
        split[session] = "held_out" if take else "tune"
        held += size[session] if take else 0
        tunes -= take
    return [split[session] for session in sessions]


def _draw(session: str) -> tuple[str, str]:
    return hashlib.sha256(session.encode()).hexdigest(), session
