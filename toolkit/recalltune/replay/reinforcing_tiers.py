"""Tiers as use moves them: RecallNest looks at a memory's tier whenever its uses are written."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from recalltune.candidates.table import Candidates
from recalltune.pipeline.stages.recallnest_fade import TIERS, TierDecay
from recalltune.rank.tiers import tier_move
from recalltune.replay.reinforcing_state import Use
from recalltune.replay.reinforcing_uses import Recorded

__all__ = ["Tiers"]

_RULE = TierDecay()
"""Its published thresholds give a tier to a memory that has none of its own."""


@dataclass(frozen=True, eq=False)
class Tiers:
    """One walk's tiers; a memory without a tier of its own has one from its first move on."""

    recorded: Recorded
    place: NDArray[np.int64]
    """shape (number of memories,), place in `TIERS`, -1 = inferred by whoever reads it."""
    importance: NDArray[np.float64]

    @classmethod
    def of(cls, recorded: Recorded) -> Tiers:
        """Read the tiers and the importance the memories have without any use."""
        table, valid = recorded.candidates, recorded.candidates.valid
        place = np.full(len(recorded.ids), -1, dtype=np.int64)
        importance = np.full(len(recorded.ids), _RULE.missing)
        cell, known = recorded.cell[valid], table.feature("salience")[valid]
        importance[cell] = np.where(np.isnan(known), _RULE.missing, known)
        if "tier" in table.features:
            named = [TIERS.index(text) if text in TIERS else -1 for text in table.codes["tier"]]
            place[cell] = np.array([*named, -1])[table.feature("tier")[valid].astype(np.int64)]
        return cls(recorded, place, importance)

    def flushed(self, use: Use, memories: NDArray[np.int64]) -> None:
        """Look at memories whose use was just written; each may move one step."""
        count = self.recorded.count[memories] + use.count[memories]
        importance = self.importance[memories]
        core = (importance >= _RULE.core_importance) | (count > _RULE.core_accesses)
        working = (importance >= _RULE.working_importance) | (count > _RULE.working_accesses)
        inferred = np.where(core, 2, np.where(working, 1, 0))
        own = self.place[memories]
        here = np.where(own < 0, inferred, own)
        there = tier_move(here, count, importance, np.zeros(memories.size))
        self.place[memories] = np.where(there == here, own, there)

    def shown(self, candidates: Candidates, row: int) -> Candidates:
        """Return the table of one query with the tiers as they are now."""
        place = np.where(candidates.valid, self.place[self.recorded.cell[[row]]], -1)
        # Code 0 is no tier of its own; the places follow it.
        return replace(
            candidates,
            features={**candidates.features, "tier": np.where(candidates.valid, place + 1, -1)},
            codes={**candidates.codes, "tier": ("", *TIERS)},
        )
