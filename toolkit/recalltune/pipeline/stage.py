"""What a stage is: a frozen model plus one pure function, of one of three forms.

A score stage is affine in the score, so its operands depend on the candidates alone and are
computed once per distinct parameter value, however many settings share them. A filter stage
keeps rows. A list stage rearranges the ordered list. One run walks the stages once; a grid walks
the tree of their distinct prefixes with the very same functions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from recalltune.candidates.table import Candidates
from recalltune.errors import Settings
from recalltune.pipeline.bounds import ArmBounds
from recalltune.pipeline.losses import Losses
from recalltune.rank.order import rank_order
from recalltune.rank.quota import select

__all__ = [
    "Affine",
    "FilterStage",
    "ListStage",
    "Places",
    "ScoreStage",
    "Stage",
    "State",
    "compact",
]

Scores = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Affine:
    """score -> clip(score * scale + shift); the evidence one score stage leaves behind."""

    scale: Scores | float = 1.0
    shift: Scores | float = 0.0
    clamp: tuple[float, float] | None = None

    def __call__(self, score: Scores) -> Scores:
        """Apply to scores of shape (..., Q, C)."""
        moved = score
        if not (isinstance(self.scale, float) and self.scale == 1.0):
            moved = moved * self.scale
        if not (isinstance(self.shift, float) and self.shift == 0.0):
            moved = moved + self.shift
        return moved if self.clamp is None else np.clip(moved, *self.clamp)


@dataclass(frozen=True, eq=False)
class Places:
    """A selection by places: top_k, floors and caps in items, no budget."""

    top_k: int
    layer: NDArray[Any]
    """shape (Q, C), code of each candidate's layer, -1 = padding."""
    floors: NDArray[np.int64]
    """shape (number of layers,)."""
    caps: NDArray[np.int64]
    """shape (number of layers,), -1 = none."""

    @property
    def plain(self) -> bool:
        """Whether only top_k matters."""
        return not self.floors.any() and not (self.caps >= 0).any()

    def of(self, state: State) -> NDArray[np.intp]:
        """Return the list that ``state`` shows under these places."""
        order = state.ordered()
        if self.plain:
            return order[:, : self.top_k]
        layer = state.in_list(self.layer, "layer")
        sizes = np.zeros_like(layer)
        picked = select(layer, sizes, top_k=self.top_k, floors=self.floors, caps=self.caps).picked
        return compact(np.where(picked, order, -1))[:, : self.top_k]


@dataclass(frozen=True, eq=False)
class State:
    """Where a run stands between two stages."""

    score: Scores
    """shape (Q, C)."""
    alive: Mask
    """shape (Q, C)."""
    order: NDArray[np.intp] | None = None
    """shape (Q, P), columns best first, -1 after the last; None while the score alone decides."""
    places: Places | None = None
    """A selection that needs no list to be counted; None shows everything that is alive."""
    _known: dict[str, NDArray[Any]] = field(default_factory=dict)
    """What was derived from this state already; stages that branch off it share it."""

    def ordered(self) -> NDArray[np.intp]:
        """Return every living column, best first, -1 after the last; computed at most once."""
        if "" not in self._known:
            order = rank_order(self.score, self.alive)
            alive = np.take_along_axis(self.alive, order, axis=-1)
            self._known[""] = np.where(alive, order, -1)
        return self._known[""]

    def listed(self) -> NDArray[np.intp]:
        """Return the columns shown, best first, -1 after the last."""
        if self.order is not None:
            return self.order
        return self.ordered() if self.places is None else self.places.of(self)

    def in_list(self, values: NDArray[Any], name: str) -> NDArray[np.int64]:
        """Return a (Q, C) whole-number feature along the list before selection, -1 after it."""
        order = self.ordered() if self.order is None else self.order
        if name not in self._known:
            along = np.take_along_axis(values, np.maximum(order, 0), axis=-1)
            self._known[name] = np.where(order >= 0, along, -1).astype(np.int64)
        return self._known[name]

    def derived(self, name: str, make: Callable[[], NDArray[Any]]) -> NDArray[Any]:
        """Return what ``make`` gives for this score, made at most once under that name."""
        if name not in self._known:
            self._known[name] = make()
        return self._known[name]

    def showing(self, places: Places) -> State:
        """Return the state with a selection; score and list stay, and what they gave."""
        return replace(self, places=places)

    def then(self, **changes: Any) -> State:
        """Return the next state; nothing derived from this one is carried over."""
        return replace(self, _known={}, **changes)


