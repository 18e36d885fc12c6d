"""ingest: files in, rows in the lab, and an account of what became of every record.

Files are written in groups, each in one transaction: a group is in, whole, or it is not. An import
that was interrupted goes on when it is called again: a file whose bytes and settings are those of
its last import is not read; a changed file first takes back all that it said.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import duckdb

from recalltune.errors import ParameterError, SourceError, UnreadableError, nearest
from recalltune.ingest.companion import SOURCE
from recalltune.ingest.detect import Detection, detect
from recalltune.ingest.folder import find_sources, gone_files
from recalltune.ingest.format import Source
from recalltune.ingest.formats import FORMATS
from recalltune.ingest.merge import Holdings, merge, settle_again
from recalltune.ingest.parsed import Parsed, Settings
from recalltune.ingest.report import ImportReport, Tally, ledger_row
from recalltune.ingest.store_folder import source_digest, source_size
from recalltune.store import (
    Lab,
    Row,
    forget_file,
    insert_rows,
    known_files,
    put_hashed_texts,
    settle_duplicates,
    settle_spans,
)

__all__ = ["NOT_COMPARED", "ingest"]

NOT_COMPARED = frozenset(format.name for format in FORMATS.values() if format.evaluation) | {SOURCE}
"""Sources of which repetitions are not marked: evaluation sets, and a companion's messages."""
_GROUP_BYTES = 64 * 2**20
_GROUP_ROWS = 20_000


