"""ChatGPT exports: the branch one sees, in its order, and nothing else."""

from __future__ import annotations

import json
import sys
from collections import Counter
from itertools import pairwise
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalltune import store
from recalltune.errors import SourceError
from recalltune.ingest import Source, detect, ingest
from recalltune.ingest.branches import branch_to, deepest_leaf, linked
from recalltune.ingest.formats import FORMATS
from recalltune.ingest.parsed import Parsed

AT = 1_767_225_600  # 2026-01-01T00:00:00Z


def node(name: str, parent: str | None, role: str = "user", text: Any = None, **more: Any):
    """One node of a mapping, under its name; ``more`` is of its message."""
    message = {
        "id": name,
        "author": {"role": role},
        "create_time": AT + len(name),
        "content": {"content_type": "text", "parts": [f"text of {name}" if text is None else text]},
    }
    return {name: {"id": name, "message": message | more, "parent": parent, "children": []}}


def conversation(*nodes: dict[str, Any], current: str | None = None, **more: Any) -> dict[str, Any]:
    mapping = {key: value for one in nodes for key, value in one.items()}
    told = {"current_node": current} if current else {}
    return {"title": "t", "conversation_id": "conv-1", "mapping": mapping} | told | more


def export(*conversations: Any) -> str:
    return json.dumps(conversations)


def turns(lab: store.Lab) -> pl.DataFrame:
    with lab.reading() as con:
        return store.read_turns(con).sort("session_id", "seq")


def reasons(report) -> dict[str, int]:
    return dict(report.dropped.select("reason", "count").iter_rows())


def test_the_branch_of_the_current_node_is_kept_and_the_other_counted(lab, write):
    # bug bank M88
    tree = conversation(
        node("u1", None), node("a_old", "u1", "assistant"), node("a_new", "u1", "assistant"),
        current="a_new",
    )  # fmt: skip
    report = ingest(lab, write("conversations.json", export(tree)))
    assert turns(lab).select("turn_id", "role", "text", "seq", "line").rows() == [
        ("u1", "user", "text of u1", 0, 1),
        ("a_new", "assistant", "text of a_new", 1, 3),
    ]
    assert reasons(report) == {"on another branch": 1}


def test_a_turn_has_its_time_session_scope_and_place_on_the_branch(lab, write):
    tree = conversation(
        node("a", "u", "assistant", create_time=AT + 2.123457), node("u", "root"),
        {"root": {"id": "root", "message": None, "parent": None, "children": ["u"]}},
        current="a",
    )  # fmt: skip
    report = ingest(lab, write("conversations.json", export(tree)))
    assert turns(lab).select("turn_id", "session_id", "scope", "said_at", "seq", "line").rows() == [
        ("u", "conv-1", "chatgpt:conv-1", (AT + 1) * 10**6, 1, 2),
        ("a", "conv-1", "chatgpt:conv-1", AT * 10**6 + 2_123_457, 2, 1),
    ]
    assert reasons(report) == {"node without a message": 1}


def test_one_conversation_alone_is_read_like_a_list_of_one(lab, write):
    report = ingest(lab, write("one.json", conversation(node("u", None), current="u")))
    assert report.frame.select("format", "confidence", "kept").rows() == [("chatgpt", 1.0, 1)]


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"author": {"role": "system"}}, "not a message: system"),
        ({"author": {"role": "tool", "name": "python"}}, "not a message: tool"),
        ({"author": None}, "not a message: None"),
        ({"content": None}, "message without content"),
        (
            {"content": {"content_type": "user_editable_context", "user_profile": "I like tea"}},
            "not the user's words: user_editable_context",
        ),
        (
            {"metadata": {"is_visually_hidden_from_conversation": True}},
            "hidden from the conversation",
        ),
        ({"content": {"content_type": "thoughts", "thoughts": []}}, "no text, only thinking"),
        ({"content": {"content_type": "reasoning_recap"}}, "no text, only thinking"),
        (
            {"content": {"content_type": "code", "text": "1+1"}, "recipient": "python"},
            "no text, only tool_use",
        ),
        ({"recipient": "bio"}, "said to a tool"),
        ({"content": {"content_type": "system_error"}}, "not a message: system_error"),
        ({"content": {"content_type": "text", "parts": [" \n"]}}, "empty text"),
        (
            {
                "content": {
                    "content_type": "multimodal_text",
                    "parts": [{"content_type": "image_asset_pointer", "asset_pointer": "x"}],
                }
            },
            "no text, only image",
        ),
    ],
)
def test_what_is_no_word_of_a_person_or_the_assistant_is_left_out_by_reason(
    lab, write, more, reason
):
    tree = conversation(node("u", None), node("x", "u", "assistant", **more), current="x")
    report = ingest(lab, write("conversations.json", export(tree)))
    assert (turns(lab)["turn_id"].to_list(), reasons(report)) == (["u"], {reason: 1})


