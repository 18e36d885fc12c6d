"""Moves: one parameter at each of its values, everything else as it stands, against the present.

In: a candidate table, a config and its probes. Out: per parameter, which queries get another list
or other scores. Stages before the moved one are run once; the stage functions are those of a
single run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recalltune.candidates.table import Candidates
from recalltune.errors import RecalltuneError
from recalltune.pipeline.config import RankingConfig
from recalltune.pipeline.run import check_setup, profile_groups, start, steps, with_profile
from recalltune.pipeline.stage import ScoreStage, Stage, State
from recalltune.pipeline.stages.arrange import keep_similarity
from recalltune.sweep.probes import Probe

__all__ = ["SAME", "Moved", "moved_stages", "of_stage", "padded_pair", "with_value"]

Mask = NDArray[np.bool_]
SAME = 1e-12
"""Scores closer than this, relatively, are the same score."""


@dataclass(frozen=True, eq=False)
class Moved:
    """What the values of one parameter change, each against the present one."""

    lists: Mask
    """shape (V, Q): whether the list of a query changes at a value."""
    scores: Mask
    """shape (Q,): whether some score of a query changes at some value."""
    reached: Mask
    """shape (Q, C): candidates whose score or survival the parameter's own stage changes."""
    refused: Mask
    """shape (V,): values that the config or the data do not allow."""
    fixed: Mask
    """shape (Q,): queries whose profile sets the parameter, so that it does not move."""
    candidates: int
    """How many candidates there are."""

    @property
    def reach(self) -> float:
        """The share of candidates that are reached."""
        return float(self.reached.sum() / max(self.candidates, 1))

    @classmethod
    def nothing(cls, probe: Probe, candidates: Candidates) -> Moved:
        """Return what has changed before anything was moved."""
        shape = candidates.span.shape
        values, queries = len(probe.others), shape[0]
        return cls(
            candidates=int(candidates.valid.sum()),
            lists=np.zeros((values, queries), dtype=np.bool_),
            scores=np.zeros(queries, dtype=np.bool_),
            reached=np.zeros(shape, dtype=np.bool_),
            refused=np.zeros(values, dtype=np.bool_),
            fixed=np.zeros(queries, dtype=np.bool_),
        )


def of_stage(probe: Probe) -> bool:
    """Whether the parameter belongs to a stage, and not to admit or an arm."""
    return probe.address.partition(".")[0] not in ("admit", "arms")


def moved_stages(
    candidates: Candidates, config: RankingConfig, probed: Sequence[Probe]
) -> dict[str, Moved]:
    """Return address -> what moving it changes, for every parameter of a stage.

    Raises
    ------
    ContractError
        If the candidates were made with other admit or arms models.
    """
    check_setup(candidates, config)
    mine = [probe for probe in probed if of_stage(probe)]
    bases = {
        profile: (rows, _Base(candidates.take(rows), with_profile(config, profile)))
        for profile, rows in profile_groups(candidates, config).items()
    }
    found = {}
    for probe in mine:
        moved = Moved.nothing(probe, candidates)
        refused = np.ones(len(probe.others), dtype=np.bool_)
        for profile, (rows, base) in bases.items():
            if probe.address in config.profiles.get(profile, {}):
                moved.fixed[rows] = True
            else:
                refused &= _enter(moved, base, probe, rows)
        if not moved.fixed.all():
            # A value counts as tried where some profile allows it.
            moved.refused[:] = refused
        found[probe.address] = moved
    return found


def _enter(moved: Moved, base: _Base, probe: Probe, rows: list[int]) -> Mask:
    """Move one parameter over its values for the queries of one profile; (V,): those refused."""
    refused = np.zeros(len(probe.others), dtype=np.bool_)
    for place, value in enumerate(probe.others):
        change = base.change(probe.address, value)
        if change is None:
            refused[place] = True
        else:
            moved.lists[place, rows], scores, reached = change
            moved.scores[rows] |= scores
            moved.reached[rows] |= reached
    return refused


class _Base:
    """One run of a config, every state kept."""

    def __init__(self, candidates: Candidates, config: RankingConfig) -> None:
        self.candidates, self.stages = candidates, config.stages
        for stage in config.stages:
            # Compared in every run alike, so once.
            if stage.compares and hasattr(stage, "similarity"):
                keep_similarity(candidates, stage.similarity)
        self.places = {stage.name: place for place, stage in enumerate(config.stages)}
        self.states, self.operands = [start(candidates)], []
        for _, operands, state in steps(candidates, config):
            self.states.append(state)
            self.operands.append(operands)
        self.listed = self.states[-1].listed()

    def change(self, address: str, value: Any) -> tuple[Mask, Mask, Mask] | None:
        """Return what one value changes: lists (Q,), scores (Q,), reached (Q, C); None: refused."""
        root, *path = address.split(".")
        place = self.places[root]
        try:
            with np.errstate(all="raise", under="ignore"):
                return self._change(place, with_value(self.stages[place], path, value))
        except (RecalltuneError, FloatingPointError):
            return None

    def _change(self, place: int, stage: Stage) -> tuple[Mask, Mask, Mask]:
        operands = stage.affine(self.candidates) if isinstance(stage, ScoreStage) else None
        before, usual = self.states[place], self.states[place + 1]
        state = stage.apply(before, self.candidates, operands)
        reached = self._apart(state, usual) | (state.alive != usual.alive)
        if not reached.any() and state.order is usual.order and state.places is usual.places:
            none = np.zeros(len(reached), dtype=np.bool_)
            return none, none, reached
        later = zip(self.stages[place + 1 :], self.operands[place + 1 :], strict=True)
        for following, its_operands in later:
            state = following.apply(state, self.candidates, its_operands)
        mine, usual_list = padded_pair(state.listed(), self.listed)
        lists = np.asarray(np.not_equal(mine, usual_list).any(axis=1))
        scores = np.asarray(self._apart(state, self.states[-1]).any(axis=1))
        return lists, scores, reached

    def _apart(self, one: State, other: State) -> Mask:
        larger = np.maximum(np.abs(one.score), np.abs(other.score))
        return self.candidates.valid & (np.abs(one.score - other.score) > SAME * larger)


def with_value(stage: Stage, path: Sequence[str], value: Any) -> Stage:
    """Return a checked copy of a stage with one field, or one key of it, replaced."""
    name, *key = path
    if not key:
        return stage.with_(**{name: value})
    named = dict(getattr(stage, name))
    named.pop(key[0], None)
    return stage.with_(**{name: named if value is None else {**named, key[0]: value}})


def padded_pair(
    one: NDArray[np.intp], other: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return two (Q, P) arrays of columns at the same width, -1 behind the shorter."""
    width = max(one.shape[1], other.shape[1])
    padded = [
        np.pad(order, ((0, 0), (0, width - order.shape[1])), constant_values=-1)
        for order in (one, other)
    ]
    return padded[0], padded[1]
