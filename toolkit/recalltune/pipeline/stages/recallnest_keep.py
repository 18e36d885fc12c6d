"""RecallNest's cuts: what is active, the minimum per category, one place for every source.

In: candidates and a state. Out: fewer rows, or the same list in another order.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import Field

from recalltune.candidates.table import Candidates
from recalltune.pipeline.losses import Losses
from recalltune.pipeline.stage import Affine, FilterStage, ListStage, State
from recalltune.pipeline.stages.weigh import by_code
from recalltune.rank.order import round_significant
from recalltune.rank.overlap import content_words

__all__ = [
    "CATEGORIES",
    "Active",
    "CategoryMinimum",
    "SimilarityMinimum",
    "SourceDiversity",
    "count_words",
    "short_queries",
]

CATEGORIES = ("profile", "preferences", "entities", "events", "cases", "patterns")
"""The categories with a minimum of their own."""
_DAY_US = 86_400_000_000


def count_words(text: str) -> int:
    """Return how many words production counts in a query: its content words, repeats included.

    Examples
    --------
    >>> count_words("how to tune decay"), count_words("数据库 迁移"), count_words("a")
    (2, 5, 0)
    """
    return len(content_words(text))


def short_queries(candidates: Candidates, short_words: int) -> NDArray[np.bool_]:
    """Return shape (Q, 1), True for queries of up to that many counted words."""
    texts = candidates.queries["text"].to_list()
    short = [text is not None and count_words(text) <= short_words for text in texts]
    return np.array(short, dtype=np.bool_)[:, np.newaxis]


class Active(FilterStage):
    """Drop what was superseded or retracted before the query's time."""

    loses: ClassVar[str] = "status"

    kind: Literal["active"] = "active"
    superseded: Literal["hide", "show"] = "hide"
    """hide: drop entries that another one has replaced."""
    retracted: Literal["hide", "show"] = "hide"
    """hide: drop entries that were taken back, archived or merged away."""

    def keeps(self, state: State, candidates: Candidates) -> NDArray[np.bool_]:
        """Keep what is current."""
        dropped = np.zeros(candidates.span.shape, dtype=bool)
        for name in ("superseded", "retracted"):
            if getattr(self, name) == "hide":
                dropped |= candidates.feature(name) > 0
        return ~dropped

    def losses(
        self,
        before: State,
        candidates: Candidates,
        query: NDArray[np.intp],
        column: NDArray[np.intp],
    ) -> Losses:
        """Return how long each row has been hidden; NaN where the table has no times."""
        asked = candidates.queries["asked_at"].to_numpy()[query]
        span, days = candidates.span[query, column], np.full(query.size, np.nan)
        for name in ("superseded", "retracted"):
            if getattr(self, name) == "hide" and f"{name}_at" in candidates.spans.columns:
                known = candidates.spans[f"{name}_at"].cast(pl.Float64).fill_null(np.nan).to_numpy()
                since = (asked - known[span]) / _DAY_US
                days = np.fmax(days, np.where(since > 0, since, np.nan))
        return Losses.of(self.loses, query.size, margin=days, unit="days")


class CategoryMinimum(FilterStage):
    """Keep rows whose score reaches the minimum of their category; lower for short queries."""

    loses: ClassVar[str] = "threshold"

    kind: Literal["category_minimum"] = "category_minimum"
    profile: float = Field(default=0.25, ge=0, le=1)
    """[0, 1]."""
    preferences: float = Field(default=0.25, ge=0, le=1)
    """[0, 1]."""
    entities: float = Field(default=0.30, ge=0, le=1)
    """[0, 1]."""
    events: float = Field(default=0.35, ge=0, le=1)
    """[0, 1]."""
    cases: float = Field(default=0.40, ge=0, le=1)
    """[0, 1]."""
    patterns: float = Field(default=0.45, ge=0, le=1)
    """[0, 1]."""
    other: float = Field(default=0.35, ge=0, le=1)
    """[0, 1]. Every other category; production's file calls it hardMinScore."""
    uncategorised: Literal[
        "profile", "preferences", "entities", "events", "cases", "patterns", "other"
    ] = "other"
    """Whose minimum a memory without a category has; production's import files it under events."""
    short_factor: float = Field(default=0.6, ge=0, le=1)
    """[0, 1]. Factor on every minimum when the query is short; 1 is off."""
    short_words: int = Field(default=4, ge=0, le=100)
    """>= 0. Up to this many counted words a query is short; see `count_words`."""
    unless_empty: bool = True
    """True: a query of which no row would be left keeps them all (production asks once more,
    without minima, so it can never abstain)."""

    def asks(self) -> dict[str, float]:
        """The minimum of each category, for queries that are not short."""
        return {name: getattr(self, name) for name in (*CATEGORIES, "other")}

    def minima(self, candidates: Candidates) -> NDArray[np.float64]:
        """Return shape (Q, C), the minimum of each row."""
        named = {name: getattr(self, name) for name in CATEGORIES}
        named[""] = getattr(self, self.uncategorised)
        minimum = by_code(candidates, "category", named, other=self.other)
        return minimum * np.where(
            short_queries(candidates, self.short_words), self.short_factor, 1.0
        )

    def keeps(self, state: State, candidates: Candidates) -> NDArray[np.bool_]:
        """Compare, then give the queries that would be empty everything back."""
        reached = state.score >= self.minima(candidates)
        return _unless_empty(reached, state) if self.unless_empty else reached


