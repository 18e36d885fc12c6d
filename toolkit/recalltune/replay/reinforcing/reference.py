"""The walk as it is defined: each query through the stages of any other run, with use as of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from recalltune.candidates.table import Candidates
from recalltune.replay.reinforcing.rule import AccessRule
from recalltune.replay.reinforcing.split import Part, advance, row_of
from recalltune.replay.reinforcing.state import History, Use
from recalltune.replay.reinforcing.tiers import Tiers
from recalltune.replay.reinforcing.uses import Recorded, with_use

__all__ = ["padded", "walk"]


def walk(
    recorded: Recorded, parts: Sequence[Part], rule: AccessRule, counters: frozenset[int]
) -> NDArray[np.int32]:
    """Walk the queries in time order; what a list uses is seen strictly after its flush.

    Parameters
    ----------
    recorded
        The table at the start of the walk.
    parts
        The config's stages, split where they start to read use.
    rule
        What counts as a use.
    counters
        Those its stages read; each has a state of its own.

    Returns
    -------
    NDArray[np.int32]
        shape (Q, K), candidate columns best first, -1 after the last.
    """
    kept = counters | ({0} if rule.tier_moves else set())
    uses = {number: Use(recorded, rule.counter(number)) for number in sorted(kept)}
    histories = {number: History(recorded) for number in uses}
    tiers = Tiers.of(recorded) if rule.tier_moves else None
    place = {row: (part, at) for part in parts for at, row in enumerate(part.rows.tolist())}
    lists: list[NDArray[np.intp]] = [np.array([], dtype=np.intp)] * recorded.asked.size
    instants, firsts = np.unique(recorded.asked[recorded.order], return_index=True)
    for at, rows in zip(
        instants.tolist(), np.split(recorded.order, firsts[1:]) if firsts.size else [], strict=True
    ):
        for number, use in uses.items():
            for used_at, memories in use.flush(at):
                histories[number].add(used_at, memories)
                if tiers is not None and number == 0:
                    tiers.flushed(use, memories)
        for row in rows.tolist():
            lists[row] = _ranked(recorded, *place[row], row, rule, uses, histories, tiers)
        # All queries of an instant have read before any of them writes.
        for row in rows.tolist():
            if not recorded.silent[row]:
                used = lists[row][: rule.shown_top]
                if tiers is not None:
                    tiers.note(row, used)
                for use in uses.values():
                    use.queue(at, recorded.cell[row, used])
    return padded(lists)


def padded(lists: Sequence[NDArray[np.intp]]) -> NDArray[np.int32]:
    """Return lists of any length as shape (Q, K), -1 after the last."""
    order = np.full((len(lists), max((one.size for one in lists), default=0)), -1, dtype=np.int32)
    for row, one in enumerate(lists):
        order[row, : one.size] = one
    return order


def _ranked(
    recorded: Recorded,
    part: Part,
    at: int,
    row: int,
    rule: AccessRule,
    uses: dict[int, Use],
    histories: dict[int, History],
    tiers: Tiers | None,
) -> NDArray[np.intp]:
    """The list of one query, columns best first."""
    state = row_of(part.before, at)
    seen: dict[int, Candidates] = {}
    for stage in part.rest:
        # A stage that reads no use is told of whichever counter there is.
        number = rule.counter_of(stage) if rule.counter_of(stage) in uses else min(uses)
        if number not in seen:
            now = with_use(recorded.single(row), *uses[number].features(row))
            now = now if tiers is None else tiers.shown(now, row)
            seen[number] = replace(now, uses=histories[number])
        state = advance(stage, state, seen[number])
    order = state.listed()[0]
    shown: NDArray[np.intp] = order[order >= 0]
    return shown
