"""BEAM: each chat a scope, one memory a message, one case a probing question.

A user's message ends with a mark such as "->-> 1,2", which is no word of hers and is cut off. Only
the first message of a batch has a day; the messages of the batch follow it by a microsecond each. A
question is asked just after the newest message of its chat. An abstention has no evidence: the
right answer is nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from recalltune.store import (
    EvalCaseRow,
    Lab,
    Label,
    Memory,
    MemorySpan,
    Turn,
    insert_rows,
    put_texts,
    text_hash,
)

__all__ = ["fill", "words"]

SET = "beam"
_MARK = "->->"


def fill(lab: Lab, folder: Path) -> None:
    """Fill a lab with every chat of a folder; the case set is named ``beam``."""
    rows: list[Any] = []
    texts: set[str] = set()
    for file in sorted(folder.glob("*/chat.json")):
        chat, newest = file.parent.name, None
        for message, newest in _messages(json.loads(file.read_text(encoding="utf-8"))):
            text = words(message)
            texts.add(text)
            rows += _memory(chat, message, text, newest)
        questions = json.loads((file.parent / "probing_questions.json").read_text("utf-8"))
        for kind, several in questions.items():
            for place, question in enumerate(several, start=1):
                asked_at = newest + timedelta(microseconds=1)
                rows += _case(f"{chat}:{kind}:{place}", chat, kind, question, asked_at)
    with lab.writing() as con:
        put_texts(con, sorted(texts))
        insert_rows(con, rows)


def words(message: dict[str, Any]) -> str:
    """What a message says, without the mark at the end of a user's."""
    text: str = message["content"]
    if message["role"] == "user" and _MARK in text:
        text = text.rpartition(_MARK)[0]
    return text.strip()


def _messages(batches: list[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], datetime]]:
    for batch in batches:
        messages = [message for turn in batch["turns"] for message in turn]
        day = datetime.strptime(messages[0]["time_anchor"], "%B-%d-%Y").replace(tzinfo=UTC)
        for place, message in enumerate(messages):
            yield message, day + timedelta(microseconds=place)


def _memory(chat: str, message: dict[str, Any], text: str, said_at: datetime) -> list[Any]:
    name = f"{chat}:{message['id']:03d}"
    common = {"text_hash": text_hash(text), "scope": f"{SET}:{chat}"}
    return [
        Turn(
            turn_id=name,
            session_id=chat,
            seq=message["id"],
            role=message["role"],
            said_at=said_at,
            source=SET,
            **common,
        ),
        Memory(memory_id=name, turn_id=name, source=SET, **common),
        MemorySpan(memory_id=name, event_at=said_at, known_at=said_at, **common),
    ]


def _case(
    name: str, chat: str, kind: str, question: dict[str, Any], asked_at: datetime
) -> Iterator[EvalCaseRow | Label]:
    yield EvalCaseRow(
        case_set=SET,
        case_id=name,
        query=question["question"],
        asked_at=asked_at,
        scope=f"{SET}:{chat}",
        top_k=10,
        session=chat,
        kind="nothing_to_find" if kind == "abstention" else kind,
        lang="en",
    )
    told = question.get("source_chat_ids") or []
    several = told.values() if isinstance(told, dict) else [told]
    for message in sorted({number for numbers in several for number in numbers}):
        yield Label(case_set=SET, case_id=name, memory_id=f"{chat}:{message:03d}")
