"""Sessions of the pi coding agent: the branch that stands, and lines that are no messages."""

from __future__ import annotations

import json
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalltune import store
from recalltune.ingest import Source, ingest
from recalltune.ingest.formats import FORMATS
from recalltune.ingest.parsed import Parsed

AT = "2026-01-01T00:00:0{}Z"
SECOND = 10**6
MIDNIGHT = 1_767_225_600 * SECOND
HEAD = {
    "type": "session",
    "version": 3,
    "id": "0a1b2c3d-ffff",
    "timestamp": AT.format(0),
    "cwd": "/",
}


def entry(
    own: str | None, parent: str | None, kind: str = "message", second: int = 1, **more: Any
) -> dict[str, Any]:
    ids = {"id": own, "parentId": parent} if own else {}
    return {"type": kind, **ids, "timestamp": AT.format(second), **more}


def say(
    own: str | None, parent: str | None = None, role: str = "user", content: Any = None, **more: Any
) -> dict[str, Any]:
    words = f"text of {own}" if content is None else content
    return entry(own, parent, message={"role": role, "content": words}, **more)


def turns(lab: store.Lab) -> pl.DataFrame:
    with lab.reading() as con:
        return store.read_turns(con).sort("file", "line")


def reasons(report) -> dict[str, int]:
    return dict(report.dropped.select("reason", "count").iter_rows())


def test_turns_come_with_the_session_of_the_head_and_their_own_times(lab, write):
    answer = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "yes"}]
    records = [HEAD, say("a"), say("b", "a", "assistant", answer, second=2)]
    report = ingest(lab, write("s.jsonl", records))
    assert turns(lab).select("turn_id", "role", "text", "said_at", "line").rows() == [
        ("pi:2026-01-01T00:00:01Z/a", "user", "text of a", MIDNIGHT + SECOND, 2),
        ("pi:2026-01-01T00:00:02Z/b", "assistant", "yes", MIDNIGHT + 2 * SECOND, 3),
    ]
    assert turns(lab).select("session_id", "scope").unique().rows() == [
        ("0a1b2c3d-ffff", "pi:0a1b2c3d")
    ]
    assert dict(report.parts.select("part", "count").iter_rows()) == {"text": 2, "thinking": 1}
    assert report.frame.select("format", "confidence").rows() == [("pi", 1.0)]


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (say("x", "a", "toolResult"), "not a message: toolResult"),
        (say("x", "a", "bashExecution"), "not a message: bashExecution"),
        (say("x", "a", "hookMessage"), "not the user's words: hookMessage"),
        (say("x", "a", "compactionSummary"), "machine recap (compactionSummary)"),
        (entry("x", "a", "custom_message"), "not the user's words: custom_message"),
        (entry("x", "a", "compaction", summary="s"), "machine recap (compaction)"),
        (entry("x", "a", "branch_summary", summary="s"), "machine recap (branch_summary)"),
        (entry("x", "a", "model_change"), "not a message: model_change"),
        (entry("x", "a", "thinking_level_change"), "not a message: thinking_level_change"),
        (entry("x", "a", "never_seen_before"), "not a message: never_seen_before"),
        (entry("x", "a"), "not a message: message"),
        (say("x", "a", "assistant", [{"type": "toolCall"}]), "no text, only tool_use"),
        (say("x", "a", content=" "), "empty text"),
    ],
)
def test_what_nobody_said_is_left_out_by_reason(lab, write, record, reason):
    report = ingest(lab, write("s.jsonl", [HEAD, say("a"), record]))
    assert turns(lab)["text"].to_list() == ["text of a"]
    assert reasons(report) == {"not a message: session": 1, reason: 1}


def test_the_branch_of_the_last_entry_is_kept_and_the_other_counted(lab, write):
    records = [
        HEAD, say("u1"), say("a_old", "u1", "assistant"), say("u2", "a_old"),
        say("a_new", "u1", "assistant"), entry("info", "a_new", "session_info"),
    ]  # fmt: skip
    report = ingest(lab, write("s.jsonl", records))
    assert turns(lab)["text"].to_list() == ["text of u1", "text of a_new"]
    assert reasons(report)["on another branch"] == 2


