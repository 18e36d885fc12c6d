"""Tiers as use moves them: RecallNest looks at a memory's tier whenever its uses are written."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from recalltune.candidates.table import Candidates
from recalltune.pipeline.stages.recallnest_fade import TIERS, TierDecay
from recalltune.rank.tiers import tier_move
from recalltune.replay.reinforcing.state import Use
from recalltune.replay.reinforcing.uses import Recorded

__all__ = ["Tiers"]

_RULE = TierDecay()
"""Its published thresholds give a tier to a memory that has none of its own."""


@dataclass(frozen=True, eq=False)
class Tiers:
    """One walk's tiers: those that use moved, over those the source states as of each query."""

    recorded: Recorded
    stated: NDArray[np.int64]
    """shape (Q, C), place in `TIERS` that the source states, -1 = inferred by whoever reads it."""
    moved: NDArray[np.int64]
    """shape (number of memories,), place after its last move, -1 = use has moved it nowhere."""
    own: NDArray[np.int64]
    """shape (number of memories,), what was stated when it was shown last."""
    importance: NDArray[np.float64]
    """shape (number of memories,), in [0, 1], when it was shown last."""

    @classmethod
    def of(cls, recorded: Recorded) -> Tiers:
        """Nothing is shown yet, and nothing has moved."""
        table, size = recorded.candidates, len(recorded.ids)
        stated = np.full(table.span.shape, -1, dtype=np.int64)
        if "tier" in table.features:
            named = [TIERS.index(text) if text in TIERS else -1 for text in table.codes["tier"]]
            stated = np.array([*named, -1])[table.feature("tier").astype(np.int64)]
        nowhere = np.full(size, -1, dtype=np.int64)
        return cls(recorded, stated, nowhere, nowhere.copy(), np.full(size, _RULE.missing))

    def note(self, row: int, columns: NDArray[np.intp]) -> None:
        """Take in what the memories of a list are said to be when it is shown.

        A source may restate tier and importance: what it says later must not move a tier now.
        """
        memories = self.recorded.cell[row, columns]
        known = self.recorded.candidates.feature("salience")[row, columns]
        self.importance[memories] = np.where(np.isnan(known), _RULE.missing, known)
        self.own[memories] = self.stated[row, columns]

    def flushed(self, use: Use, memories: NDArray[np.int64]) -> None:
        """Look at memories whose use was just written; each may move one step."""
        count = self.recorded.count[memories] + use.count[memories]
        importance = self.importance[memories]
        # This use is counted already, and whoever infers a tier has not seen it yet.
        core = (importance >= _RULE.core_importance) | (count > _RULE.core_accesses)
        working = (importance >= _RULE.working_importance) | (count > _RULE.working_accesses)
        inferred = np.where(core, 2, np.where(working, 1, 0))
        moved, own = self.moved[memories], self.own[memories]
        here = np.select([moved >= 0, own >= 0], [moved, own], inferred)
        there = tier_move(here, count, importance, np.zeros(memories.size))
        self.moved[memories] = np.where(there == here, moved, there)

    def shown(self, candidates: Candidates, row: int) -> Candidates:
        """Return the table of one query with the tiers as they are now."""
        moved = self.moved[self.recorded.cell[[row]]]
        place = np.where(moved >= 0, moved, self.stated[[row]])
        # Code 0 is no tier of its own; the places follow it.
        return replace(
            candidates,
            features={**candidates.features, "tier": np.where(candidates.valid, place + 1, -1)},
            codes={**candidates.codes, "tier": ("", *TIERS)},
        )
