"""MADial-Bench as memories of two users and one case a dialogue, with its real dense lists.

A memory is "time scene emotion event" in the scope of its user, an event of its date. A query is
every turn before the first test turn, as it stands in the file, asked of its user's memories after
the last of them. The English memories lack the user; the Chinese ones of equal number have it.
"""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from adapters.collection import json_lines, memory_rows
from recalltune.encode import Encoder
from recalltune.encode.precomputed import Precomputed
from recalltune.store import EvalCaseRow, Lab, Label, insert_rows, put_texts

__all__ = ["LISTED", "dense_lists", "fill", "memory_vectors"]

Language = Literal["zh", "en"]
LISTED = 20
"""Places of the dense lists that ship with the set."""


def fill(lab: Lab, folder: Path, language: Language) -> None:
    """Fill a lab; the case set is named ``madial``."""
    users = {number: row["user-id"] for number, row in _memories(folder, "zh").items()}
    texts = _texts(folder, language)
    rows: list[Any] = []
    for number, memory in _memories(folder, language).items():
        day = datetime.fromisoformat(memory["time"]).replace(tzinfo=UTC)
        rows += memory_rows(
            _id(number), texts[_id(number)], _scope(users[number]), event_at=day, known_at=day
        )
    for number, dialogue in enumerate(json_lines(folder / f"{language}-dialogue.jsonl")):
        case = {"case_set": "madial", "case_id": _case(number)}
        scope = _scope(dialogue["user-id"])
        rows.append(EvalCaseRow(**case, query=_query(dialogue), scope=scope, lang=language))
        rows += [Label(**case, memory_id=_id(one), grade=1) for one in dialogue["relevant-id"]]
    with lab.writing() as con:
        put_texts(con, sorted(set(texts.values())))
        insert_rows(con, rows)


def dense_lists(folder: Path, language: Language, model: str, file: Path) -> Encoder:
    """An encoder whose cosines order the memories of each dialogue as the model's list does.

    Each dialogue is an axis and its query a step along it. A memory's coordinate there falls with
    its place in the list and is 0 off the list; one further axis, which no query has, brings every
    memory to length 1, so that the cosine is the coordinate.
    """
    texts = _texts(folder, language)
    row = {name: place for place, name in enumerate(texts)}
    lists = list(json_lines(folder / f"{language}-dense_top20.jsonl"))
    memories = np.zeros((len(texts), len(lists) + 1))
    for axis, one in enumerate(lists):
        for place, number in enumerate(one[model]):
            memories[row[_id(number)], axis] = LISTED - place
    memories /= np.linalg.norm(memories, axis=1).max()
    rest = 1.0 - np.square(memories).sum(axis=1)
    memories[:, -1] = np.sqrt(np.maximum(rest, 0.0))
    dialogues = json_lines(folder / f"{language}-dialogue.jsonl")
    np.savez(
        file,
        vector=np.concatenate([memories, np.eye(len(lists), len(lists) + 1)]),
        text=[*texts.values(), *map(_query, dialogues)],
        kind=["passage"] * len(texts) + ["query"] * len(lists),
        encoder_id=[f"madial {model}"],
    )
    return Precomputed(str(file))


def memory_vectors(folder: Path) -> dict[str, NDArray[np.float32]]:
    """Unit vector of bge-m3 of each English memory, by the memory's id in the lab."""
    numbers = json.loads((folder / "en-memory_vectors_ids.json").read_text(encoding="utf-8"))
    vectors = np.load(folder / "en-memory_vectors_bge_m3.f16.npy", allow_pickle=False)
    return {
        _id(number): vector
        for number, vector in zip(numbers, vectors.astype(np.float32), strict=True)
    }


def _memories(folder: Path, language: Language) -> dict[str, dict[str, Any]]:
    lines = json_lines(folder / f"{language}-memory.jsonl")
    return {number: memory for line in lines for number, memory in line.items()}


def _texts(folder: Path, language: Language) -> dict[str, str]:
    """Text of each memory. A repeated text ends in blanks, so that it has a vector of its own."""
    seen: Counter[str] = Counter()
    texts = {}
    for number, memory in _memories(folder, language).items():
        text = " ".join(memory[part] for part in ("time", "scene", "emotion", "event"))
        texts[_id(number)] = text + " " * seen[text]
        seen[text] += 1
    return texts


def _query(dialogue: dict[str, Any]) -> str:
    return " ".join(dialogue["dialogue"][: dialogue["test-turn"][0]])


def _id(number: str | int) -> str:
    """Padded, so that ids follow the numbers."""
    return f"{int(number):03d}"


def _case(number: int) -> str:
    return f"{number:03d}"


def _scope(user: int) -> str:
    return f"user-{user}"
