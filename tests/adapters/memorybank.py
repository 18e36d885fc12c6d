"""MemoryBank (SiliconFriend): one memory an exchange of a day, one a day's summary.

The file is ``{user: {name, summary: {day: text}, history: {day: [{query, response}]}}}``, each user
a scope; a bank in use has pairs for exchanges, and users without a history. Exchanges of a day
follow its midnight (UTC) by a microsecond each; a summary is known at the end of its day. Probing
questions, one user and their questions a line, name no evidence: they become cases without targets.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from adapters.collection import json_lines
from recalltune.store import (
    EvalCaseRow,
    Lab,
    Memory,
    MemorySpan,
    Turn,
    insert_rows,
    put_texts,
    text_hash,
)

__all__ = ["fill"]

SET = "memorybank"


def fill(lab: Lab, bank: Path, questions: Path | None = None) -> None:
    """Fill a lab; the case set is named ``memorybank``."""
    told: list[tuple[str, list[Any]]] = []
    for user, stored in json.loads(bank.read_text(encoding="utf-8")).items():
        for day, exchanges in stored.get("history", {}).items():
            for place, exchange in enumerate(exchanges):
                told += _exchange(user, day, place, exchange)
        for day, summary in stored.get("summary", {}).items():
            end = _midnight(day) + timedelta(days=1)
            told.append(_memory(f"{user}:{day}#summary", summary, user, end, layer="summary"))
    rows = [row for _, several in told for row in several]
    for record in json_lines(questions) if questions else ():
        for user, asked in record.items():
            rows += [
                EvalCaseRow(case_set=SET, case_id=f"{user}:q{place}", query=query, scope=user)
                for place, query in enumerate(asked, start=1)
            ]
    with lab.writing() as con:
        put_texts(con, sorted({text for text, _ in told}))
        insert_rows(con, rows)


def _exchange(
    user: str, day: str, place: int, exchange: dict[str, str] | list[str]
) -> Iterator[tuple[str, list[Any]]]:
    said_at = _midnight(day) + timedelta(microseconds=place)
    name = f"{user}:{day}#{place + 1}"
    query, response = (
        (exchange["query"], exchange["response"]) if isinstance(exchange, dict) else exchange
    )
    for seq, (role, text) in enumerate([("user", query), ("assistant", response)]):
        turn = Turn(
            turn_id=f"{name}{role[0]}",
            session_id=f"{user}:{day}",
            seq=2 * place + seq,
            role=role,
            text_hash=text_hash(text),
            said_at=said_at,
            scope=user,
            source=SET,
        )
        yield text, [turn]
    whole = f"{user}: {query}\nAI: {response}"
    yield _memory(name, whole, user, said_at, layer="log", session=f"{user}:{day}")


def _memory(
    name: str, text: str, user: str, at: datetime, **attributes: Any
) -> tuple[str, list[Any]]:
    common = {"memory_id": name, "text_hash": text_hash(text), "scope": user}
    return text, [
        Memory(source=SET, **common, **attributes),
        MemorySpan(event_at=at, known_at=at, **common),
    ]


def _midnight(day: str) -> datetime:
    return datetime.fromisoformat(day).replace(tzinfo=UTC)
