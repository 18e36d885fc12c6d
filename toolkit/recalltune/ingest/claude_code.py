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
from pathlib import Path, PurePosixPath
from typing import Any

from recalltune.ingest.json_source import json_objects
from recalltune.ingest.moments import read_moment
from recalltune.ingest.parsed import Parsed, Settings, turn_claim
from recalltune.store import Turn

__all__ = ["FORMAT", "read_claude_code"]

FORMAT = "claude_code"


def read_claude_code(path: Path, file: str, settings: Settings) -> Parsed:
    """Turns of one session file; with ``turns_as_memories``, main turns as memories too.

    Parameters
    ----------
    path
        The file.
    file
        Its name in the lab.
    settings
        ``scope`` replaces the default ``cc:<first 8 of the session id>``.
    """
    parsed = Parsed(FORMAT)
    seen = _Seen()
    for place, (line, record) in enumerate(json_objects(path, parsed)):
        seen.link(record)
        if reason := _not_a_turn(record):
            parsed.drop(reason, line.number)
            continue
        text, parts = _text(record["message"]["content"])
        for kind, count in parts.items():
            if kind != "text":
                parsed.notes[f"part not imported: {kind}"] += count
        if not text:
            others = " and ".join(sorted(parts - Counter(text=parts["text"])))
            parsed.drop(f"no text, only {others}" if others else "empty text", line.number)
            continue
        turn = _turn(record, text, parts, place, line.number, file, settings, parsed)
        occurrence = seen.occurrence(turn.turn_id, line.text)
        if occurrence == 0:
            parsed.drop("exact copy of an earlier line", line.number)
            continue
        if occurrence > 1:
            parsed.notes["same uuid, different record: kept under an occurrence number"] += 1
            turn = turn.with_(turn_id=f"{turn.turn_id}~{occurrence}")
        parsed.keep()
        parsed.turns.append(turn)
    _drop_sidechain_repeats(parsed)
    if seen.orphans:
        parsed.notes["record whose parent is not in the file (kept in file order)"] += seen.orphans
    if settings.turns_as_memories:
        parsed.claims = [turn_claim(turn, settings) for turn in parsed.turns if not turn.sidechain]
    return parsed


class _Seen:
    """Uuids of one file: which lines repeat which, and whose parent never came."""

    def __init__(self) -> None:
        self._uuids: set[str] = set()
        self._parents: list[str] = []
        self._lines: dict[str, list[bytes]] = {}

    def link(self, record: dict[str, Any]) -> None:
        if isinstance(uuid := record.get("uuid"), str):
            self._uuids.add(uuid)
        if isinstance(parent := record.get("parentUuid"), str):
            self._parents.append(parent)

    def occurrence(self, turn_id: str, line: str) -> int:
        """1 for a new uuid, 2 and up for another record under it, 0 for an exact copy."""
        digest = hashlib.sha256(line.encode()).digest()
        earlier = self._lines.setdefault(turn_id, [])
        if digest in earlier:
            return 0
        earlier.append(digest)
        return len(earlier)

    @property
    def orphans(self) -> int:
        return sum(parent not in self._uuids for parent in self._parents)


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


def _turn(
    record: dict[str, Any],
    text: str,
    parts: Counter[str],
    place: int,
    line: int,
    file: str,
    settings: Settings,
    parsed: Parsed,
) -> Turn:
    session = str(record.get("sessionId") or PurePosixPath(file).stem)
    agent, uuid = record.get("agentId"), record.get("uuid")
    sidechain = record.get("isSidechain") is True
    said_at = read_moment(record.get("timestamp"), parsed.notes, what="timestamp")
    if said_at is None:
        parsed.notes["turn without a usable time"] += 1
    return Turn(
        turn_id=uuid if isinstance(uuid, str) and uuid else f"cc:{file}#{line}",
        session_id=f"{session}/{agent}" if agent else session,
        session_kind="subagent" if sidechain else "interactive",
        seq=place,
        role=record["type"],
        text_hash=parsed.text(text),
        said_at=said_at,
        scope=settings.scope or f"cc:{session[:8]}",
        source=FORMAT,
        file=file,
        line=line,
        sidechain=sidechain,
        meta={"parts": {**parts}},
    )


def _drop_sidechain_repeats(parsed: Parsed) -> None:
    """A side conversation opens with words of the main one; those are not said twice."""
    main = {(turn.role, turn.text_hash) for turn in parsed.turns if not turn.sidechain}
    kept = []
    for turn in parsed.turns:
        if turn.sidechain and (turn.role, turn.text_hash) in main:
            parsed.demote("side conversation repeats a main message", turn.line or 1)
        else:
            kept.append(turn)
    parsed.turns = kept
    parsed.notes["side conversation turn, kept apart (sidechain)"] += sum(
        turn.sidechain for turn in kept
    )
