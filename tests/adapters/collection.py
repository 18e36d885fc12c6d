"""A retrieval collection (corpus, queries, judgements) as memories and eval cases of one scope.

In: a folder with ``corpus.jsonl``, ``queries.jsonl`` and judgements as tab-separated text. Out: a
filled lab. Its texts have no times.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from recalltune.store import (
    EvalCaseRow,
    Lab,
    Label,
    Memory,
    MemorySpan,
    insert_rows,
    put_texts,
    text_hash,
)

__all__ = ["fill", "json_lines", "memory_rows", "original_judgements"]

_ABSENT = "judged, and not in the collection"


def fill(lab: Lab, folder: Path, case_set: str, *, qrels: str = "qrels.tsv") -> None:
    """Fill a lab; the case set and the scope of its memories have one name.

    A judged document that the corpus does not have stands in a scope of its own: no query sees
    it, no word statistic counts it, and as a target it is missed, as published figures have it.
    """
    texts = {
        row["_id"]: f"{row.get('title', '')} {row['text']}"
        for row in json_lines(folder / "corpus.jsonl")
    }
    rows = [row for name, text in texts.items() for row in memory_rows(name, text, case_set)]
    rows += [
        EvalCaseRow(case_set=case_set, case_id=row["_id"], query=row["text"], scope=case_set)
        for row in json_lines(folder / "queries.jsonl")
    ]
    absent = set()
    for line in (folder / qrels).read_text(encoding="utf-8").splitlines()[1:]:
        query, name, grade = line.split("\t")[:3]
        rows.append(Label(case_set=case_set, case_id=query, memory_id=name, grade=int(grade)))
        absent |= {name} - texts.keys()
    for name in sorted(absent):
        rows += memory_rows(name, _ABSENT, "absent")
    with lab.writing() as con:
        put_texts(con, sorted({*texts.values(), _ABSENT}))
        insert_rows(con, rows)


def original_judgements(file: Path) -> list[tuple[str, str, int]]:
    """Query, document and code of each line of Cranfield's own file; -1 is one document a query."""
    lines = file.read_text(encoding="utf-8").splitlines()
    return [(query, name, int(code)) for query, name, code in map(str.split, lines)]


def memory_rows(memory_id: str, text: str, scope: str, **attributes: Any) -> list[Any]:
    """The two rows of a memory with one text that nothing ends."""
    digest = text_hash(text)
    return [
        Memory(memory_id=memory_id, text_hash=digest, scope=scope),
        MemorySpan(memory_id=memory_id, text_hash=digest, scope=scope, **attributes),
    ]


def json_lines(file: Path) -> Iterator[dict[str, Any]]:
    """Records of a file with one JSON object a line."""
    with file.open(encoding="utf-8") as text:
        yield from map(json.loads, text)
