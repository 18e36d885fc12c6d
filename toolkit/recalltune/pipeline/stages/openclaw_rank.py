"""OpenClaw's last block: projects, named paths first, variety inside each group, the score shown.

In: scores that every other factor has multiplied. Out: the list, and the scores production shows.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, field_validator

from recalltune.candidates.table import Candidates
from recalltune.errors import ContractError
from recalltune.pipeline.bounds import affine_bounds
from recalltune.pipeline.stage import Affine, ScoreStage, State
from recalltune.pipeline.stages.openclaw import exact_tier, like_rank
from recalltune.rank.annotations import project_multiplier
from recalltune.rank.diversity import mmr_batch
from recalltune.rank.likeness import text_likeness
from recalltune.rank.order import round_significant
from recalltune.rank.tokens import TOKENIZERS

__all__ = ["OpenClawRank"]

Floats = NDArray[np.float64]

_SURE = 1e-100
"""Scores below it are those of rows without content; see `openclaw.UNSURE`."""
_UNNAMED, _OUT = 6, 7
"""Group of rows whose path the query does not name; of rows that are no longer there."""
_CELLS = 4_000_000
"""Similarities held at once: of all pairs of spans where they are that few, else query by query."""
_PROJECT_SCOPE = "project:"


class OpenClawRank(ScoreStage):
    """Multiply by the project factor, put named paths first, and diversify inside each group.

    Groups are the tiers of named paths (whole path, last part, stem), rows with content before
    rows without, and then all other rows. A row in a tier is ordered by its score and then shown
    with its project factor alone. A memory without a project, or a query without one, has factor
    1; the scope `project:KEY` of a query makes KEY active.
    """

    kind: Literal["openclaw_rank"] = "openclaw_rank"
    same_project: float = Field(default=1.15, ge=0, le=10)
    """>= 0. Factor where every project of the memory is active."""
    other_project: float = Field(default=0.9, ge=0, le=10)
    """>= 0. Factor where one of them is not."""
    active_projects: tuple[str, ...] = ()
    """Projects that are active for every query, beside the one its scope names."""
    diversify: bool = True
    """False leaves each group in the order of its scores."""
    lambda_: float = Field(default=0.7, ge=0, le=1)
    """[0, 1]. Maximal marginal relevance over the whole group: 1 is relevance only."""
    tokeniser: Literal["openclaw_release", "openclaw_main"] = "openclaw_release"
    """What makes the tokens whose overlap is the similarity."""
    snippet_chars: int = Field(default=700, ge=1, le=1_000_000)
    """UTF-16 units, >= 1. How much of a text is compared."""

    @field_validator("active_projects", mode="before")
    @classmethod
    def _as_tuple(cls, names: Any) -> Any:
        return tuple(names) if isinstance(names, list) else names

    @property
    def compares(self) -> float:
        """The whole list, unless variety is off."""
        return math.inf if self.diversify and self.lambda_ < 1.0 else 0

    def unread(self) -> set[str]:
        """Without variety nothing of it is read; at lambda_ 1 no text is."""
        texts = {"tokeniser", "snippet_chars"}
        if not self.diversify:
            return {"lambda_", *texts}
        return texts if self.lambda_ == 1.0 else set()

    def project_factor(self, candidates: Candidates) -> Floats:
        """Return shape (Q, C)."""
        if "project" not in candidates.features:
            return np.ones(candidates.span.shape)
        code = candidates.feature("project").astype(np.int64)
        factors = np.ones(candidates.span.shape)
        for row, scope in enumerate(candidates.queries["scope"].to_list()):
            active = set(self.active_projects)
            if scope is not None and scope.startswith(_PROJECT_SCOPE):
                active.add(scope.removeprefix(_PROJECT_SCOPE))
            known = project_multiplier(
                candidates.codes["project"],
                active,
                same=self.same_project,
                other=self.other_project,
            )
            # Padding has code -1 and so reads the last element.
            factors[row] = np.array([*known, 1.0])[code[row]]
        return factors

    def affine(self, candidates: Candidates) -> Affine:
        """Scale by the project factor; a row in a tier is set to it."""
        factor = self.project_factor(candidates)
        named = exact_tier(candidates) > 0
        return Affine(np.where(named, 0.0, factor), np.where(named, factor, 0.0))

    def apply(self, state: State, candidates: Candidates, operands: Affine | None = None) -> State:
        """Order the rows by the scores that come in, and show those that go out."""
        operands = self.affine(candidates) if operands is None else operands
        # One of the two is 0 in each cell, the other the factor.
        ranking = state.score * (np.asarray(operands.scale) + np.asarray(operands.shift))
        group = np.where(state.alive, _groups(exact_tier(candidates), ranking), _OUT)
        keys = (-like_rank(candidates), -round_significant(ranking), group)
        order = np.lexsort(keys, axis=-1)
        if self.diversify and self.lambda_ < 1.0:
            group, ranking = (np.take_along_axis(a, order, axis=-1) for a in (group, ranking))
            order = self._varied(order, group, ranking, candidates)
        living = np.take_along_axis(state.alive, order, axis=-1)
        return state.then(score=operands(state.score), order=np.where(living, order, -1))

    def _varied(
        self,
        order: NDArray[np.intp],
        group: NDArray[np.int64],
        ranking: Floats,
        candidates: Candidates,
    ) -> NDArray[np.intp]:
        """Reorder each group; group and ranking are given along the list."""
        queries, size = order.shape
        parts = max(1, _CELLS // max(size * size, 1))
        varied = order.copy()
        for start in range(0, queries, parts):
            part = slice(start, min(start + parts, queries))
            alike = self._likeness(candidates, part)
            lanes = np.arange(alike.shape[0])[:, None, None]
            alike = alike[lanes, order[part, :, None], order[part, None, :]]
            places = _places(ranking[part], alike, group[part], self.lambda_)
            varied[part] = np.take_along_axis(order[part], places, axis=-1)
        return varied

    def _likeness(self, candidates: Candidates, part: slice) -> Floats:
        """Return shape (queries of the part, C, C): how alike their candidates are."""
        if "text" not in candidates.spans.columns:
            raise ContractError("candidates.spans lack the column 'text', which is compared")
        known = candidates.kept("openclaw spans", lambda: np.unique(candidates.span))
        span = candidates.span[part]
        if known.size**2 > _CELLS:
            return np.stack([self._compared(candidates, row) for row in span])
        kept = f"openclaw likeness {self.tokeniser} {self.snippet_chars}"
        every = candidates.kept(kept, lambda: self._compared(candidates, known))
        place = np.searchsorted(known, span)
        return every[place[:, :, None], place[:, None, :]]

    def _compared(self, candidates: Candidates, spans: NDArray[np.int64]) -> Floats:
        """Return shape (n, n): how alike n spans are; padding is compared as the first span."""
        texts = candidates.spans["text"].gather(np.maximum(spans, 0))
        snippets = [_cut(text, self.snippet_chars) for text in texts]
        return text_likeness(snippets, tokenise=TOKENIZERS[self.tokeniser])

    def attainable(self, low: float, high: float) -> tuple[float, float]:
        """Return the bounds under any project factor, and of a row that is set to one."""
        factors = (1.0, self.same_project, self.other_project)
        least, most = affine_bounds((low, high), scale=(min(factors), max(factors)))
        return min(least, *factors), max(most, *factors)


def _groups(tier: NDArray[np.int64], ranking: Floats) -> NDArray[np.int64]:
    """0 and 1: whole path, with content and without. Then last part, stem; 6 is every other row."""
    return np.where(tier > 0, 2 * (3 - tier) + (ranking < _SURE), _UNNAMED)


def _places(
    ranking: Floats, alike: Floats, group: NDArray[np.int64], lambda_: float
) -> NDArray[np.intp]:
    """Places of a list in their new order; groups follow one another in it."""
    places = np.broadcast_to(np.arange(group.shape[1]), group.shape).copy()
    for one in range(_OUT):
        mine = group == one
        if mine.sum(axis=-1).max(initial=0) < 3:
            continue  # of two, the better one is first, however alike they are
        # What has no content has the same score as far as it is shown.
        shown = np.where(np.abs(ranking) < _SURE, 0.0, ranking) if one == _UNNAMED else ranking
        picked = mmr_batch(shown, alike, mine, lambda_=lambda_)
        nth = np.maximum(np.cumsum(mine, axis=-1) - 1, 0)
        places = np.where(mine, np.take_along_axis(picked, nth, axis=-1), places)
    return places


def _cut(text: str, chars: int) -> str:
    """Return the first UTF-16 units of a text, without half a character at the end."""
    if 2 * len(text) <= chars:
        return text
    return text.encode("utf-16-le")[: 2 * chars].decode("utf-16-le", "ignore")
