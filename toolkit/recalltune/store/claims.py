"""What each place of each file says under one id: the source of turns, memories and spans.

In: records as they were read. Out: the same, by id. `ingest.versions` makes one state of them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any, ClassVar, Literal

import duckdb
from pydantic import Field

from recalltune.store.attributes import as_said
from recalltune.store.frames import ids, run
from recalltune.store.rows import Id, Memory, MemorySpan, Moment, Row, Turn
from recalltune.store.write import insert_rows

__all__ = ["ClaimRow", "Kind", "adopt", "claims_of", "release"]

Kind = Literal["memory", "turn"]
"""What a claim is about."""

_CLAIMS = """
select claim.* from claim semi join wanted on wanted.id = claim.ref
where kind = $kind order by ref, file, line
"""
_UNCLAIMED = """
select {table}.* {columns} from {table}
semi join wanted on wanted.id = {table}.{ref}
anti join claim on claim.kind = '{kind}' and claim.ref = {table}.{ref}
"""
_UNCLAIMED_TURNS = _UNCLAIMED.format(table="turn", columns="", ref="turn_id", kind="turn")
_UNCLAIMED_MEMORIES = _UNCLAIMED.format(table="memory", columns="", ref="memory_id", kind="memory")
_UNCLAIMED_SPANS = _UNCLAIMED.format(
    table="memory_span", columns="exclude (enters_at)", ref="memory_id", kind="memory"
)


_RELEASE = "delete from claim using wanted where kind = 'turn' and wanted.id = claim.ref"


class ClaimRow(Row):
    """What one place of one file says under one id.

    Turns, memories and spans are derived from all the claims the lab holds, so a file can go and
    leave behind exactly what the others say. A turn that one record alone speaks of, as nearly all
    are, has no claim: `adopt` makes one when a second record comes.
    """

    table: ClassVar[str] = "claim"

    kind: Kind
    ref: Id
    file: str
    line: int = Field(ge=1)
    stated_at: Moment | None = None
    edits: bool = False
    withheld: bool = False
    said: str
    span: str | None = None

    @classmethod
    def of_turn(cls, turn: Turn) -> ClaimRow:
        """Claim that a turn was said."""
        said = turn.model_dump_json(exclude_defaults=True)
        return cls(kind="turn", ref=turn.turn_id, file=turn.file, line=turn.line or 1, said=said)

    @classmethod
    def of_memory(
        cls,
        memory: Memory,
        span: MemorySpan,
        *,
        line: int,
        stated_at: datetime | None = None,
        edits: bool = False,
        withheld: bool = False,
    ) -> ClaimRow:
        """Claim of a memory with one text, at a line of the span's file."""
        return cls(
            kind="memory",
            ref=memory.memory_id,
            file=span.file,
            line=line,
            stated_at=stated_at,
            edits=edits,
            withheld=withheld,
            said=memory.model_dump_json(exclude_defaults=True),
            span=span.model_dump_json(exclude_defaults=True),
        )

    def to_turn(self) -> Turn:
        """Turn as the record has it."""
        return Turn.model_validate_json(self.said, strict=False)

    def to_memory(self) -> tuple[Memory, MemorySpan]:
        """Memory and span as the record has them."""
        memory = Memory.model_validate_json(self.said, strict=False)
        return memory, MemorySpan.model_validate_json(self.span or "", strict=False)


def adopt(
    con: duckdb.DuckDBPyConnection, turn_ids: Sequence[str], memory_ids: Sequence[str]
) -> None:
    """Make claims of the turns and memories under these ids that were written without any.

    So a file that names one of them is weighed against it, as against another file; what was
    written first holds the id.
    """
    turns = [Turn(**_loaded(row)) for row in _rows(con, _UNCLAIMED_TURNS, turn_ids)]
    memories = [Memory(**_loaded(row)) for row in _rows(con, _UNCLAIMED_MEMORIES, memory_ids)]
    spans = [MemorySpan(**row) for row in _rows(con, _UNCLAIMED_SPANS, memory_ids)]
    state = {memory.memory_id: memory for memory in memories}
    versions = Counter(span.memory_id for span in spans)
    claims = [
        ClaimRow.of_memory(
            *as_said(state[span.memory_id], span),
            line=span.version,
            edits=versions[span.memory_id] > 1,
        )
        for span in spans
    ]
    insert_rows(con, [*map(ClaimRow.of_turn, turns), *claims])


def release(con: duckdb.DuckDBPyConnection, turn_ids: Sequence[str]) -> None:
    """Take back the claims of turns that one record alone speaks of: the turn itself says it."""
    run(con, _RELEASE, wanted=ids(turn_ids))


def claims_of(
    con: duckdb.DuckDBPyConnection, kind: Kind, refs: Sequence[str]
) -> dict[str, list[ClaimRow]]:
    """What the lab's files say under these ids, by id; each list by file and line."""
    found: dict[str, list[ClaimRow]] = {}
    for row in run(con, _CLAIMS, {"kind": kind}, wanted=ids(refs)).to_dicts():
        found.setdefault(row["ref"], []).append(ClaimRow(**row))
    return found


def _loaded(row: dict[str, Any]) -> dict[str, Any]:
    return row | {"meta": json.loads(row["meta"])}


def _rows(
    con: duckdb.DuckDBPyConnection, statement: str, wished: Sequence[str]
) -> list[dict[str, Any]]:
    return run(con, statement, wanted=ids(wished)).to_dicts() if wished else []
