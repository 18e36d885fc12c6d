"""Slack exports: who spoke in which channel, at the very microsecond."""

from __future__ import annotations

import json
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalltune import store
from recalltune.errors import SourceError
from recalltune.ingest import Source, ingest
from recalltune.ingest.formats import FORMATS
from recalltune.ingest.parsed import Parsed

TS = "1767225600.000200"


def say(ts: str | None = TS, user: str | None = "U1", text: Any = "tea?", **more: Any):
    record = {"type": "message", "ts": ts, "user": user, "text": text} | more
    return {key: value for key, value in record.items() if value is not None}


def turns(lab: store.Lab) -> pl.DataFrame:
    with lab.reading() as con:
        return store.read_turns(con).sort("file", "line")


def reasons(report) -> dict[str, int]:
    return dict(report.dropped.select("reason", "count").iter_rows())


def test_a_day_of_a_channel_becomes_turns_under_channel_and_ts(lab, write, src):
    later = "1767225601.123456"
    write("general/2026-01-01.json", json.dumps([say(), say(later, "U2", "milk")]))
    write("random/2026-01-01.json", json.dumps([say()]))
    report = ingest(lab, src)
    columns = ("turn_id", "role", "text", "session_id", "scope", "said_at", "line")
    first = 1_767_225_600_000_200
    assert turns(lab).select(*columns).rows() == [
        (f"slack:general/{TS}", "U1", "tea?", "general", "slack:general", first, 1),
        (f"slack:general/{later}", "U2", "milk", "general", "slack:general", first + 1_123_256, 2),
        (f"slack:random/{TS}", "U1", "tea?", "random", "slack:random", first, 1),
    ]
    assert report.frame["confidence"].to_list() == [1.0, 1.0]


@given(micros=st.integers(10**9 * 10**6, 4 * 10**9 * 10**6))
def test_every_microsecond_is_exact(tmp_path_factory, micros):
    path = tmp_path_factory.mktemp("s") / "c.json"
    path.write_text(json.dumps([say(f"{micros // 10**6}.{micros % 10**6:06d}")]))
    parsed = Parsed("slack", "src/c.json")
    FORMATS["slack"].read(Source(path, "c.json", "src/c.json"), parsed)
    [turn] = parsed.turns
    assert turn.said_at is not None
    seconds = int(turn.said_at.replace(microsecond=0).timestamp())
    assert seconds * 10**6 + turn.said_at.microsecond == micros


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (say(bot_id="B1"), "a bot's message"),
        (say(user=None, subtype="bot_message", username="ci"), "a bot's message"),
        (say(subtype="channel_join"), "not a message: channel_join"),
        (say(subtype="channel_leave"), "not a message: channel_leave"),
        (say(subtype="tombstone"), "not a message: tombstone"),
        (say(type="reaction"), "not a message: reaction"),
        (say(text=""), "empty text"),
        (say(text=None, files=[{"name": "a"}]), "no text, only file"),
        (say(user=None), "message without a speaker"),
        (7, "not a JSON object"),
    ],
)
def test_what_no_person_wrote_is_left_out_by_reason(lab, write, message, reason):
    day = json.dumps([say("1767225600.000001", text="a message"), message])
    report = ingest(lab, write("general/2026-01-01.json", day))
    assert (turns(lab)["text"].to_list(), reasons(report)) == (["a message"], {reason: 1})


@pytest.mark.parametrize("subtype", ["thread_broadcast", "me_message", "file_share"])
def test_what_a_person_wrote_in_another_way_is_kept(lab, write, subtype):
    ingest(lab, write("g/2026-01-01.json", json.dumps([say(subtype=subtype)])))
    assert turns(lab).height == 1


def test_a_thread_is_a_session_of_its_own(lab, write):
    day = [say(thread_ts=TS), say("1767225600.000300"), say("1767225600.000400", thread_ts=TS)]
    ingest(lab, write("general/2026-01-01.json", json.dumps(day)))
    assert turns(lab)["session_id"].to_list() == [f"general/{TS}", "general", f"general/{TS}"]


def test_names_come_from_the_file_itself_and_nobody_passes_for_a_role(lab, write):
    document = {
        "channel": "C042",
        "users": [
            {"id": "U1", "name": "ana", "real_name": "Ana"},
            {"id": "U2", "name": "Assistant"},
            {"id": "U3"},
            {"id": 4},
        ],
        "messages": [
            say(f"1767225600.00000{number}", f"U{number}", **more)
            for number, more in enumerate(
                [{}, {}, {}, {"user_profile": {"display_name": "Bo"}}, {"user_profile": "x"}],
                start=1,
            )
        ],
    }
    report = ingest(lab, write("dump.json", document))
    assert turns(lab)["role"].to_list() == ["Ana", "U2", "U3", "Bo", "U5"]
    assert turns(lab)["scope"].unique().to_list() == ["slack:C042"]
    assert report.frame.select("format", "confidence").rows() == [("slack", 1.0)]


def test_a_list_that_is_not_named_after_a_day_is_a_channel_of_its_name(lab, write):
    ingest(lab, write("general.json", json.dumps([say()])))
    assert turns(lab)["session_id"].to_list() == ["general"]


def test_the_three_escapes_of_slack_are_undone_once(lab, write):
    text = "a &lt; b &amp;&amp; c &amp;lt; d &quot;"
    ingest(lab, write("g/2026-01-01.json", json.dumps([say(text=text)])))
    assert turns(lab)["text"].to_list() == ["a < b && c &lt; d &quot;"]


def test_files_beside_words_and_later_edits_are_counted(lab, write):
    message = say(files=[{}, {}], attachments=[{}], edited={"user": "U1", "ts": "1"})
    report = ingest(lab, write("g/2026-01-01.json", json.dumps([message])))
    assert dict(report.parts.select("part", "count").iter_rows()) == {
        "text": 1, "file": 2, "attachment": 1,
    }  # fmt: skip
    assert "message edited later, as it then was: 1" in report.notices


def test_a_message_without_a_usable_ts_is_kept_undated_under_its_number(lab, write):
    day = [say(), say(None, text="a"), say("soon", text="b")]
    report = ingest(lab, write("g/2026-01-01.json", json.dumps(day)), format="slack")
    assert turns(lab).select("turn_id", "said_at").rows()[1:] == [
        ("slack:g/2026-01-01.json#2", None),
        ("slack:g/soon", None),
    ]
    assert "turn without a usable time: 2" in report.notices


def test_a_document_of_another_kind_is_refused_with_its_name(lab, write):
    with pytest.raises(SourceError, match=r"^src/x\.json:1: not a Slack export"):
        ingest(lab, write("x.json", '{"messages": 1}'), format="slack")


VALUE = st.one_of(
    st.none(), st.integers(), st.text(max_size=3), st.lists(st.integers(), max_size=1)
)
MESSAGE = st.dictionaries(
    st.sampled_from(
        [
            "type",
            "subtype",
            "user",
            "text",
            "ts",
            "thread_ts",
            "bot_id",
            "files",
            "edited",
            "user_profile",
        ]
    ),
    VALUE,
)


@given(day=st.lists(st.one_of(VALUE, MESSAGE, MESSAGE.map(lambda one: say() | one)), max_size=5))
def test_every_message_is_kept_or_dropped_once(tmp_path_factory, day):
    path = tmp_path_factory.mktemp("s") / "c.json"
    path.write_text(json.dumps(day))
    parsed = Parsed("slack", "src/c.json")
    FORMATS["slack"].read(Source(path, "c.json", "src/c.json"), parsed)
    assert (parsed.records, parsed.kept) == (len(day), len(parsed.turns))
