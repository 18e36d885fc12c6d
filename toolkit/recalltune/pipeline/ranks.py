"""Ranks of the labelled items by counting, never by sorting."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from recalltune.pipeline.stage import Places, State
from recalltune.rank.order import round_significant

__all__ = ["LabelSlots", "ranks_in_list", "ranks_of"]

# Rounding to 12 significant digits moves a value by at most half a unit of its last digit, a
# relative 5e-12; two values further apart than twice that keep their order.
_NEAR = 1.01e-11


class LabelSlots:
    """Where the labelled items stand in a candidate table.

    Parameters
    ----------
    query
        shape (L,); row of the candidate table.
    column
        shape (L,); column there, -1 where the item is no candidate.
    """

    def __init__(self, query: NDArray[np.intp], column: NDArray[np.intp]) -> None:
        self.query = np.asarray(query, dtype=np.intp)
        self.column = np.asarray(column, dtype=np.intp)
        self.present = self.column >= 0
        self.at = np.maximum(self.column, 0)


def ranks_of(state: State, slots: LabelSlots) -> NDArray[np.float64]:
    """Return shape (L,): the 1-based rank each labelled item is shown at, NaN where it is not."""
    if state.order is not None:
        return ranks_in_list(state.order, slots)
    lost = ~slots.present | ~state.alive[slots.query, slots.at]
    above = state.derived("above", lambda: _above(state, slots, lost))
    places = state.places
    if places is None or places.plain:
        ranks = 1.0 + state.derived("count", lambda: above.sum(axis=1))
        deep = np.inf if places is None else places.top_k
        return np.where(lost | (ranks > deep), np.nan, ranks)
    layers = places.floors.size
    counts = state.derived("layers", lambda: _by_layer(above, places.layer[slots.query], layers))
    sizes = state.derived(
        "sizes", lambda: _by_layer(state.alive, places.layer, layers)[slots.query]
    )
    own = places.layer[slots.query, slots.at].astype(np.intp)
    return np.where(lost, np.nan, _places_shown(counts, sizes, own, places))


def _above(state: State, slots: LabelSlots, lost: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Shape (L, C): which candidates of its query rank above each labelled item."""
    mine = state.score[slots.query, slots.at]
    rows = np.where(state.alive, state.score, -np.inf)[slots.query]
    margin = (_NEAR * np.abs(mine))[:, None]
    above = rows > mine[:, None] + margin
    near = (rows >= mine[:, None] - margin) & ~above
    # A living item is always near itself; where it is not alone, the rounded values decide.
    for label in np.flatnonzero(~lost & (near.sum(axis=1) > 1)):
        columns = np.flatnonzero(near[label])
        rounded = round_significant(rows[label][columns])
        at = slots.at[label]
        own = rounded[np.searchsorted(columns, at)]
        above[label, columns] = (rounded > own) | ((rounded == own) & (columns < at))
    return above


def _by_layer(marked: NDArray[np.bool_], layer: NDArray[Any], layers: int) -> NDArray[np.float64]:
    """Count the marked columns of each row by layer, shape (rows, layers)."""
    return np.stack([(marked & (layer == code)).sum(axis=1) for code in range(layers)], axis=1)


def _places_shown(
    counts: NDArray[np.float64],
    sizes: NDArray[np.float64],
    own: NDArray[np.intp],
    places: Places,
) -> NDArray[np.float64]:
    """Place of each item when its layer's best are reserved and the rest fill up under caps.

    An item is reserved if fewer of its layer than the floor stand above it. Any other is shown if
    its cap still has room and fewer unreserved ones stand above it than places are left.
    """
    caps = np.where(places.caps < 0, np.inf, places.caps)
    reserved_above = np.minimum(counts, places.floors)
    rest_above = (np.minimum(counts, caps) - reserved_above).sum(axis=1)
    left = places.top_k - np.minimum(sizes, places.floors).sum(axis=1)
    in_layer = np.take_along_axis(counts, own[:, None], axis=1)[:, 0]
    shown = (in_layer < places.floors[own]) | ((in_layer < caps[own]) & (rest_above < left))
    ranks = 1.0 + reserved_above.sum(axis=1) + np.minimum(rest_above, left)
    return np.where(shown, ranks, np.nan)


def ranks_in_list(order: NDArray[np.intp], slots: LabelSlots) -> NDArray[np.float64]:
    """Return shape (L,): the place of each labelled column in its query's list, NaN if absent."""
    if order.shape[1] == 0:
        return np.full(slots.query.shape, np.nan)
    hits = order[slots.query] == slots.column[:, None]
    shown = hits.any(axis=1) & slots.present
    return np.where(shown, hits.argmax(axis=1) + 1.0, np.nan)
