"""Sessions of the pi coding agent (JSONL), which OpenClaw keeps as well, to turns.

The lines form a tree (``id``, ``parentId``); the last one is where the conversation stands. What
leads to it is kept, and what was said on other branches is left out by reason. Where a parent is
not in the file, as after a damaged line, the record before it counts as one. The oldest files have
no ids and are one branch.

Tool results, shell commands, thinking, recaps (``compaction``, ``branch_summary``), what extensions
say in the user's name and entries that are no messages, known or not, are left out by reason. A
session that was branched off another begins with copies of its lines; they have its ids.

References
----------
badlogic/pi-mono, ``packages/coding-agent/docs/session.md`` and ``src/core/session-manager.ts``.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path, PurePosixPath
from typing import Any

from recalltune.ingest.branches import ON_ANOTHER, branch_to, linked
from recalltune.ingest.format import Format, Sample, Source, share_of_records
from recalltune.ingest.json_source import json_objects
from recalltune.ingest.moments import read_moment
from recalltune.ingest.parsed import Parsed
from recalltune.ingest.reader import decode_json, read_lines
from recalltune.ingest.text_parts import Said, read_parts, why_nothing

__all__ = ["FORMAT"]

NAME = "pi"
_HEAD, _MESSAGE = "session", "message"
_ROLES = ("user", "assistant")
_RECAPS = ("compaction", "branch_summary", "compactionSummary", "branchSummary")
_OF_EXTENSIONS = ("custom", "custom_message", "hookMessage")
_TREE = frozenset({"id", "parentId", "timestamp"})


def _read(source: Source, parsed: Parsed) -> None:
    """Turns of one session, of scope ``pi:<first 8 of the session id>``."""
    left_out = _on_other_branches(source.path, parsed.notes)
    session = str(PurePosixPath(source.inside.removesuffix(".gz")).with_suffix(""))
    for place, (line, record) in enumerate(json_objects(source.path, parsed)):
        own = _id(record)
        if record.get("type") == _HEAD and own is not None:
            session = own
        said = _said(record)
        if isinstance(said, Said) and own is not None and own in left_out:
            said = ON_ANOTHER
        if isinstance(said, str):
            parsed.drop(said, line.number)
            continue
        message, at = record["message"], record.get("timestamp")
        # Ids are short; with its time one is that of the same line in a session branched off.
        known = own is not None and isinstance(at, str)
        parsed.say(
            f"{NAME}:{at}/{own}" if known else f"{NAME}:{source.file}#{line.number}",
            session=session,
            seq=place,
            role=message["role"],
            text=said.text,
            said_at=read_moment(at or message.get("timestamp"), parsed.notes, what="timestamp"),
            line=line.number,
            raw=line.raw,
            scope=f"{NAME}:{session[:8]}",
            parts=said.parts,
        )


def _said(record: dict[str, Any]) -> Said | str:
    """What an entry says, or the reason to leave it out."""
    kind, message = record.get("type"), record.get("message")
    if kind == _MESSAGE and isinstance(message, dict):
        kind = message.get("role")
        if kind in _ROLES:
            said = read_parts(message.get("content"))
            return said if said.text else why_nothing(said.parts)
    name = str(kind)[:60]
    if kind in _RECAPS:
        return f"machine recap ({name})"
    if kind in _OF_EXTENSIONS:
        return f"not the user's words: {name}"
    return f"not a message: {name}"


def _on_other_branches(path: Path, notes: Counter[str]) -> set[str]:
    """Ids of entries the conversation went on without; what is damaged is left to `_read`."""
    named: list[tuple[str, str | None]] = []
    for line in read_lines(path):
        if line.blank or line.too_long:
            continue
        try:
            record = decode_json(line.raw, Counter())
        except ValueError:
            continue
        if isinstance(record, dict) and record.get("type") != _HEAD and (own := _id(record)):
            parent = record.get("parentId")
            named.append((own, parent if isinstance(parent, str) else None))
    parents = linked(named, notes)
    return parents.keys() - branch_to(named[-1][0], parents, notes) if named else set()


def _id(record: dict[str, Any]) -> str | None:
    own = record.get("id")
    return own if isinstance(own, str) and own else None


def _shape(record: dict[str, Any]) -> bool:
    kind, message = record.get("type"), record.get("message")
    if kind == _HEAD:
        return {"id", "cwd"} <= record.keys()
    if kind == _MESSAGE:
        return isinstance(message, dict) and "role" in message and "timestamp" in record
    return isinstance(kind, str) and record.keys() >= _TREE


def _fits(sample: Sample) -> float:
    return share_of_records(sample, _shape)


FORMAT = Format(
    name=NAME,
    title="pi coding agent or OpenClaw session (JSONL)",
    suffixes=frozenset({".jsonl"}),
    fits=_fits,
    read=_read,
)
