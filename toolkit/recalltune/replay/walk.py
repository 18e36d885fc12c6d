"""One run of a config with every state kept: what each stage was given and what it left.

In: candidates of one profile, a config. Out: the states in order, and the run without one stage.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recalltune.candidates.table import Candidates
from recalltune.pipeline.config import RankingConfig
from recalltune.pipeline.run import profile_groups, start, steps, with_profile
from recalltune.pipeline.stage import Affine, Stage, State

__all__ = ["BLOCK", "Walk", "in_list", "walks"]

BLOCK = 256
"""Queries whose states are held at once."""


@dataclass(frozen=True, eq=False)
class Walk:
    """The run of one config over some queries, one profile."""

    rows: tuple[int, ...]
    """Rows of the whole table these queries are."""
    candidates: Candidates
    stages: tuple[Stage, ...]
    states: tuple[State, ...]
    """One more than stages: stage i was given ``states[i]`` and left ``states[i + 1]``."""
    operands: tuple[Affine | None, ...]

    def without(self, skipped: int) -> State:
        """Return the last state of the same run with one stage passed over."""
        state = self.states[skipped]
        rest = zip(self.stages[skipped + 1 :], self.operands[skipped + 1 :], strict=True)
        for stage, operands in rest:
            with np.errstate(all="raise", under="ignore"):
                state = stage.apply(state, self.candidates, operands)
        return state

    def changes(self, stage: int) -> bool:
        """Whether a stage left another score, another list or fewer rows."""
        before, after = self.states[stage], self.states[stage + 1]
        same = (
            before.order is after.order
            and before.places is after.places
            and np.array_equal(before.alive, after.alive)
            and np.array_equal(before.score, after.score)
        )
        return not same


def walks(
    candidates: Candidates, config: RankingConfig, rows: NDArray[np.intp] | None = None
) -> Iterator[Walk]:
    """Yield the run of ``config`` in blocks of queries; a case's profile is honoured.

    Parameters
    ----------
    candidates
        Made for ``config``.
    config
        The ranking.
    rows
        Queries that are walked; None walks all.
    """
    wanted = set(range(candidates.queries.height)) if rows is None else set(rows.tolist())
    for profile, members in profile_groups(candidates, config).items():
        setting = with_profile(config, profile)
        mine = [row for row in members if row in wanted]
        for begin in range(0, len(mine), BLOCK):
            block = mine[begin : begin + BLOCK]
            yield _walked(candidates.take(block), setting, tuple(block))


def _walked(part: Candidates, config: RankingConfig, rows: tuple[int, ...]) -> Walk:
    walked = list(steps(part, config))
    return Walk(
        rows=rows,
        candidates=part,
        stages=tuple(stage for stage, _, _ in walked),
        states=(start(part), *(state for _, _, state in walked)),
        operands=tuple(operands for _, operands, _ in walked),
    )


def in_list(state: State) -> NDArray[np.bool_]:
    """Return shape (Q, C): which rows are in the list as it stands."""
    if state.order is None and state.places is None:
        return state.alive
    order = state.listed()
    query, place = np.nonzero(order >= 0)
    mine = np.zeros(state.alive.shape, dtype=np.bool_)
    mine[query, order[query, place]] = True
    return mine
