"""The lab: DuckDB tables behind row models. The only room that speaks SQL.

In: rows and frames that satisfy the table contracts (``docs/tables.md``). Out: frames in a stated
order, with instants as int64 microseconds UTC.
"""

from __future__ import annotations

from recalltune.store.digest import data_digest
from recalltune.store.files import (
    forget_file,
    known_files,
    known_searches,
    replace_memories,
    replace_turns,
    settle_spans,
    spans_of,
    turns_of,
)
from recalltune.store.lab import Lab, LockedError, open
from recalltune.store.read import (
    latest_event_at,
    read_accesses,
    read_cases,
    read_labels,
    read_memories,
    read_search_log,
    read_spans,
    read_sweep,
    read_table,
    read_turns,
)
from recalltune.store.rows import (
    Access,
    EvalCaseRow,
    Event,
    IngestFile,
    Job,
    Label,
    Memory,
    MemorySpan,
    Row,
    Run,
    SearchLogEntry,
    Sharing,
    Sweep,
    Turn,
)
from recalltune.store.schema import BEGINNING_US, SCHEMA_NUMBER
from recalltune.store.texts import estimate_tokens, put_texts, text_hash
from recalltune.store.vectors import get_vectors, put_vectors, vector_digest
from recalltune.store.write import (
    insert_frame,
    insert_rows,
    record_ledger,
    table_schema,
    write_run,
    write_sweep,
)

__all__ = [
    "BEGINNING_US",
    "SCHEMA_NUMBER",
    "Access",
    "EvalCaseRow",
    "Event",
    "IngestFile",
    "Job",
    "Lab",
    "Label",
    "LockedError",
    "Memory",
    "MemorySpan",
    "Row",
    "Run",
    "SearchLogEntry",
    "Sharing",
    "Sweep",
    "Turn",
    "data_digest",
    "estimate_tokens",
    "forget_file",
    "get_vectors",
    "insert_frame",
    "insert_rows",
    "known_files",
    "known_searches",
    "latest_event_at",
    "open",
    "put_texts",
    "put_vectors",
    "read_accesses",
    "read_cases",
    "read_labels",
    "read_memories",
    "read_search_log",
    "read_spans",
    "read_sweep",
    "read_table",
    "read_turns",
    "record_ledger",
    "replace_memories",
    "replace_turns",
    "settle_spans",
    "spans_of",
    "table_schema",
    "text_hash",
    "turns_of",
    "vector_digest",
    "write_run",
    "write_sweep",
]
