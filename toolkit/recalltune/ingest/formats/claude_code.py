"""Claude Code session logs (JSONL) to turns.

Kept: user and assistant records that carry text parts. Tool calls, tool results, thinking,
progress lines, machine recaps and notes marked as meta are left out by reason; parts that are not
text are counted apart. Records of a side conversation are kept, flagged and never the user's.

References
----------
RecallNest, ``src/ingest.ts``, reads the same lines; it keeps no times and no flags.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import PurePosixPath
from typing import Any

from recalltune.ingest.format import Format, Sample, Source, share_of_records
from recalltune.ingest.json_source import json_objects
from recalltune.ingest.moments import read_moment
from recalltune.ingest.parsed import Parsed

__all__ = ["FORMAT"]


def _read(source: Source, parsed: Parsed) -> None:
    """Turns of one session file, of scope ``cc:<first 8 of the session id>``."""
    chain = _Chain()
    main: set[bytes] = set()
    for place, (line, record) in enumerate(json_objects(source.path, parsed)):
        chain.link(record)
        if reason := _not_a_turn(record):
            parsed.drop(reason, line.number)
            continue
        text, parts = _text(record["message"]["content"])
        if not text:
            others = " and ".join(sorted(parts - Counter(text=parts["text"])))
            parsed.drop(f"no text, only {others}" if others else "empty text", line.number)
            continue
        role, sidechain = record["type"], record.get("isSidechain") is True
        # A side conversation opens with words of the main one; those are not said twice.
        words = hashlib.sha256(f"{role}:{text}".encode()).digest()[:16]
        if sidechain and words in main:
            parsed.drop("side conversation repeats a main message", line.number)
            continue
        session = str(record.get("sessionId") or PurePosixPath(source.inside).stem)
        agent, uuid = record.get("agentId"), record.get("uuid")
        parsed.say(
            uuid if isinstance(uuid, str) and uuid else f"cc:{source.file}#{line.number}",
            session=f"{session}/{agent}" if agent else session,
            session_kind="subagent" if sidechain else None,
            seq=place,
            role=role,
            text=text,
            said_at=read_moment(record.get("timestamp"), parsed.notes, what="timestamp"),
            line=line.number,
            raw=line.raw,
            scope=f"cc:{session[:8]}",
            sidechain=sidechain,
            parts=parts,
        )
        if not sidechain:
            main.add(words)
    if orphans := chain.orphans:
        parsed.notes["record whose parent is not in the file (kept in file order)"] += orphans


class _Chain:
    """Uuids of one file, and the parents that never came."""

    def __init__(self) -> None:
        self._uuids: set[str] = set()
        self._awaited: Counter[str] = Counter()

    def link(self, record: dict[str, Any]) -> None:
        parent, uuid = record.get("parentUuid"), record.get("uuid")
        if isinstance(parent, str) and parent not in self._uuids:
            self._awaited[parent] += 1
        if isinstance(uuid, str):
            self._uuids.add(uuid)
            self._awaited.pop(uuid, None)

    @property
    def orphans(self) -> int:
        return self._awaited.total()


def _not_a_turn(record: dict[str, Any]) -> str | None:
    kind = record.get("type")
    if kind not in ("user", "assistant"):
        return f"not a message: {str(kind)[:40]}" if kind is not None else "record without a type"
    if record.get("isMeta") is True:
        return "meta record, not the user's words"
    if record.get("isCompactSummary") is True:
        return "machine recap (compact summary)"
    message = record.get("message")
    if not isinstance(message, dict) or not isinstance(message.get("content"), str | list):
        return "message without content"
    return None


def _text(content: str | list[Any]) -> tuple[str, Counter[str]]:
    """Text parts joined by blank lines, and how many parts of each kind there were."""
    if isinstance(content, str):
        return content.strip(), Counter(text=1) if content.strip() else Counter()
    texts, parts = [], Counter[str]()
    for part in content:
        kind = str(part.get("type"))[:40] if isinstance(part, dict) else type(part).__name__
        parts[kind] += 1
        if kind == "text" and isinstance(text := part.get("text"), str) and text.strip():
            texts.append(text.strip())
    return "\n\n".join(texts), parts


def _shape(record: dict[str, Any]) -> bool:
    kind = record.get("type")
    if kind in ("user", "assistant"):
        return isinstance(record.get("message"), dict)
    return isinstance(kind, str) and bool(
        {"uuid", "sessionId", "leafUuid", "messageId"} & record.keys()
    )


def _fits(sample: Sample) -> float:
    return share_of_records(sample, _shape)


FORMAT = Format(
    name="claude_code",
    title="Claude Code session (JSONL)",
    suffixes=frozenset({".jsonl"}),
    fits=_fits,
    read=_read,
)
