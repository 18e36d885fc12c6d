"""ingest: files in, rows in the lab, and an account of what became of every record.

One call is one transaction: either all its files are in, or the lab is as it was. A file whose
bytes and settings are those of its last import is not read again; a changed file first takes
back all that it said.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import duckdb

from recalltune.errors import ParameterError, SourceError, nearest
from recalltune.ingest.claude_code import read_claude_code
from recalltune.ingest.connector_v1 import read_connector_v1
from recalltune.ingest.detect import FORMATS, detect
from recalltune.ingest.folder import Source, find_sources, gone_files
from recalltune.ingest.locomo import read_locomo
from recalltune.ingest.markdown_folder import read_markdown
from recalltune.ingest.merge import Holdings, merge, settle_again
from recalltune.ingest.parsed import Parsed, Settings
from recalltune.ingest.reader import file_digest
from recalltune.ingest.report import ImportReport, Tally, ledger_row
from recalltune.ingest.search_log import read_search_log_file
from recalltune.store import (
    Lab,
    Row,
    forget_file,
    insert_rows,
    known_files,
    put_texts,
    settle_spans,
)

__all__ = ["ingest"]

_BATCH_ROWS = 20_000
_READERS = {
    "claude_code": read_claude_code,
    "connector_v1": read_connector_v1,
    "locomo": read_locomo,
    "search_log": read_search_log_file,
}


def ingest(
    lab: Lab,
    paths: Iterable[str | os.PathLike[str]] | str | os.PathLike[str],
    *,
    format: str = "auto",
    scope: str | None = None,
    layer: str | None = None,
    turns_as_memories: bool = False,
) -> ImportReport:
    """Read files into the lab.

    A file that was imported from a folder earlier and is no longer in it keeps what it said, and
    a notice names it: a file may have been moved out of the way, and what an agent remembers does
    not end with it. Empty the file to take back what it said, or make the lab anew without it.

    Parameters
    ----------
    lab
        An open lab.
    paths
        Files and folders. Folders are walked; links in them are passed over and counted.
    format
        ``auto`` (by content) or one of ``claude_code``, ``connector_v1``, ``locomo``,
        ``markdown_folder``, ``search_log``; hyphens do as well.
    scope
        Scope of everything whose record does not name its own. Default: the payload's, the
        session's or conversation's, else ``global``.
    layer
        Layer of memories whose record does not name its own. Default: by kind of file.
    turns_as_memories
        Make each kept main turn of a session log a memory of layer ``log`` as well.

    Returns
    -------
    ImportReport
        What was read, kept and dropped, with reasons and notices.

    Raises
    ------
    ParameterError
        If the format is unknown or a path is missing or a symbolic link.
    SourceError
        If a file breaks its format, or a file named by the user holds nothing to import; the
        message starts with ``file:line`` and nothing of the call is imported.
    """
    format = format.replace("-", "_")
    if format not in ("auto", *FORMATS):
        msg = f"format must be auto or a known format, got {format!r}; {nearest(format, FORMATS)}"
        raise ParameterError(msg)
    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    settings = Settings(scope, layer, turns_as_memories)
    notes = Counter[str]()
    sources = find_sources(given, format, notes)
    tally = Tally(notes)
    with lab.writing() as con:
        tally.gone(gone_files(given, sources, known_files(con)))
        for batch in _batches(_changed(con, sources, format, settings, tally)):
            _import(con, batch, tally)
        tally.notes.update(settle_spans(con))
    return tally.report()


@dataclass(frozen=True)
class _File:
    """A file that was read and is to be written."""

    source: Source
    parsed: Parsed
    sha256: str
    settings: str


def _changed(
    con: duckdb.DuckDBPyConnection,
    sources: list[Source],
    format: str,
    settings: Settings,
    tally: Tally,
) -> Iterator[_File]:
    """Files that are new or not as they were, read; a changed one has taken back what it said."""
    known = known_files(con)
    wished = json.dumps([format, settings.scope, settings.layer, settings.turns_as_memories])
    for source in sources:
        sha256 = file_digest(source.path)
        earlier = known.get(source.file)
        if earlier is not None and (earlier.sha256, earlier.settings) == (sha256, wished):
            tally.unchanged(source.file, earlier)
            continue
        parsed = _read(source, format, settings, tally)
        if earlier is not None:
            settle_again(con, forget_file(con, source.file))
        if parsed is not None:
            yield _File(source, parsed, sha256, wished)


def _batches(files: Iterable[_File]) -> Iterator[list[_File]]:
    """Files in groups small enough to hold, large enough to be written at once."""
    batch: list[_File] = []
    rows = 0
    for file in files:
        batch.append(file)
        rows += file.parsed.kept
        if rows >= _BATCH_ROWS:
            yield batch
            batch, rows = [], 0
    if batch:
        yield batch


def _import(con: duckdb.DuckDBPyConnection, batch: list[_File], tally: Tally) -> None:
    held = Holdings.of(con, [file.parsed for file in batch])
    rows: list[Row] = []
    for file in batch:
        already = merge(file.parsed, file.source.file, held)
        _refuse_nothing(file.source, file.parsed, already, tally)
        rows += [*file.parsed.cases, *file.parsed.labels, *file.parsed.searches]
        rows.append(ledger_row(file.source.file, file.sha256, file.settings, file.parsed))
        tally.read(file.source.file, file.parsed, already)
    put_texts(con, [text for file in batch for text in file.parsed.texts.values()])
    held.write(con)
    insert_rows(con, rows)
    tally.found(held.settled)


def _read(source: Source, format: str, settings: Settings, tally: Tally) -> Parsed | None:
    """The file's rows; none if it is empty, or unrecognised in a walked folder."""
    if format == "auto":
        try:
            detection = detect(source.path, source.file)
        except SourceError:
            if source.named:
                raise
            tally.notes["file of an unknown format in a folder, passed over"] += 1
            tally.unreadable(source.file)
            return None
        if detection is None:
            tally.empty(source.file)
            return None
        format = detection.format
    if format == "markdown_folder":
        return read_markdown(source.path, source.file, source.inside, settings)
    return _READERS[format](source.path, source.file, settings)


def _refuse_nothing(source: Source, parsed: Parsed, already: int, tally: Tally) -> None:
    """A file full of records of which none is usable is no success."""
    if parsed.kept or already or not parsed.records:
        return
    reasons = ", ".join(f"{reason} {drop.count}" for reason, drop in parsed.drops.items())
    if source.named:
        line = min(line for drop in parsed.drops.values() for line in drop.lines)
        msg = f"{source.file}:{line}: {parsed.records} records and none to keep ({reasons})"
        raise SourceError(msg)
    tally.notes["file of a folder with records but none to keep"] += 1
