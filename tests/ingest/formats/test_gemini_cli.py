"""Gemini CLI sessions, old and new, and the log of prompts."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalltune import store
from recalltune.errors import SourceError
from recalltune.ingest import FORMATS, Source, detect, ingest
from recalltune.ingest.parsed import Parsed

SESSION = "0a1b2c3d-0000-4000-8000-000000000001"
BEGAN = "2026-01-01T00:00:00Z"
BEGAN_US = 1767225600 * 10**6


def head(**more: Any) -> dict[str, Any]:
    return {"sessionId": SESSION, "projectHash": "f" * 8, "startTime": BEGAN, **more}


def message(own: str, content: Any, kind: str = "user", second: int = 5, **more: Any) -> dict:
    at = f"2026-01-01T00:00:{second:02}Z"
    return {"id": own, "timestamp": at, "type": kind, "content": content, **more}


def document(*messages: Any, **more: Any) -> dict[str, Any]:
    return head(messages=list(messages), **more)


def turns(lab: store.Lab, *, sidechains: bool = False) -> list[dict[str, Any]]:
    with lab.reading() as con:
        return store.read_turns(con, sidechains=sidechains).sort("session_id", "seq").to_dicts()


def said(lab: store.Lab) -> list[tuple[str, str]]:
    return [(turn["role"], turn["text"]) for turn in turns(lab)]


def reasons(report) -> dict[str, int]:
    return dict(report.dropped.select("reason", "count").iter_rows())


# Both kinds of session -----------------------------------------------------------------------


def test_messages_of_a_document_are_turns_with_their_own_times(lab, write):
    messages = [message("m1", "hi", second=1), message("m2", "hello", "gemini", second=2)]
    report = ingest(lab, write("session-x.json", document(*messages)))
    first, second = turns(lab)
    assert (first["turn_id"], first["session_id"]) == (f"{SESSION}/m1", SESSION)
    assert (first["role"], second["role"]) == ("user", "assistant")
    assert (first["scope"], first["source"]) == ("gemini:0a1b2c3d", "gemini_cli")
    assert [turn["said_at"] - BEGAN_US for turn in (first, second)] == [10**6, 2 * 10**6]
    assert [turn["line"] for turn in (first, second)] == [1, 2]
    assert report.frame.select("format", "confidence", "read", "kept").rows() == [
        ("gemini_cli", 1.0, 2, 2)
    ]


# bug bank M89
def test_a_document_and_lines_that_write_a_message_twice_give_the_same_two_messages(lab, write):
    user, reply = message("m1", "Weather?"), message("m2", "Sunny.", "gemini", second=9)
    half = reply | {"content": "Sun", "toolCalls": [{"name": "look"}]}
    lines = [head(), user, half, {"$set": {"lastUpdated": BEGAN}}, half, reply]
    report = ingest(lab, write("new.jsonl", lines))
    expected = [("user", "Weather?"), ("assistant", "Sunny.")]
    assert said(lab) == expected
    assert reasons(report) == {
        "not a message: session head": 1,
        "not a message: $set": 1,
        "earlier version of a message": 2,
    }
    again = ingest(lab, write("old.json", document(user, reply)))
    assert said(lab) == expected
    assert again.frame.select("kept", "already").rows() == [(0, 2)]


def test_a_rewritten_message_stays_at_its_first_place(lab, write):
    lines = [
        head(),
        message("m1", "a"),
        message("m2", "b"),
        message("m1", "a!"),
        message("m3", "c"),
    ]
    ingest(lab, write("s.jsonl", lines))
    assert [turn["text"] for turn in turns(lab)] == ["a!", "b", "c"]


def test_messages_without_an_id_are_kept_each_for_itself(lab, write):
    bare = message("", "go on")
    del bare["id"]
    ingest(lab, write("s.jsonl", [head(), bare, bare | {"timestamp": BEGAN}]))
    assert [turn["turn_id"] for turn in turns(lab)] == [
        "gemini_cli:src/s.jsonl#2",
        "gemini_cli:src/s.jsonl#3",
    ]


def test_equal_ids_of_two_sessions_are_two_turns(lab, write):
    write("a.json", document(message("1", "one")))
    path = write("b.json", document(message("1", "two")) | {"sessionId": "other"})
    ingest(lab, path.parent)
    assert sorted(turn["text"] for turn in turns(lab)) == ["one", "two"]


# bug bank M82
def test_damaged_and_torn_lines_cost_only_themselves(lab, write):
    good = [json.dumps(line) for line in (head(), message("m1", "a"), message("m2", "b"))]
    content = "\n".join([good[0], good[1], '{"id": "m1", \x00', good[2], '{"id": "m2", "ty'])
    report = ingest(lab, write("s.jsonl", content))
    assert [turn["text"] for turn in turns(lab)] == ["a", "b"]
    dropped = report.dropped.select("reason", "lines").rows()
    assert dropped[1:] == [("damaged line", [3]), ("incomplete line at the end", [5])]


# bug bank O115
def test_bom_crlf_and_blank_lines_are_no_records(lab, write):
    lines = [json.dumps(line) for line in (head(), message("m1", "a"))]
    report = ingest(lab, write("s.jsonl", "\ufeff" + "\r\n".join([lines[0], "", lines[1], ""])))
    assert report.frame.select("read", "kept", "dropped").rows() == [(2, 1, 1)]


@pytest.mark.parametrize("lines", [False, True])
def test_what_took_place_without_a_time_is_dated_by_its_session(lab, write, lines):
    first, second = message("m1", "a"), message("m2", "b") | {"timestamp": "soon"}
    del first["timestamp"]
    content = [head(), first, second] if lines else document(first, second)
    report = ingest(lab, write("s.jsonl" if lines else "s.json", content))
    assert [turn["said_at"] for turn in turns(lab)] == [BEGAN_US] * 2
    assert "message without a time, dated by the start of its session: 2" in report.notices
    assert "timestamp unreadable, not used: 1" in report.notices


def test_a_session_that_does_not_tell_its_start_gives_no_time(lab, write):
    first = message("m1", "a")
    del first["timestamp"]
    report = ingest(lab, write("s.json", document(first, startTime=None)))
    assert [turn["said_at"] for turn in turns(lab)] == [None]
    assert "turn without a usable time: 1" in report.notices


def test_a_session_without_an_id_is_named_after_its_file(lab, write):
    path = write("abc.json", document(message("m1", "a"), sessionId=""))
    report = ingest(lab, path, format="gemini_cli")
    assert [turn["session_id"] for turn in turns(lab)] == ["abc"]
    assert "session without an id, named after its file: 1" in report.notices


def test_a_session_of_a_subagent_is_a_side_conversation(lab, write, src):
    write("chats/parent-1/child.jsonl", [head(kind="subagent"), message("m1", "Look it up")])
    ingest(lab, src, turns_as_memories=True)
    assert turns(lab) == []
    [turn] = turns(lab, sidechains=True)
    assert (turn["session_id"], turn["session_kind"]) == (f"parent-1/{SESSION}", "subagent")
    with lab.reading() as con:
        assert store.read_spans(con).height == 0


# What is taken back, or set for the model ------------------------------------------------------


def test_messages_taken_back_by_a_rewind_are_dropped_with_all_after_them(lab, write):
    lines = [
        head(),
        *(message(f"m{n}", f"text {n}") for n in range(1, 5)),
        {"$rewindTo": "m3"},
        message("m5", "text 5"),
        {"$rewindTo": "unknown"},
    ]
    report = ingest(lab, write("s.jsonl", lines))
    assert [turn["text"] for turn in turns(lab)] == ["text 1", "text 2", "text 5"]
    assert reasons(report) == {
        "not a message: session head": 1,
        "message taken back by a rewind": 2,
        "not a message: $rewindTo": 2,
    }
    assert "rewind to a message that is not in the file, passed over: 1" in report.notices


def test_history_set_for_the_model_neither_doubles_nor_replaces_what_was_said(lab, write):
    context = message("c1", [{"text": "<session_context>\nThis is the Gemini CLI."}])
    recap = message("c2", "<state_snapshot>All of it.</state_snapshot>")
    copy = message("c3", "Weather?")
    lines = [
        head(),
        {"$set": {"messages": [context]}},
        message("m1", "Weather?"),
        message("m2", "Sunny.", "gemini"),
        {"$set": {"messages": [recap, copy, message("m2", "[masked]", "gemini")]}},
        {"$set": {"messages": []}},
        message("m3", "Thanks"),
    ]
    report = ingest(lab, write("s.jsonl", lines))
    assert [turn["text"] for turn in turns(lab)] == ["Weather?", "Sunny.", "Thanks"]
    assert reasons(report) == {
        "not a message: session head": 1,
        "history set for the model, not said again": 4,
        "not a message: $set": 1,
    }


def test_a_file_of_nothing_but_set_histories_is_read_from_them(lab, write):
    first, reply = message("m1", "Weather?"), message("m2", "Sunny.", "gemini")
    recap, copy = message("c1", "<state_snapshot>x</state_snapshot>"), message("c2", "Sunny.")
    lines = [
        head(),
        {"$set": {"messages": [first]}},
        {"$set": {"messages": [first, reply]}},
        {"$set": {"messages": [recap, copy]}},
        {"$set": {"messages": [recap, copy, message("m3", "Thanks")]}},
    ]
    report = ingest(lab, write("s.jsonl", lines))
    assert [turn["text"] for turn in turns(lab)] == ["Weather?", "Sunny.", "Thanks"]
    assert reasons(report) == {
        "not a message: session head": 1,
        "earlier version of a message": 1,
        "message copied by a compression": 4,
    }


def test_a_head_that_holds_messages_is_read_with_the_lines_after_it(lab, write):
    lines = [document(message("m1", "a"), 7), message("m2", "b")]
    report = ingest(lab, write("s.jsonl", lines))
    assert [turn["text"] for turn in turns(lab)] == ["a", "b"]
    assert report.frame.select("read", "kept").rows() == [(3, 2)]
    assert reasons(report) == {"not a JSON object": 1}


# What was said -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["info", "warning", "error", "mystery"])
def test_notices_of_the_client_are_dropped_by_their_kind(lab, write, kind):
    path = write("s.json", document(message("m1", "hi"), message("m2", "note", kind)))
    assert reasons(ingest(lab, path)) == {f"not a message: {kind}": 1}


@pytest.mark.parametrize(
    ("content", "more", "kept"),
    [
        ("plain", {}, "plain"),
        ([{"text": "one"}, "two", {"inlineData": {"data": "AAAA"}}], {}, "one\n\ntwo"),
        ({"text": "a part alone"}, {}, "a part alone"),
        ([{"text": "expanded file"}], {"displayContent": [{"text": "see @a.ts"}]}, "see @a.ts"),
        (
            "see @a.ts\n--- Content from referenced files ---\nfile\n--- End of content ---\nwhy?",
            {},
            "see @a.ts\n\nwhy?",
        ),
        (
            [
                {"text": "see @a.ts"},
                {"text": "\n--- Content from referenced files ---"},
                {"text": "the file"},
                {"text": "\n--- End of content ---"},
                {"text": "why?"},
            ],
            {},
            "see @a.ts\n\nwhy?",
        ),
        ([{"text": "mine"}, {"text": "<hook_context>x</hook_context>"}], {}, "mine"),
    ],
)
def test_of_a_prompt_what_was_typed_is_kept(lab, write, content, more, kept):
    ingest(lab, write("s.json", document(message("m1", content, **more))))
    assert said(lab) == [("user", kept)]


@pytest.mark.parametrize(
    ("content", "kind", "reason"),
    [
        ("<session_context>\nx", "user", "not the user's words: <session_context>"),
        ("<state_snapshot>x</state_snapshot>", "user", "machine recap (state snapshot)"),
        ([{"functionResponse": {"id": "f"}}], "user", "no text, only functionResponse"),
        ("", "gemini", "empty text"),
        (None, "gemini", "empty text"),
        ([{"text": "plan", "thought": True}], "gemini", "no text, only thinking"),
        ([7, {}], "gemini", "no text, only empty part and int"),
    ],
)
def test_what_is_no_ones_words_is_dropped_by_reason(lab, write, content, kind, reason):
    path = write("s.json", document(message("m1", content, kind), message("m2", "hi")))
    assert reasons(ingest(lab, path)) == {reason: 1}


def test_thoughts_and_tool_calls_are_counted_not_imported(lab, write):
    reply = message(
        "m2",
        [{"text": "plan", "thought": True}, {"text": "Sunny."}],
        "gemini",
        thoughts=[{"subject": "x"}, {"subject": "y"}],
        toolCalls=[{"name": "look", "result": [{"text": "rain"}]}],
    )
    silent = message("m3", "", "gemini", toolCalls=[{"name": "look"}])
    report = ingest(lab, write("s.json", document(reply, silent)))
    assert said(lab) == [("assistant", "Sunny.")]
    assert dict(report.parts.select("part", "count").rows()) == {
        "text": 1,
        "thinking": 3,
        "tool_use": 1,
    }
    assert reasons(report) == {"no text, only tool_use": 1}


def test_a_search_of_the_memory_is_kept_with_what_it_showed(lab, write):
    found = "1  a1b2c3d4 91%   cc   2026-03-16 vector"
    answer = [{"functionResponse": {"id": "c", "response": {"output": found}}}]
    calls = [
        {"name": "look", "args": {"query": "x"}, "result": answer},
        {"name": "recallnest__search_memory", "args": {"query": "tea"}, "result": answer},
        {"name": "search_memory", "args": None, "result": found},
        "odd",
    ]
    reply = message("m2", "", "gemini", toolCalls=calls)
    lines = [head(), message("m1", "Tea?"), reply | {"toolCalls": calls[:1]}, reply]
    report = ingest(lab, write("s.jsonl", lines))
    with lab.reading() as con:
        rows = store.read_table(con, "search_log").sort("query_id").to_dicts()
    assert [(row["query_id"], row["query"]) for row in rows] == [(f"{SESSION}/m2#2", "tea")]
    assert (rows[0]["shown"], rows[0]["scores"]) == (["a1b2c3d4"], [0.91])
    assert rows[0]["asked_at"] == datetime(2026, 1, 1, 0, 0, 5, tzinfo=UTC)
    assert "search of the memory whose question cannot be read: 1" in report.notices


# The log of prompts --------------------------------------------------------------------------


def prompt(number: Any, text: Any, session: Any = SESSION, kind: str = "user") -> dict[str, Any]:
    return {
        "sessionId": session,
        "messageId": number,
        "type": kind,
        "message": text,
        "timestamp": BEGAN,
    }


def test_prompts_of_the_log_are_the_users_each_in_its_session(lab, write):
    prompts = [
        prompt(0, "hi"),
        prompt(1, " tea? "),
        prompt(0, "hello", "other"),
        prompt(2, "x", kind="info"),
        prompt(3, " "),
        prompt(4, "x", None),
        "odd",
    ]
    report = ingest(lab, write("logs.json", json.dumps(prompts)))
    rows = [(turn["turn_id"], turn["text"], turn["said_at"]) for turn in turns(lab)]
    assert rows == [
        (f"{SESSION}/prompt 0", "hi", BEGAN_US),
        (f"{SESSION}/prompt 1", "tea?", BEGAN_US),
        ("other/prompt 0", "hello", BEGAN_US),
    ]
    assert reasons(report) == {
        "not a message: info": 1,
        "empty text": 1,
        "prompt without a session": 1,
        "not a JSON object": 1,
    }


@pytest.mark.parametrize("name", ["session-2026-01-01T00-00-0a1b2c3d.json", "x.json"])
def test_a_prompt_whose_session_file_stands_beside_is_said_once(lab, write, src, name):
    write("logs.json", json.dumps([prompt(0, "hi"), prompt(0, "hello", "other-session")]))
    write(f"chats/{name}", document(message("m1", "hi")))
    report = ingest(lab, src)
    known = name.startswith("session-")
    assert sorted(text for _, text in said(lab)) == ["hello", "hi"] + ["hi"] * (not known)
    expected = {"prompt of a session whose own file stands beside": 1} if known else {}
    assert reasons(report) == expected


def test_a_log_named_alone_is_read_in_full(lab, write):
    write("chats/session-2026-01-01T00-00-0a1b2c3d.json", document(message("m1", "hi")))
    ingest(lab, write("logs.json", json.dumps([prompt(0, "hi")])))
    assert said(lab) == [("user", "hi")]


# Which files these are -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "confidence"),
    [
        ("a.json", document(message("m1", "hi")), 1.0),
        ("a.json", json.dumps(document(message("m1", "hi")), indent=2), 1.0),
        ("a.json", document(), 1.0),
        ("a.json", document(message("m1", "hi"), {"odd": 1}), 0.5),
        ("a.jsonl", [head(), message("m1", "hi"), {"$set": {}}, {"$rewindTo": "m1"}], 1.0),
        ("a.jsonl", [head(messages=[])], 1.0),
        ("a.json", [head(), message("m1", "hi")], 1.0),
        ("logs.json", json.dumps([prompt(0, "hi")]), 1.0),
    ],
)
def test_a_session_is_known_by_what_is_in_it(write, name, content, confidence):
    found = detect(Source(write(name, content), name, name))
    assert found is not None
    assert (found.format, found.confidence) == ("gemini_cli", confidence)


@pytest.mark.parametrize(
    "content",
    [
        [message("m1", "hi"), message("m2", "yo")],  # Nothing of these lines is Gemini's own.
        json.dumps({"sessionId": 7, "messages": [message("m1", "hi")]}),
        json.dumps({"sessionId": "s", "messages": [{"role": "user", "content": "hi"}]}),
        json.dumps({"sessionId": "s", "messages": []}),
        json.dumps([{"role": "user", "content": "hi"}]),
        json.dumps({"sessionId": "s", "messages": [{"type": [], "content": "hi"}]}),
    ],
)
def test_what_only_looks_like_a_session_is_not_taken_for_one(write, content):
    with pytest.raises(SourceError, match="format not recognised"):
        detect(Source(write("a.json", content), "a.json", "a.json"))


@pytest.mark.parametrize("content", ["{}", "7", '{"messages": 1}'])
def test_a_document_of_another_kind_is_refused_by_name(lab, write, content):
    with pytest.raises(SourceError, match=r"^src/a\.json:1: not a Gemini CLI session"):
        ingest(lab, write("a.json", content), format="gemini_cli")


# The account ---------------------------------------------------------------------------------

_VALUES = st.recursive(
    st.none() | st.integers(-9, 9) | st.sampled_from(["", "x", "m1", "user", "<state_snapshot>"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["text", "thought", "name", "args"]), inner, max_size=3)
    ),
    max_leaves=5,
)
_MESSAGES = st.dictionaries(
    st.sampled_from(["id", "type", "content", "timestamp", "displayContent", "toolCalls"]),
    _VALUES | st.sampled_from(["m1", "m2", "user", "gemini"]),
)
_LINES = (
    _MESSAGES
    | st.builds(lambda messages: {"$set": {"messages": messages}}, st.lists(_MESSAGES, max_size=3))
    | st.builds(lambda target: {"$rewindTo": target}, st.sampled_from(["m1", "m2", "x", None]))
    | st.builds(lambda value: {"$set": value}, _VALUES)
    | st.builds(lambda messages: {"sessionId": "s", "messages": messages}, _VALUES)
)


@given(st.lists(_LINES, max_size=10), st.booleans())
def test_every_record_is_kept_or_dropped_whatever_it_holds(
    tmp_path_factory: pytest.TempPathFactory, lines: list[Any], one: bool
):
    path = tmp_path_factory.mktemp("gemini") / ("s.json" if one else "s.jsonl")
    content = [document(*lines)] if one else lines
    path.write_text("".join(json.dumps(line) + "\n" for line in content))
    parsed = Parsed("gemini_cli", "f")
    FORMATS["gemini_cli"].read(Source(path, path.name, "f"), parsed)
    assert parsed.records == (len(lines) if one else sum(map(_elements, lines)))
    assert len(parsed.turns) == parsed.kept
    assert len({turn.turn_id for turn in parsed.turns}) == len(parsed.turns)


def _elements(line: dict[str, Any]) -> int:
    """Records of a line: the messages it lists, or itself."""
    holder = line.get("$set", line)
    listed = holder.get("messages") if isinstance(holder, dict) else None
    return len(listed) if isinstance(listed, list) and listed else 1


@pytest.mark.shared
def test_a_real_session_is_read_in_full(lab, shared, write: Callable[..., Path]):
    path = shared / "data" / "transcripts" / "gemini_cli" / "agtrace_session.json"
    source = json.loads(path.read_text("utf-8"))
    report = ingest(lab, path)
    # Counted by hand: 2 prompts and 7 answers, with 9 thoughts and 5 calls of tools.
    assert report.frame.select("format", "read", "kept", "dropped").rows() == [
        ("gemini_cli", 9, 9, 0)
    ]
    assert dict(report.parts.select("part", "count").rows()) == {
        "text": 9,
        "thinking": 9,
        "tool_use": 5,
    }
    assert [turn["role"] for turn in turns(lab)] == ["user"] + ["assistant"] * 4 + ["user"] + [
        "assistant"
    ] * 3
    times = [datetime.fromtimestamp(turn["said_at"] / 10**6, UTC) for turn in turns(lab)]
    assert times == [datetime.fromisoformat(item["timestamp"]) for item in source["messages"]]
    # The same session as the new client writes it on is the same turns.
    facts = {key: source[key] for key in ("sessionId", "projectHash", "startTime")}
    again = ingest(lab, write("session.jsonl", [facts, *source["messages"]]))
    assert again.frame.select("kept", "already").rows() == [(0, 9)]
