"""Cases and judgements of a file against those of the lab: the first file that has one keeps it.

A judgement in the file of its case goes where its case goes; in a file of its own it is a record.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import duckdb

from recalltune.ingest.parsed import Parsed
from recalltune.store import EvalCaseRow, Label, Row, known_cases, known_labels

__all__ = ["HeldCases", "merge_cases"]


@dataclass
class HeldCases:
    """Keys of the cases and labels that the lab, or a file before, holds already."""

    cases: set[tuple[str, str]] = field(default_factory=set)
    labels: set[tuple[str, str, str, str]] = field(default_factory=set)

    @classmethod
    def of(cls, con: duckdb.DuckDBPyConnection, files: Iterable[Parsed]) -> HeldCases:
        """Look up every case the files name, once."""
        rows = [row for file in files for row in file.others]
        cases = [row.case_id for row in rows if isinstance(row, EvalCaseRow)]
        labels = [row.case_id for row in rows if isinstance(row, Label)]
        return cls(
            known_cases(con, cases) if cases else set(),
            known_labels(con, labels) if labels else set(),
        )


def merge_cases(parsed: Parsed, held: HeldCases) -> int:
    """Number of the file's cases and judgements that were held; they are left out and counted."""
    own = {_case(row) for row in parsed.others if isinstance(row, EvalCaseRow)}
    refused = own & held.cases
    held.cases |= own
    fresh: list[Row] = []
    shared = 0
    for place, row in enumerate(parsed.others, start=1):
        if isinstance(row, EvalCaseRow) and _case(row) in refused:
            parsed.demote("case another file holds", place)
            shared += 1
        elif isinstance(row, Label) and _case(row) in refused:
            parsed.notes["judgement of a case that another file holds, not used"] += 1
        elif isinstance(row, Label) and (key := (*_case(row), row.memory_id, row.role)):
            if key not in held.labels:
                held.labels.add(key)
                fresh.append(row)
            elif _case(row) in own:
                parsed.notes["judgement that another file holds, not used"] += 1
            else:
                parsed.demote("judgement another file holds", place)
                shared += 1
        else:
            fresh.append(row)
    parsed.others = fresh
    return shared


def _case(row: EvalCaseRow | Label) -> tuple[str, str]:
    return row.case_set, row.case_id
