"""PrecisionMemBench: beliefs as memories of their user, one case a query and one a session turn.

A memory's text is canonical name, aliases and content. Its user is its scope and its domain its
project; type is the category; pinned, confidence and succession are kept. Judged is the tier
``relevantBeliefs``: what it may only include is a target, and where that is the empty list the
right answer is nothing. What any tier must exclude, or a session must not surface, is a hard
negative; another domain's beliefs are in sight, so that a ranking can go wrong by them. The other
tiers stand in ``expectations``. Queries are asked a day after the newest belief, session turns an
hour apart from then on; a belief that a turn creates or gives new aliases is known just after it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from recalltune.store import (
    EvalCaseRow,
    Lab,
    Label,
    Memory,
    MemorySpan,
    insert_rows,
    put_texts,
    text_hash,
)

__all__ = ["fill", "load"]

SET = "precisionmembench"
USER = "test-user"
_HOUR = timedelta(hours=1)
_MOMENT = timedelta(microseconds=1)


def load(folder: Path, name: str) -> list[dict[str, Any]]:
    """Beliefs (``beliefs.seed``), cases (``retrieval.cases``) or sessions."""
    return json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))


def fill(lab: Lab, folder: Path) -> None:
    """Fill a lab; the case set is named ``precisionmembench``."""
    beliefs = load(folder, "beliefs.seed")
    asked_at = max(_time(belief["created_at"]) for belief in beliefs) + timedelta(days=1)
    known = {belief["_id"]: [(belief, _time(belief["created_at"]))] for belief in beliefs}
    rows: list[Any] = []
    for case in load(folder, "retrieval.cases"):
        rows += _case(case["caseId"], case["query"], case, case["expect"], asked_at)
    for session in load(folder, "session-retrieval.cases"):
        for turn in session["turns"]:
            asked_at += _HOUR
            case_id = f"{session['caseId']}:t{turn['turnIndex']}"
            rows += _case(
                case_id,
                turn["userMessage"],
                turn,
                turn["expect"],
                asked_at,
                session=session["caseId"],
            )
            for belief in _learnt(turn, known):
                known.setdefault(belief["_id"], []).append((belief, asked_at + _MOMENT))
    texts: list[str] = []
    for versions in known.values():
        texts += [_text(belief) for belief, _ in versions]
        rows += _memory(versions)
    with lab.writing() as con:
        put_texts(con, sorted(set(texts)))
        insert_rows(con, rows)


def _learnt(turn: dict[str, Any], known: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if new := turn.get("createBeliefAtTurn"):
        yield new
    if told := turn.get("updateBeliefAtTurn"):
        before = known[told["beliefId"]][-1][0]
        yield before | {"aliases": [*before["aliases"], *told["addAliases"]]}


def _memory(versions: list[tuple[dict[str, Any], datetime]]) -> Iterator[Memory | MemorySpan]:
    belief = versions[-1][0]
    superseded_at = _time(belief["updated_at"]) if belief["superseded_by"] else None
    yield Memory(
        memory_id=belief["_id"],
        text_hash=text_hash(_text(belief)),
        category=belief["type"],
        scope=belief["user_id"],
        project=belief["scope"][0],
        confidence=float(belief["confidence"]),
        pinned=belief["pinned"],
        status="superseded" if superseded_at else "current",
        superseded_by=belief["superseded_by"],
        superseded_at=superseded_at,
        tags=tuple(belief["aliases"]),
        source=SET,
        meta={
            "reinforcementCount": belief["reinforcement_count"],
            "lastReinforcedAt": belief["last_reinforced_at"],
            "epistemicStatus": belief["epistemic_status"],
        },
    )
    ends = [known_at for _, known_at in versions[1:]]
    for version, (told, known_at) in enumerate(versions, start=1):
        yield MemorySpan(
            memory_id=told["_id"],
            version=version,
            text_hash=text_hash(_text(told)),
            scope=told["user_id"],
            event_at=_time(told["created_at"]),
            known_at=known_at,
            leaves_at=ends[version - 1] if version <= len(ends) else None,
            superseded_at=superseded_at,
        )


def _case(
    case_id: str,
    query: str,
    said: dict[str, Any],
    expect: dict[str, Any],
    asked_at: datetime,
    session: str | None = None,
) -> Iterator[EvalCaseRow | Label]:
    relevant = expect.get("relevantBeliefs", {}).get("shouldOnlyInclude")
    most = said.get("budget", {}).get("maxBeliefs", 8)
    yield EvalCaseRow(
        case_set=SET,
        case_id=case_id,
        query=query,
        asked_at=asked_at,
        scope=said.get("userId", USER),
        top_k=max(most, 1),
        session=session,
        kind="nothing_to_find" if relevant == [] else said.get("category", "session"),
        lang="en",
        expectations={"tiers": expect, "domains": said["scope"], "maxBeliefs": most},
    )
    for belief in relevant or []:
        yield Label(case_set=SET, case_id=case_id, memory_id=belief)
    excluded = [belief for tier in expect.values() for belief in tier.get("mustExclude", [])]
    excluded += expect.get("noiseCheck", {}).get("mustNotSurface", [])
    for belief in dict.fromkeys(excluded):
        yield Label(case_set=SET, case_id=case_id, memory_id=belief, role="hard_negative", grade=0)


def _text(belief: dict[str, Any]) -> str:
    name = belief["canonical_name"].replace("_", " ")
    return " ".join([name, *belief["aliases"], belief["content"]])


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)