def test_pictures_beside_words_are_counted_and_spoken_words_are_words(lab, write):
    parts = [
        {"content_type": "image_asset_pointer", "asset_pointer": "sediment://x"},
        "what is this?",
        {"content_type": "audio_transcription", "text": "a pump", "direction": "in"},
        {"content_type": "real_time_user_audio_video_asset_pointer"},
    ]
    content = {"content_type": "multimodal_text", "parts": parts}
    tree = conversation(node("u", None, content=content), current="u")
    report = ingest(lab, write("conversations.json", export(tree)))
    assert turns(lab)["text"].to_list() == ["what is this?\n\na pump"]
    assert dict(report.parts.select("part", "count").iter_rows()) == {
        "text": 2, "image": 1, "audio": 1,
    }  # fmt: skip


def test_without_a_current_node_the_newest_of_the_deepest_messages_is_the_end(lab, write):
    tree = conversation(
        node("u", None),
        node("old", "u", "assistant", create_time=AT + 5),
        node("new", "u", "assistant", create_time=AT + 9),
        node("short", None, create_time=AT + 99),
    )
    report = ingest(lab, write("conversations.json", export(tree)))
    assert turns(lab)["turn_id"].to_list() == ["u", "new"]
    assert "current_node missing, the newest of the deepest messages taken: 1" in report.notices


def test_cycles_and_missing_parents_end_a_branch_and_are_counted(lab, write):
    ring = conversation(node("a", "b"), node("b", "a"), current="a", conversation_id="ring")
    torn = conversation(node("c", "lost"), current="c", conversation_id="torn")
    report = ingest(lab, write("conversations.json", export(ring, torn)))
    assert turns(lab)["turn_id"].to_list() == ["b", "a", "c"]
    assert "cycle among the messages of a conversation, cut: 1" in report.notices
    assert "parent that is not in the file: its branch begins below it: 1" in report.notices


def test_a_conversation_without_messages_is_a_record_too(lab, write):
    empty = conversation(current="x")
    report = ingest(
        lab,
        write("c.json", export(conversation(node("u", None), current="u"), empty)),
    )
    assert report.frame.select("confidence", "read", "kept").rows() == [(1.0, 2, 1)]
    assert report.dropped.select("reason", "lines").rows() == [
        ("conversation without messages", [2])
    ]


def test_a_document_of_another_kind_is_refused_with_its_name(lab, write):
    with pytest.raises(SourceError, match=r"^src/x\.json:1: not a ChatGPT export"):
        ingest(lab, write("x.json", '{"mapping": {}}'), format="chatgpt")


def test_a_later_export_of_the_same_conversation_brings_only_what_is_new(lab, write):
    first = conversation(node("u", None), current="u")
    ingest(lab, write("a.json", export(first)))
    longer = conversation(node("u", None), node("a", "u", "assistant"), current="a")
    report = ingest(lab, write("b.json", export(longer)))
    assert turns(lab)["turn_id"].to_list() == ["u", "a"]
    assert report.frame.select("read", "kept", "dropped").rows() == [(2, 1, 1)]


def test_a_list_too_large_to_be_held_is_known_by_its_beginning(write, monkeypatch):
    # The package's own name ``ingest`` is a function.
    monkeypatch.setattr(sys.modules["recalltune.ingest.reader"], "MAX_DOCUMENT_BYTES", 64)
    path = write("c.json", export(conversation(node("u", None), current="u")))
    found = detect(Source(path, "c.json", "src/c.json"))
    assert (found and found.format, found and found.confidence) == ("chatgpt", 1.0)


