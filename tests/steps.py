"""How much work a function does, counted instead of timed: lines of Python it runs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def steps(work: Callable[[], object]) -> int:
    """Lines run by ``work`` and all it calls."""
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def grows_with_its_input(work: Callable[[int], object], small: int, large: int) -> bool:
    """Whether ``work(size)`` takes steps in proportion to the size, give or take a half."""
    few, many = steps(lambda: work(small)), steps(lambda: work(large))
    return many <= 1.5 * (large / small) * few + 200
