"""LongMemEval's file: every question with the sessions it is asked of, its haystack.

Each haystack is a scope of its own, ``longmemeval:<question_id>``. A session that several questions
share is a memory in each of these scopes, under the question's id and with the question's date of
it; its text is stored once. Turns follow one another by a microsecond from the session's date
(without a zone: UTC). The file is read question by question, so its size does not matter.

Targets are the turns marked ``has_answer``; a session is found with the first of its turns. Where a
question's turns are not marked, every turn of its ``answer_session_ids`` is a weak target. A
question is asked at its ``question_date``. One whose id ends in ``_abs`` has no answer in its
haystack: it is kept as a case that expects nothing (``nothing_to_find``), without targets, in one
cluster with the question it was made of.

References
----------
Wu et al. 2024, LongMemEval, arXiv:2410.10813; dataset format in the authors' README.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal

from recalltune.ingest.format import Format, Sample, Source
from recalltune.ingest.json_elements import json_elements
from recalltune.ingest.moments import read_moment
from recalltune.ingest.parsed import Parsed
from recalltune.store import EvalCaseRow, Label

__all__ = ["FORMAT"]

NAME = "longmemeval"
_MICROSECOND = timedelta(microseconds=1)
_ABSTAINS = "_abs"
_KEYS = ("question_id", "haystack_sessions", "haystack_dates")


@dataclass
class _Haystack:
    """What the sessions of one question hold."""

    marked: list[str] = field(default_factory=list)
    """Turns that have the answer."""
    turns_of: dict[str, list[str]] = field(default_factory=dict)
    """Session, as the file names it -> its turns."""
    newest: datetime | None = None


def _read(source: Source, parsed: Parsed) -> None:
    """Turns, memories, cases and labels of one file; the case set is named ``longmemeval``.

    Raises
    ------
    SourceError
        If the file is no JSON list.
    """
    seen: set[str] = set()
    for number, item in json_elements(source.path, source.file, parsed):
        name, query, sessions = (item.get(key) for key in ("question_id", "question", _KEYS[1]))
        if not isinstance(name, str) or not name.strip():
            parsed.drop("question without question_id", number)
        elif not isinstance(query, str) or not query.strip():
            parsed.drop("question without a text", number)
        elif not isinstance(sessions, list):
            parsed.drop("question without haystack_sessions", number)
        elif name in seen:
            parsed.drop("question_id repeated", number)
        else:
            seen.add(name)
            scope = parsed.settings.scope or f"{NAME}:{name}"
            _question(name, query, item, scope, _turns(name, item, scope, number, parsed), parsed)
            parsed.full()


def _turns(name: str, item: dict[str, Any], scope: str, number: int, parsed: Parsed) -> _Haystack:
    """Keep the turns of a haystack."""
    haystack = _Haystack()
    ids, dates = _listed(item.get("haystack_session_ids")), _listed(item.get("haystack_dates"))
    for place, session in enumerate(item["haystack_sessions"]):
        if not isinstance(session, list):
            parsed.drop("session that is no list of turns", number)
            continue
        told = ids[place] if place < len(ids) else None
        if not isinstance(told, str) or not told:
            parsed.notes["session without an id, named by its place"] += 1
            told = f"s{place + 1}"
        began = _moment(dates[place] if place < len(dates) else None, "haystack_dates", parsed)
        turns = haystack.turns_of.setdefault(told, [])
        if turns:
            parsed.notes["session_id repeated in a haystack, named by its place"] += 1
        # The same session may stand in a haystack twice, at two dates.
        session_id = f"{NAME}:{name}:{told}" + (f"~s{place + 1}" if turns else "")
        for seq, turn in enumerate(session):
            role, text = (turn.get("role"), turn.get("content")) if _is(turn) else (None, None)
            if not isinstance(role, str) or not isinstance(text, str) or not text.strip():
                parsed.drop("turn without role or content", number)
                continue
            turn_id = f"{session_id}:{seq + 1}"
            said_at = None if began is None else began + seq * _MICROSECOND
            if not parsed.say(
                turn_id,
                session=session_id,
                seq=seq,
                role=role,
                text=text,
                said_at=said_at,
                line=None,
                raw=f"{said_at} {role}: {text}",
                scope=scope,
                remembered=True,
            ):
                continue
            turns.append(turn_id)
            if turn.get("has_answer") is True:
                haystack.marked.append(turn_id)
            haystack.newest = max(filter(None, (haystack.newest, said_at)), default=None)
    return haystack


def _question(
    name: str, query: str, item: dict[str, Any], scope: str, haystack: _Haystack, parsed: Parsed
) -> None:
    """Keep a question as a case with its labels."""
    abstains = name.endswith(_ABSTAINS)
    evidence = [] if abstains else _evidence(item, haystack, parsed)
    targets = haystack.marked
    judgement: Literal["judged", "weak"] = "judged"
    if abstains:
        parsed.notes["question without an answer in its haystack: a case that expects nothing"] += 1
        parsed.notes["marked turn of a question that expects nothing, no target"] += len(targets)
        targets = []
    elif not targets and evidence:
        parsed.notes["question without marked turns: those of its sessions are weak targets"] += 1
        targets, judgement = evidence, "weak"
    if not targets and not abstains:
        parsed.notes["question without evidence in its haystack: a case without targets"] += 1
    asked_at = _moment(item.get("question_date"), "question_date", parsed)
    if asked_at is None and haystack.newest is not None:
        parsed.notes["question without a time, asked just after its newest turn"] += 1
        asked_at = haystack.newest + _MICROSECOND
    elif asked_at is not None and haystack.newest is not None and asked_at <= haystack.newest:
        parsed.notes["question dated before turns of its haystack, which it does not see"] += 1
    kind = item.get("question_type")
    parsed.keep()
    parsed.others.append(
        EvalCaseRow(
            case_set=NAME,
            case_id=name,
            query=query,
            asked_at=asked_at,
            scope=scope,
            top_k=10,
            session=name.removesuffix(_ABSTAINS) or name,
            kind="nothing_to_find" if abstains else kind if isinstance(kind, str) else None,
            lang="en",
            expectations={"notes": kind} if abstains and isinstance(kind, str) else {},
            file=parsed.file,
        )
    )
    parsed.others += [
        Label(
            case_set=NAME,
            case_id=name,
            memory_id=target,
            judgement=judgement,
            file=parsed.file,
        )
        for target in dict.fromkeys(targets)
    ]


def _evidence(item: dict[str, Any], haystack: _Haystack, parsed: Parsed) -> list[str]:
    """Turns of the sessions that hold the answer; what is not among the targets is counted."""
    turns: list[str] = []
    marked = set(haystack.marked)
    for session in dict.fromkeys(map(str, _listed(item.get("answer_session_ids")))):
        mine = haystack.turns_of.get(session, [])
        turns += mine
        if not mine:
            parsed.notes["evidence session that is not in the haystack"] += 1
        elif marked and marked.isdisjoint(mine):
            parsed.notes["evidence session without a marked turn, not a target"] += 1
    return turns


def _moment(value: Any, what: str, parsed: Parsed) -> datetime | None:
    """Instant of a date such as "2023/05/20 (Sat) 02:21"."""
    if isinstance(value, str) and len(value) < 64:
        day, _, rest = value.strip().partition(" (")
        value = f"{day.replace('/', '-')} {rest.partition(')')[2].strip()}".strip()
    return read_moment(value, parsed.notes, what=what)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _is(turn: Any) -> bool:
    return isinstance(turn, dict)


def _fits(sample: Sample) -> float:
    document = sample.document
    if isinstance(document, list) and document and isinstance(document[0], dict):
        return float(document[0].keys() >= set(_KEYS))
    # The whole set is larger than any document that is held; a key inside a text is escaped.
    start = "".join(sample.text.split())
    return float(start.startswith("[{") and all(f'"{key}":' in start for key in _KEYS))


FORMAT = Format(
    name=NAME,
    title="LongMemEval benchmark (one JSON list of questions)",
    suffixes=frozenset({".json"}),
    fits=_fits,
    read=_read,
    evaluation=True,
)
