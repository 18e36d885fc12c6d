"""RecallNest's choice among versions: of memories that say the same thing, one is shown.

In: candidates and a state. Out: fewer rows.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from recalltune.candidates.table import Candidates
from recalltune.errors import ParameterError, nearest
from recalltune.pipeline.losses import Losses
from recalltune.pipeline.stage import FilterStage, State
from recalltune.rank.versions import best_versions, version_rank

__all__ = ["BestVersion"]

_OWN = "version_group"


class BestVersion(FilterStage):
    """Keep of every group of versions the one with the most worth and use.

    The group is the text of a coded feature; an empty one is no group. Production's own is
    `version_group`, which our tables do not have: without it, and without another name in `by`,
    everything stays.
    """

    kind: Literal["best_version"] = "best_version"
    by: str = Field(default=_OWN, pattern=r"^[a-z_]+$", max_length=60)
    """Coded feature whose text names the group, such as version_group, scope, category."""
    importance_share: float = Field(default=0.5, ge=0, le=1)
    """[0, 1]. Share of importance in a version's worth; the rest is confidence."""
    missing_importance: float = Field(default=0.5, ge=0, le=1)
    """[0, 1]. Importance taken for a memory that has none."""
    missing_confidence: float = Field(default=0.7, ge=0, le=1)
    """[0, 1]. Confidence taken for a memory that has none."""

    def rank(self, candidates: Candidates) -> NDArray[np.float64]:
        """Return shape (Q, C), how much each row counts among its versions."""
        importance, confidence = candidates.feature("salience"), candidates.feature("confidence")
        return version_rank(
            np.where(np.isnan(importance), self.missing_importance, importance),
            np.where(np.isnan(confidence), self.missing_confidence, confidence),
            candidates.feature("access_count"),
            importance_share=self.importance_share,
        )

    def keeps(self, state: State, candidates: Candidates) -> NDArray[np.bool_]:
        """Keep the best of each group in the list; of equals the one that stands first."""
        kept = np.ones(candidates.span.shape, dtype=np.bool_)
        if self.by not in candidates.codes:
            if self.by == _OWN:
                return kept
            message = f"by names the feature {self.by!r}; {nearest(self.by, candidates.codes)}"
            raise ParameterError(message)
        order = state.listed()
        at = np.maximum(order, 0)
        code = candidates.feature(self.by).astype(np.int64)
        group = np.where(code == candidates.code(self.by, ""), -1, code)
        best = best_versions(
            np.take_along_axis(self.rank(candidates), at, axis=1),
            np.take_along_axis(group, at, axis=1),
            order >= 0,
        )
        query, place = np.nonzero((order >= 0) & ~best)
        kept[query, order[query, place]] = False
        return kept

    def losses(
        self,
        before: State,
        candidates: Candidates,
        query: NDArray[np.intp],
        column: NDArray[np.intp],
    ) -> Losses:
        """Return which version each row stood behind, and how much more that one counts."""
        order, rank, code = before.listed(), self.rank(candidates), candidates.feature(self.by)
        ours = (code[query] == code[query, column][:, np.newaxis]) & before.alive[query]
        # Of equals the one that stands first is kept; a stable maximum along the list finds it.
        along = np.maximum(order[query], 0)
        mine = np.take_along_axis(ours, along, axis=1) & (order[query] >= 0)
        worth = np.where(mine, np.take_along_axis(rank[query], along, axis=1), -np.inf)
        best = order[query, worth.argmax(axis=1)]
        more = rank[query, best] - rank[query, column]
        return Losses.of(self.loses, query.size, margin=more, unit="worth", by=best)
