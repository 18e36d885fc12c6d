"""The LongMemEval adapter, on questions made by hand."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recalltune import store
from recalltune.candidates.build import candidates
from recalltune.errors import SourceError
from recalltune.evaluate.run import evaluate
from recalltune.ingest import Source, detect, ingest, reader
from recalltune.ingest.formats.longmemeval import FORMAT
from recalltune.ingest.parsed import Parsed
from recalltune.pipeline.config import RankingConfig

CONFIG = RankingConfig.model_validate(
    {
        "name": "words",
        "arms": {"lexical": {"tokeniser": "plain", "width": 50}},
        "stages": [{"kind": "weighted"}, {"kind": "select", "top_k": 10}],
    }
)


def us(*when: int) -> int:
    return int(datetime(*when, tzinfo=UTC).timestamp()) * 10**6


def said(role: str, content: str, answer: bool | None = None) -> dict[str, Any]:
    turn: dict[str, Any] = {"role": role, "content": content}
    return turn if answer is None else turn | {"has_answer": answer}


BEES = [
    said("user", "I keep bees", answer=True),
    said("assistant", "How many hives?", answer=False),
]
BREAD = [said("user", "My bread is rye"), said("assistant", "Sourdough?")]


def question(name: str = "q1", **changes: Any) -> dict[str, Any]:
    return {
        "question_id": name,
        "question_type": "single-session-user",
        "question": "Which insects do I keep? bees",
        "answer": "bees",
        "question_date": "2023/05/30 (Tue) 23:40",
        "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/21 (Sun) 10:00"],
        "haystack_session_ids": ["sA", "sB"],
        "haystack_sessions": [BEES, BREAD],
        "answer_session_ids": ["sA"],
    } | changes


def brought(lab: store.Lab, write: Any, *questions: Any, **options: Any) -> Any:
    return ingest(lab, write("lme.json", json.dumps(questions)), **options)


def tables(lab: store.Lab) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    with lab.reading() as con:
        spans, cases = store.read_spans(con), store.read_cases(con, "longmemeval")
        return spans, cases, store.read_labels(con, "longmemeval")


def test_a_haystack_is_a_scope_whose_turns_follow_the_date_of_their_session(lab, write):
    report = brought(lab, write, question())
    assert report.frame.select("format", "confidence", "read", "kept", "turns").rows() == [
        ("longmemeval", 1.0, 5, 5, 4)
    ]
    spans, cases, labels = tables(lab)
    one, two = us(2023, 5, 20, 2, 21), us(2023, 5, 21, 10)
    assert spans.select("memory_id", "text", "role", "session", "event_at").rows() == [
        ("longmemeval:q1:sA:1", "I keep bees", "user", "longmemeval:q1:sA", one),
        ("longmemeval:q1:sA:2", "How many hives?", "assistant", "longmemeval:q1:sA", one + 1),
        ("longmemeval:q1:sB:1", "My bread is rye", "user", "longmemeval:q1:sB", two),
        ("longmemeval:q1:sB:2", "Sourdough?", "assistant", "longmemeval:q1:sB", two + 1),
    ]
    assert spans["scope"].unique().to_list() == ["longmemeval:q1"]
    assert cases.select("case_id", "scope", "kind", "asked_at", "session").rows() == [
        ("q1", "longmemeval:q1", "single-session-user", us(2023, 5, 30, 23, 40), "q1")
    ]
    assert labels.select("memory_id", "role", "grade", "judgement").rows() == [
        ("longmemeval:q1:sA:1", "target", 1, "judged")
    ]


def test_a_session_of_two_haystacks_is_in_both_scopes_and_its_text_stored_once(lab, write):
    later = {"haystack_dates": ["2023/05/01 (Mon) 08:00", "2023/05/02 (Tue) 08:00"]}
    brought(lab, write, question("q1"), question("q2", **later))
    spans, _, labels = tables(lab)
    assert spans.group_by("scope").len().sort("scope").rows() == [
        ("longmemeval:q1", 4),
        ("longmemeval:q2", 4),
    ]
    with lab.reading() as con:
        assert store.read_table(con, "text").height == 4
        # Repetitions of an evaluation set are no duplicates.
        assert store.read_memories(con)["duplicate_of"].null_count() == 8
    mine = spans.filter(pl.col("memory_id") == "longmemeval:q2:sA:1")
    assert mine["event_at"].to_list() == [us(2023, 5, 1, 8)]
    assert labels["memory_id"].to_list() == ["longmemeval:q1:sA:1", "longmemeval:q2:sA:1"]


def test_turns_and_sessions_are_found_within_their_own_haystack(lab, write):
    brought(lab, write, question("q1"), question("q2", haystack_sessions=[BREAD, BEES]))
    table = candidates(lab, "longmemeval", CONFIG)
    for unit in ("memory", "session"):
        found = evaluate(table, CONFIG, metrics=("recall@1",), split="all", unit=unit)
        assert found.value("recall@1") == 1.0
    shown = evaluate(table, CONFIG, metrics=("recall@1",), split="all").hits
    assert all(
        memory.startswith(f"longmemeval:{query}:")
        for query, memory in shown.select("query_id", "memory_id").iter_rows()
    )


def test_a_question_that_cannot_be_answered_expects_nothing_beside_its_original(lab, write):
    report = brought(lab, write, question("q1"), question("q1_abs"))
    _, cases, labels = tables(lab)
    assert cases.select("case_id", "kind", "session").rows() == [
        ("q1", "single-session-user", "q1"),
        ("q1_abs", "nothing_to_find", "q1"),
    ]
    assert labels["case_id"].unique().to_list() == ["q1"]
    assert "marked turn of a question that expects nothing, no target: 1" in report.notices
    found = evaluate(candidates(lab, "longmemeval", CONFIG), CONFIG, split="all")
    assert found.counts["cases_without_target"] == 1


def test_without_marked_turns_those_of_the_evidence_sessions_are_weak_targets(lab, write):
    bare = [[said(turn["role"], turn["content"]) for turn in BEES], BREAD]
    report = brought(lab, write, question(haystack_sessions=bare, answer_session_ids=["sA", "sZ"]))
    _, _, labels = tables(lab)
    assert labels.select("memory_id", "judgement").rows() == [
        ("longmemeval:q1:sA:1", "weak"),
        ("longmemeval:q1:sA:2", "weak"),
    ]
    assert "evidence session that is not in the haystack: 1" in report.notices


def test_a_question_without_evidence_stays_as_a_case_without_targets(lab, write):
    report = brought(lab, write, question(haystack_sessions=[BREAD], answer_session_ids=[]))
    _, cases, labels = tables(lab)
    assert (cases.height, labels.height) == (1, 0)
    assert "question without evidence in its haystack: a case without targets: 1" in report.notices


def test_a_session_that_stands_twice_in_a_haystack_is_there_at_both_dates(lab, write):
    report = brought(
        lab, write, question(haystack_session_ids=["sA", "sA"], haystack_sessions=[BEES, BEES])
    )
    spans, _, labels = tables(lab)
    assert spans["memory_id"].to_list() == [
        "longmemeval:q1:sA:1",
        "longmemeval:q1:sA:2",
        "longmemeval:q1:sA~s2:1",
        "longmemeval:q1:sA~s2:2",
    ]
    assert labels.height == 2
    assert "session_id repeated in a haystack, named by its place: 1" in report.notices


def test_times_that_cannot_be_read_are_counted_and_the_question_follows_the_newest_turn(lab, write):
    dates = ["2023/05/20 (Sat) 02:21", "yesterday"]
    report = brought(lab, write, question(haystack_dates=dates, question_date=""))
    spans, cases, _ = tables(lab)
    assert spans["event_at"].null_count() == 2
    assert cases["asked_at"].to_list() == [us(2023, 5, 20, 2, 21) + 2]
    assert "haystack_dates unreadable, not used: 1" in report.notices
    assert "question without a time, asked just after its newest turn: 1" in report.notices


def test_a_question_dated_before_a_session_does_not_see_it_and_that_is_told(lab, write):
    report = brought(lab, write, question(question_date="2023/05/20 (Sat) 12:00"))
    assert "question dated before turns of its haystack, which it does not see: 1" in report.notices


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"question_id": ""}, "question without question_id"),
        ({"question_id": 7}, "question without question_id"),
        ({"question": " "}, "question without a text"),
        ({"haystack_sessions": None}, "question without haystack_sessions"),
        ({"question_id": "q0"}, "question_id repeated"),
        ({"haystack_sessions": ["x", BREAD]}, "session that is no list of turns"),
        ({"haystack_sessions": [[said("user", " ")], BREAD]}, "turn without role or content"),
        ({"haystack_sessions": [["x"], BREAD]}, "turn without role or content"),
    ],
)
def test_what_cannot_be_used_is_dropped_with_a_reason_and_the_next_is_read(
    lab, write, changes, reason
):
    path = write("lme.json", json.dumps([question("q0"), question("q1") | changes, question("q2")]))
    report = ingest(lab, path, format="longmemeval")
    assert [row[:2] for row in report.reasons().rows()] == [(reason, 1)]
    assert {"q0", "q2"} <= set(tables(lab)[1]["case_id"])


def test_the_evidence_file_beside_the_whole_one_brings_no_turn_and_no_case_twice(lab, write):
    write("lme_oracle.json", json.dumps([question(haystack_sessions=[BEES])]))
    report = ingest(lab, write("lme_s.json", json.dumps([question(), question("q2")])).parent)
    spans, cases, labels = tables(lab)
    assert (spans.height, cases["case_id"].to_list(), labels.height) == (8, ["q1", "q2"], 2)
    assert (report.frame["read"] == report.frame["kept"] + report.frame["dropped"]).all()
    assert dict(report.reasons().select("reason", "count").iter_rows()) == {
        "case another file holds": 1,
        "message another file holds (resumed session)": 2,
    }


def test_a_label_that_a_file_of_judgements_has_is_there_once(lab, write):
    ingest(lab, write("longmemeval/a.qrels", "q1 0 longmemeval:q1:sA:1 2\n"))
    report = brought(lab, write, question())
    assert tables(lab)[2].select("memory_id", "grade").rows() == [("longmemeval:q1:sA:1", 2)]
    assert "judgement that another file holds, not used: 1" in report.notices
    assert report.frame["dropped"].to_list() == [0]


def test_a_file_larger_than_any_document_is_known_and_read(write, lab, monkeypatch):
    path = write("lme.json", json.dumps([question(f"q{n}") for n in range(20)], indent=2))
    monkeypatch.setattr(reader, "MAX_DOCUMENT_BYTES", 1000)
    found = detect(Source(path, "lme.json", "src/lme.json"))
    assert (found and found.format, found and found.confidence) == ("longmemeval", 1.0)
    assert ingest(lab, path).frame["kept"].to_list() == [100]


def test_a_text_that_quotes_the_keys_is_not_taken_for_the_set(write):
    quoted = json.dumps([{"text": json.dumps(question())}])
    with pytest.raises(SourceError, match="format not recognised"):
        detect(Source(write("a.json", quoted), "a.json", "src/a.json"))


DATES = ["2023/05/20 (Sat) 02:21", "x", None]
SESSIONS = [BEES, BREAD, [], None, [3], ["x"]]
ITEM = st.fixed_dictionaries(
    {},
    optional={
        "question_id": st.sampled_from(["a", "b", "b_abs", "_abs", "", None, 3]),
        "question": st.sampled_from(["q", "", None]),
        "question_date": st.sampled_from(["2023/05/30 (Tue) 23:40", "2023/05/30", "(", None, 5]),
        "haystack_dates": st.lists(st.sampled_from(DATES), max_size=3),
        "haystack_session_ids": st.lists(st.sampled_from(["s", "t", "", 4]), max_size=3),
        "haystack_sessions": st.lists(st.sampled_from(SESSIONS), max_size=3),
        "answer_session_ids": st.sampled_from([["s"], ["s", "t"], None, "s"]),
    },
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(items=st.lists(ITEM, max_size=4))
def test_every_turn_and_question_is_kept_or_dropped(tmp_path, items):
    path = tmp_path / "lme.json"
    path.write_text(json.dumps(items), encoding="utf-8")
    parsed = Parsed("longmemeval", "src/lme.json")
    FORMAT.read(Source(path, "lme.json", "src/lme.json"), parsed)
    cases = [row for row in parsed.others if isinstance(row, store.EvalCaseRow)]
    labels = [row for row in parsed.others if isinstance(row, store.Label)]
    assert parsed.kept == len(cases) + len(parsed.turns)
    assert {label.memory_id for label in labels} <= {turn.turn_id for turn in parsed.turns}
    assert len({case.case_id for case in cases}) == len(cases)
    used = {case.case_id for case in cases}
    # Of each question that was used, every turn is a record; of the others, the question is one.
    sessions = {
        item["question_id"]: item["haystack_sessions"]
        for item in reversed(items)
        if item.get("question_id") in used and item.get("question") and "haystack_sessions" in item
    }
    inside = sum(
        len(session) if isinstance(session, list) else 1
        for several in sessions.values()
        for session in several
    )
    assert parsed.records == len(items) + inside
