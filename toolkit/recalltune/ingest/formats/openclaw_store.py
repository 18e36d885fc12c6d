"""OpenClaw's memory index, one SQLite file per agent, read where it lies (not packed).

Each chunk is what production would find, so each is a memory under its own id; chunks overlap by
design and stay as they are. A chunk of a memory file has the layer and origin its path says
(`kind_of`), a chunk of a session (several turns of both sides, run together) is of layer ``log``,
of no one origin, and names its session. Only a path named after a day dates a chunk: it is midnight
and as many microseconds as its first line. ``updated_at`` is when the index was made.

A file's telling rules stand in one of its chunks and may be meant for all of them, and here
nobody can tell how far: a file of the index that holds one counts as not told.

References
----------
OpenClaw, ``src/memory/memory-schema.ts``, ``session-files.ts``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path, PurePosixPath
from typing import Any

from recalltune.errors import SourceError
from recalltune.ingest.attributes import Attributes
from recalltune.ingest.claim import claim_of
from recalltune.ingest.format import Format, Sample, Source
from recalltune.ingest.gate import refuse_unread_rule
from recalltune.ingest.kinds import kind_of, path_parts
from recalltune.ingest.moments import dated_name
from recalltune.ingest.parsed import Parsed
from recalltune.store import SQLITE_HEADER, sqlite_rows, sqlite_tables

__all__ = ["FORMAT"]

NAME = "openclaw_store"
_TABLES = frozenset({"chunks", "files", "meta"})
_COLUMNS = ("id", "path", "source", "start_line", "end_line", "text", "updated_at")
_SESSIONS = "sessions"
_LAST_LINE = 10**9


@dataclass(frozen=True)
class _Chunk:
    """One row, as far as it is used."""

    id: str
    path: str
    index: str
    """What the index calls its source: ``memory`` or ``sessions``."""
    lines: tuple[int, int] | None
    text: str
    indexed: bool
    """Whether the row says when it was indexed."""

    @property
    def of_session(self) -> bool:
        return self.index == _SESSIONS


def _read(source: Source, parsed: Parsed) -> None:
    """Memories of one index, one per chunk, in the order they are stored.

    ``scope`` of the settings is theirs, else ``global``, and ``layer`` goes before what the path
    says.

    Raises
    ------
    SourceError
        If the file is no such index, or damaged.
    """
    for ending, log in (("-wal", "write-ahead log"), ("-journal", "rollback journal")):
        if _size(source.path.with_name(source.path.name + ending)):
            parsed.notes[f"{log} beside the database, not read: close the agent first"] += 1
    silent = _silent_paths(source, parsed)
    before: _Chunk | None = None
    for number, row in enumerate(_rows(source, parsed), start=1):
        chunk = _chunk(row, parsed)
        if isinstance(chunk, str):
            parsed.drop(chunk, number)
            continue
        if before is not None and _overlap(before, chunk):
            parsed.notes["chunk overlaps the one before it, kept as it is"] += 1
        before = chunk
        parsed.keep()
        parsed.claims.append(
            claim_of(
                chunk.id,
                parsed.text(chunk.text),
                _attributes(chunk, parsed, silent=chunk.path in silent),
                scope=parsed.settings.scope or "global",
                at=_moment(chunk, parsed),
                source=NAME,
                file=source.file,
                line=number,
            )
        )
        parsed.full()


def _rows(source: Source, parsed: Parsed) -> Iterator[tuple[Any, ...]]:
    return sqlite_rows(source.path, source.file, "chunks", _COLUMNS, parsed.notes)


def _silent_paths(source: Source, parsed: Parsed) -> set[str]:
    """Paths of the index of which a chunk holds a telling rule."""
    aside = Parsed(NAME, source.file)  # Its notes are counted when the rows are read.
    silent = set[str]()
    for row in _rows(source, aside):
        chunk = _chunk(row, aside)
        if isinstance(chunk, _Chunk) and chunk.path not in silent:
            try:
                refuse_unread_rule(chunk.text, source.file)
            except SourceError:
                silent.add(chunk.path)
    rule = "file of the index with a telling rule, all of it taken as not told"
    parsed.notes[rule] += len(silent)
    return silent


def _chunk(row: tuple[Any, ...], parsed: Parsed) -> _Chunk | str:
    """A row's chunk, or the reason to leave it out."""
    chunk_id, path, index, start, end, text, updated = row
    if not isinstance(chunk_id, str) or not chunk_id:
        return "chunk without an id"
    if not isinstance(text, str) or not text.strip():
        return "chunk without a text"
    if not isinstance(path, str) or not path:
        return "chunk without a path"
    lines = None
    if isinstance(start, int) and isinstance(end, int) and 0 < start <= end <= _LAST_LINE:
        lines = start, end
    else:
        parsed.notes["line numbers of a chunk that are none, not used"] += 1
    return _Chunk(chunk_id, path, str(index), lines, text, updated is not None)


def _attributes(chunk: _Chunk, parsed: Parsed, *, silent: bool) -> Attributes:
    kind = kind_of(chunk.path)
    by_path = "log" if chunk.of_session else kind.layer or "project"
    layer = parsed.settings.layer or by_path
    fields: dict[str, Any] = {"layer": layer, "origin": kind.origin}
    if chunk.of_session:
        fields["session"] = PurePosixPath(path_parts(chunk.path)[-1]).stem or None
        parsed.notes["chunk of a session: the turns it was cut from have their own times"] += 1
    meta: dict[str, Any] = {"path": chunk.path, "index": chunk.index}
    if chunk.lines:
        meta["lines"] = list(chunk.lines)
    if kind.session_kind:
        meta["session_kind"] = kind.session_kind
    return Attributes(fields, meta=meta, gated=silent)


def _moment(chunk: _Chunk, parsed: Parsed) -> datetime | None:
    if chunk.indexed:
        parsed.notes["updated_at is when a chunk was indexed, not used"] += 1
    day = dated_name(chunk.path, parsed.notes)
    if day is None:
        parsed.notes["chunk of a path without a day, undated"] += 1
        return None
    return day + timedelta(microseconds=chunk.lines[0] if chunk.lines else 0)


def _overlap(before: _Chunk, chunk: _Chunk) -> bool:
    if before.path != chunk.path or not before.lines or not chunk.lines:
        return False
    return before.lines[0] <= chunk.lines[0] <= before.lines[1]


def _size(path: Path) -> int:
    return path.lstat().st_size if path.exists() else 0


def _fits(sample: Sample) -> float:
    head = sample.head
    if not head.startswith(SQLITE_HEADER):
        return 0.0
    try:
        tables = sqlite_tables(sample.source.path, sample.source.file)
    except SourceError:
        # Cut or damaged: what it was meant to be stands in its first pages.
        return float(b"CREATE TABLE chunks" in head and b"start_line" in head)
    return float(tables >= _TABLES)


FORMAT = Format(
    name=NAME,
    title="OpenClaw memory index (SQLite)",
    suffixes=frozenset({".sqlite"}),
    fits=_fits,
    read=_read,
)
