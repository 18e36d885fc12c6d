"""iFlow sessions: like Claude Code's, told apart, and nothing said twice while it grows."""

from __future__ import annotations

import json
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalltune import store
from recalltune.ingest import Source, detect, ingest
from recalltune.ingest.formats import FORMATS
from recalltune.ingest.parsed import Parsed

SESSION = "session-0f0e0d0c-1111-4222-8333-444455556666"


def say(uuid: str, kind: str = "user", content: Any = None, **more: Any) -> dict[str, Any]:
    record = {
        "uuid": uuid,
        "parentUuid": None,
        "sessionId": SESSION,
        "timestamp": "2026-01-01T00:00:00.5Z",
        "type": kind,
        "isSidechain": False,
        "message": {"role": kind, "content": f"text of {uuid}" if content is None else content},
    }
    return record | more


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


def turns(lab: store.Lab) -> pl.DataFrame:
    with lab.reading() as con:
        return store.read_turns(con, sidechains=True).sort("line")


def reasons(report) -> dict[str, int]:
    return dict(report.dropped.select("reason", "count").iter_rows())


def test_turns_come_with_their_ids_times_session_and_scope(lab, write):
    report = ingest(lab, write("s.jsonl", [say("u1"), say("a1", "assistant", [text("好的")])]))
    row = ("2026-01-01", SESSION, "iflow:0f0e0d0c", 1_767_225_600_500_000)
    assert turns(lab).select(
        "turn_id", "role", "text", "session_id", "scope", "said_at"
    ).rows() == [
        ("u1", "user", "text of u1", *row[1:]),
        ("a1", "assistant", "好的", *row[1:]),
    ]
    assert report.frame.select("format", "confidence").rows() == [("iflow", 1.0)]


@pytest.mark.parametrize(
    ("session", "format"),
    [
        (SESSION, "iflow"),
        (SESSION.upper().replace("SESSION", "session"), "iflow"),
        (SESSION.removeprefix("session-"), "claude_code"),
        ("session-one", "claude_code"),
        ("session-" * 5_000, "claude_code"),
    ],
)
def test_the_id_of_the_session_tells_it_from_claude_code(write, session, format):
    records = [say("u1", sessionId=session), say("x", "system", sessionId=session)]
    source = Source(write("s.jsonl", records), "s.jsonl", "src/s.jsonl")
    found = detect(source)
    assert (found and found.format, found and found.confidence) == (format, 1.0)


def test_a_text_written_again_while_the_answer_grows_is_said_once(lab, write):
    call = {"type": "tool_use", "id": "t1", "name": "read_file", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": {"callId": "t1"}}
    records = [
        say("u1"),
        say("a1", "assistant", [text("let me look"), call], parentUuid="u1"),
        say("a2", "assistant", [text("let me look"), call, call], parentUuid="u1"),
        say("a3", "assistant", [call], parentUuid="u1"),
        say("r1", "user", [result], parentUuid="a3"),
        say("a4", "assistant", [text("let me look")], parentUuid="u1"),
    ]
    report = ingest(lab, write("s.jsonl", records))
    assert turns(lab)["turn_id"].to_list() == ["u1", "a1", "a4"]
    assert reasons(report) == {
        "same text twice in one answer": 1,
        "no text, only tool_use": 1,
        "no text, only tool_result": 1,
    }


def test_what_no_person_typed_is_left_out_as_in_a_claude_code_log(lab, write):
    records = [
        say("u1"),
        say("u2", content="[Request interrupted by user]"),
        say("u3", isMeta=True),
        say("u4", isCompactSummary=True),
        say("u5", content="<local-command-stdout>x</local-command-stdout>"),
    ]
    report = ingest(lab, write("s.jsonl", records))
    assert turns(lab)["turn_id"].to_list() == ["u1"]
    assert sum(reasons(report).values()) == 4
    assert "meta record, not the user's words" in reasons(report)


def test_a_side_conversation_is_kept_apart(lab, write):
    ingest(lab, write("s.jsonl", [say("u1"), say("a1", "assistant", isSidechain=True)]))
    assert turns(lab).select("session_id", "sidechain", "session_kind").rows() == [
        (SESSION, False, "interactive"),
        (f"{SESSION}/sidechain", True, "subagent"),
    ]


def test_the_wrapped_result_of_a_search_of_the_memory_is_kept_as_a_search(lab, write):
    call = {"type": "tool_use", "id": "t1", "name": "search_memory", "input": {"query": "tea"}}
    shown = '{"results": [{"id": "m-1", "text": "likes tea", "score": 0.5}]}'
    wrapped = {"responseParts": {"functionResponse": {"response": {"output": shown}}}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": wrapped}
    plain = result | {"content": shown}
    found = []
    for name, part in (("wrapped", result), ("plain", plain)):
        parsed = Parsed("iflow", f"src/{name}.jsonl")
        records = [say("u1"), say("a1", "assistant", [call]), say("r1", "user", [part])]
        path = write(f"{name}.jsonl", records)
        FORMATS["iflow"].read(Source(path, path.name, parsed.file), parsed)
        found.append([(row.query, row.shown) for row in parsed.witnessed])
    assert found[0] == found[1] == [("tea", ("m-1",))]


@pytest.mark.shared
def test_the_real_session_is_where_counting_by_hand_puts_it(lab, shared):
    report = ingest(lab, shared / "data/transcripts/iflow_zh/session-5de701fc.jsonl")
    # 9 answers, of which 3 carry text, and 7 records of the user's role, of which 1 is a prompt.
    assert report.frame.select("read", "kept", "confidence").rows() == [(16, 4, 1.0)]
    assert reasons(report) == {"no text, only tool_use": 6, "no text, only tool_result": 6}
    found = turns(lab)
    assert found["line"].to_list() == [1, 2, 13, 16]
    assert found["role"].to_list() == ["user", "assistant", "assistant", "assistant"]
    assert found["text"][0] == '启动app时确保环境变量 DOCKER_API_VERSION="1.46"'
    assert found["said_at"][0] == 1_768_974_994_812_000
    assert found["scope"].unique().to_list() == ["iflow:5de701fc"]


@given(
    records=st.lists(
        st.builds(
            say,
            st.sampled_from(["a", "b", "c"]),
            st.sampled_from(["user", "assistant", "system"]),
            st.one_of(
                st.text(max_size=3),
                st.lists(st.sampled_from([text("x"), {"type": "tool_use"}, 1]), max_size=2),
            ),
            parentUuid=st.sampled_from([None, "p"]),
        ),
        max_size=6,
    )
)
def test_every_line_is_kept_or_dropped_once(tmp_path_factory, records):
    path = tmp_path_factory.mktemp("i") / "s.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    parsed = Parsed("iflow", "src/s.jsonl")
    FORMATS["iflow"].read(Source(path, "s.jsonl", "src/s.jsonl"), parsed)
    assert (parsed.records, parsed.kept) == (len(records), len(parsed.turns))