class SimilarityMinimum(FilterStage):
    """Keep rows whose similarity, the score the fusion gave, reaches a minimum."""

    loses: ClassVar[str] = "threshold"

    kind: Literal["similarity_minimum"] = "similarity_minimum"
    min_score: float = Field(default=0.3, ge=0, le=1)
    """[0, 1]. Production's file calls it minScore. No vector scores less than 1/3."""
    short_factor: float = Field(default=0.6, ge=0, le=1)
    """[0, 1]. Factor on it when the query is short; 1 is off."""
    short_words: int = Field(default=4, ge=0, le=100)
    """>= 0. Up to this many counted words a query is short; see `count_words`."""
    unless_empty: bool = True
    """True: a query of which no row would be left keeps them all, as in `CategoryMinimum`."""

    def asks(self) -> dict[str, float]:
        """The minimum, as long queries have it."""
        return {"min_score": self.min_score}

    def minima(self, candidates: Candidates) -> NDArray[np.float64]:
        """Return shape (Q, C), the minimum of each row."""
        short = short_queries(candidates, self.short_words)
        asked = self.min_score * np.where(short, self.short_factor, 1.0)
        return np.broadcast_to(asked, candidates.span.shape)

    def keeps(self, state: State, candidates: Candidates) -> NDArray[np.bool_]:
        """Compare, then give the queries that would be empty everything back."""
        reached = state.score >= self.minima(candidates)
        return _unless_empty(reached, state) if self.unless_empty else reached


def _unless_empty(reached: NDArray[np.bool_], state: State) -> NDArray[np.bool_]:
    """What reached a minimum, and every row of the queries of which nothing did."""
    empty = ~(reached & state.alive).any(axis=1, keepdims=True)
    return reached | empty


class SourceDiversity(ListStage):
    """Where rows would be cut, put one row of every scope first, then the rest in list order.

    A scope is stood for by its first row in the list; those rows follow one another by score.
    """

    kind: Literal["source_diversity"] = "source_diversity"
    places: int = Field(default=10, ge=1, le=1_000)
    """>= 1. Lists up to this long are left alone: the top_k of the select stage that follows."""
    min_scopes: int = Field(default=3, ge=1, le=1_000)
    """>= 1. With fewer scopes in the list it is left alone."""

    def apply(self, state: State, candidates: Candidates, operands: Affine | None = None) -> State:
        """Reorder each list; scores stay, and the result is no longer in score order."""
        del operands
        order = state.listed()
        listed = order >= 0
        scope = np.take_along_axis(candidates.feature("scope"), np.maximum(order, 0), axis=1)
        first = _first_of_each(np.where(listed, scope, np.iinfo(np.int64).max)) & listed
        crowded = listed.sum(axis=1) > self.places
        spread = crowded & (first.sum(axis=1) >= self.min_scopes)
        leads = spread[:, None] & first
        later = np.where(listed, spread[:, None] & ~first, 2)
        score = np.take_along_axis(state.score, np.maximum(order, 0), axis=1)
        # Stable: equal scores, and all rows that do not lead, stay in list order.
        falling = np.where(leads, -round_significant(np.where(leads, score, 0.0)), 0.0)
        places = np.lexsort((falling, later), axis=1)
        return state.then(order=np.take_along_axis(order, places, axis=1))


def _first_of_each(codes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """True where a row's code occurs for the first time."""
    grouped = np.argsort(codes, axis=1, kind="stable")
    ordered = np.take_along_axis(codes, grouped, axis=1)
    opens = np.ones(codes.shape, dtype=bool)
    opens[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    first = np.empty_like(opens)
    np.put_along_axis(first, grouped, opens, axis=1)
    return first
