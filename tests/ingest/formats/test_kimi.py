"""Kimi wires, new and old: each prompt once, and nothing the client says in the user's name."""

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

MS = 1_767_225_600_000  # 2026-01-01T00:00:00Z
HEAD = {"type": "metadata", "protocol_version": "1.5", "created_at": MS}
WIRE = "session_0a1b2c3d-ffff/agents/main/wire.jsonl"


def prompt(words: Any, kind: str = "turn.prompt", after: int = 0, **origin: str) -> dict[str, Any]:
    parts = [{"type": "text", "text": words}] if isinstance(words, str) else words
    return {"type": kind, "input": parts, "origin": {"kind": "user"} | origin, "time": MS + after}


def message(words: str, role: str = "user", after: int = 1, **more: Any) -> dict[str, Any]:
    body = {"role": role, "content": [{"type": "text", "text": words}], "toolCalls": []} | more
    return {"type": "context.append_message", "message": body, "time": MS + after}


def event(kind: str, after: int = 2, **more: Any) -> dict[str, Any]:
    return {
        "type": "context.append_loop_event",
        "event": {"type": kind} | more,
        "time": MS + after,
    }


def part(words: str, kind: str = "text", after: int = 2, uuid: str | None = None) -> dict[str, Any]:
    named = {"uuid": uuid} if uuid else {}
    return event("content.part", after, part={"type": kind, kind: words}, **named)


def old(kind: str, at: float = 1_767_225_600.25, **payload: Any) -> dict[str, Any]:
    return {"timestamp": at, "message": {"type": kind, "payload": payload}}


def turns(lab: store.Lab) -> pl.DataFrame:
    with lab.reading() as con:
        return store.read_turns(con, sidechains=True).sort("file", "line")


def reasons(report) -> dict[str, int]:
    return dict(report.dropped.select("reason", "count").iter_rows())


def test_a_prompt_that_stands_twice_is_one_turn_and_an_answer_has_its_own_id(lab, write, src):
    write(WIRE, [HEAD, prompt("tea?"), message("tea?"), part("yes", uuid="c1")])
    report = ingest(lab, src)
    columns = ("turn_id", "role", "text", "said_at", "line", "seq")
    assert turns(lab).select(*columns).rows() == [
        (f"kimi:src/{WIRE}#2", "user", "tea?", MS * 1000, 2, 1),
        (f"kimi:{MS + 2}/c1", "assistant", "yes", (MS + 2) * 1000, 4, 3),
    ]
    assert turns(lab).select("session_id", "scope").unique().rows() == [
        ("session_0a1b2c3d-ffff", "kimi:0a1b2c3d")
    ]
    assert reasons(report) == {
        "another record of one message": 1,
        "not a message: metadata": 1,
    }
    assert report.frame.select("format", "confidence").rows() == [("kimi", 1.0)]


def test_the_same_words_prompted_twice_are_two_turns(lab, write):
    records = [prompt("go on"), message("go on"), part("done"), prompt("go on"), message("go on")]
    ingest(lab, write("wire.jsonl", records))
    assert turns(lab)["line"].to_list() == [1, 3, 4]


def test_a_newer_wire_has_each_message_in_a_third_kind_of_record(lab, write):
    mirror = [
        {"type": "agent.message.appended", "message": {"message": one["message"]}, "time": MS + 7}
        for one in (message("tea?"), message("yes", "assistant"), message("x", "tool"))
    ]
    told = [prompt("tea?"), message("tea?"), mirror[0], part("yes"), *mirror[1:]]
    report = ingest(lab, write("wire.jsonl", told))
    assert turns(lab).select("role", "text", "line").rows() == [
        ("user", "tea?", 1), ("assistant", "yes", 4),
    ]  # fmt: skip
    assert reasons(report) == {"another record of one message": 3, "not a message: tool": 1}
    ingest(lab, write("wire.jsonl", mirror))
    assert turns(lab).select("role", "text").rows() == [("user", "tea?"), ("assistant", "yes")]


def test_the_second_record_may_come_first_or_be_missing(lab, write):
    records = [message("a"), prompt("a"), message("b"), prompt("c", "turn.steer")]
    ingest(lab, write("wire.jsonl", records))
    assert turns(lab)["text"].to_list() == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (message("x", origin={"kind": "injection"}), "not the user's words: injection"),
        (prompt("x", kind="turn.prompt") | {"origin": {"kind": "cron_job"}},
         "not the user's words: cron_job"),
        (message("x", "tool"), "not a message: tool"),
        (message("<system-reminder>\nbe brief\n</system-reminder>"), "injected"),
        (part("hm", "think"), "no text, only thinking"),
        (event("tool.call", name="Read"), "not a message: tool.call"),
        (event("tool.result"), "not a message: tool.result"),
        (event("step.end"), "not a message: step.end"),
        ({"type": "context.apply_compaction", "summary": "x"}, "machine recap (compaction)"),
        ({"type": "llm.request", "messages": [{"role": "user", "content": "x"}]},
         "not a message: llm.request"),
        ({"odd": 1}, "record without a type"),
        (prompt([{"type": "image_url", "image_url": {}}]), "no text, only image"),
        (old("ToolCall", id="c"), "not a message: ToolCall"),
    ],
)  # fmt: skip
def test_what_nobody_said_is_left_out_by_reason(lab, write, record, reason):
    report = ingest(lab, write("wire.jsonl", [prompt("a prompt"), record]), format="kimi")
    assert (turns(lab)["text"].to_list(), reasons(report)) == (["a prompt"], {reason: 1})


