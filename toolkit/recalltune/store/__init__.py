"""The lab: DuckDB tables behind row models. The only room that speaks SQL.

In: rows and frames that satisfy the table contracts (``docs/tables.md``). Out: frames in a stated
order, with instants as int64 microseconds UTC.
"""

from __future__ import annotations

from recalltune.store.attributes import SPAN_ATTRIBUTES, as_said, attributes_of
from recalltune.store.claims import ClaimRow, Kind, adopt, claims_of, release
from recalltune.store.digest import data_digest
from recalltune.store.duplicates import note_near_duplicates, settle_duplicates
from recalltune.store.files import (
    forget_file,
    known_accesses,
    known_cases,
    known_files,
    known_labels,
    known_searches,
    replace_memories,
    replace_turns,
)
from recalltune.store.gists import put_gist
from recalltune.store.health import count_ailments, count_vectors
from recalltune.store.jobs import claim_job, expire_leases, finish_job, queue_jobs
from recalltune.store.lab import Lab, LockedError, ReadOnlyError, UnwrittenError, open
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
    LedgerHop,
    Memory,
    MemorySpan,
    Packing,
    Row,
    Run,
    SearchLogEntry,
    Sharing,
    Sweep,
    Turn,
)
from recalltune.store.schema import BEGINNING_US, SCHEMA_NUMBER
from recalltune.store.settle import settle_sharing, settle_spans
from recalltune.store.sharing import TOLD, read_gate
from recalltune.store.sqlite_file import SQLITE_HEADER, sqlite_rows, sqlite_tables
from recalltune.store.texts import estimate_tokens, put_hashed_texts, put_texts, text_hash
from recalltune.store.vectors import get_vectors, put_vectors, vector_digest
from recalltune.store.visibility import count_visibility, read_exchange, read_exchanges
from recalltune.store.write import (
    insert_frame,
    insert_rows,
    table_schema,
    write_ledger,
    write_run,
    write_sweep,
)

__all__ = [
    "BEGINNING_US",
    "SCHEMA_NUMBER",
    "SPAN_ATTRIBUTES",
    "SQLITE_HEADER",
    "TOLD",
    "Access",
    "ClaimRow",
    "EvalCaseRow",
    "Event",
    "IngestFile",
    "Job",
    "Kind",
    "Lab",
    "Label",
    "LedgerHop",
    "LockedError",
    "Memory",
    "MemorySpan",
    "Packing",
    "ReadOnlyError",
    "Row",
    "Run",
    "SearchLogEntry",
    "Sharing",
    "Sweep",
    "Turn",
    "UnwrittenError",
    "adopt",
    "as_said",
    "attributes_of",
    "claim_job",
    "claims_of",
    "count_ailments",
    "count_vectors",
    "count_visibility",
    "data_digest",
    "estimate_tokens",
    "expire_leases",
    "finish_job",
    "forget_file",
    "get_vectors",
    "insert_frame",
    "insert_rows",
    "known_accesses",
    "known_cases",
    "known_files",
    "known_labels",
    "known_searches",
    "latest_event_at",
    "note_near_duplicates",
    "open",
    "put_gist",
    "put_hashed_texts",
    "put_texts",
    "put_vectors",
    "queue_jobs",
    "read_accesses",
    "read_cases",
    "read_exchange",
    "read_exchanges",
    "read_gate",
    "read_labels",
    "read_memories",
    "read_search_log",
    "read_spans",
    "read_sweep",
    "read_table",
    "read_turns",
    "release",
    "replace_memories",
    "replace_turns",
    "settle_duplicates",
    "settle_sharing",
    "settle_spans",
    "sqlite_rows",
    "sqlite_tables",
    "table_schema",
    "text_hash",
    "vector_digest",
    "write_ledger",
    "write_run",
    "write_sweep",
]
