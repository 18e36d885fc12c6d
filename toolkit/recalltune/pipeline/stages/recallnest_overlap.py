"""RecallNest's stages for short texts about a memory: anchor boost, and views blended in.

In: candidates whose tables have the optional features. Out: multipliers and blends, unclipped as
production leaves them. Without the features, scores stay as they are.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from recalltune.candidates.table import Candidates
from recalltune.pipeline.bounds import affine_bounds
from recalltune.pipeline.stage import Affine, ScoreStage
from recalltune.pipeline.stages.recallnest_keep import count_words
from recalltune.rank.overlap import blend_views, content_words, word_overlap

__all__ = ["AnchorBoost", "ViewBlend"]


class AnchorBoost(ScoreStage):
    """Multiply by 1 + weight * overlap of the query's words with the memory's anchor text.

    Reads the optional coded feature `anchor`, a few words that say what a memory is about.
    """

    kind: Literal["anchor_boost"] = "anchor_boost"
    weight: float = Field(default=0.25, ge=0, le=10)
    """>= 0. Bonus where query and anchor have the same words; 0 is off."""
    coverage: float = Field(default=0.7, ge=0, le=1)
    """[0, 1]. How much it counts that the query's words are met; the rest, that the anchor holds
    little else."""

    def unread(self) -> set[str]:
        """At weight 0 nothing else is read."""
        return set() if self.weight else {"coverage"}

    def overlap(self, candidates: Candidates) -> NDArray[np.float64]:
        """Return shape (Q, C), >= 0; 0 without an anchor."""
        if "anchor" not in candidates.features:
            return np.zeros(candidates.span.shape)
        anchors = [content_words(text) for text in candidates.codes["anchor"]]
        asked = [content_words(text or "") for text in candidates.queries["text"].to_list()]
        shares = [
            [word_overlap(query, anchor, coverage=self.coverage) for anchor in anchors]
            for query in asked
        ]
        # Padding has code -1 and so reads the last column.
        known = np.pad(np.array(shares).reshape(len(asked), len(anchors)), ((0, 0), (0, 1)))
        return np.take_along_axis(known, candidates.feature("anchor").astype(np.int64), axis=1)

    def affine(self, candidates: Candidates) -> Affine:
        """Scale by the bonus."""
        return Affine(1.0 + self.weight * self.overlap(candidates))

    def attainable(self, low: float, high: float) -> tuple[float, float]:
        """Return the bounds; a query that repeats a word has no greatest overlap."""
        largest = 1.0 + self.weight if self.coverage == 1 or not self.weight else math.inf
        return affine_bounds((low, high), scale=(1.0, largest))


class ViewBlend(ScoreStage):
    """Blend in how well a memory's abstract and its overview match; short queries more.

    Reads the optional features `abstract_score` and `overview_score`, in [0, 1]; shares of a view
    that is missing go to the others. Not part of the preset: production has it behind a flag that
    is off.
    """

    kind: Literal["view_blend"] = "view_blend"
    short_words: int = Field(default=3, ge=0, le=1_000)
    """>= 0. Up to this many counted words a query is short; see `count_words`."""
    long_words: int = Field(default=10, ge=0, le=1_000)
    """>= 0. With more counted words than this it is long."""
    short_abstract: float = Field(default=0.25, ge=0, le=0.5)
    """[0, 0.5]. Share of the abstract for short queries."""
    short_overview: float = Field(default=0.25, ge=0, le=0.5)
    """[0, 0.5]. Share of the overview for short queries; the score has the rest."""
    middle_abstract: float = Field(default=0.20, ge=0, le=0.5)
    """[0, 0.5]."""
    middle_overview: float = Field(default=0.15, ge=0, le=0.5)
    """[0, 0.5]."""
    long_abstract: float = Field(default=0.10, ge=0, le=0.5)
    """[0, 0.5]."""
    long_overview: float = Field(default=0.10, ge=0, le=0.5)
    """[0, 0.5]."""

    def shares(self, candidates: Candidates) -> NDArray[np.float64]:
        """Return shape (2, Q, 1): the shares of abstract and overview for each query."""
        words = np.array([count_words(t or "") for t in candidates.queries["text"].to_list()])
        lengths = [words <= self.short_words, words > self.long_words]
        return np.stack(
            [
                np.select(lengths, [self.short_abstract, self.long_abstract], self.middle_abstract),
                np.select(lengths, [self.short_overview, self.long_overview], self.middle_overview),
            ]
        )[:, :, np.newaxis]

    def affine(self, candidates: Candidates) -> Affine:
        """Scale by what the score keeps, shift by what the views add."""
        names = ("abstract_score", "overview_score")
        views = np.stack([candidates.optional(name) for name in names])
        shares = np.broadcast_to(self.shares(candidates), views.shape)
        nothing = np.where(np.isnan(views), np.nan, 0.0)
        kept = blend_views(np.ones(views.shape[1:]), nothing, shares=shares)
        added = blend_views(np.zeros(views.shape[1:]), views, shares=shares)
        return Affine(kept, added)

    def attainable(self, low: float, high: float) -> tuple[float, float]:
        """Return the bounds of a mean of the score and views in [0, 1]."""
        return min(low, 0.0), max(high, 1.0)
