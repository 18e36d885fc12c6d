"""Claude.ai exports: who said what, parts apart, and the branch that went on."""

from __future__ import annotations

import json
import sys
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalltune import store
from recalltune.errors import SourceError
from recalltune.ingest import Source, detect, ingest
from recalltune.ingest.formats import FORMATS
from recalltune.ingest.parsed import Parsed

ROOT = "00000000-0000-4000-8000-000000000000"
AT = "2026-01-01T00:00:00.000001Z"
MIDNIGHT = 1_767_225_600 * 10**6


def say(uuid: str, sender: str = "human", *content: Any, **more: Any) -> dict[str, Any]:
    parts = list(content) or [{"type": "text", "text": f"text of {uuid}"}]
    return {"uuid": uuid, "sender": sender, "created_at": AT, "content": parts} | more


def conversation(*messages: Any, uuid: str = "conv-one-1", **more: Any) -> dict[str, Any]:
    return {"uuid": uuid, "name": "n", "chat_messages": list(messages)} | more


def export(*conversations: Any) -> str:
    return json.dumps(conversations, indent=2)


def turns(lab: store.Lab) -> pl.DataFrame:
    with lab.reading() as con:
        return store.read_turns(con).sort("session_id", "seq")


def reasons(report) -> dict[str, int]:
    return dict(report.dropped.select("reason", "count").iter_rows())


def test_turns_come_with_their_ids_roles_times_and_places(lab, write):
    text = export(
        conversation(say("m1"), say("m2", "assistant")),
        conversation(say("m1"), uuid="conv-two-2"),
    )
    report = ingest(lab, write("conversations.json", text))
    assert turns(lab).select("turn_id", "role", "text", "scope", "line", "seq").rows() == [
        ("conv-one-1/m1", "user", "text of m1", "claude_ai:conv-one", 1, 0),
        ("conv-one-1/m2", "assistant", "text of m2", "claude_ai:conv-one", 2, 1),
        ("conv-two-2/m1", "user", "text of m1", "claude_ai:conv-two", 3, 0),
    ]
    assert set(turns(lab)["said_at"]) == {MIDNIGHT + 1}
    assert report.frame.select("format", "confidence", "kept").rows() == [("claude_ai", 1.0, 3)]


def test_thinking_tools_and_attached_files_are_counted_and_never_said(lab, write):
    text = export(
        conversation(
            say("m1", attachments=[{"file_name": "a.txt", "extracted_content": "a secret"}]),
            say(
                "m2",
                "assistant",
                {"type": "thinking", "thinking": "hm"},
                {"type": "text", "text": "here"},
                {"type": "tool_use", "name": "artifacts", "input": {}},
                {"type": "text", "text": "done"},
                text="here\n\nThis block is not supported on your current device yet.\n\ndone",
            ),
        )
    )
    report = ingest(lab, write("conversations.json", text))
    assert turns(lab)["text"].to_list() == ["text of m1", "here\n\ndone"]
    assert dict(report.parts.select("part", "count").iter_rows()) == {
        "text": 3, "thinking": 1, "tool_use": 1, "attachment": 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (say("x", "system"), "not a message: system"),
        (
            say("x", "assistant", {"type": "tool_use"}, text="not supported"),
            "no text, only tool_use",
        ),
        (say("x", "human", {"type": "text", "text": " "}), "empty text"),
        (say("x", "human", {"type": "text", "text": ""}, files=[{}, {}]), "no text, only file"),
        ("x", "not a JSON object"),
        ({"uuid": "x"}, "not a message: None"),
    ],
)
def test_what_says_nothing_is_left_out_by_reason(lab, write, message, reason):
    report = ingest(lab, write("c.json", export(conversation(say("u"), message))))
    assert (turns(lab)["text"].to_list(), reasons(report)) == (["text of u"], {reason: 1})


def test_an_older_export_has_its_words_in_text(lab, write):
    message = {"uuid": "m", "sender": "human", "text": "tea?", "created_at": AT}
    ingest(
        lab, write("c.json", export(conversation(message, message | {"uuid": "n", "content": []})))
    )
    assert turns(lab)["text"].to_list() == ["tea?", "tea?"]