def test_a_damaged_line_breaks_no_branch(lab, write):
    lines = [json.dumps(one) for one in (HEAD, say("a"), say("c", "b"))]
    lines.insert(2, '{"type":"message","id":"b","parentId":"a"')
    report = ingest(lab, write("s.jsonl", "\n".join(lines) + "\n"))
    assert turns(lab)["text"].to_list() == ["text of a", "text of c"]
    assert reasons(report) == {"not a message: session": 1, "damaged line": 1}
    assert "parent that is not in the file, the record before taken: 1" in report.notices


def test_a_file_without_ids_is_one_branch_under_its_own_name(lab, write):
    message = {"role": "user", "content": "tea", "timestamp": MIDNIGHT // 1000}
    records = [
        say(None, content="milk"),
        {"type": "message", "timestamp": None, "message": message},
    ]
    ingest(lab, write("2026_s.jsonl", records), format="pi")
    assert turns(lab).select("turn_id", "session_id", "said_at").rows() == [
        ("pi:src/2026_s.jsonl#1", "2026_s", MIDNIGHT + SECOND),
        ("pi:src/2026_s.jsonl#2", "2026_s", MIDNIGHT),
    ]


def test_a_session_branched_off_another_says_nothing_twice(lab, write, src):
    write("a.jsonl", [HEAD, say("a"), say("b", "a")])
    forked = HEAD | {"id": "99990000-ffff", "parentSession": "/x/a.jsonl"}
    write("b.jsonl", [forked, say("a"), say("c", "a", second=5)])
    report = ingest(lab, src)
    assert turns(lab)["text"].to_list() == ["text of a", "text of b", "text of c"]
    assert report.frame["kept"].to_list() == [2, 1]


def test_equal_short_ids_of_two_sessions_are_two_turns(lab, write, src):
    write("a.jsonl", [HEAD, say("a", content="tea")])
    write("b.jsonl", [HEAD | {"id": "other"}, say("a", content="milk", second=2)])
    ingest(lab, src)
    assert turns(lab)["text"].to_list() == ["tea", "milk"]


@pytest.mark.shared
def test_the_real_session_is_where_counting_by_hand_puts_it(lab, shared):
    report = ingest(lab, shared / "data/transcripts/pi/session.jsonl")
    # 11 lines, one of them damaged on purpose: 2 prompts and 2 answers among 5 messages.
    assert report.frame.select("read", "kept", "confidence").rows() == [(11, 4, 10 / 11)]
    assert dict(report.dropped.select("reason", pl.col("lines").list.first()).iter_rows()) == {
        "not a message: session": 1,
        "not a message: toolResult": 4,
        "not a message: model_change": 5,
        "machine recap (compaction)": 6,
        "not a message: thinking_level_change": 9,
        "damaged line": 10,
        "not a message: unknown_future_entry_type": 11,
    }
    assert report.dropped["count"].to_list() == [1] * 7
    assert dict(report.parts.select("part", "count").iter_rows()) == {
        "text": 4, "thinking": 2, "tool_use": 1,
    }  # fmt: skip
    assert turns(lab).select("text", "said_at").rows() == [
        ("Fix the login bug", 1_735_725_601 * SECOND),
        ("Looking at the auth module.", 1_735_725_602 * SECOND),
        ("Look good to you?", 1_735_725_606 * SECOND),
        ("Looks good!", 1_735_725_607 * SECOND),
    ]


NAMES = st.sampled_from(["a", "b", "c", "d"])
RECORD = st.one_of(
    st.builds(
        say, st.one_of(st.none(), NAMES), st.one_of(st.none(), NAMES, st.just("lost")),
        st.sampled_from(["user", "assistant", "toolResult"]), st.sampled_from(["x", "", [], [1]]),
    ),
    st.sampled_from([HEAD, {"type": "message"}, {"type": 1, "id": "a"}, {"id": ["a"]}]),
)  # fmt: skip


@given(records=st.lists(RECORD, max_size=8))
def test_every_line_is_kept_or_dropped_once(tmp_path_factory, records):
    path = tmp_path_factory.mktemp("p") / "s.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    parsed = Parsed("pi", "src/s.jsonl")
    FORMATS["pi"].read(Source(path, "s.jsonl", "src/s.jsonl"), parsed)
    assert (parsed.records, parsed.kept) == (len(records), len(parsed.turns))
