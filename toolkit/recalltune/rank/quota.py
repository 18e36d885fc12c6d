"""Layers in rank order in, the chosen few out: floors, caps, a budget, and the account.

In: for each of B lanes (a query under one setting) the layers and sizes of its candidates, best
first. Out: which of them are shown, and per layer what happened to the others. The shown order
is the rank order of the picked: quotas choose, they do not re-rank.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recalltune.errors import ParameterError
from recalltune.rank._check import choice, whole_numbers

__all__ = ["PACKERS", "Selection", "select"]

PACKERS = ("skip", "prefix")

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
Codes = NDArray[np.int16]


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """What is shown, and where the rest went.

    Attributes
    ----------
    picked
        shape (B, P), Boolean, in rank order.
    candidates, picked_count, dropped, oversize
        shape (B, L), items: candidates = picked_count + dropped + oversize.
    tokens
        shape (B, L), size of the picked.
    """

    picked: BoolArray
    candidates: IntArray
    picked_count: IntArray
    dropped: IntArray
    oversize: IntArray
    tokens: IntArray


def select(
    layer: ArrayLike,
    tokens: ArrayLike,
    *,
    top_k: ArrayLike,
    floors: ArrayLike,
    caps: ArrayLike,
    budget_tokens: ArrayLike | None = None,
    packer: str = "skip",
) -> Selection:
    """Choose at most ``top_k`` candidates with reserved places and ceilings per layer.

    1. Floors reserve the best ``min(floor, available)`` candidates of each layer.
    2. The other places go to the rest in rank order, while the caps of their layers allow.
    3. With a budget, the reserved are packed first in rank order, then the rest. A candidate
       larger than the whole budget is *oversize*: not available, and it stops nothing. One that
       does not fit when its turn comes is passed over by ``skip`` and ends that pass under
       ``prefix``. The place of a reserved candidate that did not fit goes to the rest.

    Parameters
    ----------
    layer
        shape (B, P), codes 0…L-1 in rank order, best first; -1 = padding.
    tokens
        shape (B, P), whole numbers >= 0, size of each candidate in the unit of the budget
        (tokens or characters). Not read at padding.
    top_k
        shape () or (B,), places, >= 0.
    floors
        shape (L,) or (B, L), places reserved, >= 0.
    caps
        shape (L,) or (B, L), most places; -1 = no cap.
    budget_tokens
        shape () or (B,), >= 0, unit of ``tokens``. None = no budget.
    packer
        ``skip`` or ``prefix``.

    Returns
    -------
    Selection
        What is picked, shape (B, P), and the account per layer, shape (B, L).

    Raises
    ------
    ParameterError
        If floors promise more places than ``top_k``, a floor exceeds its cap, a code is not a
        layer, or a shape or a range is wrong.

    Notes
    -----
    A larger ``top_k`` keeps a superset when there is no budget. A larger budget never uses
    fewer tokens under ``prefix``, and keeps a superset if nothing is reserved; ``skip`` can
    promise neither (sizes 10, 4, 4: budget 9 holds two items, budget 10 one).

    References
    ----------
    Ours; floors and caps after the tier quotas of dsh-auto-memory, without its reservations
    that grow with the budget.

    Examples
    --------
    >>> chosen = select([[0, 0, 0, 1]], [[9, 9, 9, 9]], top_k=2, floors=[0, 1], caps=[-1, -1])
    >>> chosen.picked.tolist(), chosen.dropped.tolist()
    ([[True, False, False, True]], [[2, 0]])
    """
    layer = whole_numbers("layer", layer, low=-1)
    if layer.ndim != 2:
        msg = f"layer must have shape (B, P), lanes by candidates, got {layer.shape}"
        raise ParameterError(msg)
    limits = _limits(layer, top_k, floors, caps)
    choice("packer", packer, PACKERS)
    present = layer >= 0
    tokens = _sizes(tokens, present)
    layer = layer.astype(np.int16)  # narrow codes make the masks several times faster

    if budget_tokens is None:
        picked = _fill(layer, present, limits)
        return _account(layer, tokens, picked, None, limits.floors.shape[1])
    budget = whole_numbers("budget_tokens", budget_tokens, low=0, shape=limits.top_k.shape)
    oversize = present & (tokens > budget[:, np.newaxis])
    present &= ~oversize
    picked = _fill(layer, present, limits)
    # Where the choice without a budget fits, it is the choice within the budget, too.
    over = np.flatnonzero((tokens * picked).sum(axis=1) > budget)
    if over.size:
        pack = _pack_prefix if packer == "prefix" else _pack_skip
        picked[over] = pack(layer[over], tokens[over], present[over], limits.of(over), budget[over])
    return _account(layer, tokens, picked, oversize, limits.floors.shape[1])


def _sizes(tokens: ArrayLike, present: BoolArray) -> IntArray:
    lowest = np.iinfo(np.int64).min
    sizes = whole_numbers("tokens", tokens, low=lowest, shape=present.shape)
    if sizes.size and sizes.min() < 0:
        sizes = whole_numbers("tokens", np.where(present, sizes, 0), low=0)
    return sizes


@dataclass(frozen=True, slots=True)
class _Limits:
    """Places per lane (B,), and floors and caps per lane and layer (B, L)."""

    top_k: IntArray
    floors: IntArray
    caps: IntArray

    def of(self, lanes: NDArray[np.intp]) -> _Limits:
        return _Limits(self.top_k[lanes], self.floors[lanes], self.caps[lanes])


def _limits(layer: IntArray, top_k: ArrayLike, floors: ArrayLike, caps: ArrayLike) -> _Limits:
    lanes = len(layer)
    layers = np.shape(floors)[-1] if np.ndim(floors) else 0
    if np.ndim(floors) == 0 or np.ndim(caps) == 0:
        msg = "floors and caps must hold one number per layer, got a single number"
        raise ParameterError(msg)
    limits = _Limits(
        whole_numbers("top_k", top_k, low=0, shape=(lanes,)),
        whole_numbers("floors", floors, low=0, shape=(lanes, layers)),
        whole_numbers("caps", caps, low=-1, shape=(lanes, layers)),
    )
    if layers > np.iinfo(np.int16).max:
        msg = f"floors must hold at most {np.iinfo(np.int16).max} layers, got {layers}"
        raise ParameterError(msg)
    if layer.size and layer.max() >= layers:
        msg = f"layer must hold codes in [-1, {layers - 1}], got {int(layer.max())}"
        raise ParameterError(msg)
    promised = limits.floors.sum(axis=1)
    for lane in np.flatnonzero(promised > limits.top_k)[:1]:
        msg = (
            f"floors {limits.floors[lane].tolist()} promise {promised[lane]} places "
            f"but top_k is {limits.top_k[lane]}"
        )
        raise ParameterError(msg)
    above = (limits.caps >= 0) & (limits.floors > limits.caps)
    for lane, code in np.argwhere(above)[:1]:
        msg = (
            f"floors must not exceed caps, got floor {limits.floors[lane, code]} over "
            f"cap {limits.caps[lane, code]} for layer {code}"
        )
        raise ParameterError(msg)
    no_cap = np.iinfo(np.int64).max
    return replace(limits, caps=np.where(limits.caps < 0, no_cap, limits.caps))


def _first(layer: Codes, wanted: BoolArray, most: IntArray) -> BoolArray:
    """The first ``most`` (B, L) wanted candidates of each layer."""
    bounded = np.any(most < layer.shape[1], axis=0)
    if not bounded.any():
        return wanted.copy()
    chosen = np.zeros_like(wanted)
    for code in np.flatnonzero(most.any(axis=0)):
        here = wanted & (layer == code)
        if bounded[code]:
            here &= _running(here) <= most[:, code, np.newaxis]
        chosen |= here
    return chosen


def _fill(layer: Codes, present: BoolArray, limits: _Limits) -> BoolArray:
    """Floors, then rank order under the caps, without a budget."""
    reserved = _first(layer, present, limits.floors)
    rest = _first(layer, present, limits.caps) & ~reserved
    places = limits.top_k - reserved.sum(axis=1)
    rest &= _running(rest) <= places[:, np.newaxis]
    return reserved | rest


def _pack_prefix(
    layer: Codes, tokens: IntArray, present: BoolArray, limits: _Limits, budget: IntArray
) -> BoolArray:
    """Both passes end at the first candidate that does not fit: a running sum decides."""
    reserved = _first(layer, present, limits.floors)
    packed = reserved & (_running_sizes(tokens, reserved) <= budget[:, np.newaxis])
    left = budget - (tokens * packed).sum(axis=1)
    places = limits.top_k - packed.sum(axis=1)
    room = limits.caps - _per_layer(layer, packed, limits.caps.shape[1])
    rest = _first(layer, present & ~reserved, room)
    rest &= _running(rest) <= places[:, np.newaxis]
    rest &= _running_sizes(tokens, rest) <= left[:, np.newaxis]
    return packed | rest


def _running(wanted: BoolArray) -> NDArray[np.int32]:
    return np.cumsum(wanted, axis=1, dtype=np.int32)


def _running_sizes(tokens: IntArray, wanted: BoolArray) -> IntArray:
    return np.cumsum(tokens * wanted, axis=1)


def _pack_skip(
    layer: Codes, tokens: IntArray, present: BoolArray, limits: _Limits, budget: IntArray
) -> BoolArray:
    """Both passes step over what does not fit: one position at a time, all lanes at once."""
    lanes, layers = limits.caps.shape
    reserved = _first(layer, present, limits.floors)
    left, places, room = budget.copy(), limits.top_k.copy(), limits.caps.flatten()
    capped = bool(np.any(limits.caps < layer.shape[1]))
    # Positions first in memory, since the walk reads one position of every lane at a time.
    size = np.ascontiguousarray(tokens.T)
    slot = np.ascontiguousarray((layer + np.arange(lanes)[:, np.newaxis] * layers).T)
    picked = np.zeros(size.shape, np.bool_)
    for wanted in (reserved, present & ~reserved):
        wanted_at = np.ascontiguousarray(wanted.T)
        for p in np.flatnonzero(wanted.any(axis=0)):
            take = wanted_at[p] & (size[p] <= left) & (places > 0)
            if capped:
                take &= room.take(slot[p], mode="clip") > 0
                room[slot[p][take]] -= 1
            picked[p] |= take
            left -= size[p] * take
            places -= take
            if not places.any():
                break
    return picked.T


def _account(
    layer: Codes, tokens: IntArray, picked: BoolArray, oversize: BoolArray | None, layers: int
) -> Selection:
    candidates = (
        np.stack([np.count_nonzero(layer == code, axis=1) for code in range(layers)], axis=1)
        if layers
        else np.zeros((len(layer), 0), np.int64)
    )
    chosen = _per_layer(layer, picked, layers)
    too_large = np.zeros_like(chosen) if oversize is None else _per_layer(layer, oversize, layers)
    return Selection(
        picked=picked,
        candidates=candidates,
        picked_count=chosen,
        dropped=candidates - chosen - too_large,
        oversize=too_large,
        tokens=_per_layer(layer, picked, layers, tokens),
    )


def _per_layer(
    layer: Codes, counted: BoolArray, layers: int, sizes: IntArray | None = None
) -> IntArray:
    """Number, or total size, of the counted candidates per lane and layer, shape (B, L)."""
    at = np.flatnonzero(counted)
    slot = at // max(layer.shape[1], 1) * layers + layer.ravel()[at]
    weights = None if sizes is None else sizes.ravel()[at]
    total = np.bincount(slot, weights, minlength=len(layer) * layers)
    return total.reshape(len(layer), layers).astype(np.int64)
