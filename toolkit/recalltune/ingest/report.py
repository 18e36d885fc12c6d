"""What an import did, file by file and reason by reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

import polars as pl

from recalltune.ingest.parsed import Parsed
from recalltune.ingest.versions import Settled
from recalltune.store import IngestFile

__all__ = ["ImportReport", "Tally", "ledger_row"]

_FILES: dict[str, pl.DataType] = {
    "file": pl.String(),
    "format": pl.String(),
    "read": pl.Int64(),
    "kept": pl.Int64(),
    "dropped": pl.Int64(),
    "turns": pl.Int64(),
    "memories": pl.Int64(),
    "already": pl.Int64(),
}
_NAMED = 5
"""Files that a notice names."""
_DROPPED: dict[str, pl.DataType] = {
    "file": pl.String(),
    "reason": pl.String(),
    "count": pl.Int64(),
    "lines": pl.List(pl.Int64()),
}


@dataclass(frozen=True)
class ImportReport:
    """Account of one call of `ingest`.

    In every row of ``frame``, ``read == kept + dropped``. A file that has not changed since its
    last import is not read again: its records stand under ``already``.
    """

    frame: pl.DataFrame
    """file, format, read, kept, dropped, turns, memories, already: one row per file."""
    dropped: pl.DataFrame
    """file, reason, count, lines: the first few lines (or record numbers) as examples."""
    notices: tuple[str, ...]
    """What was assumed, repaired or looks odd, each with its count."""

    def by_format(self) -> pl.DataFrame:
        """Return format, files, read, kept, dropped, turns, memories: one row a format."""
        counts = pl.col("read", "kept", "dropped", "turns", "memories").sum()
        files = pl.len().cast(pl.Int64).alias("files")
        return self.frame.group_by("format").agg(files, counts).sort("format")

    def reasons(self) -> pl.DataFrame:
        """Return reason, count, files: why records were dropped, the most frequent first."""
        files = pl.col("file").n_unique().cast(pl.Int64).alias("files")
        counted = self.dropped.group_by("reason").agg(pl.col("count").sum(), files)
        return counted.sort("count", "reason", descending=[True, False])


class Tally:
    """Collects the accounts of the files of one import."""

    def __init__(self, notes: Counter[str]) -> None:
        self._files: list[tuple[str, str, int, int, int, int, int, int]] = []
        self._dropped: list[tuple[str, str, int, list[int]]] = []
        self._findings: dict[str, set[str]] = {}
        self._days: list[date] = []
        self._gone: tuple[str, ...] = ()
        self.notes = notes

    def unchanged(self, file: str, earlier: IngestFile) -> None:
        """Note a file that is as it was when it was imported."""
        self._files.append((file, earlier.format, 0, 0, 0, 0, 0, earlier.records))

    def empty(self, file: str) -> None:
        """Note a file without content."""
        self._files.append((file, "empty", 0, 0, 0, 0, 0, 0))

    def unreadable(self, file: str) -> None:
        """Note a file of a walked folder in which there is nothing to import."""
        self._files.append((file, "unknown", 0, 0, 0, 0, 0, 0))

    def gone(self, files: Sequence[str]) -> None:
        """Note files that a folder held at an earlier import and holds no more."""
        self._gone = tuple(files)

    def read(self, file: str, parsed: Parsed, already: int) -> None:
        """Note a file that was read."""
        turns, memories = (
            len(parsed.turns),
            len({claim.memory.memory_id for claim in parsed.claims}),
        )
        counts = (parsed.records, parsed.kept, parsed.dropped, turns, memories, already)
        self._files.append((file, parsed.format, *counts))
        self._dropped += [
            (file, reason, drop.count, drop.lines) for reason, drop in parsed.drops.items()
        ]
        self.notes.update(parsed.notes)
        self.notes.update(_shape_of_times(parsed))
        days = _stated_days(parsed)
        # A file that was told of already is not told of again as a part of the import.
        if not _day_of_export(days, ""):
            self._days += days

    def found(self, settled: Mapping[str, Settled]) -> None:
        """Note where records of one memory disagree; each memory counts once."""
        for memory_id, outcome in settled.items():
            for finding in outcome.findings:
                self._findings.setdefault(finding, set()).add(memory_id)

    def report(self) -> ImportReport:
        """The account as frames."""
        for finding, memory_ids in self._findings.items():
            self.notes[finding] = len(memory_ids)
        self.notes.update(_day_of_export(self._days, "this import"))
        return ImportReport(
            pl.DataFrame(self._files, schema=_FILES, orient="row"),
            pl.DataFrame(self._dropped, schema=_DROPPED, orient="row"),
            (
                *_of_gone(self._gone),
                *(f"{note}: {count:,}" for note, count in sorted(self.notes.items()) if count),
            ),
        )


def ledger_row(file: str, sha256: str, settings: str, parsed: Parsed) -> IngestFile:
    """What the lab remembers of a file, so that its repetition does nothing."""
    return IngestFile(
        path=file,
        sha256=sha256,
        format=parsed.format,
        settings=settings,
        records=parsed.records,
        kept=parsed.kept,
        dropped=parsed.dropped,
        reasons={reason: drop.count for reason, drop in sorted(parsed.drops.items())},
    )


def _of_gone(files: Sequence[str]) -> Iterator[str]:
    if not files:
        return
    are = "file" if len(files) == 1 else "files"
    stay = "is gone; its" if len(files) == 1 else "are gone; their"
    more = f" and {len(files) - _NAMED:,} more" if len(files) > _NAMED else ""
    yield (
        f"{len(files):,} {are} imported earlier from this folder {stay} records stay: "
        f"{', '.join(files[:_NAMED])}{more}"
    )


def _shape_of_times(parsed: Parsed) -> Counter[str]:
    """Signs that times are missing, or are those of an export rather than of events."""
    notes = Counter[str]()
    times = [claim.span.event_at for claim in parsed.claims]
    notes["memory without an event time (always there, no age)"] = times.count(None)
    notes.update(_day_of_export(_stated_days(parsed), "its file"))
    return notes


def _stated_days(parsed: Parsed) -> list[date]:
    """Days of a payload's memories; a conversation of one day is what other formats are."""
    if parsed.format != "connector_v1":
        return []
    return [claim.span.event_at.date() for claim in parsed.claims if claim.span.event_at]


def _day_of_export(days: list[date], of: str) -> dict[str, int]:
    """A notice where over nine in ten of at least ten memories share a day."""
    if len(days) < 10:
        return {}
    day, count = Counter(days).most_common(1)[0]
    if count <= 0.9 * len(days):
        return {}
    return {f"memory dated {day}, as over 90 % of {of}: a day of export?": count}
