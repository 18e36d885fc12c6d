"""What it takes to check one golden group: its cases, and what of ours answers them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from recalltune.pipeline.config import RankingConfig

__all__ = ["Case", "Golden"]

Case = Mapping[str, Any]
"""One golden case, or its input."""


def _in(case: Case) -> Any:
    return case["in"]


def _out(case: Case) -> Any:
    return [case["out"], case["omitted"]] if "omitted" in case else case["out"]


def _cases(group: Mapping[str, Any]) -> Sequence[Case]:
    return list(group.get("cases", ()))


@dataclass(frozen=True)
class Golden:
    """How one golden group is answered."""

    answer: Callable[[Case, RankingConfig], Any]
    """Takes what ``given`` returns and the config; returns what ``expected`` should equal."""
    preset: str = "recallnest"
    """Name of the preset whose stages answer."""
    translated: tuple[str, ...] = ()
    """Inputs production accepts and our parameters refuse, and what stands for them."""
    cases: Callable[[Mapping[str, Any]], Sequence[Case]] = _cases
    """Takes the group as it stands in the file, and the path of that under `file`."""
    given: Callable[[Case], Any] = _in
    """Takes a case; returns its input."""
    expected: Callable[[Case], Any] = _out
    """Takes a case; returns what production gave."""
