"""Range and shape checks shared by the primitives.

In: a name, a value, its allowed range. Out: the value as a float64 array (or int), or one
`ParameterError` that says name, range, value seen and, in an array, the first position.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recalltune.errors import ParameterError, nearest

__all__ = [
    "FloatArray",
    "as_floats",
    "as_mask",
    "at_least",
    "choice",
    "finite",
    "fitting",
    "in_range",
    "whole_numbers",
    "word_list",
]

FloatArray = NDArray[np.float64]
Given = ParamSpec("Given")
Told = TypeVar("Told")


def in_range(
    name: str,
    value: ArrayLike,
    *,
    low: float = -np.inf,
    high: float = np.inf,
    low_open: bool = False,
    high_open: bool = False,
    nan_ok: bool = False,
) -> FloatArray:
    """Return ``value`` as float64 if every element lies in the interval."""
    array = as_floats(name, value)
    inside = (array > low) if low_open else (array >= low)
    inside &= (array < high) if high_open else (array <= high)
    if nan_ok:
        inside |= np.isnan(array)
    if not inside.all():
        interval = f"{'(' if low_open else '['}{low:g}, {high:g}{')' if high_open else ']'}"
        raise ParameterError(_refusal(name, f"must lie in {interval}", array, ~inside))
    return array


def finite(name: str, value: ArrayLike, *, nan_ok: bool = False) -> FloatArray:
    """Return ``value`` as float64 if every element is a finite number."""
    array = as_floats(name, value)
    fine = ~np.isinf(array) if nan_ok else np.isfinite(array)
    if not fine.all():
        wanted = "must be finite or NaN" if nan_ok else "must be finite"
        raise ParameterError(_refusal(name, wanted, array, ~fine))
    return array


def at_least(name: str, value: Any, *, low: int) -> int:
    """Return ``value`` as int if it is a whole number >= ``low``."""
    try:
        whole = operator.index(value)
    except TypeError:
        whole = None
    if whole is None or isinstance(value, bool | np.bool_) or whole < low:
        msg = f"{name} must be a whole number >= {low}, got {value!r}"
        raise ParameterError(msg)
    return whole


def whole_numbers(
    name: str, value: ArrayLike, *, low: int, shape: tuple[int, ...] | None = None
) -> NDArray[np.int64]:
    """Return ``value`` as int64, every element >= ``low``, broadcast to ``shape`` if given."""
    array = np.asarray(value)
    if array.dtype.kind not in "iu" and array.size:
        msg = f"{name} must hold whole numbers, got an array of {array.dtype}"
        raise ParameterError(msg)
    array = array.astype(np.int64, copy=False)
    if array.size and array.min() < low:
        raise ParameterError(_refusal(name, f"must be >= {low}", array, array < low))
    if shape is None:
        return array
    try:
        return np.broadcast_to(array, shape)
    except ValueError:
        msg = f"{name} must fit the shape {shape}, got {array.shape}"
        raise ParameterError(msg) from None


def choice(name: str, value: str, known: Iterable[str]) -> str:
    """Return ``value`` if it is one of the known names."""
    known = tuple(known)
    if value not in known:
        msg = f"{name} must be one of {', '.join(known)}, got {value!r}; "
        raise ParameterError(msg + nearest(str(value), known))
    return value


def as_floats(name: str, value: ArrayLike) -> FloatArray:
    """Return ``value`` as a float64 array; text, objects and uneven rows are refused."""
    try:
        array = np.asarray(value)
    except ValueError:
        msg = f"{name} must hold rows of one length, got {value!r:.60}"
        raise ParameterError(msg) from None
    if array.dtype.kind not in "fiu" and array.size:
        msg = f"{name} must hold numbers, got an array of {array.dtype}"
        raise ParameterError(msg)
    return array.astype(np.float64, copy=False)


def as_mask(name: str, value: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """Return ``value`` as a Boolean array of exactly ``shape``."""
    array = np.asarray(value)
    if array.dtype != np.bool_:
        msg = f"{name} must be a Boolean mask, got an array of {array.dtype}"
        raise ParameterError(msg)
    if array.shape != shape:
        msg = f"{name} must have shape {shape}, got {array.shape}"
        raise ParameterError(msg)
    return array


def word_list(name: str, value: Iterable[str]) -> list[str]:
    """Return ``value`` as a list of tokens; a bare string would be read letter by letter."""
    if isinstance(value, str | bytes):
        msg = f"{name} must be a list of tokens, got the text {value[:40]!r}"
        raise ParameterError(msg)
    return list(value)


def fitting(primitive: Callable[Given, Told]) -> Callable[Given, Told]:
    """Let a primitive refuse, by name, arrays that do not broadcast with those before them.

    An empty array beside a first one that holds something is refused too: NumPy would answer
    with nothing where the first holds one element.
    """
    signature = inspect.signature(primitive)
    arrays = [one.name for one in signature.parameters.values() if "Array" in str(one.annotation)]

    @wraps(primitive)
    def checked(*given: Given.args, **named: Given.kwargs) -> Told:
        try:
            arguments = signature.bind(*given, **named).arguments
        except TypeError:  # Python's own refusal, with the primitive's name
            return primitive(*given, **named)
        shapes = {name: _shape(arguments[name]) for name in arrays if name in arguments}
        first, *others = shapes
        for name in others:
            if 0 in shapes[name] and 0 not in shapes[first]:
                msg = f"{name} must hold at least one value, got an empty array"
                raise ParameterError(msg)
        try:
            return primitive(*given, **named)
        except ValueError as error:
            if isinstance(error, ParameterError) or "broadcast" not in str(error):
                raise
            raise ParameterError(_unfit(shapes)) from None

    return checked


def _shape(value: Any) -> tuple[int, ...]:
    """Of rows of uneven length, (): they are refused where they are read."""
    try:
        return np.shape(value)
    except ValueError:
        return ()


def _unfit(shapes: dict[str, tuple[int, ...]]) -> str:
    together: tuple[int, ...] = ()
    for name, shape in shapes.items():
        try:
            together = np.broadcast_shapes(together, shape)
        except ValueError:
            return f"{name} must broadcast with shape {together}, got {shape}"
    return f"{', '.join(shapes)} must broadcast with one another, got shapes {shapes}"


def _refusal(name: str, wanted: str, array: NDArray[Any], bad: NDArray[np.bool_]) -> str:
    if array.ndim == 0:
        return f"{name} {wanted}, got {array.item()!r}"
    where = tuple(int(axis[0]) for axis in np.nonzero(bad))
    place = where[0] if len(where) == 1 else where
    return f"{name} {wanted}, got {array[where].item()!r} at position {place}"
