"""The corpus of the HEL-847 plan, read out of the plan: it holds the probe's program as a diff.

In: the folder of the plan. Out: a `Companion`. Only literals of the program are read; none of it
runs. Times and outcomes that the program writes by statement and not by literal are repeated here.
"""

from __future__ import annotations

import ast
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from recalltune.errors import SourceError
from recalltune.ingest.companion import Attempt, Companion, Exchange, Lived, LivedEvent, Said

__all__ = ["read_plan"]

_PROGRAM = "+#!/usr/bin/env python3"
_NAMES = ("NOW", "CORPUS", "LIFE_NEGATIVE_RAW", "EVENT_UNTOLD", "EVENT_TOLD", "pair")


def read_plan(folder: Path) -> tuple[Companion, Companion]:
    """Return the corpus of the plan among the ``*.txt`` files of a folder, and what W1 records.

    Raises
    ------
    SourceError
        If no file holds the program, or the program not the corpus.
    """
    for path in sorted(folder.glob("*.txt")):
        text = path.read_text(encoding="utf-8")
        if _PROGRAM in text:
            plan = _literals(text, path)
            return _companion(plan), _recorded(plan)
    message = f"{folder}:1: the HEL-847 plan is expected here: its corpus is what is checked"
    raise SourceError(message)


def _literals(text: str, path: Path) -> dict[str, Any]:
    lines = text[text.index(_PROGRAM) :].splitlines()
    program = "\n".join(line[1:] for line in lines if line.startswith("+"))
    try:
        tree = ast.parse(program)
    except SyntaxError as error:
        message = f"{path}:{error.lineno}: the program in the plan is cut off: {error.msg}"
        raise SourceError(message) from None
    found = {
        target.id: ast.literal_eval(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name) and target.id in _NAMES
    }
    if missing := [name for name in _NAMES if name not in found]:
        message = f"{path}:1: the program in the plan lacks {', '.join(missing)}"
        raise SourceError(message)
    return found


def _recorded(plan: dict[str, Any]) -> Companion:
    """An hour ago, and no gist yet."""
    now = datetime.fromtimestamp(plan["NOW"], UTC)
    said = {role: Said(text=text) for role, text in plan["pair"]}
    exchange = Exchange(
        exchange_id="t9",
        at=now - timedelta(hours=1),
        user=said["user"],
        companion=said["companion"],
    )
    return Companion(now=now, exchanges=(exchange,))


def _companion(plan: dict[str, Any]) -> Companion:
    now = datetime.fromtimestamp(plan["NOW"], UTC)

    def ago(hours: float) -> datetime:
        return now - timedelta(hours=hours)

    said: dict[str, dict[str, Any]] = {}
    for hours, turn, role, raw, gist, salience in plan["CORPUS"]:
        exchange = said.setdefault(turn, {"exchange_id": turn, "at": ago(hours)})
        exchange[role] = Said(text=raw, gist=gist, salience=salience)
    return Companion(
        now=now,
        exchanges=tuple(Exchange(**exchange) for exchange in said.values()),
        lived=(Lived(text=plan["LIFE_NEGATIVE_RAW"], at=ago(2), salience=0.8),),
        events=(
            LivedEvent(event_id="1", at=ago(13), text=plan["EVENT_UNTOLD"]),
            LivedEvent(event_id="2", at=ago(31), text=plan["EVENT_TOLD"], told_at=ago(29)),
        ),
        # The probe says that both were judged and not when; it cannot have been earlier.
        attempts=tuple(
            Attempt(
                exchange_id=turn, events=(event,), acknowledged_at=ago(hours), judged_at=ago(hours)
            )
            for turn, event, hours in (("t7", "1", 11), ("t8", "2", 29))
        ),
    )
