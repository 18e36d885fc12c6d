"""What an import did, file by file and reason by reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

import polars as pl

from recalltune.ingest.parsed import Parsed
from recalltune.ingest.versions import Settled
from recalltune.store import IngestFile

__all__ = ["ImportReport", "Tally", "ledger_row"]

_FILES: dict[str, pl.DataType] = {
    "file": pl.String(),
    "format": pl.String(),
    "confidence": pl.Float64(),
    "read": pl.Int64(),
    "kept": pl.Int64(),
    "dropped": pl.Int64(),
    "turns": pl.Int64(),
    "memories": pl.Int64(),
    "already": pl.Int64(),
}
_NOTICES = 100
_NAMED = 5
"""Files that a notice names."""
_PARTS: dict[str, pl.DataType] = {
    "file": pl.String(),
    "part": pl.String(),
    "count": pl.Int64(),
}
_REDACTED: dict[str, pl.DataType] = {"kind": pl.String(), "count": pl.Int64()}
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
    """file, format, confidence (null where the format was named), read, kept, dropped, turns,
    memories, already: one row per file."""
    dropped: pl.DataFrame
    """file, reason, count, lines: the first few lines (or record numbers) as examples."""
    parts: pl.DataFrame
    """file, part, count: of what kinds the parts of the kept records are; only text is imported."""
    redacted: pl.DataFrame
    """kind, count: secrets that were replaced in texts and attributes."""
    notices: tuple[str, ...]
    """What was assumed, repaired or looks odd, each with its count."""
    first_in: Mapping[str, str] = field(default_factory=dict)
    """Notice -> the first file it is about, where it is about one."""

    def by_format(self) -> pl.DataFrame:
        """Return format, files, least_sure, read, kept, dropped, turns, memories: one row a format.

        ``least_sure`` is the lowest confidence of its files; null where the format was named.
        """
        counts = pl.col("read", "kept", "dropped", "turns", "memories").sum()
        files = pl.len().cast(pl.Int64).alias("files")
        sure = pl.col("confidence").min().round(2).alias("least_sure")
        return self.frame.group_by("format").agg(files, sure, counts).sort("format")

    def reasons(self) -> pl.DataFrame:
        """Return reason, count, files, example: why records were dropped, the most frequent first.

        The example is the name of a file and the line (or record number) of the first of them.
        """
        files = pl.col("file").n_unique().cast(pl.Int64).alias("files")
        line = pl.col("lines").list.first().cast(pl.String)
        example = (
            pl.concat_str(pl.col("file").str.split("/").list.last(), pl.lit(":"), line)
            .first()
            .alias("example")
        )
        counted = self.dropped.group_by("reason", maintain_order=True).agg(
            pl.col("count").sum(), files, example
        )
        return counted.sort("count", "reason", descending=[True, False])

    def kinds_of_parts(self) -> pl.DataFrame:
        """Return part, count over all files, the most frequent first."""
        counted = self.parts.group_by("part").agg(pl.col("count").sum())
        return counted.sort("count", "part", descending=[True, False])


class Tally:
    """Collects the accounts of the files of one import."""

    def __init__(self, notes: Counter[str], passed: Sequence[str]) -> None:
        self._passed = passed
        self._files: list[tuple[str | float | None, ...]] = []
        self._parts: list[tuple[str, str, int]] = []
        self._settled: dict[str, int] = {}
        self._redacted: Counter[str] = Counter()
        self._dropped: list[tuple[str, str, int, list[int]]] = []
        self._findings: dict[str, set[str]] = {}
        self._days: list[date] = []
        self._days_of: dict[str, list[date]] = {}
        self._gone: tuple[str, ...] = ()
        self._unknown: list[str] = []
        self._nothing: list[str] = []
        self._damaged: list[str] = []
        self._stay: list[str] = []
        self._first: dict[str, str] = {}
        self.notes = notes

    def unchanged(self, file: str, earlier: IngestFile) -> None:
        """Note a file that is as it was when it was imported."""
        self._files.append((file, earlier.format, None, 0, 0, 0, 0, 0, earlier.records))

    def empty(self, file: str) -> None:
        """Note a file without content."""
        self._files.append((file, "empty", None, 0, 0, 0, 0, 0, 0))

    def unreadable(self, file: str) -> None:
        """Note a file of a walked folder in which there is nothing to import."""
        self._files.append((file, "unknown", None, 0, 0, 0, 0, 0, 0))
        self._unknown.append(file)

    def passed_over(self, file: str, why: str) -> None:
        """Note a file of a walked folder that cannot be read at all."""
        self._files.append((file, "unreadable", None, 0, 0, 0, 0, 0, 0))
        self._damaged.append(why if file in why else f"{file}: {why}")

    def stays(self, file: str) -> None:
        """Note a file that was imported before and is passed over now."""
        self._stay.append(file)

    def nothing_kept(self, file: str) -> None:
        """Note a file of a walked folder with records of which none was kept."""
        self._nothing.append(file)

    def gone(self, files: Sequence[str]) -> None:
        """Note files that a folder held at an earlier import and holds no more."""
        self._gone = tuple(files)

    def wrote(self, parsed: Parsed) -> None:
        """Note the rows of a file that are about to be written."""
        undated = sum(claim.span.event_at is None for claim in parsed.claims)
        self.notes["memory without an event time (always there, no age)"] += undated
        # A conversation of one day is what other formats are.
        if parsed.format == "connector_v1":
            self._days_of.setdefault(parsed.file, []).extend(
                claim.span.event_at.date() for claim in parsed.claims if claim.span.event_at
            )

    def read(self, file: str, parsed: Parsed, confidence: float | None, already: int) -> None:
        """Note a file that was read to its end, with its last rows still waiting."""
        turns = parsed.turns_kept + len(parsed.turns)
        memories = parsed.memory_ids | {claim.memory.memory_id for claim in parsed.claims}
        counts = (parsed.records, parsed.kept, parsed.dropped, turns, len(memories), already)
        self._files.append((file, parsed.format, confidence, *counts))
        self._dropped += [
            (file, reason, drop.count, drop.lines) for reason, drop in parsed.drops.items()
        ]
        self._parts += [(file, part, count) for part, count in sorted(parsed.parts.items())]
        self.notes.update(parsed.notes)
        for note, count in parsed.notes.items():
            if count:
                self._first.setdefault(note, file)
        self._redacted.update(parsed.redacted)
        days = self._days_of.pop(file, [])
        told = _day_of_export(days, "its file")
        self.notes.update(told)
        # A file that was told of already is not told of again as a part of the import.
        if not told:
            self._days += days

    def marked(self, copies: int) -> None:
        """Note how many memories of the lab repeat another one."""
        told = "memory of the whole lab that repeats another one, marked with a pointer"
        self._settled[told] = copies

    def settled(self, loose_ends: Mapping[str, int]) -> None:
        """Note what `settle_spans` found; it looks at the whole lab, so the last word counts."""
        self._settled |= loose_ends

    def found(self, settled: Mapping[str, Settled]) -> None:
        """Note where records of one memory disagree; each memory counts once."""
        for memory_id, outcome in settled.items():
            for finding in outcome.findings:
                self._findings.setdefault(finding, set()).add(memory_id)

    def report(self) -> ImportReport:
        """The account as frames."""
        for finding, memory_ids in self._findings.items():
            self.notes[finding] = len(memory_ids)
        self.notes.update(self._settled)
        self.notes.update(_day_of_export(self._days, "this import"))
        return ImportReport(
            pl.DataFrame(self._files, schema=_FILES, orient="row"),
            pl.DataFrame(self._dropped, schema=_DROPPED, orient="row"),
            pl.DataFrame(self._parts, schema=_PARTS, orient="row"),
            pl.DataFrame(sorted(self._redacted.items()), schema=_REDACTED, orient="row"),
            (
                *_of_gone(self._gone),
                *_of_files(self._passed, "of another kind, passed over"),
                *_of_files(self._unknown, "of an unknown format in a folder, passed over"),
                *(f"file of a folder passed over: {why}" for why in self._damaged[:_NOTICES]),
                *_of_files(self._stay, "imported before, cannot be read now: what was read stays"),
                *_of_files(self._nothing, "of a folder with records but none to keep"),
                *_told(self.notes),
            ),
            {f"{note}: {self.notes[note]:,}": file for note, file in self._first.items()},
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


def _told(notes: Counter[str]) -> Iterator[str]:
    counted = [(note, count) for note, count in sorted(notes.items()) if count]
    yield from (f"{note}: {count:,}" for note, count in counted[:_NOTICES])
    if more := counted[_NOTICES:]:
        yield f"notices of {len(more):,} further kinds: {sum(count for _, count in more):,}"


def _of_gone(files: Sequence[str]) -> Iterator[str]:
    stay = "is gone; its" if len(files) == 1 else "are gone; their"
    yield from _of_files(files, f"imported earlier from this folder {stay} records stay")


def _of_files(files: Sequence[str], what: str) -> Iterator[str]:
    """A notice that names the first few of some files."""
    if files:
        are = "file" if len(files) == 1 else "files"
        more = f" and {len(files) - _NAMED:,} more" if len(files) > _NAMED else ""
        yield f"{len(files):,} {are} {what}: {', '.join(files[:_NAMED])}{more}"


def _day_of_export(days: list[date], of: str) -> dict[str, int]:
    """A notice where over nine in ten of at least ten memories share a day."""
    if len(days) < 10:
        return {}
    day, count = Counter(days).most_common(1)[0]
    if count <= 0.9 * len(days):
        return {}
    return {f"memory dated {day}, as over 90 % of {of}: a day of export?": count}
