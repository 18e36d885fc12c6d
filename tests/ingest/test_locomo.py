"""The LoCoMo adapter, on a conversation made by hand."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from recalltune import store
from recalltune.errors import SourceError
from recalltune.ingest import ingest
from recalltune.ingest.formats.locomo import repaired_evidence, session_time


def us(*when: int) -> int:
    return int(datetime(*when, tzinfo=UTC).timestamp()) * 10**6


def turn(dia_id: str, text: str, speaker: str = "Ada", **extra: Any) -> dict[str, Any]:
    return {"speaker": speaker, "dia_id": dia_id, "text": text, **extra}


def question(text: str, evidence: Any, category: Any = 4) -> dict[str, Any]:
    return {"question": text, "evidence": evidence, "category": category, "answer": "x"}


def conversation(*questions: Any, **changes: Any) -> dict[str, Any]:
    talk = {
        "speaker_a": "Ada",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [turn("D1:1", "Hello"), turn("D1:2", "Look", blip_caption="a red kite")],
        "session_2_date_time": "12:05 am on 9 May, 2023",
        "session_2": [turn("D2:1", "Bye", "Bo")],
        "session_3_date_time": "9:00 am on 1 June, 2023",
    }
    return {"sample_id": "conv-7", "conversation": talk | changes, "qa": list(questions)}


def test_turns_become_memories_with_speaker_caption_scope_session_and_time(lab, write):
    ingest(lab, write("locomo.json", json.dumps([conversation(question("q", ["D1:1"]))])))
    with lab.reading() as con:
        spans = store.read_spans(con)
    first, second = us(2023, 5, 8, 13, 56), us(2023, 5, 9, 0, 5)
    rows = spans.select("memory_id", "text", "scope", "session", "event_at", "known_at").rows()
    assert rows == [
        ("conv-7:D1:1", "Ada: Hello", "locomo:7", "conv-7:s1", first, first),
        ("conv-7:D1:2", "Ada: Look a red kite", "locomo:7", "conv-7:s1", first + 1, first + 1),
        ("conv-7:D2:1", "Bo: Bye", "locomo:7", "conv-7:s2", second, second),
    ]


def test_questions_become_cases_asked_just_after_their_conversation(lab, write):
    kinds = {1: "multi_hop", 2: "temporal", 3: "open_domain", 4: "single_hop", 5: "adversarial"}
    asked = [question(f"q{number}", ["D2:1"], number) for number in kinds]
    ingest(lab, write("locomo.json", json.dumps([conversation(*asked)])))
    with lab.reading() as con:
        cases, labels = store.read_cases(con, "locomo"), store.read_labels(con, "locomo")
    assert cases["kind"].to_list() == list(kinds.values())
    assert cases["asked_at"].unique().to_list() == [us(2023, 5, 9, 0, 5) + 1]
    assert cases["scope"].unique().to_list() == ["locomo:7"]
    assert cases["session"].unique().to_list() == ["conv-7:s2"]
    assert labels.select("memory_id", "role", "grade").unique().rows() == [
        ("conv-7:D2:1", "target", 1)
    ]


def test_dirty_evidence_is_repaired_or_counted_and_questions_without_any_dropped(lab, write):
    asked = [
        question("two in one", ["D1:1; D2:1"]),
        question("extra colon", ["D:1:2"]),
        question("leading zero", ["D1:02"]),
        question("no such turn beside a good one", ["D9:9", "D1:1"]),
        question("no number", ["D"]),
        question("empty", []),
        question("no list", None),
    ]
    report = ingest(lab, write("locomo.json", json.dumps([conversation(*asked)])))
    with lab.reading() as con:
        labels = store.read_labels(con, "locomo").select("case_id", "memory_id").rows()
    assert labels == [
        ("conv-7:q1", "conv-7:D1:1"),
        ("conv-7:q1", "conv-7:D2:1"),
        ("conv-7:q2", "conv-7:D1:2"),
        ("conv-7:q3", "conv-7:D1:2"),
        ("conv-7:q4", "conv-7:D1:1"),
    ]
    assert "evidence string repaired: 3" in report.notices
    assert "evidence string that names no turn, not used: 2" in report.notices
    assert report.dropped.select("reason", "count").rows() == [
        ("question without evidence that can be found", 3)
    ]
    assert report.frame.select("read", "kept", "dropped").rows() == [(10, 7, 3)]


@pytest.mark.parametrize("text", ["D1:1" * 300, "D" * 100_000, "D:" * 50_000, "D99999999999:1"])
def test_hostile_evidence_is_read_in_bounded_time(text: str):
    assert all(len(turn_id) < 20 for turn_id in repaired_evidence(text))


@pytest.mark.parametrize(
    "text",
    [
        "13 May 2023",
        "1:56 on 8 May, 2023",
        "1:56 pm on 31 June, 2023",
        "1:99 pm on 8 May, 2023",
        None,
    ],
)
def test_a_session_time_of_another_form_is_refused_with_what_was_seen(text: Any):
    with pytest.raises(SourceError, match=r"^f:1: session time"):
        session_time(text, "f:1")


@pytest.mark.parametrize(
    ("text", "hour"), [("12:00 am", 0), ("1:00 am", 1), ("12:00 pm", 12), ("11:00 pm", 23)]
)
def test_noon_and_midnight_are_told_apart(text: str, hour: int):
    assert session_time(f"{text} on 8 May, 2023", "f:1") == datetime(2023, 5, 8, hour, tzinfo=UTC)


def test_a_repeated_turn_is_dropped_and_a_repeated_conversation_refused(lab, write):
    twice = [turn("D1:1", "one"), turn("D1:1", "two")]
    talk = conversation(question("q", ["D1:1"]), session_1=twice)
    report = ingest(lab, write("a.json", json.dumps([talk])))
    assert report.dropped["reason"].to_list() == ["dia_id repeated"]
    with pytest.raises(SourceError, match="sample_id must be unique, got 'conv-7'"):
        ingest(lab, write("b.json", json.dumps([talk, talk])))


def test_a_conversation_that_two_files_hold_brings_its_questions_once(lab, write):
    talk = conversation(question("q", ["D1:1"]))
    write("a.json", json.dumps([talk]))
    report = ingest(lab, write("b.json", json.dumps([talk])).parent)
    with lab.reading() as con:
        cases, labels = store.read_cases(con, "locomo"), store.read_labels(con, "locomo")
    assert (cases.height, labels.height) == (1, 1)
    assert dict(report.reasons().select("reason", "count").iter_rows()) == {
        "case another file holds": 1,
        "message another file holds (resumed session)": 3,
    }