def test_a_damaged_conversation_keeps_no_other_out(lab, write):
    good = json.dumps(conversation(node("u", None), current="u"))
    report = ingest(lab, write("c.json", f'[{{"mapping": nope}}, 7, {good}]'), format="chatgpt")
    assert turns(lab)["turn_id"].to_list() == ["u"]
    assert reasons(report) == {"damaged element": 1, "not a JSON object": 1}


@pytest.mark.shared
def test_the_real_export_is_where_counting_by_hand_puts_it(lab, shared):
    path = shared / "data/transcripts/chatgpt_export/chatgpt2graph_conversations.json"
    report = ingest(lab, path)
    # One conversation of 45 nodes without a fork: 12 answers, 8 prompts, 11 pieces of code with
    # their 11 outputs, two hidden system messages, and the root.
    assert report.frame.select("read", "kept", "confidence").rows() == [(45, 20, 1.0)]
    assert reasons(report) == {
        "no text, only tool_use": 11,
        "not a message: tool": 11,
        "not a message: system": 2,
        "node without a message": 1,
    }
    found = turns(lab)
    assert Counter(found["role"]) == {"assistant": 12, "user": 8}
    assert found["said_at"].is_sorted()
    assert found["said_at"][0] == 1_695_326_273_969_279
    assert found["text"][0].startswith("given two random independent variables x,y")


NAMES = st.sampled_from("abcdef")
NODE = st.fixed_dictionaries(
    {
        "message": st.one_of(
            st.none(),
            st.fixed_dictionaries(
                {
                    "id": NAMES,
                    "author": st.fixed_dictionaries(
                        {"role": st.sampled_from(["user", "assistant", "tool"])}
                    ),
                    "create_time": st.one_of(st.none(), st.integers(AT, AT + 9)),
                    "content": st.fixed_dictionaries(
                        {
                            "content_type": st.sampled_from(["text", "code"]),
                            "parts": st.lists(st.text(max_size=3), max_size=2),
                        }
                    ),
                }
            ),
        ),
        "parent": st.one_of(st.none(), NAMES),
    }
)


@given(
    trees=st.lists(
        st.tuples(st.dictionaries(NAMES, NODE, min_size=1), st.one_of(st.none(), NAMES)),
        min_size=1, max_size=3,
    )
)  # fmt: skip
def test_every_node_of_any_tree_is_kept_or_dropped_once(tmp_path_factory, trees):
    path = tmp_path_factory.mktemp("c") / "c.json"
    path.write_text(export(*({"mapping": tree, "current_node": end} for tree, end in trees)))
    parsed = Parsed("chatgpt", "src/c.json")
    FORMATS["chatgpt"].read(Source(path, "c.json", "src/c.json"), parsed)
    assert parsed.records == sum(len(tree) for tree, _ in trees)
    assert parsed.kept == len(parsed.turns)


@given(parents=st.dictionaries(NAMES, st.one_of(st.none(), NAMES), min_size=1))
def test_a_branch_holds_each_message_once_and_the_longest_one_is_found(parents):
    branches = {leaf: branch_to(leaf, parents, Counter()) for leaf in parents}
    for leaf, branch in branches.items():
        assert branch[-1] == leaf
        assert len(set(branch)) == len(branch)
        assert all(parents[after] == before for before, after in pairwise(branch))
    if all(parent is None or parent < name for name, parent in parents.items()):
        deepest = deepest_leaf(parents, {})
        assert deepest is not None
        assert len(branches[deepest]) == max(map(len, branches.values()))


def test_a_missing_parent_is_the_message_before_in_a_file_that_has_them_in_order():
    notes = Counter[str]()
    assert linked([("a", None), ("b", "lost"), ("c", "a"), ("b", "c")], notes) == {
        "a": None, "b": "a", "c": "a",
    }  # fmt: skip
    assert notes == {"parent that is not in the file, the record before taken": 1}
