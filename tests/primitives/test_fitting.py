"""Arrays that do not fit together are refused by name, in every primitive that takes several."""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from recalltune.errors import ParameterError
from recalltune.rank.decay import exponential, reinforced_half_life
from recalltune.rank.fusion import rrf, weighted_sum

# Their first arrays are masks, whole numbers or statistics: their own tests hold them to it. In
# idf, N is the first and the memories' frequencies are the second, which may be none.
ELSEWHERE = {"best_versions", "blend_views", "idf", "interfere", "refusals", "reread",
             "score_terms", "select"}  # fmt: skip


def arrays_beside_the_first() -> Iterator[Any]:
    """Every public function of `rank` x every array it takes after its first."""
    for room in pkgutil.iter_modules(import_module("recalltune.rank").__path__):
        module = import_module(f"recalltune.rank.{room.name}")
        for name in [] if room.name.startswith("_") else module.__all__:
            function = getattr(module, name)
            if inspect.isfunction(function) and name not in ELSEWHERE:
                takes = list(inspect.signature(function).parameters.values())
                for one in takes[1:]:
                    if "ArrayLike" in str(one.annotation):
                        yield pytest.param(function, one.name, id=f"{name}-{one.name}")


@pytest.mark.parametrize(("function", "name"), list(arrays_beside_the_first()))
def test_an_empty_array_beside_one_that_is_not_is_refused_by_name(
    function: Callable[..., Any], name: str
) -> None:
    given = {
        one.name: np.ones((2, 3))
        for one in inspect.signature(function).parameters.values()
        if one.default is inspect.Parameter.empty
    }
    with pytest.raises(ParameterError, match=rf"^{name} must "):
        function(**{**given, name: []})


def test_the_arrays_looked_at_are_many() -> None:
    assert len(list(arrays_beside_the_first())) > 50


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: exponential([5.0], half_life_days=[]), "half_life_days must hold at least one"),
        (
            lambda: exponential([1.0, 2.0, 3.0], half_life_days=[1.0, 2.0]),
            r"half_life_days must broadcast with shape \(3,\), got \(2,\)",
        ),
        (
            lambda: reinforced_half_life([1, 2], [1.0, 2.0, 3.0], half_life_days=30.0),
            r"days_since_access must broadcast with shape \(2,\), got \(3,\)",
        ),
        (lambda: rrf([[1.0, 2.0]], k=[60.0] * 3), r"k must broadcast with shape \(1, 2\)"),
        (lambda: weighted_sum([[1.0], [2.0]], weights=[]), "weights must hold at least one value"),
        (lambda: exponential([[1.0], [1.0, 2.0]], half_life_days=1.0), "age_days must hold rows"),
    ],
)
def test_shapes_that_do_not_fit_name_the_parameter(call: Callable[[], Any], says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        call()


def test_no_memories_are_no_error() -> None:
    assert exponential([], half_life_days=30.0).shape == (0,)
    assert exponential([], half_life_days=[[30.0], [60.0]]).shape == (2, 0)