class Stage(Settings, ABC):
    """Base of every stage."""

    kind: str
    name: str = Field(default="", max_length=60, pattern=r"^[a-z0-9_]*$")
    """Unique in its config; empty means: as the kind."""

    form: ClassVar[str]
    fuses: ClassVar[bool] = False
    """Whether it makes the first score out of what the arms gave."""
    gates: ClassVar[bool] = False
    """Whether it looks at the query alone, and so may stand before the fusion."""
    loses: ClassVar[str] = "suppress"
    """What becomes of the rows it takes out of a list; `losses` may tell them apart."""

    @property
    def fades(self) -> bool:
        """Whether it marks memories down for their age; what such stages hide is counted."""
        return False

    @property
    def compares(self) -> float:
        """How many rows of a list it compares with one another: its work is their square."""
        return 0

    def layers_named(self) -> tuple[str, ...]:
        """Return the layers its parameters name, which must be layers of the config."""
        return ()

    def noticed(self, candidates: Candidates) -> Mapping[str, int]:
        """Return name -> count of what it meets among these and a reader should be told."""
        del candidates
        return {}

    def losses(
        self,
        before: State,
        candidates: Candidates,
        query: NDArray[np.intp],
        column: NDArray[np.intp],
    ) -> Losses:
        """Return why rows of the list ``before`` this stage are not in it after.

        ``query`` and ``column`` have shape (L,): the cells of these rows.
        """
        del before, candidates, column
        return Losses.of(self.loses, query.size)

    def unread(self) -> set[str]:
        """Return the fields that have no effect beside the values of the others."""
        return set()

    def canonical(self) -> dict[str, Any]:
        """Return the fields that have an effect; two models with equal ones rank alike."""
        return self.model_dump(mode="json", exclude=self.unread())

    def attainable(self, low: float, high: float) -> tuple[float, float]:
        """Return the lowest and highest score this stage can make of scores in [low, high].

        Whatever the data: a bound from the parameters alone.
        """
        return low, high

    @abstractmethod
    def apply(self, state: State, candidates: Candidates, operands: Affine | None = None) -> State:
        """Advance ``state`` by this stage."""


class ScoreStage(Stage):
    """A stage that moves scores: score * scale + shift, optionally clamped."""

    form: ClassVar[str] = "score"

    @abstractmethod
    def affine(self, candidates: Candidates) -> Affine:
        """Return the operands for every candidate; they never depend on the score."""

    @abstractmethod
    def attainable(self, low: float, high: float) -> tuple[float, float]:
        """Return the lowest and highest score this stage can make of scores in [low, high]."""

    def fused(self, arms: Mapping[str, ArmBounds], only: str | None = None) -> tuple[float, float]:
        """Return `attainable` of a stage that fuses, for a row that some of the arms propose.

        Parameters
        ----------
        arms
            Those that are on.
        only
            The one arm that proposes the row; None: any of them do.
        """
        del arms, only
        return self.attainable(0.0, 0.0)

    def apply(self, state: State, candidates: Candidates, operands: Affine | None = None) -> State:
        """Move the scores; ``operands`` may be handed in where a grid has them already."""
        operands = self.affine(candidates) if operands is None else operands
        return state.then(score=operands(state.score))


class FilterStage(Stage):
    """A stage that drops rows."""

    form: ClassVar[str] = "filter"

    @abstractmethod
    def keeps(self, state: State, candidates: Candidates) -> Mask:
        """Return shape (Q, C), True where a row stays."""

    def asks(self) -> dict[str, float]:
        """Return field -> the score it asks of a row; empty where no score is asked for."""
        return {}

    def minima(self, candidates: Candidates) -> Scores | None:
        """Return shape (Q, C), the score each row has to reach; None where none is asked for."""
        del candidates
        return None

    def losses(
        self,
        before: State,
        candidates: Candidates,
        query: NDArray[np.intp],
        column: NDArray[np.intp],
    ) -> Losses:
        """Return by how much each row misses its minimum, where one is asked for."""
        minima = self.minima(candidates)
        if minima is None:
            return super().losses(before, candidates, query, column)
        missing = minima[query, column] - before.score[query, column]
        return Losses.of(self.loses, query.size, margin=missing, unit="score")

    def apply(self, state: State, candidates: Candidates, operands: Affine | None = None) -> State:
        """Drop the rows, from the list too where one exists."""
        del operands
        alive = state.alive & self.keeps(state, candidates)
        order = state.order
        if order is not None:
            stays = np.take_along_axis(alive, np.maximum(order, 0), axis=-1)
            order = compact(np.where(stays, order, -1))
        return state.then(alive=alive, order=order)


class ListStage(Stage):
    """A stage that rearranges or shortens the ordered list."""

    form: ClassVar[str] = "list"

    @abstractmethod
    def apply(self, state: State, candidates: Candidates, operands: Affine | None = None) -> State:
        """Return the state with its new list."""


def compact(order: NDArray[np.intp]) -> NDArray[np.intp]:
    """Close the gaps (-1) in each list, keeping the order of the rest."""
    gaps_last = np.argsort(order < 0, axis=-1, kind="stable")
    return np.take_along_axis(order, gaps_last, axis=-1)