@pytest.mark.parametrize(
    ("leaf", "kept", "noted"), [("a2", ["u", "a2"], False), (None, ["u", "a3"], True)]
)
def test_answers_that_were_made_anew_are_left_out(lab, write, leaf, kept, noted):
    answers = [say(name, "assistant", parent_message_uuid="u") for name in ("a1", "a2", "a3")]
    talk = conversation(say("u", parent_message_uuid=ROOT), *answers)
    talk |= {"current_leaf_message_uuid": leaf} if leaf else {}
    report = ingest(lab, write("c.json", export(talk)))
    assert [name.partition("/")[2] for name in turns(lab)["turn_id"]] == kept
    assert reasons(report) == {"on another branch": 2}
    assert any("current_leaf_message_uuid missing" in one for one in report.notices) == noted


def test_messages_that_all_name_the_root_are_one_conversation(lab, write):
    talk = conversation(*(say(name, parent_message_uuid=ROOT) for name in "abc"))
    report = ingest(lab, write("c.json", export(talk)))
    assert report.frame["kept"].to_list() == [3]


def test_conversations_without_messages_are_counted(lab, write):
    text = export(conversation(), conversation(say("u"), uuid=""), {"uuid": "x"})
    report = ingest(lab, write("c.json", text))
    assert report.dropped.select("reason", "lines").rows() == [
        ("conversation without messages", [1, 3])
    ]
    assert turns(lab)["session_id"].to_list() == ["c#2"]


def test_a_document_of_another_kind_is_refused_with_its_name(lab, write):
    with pytest.raises(SourceError, match=r"^src/x\.json:1: not a Claude\.ai export"):
        ingest(lab, write("x.json", "[1]"), format="claude_ai")


def test_a_list_too_large_to_be_held_is_known_by_its_beginning(write, monkeypatch):
    # The package's own name ``ingest`` is a function.
    monkeypatch.setattr(sys.modules["recalltune.ingest.reader"], "MAX_DOCUMENT_BYTES", 64)
    path = write("c.json", export(conversation(say("u"))))
    found = detect(Source(path, "c.json", "src/c.json"))
    assert (found and found.format, found and found.confidence) == ("claude_ai", 1.0)


@pytest.mark.shared
def test_the_real_export_is_where_counting_by_hand_puts_it(lab, shared):
    report = ingest(lab, shared / "data/transcripts/claude_ai_export/conversations.json")
    # Three conversations of 4, 2 and 2 messages, each of one text; one thought, two artifacts.
    assert report.frame.select("read", "kept", "confidence").rows() == [(8, 8, 1.0)]
    assert dict(report.parts.select("part", "count").iter_rows()) == {
        "text": 8, "tool_use": 2, "thinking": 1,
    }  # fmt: skip
    found = turns(lab)
    assert found["role"].to_list() == ["user", "assistant"] * 4
    assert found["session_id"].n_unique() == 3
    assert found["said_at"][1] - found["said_at"][0] == 30 * 10**6
    assert not found["text"].str.contains("useMemo(() =>", literal=True).any()


MESSAGE = st.one_of(
    st.integers(),
    st.fixed_dictionaries(
        {
            "uuid": st.sampled_from(["a", "b", "c", "", None]),
            "sender": st.sampled_from(["human", "assistant", "x", None]),
            "text": st.one_of(st.none(), st.text(max_size=3)),
            "content": st.one_of(
                st.none(), st.lists(st.sampled_from([{"type": "text", "text": "hi"}, {}, 1]))
            ),
            "parent_message_uuid": st.sampled_from([ROOT, None, "a", "b", "lost"]),
        }
    ),
)


@given(talks=st.lists(st.lists(MESSAGE, max_size=4), min_size=1, max_size=3))
def test_every_message_is_kept_or_dropped_once(tmp_path_factory, talks):
    path = tmp_path_factory.mktemp("c") / "c.json"
    path.write_text(export(*(conversation(*talk) for talk in talks)))
    parsed = Parsed("claude_ai", "src/c.json")
    FORMATS["claude_ai"].read(Source(path, "c.json", "src/c.json"), parsed)
    assert parsed.records == sum(max(len(talk), 1) for talk in talks)
    assert parsed.kept == len(parsed.turns)
