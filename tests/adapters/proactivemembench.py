"""ProactiveMemBench, topic "travel": one memory a turn, one case a question.

A turn is relevant when it was planted for one of the pairs the question was made from. Its time has
no zone and is taken as UTC. A question is a hint, asked just after the newest turn; six have no
relevant turn and stay as cases without a target.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
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

__all__ = ["concepts", "fill"]

SET = "proactive"
SCOPE = "proactive:travel"


def fill(lab: Lab, folder: Path) -> None:
    """Fill a lab; the case set is named ``proactive``."""
    rows: list[Any] = []
    texts, planted = set(), {}
    for session in _load(folder / "travel_conversations.json"):
        for seq, turn in enumerate(session["turns"]):
            name, text = f"s{session['session_id']}:t{turn['turn_id']}", turn["content"]
            said_at = datetime.fromisoformat(turn["timestamp"]).replace(tzinfo=UTC)
            texts.add(text)
            planted[name] = set(turn["planted_pairs"])
            common = {"text_hash": text_hash(text), "scope": SCOPE}
            rows += [
                Turn(
                    turn_id=name,
                    session_id=f"s{session['session_id']}",
                    seq=seq,
                    role=turn["role"],
                    said_at=said_at,
                    source=SET,
                    **common,
                ),
                Memory(memory_id=name, turn_id=name, source=SET, **common),
                MemorySpan(memory_id=name, event_at=said_at, known_at=said_at, **common),
            ]
    for question in _load(folder / "travel_questions.json"):
        case = {"case_set": SET, "case_id": question["id"]}
        rows.append(
            EvalCaseRow(
                **case,
                query=question["question"],
                scope=SCOPE,
                top_k=10,
                kind=question["difficulty"],
                lang="en",
            )
        )
        asked = set(question["source_pairs"])
        rows += [Label(**case, memory_id=name) for name, pairs in planted.items() if pairs & asked]
    with lab.writing() as con:
        put_texts(con, sorted(texts))
        insert_rows(con, rows)


def concepts(folder: Path) -> dict[str, str]:
    """Kind of each pair that turns were planted for, by its id."""
    return {pair["id"]: pair["type"] for pair in _load(folder / "travel_concept_pairs.json")}


def _load(file: Path) -> list[dict[str, Any]]:
    return json.loads(file.read_text(encoding="utf-8"))