def test_an_undo_takes_back_whole_turns_and_no_more(lab, write):
    undo = {"type": "context.undo", "count": 1, "time": MS}
    records = [
        prompt("one"), part("first"), prompt("two"), part("second"),
        prompt("by the clock") | {"origin": {"kind": "cron_job"}}, undo,
        prompt("three"), part("third"), undo | {"count": 9}, prompt("four"),
    ]  # fmt: skip
    report = ingest(lab, write("wire.jsonl", records[:6]))
    assert turns(lab)["text"].to_list() == ["one", "first"]
    assert reasons(report)["message taken back by an undo"] == 2
    report = ingest(lab, write("wire.jsonl", records))
    assert turns(lab)["text"].to_list() == ["four"]
    assert reasons(report)["message taken back by an undo"] == 6
    assert "undo of turns that are not in the file, passed over: 1" in report.notices


@pytest.mark.parametrize("wall", ["context.clear", "context.apply_compaction"])
def test_an_undo_goes_back_no_further_than_a_cleared_context(lab, write, wall):
    records = [prompt("one"), {"type": wall}, {"type": "context.undo", "count": 1}]
    ingest(lab, write("wire.jsonl", records))
    assert turns(lab)["text"].to_list() == ["one"]


def test_the_wire_of_a_started_agent_is_a_side_conversation(lab, write, src):
    write(WIRE, [prompt("tea?")])
    write(WIRE.replace("main", "agent-2"), [part("looking", uuid="c1")])
    ingest(lab, src)
    assert turns(lab).select("session_id", "sidechain", "session_kind").rows() == [
        ("session_0a1b2c3d-ffff/agent-2", True, "subagent"),
        ("session_0a1b2c3d-ffff", False, "interactive"),
    ]


def test_a_fork_that_begins_with_a_copy_says_nothing_twice(lab, write, src):
    write(WIRE, [part("yes", uuid="c1")])
    write(WIRE.replace("0a1b", "9999"), [part("yes", uuid="c1"), part("more", uuid="c2", after=9)])
    report = ingest(lab, src)
    assert turns(lab)["text"].to_list() == ["yes", "more"]
    assert report.frame["dropped"].sum() == 1


def test_an_old_wire_is_read_by_its_folder(lab, write, src):
    records = [
        HEAD | {"protocol_version": "1.3"},
        old("TurnBegin", user_input="你好"),
        old("StepBegin", n=1),
        old("ContentPart", type="think", think="hm"),
        old("ContentPart", type="text", text="OK"),
        old("SteerInput", user_input=[{"type": "text", "text": "and milk"}]),
        old("ThinkPart", text="hm"),
        old("TextPart", text="yes"),
        old("TurnEnd"),
    ]
    write("hash/11112222-3333/wire.jsonl", records)
    report = ingest(lab, src)
    assert turns(lab).select("role", "text").rows() == [
        ("user", "你好"), ("assistant", "OK"), ("user", "and milk"), ("assistant", "yes"),
    ]  # fmt: skip
    assert turns(lab).select("session_id", "scope", "said_at").unique().rows() == [
        ("11112222-3333", "kimi:11112222", 1_767_225_600_250_000)
    ]
    assert reasons(report) == {
        "no text, only thinking": 2,
        "not a message: metadata": 1,
        "not a message: StepBegin": 1,
        "not a message: TurnEnd": 1,
    }


def test_a_wire_of_another_name_is_a_session_of_its_own(lab, write):
    ingest(lab, write("kept.jsonl.gz", [prompt("tea?")]))
    assert turns(lab).select("session_id", "scope").rows() == [("kept", "kimi:kept")]


RECORD = st.one_of(
    st.sampled_from(["a", "b"]).map(prompt),
    st.sampled_from(["a", "b"]).map(message),
    st.sampled_from(["a", " "]).map(part),
    st.integers(-1, 3).map(lambda count: {"type": "context.undo", "count": count}),
    st.sampled_from(
        [HEAD, old("TurnBegin"), old("ContentPart", text=1), {"type": "turn.prompt", "input": 1},
         {"type": "context.clear"}, {"message": {"type": 1, "payload": 2}}, {"type": []}]
    ),
)  # fmt: skip


@given(records=st.lists(RECORD, max_size=10))
def test_every_line_is_kept_or_dropped_once(tmp_path_factory, records):
    path = tmp_path_factory.mktemp("k") / "wire.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    parsed = Parsed("kimi", "src/wire.jsonl")
    FORMATS["kimi"].read(Source(path, "wire.jsonl", "src/wire.jsonl"), parsed)
    assert (parsed.records, parsed.kept) == (len(records), len(parsed.turns))
