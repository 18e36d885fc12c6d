"""The walk of a grid: every distinct prefix of stages is applied once.

Settings that agree on their first stages share the state after them, and settings that agree on
a score stage share its operands wherever it stands. The stage functions are the ones a single
run calls, in the same order on the same numbers, so a grid's ranks are a single run's ranks.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from recalltune.candidates.table import Candidates
from recalltune.pipeline.config import RankingConfig
from recalltune.pipeline.run import start
from recalltune.pipeline.stage import Affine, ScoreStage, Stage, State

__all__ = ["walk"]

Visit = Callable[[int, State], None]


def walk(candidates: Candidates, configs: Sequence[RankingConfig], visit: Visit) -> None:
    """Run every config over one candidate table and hand each final state to ``visit``.

    Parameters
    ----------
    candidates
        The table all configs rank; their admit and arms are the caller's to check.
    configs
        The settings. Their stage lists may differ in any way.
    visit
        Called with (position in ``configs``, final state), once each, in no promised order.
    """
    chains = [[(_key(stage), stage) for stage in config.stages] for config in configs]
    operands: dict[str, Affine] = {}

    def descend(members: list[int], depth: int, state: State) -> None:
        branches: dict[str, list[int]] = {}
        for member in members:
            if depth == len(chains[member]):
                visit(member, state)
            else:
                branches.setdefault(chains[member][depth][0], []).append(member)
        for key, branch in branches.items():
            stage = chains[branch[0]][depth][1]
            if isinstance(stage, ScoreStage) and key not in operands:
                operands[key] = stage.affine(candidates)
            descend(branch, depth + 1, stage.apply(state, candidates, operands.get(key)))

    with np.errstate(all="raise", under="ignore"):
        descend(list(range(len(configs))), 0, start(candidates))


def _key(stage: Stage) -> str:
    fields: dict[str, Any] = {**stage.canonical(), "name": ""}
    return json.dumps(fields, sort_keys=True)
