"""Claude Code session logs: which lines are turns, and what becomes of all the others."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalltune import store
from recalltune.errors import SourceError
from recalltune.ingest import FORMATS, Source, ingest
from recalltune.ingest.claude_queue import Queue
from recalltune.ingest.claude_words import record_words
from recalltune.ingest.parsed import Parsed
from recalltune.ingest.text_parts import Words


def say(uuid: str, text: Any = None, *, role: str = "user", **extra: Any) -> dict[str, Any]:
    content = f"text of {uuid}" if text is None else text
    return {
        "type": role,
        "uuid": uuid,
        "sessionId": "session-one",
        "timestamp": "2026-01-01T00:00:00Z",
        "message": {"role": role, "content": content},
        **extra,
    }


def part(kind: str, **extra: Any) -> dict[str, Any]:
    return {"type": kind, **extra}


def turns(lab: store.Lab, *, sidechains: bool = False) -> pl.DataFrame:
    with lab.reading() as con:
        return store.read_turns(con, sidechains=sidechains)


def searches(lab: store.Lab) -> list[dict[str, Any]]:
    with lab.reading() as con:
        return store.read_table(con, "search_log").sort("query_id").to_dicts()


def reasons(report) -> dict[str, int]:
    return dict(report.dropped.select("reason", "count").iter_rows())


def test_turns_carry_session_role_time_scope_and_line(lab, write):
    path = write(
        "s.jsonl", [{"type": "summary", "leafUuid": "x"}, say("u1"), say("a1", role="assistant")]
    )
    ingest(lab, path)
    rows = turns(lab).select("turn_id", "session_id", "role", "line", "scope", "text").rows()
    assert rows == [
        ("u1", "session-one", "user", 2, "cc:session-", "text of u1"),
        ("a1", "session-one", "assistant", 3, "cc:session-", "text of a1"),
    ]
    assert turns(lab)["said_at"].to_list() == [1767225600 * 10**6] * 2


# bug bank M77
def test_a_resumed_session_is_counted_once_with_both_files_as_origin(lab, write):
    write("a.jsonl", [say(f"u{n}") for n in range(1, 4)])
    write("b.jsonl", [say(f"u{n}") for n in range(1, 6)])
    report = ingest(lab, write("x", "").parent)
    assert turns(lab)["turn_id"].to_list() == ["u1", "u2", "u3", "u4", "u5"]
    assert reasons(report) == {"message another file holds (resumed session)": 3}
    assert report.frame["already"].to_list() == [0, 3]
    with lab.reading() as con:
        held = store.read_table(con, "turn").select("turn_id", "file", "also_in").rows()
    assert held[0] == ("u1", "src/a.jsonl", ["src/b.jsonl"])
    assert held[4] == ("u5", "src/b.jsonl", [])


# bug bank M77
def test_a_resumed_file_keeps_the_turns_its_first_file_gives_up(lab, write):
    first = write("a.jsonl", [say("u1"), say("u2")])
    write("b.jsonl", [say("u1"), say("u2"), say("u3")])
    ingest(lab, first.parent)
    write("a.jsonl", [say("u9")])
    ingest(lab, first.parent)
    assert sorted(turns(lab)["turn_id"]) == ["u1", "u2", "u3", "u9"]
    with lab.reading() as con:
        held = store.read_table(con, "turn", turn_id="u1").select("file", "also_in").rows()
    assert held == [("src/b.jsonl", [])]


# bug bank M77
def test_a_file_that_only_repeats_another_is_no_error(lab, write):
    write("a.jsonl", [say("u1")])
    ingest(lab, write("a.jsonl", [say("u1")]))
    report = ingest(lab, write("b.jsonl", [say("u1")]))
    assert report.frame.select("kept", "already").rows() == [(0, 1)]


# bug bank M78
def test_same_uuid_with_another_record_is_kept_and_an_exact_copy_is_not(lab, write):
    other = say("u1", toolUseResult="more")
    path = write("s.jsonl", [say("u1"), other, other, say("u2")])
    report = ingest(lab, path)
    assert turns(lab)["turn_id"].to_list() == ["u1", "u1~2", "u2"]
    assert reasons(report) == {"exact copy of an earlier line": 1}
    assert "same id, different record: kept under an occurrence number: 1" in report.notices


# bug bank M79
def test_a_machine_recap_is_not_the_users_words(lab, write):
    report = ingest(lab, write("s.jsonl", [say("u1"), say("u2", isCompactSummary=True)]))
    assert turns(lab)["turn_id"].to_list() == ["u1"]
    assert reasons(report) == {"machine recap (compact summary)": 1}


# bug bank M80
def test_a_side_conversation_comes_only_on_request_and_without_its_repeat(lab, write):
    main = [say(f"m{n}") for n in range(4)]
    side = [say("s1", "text of m0", isSidechain=True), say("s2", isSidechain=True)]
    report = ingest(lab, write("s.jsonl", main + side))
    assert turns(lab)["turn_id"].to_list() == ["m0", "m1", "m2", "m3"]
    every = turns(lab, sidechains=True)
    assert every["turn_id"].to_list() == ["m0", "m1", "m2", "m3", "s2"]
    assert every["session_kind"].to_list() == ["interactive"] * 4 + ["subagent"]
    assert reasons(report) == {"side conversation repeats a main message": 1}
    assert "side conversation turn, kept apart (sidechain): 1" in report.notices


# bug bank M81
def test_a_broken_parent_chain_keeps_file_order_and_counts_orphans(lab, write):
    chain = [
        say("u1", parentUuid=None),
        say("u2", parentUuid="u1"),
        say("u3", parentUuid="gone"),
        say("u4", parentUuid="u3"),
    ]
    report = ingest(lab, write("s.jsonl", chain))
    assert turns(lab)["turn_id"].to_list() == ["u1", "u2", "u3", "u4"]
    assert "record whose parent is not in the file (kept in file order): 1" in report.notices


# bug bank M82
def test_one_damaged_and_one_torn_line_cost_only_themselves(lab, write):
    good = [json.dumps(say(f"u{n}")).encode() for n in range(3)]
    damaged = good[0].replace(b"text of", b"text\x00of")
    content = b"\n".join([good[0], good[1], damaged, good[2], good[0][:60]])
    report = ingest(lab, write("s.jsonl", content))
    assert turns(lab).height == 3
    dropped = report.dropped.select("reason", "count", "lines").rows()
    assert dropped == [("damaged line", 1, [3]), ("incomplete line at the end", 1, [5])]


# bug bank M84
def test_bad_bytes_and_half_surrogates_are_repaired_and_the_text_kept(lab, write):
    first = json.dumps(say("u1", "broken BYTE here")).encode().replace(b"BYTE", b"\xff")
    second = json.dumps(say("u2", "half \ud83d pair")).encode()
    report = ingest(lab, write("s.jsonl", first + b"\n" + second + b"\n"))
    assert turns(lab)["text"].to_list() == ["broken \ufffd here", "half \ufffd pair"]
    assert "line with bytes that are not UTF-8, replaced by U+FFFD: 1" in report.notices
    assert "lone surrogate, replaced by U+FFFD: 1" in report.notices


# bug bank M85
def test_a_tool_result_of_many_megabytes_costs_only_itself(lab, write):
    huge = json.dumps(say("u2", [part("tool_result", content="x" * (30 * 2**20))]))
    content = "\n".join([json.dumps(say("u1")), huge, json.dumps(say("u3")), ""])
    report = ingest(lab, write("s.jsonl", content))
    assert turns(lab)["turn_id"].to_list() == ["u1", "u3"]
    assert reasons(report) == {"no text, only tool_result": 1}


# bug bank M85
def test_a_line_beyond_the_limit_is_passed_over_with_its_size(lab, write):
    huge = json.dumps(say("u2", "x" * (65 * 2**20)))
    content = "\n".join([json.dumps(say("u1")), huge, json.dumps(say("u3")), ""])
    report = ingest(lab, write("s.jsonl", content))
    assert turns(lab)["turn_id"].to_list() == ["u1", "u3"]
    assert "line longer than 64 MiB, passed over (66 MiB): 1" in report.notices


# bug bank M83
@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85"])
def test_a_separator_of_lines_inside_a_text_splits_no_record(lab, write, separator):
    first = json.dumps(say("u1", f"one{separator}two"), ensure_ascii=False)
    report = ingest(lab, write("s.jsonl", f"{first}\n{json.dumps(say('u2'))}\n"))
    assert report.frame.select("read", "kept").rows() == [(2, 2)]
    assert turns(lab)["text"][0] == f"one{separator}two"


# bug bank O115
def test_bom_crlf_and_blank_lines_are_no_records(lab, write):
    content = "\ufeff" + "\r\n".join([json.dumps(say("u1")), "", json.dumps(say("u2")), ""])
    report = ingest(lab, write("s.jsonl", content))
    assert report.frame.select("read", "kept", "dropped").rows() == [(2, 2, 0)]


# bug bank O115
def test_an_empty_file_is_listed_and_is_no_error(lab, write):
    report = ingest(lab, write("s.jsonl", b""))
    assert report.frame.select("file", "format", "read").rows() == [("src/s.jsonl", "empty", 0)]


# bug bank O116
def test_tool_results_are_not_user_turns(lab, write):
    only = say("u1", [part("tool_result", content="output")])
    mixed = say("u2", [part("text", text="my words"), part("tool_result", content="output")])
    report = ingest(lab, write("s.jsonl", [only, mixed]))
    assert turns(lab).select("turn_id", "text").rows() == [("u2", "my words")]
    assert reasons(report) == {"no text, only tool_result": 1}
    assert report.parts.select("part", "count").rows() == [("text", 1), ("tool_result", 1)]


def test_meta_records_are_dropped_by_reason(lab, write):
    report = ingest(lab, write("s.jsonl", [say("u1"), say("u2", isMeta=True)]))
    assert reasons(report) == {"meta record, not the user's words": 1}


def test_text_parts_are_joined_and_parts_counted(lab, write):
    content = [part("text", text=" one "), part("thinking", thinking="…"), part("text", text="two")]
    ingest(lab, write("s.jsonl", [say("a1", content, role="assistant")]))
    row = turns(lab).row(0, named=True)
    assert row["text"] == "one\n\ntwo"
    assert json.loads(row["meta"]) == {"parts": {"text": 2, "thinking": 1}}


# bug bank M86
def test_lines_without_a_single_message_are_an_error_and_change_nothing(lab, write):
    ingest(lab, write("good.jsonl", [say("u1")]))
    with lab.reading() as con:
        before = store.data_digest(con)
    path = write("bad.jsonl", [say("u2", isMeta=True), say("u3", [part("tool_use")])])
    with pytest.raises(SourceError, match=r"^src/bad\.jsonl:1: 2 records and none to keep \(meta"):
        ingest(lab, path)
    with lab.reading() as con:
        assert store.data_digest(con) == before


# bug bank M86
def test_the_same_file_found_in_a_folder_is_counted_instead(lab, write):
    write("good.jsonl", [say("u1")])
    path = write("bad.jsonl", [say("u2", isMeta=True)])
    report = ingest(lab, path.parent)
    assert "1 file of a folder with records but none to keep: src/bad.jsonl" in report.notices
    assert report.frame["kept"].to_list() == [0, 1]


def test_a_turn_without_a_time_is_kept_and_counted(lab, write):
    record = say("u1")
    record["timesstamp"] = record.pop("timestamp")
    report = ingest(lab, write("s.jsonl", [record]))
    assert turns(lab)["said_at"].to_list() == [None]
    assert "turn without a usable time: 1" in report.notices


def test_turns_become_memories_only_when_asked_and_side_turns_never(lab, write):
    main = [say("u1", "I live in Berlin"), say("a1", "Noted: Berlin", role="assistant")]
    path = write("s.jsonl", [*main, say("s1", "Look up Berlin on the map", isSidechain=True)])
    assert ingest(lab, path).frame["memories"].to_list() == [0]
    assert ingest(lab, path, turns_as_memories=True).frame["memories"].to_list() == [2]
    with lab.reading() as con:
        spans = store.read_spans(con)
    rows = spans.select("memory_id", "layer", "origin", "session", "turn_id", "scope").rows()
    assert rows == [
        ("a1", "log", "agent", "session-one", "a1", "cc:session-"),
        ("u1", "log", "owner", "session-one", "u1", "cc:session-"),
    ]
    assert spans["event_at"].to_list() == [1767225600 * 10**6] * 2


def test_a_scope_given_by_the_caller_replaces_the_sessions(lab, write):
    ingest(lab, write("s.jsonl", [say("u1")]), scope="project:x")
    assert turns(lab)["scope"].to_list() == ["project:x"]


# bug bank N92
def test_a_key_first_seen_late_is_not_lost(lab, write):
    records = [say(f"u{n:03}", timestamp=None) for n in range(150)]
    records += [say(f"u{n:03}") for n in range(150, 300)]
    ingest(lab, write("s.jsonl", records))
    assert turns(lab)["said_at"].null_count() == 150


@pytest.mark.parametrize("message", ["error", None, {"contenst": []}, {"content": None}, 7, []])
def test_a_message_of_another_shape_is_dropped_and_the_file_goes_on(lab, write, message):
    report = ingest(
        lab, write("s.jsonl", [say("u1"), {"type": "user", "uuid": "u2", "message": message}])
    )
    assert reasons(report) == {"message without content": 1}


def test_hostile_values_in_every_field_never_crash_the_import(lab, write: Callable[..., Path]):
    odd = ["", 7, None, [], {}, True, "\x00", "x" * 10_000, 1e308]
    records = [say("ok")]
    for key in ("uuid", "sessionId", "timestamp", "parentUuid", "agentId", "isSidechain", "type"):
        records += [say(f"{key}{n}") | {key: value} for n, value in enumerate(odd)]
    report = ingest(lab, write("s.jsonl", records))
    [(read, kept, dropped)] = report.frame.select("read", "kept", "dropped").rows()
    assert read == len(records) == kept + dropped


def assistant(uuid: str, *parts: dict[str, Any], answer: str = "", **extra: Any) -> dict[str, Any]:
    record = say(uuid, list(parts), role="assistant", **extra)
    record["message"]["id"] = answer or f"msg-{uuid}"
    return record


def text(words: str) -> dict[str, Any]:
    return part("text", text=words)


def boundary(uuid: str = "b1", **extra: Any) -> dict[str, Any]:
    return {"type": "system", "subtype": "compact_boundary", "uuid": uuid, **extra}


def queue(operation: str, content: str | None = None, at: str = "", **extra: Any) -> dict[str, Any]:
    record = {"type": "queue-operation", "operation": operation, "sessionId": "session-one"}
    record["timestamp"] = at or "2026-01-01T00:05:00Z"
    return record | ({} if content is None else {"content": content}) | extra


# Compaction ----------------------------------------------------------------------------------


# bug bank M79
@pytest.mark.parametrize("flags", [{}, {"isMeta": True}, {"isVisibleInTranscriptOnly": True}])
def test_a_recap_is_dropped_as_one_whatever_other_flags_it_has(lab, write, flags):
    report = ingest(lab, write("s.jsonl", [say("u1"), say("u2", isCompactSummary=True, **flags)]))
    assert reasons(report) == {"machine recap (compact summary)": 1}


# bug bank M79
def test_a_recap_of_an_older_client_is_known_by_the_sentence_it_begins_with(lab, write):
    recap = (
        "This session is being continued from a previous conversation that ran out of context. "
        "The conversation is summarized below: tea."
    )
    report = ingest(
        lab, write("s.jsonl", [say("u1"), say("u2", recap), say("u3", f"Why? {recap}")])
    )
    assert turns(lab)["turn_id"].to_list() == ["u1", "u3"]
    assert reasons(report) == {"machine recap (compact summary)": 1}


def test_history_that_a_compaction_replays_is_said_once(lab, write):
    before = [say("u1"), assistant("a1", text("yes")), say("u2")]
    replay = [record | {"slug": "new-name"} for record in before]
    after = [boundary(), say("c1", isCompactSummary=True), *replay, say("u3")]
    report = ingest(lab, write("s.jsonl", [*before, *after]))
    assert turns(lab)["turn_id"].to_list() == ["u1", "a1", "u2", "u3"]
    assert reasons(report) == {
        "not a message: system/compact_boundary": 1,
        "machine recap (compact summary)": 1,
        "message replayed after a compaction": 3,
    }


def test_the_same_words_after_a_compaction_are_said_again(lab, write):
    report = ingest(lab, write("s.jsonl", [say("u1", "go on"), boundary(), say("u2", "go on")]))
    assert turns(lab)["turn_id"].to_list() == ["u1", "u2"]
    assert reasons(report) == {"not a message: system/compact_boundary": 1}


# What the client writes into the user's role -----------------------------------------------------


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("[Request interrupted by user]", "interruption mark"),
        ("[Request interrupted by user for tool use]", "interruption mark"),
        ("<local-command-stdout>Bye!</local-command-stdout>", "local-command-stdout"),
        ("<local-command-stderr>no</local-command-stderr>", "local-command-stderr"),
        ("<bash-input>ls</bash-input>", "bash-input"),
        ("<bash-stdout>a b</bash-stdout><bash-stderr></bash-stderr>", "bash-stdout"),
        ("<local-command-caveat>Caveat: x</local-command-caveat>", "local-command-caveat"),
        (
            "Caveat: The messages below were generated by the user while running local commands.",
            "caveat",
        ),
        ("<command-name>/exit</command-name>\n <command-args></command-args>", "command without"),
        ("<task-notification>\n<x>1</x>\n</task-notification>\nRead the file", "task-notification"),
        ('<teammate-message teammate_id="b" color="red">hi</teammate-message>', "teammate-message"),
        ("<user-prompt-submit-hook>ok</user-prompt-submit-hook>", "user-prompt-submit-hook"),
        ("<ide_opened_file>The user opened x</ide_opened_file>", "ide_opened_file"),
        ("<local-command-stdout>never closed", "local-command-stdout"),
    ],
)
def test_what_the_client_writes_is_not_the_users_words(words, reason):
    for content in (words, [text(words)], [part("tool_result", content="x"), text(words)]):
        said = record_words(say("u1", content))
        assert isinstance(said, str)
        assert said.startswith(f"not the user's words: {reason}")


@pytest.mark.parametrize(
    ("words", "kept", "cut"),
    [
        (
            "<command-message>plan is running…</command-message>\n"
            "<command-name>/plan</command-name>\n<command-args>a trip to Rome</command-args>",
            "/plan a trip to Rome",
            ("command-message",),
        ),
        (
            "<ide_selection>lines 1 to 3</ide_selection>\nWhat is this?",
            "What is this?",
            ("ide_selection",),
        ),
        ("<b>bold</b> is what I want", "<b>bold</b> is what I want", ()),
        (
            "I see [Request interrupted by user] a lot",
            "I see [Request interrupted by user] a lot",
            (),
        ),
        ("[Request interrupted by user] [why]", "[Request interrupted by user] [why]", ()),
        ("look: <bash-stdout>1</bash-stdout>", "look: <bash-stdout>1</bash-stdout>", ()),
    ],
)
def test_what_a_person_typed_beside_it_is_kept(words, kept, cut):
    said = record_words(say("u1", words))
    assert isinstance(said, Words)
    assert (said.text, said.cut) == (kept, cut)


def test_what_stands_beside_the_users_words_is_counted(lab, write):
    words = [text("<ide_selection>1</ide_selection>"), text("What is this?")]
    report = ingest(lab, write("s.jsonl", [say("u1", words)]))
    assert turns(lab)["text"].to_list() == ["What is this?"]
    assert "beside the user's words, left out: ide_selection: 1" in report.notices


def test_an_assistant_may_write_what_a_client_writes(lab, write):
    words = "<bash-input>ls</bash-input>"
    ingest(lab, write("s.jsonl", [say("a1", words, role="assistant")]))
    assert turns(lab)["text"].to_list() == [words]


def test_a_record_that_names_another_origin_is_not_the_users(lab, write):
    records = [
        say("u1", origin={"kind": "human"}),
        say("u2", origin={"kind": "channel"}),
        say("u3", origin={"kind": "task-notification"}),
        say("u4", origin="odd"),
        say("u5", isVisibleInTranscriptOnly=True),
    ]
    report = ingest(lab, write("s.jsonl", records))
    assert turns(lab)["turn_id"].to_list() == ["u1", "u2", "u4"]
    assert reasons(report) == {
        "not the user's words: task-notification": 1,
        "shown in the transcript only, said to nobody": 1,
    }


def test_errors_and_placeholders_are_not_the_assistants_words(lab, write):
    error = assistant("a1", text("API Error: 529 overloaded"), isApiErrorMessage=True)
    placeholder = assistant("a2", text("No response requested."))
    placeholder["message"]["model"] = "<synthetic>"
    report = ingest(lab, write("s.jsonl", [error, placeholder, assistant("a3", text("Yes."))]))
    assert turns(lab)["turn_id"].to_list() == ["a3"]
    assert reasons(report) == {
        "API error, not the assistant's words": 1,
        "placeholder of the client, not the assistant's words": 1,
    }


def test_records_that_are_no_messages_are_dropped_by_their_kind(lab, write):
    others = [
        {"type": "summary", "summary": "x", "leafUuid": "u1"},
        {"type": "file-history-snapshot", "messageId": "m"},
        {"type": "progress", "uuid": "p1", "data": {"type": "hook_progress"}},
        {"type": "system", "subtype": "stop_hook_summary", "uuid": "h1"},
        {"type": "attachment", "uuid": "t1", "attachment": {"type": "hook_success"}},
        {"type": "attachment", "uuid": "t2", "attachment": "odd"},
        {"silly": "this"},
    ]
    report = ingest(lab, write("s.jsonl", [say("u1"), *others]))
    assert reasons(report) == {
        "not a message: summary": 1,
        "not a message: file-history-snapshot": 1,
        "not a message: progress": 1,
        "not a message: system/stop_hook_summary": 1,
        "not a message: attachment/hook_success": 1,
        "not a message: attachment/None": 1,
        "record without a type": 1,
    }


def test_lines_that_are_no_objects_cost_only_themselves(lab, write):
    content = "\n".join(['"a bare string"', "12", '["a", "list"]', json.dumps(say("u1")), ""])
    report = ingest(lab, write("s.jsonl", content), format="claude_code")
    assert reasons(report) == {"not a JSON object": 3}
    assert report.frame["kept"].to_list() == [1]


def test_a_record_of_type_human_is_the_users(lab, write):
    report = ingest(lab, write("s.jsonl", [say("u1") | {"type": "human"}]))
    assert turns(lab)["role"].to_list() == ["user"]
    assert report.frame["confidence"].to_list() == [1.0]


def test_pictures_and_hidden_thinking_are_counted_not_imported(lab, write):
    picture = part("image", source={"type": "base64", "data": "AAAA"})
    records = [
        say("u1", [picture]),
        say("u2", [picture, text("What is it?")]),
        assistant("a1", part("redacted_thinking", data="x"), text("A cat.")),
        assistant("a2", part("redacted_thinking", data="x")),
    ]
    report = ingest(lab, write("s.jsonl", records))
    assert turns(lab)["text"].to_list() == ["What is it?", "A cat."]
    assert reasons(report) == {"no text, only image": 1, "no text, only redacted_thinking": 1}
    assert dict(report.parts.select("part", "count").rows()) == {
        "image": 1,
        "redacted_thinking": 1,
        "text": 2,
    }


# Answers in several records, resumed and forked sessions -----------------------------------------


def test_an_answer_in_several_records_keeps_each_and_none_twice(lab, write):
    records = [
        assistant("a1", text("First."), answer="msg"),
        assistant("a2", part("tool_use", id="t", name="Bash", input={}), answer="msg"),
        say("r1", [part("tool_result", tool_use_id="t", content="x")]),
        assistant("a3", text("First."), answer="msg"),
        assistant("a4", text("Second."), answer="msg"),
        assistant("a5", text("First."), answer="another"),
    ]
    report = ingest(lab, write("s.jsonl", records))
    assert turns(lab)["turn_id"].to_list() == ["a1", "a4", "a5"]
    assert reasons(report) == {
        "no text, only tool_use": 1,
        "no text, only tool_result": 1,
        "same text twice in one answer": 1,
    }


# bug bank M77
def test_a_resumed_file_with_a_rewritten_session_gives_one_turn(lab, write):
    write("a.jsonl", [say("u1"), say("u2")])
    later = [say(uuid, sessionId="session-two") for uuid in ("u1", "u2", "u3")]
    report = ingest(lab, write("b.jsonl", later).parent)
    rows = turns(lab).select("turn_id", "session_id").rows()
    assert rows == [("u1", "session-one"), ("u2", "session-one"), ("u3", "session-two")]
    assert reasons(report) == {"message another file holds (resumed session)": 2}


def test_a_fork_with_ids_of_its_own_gives_one_turn(lab, write):
    write("a.jsonl", [say("u1"), say("u2")])
    origin = {"sessionId": "session-one", "messageUuid": "u1"}
    fork = [
        say("f1", "text of u1", sessionId="fork", forkedFrom=origin),
        say("f2", sessionId="fork"),
    ]
    report = ingest(lab, write("b.jsonl", fork).parent)
    assert sorted(turns(lab)["turn_id"]) == ["f2", "u1", "u2"]
    assert reasons(report) == {"message another file holds (resumed session)": 1}


# Side conversations --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["session-one/subagents/agent-a1b2.jsonl", "agent-a1b2.jsonl", "agent-a1b2.jsonl.gz"]
)
@pytest.mark.parametrize("flags", [{"isSidechain": True, "agentId": "a1b2"}, {}])
def test_a_file_of_an_agent_is_a_side_conversation(lab, write, src, name, flags):
    write(name, [say("s1", "Look up Berlin on the map", **flags)])
    ingest(lab, src, turns_as_memories=True)
    assert turns(lab).height == 0
    rows = turns(lab, sidechains=True).select("session_id", "session_kind", "scope").rows()
    assert rows == [("session-one/a1b2", "subagent", "cc:session-")]
    with lab.reading() as con:
        assert store.read_spans(con).height == 0


def test_a_record_without_a_session_is_of_the_one_its_file_is_named_after(lab, write, src):
    bare = say("u1")
    del bare["sessionId"]
    write("abc.jsonl", [bare])
    write("abc/subagents/agent-x.jsonl", [bare | {"uuid": "s1"}])
    write("agent-y.jsonl", [bare | {"uuid": "s2"}])
    ingest(lab, src)
    rows = turns(lab, sidechains=True).select("turn_id", "session_id").sort("turn_id").rows()
    assert rows == [("s1", "abc/x"), ("s2", "agent-y/y"), ("u1", "abc")]


# Prompts typed while the agent worked --------------------------------------------------------


def attached(uuid: str, prompt: Any, **extra: Any) -> dict[str, Any]:
    body = {"type": "queued_command", "prompt": prompt, "commandMode": "prompt", **extra}
    return {"type": "attachment", "uuid": uuid, "sessionId": "session-one", "attachment": body}


def test_a_prompt_that_only_an_attachment_holds_is_the_users(lab, write):
    records = [
        say("u1"),
        attached("q1", "and sugar", origin={"kind": "human"}),
        attached("q2", [text("and milk"), part("image")]),
        attached("q3", "<x>", commandMode="task-notification"),
        attached("q4", "done", origin={"kind": "task-notification"}),
        attached("q5", "hm", isMeta=True),
    ]
    report = ingest(lab, write("s.jsonl", records))
    rows = turns(lab).select("turn_id", "role", "text").rows()
    assert rows[1:] == [("q1", "user", "and sugar"), ("q2", "user", "and milk")]
    assert reasons(report) == {
        "not a message: attachment/queued_command": 2,
        "not the user's words: task-notification": 1,
    }


def test_a_prompt_that_only_the_queue_holds_is_the_users_in_its_place_and_time(lab, write):
    records = [
        say("u1"),
        queue("enqueue", "and sugar", at="2026-01-01T00:00:07Z"),
        say("a1", role="assistant"),
        queue("remove"),
        say("a2", role="assistant"),
    ]
    report = ingest(lab, write("s.jsonl", records))
    rows = turns(lab).sort("seq").select("turn_id", "text", "line", "said_at").rows()
    assert [row[:3] for row in rows] == [
        ("u1", "text of u1", 1),
        ("cc:session-one:queue:2026-01-01T00:00:07Z", "and sugar", 2),
        ("a1", "text of a1", 3),
        ("a2", "text of a2", 5),
    ]
    assert rows[1][3] == 1767225607 * 10**6
    assert reasons(report) == {"not a message: queue-operation": 1}
    assert "prompt given to the agent at work, known from its queue: 1" in report.notices


@pytest.mark.parametrize(
    ("after", "reason"),
    [
        ([queue("dequeue"), say("u2", "and sugar")], "prompt of the queue that a message has"),
        (
            [queue("remove", reason="absorbed_mid_turn"), attached("q1", "and sugar")],
            "prompt of the queue that a message has",
        ),
        ([queue("popAll")], "prompt of the queue, never sent"),
        ([queue("remove", reason="cancelled")], "prompt of the queue, never sent"),
        ([], "prompt of the queue, never sent"),
    ],
)
def test_a_prompt_of_the_queue_is_said_once_at_most(lab, write, after, reason):
    report = ingest(lab, write("s.jsonl", [say("u1"), queue("enqueue", "and sugar"), *after]))
    assert (turns(lab)["text"] == "and sugar").sum() == (reason.endswith("has"))
    assert reasons(report)[reason] == 1


def test_of_two_prompts_that_wait_the_named_or_the_first_one_leaves(lab, write):
    waiting = [
        queue("enqueue", word, at=f"2026-01-0{day}")
        for day, word in enumerate(("one", "two", "three"), start=1)
    ]
    records = [say("u1"), *waiting, queue("remove", "two"), queue("remove")]
    ingest(lab, write("s.jsonl", records))
    assert turns(lab).sort("seq")["text"].to_list() == ["text of u1", "one", "two"]


def test_commands_and_notices_of_the_queue_are_no_prompts(lab, write):
    notice = "<task-notification>done</task-notification>"
    waiting = [queue("enqueue", content) for content in ("/mcp", notice, "")]
    report = ingest(lab, write("s.jsonl", [say("u1"), *waiting, queue("enqueue"), queue("remove")]))
    assert reasons(report) == {"not a message: queue-operation": 5}


def test_a_queue_without_end_is_held_in_part_and_accounted_for_in_full():
    parsed = Parsed("claude_code", "f")
    waiting = Queue(parsed)
    kept = 0
    for number in range(250):
        kept += waiting.note(number, number + 1, queue("enqueue", f"prompt {number}")) is not None
        if number % 2:
            waiting.note(number, number + 1, queue("remove"))
    kept += sum(1 for _ in waiting.close())
    assert kept == 125
    assert {reason: drop.count for reason, drop in parsed.drops.items()} == {
        "not a message: queue-operation": 125,
        "prompt of the queue, never sent": 125,
    }


# Searches of the memory ----------------------------------------------------------------------


def asked(uuid: str, name: str, question: Any, call: str = "t1") -> dict[str, Any]:
    return assistant(uuid, part("tool_use", id=call, name=name, input=question))


def answered(uuid: str, content: Any, call: str = "t1") -> dict[str, Any]:
    return say(uuid, [part("tool_result", tool_use_id=call, content=content)])


FOUND = "1  a1b2c3d4 91%   cc   2026-03-16 vector\n2  b2c3d4e5 80%   cc   2026-03-16 vector"


@pytest.mark.parametrize("content", [FOUND, [text(FOUND)]])
def test_a_search_of_the_memory_is_kept_with_what_it_showed(lab, write, content):
    call = asked("a1", "mcp__recallnest__search_memory", {"query": "tea"})
    report = ingest(lab, write("s.jsonl", [say("u1"), call, answered("r1", content)]))
    [row] = searches(lab)
    assert (row["query_id"], row["query"], row["scope"]) == ("r1#t1", "tea", "cc:session-")
    assert (row["shown"], row["scores"]) == (["a1b2c3d4", "b2c3d4e5"], [0.91, 0.8])
    assert row["asked_at"] == datetime(2026, 1, 1, tzinfo=UTC)
    assert "search of the memory, kept in the search log: 1" in report.notices


def test_other_tools_unpaired_results_and_replays_are_no_searches(lab, write):
    call = asked("a1", "mcp__recallnest__search_memory", {"query": "tea"})
    first = [say("u1"), answered("r0", FOUND, "unknown"), call, answered("r1", FOUND)]
    grep = [asked("a2", "Grep", {"query": "x"}, "t2"), answered("r2", FOUND, "t2")]
    ingest(lab, write("s.jsonl", [*first, *grep, boundary(), *first]))
    assert [row["query_id"] for row in searches(lab)] == ["r1#t1"]


def test_a_search_whose_question_cannot_be_read_is_counted_and_not_kept(lab, write):
    call = asked("a1", "search_memory", ["odd"])
    report = ingest(lab, write("s.jsonl", [say("u1"), call, answered("r1", FOUND)]))
    assert searches(lab) == []
    assert "search of the memory without a question, not kept: 1" in report.notices
    assert "search of the memory whose question cannot be read: 1" in report.notices


# The account ---------------------------------------------------------------------------------

_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-9, 9)
    | st.sampled_from(["", "x", "text", "u1", FOUND]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "text", "content", "id", "prompt", "kind", "name", "input"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=6,
)
_KINDS = st.sampled_from(
    ["user", "human", "assistant", "system", "attachment", "queue-operation", "progress", None, 7]
)
_RECORDS = st.builds(
    lambda kind, message, more: {"type": kind, "message": message, **more},
    _KINDS,
    st.builds(lambda content, more: {"content": content, **more}, _VALUES,
              st.dictionaries(st.sampled_from(["id", "model", "role"]), _VALUES, max_size=2))
    | _VALUES,
    st.dictionaries(
        st.sampled_from(
            ["uuid", "parentUuid", "sessionId", "agentId", "isSidechain", "isMeta", "attachment",
             "isCompactSummary", "operation", "content", "reason", "origin", "forkedFrom",
             "subtype", "timestamp"]
        ),
        _VALUES | st.sampled_from(["enqueue", "remove", "compact_boundary", True]),
        max_size=6,
    ),
)  # fmt: skip


@given(st.lists(_RECORDS, max_size=12))
def test_every_record_is_kept_or_dropped_whatever_it_holds(tmp_path_factory, records):
    path = tmp_path_factory.mktemp("claude") / "s.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    parsed = Parsed("claude_code", "f/s.jsonl")
    FORMATS["claude_code"].read(Source(path, "s.jsonl", "f/s.jsonl"), parsed)
    assert parsed.kept + parsed.dropped == len(records)
    assert len(parsed.turns) == parsed.kept
    assert len({turn.turn_id for turn in parsed.turns}) == len(parsed.turns)


# Files that people have ----------------------------------------------------------------------

REAL = {
    "agtrace_claude_session.jsonl": (
        5,
        {
            "not a message: file-history-snapshot": 4,
            "no text, only thinking": 6,
            "no text, only tool_use": 4,
            "no text, only tool_result": 4,
            "meta record, not the user's words": 1,
            "not the user's words: command without arguments": 1,
            "not the user's words: local-command-stdout": 1,
        },
    ),
    "compacted_258c7280.jsonl": (
        # 94 answers with text of which 9 are blank; 2 prompts, and 2 known from the queue.
        94 - 9 + 2 + 2,
        {
            "not a message: progress": 1333,
            "not a message: file-history-snapshot": 28,
            "not a message: queue-operation": 6 - 2,
            "not a message: system/stop_hook_summary": 3,
            "not a message: system/compact_boundary": 1,
            "not a message: system/turn_duration": 1,
            "machine recap (compact summary)": 1,
            "no text, only tool_use": 186,
            "no text, only tool_result": 186,
            "no text, only thinking": 19,
            "empty text": 9,
            "not the user's words: interruption mark": 1,
            "not the user's words: task-notification": 2,
        },
    ),
    "compacted_258c7280/subagents/agent-a881341.jsonl": (
        4,
        {
            "not a message: progress": 2,
            "no text, only tool_use": 2,
            "no text, only tool_result": 2,
        },
    ),
    "compacted_258c7280/subagents/agent-acompact-fffbd0.jsonl": (
        2,
        {"meta record, not the user's words": 2},
    ),
    "edge_cases.jsonl": (
        # Prompts on lines 1, 3, 7 and 12, answers on lines 2 and 9.
        6,
        {
            "not a JSON object": 3,
            "record without a type": 1,
            "not a message: summary": 1,
            "message without content": 2,
            "no text, only tool_use": 2,
            "no text, only tool_result": 1,
            "no text, only str": 1,
            "not the user's words: caveat": 1,
            "not the user's words: local-command-stdout": 1,
        },
    ),
    "short.jsonl": (
        2,
        {
            "not a message: progress": 3,
            "not a message: file-history-snapshot": 1,
            "not a message: system/local_command": 2,
            "no text, only tool_use": 2,
            "no text, only tool_result": 2,
            "no text, only thinking": 1,
            "empty text": 1,
            "not the user's words: interruption mark": 1,
        },
    ),
    "sidechains_fe5e1c67.jsonl": (
        # Main: 7 answers and 2 prompts. Side: 88 answers and 5 prompts, none of them a repeat.
        7 + 2 + 88 + 5,
        {
            "not a message: summary": 1,
            "meta record, not the user's words": 1,
            "no text, only tool_use": 11 + 156,
            "no text, only tool_result": 11 + 156,
        },
    ),
    "tool_heavy.jsonl": (
        3,
        {
            "not a message: progress": 10,
            "not a message: file-history-snapshot": 3,
            "not a message: queue-operation": 2,
            "not a message: system/local_command": 2,
            "no text, only tool_use": 6,
            "no text, only tool_result": 6,
            "no text, only thinking": 1,
            "empty text": 1,
            "meta record, not the user's words": 1,
            "not the user's words: interruption mark": 2,
            "not the user's words: command without arguments": 1,
            "not the user's words: local-command-stdout": 1,
        },
    ),
}


@pytest.mark.shared
@pytest.mark.parametrize("name", sorted(REAL))
def test_every_line_of_a_real_file_is_where_counting_by_hand_puts_it(lab, shared, name):
    path = shared / "data" / "transcripts" / "claude_code" / name
    report = ingest(lab, path)
    kept, dropped = REAL[name]
    assert (report.frame["kept"].to_list(), reasons(report)) == ([kept], dropped)
    lines = sum(bool(line.strip()) for line in path.read_bytes().split(b"\n"))
    assert lines == kept + sum(dropped.values())


@pytest.mark.shared
def test_real_files_hold_these_words_of_their_users(lab, shared):
    ingest(lab, shared / "data" / "transcripts" / "claude_code")
    said = turns(lab).filter(pl.col("role") == "user")
    assert dict(said.group_by("session_id").len().rows()) == {
        "258c7280-ae70-4798-800f-63464d01a85d": 4,
        "7f2abd2d-7cfc-4447-9ddd-3ca8d14e02e9": 2,
        "55604662-cf2a-4331-851a-ec234028f8ca": 1,
        "d6e0bada-1959-4eec-a9d2-0bfade768d8f": 2,
        "fe5e1c67-53e7-4862-81ae-d0e013e3270b": 2,
        "edge_cases": 4,
    }
    side = turns(lab, sidechains=True).filter("sidechain")
    assert dict(side.group_by("session_id").len().rows()) == {
        "fe5e1c67-53e7-4862-81ae-d0e013e3270b": 93,
        "258c7280-ae70-4798-800f-63464d01a85d/a881341": 4,
        "258c7280-ae70-4798-800f-63464d01a85d/acompact-fffbd0": 2,
    }
    assert turns(lab, sidechains=True)["said_at"].null_count() == 0
