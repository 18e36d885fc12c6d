"""Codex rollouts: three generations of files, messages written twice, scaffolding, forks."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalltune import store
from recalltune.errors import SourceError
from recalltune.ingest import FORMATS, Source, detect, ingest
from recalltune.ingest.codex_pairs import WAITING, Message, Pairs
from recalltune.ingest.parsed import Parsed

OWN = "019c0000-0000-7000-8000-000000000001"
PARENT = "019b0000-0000-7000-8000-000000000002"
LATER = "019c0000-1000-7000-8000-000000000003"
SECOND = "second record of one message (event and item)"


def at(seconds: float) -> str:
    return datetime.fromtimestamp(1_770_000_000 + seconds, UTC).isoformat()


def line(kind: str, payload: Any, seconds: float = 0) -> dict[str, Any]:
    return {"timestamp": at(seconds), "type": kind, "payload": payload}


def head(own: str = OWN, seconds: float = 0, **more: Any) -> dict[str, Any]:
    return line("session_meta", {"id": own, "timestamp": at(0), "cwd": "/x", **more}, seconds)


def bare(role: str, *texts: str, **more: Any) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    parts = [{"type": kind, "text": text} for text in texts]
    return {"type": "message", "role": role, "content": parts, **more}


def item(role: str, *texts: str, seconds: float = 0, **more: Any) -> dict[str, Any]:
    return line("response_item", bare(role, *texts, **more), seconds)


def event(role: str, text: str, seconds: float = 0, **more: Any) -> dict[str, Any]:
    kind = {"user": "user_message", "assistant": "agent_message"}[role]
    return line("event_msg", {"type": kind, "message": text, **more}, seconds)


def began(turn_id: str, seconds: float = 0) -> dict[str, Any]:
    return line("event_msg", {"type": "task_started", "turn_id": turn_id}, seconds)


def turns(lab: store.Lab) -> list[dict[str, Any]]:
    with lab.reading() as con:
        return store.read_turns(con, sidechains=True).sort("session_id", "seq").to_dicts()


def said(lab: store.Lab) -> list[tuple[str, str]]:
    return [(turn["role"], turn["text"]) for turn in turns(lab)]


def reasons(report) -> dict[str, int]:
    return dict(report.dropped.select("reason", "count").iter_rows())


# bug bank M86
def test_messages_of_a_new_file_are_turns_with_their_own_times(lab, write):
    report = ingest(lab, write("r.jsonl", [head(), item("user", "hi"), item("assistant", "yes")]))
    first, second = turns(lab)
    assert [(turn["role"], turn["text"]) for turn in (first, second)] == [
        ("user", "hi"),
        ("assistant", "yes"),
    ]
    assert (first["session_id"], first["scope"]) == (OWN, "codex:019c0000-0000")
    assert (first["session_kind"], first["said_at"]) == ("interactive", 1_770_000_000 * 10**6)
    assert first["turn_id"] == "codex:src/r.jsonl#2"
    assert (first["seq"], second["seq"]) == (1, 2)
    assert report.frame["format"].to_list() == ["codex"]


def test_an_old_file_of_bare_items_is_read_and_its_turns_are_undated(lab, write):
    old = [
        {"id": OWN, "timestamp": at(0), "instructions": None, "git": {"branch": "main"}},
        {"record_type": "state"},
        bare("user", "<environment_context>\n<cwd>/x</cwd>\n</environment_context>", id=None),
        bare("user", "hi", id=None),
        {"record_type": "state"},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"},
        {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c"},
        {"type": "function_call_output", "call_id": "c", "output": "never said"},
        bare("assistant", "yes", id="msg_1"),
    ]
    report = ingest(lab, write("r.jsonl", old))
    assert said(lab) == [("user", "hi"), ("assistant", "yes")]
    assert {turn["session_id"] for turn in turns(lab)} == {OWN}
    assert turns(lab)[1]["turn_id"] == "msg_1"
    assert "turn without a usable time: 2" in report.notices
    assert reasons(report) == {
        "not a message: session_meta": 1,
        "not a message: state": 2,
        "scaffolding: <environment_context>": 1,
        "not a message: reasoning": 1,
        "not a message: function_call": 1,
        "not a message: function_call_output": 1,
    }


def test_the_oldest_files_are_one_document(lab, write):
    session = {"id": OWN, "timestamp": at(0), "instructions": ""}
    items = [bare("user", "hi"), 7, {"type": "reasoning", "summary": []}, bare("assistant", "yes")]
    content = json.dumps({"session": session, "items": items}, indent=1)
    report = ingest(lab, write("rollout-2025-04-20-x.json", content))
    assert said(lab) == [("user", "hi"), ("assistant", "yes")]
    assert report.frame.select("format", "read", "kept", "dropped").rows() == [("codex", 4, 2, 2)]
    assert turns(lab)[1]["turn_id"] == "codex:src/rollout-2025-04-20-x.json#4"


# bug bank M87
@pytest.mark.parametrize(
    ("records", "texts"),
    [
        pytest.param([item("user", "a b"), event("user", "a b")], ["a b"], id="item, event"),
        pytest.param([event("assistant", "a"), item("assistant", "a")], ["a"], id="event, item"),
        pytest.param([item("user", " a\n b"), event("user", "a b ")], ["a\n b"], id="white space"),
        pytest.param([item("user", "a", "b"), event("user", "ab")], ["a\n\nb"], id="two parts"),
        pytest.param([item("user", "a")], ["a"], id="item alone"),
        pytest.param([event("user", "a")], ["a"], id="event alone"),
        pytest.param(
            [item("user", "a"), line("turn_context", {}), event("user", "a", 5)], ["a"], id="apart"
        ),
        pytest.param(
            [item("user", "a"), item("user", "b"), event("user", "a"), event("user", "b")],
            ["a", "b"],
            id="two and two",
        ),
        pytest.param(
            [item("user", "a"), event("user", "a"), item("user", "a"), event("user", "a")],
            ["a", "a"],
            id="said twice",
        ),
        pytest.param([item("user", "a"), item("user", "a")], ["a", "a"], id="twice, one kind"),
        pytest.param(
            [item("user", "a"), event("assistant", "x"), event("user", "a")],
            ["a", "x", "a"],
            id="somebody else spoke between them",
        ),
        pytest.param(
            [item("user", "a"), event("user", "z", 0.4)], ["a"], id="other words, at once"
        ),
        pytest.param([item("user", "a"), event("user", "z", 1.5)], ["a", "z"], id="other words"),
        pytest.param(
            [item("user", "a"), line("turn_context", {}), event("user", "z")],
            ["a", "z"],
            id="other words, not neighbours",
        ),
        pytest.param([event("user", "a"), event("user", "z")], ["a", "z"], id="two events"),
        pytest.param(
            [
                item("user", "a"),
                item("user", "x", "z"),
                event("user", "xz"),
            ],
            ["a", "x\n\nz"],
            id="one alone, one in both",
        ),
    ],
)
def test_a_message_in_two_records_is_one_turn(lab, write, records, texts):
    report = ingest(lab, write("r.jsonl", [head(), *records]))
    assert [text for _, text in said(lab)] == texts
    messages = sum(record["type"] != "turn_context" for record in records)
    assert reasons(report).get(SECOND, 0) == messages - len(texts)


def test_pairs_of_different_words_and_messages_alone_are_counted(lab, write):
    records = [item("user", "x"), item("user", "a"), event("user", "[a]")]
    report = ingest(lab, write("r.jsonl", [head(), *records]))
    assert "message in two records of different words, the first one kept: 1" in report.notices
    assert "message in one of its two records only: 1" in report.notices


SPOKEN = st.lists(
    st.tuples(st.sampled_from(["user", "assistant"]), st.sampled_from("abc"), st.booleans()),
    max_size=30,
)


@given(SPOKEN)
def test_messages_written_twice_side_by_side_are_each_one_turn(spoken):
    pairs, place = Pairs(Counter()), 0
    for role, words, event_first in spoken:
        kinds = ("event", "item") if event_first else ("item", "event")
        for kind, second in zip(kinds, (False, True), strict=True):
            assert pairs.complete(Message(kind, role, words, place, None)) is second
            place += 1
    pairs.close()
    assert not pairs.notes


@given(st.integers(0, 3 * WAITING))
def test_so_many_messages_wait_for_their_other_half_and_no_more(between):
    pairs = Pairs(Counter())
    pairs.complete(Message("item", "user", "first", 0, None))
    for place in range(between):
        pairs.complete(Message("item", "user", f"word {place}", place + 1, None))
    assert pairs.complete(Message("event", "user", "first", 99, None)) is (between < WAITING)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("<permissions instructions>\nx", "scaffolding: <permissions instructions>"),
        ("<environment_context>x</environment_context>", "scaffolding: <environment_context>"),
        ("<user_instructions>\nx\n</user_instructions>", "scaffolding: <user_instructions>"),
        (
            "# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>y</INSTRUCTIONS>",
            "scaffolding: # AGENTS.md instructions",
        ),
        ("<turn_aborted>\nx\n</turn_aborted>", "scaffolding: <turn_aborted>"),
        ("<user_shell_command>ls</user_shell_command>", "scaffolding: <user_shell_command>"),
        (
            "<subagent_notification>x</subagent_notification>",
            "scaffolding: <subagent_notification>",
        ),
        ("  ", "empty text"),
    ],
)
def test_what_the_agent_puts_into_the_users_role_is_not_the_users_words(lab, write, text, reason):
    records = [head(), item("user", text), event("user", text), event("user", "hi", 9)]
    report = ingest(lab, write("r.jsonl", records))
    assert said(lab) == [("user", "hi")]
    assert reasons(report) == {"not a message: session_meta": 1, reason: 2}


def test_the_agent_may_speak_of_a_tag_and_so_may_the_user_later_in_a_sentence(lab, write):
    text = "<environment_context> tells the folder"
    ingest(lab, write("r.jsonl", [head(), item("assistant", text), item("user", f"Is {text}?")]))
    assert [words for _, words in said(lab)] == [text, f"Is {text}?"]


def test_the_users_words_beside_scaffolding_are_kept_without_it(lab, write):
    ide = "# Context from my IDE setup:\n\n## Open tabs: a.py\n\n## My request for Codex:\nfix it\n"
    rules = "# AGENTS.md instructions for /x\n<INSTRUCTIONS>no</INSTRUCTIONS>"
    records = [head(), item("user", ide), event("user", ide), item("user", rules, "go")]
    report = ingest(lab, write("r.jsonl", records))
    assert said(lab) == [("user", "fix it"), ("user", "go")]
    beside = "beside the user's words, left out"
    assert f"{beside}: # Context from my IDE setup: 1" in report.notices
    assert f"{beside}: # AGENTS.md instructions: 1" in report.notices


@pytest.mark.parametrize("role", ["developer", "system"])
def test_developer_and_system_messages_are_dropped_by_reason(lab, write, role):
    report = ingest(lab, write("r.jsonl", [head(), item(role, "rules"), item("user", "hi")]))
    assert reasons(report)[f"{role} message, not the user's words"] == 1
    assert said(lab) == [("user", "hi")]


def test_an_image_is_counted_apart_and_its_tags_are_no_words(lab, write):
    image = {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}
    mixed = item("user", "<image name=[Image #1]>", "</image>", "look")
    mixed["payload"]["content"].insert(1, image)
    alone = item("user")
    alone["payload"]["content"] = [image]
    seen = event("user", "look", images=["x"])
    report = ingest(lab, write("r.jsonl", [head(), mixed, seen, alone]))
    assert said(lab) == [("user", "look")]
    assert reasons(report)["no text, only input_image"] == 1
    assert json.loads(turns(lab)[0]["meta"])["parts"] == {
        "image_tag": 2,
        "input_image": 1,
        "text": 1,
    }


def test_a_recap_and_the_history_that_replaces_it_double_nothing(lab, write):
    recap = {"message": "we spoke of tea", "replacement_history": [bare("user", "tea?")]}
    records = [head(), item("user", "tea?"), line("compacted", recap), item("assistant", "yes")]
    report = ingest(lab, write("r.jsonl", records))
    assert said(lab) == [("user", "tea?"), ("assistant", "yes")]
    assert reasons(report)["machine recap (compacted)"] == 1


@pytest.mark.parametrize(
    ("source", "session"),
    [
        ({"subagent": {"thread_spawn": {"parent_thread_id": PARENT}}}, f"{PARENT}/{OWN}"),
        ({"subagent": "review"}, OWN),
    ],
)
def test_a_sub_agents_thread_is_kept_apart_and_never_the_users(lab, write, source, session):
    path = write("r.jsonl", [head(source=source), item("user", "review this")])
    ingest(lab, path, turns_as_memories=True)
    [turn] = turns(lab)
    assert (turn["session_id"], turn["session_kind"]) == (session, "subagent")
    assert turn["sidechain"] is True
    with lab.reading() as con:
        assert store.read_memories(con).is_empty()


def test_a_thread_that_names_its_parent_at_the_top_is_of_the_parents_scope(lab, write):
    ingest(lab, write("r.jsonl", [head(parent_thread_id=PARENT), item("user", "x")]))
    assert (turns(lab)[0]["session_kind"], turns(lab)[0]["scope"]) == (
        "subagent",
        "codex:019b0000-0000",
    )


def test_a_session_of_codex_exec_is_counted(lab, write):
    report = ingest(lab, write("r.jsonl", [head(source="exec"), item("user", "x")]))
    assert turns(lab)[0]["session_kind"] == "interactive"
    assert "session of codex exec: a program may have written its prompts: 1" in report.notices


@pytest.mark.parametrize(
    "ends",
    [
        pytest.param([began(LATER)], id="a turn begun after the fork"),
        pytest.param([line("turn_context", {"turn_id": LATER})], id="its context"),
        pytest.param([head()], id="its own head again"),
        pytest.param([line("turn_context", {}, 12)], id="a pause"),
    ],
)
def test_a_fork_does_not_say_again_what_it_was_forked_from(lab, write, ends):
    repeated = [head(PARENT), began(PARENT), item("user", "old"), event("user", "old")]
    more = [item("assistant", "old answer", seconds=0.1), *ends, item("user", "new", seconds=12)]
    report = ingest(lab, write("r.jsonl", [head(forked_from_id=PARENT), *repeated, *more]))
    assert said(lab) == [("user", "new")]
    assert turns(lab)[0]["session_id"] == OWN
    assert reasons(report)["message of the session it was forked from"] == 3
    assert "session forked from another: 1" in report.notices


def test_a_second_head_in_a_session_that_is_no_fork_changes_nothing_and_is_counted(lab, write):
    records = [head(), item("user", "a"), head(PARENT), item("user", "b")]
    report = ingest(lab, write("r.jsonl", records))
    assert {turn["session_id"] for turn in turns(lab)} == {OWN}
    assert [text for _, text in said(lab)] == ["a", "b"]
    assert "head of another session inside a session: 1" in report.notices


# bug bank M86
def test_lines_without_a_message_are_an_error_and_not_an_empty_success(lab, write):
    path = write("r.jsonl", [head(), line("event_msg", {"type": "token_count"})])
    with pytest.raises(SourceError, match=r"^src/r\.jsonl:1: 2 records and none to keep"):
        ingest(lab, path)


def test_a_damaged_record_costs_only_itself(lab, write):
    good = json.dumps(item("user", "hi"))
    odd = [
        {"type": "response_item", "payload": "text"},
        {"type": "response_item", "payload": {"type": "message", "role": "user"}},
        {"type": "response_item", "payload": {"type": "message", "role": "nurse", "content": "x"}},
        {"type": "later_kind", "payload": {}},
        {"odd": 1},
    ]
    content = "\n".join([json.dumps(head()), '{"type": "resp', good, *map(json.dumps, odd)])
    report = ingest(lab, write("r.jsonl", content), format="codex")
    assert said(lab) == [("user", "hi")]
    assert reasons(report) == {
        "not a message: session_meta": 1,
        "damaged line": 1,
        "record without a payload": 1,
        "message without content": 1,
        "message of an unknown role": 1,
        "not a message: later_kind": 1,
        "not a message: no type": 1,
    }


HIT = {"id": "a1b2c3d4", "text": "tea", "score": 0.9}


@pytest.mark.parametrize(
    "output",
    [
        pytest.param(json.dumps({"results": [HIT]}), id="JSON"),
        pytest.param(json.dumps([HIT]), id="list"),
        pytest.param("1  a1b2c3d4 90%   cc   2026-03-16 vector", id="lines"),
        pytest.param(
            json.dumps({"content": [{"type": "text", "text": json.dumps({"results": [HIT]})}]}),
            id="parts in text",
        ),
        pytest.param([{"type": "input_text", "text": json.dumps([HIT])}], id="parts"),
        pytest.param({"content": json.dumps([HIT]), "success": True}, id="content"),
        pytest.param(
            json.dumps({"output": json.dumps([HIT]), "metadata": {"exit_code": 0}}), id="output"
        ),
    ],
)
def test_a_search_of_the_memory_is_kept_with_its_question_time_and_hits(lab, write, output):
    call = {"type": "function_call", "call_id": "c1", "name": "mcp__mine__search_memory"}
    call["arguments"] = json.dumps({"query": "tea", "limit": 2})
    answer = {"type": "function_call_output", "call_id": "c1", "output": output}
    other = {"type": "custom_tool_call", "call_id": "c2", "name": "apply_patch", "input": "x"}
    done = {"type": "custom_tool_call_output", "call_id": "c2", "output": json.dumps([HIT])}
    lost = {"type": "function_call_output", "call_id": "c9", "output": output}
    items = [line("response_item", one, 3) for one in (call, other, done, answer, lost)]
    report = ingest(lab, write("r.jsonl", [head(), item("user", "hi"), *items]))
    with lab.reading() as con:
        [search] = store.read_search_log(con).to_dicts()
    assert (search["query_id"], search["query"]) == (f"codex:{OWN}:c1", "tea")
    assert (search["shown"], search["scores"]) == (["a1b2c3d4"], [0.9])
    assert search["asked_at"] == 1_770_000_003 * 10**6
    assert said(lab) == [("user", "hi")]
    assert "search of the memory, kept in the search log: 1" in report.notices


def test_a_search_whose_question_is_too_long_is_kept_and_counted(lab, write):
    call = {"type": "function_call", "call_id": "c1", "name": "search_memory"}
    call["arguments"] = json.dumps({"query": "t" * 10_000})
    answer = {"type": "function_call_output", "call_id": "c1", "output": json.dumps([HIT])}
    items = [line("response_item", one) for one in (call, answer)]
    report = ingest(lab, write("r.jsonl", [head(), item("user", "hi"), *items]))
    assert "search of the memory whose question cannot be read: 1" in report.notices


KINDS = st.sampled_from(["session_meta", "response_item", "event_msg", "compacted", "message"])
BODIES = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["message", "user_message", "agent_message", "function_call", 3]),
        "role": st.sampled_from(["user", "assistant", "developer", None]),
        "content": st.one_of(st.text(max_size=3), st.lists(st.text(max_size=3), max_size=2)),
        "message": st.sampled_from(["a", "b", None]),
        "id": st.sampled_from([OWN, PARENT, 7]),
        "forked_from_id": st.just(PARENT),
        "call_id": st.sampled_from(["c", 1]),
        "images": st.sampled_from([["x"], 1]),
    },
)
RECORDS = st.lists(
    st.one_of(st.builds(lambda kind, body: line(kind, body), KINDS, BODIES), BODIES, st.integers()),
    max_size=12,
)


@given(RECORDS, st.booleans())
def test_every_record_is_kept_or_dropped(tmp_path_factory, records, document):
    path = tmp_path_factory.mktemp("codex") / "r.jsonl"
    whole = json.dumps({"session": {}, "items": records})
    path.write_text(whole if document else "".join(json.dumps(one) + "\n" for one in records))
    parsed = Parsed("codex", "src/r.jsonl")
    FORMATS["codex"].read(Source(path, "r.jsonl", "src/r.jsonl"), parsed)
    assert parsed.records == len(records)
    assert parsed.kept == len(parsed.turns)


def real(shared: Path, name: str) -> Path:
    return shared / "data" / "transcripts" / "codex" / name


@pytest.mark.shared
def test_the_real_rollout_accounts_for_each_of_its_55_lines(lab, shared):
    report = ingest(lab, real(shared, "agtrace_rollout.jsonl"))
    assert report.frame.select("read", "kept", "dropped").rows() == [(55, 4, 51)]
    assert reasons(report) == {
        "not a message: session_meta": 1,
        "not a message: turn_context": 7,
        "not a message: event_msg/token_count": 14,
        "not a message: event_msg/agent_reasoning": 6,
        "not a message: response_item/reasoning": 6,
        "not a message: response_item/function_call": 4,
        "not a message: response_item/function_call_output": 4,
        "not a message: response_item/custom_tool_call": 1,
        "not a message: response_item/custom_tool_call_output": 1,
        "not a message: response_item/ghost_snapshot": 2,
        "scaffolding: <environment_context>": 1,
        SECOND: 4,
    }
    rows = turns(lab)
    assert [row["role"] for row in rows] == ["user", "assistant", "user", "assistant"]
    assert rows[0]["text"].startswith("add myapp directory")
    first = datetime(2025, 12, 9, 19, 55, 18, 143000, tzinfo=UTC)
    assert rows[0]["said_at"] == int(first.timestamp()) * 10**6 + 143_000


@pytest.mark.shared
def test_the_real_redacted_rollout_accounts_for_each_of_its_2722_lines(lab, shared):
    # 346 messages as items: 255 of the agent, 45 of the developer, 46 of the user; 255 + 38 as
    # events, each beside its item. 8 items of the user have no event.
    report = ingest(lab, real(shared, "redacted_compacted_rollout-2026-02-23T12-54-34.jsonl"))
    assert report.frame.select("read", "kept", "dropped").rows() == [(2722, 301, 2421)]
    counted = reasons(report)
    assert counted[SECOND] == 255 + 38
    assert counted["developer message, not the user's words"] == 45
    assert counted["machine recap (compacted)"] == 1
    assert counted["not a message: event_msg/context_compacted"] == 1
    assert counted["not a message: event_msg/token_count"] == 573
    assert counted["not a message: response_item/function_call_output"] == 316
    assert counted["not a message: response_item/web_search_call"] == 7
    assert "message in one of its two records only: 8" in report.notices
    assert Counter(row["role"] for row in turns(lab)) == {"user": 46, "assistant": 255}


@pytest.mark.shared
def test_no_other_real_transcript_is_taken_for_a_rollout(shared):
    found = {}
    for path in sorted((shared / "data" / "transcripts").rglob("*.json*")):
        try:
            detection = detect(Source(path, path.name, path.name))
        except SourceError:
            continue
        found[path.name] = detection and detection.format
    codex = {name for name, format in found.items() if format == "codex"}
    assert codex == {
        "agtrace_rollout.jsonl",
        "redacted_compacted_rollout-2026-02-23T12-54-34.jsonl",
    }


def test_importing_a_rollout_twice_brings_nothing_twice(lab, write):
    path = write("r.jsonl", [head(), item("user", "hi"), event("user", "hi")])
    ingest(lab, path)
    before = turns(lab)
    path.write_text(path.read_text() + json.dumps(item("assistant", "yes", seconds=2)) + "\n")
    ingest(lab, path)
    assert turns(lab)[:1] == before
    assert pl.DataFrame(turns(lab)).height == 2
