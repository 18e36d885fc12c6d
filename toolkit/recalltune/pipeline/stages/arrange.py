"""List stages: diversity, and the selection that layer places and the budget make."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from recalltune.candidates.table import Candidates
from recalltune.errors import ContractError
from recalltune.pipeline.losses import Losses, places_in
from recalltune.pipeline.stage import Affine, ListStage, Places, State, compact
from recalltune.rank.diversity import cosine_matrix, defer_batch, jaccard, mmr_batch
from recalltune.rank.quota import select
from recalltune.rank.refusals import refusals

__all__ = ["Defer", "Diversify", "Select", "keep_similarity"]


_SMALL = 64
"""Up to this many candidates a query, all similarities are computed once and kept."""
_KEPT = "similarity {}"
_FEW_SPANS, _REUSE = 2_000, 4
"""Up to so many spans all pairs are computed once and kept, if one list needs a good part of them:
a pair has the same bits in any batch."""


def pool_similarity(
    candidates: Candidates, columns: NDArray[np.intp], kind: str
) -> NDArray[np.float64]:
    """Return shape (Q, P, P): similarities among P columns of each query, whatever is padding."""
    if candidates.span.shape[1] > _SMALL and not candidates.keeps(_KEPT.format(kind)):
        return _similarity(candidates, columns, kind)
    whole = keep_similarity(candidates, kind)
    queries = np.arange(columns.shape[0])[:, None, None]
    return whole[queries, columns[:, :, None], columns[:, None, :]]


def keep_similarity(candidates: Candidates, kind: str) -> NDArray[np.float64]:
    """Return shape (Q, C, C), made once: for tables that are small, or ranked many times."""
    every = np.broadcast_to(np.arange(candidates.span.shape[1]), candidates.span.shape)
    return candidates.kept(_KEPT.format(kind), lambda: _similarity(candidates, every, kind))


def _similarity(
    candidates: Candidates, columns: NDArray[np.intp], kind: str
) -> NDArray[np.float64]:
    spans = np.maximum(np.take_along_axis(candidates.span, columns, axis=1), 0)
    count, pairs = candidates.spans.height, spans.shape[0] * spans.shape[1] ** 2
    if count <= _FEW_SPANS and count**2 <= _REUSE * pairs:
        every = np.arange(count)[None, :]
        whole = candidates.kept(
            f"similarity of spans {kind}", lambda: _among(candidates, every, kind)
        )
        similarity: NDArray[np.float64] = whole[0][spans[:, :, None], spans[:, None, :]]
        return similarity
    return _among(candidates, spans, kind)


def _among(candidates: Candidates, spans: NDArray[np.int64], kind: str) -> NDArray[np.float64]:
    """Shape (Q, P, P): similarities among P spans of each query."""
    if kind == "jaccard":
        if candidates.token_sets is None:
            raise ContractError("candidates hold no token sets; the lexical arm makes them")
        sets = candidates.token_sets
        size = spans.shape[1]
        found = [jaccard([sets[int(span)] for span in row]) for row in spans]
        return np.stack(found) if found else np.zeros((0, size, size))
    if candidates.vectors is None:
        raise ContractError(
            "similarity 'cosine' needs vectors and no encoder ran; use similarity = 'jaccard'"
        )
    return cosine_matrix(candidates.vectors[spans])


class Diversify(ListStage):
    """Maximal marginal relevance over the top of the list; the rest follows unchanged."""

    kind: Literal["mmr"] = "mmr"
    lambda_: float = Field(default=1.0, ge=0, le=1)
    """[0, 1]. 1 is relevance only and leaves the order as it was; 0 is novelty only."""
    pool: int = Field(default=50, ge=1, le=1_000)
    """>= 1. How many places from the top take part."""
    similarity: Literal["cosine", "jaccard"] = "cosine"
    """Between vectors, or between token sets."""

    @property
    def compares(self) -> float:
        """The pool, unless variety is off."""
        return self.pool if self.lambda_ < 1.0 else 0

    def unread(self) -> set[str]:
        """At lambda_ 1 neither pool nor similarity matters."""
        return {"pool", "similarity"} if self.lambda_ == 1.0 else set()

    def apply(self, state: State, candidates: Candidates, operands: Affine | None = None) -> State:
        """Reorder the pool of every query; relevance is min-maxed inside the pool."""
        del operands
        if self.lambda_ == 1.0:
            return state
        order = state.listed().copy()
        pool = order[:, : self.pool]
        present = pool >= 0
        columns = np.maximum(pool, 0)
        relevance = np.take_along_axis(state.score, columns, axis=1)
        similarity = pool_similarity(candidates, columns, self.similarity)
        picked = mmr_batch(relevance, similarity, present, lambda_=self.lambda_)
        reordered = np.take_along_axis(pool, np.maximum(picked, 0), axis=1)
        order[:, : self.pool] = np.where(picked >= 0, reordered, -1)
        return state.then(order=order)


class Defer(ListStage):
    """Move a row to the tail when it is too similar to one already kept; nothing is removed."""

    kind: Literal["defer"] = "defer"
    threshold: float = Field(default=0.85, ge=-1, le=1)
    """[-1, 1]. Strictly more similar rows are deferred; 1 is off."""
    similarity: Literal["cosine", "jaccard"] = "cosine"
    """Between vectors, or between token sets."""
    pool: int | None = Field(default=None, ge=1, le=1_000)
    """>= 1. How many places from the top take part; the rest follows unchanged. None: all."""

    @property
    def compares(self) -> float:
        """The pool, unless deferral is off."""
        if self.threshold == 1.0:
            return 0
        return math.inf if self.pool is None else self.pool

    def unread(self) -> set[str]:
        """At threshold 1 nothing else matters."""
        return {"similarity", "pool"} if self.threshold == 1.0 else set()

    def canonical(self) -> dict[str, Any]:
        """Without a pool there is none to name."""
        said = super().canonical()
        return {name: value for name, value in said.items() if value is not None}

    def apply(self, state: State, candidates: Candidates, operands: Affine | None = None) -> State:
        """Reorder each list; scores stay."""
        del operands
        # Equal texts may end a rounding above 1, which is no difference.
        if self.threshold == 1.0:
            return state
        order = state.listed().copy()
        pool = order[:, : self.pool]
        similarity = pool_similarity(candidates, np.maximum(pool, 0), self.similarity)
        places = defer_batch(similarity, pool >= 0, threshold=self.threshold)
        order[:, : self.pool] = np.take_along_axis(pool, places, axis=1)
        return state.then(order=order)


class Select(ListStage):
    """Fill top_k places: floors first, then by rank under caps, all within the token budget."""

    loses: ClassVar[str] = "limit"

    kind: Literal["select"] = "select"
    top_k: int = Field(default=10, ge=1, le=1_000)
    """>= 1. Places in the list."""
    floors: dict[str, int] = Field(default_factory=dict)
    """layer -> places reserved for its best items."""
    caps: dict[str, int] = Field(default_factory=dict)
    """layer -> most places it may take; a layer that is not named has none."""
    budget_tokens: int | None = Field(default=None, ge=1)
    """Tokens, >= 1; None is no budget. An item larger than it can never fit and is counted."""
    packer: Literal["skip", "prefix"] = "skip"
    """skip: pass over an item that does not fit. prefix: stop at the first that does not."""

    @model_validator(mode="after")
    def _floors_fit(self) -> Select:
        for name, places in (("floors", self.floors), ("caps", self.caps)):
            if any(count < 0 for count in places.values()):
                message = f"{name} must be >= 0 for every layer"
                raise ValueError(message)
        promised = sum(self.floors.values())
        if promised > self.top_k:
            message = f"floors promise {promised} places but top_k is {self.top_k}"
            raise ValueError(message)
        for layer, floor in self.floors.items():
            if floor > self.caps.get(layer, floor):
                message = f"floors.{layer} {floor} is above caps.{layer} {self.caps[layer]}"
                raise ValueError(message)
        return self

    def layers_named(self) -> tuple[str, ...]:
        """Return the layers with a floor or a cap."""
        return (*self.floors, *self.caps)

    def unread(self) -> set[str]:
        """Without a budget there is nothing to pack."""
        return {"packer"} if self.budget_tokens is None else set()

    def canonical(self) -> dict[str, Any]:
        """Floors of 0 promise nothing."""
        floors = {layer: places for layer, places in sorted(self.floors.items()) if places}
        return {**super().canonical(), "floors": floors, "caps": dict(sorted(self.caps.items()))}

    def apply(self, state: State, candidates: Candidates, operands: Affine | None = None) -> State:
        """Shorten each list."""
        del operands
        layer = candidates.feature("layer")
        floors, caps = self._limits(candidates)
        if self.budget_tokens is None and state.order is None:
            return state.showing(Places(self.top_k, layer, floors, caps))
        order = state.listed()
        selection = select(
            state.in_list(layer, "layer"),
            state.in_list(candidates.feature("tokens"), "tokens"),
            top_k=self.top_k,
            floors=floors,
            caps=caps,
            budget_tokens=self.budget_tokens,
            packer=self.packer,
        )
        return state.then(order=compact(np.where(selection.picked, order, -1))[:, : self.top_k])

    def losses(
        self,
        before: State,
        candidates: Candidates,
        query: NDArray[np.intp],
        column: NDArray[np.intp],
    ) -> Losses:
        """Return what was in each row's way: size, a cap, a floor, the places or the budget."""
        asked, lane = np.unique(query, return_inverse=True)
        whole = before.ordered() if before.order is None else before.listed()
        order = whole[asked]
        at = np.maximum(order, 0)
        floors, caps = self._limits(candidates)
        found = refusals(
            np.where(order >= 0, np.take_along_axis(candidates.feature("layer")[asked], at, 1), -1),
            np.take_along_axis(candidates.feature("tokens")[asked], at, 1).astype(np.int64),
            top_k=self.top_k,
            floors=floors,
            caps=caps,
            budget_tokens=self.budget_tokens,
            packer=self.packer,
        )
        place = places_in(order, lane, column)
        return Losses.refused(found, order, lane, place, unit="tokens")

    def _limits(self, candidates: Candidates) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Floors and caps of the layers there are; a cap of -1 is none."""
        layers = candidates.codes["layer"]
        floors = np.array([self.floors.get(name, 0) for name in layers], dtype=np.int64)
        caps = np.array([self.caps.get(name, -1) for name in layers], dtype=np.int64)
        return floors, caps
