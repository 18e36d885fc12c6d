"""The LoCoMo benchmark's native file: conversations to turns and memories, questions to cases.

A turn's text is "speaker: text" with the caption of its picture behind it. A session has one
time; its turns follow one another by a microsecond, so the order inside a session survives. A
question is asked one microsecond after the newest turn of its conversation.

References
----------
Maharana et al. 2024, LoCoMo; categories as the authors' scorer numbers them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from recalltune.errors import SourceError
from recalltune.ingest.format import Format, Sample, Source
from recalltune.ingest.json_source import json_document
from recalltune.ingest.parsed import Parsed
from recalltune.store import EvalCaseRow, Label

__all__ = ["CATEGORIES", "FORMAT", "repaired_evidence", "session_time"]

NAME = "locomo"
CATEGORIES = {1: "multi_hop", 2: "temporal", 3: "open_domain", 4: "single_hop", 5: "adversarial"}
"""Kind of question by category number; several public tools mislabel them."""

_MICROSECOND = timedelta(microseconds=1)
_SESSION = re.compile(r"session_(\d{1,6})")
_TIME = re.compile(r"(\d{1,2}):(\d{2}) (am|pm) on (\d{1,2}) (\w+), (\d{4})", re.ASCII)
_EVIDENCE = re.compile(r"D:?(\d{1,6}):(\d{1,6})(?!\d)")
_MONTHS = {
    "january": 1,
    "february": 2,
    "march": 3,
    "april": 4,
    "may": 5,
    "june": 6,
    "july": 7,
    "august": 8,
    "september": 9,
    "october": 10,
    "november": 11,
    "december": 12,
}


def _read(source: Source, parsed: Parsed) -> None:
    """Turns, memories, cases and labels of one file; the case set is named ``locomo``.

    Raises
    ------
    SourceError
        If the file is no list of conversations, or a session's time cannot be read.
    """
    file, settings = source.file, parsed.settings
    conversations = json_document(source.path, file, parsed)
    if not isinstance(conversations, list):
        msg = f"{file}:1: must be a list of conversations, got {type(conversations).__name__}"
        raise SourceError(msg)
    names: set[str] = set()
    for number, item in enumerate(conversations, start=1):
        where = f"{file}:1: conversation {number}"
        if not (isinstance(item, dict) and isinstance(item.get("conversation"), dict)):
            msg = f"{where}: must be an object with 'conversation' and 'qa'"
            raise SourceError(msg)
        name = str(item.get("sample_id") or f"conv-{number}")
        if name in names:
            msg = f"{where}: sample_id must be unique, got {name!r} again"
            raise SourceError(msg)
        names.add(name)
        scope = settings.scope or f"locomo:{name.removeprefix('conv-')}"
        turns = _turns(item["conversation"], name, scope, where, parsed)
        told = _Conversation(
            name,
            scope,
            file,
            asked_at=max(said_at for _, said_at in turns.values()) + _MICROSECOND
            if turns
            else None,
            session_of={turn_id: session for turn_id, (session, _) in turns.items()},
        )
        for place, question in enumerate(item.get("qa") or [], start=1):
            _question(question, place, told, parsed)


@dataclass(frozen=True)
class _Conversation:
    """What every question about one conversation needs of it."""

    name: str
    scope: str
    file: str
    asked_at: datetime | None
    session_of: dict[str, str]
    """Turn id -> session id."""


def session_time(text: str, where: str) -> datetime:
    """Instant of a session time such as "1:56 pm on 8 May, 2023", as UTC.

    Raises
    ------
    SourceError
        If the text has another form.

    Examples
    --------
    >>> session_time("12:05 am on 8 May, 2023", "f:1").isoformat()
    '2023-05-08T00:05:00+00:00'
    """
    found = _TIME.fullmatch(text.strip()) if isinstance(text, str) else None
    month = found[5].lower() if found else ""
    if found is None or month not in _MONTHS:
        msg = f"{where}: session time must look like '1:56 pm on 8 May, 2023', got {text!r}"
        raise SourceError(msg)
    hour = int(found[1]) % 12 + (12 if found[3] == "pm" else 0)
    try:
        return datetime(
            int(found[6]), _MONTHS[month], int(found[4]), hour, int(found[2]), tzinfo=UTC
        )
    except ValueError as error:
        msg = f"{where}: session time {text!r}: {error}"
        raise SourceError(msg) from None


def repaired_evidence(text: str) -> list[str]:
    """Turn ids in one evidence string, in canonical form.

    Examples
    --------
    >>> repaired_evidence("D8:6; D9:17"), repaired_evidence("D:11:26"), repaired_evidence("D30:05")
    (['D8:6', 'D9:17'], ['D11:26'], ['D30:5'])
    >>> repaired_evidence("D")
    []
    """
    return [f"D{int(session)}:{int(turn)}" for session, turn in _EVIDENCE.findall(text)]


def _turns(
    conversation: dict[str, Any], name: str, scope: str, where: str, parsed: Parsed
) -> dict[str, tuple[str, datetime]]:
    """Session and time of each turn that was kept, by its id."""
    kept = {}
    numbers = sorted(
        int(found[1])
        for key, value in conversation.items()
        if (found := _SESSION.fullmatch(key)) and isinstance(value, list)
    )
    seen: set[str] = set()
    for number in numbers:
        began = session_time(conversation.get(f"session_{number}_date_time", ""), where)
        for seq, turn in enumerate(conversation[f"session_{number}"]):
            text = turn.get("text") if isinstance(turn, dict) else None
            if not isinstance(text, str) or not isinstance(turn.get("dia_id"), str):
                parsed.drop("turn without dia_id or text", seq + 1)
                continue
            if turn["dia_id"] in seen:
                parsed.drop("dia_id repeated", seq + 1)
                continue
            seen.add(turn["dia_id"])
            speaker, caption = str(turn.get("speaker") or "?"), turn.get("blip_caption")
            whole = f"{speaker}: {text} {caption}" if caption else f"{speaker}: {text}"
            turn_id, session = f"{name}:{turn['dia_id']}", f"{name}:s{number}"
            said_at = began + seq * _MICROSECOND
            parsed.say(
                turn_id,
                session=session,
                seq=seq,
                role=speaker,
                text=whole,
                said_at=said_at,
                line=None,
                raw=whole,
                scope=scope,
                remembered=True,
            )
            kept[turn_id] = (session, said_at)
    return kept


def _question(question: Any, place: int, told: _Conversation, parsed: Parsed) -> None:
    if not isinstance(question, dict) or not isinstance(question.get("question"), str):
        parsed.drop("question without a text", place)
        return
    targets = _targets(question.get("evidence"), told, parsed)
    if not targets:
        parsed.drop("question without evidence that can be found", place)
        return
    category = question.get("category")
    kind = CATEGORIES.get(category) if isinstance(category, int) else None
    if kind is None:
        parsed.notes["question of an unknown category"] += 1
    parsed.keep()
    case_id = f"{told.name}:q{place}"
    parsed.others.append(
        EvalCaseRow(
            case_set=NAME,
            case_id=case_id,
            query=question["question"],
            asked_at=told.asked_at,
            scope=told.scope,
            top_k=10,
            # Questions about one session vary together: it is the cluster of the statistics.
            session=told.session_of[targets[0]],
            kind=kind,
            lang="en",
            file=told.file,
        )
    )
    parsed.others += [
        Label(case_set=NAME, case_id=case_id, memory_id=target, file=told.file)
        for target in targets
    ]


def _targets(evidence: Any, told: _Conversation, parsed: Parsed) -> list[str]:
    """Memory ids an evidence list means; what had to be repaired or given up is counted."""
    targets: dict[str, None] = {}
    for text in evidence if isinstance(evidence, list) else []:
        exact = f"{told.name}:{text}"
        if exact in told.session_of:
            targets[exact] = None
            continue
        found = [f"{told.name}:{turn}" for turn in repaired_evidence(str(text)[:1000])]
        usable = [turn for turn in found if turn in told.session_of]
        if usable:
            parsed.notes["evidence string repaired"] += 1
        if len(usable) < max(len(found), 1):
            parsed.notes["evidence string that names no turn, not used"] += 1
        targets |= dict.fromkeys(usable)
    return list(targets)


def _fits(sample: Sample) -> float:
    document = sample.document
    first = document[0] if isinstance(document, list) and document else None
    return float(isinstance(first, dict) and {"conversation", "qa"} <= first.keys())


FORMAT = Format(
    name=NAME,
    title="LoCoMo benchmark (one JSON list of conversations)",
    suffixes=frozenset({".json"}),
    fits=_fits,
    read=_read,
    evaluation=True,
)
