"""Judgements of retrieval collections to labels: grades checked, every line counted once."""

from __future__ import annotations

from dataclasses import dataclass, field

from recalltune.ingest.format import Source
from recalltune.ingest.parsed import Parsed
from recalltune.store import Label

__all__ = ["Judgements", "collection_of"]

_MOST = 1_000_000


def collection_of(source: Source) -> str:
    """Name of the folder a collection's file lies in; a folder ``qrels`` is part of another one."""
    folder = source.path.resolve().parent
    if folder.name == "qrels":
        folder = folder.parent
    # The name of the root is empty, and a file system may hold names that are not Unicode.
    return folder.name.encode("utf-8", "replace").decode() or "collection"


@dataclass
class Judgements:
    """Labels of one file, as its lines are read."""

    case_set: str
    parsed: Parsed
    _grades: dict[tuple[str, str], int] = field(default_factory=dict)

    def add(self, query: str, document: str, grade: str, *, line: int) -> None:
        """Keep one judgement, or drop it with a reason."""
        parsed = self.parsed
        if not query or not document:
            parsed.drop("judgement without a query or a document", line)
            return
        value = _whole(grade)
        if value is None:
            parsed.drop(f"grade is not a whole number from -{_MOST:,} to {_MOST:,}", line)
            return
        if (query, document) in self._grades:
            same = self._grades[query, document] == value
            told = "judgement repeated" if same else "judged again with another grade"
            parsed.drop(told, line)
            return
        self._grades[query, document] = value
        if value < 0:
            parsed.notes["grade below 0, kept as 0 (not relevant)"] += 1
        parsed.keep()
        parsed.others.append(
            Label(
                case_set=self.case_set,
                case_id=query,
                memory_id=document,
                grade=max(value, 0),
                file=parsed.file,
            )
        )
        parsed.full()


def _whole(grade: str) -> int | None:
    digits = grade.strip().removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 7):
        return None
    value = int(grade)
    return value if abs(value) <= _MOST else None
