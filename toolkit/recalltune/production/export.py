"""The chosen config into production: a RecallNest config.json changed in place, or plain JSON.

In: a RankingConfig, a target file, its provenance. Out: the file with only the mapped values
changed, the evidence beside it, and a report of what changed and what production cannot take.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recalltune.errors import ParameterError, SourceError, checked, nearest
from recalltune.pipeline.config import RankingConfig
from recalltune.production.json_spans import parse_spans
from recalltune.production.not_carried import NotCarried, not_carried
from recalltune.production.provenance import MARK, Provenance, evidence_text
from recalltune.production.recallnest_file import RecallNestFile, read_recallnest
from recalltune.production.recallnest_keys import MINIMA, POOL_LIMIT, floor_of, of_kind, wanted
from recalltune.production.replacing import backup_of, read_original, replace_file, restore
from recalltune.production.splicing import number_text, spliced

__all__ = ["Change", "ExportReport", "evidence_path", "export", "undo"]

TARGETS = ("json", "recallnest")
_UNSET = "not set"


@dataclass(frozen=True)
class Change:
    """One key of the target file."""

    key: str
    old: str
    """As the file had it; `not set (default …)` where it had none."""
    new: str


@dataclass(frozen=True)
class ExportReport:
    """What an export did, or with dry_run would do."""

    into: Path
    to: str
    changed: tuple[Change, ...]
    not_carried: tuple[NotCarried, ...]
    unknown: tuple[str, ...]
    """Keys of the target nobody reads; they were kept."""
    written: bool
    """False for a dry run, and where the file already says the same."""
    backup: Path | None
    """Where the content before the export is kept."""
    evidence: Path | None
    """Where the provenance stands."""
    content: bytes
    """What the target holds now, or would."""

    def __str__(self) -> str:
        count = len(self.changed)
        lines = [f"{self.into}: {count} {'value changes' if count == 1 else 'values change'}"]
        lines += [f"  {c.key}: {c.old} -> {c.new}" for c in self.changed]
        if self.not_carried:
            lines.append("not carried:")
            lines += [f"  {item}" for item in self.not_carried]
        if self.unknown:
            lines.append(f"unknown keys kept: {', '.join(self.unknown)}")
        lines.append("written" if self.written else "nothing written")
        return "\n".join(lines)


def export(
    config: RankingConfig,
    into: str | Path,
    *,
    to: str = "json",
    provenance: Provenance | Mapping[str, Any],
    dry_run: bool = False,
) -> ExportReport:
    """Write a config for production and report what changed and what was not carried.

    Parameters
    ----------
    config
        The chosen config.
    into
        ``json``: a new file, or an evidence file of ours. ``recallnest``: an existing RecallNest
        config.json; its other bytes are kept, the old content goes to ``NAME.bak`` and the
        evidence to ``NAME.recalltune.json``.
    to
        ``json`` or ``recallnest``.
    provenance
        What the choice rests on.
    dry_run
        True: report, write nothing.

    Raises
    ------
    ParameterError
        If ``to`` is unknown or a value is not finite.
    SourceError
        If the target is a symbolic link, empty, cut, foreign, or cannot be written. It then holds
        what it held, byte for byte.
    """
    if to not in TARGETS:
        message = f"to must be one of {', '.join(TARGETS)}, got {to!r}; {nearest(to, TARGETS)}"
        raise ParameterError(message)
    if not isinstance(provenance, Provenance):
        provenance = checked(Provenance, provenance, where="provenance")
    evidence = evidence_text(config, provenance).encode()
    into = Path(into)
    if to == "json":
        return _export_json(into, evidence, dry_run=dry_run)
    return _export_recallnest(config, into, evidence, dry_run=dry_run)


def undo(into: str | Path) -> None:
    """Put back what a RecallNest config held before its last export; a second call redoes it."""
    restore(Path(into))


def evidence_path(into: Path) -> Path:
    """Return where the evidence of an export into a production file stands."""
    return into.with_name(into.name + ".recalltune.json")


def _export_json(into: Path, evidence: bytes, *, dry_run: bool) -> ExportReport:
    before = _our_file(into)
    differs = before != evidence
    if differs and not dry_run:
        replace_file(into, evidence, before=before)
    changed = (Change("the whole file", _UNSET if before is None else "before", "now"),)
    return ExportReport(
        into=into,
        to="json",
        changed=changed if differs else (),
        not_carried=(),
        unknown=(),
        written=differs and not dry_run,
        backup=backup_of(into) if differs and before is not None and not dry_run else None,
        evidence=into,
        content=evidence,
    )


def _our_file(path: Path) -> bytes | None:
    """The content of an evidence file of ours, None where there is no file; others are refused."""
    if not path.exists() and not path.is_symlink():
        if not path.parent.is_dir():
            message = f"{path}:1: the folder {path.parent} does not exist"
            raise SourceError(message)
        return None
    content = read_original(path)
    try:
        ours = MARK in parse_spans(content.decode("utf-8"), str(path)).keys
    except (SourceError, UnicodeDecodeError):
        ours = False
    if not ours:
        message = f"{path}:1: is not an evidence file of recalltune; it is not overwritten"
        raise SourceError(message)
    return content


def _export_recallnest(
    config: RankingConfig, into: Path, evidence: bytes, *, dry_run: bool
) -> ExportReport:
    file = read_recallnest(into)
    beside = evidence_path(into)
    evidence_before = _our_file(beside)
    values = _new_values(config, file)
    text = spliced(
        file.text, {("retrieval", *path): value for path, value in values.items()}, where=str(into)
    )
    mark = file.content[: len(file.content) - len(file.text.encode())]
    content = mark + text.encode()
    differs = content != file.content
    report = ExportReport(
        into=into,
        to="recallnest",
        changed=_changes(file, values),
        not_carried=not_carried(config, file, values),
        unknown=file.unknown,
        written=differs and not dry_run,
        backup=backup_of(into) if differs and not dry_run else None,
        evidence=None if dry_run else beside,
        content=content,
    )
    # Evidence first: whatever fails after it, the config itself is as it was.
    if not dry_run and evidence_before != evidence:
        replace_file(beside, evidence, before=evidence_before)
    if report.written:
        replace_file(into, content, before=file.content)
    return report


def _new_values(config: RankingConfig, file: RecallNestFile) -> dict[tuple[str, ...], Any]:
    """Path below `retrieval` -> value, where production would otherwise take another value."""
    want = wanted(config)
    values: dict[tuple[str, ...], Any] = {
        path: value for path, value in want.items() if file.effective[path] != value
    }
    minima = [key.path for key in MINIMA]
    if "categoryMinScores" in file.keys or any(path in values for path in minima):
        # Always the complete map; a value the file has already is not touched by being here.
        values |= {p: want[p] for p in minima if file.present.get(p) != want[p]}
    if file.mode != "vector":
        values["mode",] = "vector"
    if file.diverse != (of_kind(config, "source_diversity") is not None):
        values["sourceDiversity",] = int(not file.diverse)
    ours, theirs = config.arms.dense, file.config.arms.dense
    if ours is not None and theirs is not None:
        rows = min(ours.proposed(), POOL_LIMIT)
        if rows != theirs.proposed():
            values["candidatePoolSize",] = rows
    if floor_of(config) != floor_of(file.config):
        values["minScore",] = floor_of(config)
    return values


def _changes(file: RecallNestFile, values: Mapping[tuple[str, ...], Any]) -> tuple[Change, ...]:
    given: dict[tuple[str, ...], Any] = {
        **file.present,
        ("mode",): file.mode,
        ("candidatePoolSize",): file.pool,
        ("minScore",): file.min_score,
    }
    changes = []
    for path, value in values.items():
        old = given.get(path)
        taken = file.effective.get(path)
        unset = _UNSET if taken is None else f"{_UNSET} (production takes {number_text(taken)})"
        changes.append(Change(".".join(path), unset if old is None else _text(old), _text(value)))
    return tuple(changes)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else number_text(value)