def ingest(
    lab: Lab,
    paths: Iterable[str | os.PathLike[str]] | str | os.PathLike[str],
    *,
    format: str = "auto",
    scope: str | None = None,
    layer: str | None = None,
    turns_as_memories: bool = False,
    progress: Callable[[int, int], None] | None = None,
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
        ``auto`` (by content) or the name of a format, see `FORMATS`; hyphens do as well.
    scope
        Scope of everything whose record does not name its own. Default: the payload's, the
        session's or conversation's, else ``global``.
    layer
        Layer of memories whose record does not name its own. Default: by kind of file.
    turns_as_memories
        Make each kept main turn of a session log a memory of layer ``log`` as well.
    progress
        Called now and then with the bytes done and the bytes in all.

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
        message starts with ``file:line``. Nothing of its group (files of 64 MiB together, or one
        larger file) is imported; groups before it are.
    """
    format = format.replace("-", "_")
    if format not in ("auto", *FORMATS):
        msg = f"format must be auto or a known format, got {format!r}; {nearest(format, FORMATS)}"
        raise ParameterError(msg)
    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    notes = Counter[str]()
    looked_for = FORMATS.values() if format == "auto" else [FORMATS[format]]
    passed: list[str] = []
    sources = find_sources(given, list(looked_for), notes, passed)
    wish = _Wish(format, Settings(scope, layer, turns_as_memories))
    tally = Tally(notes, passed)
    watch = _Watch(progress, sum(source_size(source.path) for source in sources))
    for number, group in enumerate(_groups(sources)):
        with lab.writing() as con:
            if number == 0:
                tally.gone(gone_files(given, sources, known_files(con)))
            writer = _Writer(con, tally, watch)
            for source in group:
                _import(con, source, wish, writer, tally)
                watch.passed(source)
            writer.write()
            tally.settled(settle_spans(con))
            tally.marked(settle_duplicates(con, NOT_COMPARED))
    return tally.report()


@dataclass(frozen=True)
class _Wish:
    """What the caller wants of every file."""

    format: str
    settings: Settings

    def of(self, source: Source) -> list[Any]:
        """What is wished of one file, and a hash of the folder it was found from."""
        settings = self.settings
        folder = os.fsencode(source.root or source.path.parent)
        place = hashlib.sha256(folder).hexdigest()[:16]
        return [self.format, settings.scope, settings.layer, settings.turns_as_memories, place]


class _Watch:
    """Tells who watches how far the import has come."""

    def __init__(self, progress: Callable[[int, int], None] | None, whole: int) -> None:
        self._progress = progress
        self._whole = whole
        self._passed = 0

    def passed(self, source: Source) -> None:
        """A file is done."""
        self._passed += source_size(source.path)
        self.inside(0)

    def inside(self, more: int) -> None:
        """So many bytes of the next file are done; a packed one has more than it takes."""
        if self._progress is not None:
            self._progress(min(self._passed + more, self._whole), self._whole)


@dataclass
class _File:
    """A file that is being read."""

    source: Source
    parsed: Parsed
    ledger: tuple[str, str]
    """SHA-256 of its bytes, and what the caller wished."""
    confidence: float | None
    replaces: bool = False
    """What an earlier import read of it is to be forgotten first."""
    already: int = 0
    whole: bool = False
    """Whether all of it was read."""


def _groups(sources: list[Source]) -> Iterator[list[Source]]:
    """Sources in their order, in groups that are small enough to be read again.

    There is one even for no sources: that files are gone is told all the same.
    """
    group: list[Source] = []
    size = 0
    for source in sources:
        group.append(source)
        size += source_size(source.path)
        if size >= _GROUP_BYTES:
            yield group
            group, size = [], 0
    if group or not sources:
        yield group


_EMPTY = "empty"


def _import(
    con: duckdb.DuckDBPyConnection, source: Source, wish: _Wish, writer: _Writer, tally: Tally
) -> None:
    """Read a file that is new or not as it was; a changed one first takes back what it said."""
    try:
        sha256 = source_digest(source.path)
    except UnreadableError as error:
        if source.named:
            raise
        tally.passed_over(source.file, str(error))
        return
    earlier = writer.known.get(source.file)
    wished = wish.of(source)
    if earlier is not None:
        before = json.loads(earlier.settings)
        if earlier.sha256 == sha256 and before[:-1] == wished[:-1]:
            tally.unchanged(source.file, earlier)
            return
        if earlier.sha256 != sha256 and before[-1] != wished[-1]:
            raise _namesake(source.file)
        if earlier.sha256 == sha256:
            told = "file read again under other settings than before (--scope, --format, …)"
            tally.notes[told] += 1
    detection = _detected(source, wish.format, tally)
    if detection is None:
        if earlier is not None:
            tally.stays(source.file)
        return
    if detection.format == _EMPTY:
        tally.empty(source.file)
        if earlier is not None:
            settle_again(con, forget_file(con, source.file))
        return
    parsed = Parsed(detection.format, source.file, wish.settings, on_full=writer.write)
    confidence = None if wish.format != "auto" else detection.confidence
    ledger, replaces = (sha256, json.dumps(wished)), earlier is not None
    file = _File(source, parsed, ledger, confidence, replaces=replaces)
    writer.open(file)
    try:
        FORMATS[detection.format].read(source, parsed)
    except UnreadableError as error:
        # A damaged file of a folder must not keep the others out, nor lose what it said before.
        # Once a part of it is written, all that its group wrote must be taken back.
        if source.named or not writer.close(file):
            raise
        tally.passed_over(source.file, str(error))
        if earlier is not None:
            tally.stays(source.file)
        return
    file.whole = True
    writer.write_if_many()


def _namesake(file: str) -> ParameterError:
    """Two folders of one name would take each other's files for their own, changed."""
    return ParameterError(
        f"{file} was imported from another folder of that name, with another content; rename one "
        "of the folders, or give it a lab of its own. If the folder was moved, make the lab anew"
    )


def _detected(source: Source, format: str, tally: Tally) -> Detection | None:
    """The file's format; none if nothing can be made of it and it was found in a folder."""
    if format != "auto":
        return Detection(format, 1.0)
    try:
        detection = detect(source)
    except UnreadableError as error:
        if source.named:
            raise
        tally.passed_over(source.file, str(error))
        return None
    except SourceError:
        if source.named:
            raise
        tally.unreadable(source.file)
        return None
    return detection or Detection(_EMPTY, 1.0)


class _Writer:
    """Writes rows once there are many of them, within the transaction of one group of files."""

    def __init__(self, con: duckdb.DuckDBPyConnection, tally: Tally, watch: _Watch) -> None:
        self.known = known_files(con)
        self._con = con
        self._tally = tally
        self._watch = watch
        self._open: list[_File] = []
        self._rows = 0

    def open(self, file: _File) -> None:
        """Take up a file; from now on its rows are written with those of the others."""
        self._open.append(file)

    def close(self, file: _File) -> bool:
        """Forget a file that was opened last, if none of it is written yet; whether it was so."""
        if file.parsed.written:
            return False
        self._open.remove(file)
        return True

    def write_if_many(self) -> None:
        """Write if the rows that wait are enough to be worth it."""
        self._rows += self._open[-1].parsed.waiting
        if self._rows >= _GROUP_ROWS:
            self.write()

    def write(self) -> None:
        """Write all rows that wait; files that were read to their end are closed."""
        for file in self._open:
            if file.replaces:
                settle_again(self._con, forget_file(self._con, file.source.file))
                file.replaces = False
            file.parsed.seal()
        held = Holdings.of(self._con, [file.parsed for file in self._open])
        rows: list[Row] = []
        for file in self._open:
            parsed = file.parsed
            file.already += merge(parsed, file.source.file, held)
            self._tally.wrote(parsed)
            rows += [*parsed.searches, *parsed.accesses, *parsed.others]
            if file.whole:
                _refuse_nothing(file.source, parsed, file.already, self._tally)
                rows.append(ledger_row(file.source.file, *file.ledger, parsed))
                self._tally.read(file.source.file, parsed, file.confidence, file.already)
        put_hashed_texts(
            self._con,
            {key: text for file in self._open for key, text in file.parsed.texts.items()},
        )
        held.write(self._con)
        insert_rows(self._con, rows)
        self._tally.found(held.settled)
        for file in self._open:
            file.parsed.drain()
        self._open = [file for file in self._open if not file.whole]
        self._rows = 0
        for file in self._open:
            self._watch.inside(file.parsed.bytes_read)


def _refuse_nothing(source: Source, parsed: Parsed, already: int, tally: Tally) -> None:
    """A file full of records of which none is usable is no success."""
    if parsed.kept or already or not parsed.records:
        return
    reasons = ", ".join(f"{reason} {drop.count}" for reason, drop in parsed.drops.items())
    if source.named:
        line = min(line for drop in parsed.drops.values() for line in drop.lines)
        msg = f"{source.file}:{line}: {parsed.records} records and none to keep ({reasons})"
        raise SourceError(msg)
    tally.nothing_kept(source.file)
