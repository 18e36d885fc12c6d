"""Conversations in plain text: who speaks, and files that only look like one."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalltune import store
from recalltune.errors import SourceError
from recalltune.ingest import Source, ingest
from recalltune.ingest.format import Sample
from recalltune.ingest.formats import FORMATS
from recalltune.ingest.parsed import Parsed
from steps import grows_with_its_input

TALK = "User: which pump?\nAssistant: the old one\n\n- really\nUser:\nthanks\n"


def turns(lab: store.Lab) -> pl.DataFrame:
    with lab.reading() as con:
        return store.read_turns(con).sort("line")


def said(lab: store.Lab) -> list[tuple[str, str]]:
    return turns(lab).select("role", "text").rows()


def reasons(report) -> dict[str, int]:
    return dict(report.dropped.select("reason", "count").iter_rows())


def share(write, text: str, name: str = "a.txt") -> float:
    path = write(name, text)
    return FORMATS["plain_text"].fits(Sample(Source(path, name, f"src/{name}")))


def test_turns_begin_at_their_speakers_and_have_no_times(lab, write):
    report = ingest(lab, write("talk.txt", TALK))
    assert turns(lab).select("turn_id", "role", "text", "line", "said_at").rows() == [
        ("plain_text:src/talk.txt#1", "user", "which pump?", 1, None),
        ("plain_text:src/talk.txt#2", "assistant", "the old one\n\n- really", 2, None),
        ("plain_text:src/talk.txt#5", "user", "thanks", 5, None),
    ]
    assert turns(lab).select("session_id", "scope").unique().rows() == [("talk", "plain_text:talk")]
    assert report.frame.select("format", "confidence", "kept").rows() == [("plain_text", 1.0, 3)]
    assert "turn without a usable time: 3" in report.notices


def test_chinese_speakers_and_full_width_colons_are_known(lab, write):
    ingest(lab, write("a.txt", "用户：用哪个水泵？\r\n助手：旧的那个。\r\n我:好的，谢谢你\r\n"))
    assert said(lab) == [
        ("user", "用哪个水泵？"), ("assistant", "旧的那个。"), ("user", "好的，谢谢你"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("speaker", "role"),
    [("Human: ", "user"), ("HUMAN:", "user"), ("AI: ", "assistant"), ("bot:\t", "assistant")],
)
def test_speakers_are_known_in_any_case_and_with_or_without_a_blank(lab, write, speaker, role):
    ingest(lab, write("a.txt", f"User: a\nAssistant: b\n{speaker}c\n"))
    assert said(lab)[-1] == (role, "c")


def test_the_system_strays_and_silence_are_left_out_by_reason(lab, write):
    text = f"A talk\nSystem: be kind\n{TALK}Assistant:  \n"
    report = ingest(lab, write("a.txt", text))
    assert len(said(lab)) == 3
    assert reasons(report) == {
        "words before the first speaker": 1,
        "not a message: system": 1,
        "empty text": 1,
    }


@pytest.mark.parametrize(
    "quoted",
    ["```\nUser: x\n```", "  User: x", "> User: x", "the User: x", "User's: x", "User : x"],
)
def test_a_speaker_that_is_quoted_opens_no_turn(lab, write, quoted):
    ingest(lab, write("a.txt", f"User: see\n{quoted}\nAssistant: yes\n"))
    assert said(lab) == [("user", f"see\n{quoted}"), ("assistant", "yes")]


def test_a_fence_left_open_hides_no_speaker(lab, write):
    ingest(lab, write("a.txt", "User: ```\nmy code\nAssistant: fixed\n"))
    assert [role for role, _ in said(lab)] == ["user", "assistant"]
    ingest(lab, write("a.txt", "User: see\n```py\nmy code\nAssistant: fixed\n"))
    assert [role for role, _ in said(lab)] == ["user", "assistant"]


@pytest.mark.parametrize(
    "text",
    [
        "Note: x\nNote: y\n",
        "User: one\nUser: two\n",
        "User: root\nSystem: linux\n",
        "AI: a\nAssistant: b\n",
        "Host: h\nPort: 22\nUser: root\nAI: on\nShell: bash\n",
        "2026-01-01 User: hi\n2026-01-01 Assistant: hi\n",
        "```\nUser: x\nAssistant: y\n```\n",
        "  User: x\n  Assistant: y\n",
        "user://a\nassistant：//b\n",
        "some words\nmore words\nand more\nUser: x\nAssistant: y\n",
        "",
    ],
)
def test_a_text_that_merely_has_labels_is_no_conversation(write, text):
    assert share(write, text) < 0.5


def test_labels_inside_a_long_conversation_do_not_hide_it(write):
    assert share(write, TALK + "Note: mind the valve\n") == pytest.approx(3 / 4)


@pytest.mark.parametrize("name", ["a.md", "a.markdown"])
def test_a_markdown_file_is_never_one(write, name):
    assert share(write, TALK, name) == 0.0


def test_a_walked_folder_gives_only_texts_that_are_conversations(lab, write, src):
    write("talk.txt", TALK)
    write("licence.txt", "Permission is hereby granted\nNote: x\n")
    report = ingest(lab, src)
    assert report.frame["file"].to_list() == ["src/talk.txt"]
    assert any(told.startswith("1 file of another kind") for told in report.notices)


def test_a_text_named_as_one_in_which_nobody_speaks_is_an_error(lab, write):
    with pytest.raises(SourceError, match=r"a\.txt:1: 1 records and none to keep"):
        ingest(lab, write("a.txt", "just words\n"), format="plain_text")


LINE = st.one_of(
    st.sampled_from(["User: a", "Assistant:", "System: x", "```", "~~~", "Note: x", "", "words"]),
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=5),
)


@given(lines=st.lists(LINE, max_size=12))
def test_every_word_is_said_once_or_left_out(tmp_path_factory, lines):
    path = tmp_path_factory.mktemp("t") / "a.txt"
    path.write_bytes("\n".join(lines).encode())
    parsed = Parsed("plain_text", "src/a.txt")
    FORMATS["plain_text"].read(Source(path, "a.txt", "src/a.txt"), parsed)
    speakers = sum(line in ("User: a", "Assistant:", "System: x") for line in lines)
    assert parsed.records == parsed.kept + parsed.dropped <= speakers + 1
    assert parsed.kept == len(parsed.turns)


@pytest.mark.parametrize("piece", ["```\n", "用", "：", "User: a\n", "x: y\n"])
def test_the_work_grows_with_the_text_alone(tmp_path, piece):
    def work(count: int) -> None:
        path = tmp_path / f"{count}.txt"
        path.write_text(f"User: a\nAssistant: b\n{piece * count}", encoding="utf-8")
        FORMATS["plain_text"].read(
            Source(path, "a.txt", "src/a.txt"), Parsed("plain_text", "src/a.txt")
        )

    assert grows_with_its_input(work, 500, 4_000)
