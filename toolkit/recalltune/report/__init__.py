"""Charts as files, one self-contained page, decisions. In: results. Out: HTML, PNG, JSON.

The names below arrive when they are first used: importing this room loads no chart library.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recalltune.report.deciding import DecisionCard, decision
    from recalltune.report.decision_record import DecisionRecord, read_decisions
    from recalltune.report.demo import run_demo
    from recalltune.report.journey import write_journey, write_report
    from recalltune.report.story import Journey

__all__ = [
    "DecisionCard",
    "DecisionRecord",
    "Journey",
    "decision",
    "read_decisions",
    "run_demo",
    "write_journey",
    "write_report",
]

_HOMES = {
    "DecisionCard": "deciding",
    "DecisionRecord": "decision_record",
    "Journey": "story",
    "decision": "deciding",
    "read_decisions": "decision_record",
    "run_demo": "demo",
    "write_journey": "journey",
    "write_report": "journey",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"recalltune.report.{_HOMES[name]}"), name)
    message = f"module 'recalltune.report' has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
