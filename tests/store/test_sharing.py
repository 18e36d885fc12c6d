"""The sharing gate: every way to stay shut, the instant it opens, and what a rereading shows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from recalltune import store
from recalltune.store import (
    Event,
    Memory,
    MemorySpan,
    Sharing,
    Turn,
    insert_rows,
    put_texts,
    read_exchange,
    read_gate,
    read_spans,
    settle_sharing,
    text_hash,
)

NOW = datetime(2026, 3, 1, tzinfo=UTC)
SAID = {"u": ("user", "Is the kite still up?"), "r": ("companion", "It is, I flew it alone.")}


def hours(number):
    return NOW + timedelta(hours=number)


def micros(number):
    return int(hours(number).timestamp() * 1_000_000)


def turn(name, seq, at, *, session="s"):
    role, text = SAID[name[0]]
    return Turn(turn_id=name, session_id=session, seq=seq, role=role, text_hash=text_hash(text),
                said_at=None if at is None else hours(at), source="probe")  # fmt: skip


def event(name, told):
    return Event(event_id=name, text_hash=text_hash("flew a kite"), happened_at=hours(-1),
                 told_at=None if told is None else hours(told))  # fmt: skip


def sharing(*candidates, acknowledged=3.0, judged=4.0, state="judged", name="try", of="r"):
    return Sharing(
        sharing_id=name, turn_id=of, candidates=candidates, state=state,
        acknowledged_at=None if acknowledged is None else hours(acknowledged),
        judged_at=None if judged is None else hours(judged),
    )  # fmt: skip


def memory(name, turn_id, text):
    return [
        Memory(memory_id=name, text_hash=text_hash(text), turn_id=turn_id, source="probe"),
        MemorySpan(memory_id=name, text_hash=text_hash(text), event_at=NOW, known_at=NOW),
    ]


BOTH = [turn("u", 0, 0), turn("r", 1, 1)]


@pytest.fixture
def told(con):
    """Write rows; the reason and the hour from which the reply may be shown."""

    def write(*rows):
        put_texts(con, [text for _, text in SAID.values()])
        insert_rows(con, rows)
        row = read_gate(con).filter(pl.col("turn_id") == "r").row(0, named=True)
        opens = row["opens_at"]
        return row["reason"], None if opens is None else (opens - micros(0)) / 3.6e9

    return write


def test_a_reply_opens_when_the_last_of_its_proofs_is_there(told):
    assert told(*BOTH, event("e1", 2), event("e2", 9), sharing("e1", "e2")) == ("told", 9)


def test_an_attempt_without_events_opens_when_it_was_judged(told):
    assert told(*BOTH, sharing()) == ("told", 4)


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([*BOTH], "no attempt to share"),
        ([*BOTH, event("e", 2), sharing("e", acknowledged=None)], "not acknowledged"),
        ([*BOTH, event("e", 2), sharing("e", judged=None)], "not judged"),
        ([*BOTH, event("e", 2), sharing("e", state="pending")], "not judged"),
        ([*BOTH, event("e", None), sharing("e")], "an event is not told"),
        ([*BOTH, event("e", 2), event("f", None), sharing("e", "f")], "an event is not told"),
        ([*BOTH, sharing("never heard of")], "an event is not told"),
        ([turn("u", 0, None), turn("r", 1, 1), sharing()], "no message of the user"),
        ([turn("r", 1, 1), sharing()], "no message of the user"),
        ([turn("r", 0, 1), turn("u", 1, 2), sharing()], "no message of the user"),
        ([turn("u", 0, 0, session="other"), turn("r", 1, 1), sharing()], "no message of the user"),
        ([turn("u", 0, 0), turn("r", 1, None), sharing()], "not sent"),
        (
            [*BOTH, sharing(), event("e", None), sharing("e", name="again")],
            "an event is not told",
        ),
    ],
)
def test_whatever_cannot_be_proved_stays_shut(told, rows, reason):
    assert told(*rows) == (reason, None)


def test_the_users_message_opens_when_it_is_said(con, told):
    told(*BOTH)
    row = read_gate(con).filter(pl.col("turn_id") == "u").row(0, named=True)
    assert (row["reason"], row["opens_at"]) == ("told", micros(0))


def test_an_exchange_is_one_message_of_the_user_with_its_replies(con, told):
    told(turn("r0", 0, 0), turn("u1", 1, 1), turn("u2", 2, 2), turn("r", 3, 3), turn("r4", 4, 4))
    gate = read_gate(con)
    assert gate["exchange"].to_list() == [0, 1, 2, 2, 2]


def test_spans_are_gated_by_their_message_and_counted_by_reason(con, told):
    told(*BOTH, event("e", 6), sharing("e"))
    (user, reply) = (text for _, text in SAID.values())
    put_texts(con, ["something else"])
    insert_rows(con, [
        *memory("m1", "u", user), *memory("m2", "r", reply), *memory("m3", "r", "something else"),
        *memory("m4", "gone", user), *memory("m5", None, reply),
    ])  # fmt: skip
    assert settle_sharing(con, "probe") == {
        "told": 2, "another text than the message": 1, "no such message": 1, "no message": 1,
    }  # fmt: skip
    spans = read_spans(con)
    entered = dict(zip(spans["memory_id"], spans["enters_at"], strict=True))
    assert entered == {"m1": micros(0), "m2": micros(6), "m3": None, "m4": None, "m5": None}
    assert spans["gated"].all()


def test_what_a_source_said_about_telling_is_replaced_and_other_sources_stay(con, told):
    told(*BOTH)
    text = SAID["r"][1]
    mine, span = memory("m1", "r", text)
    other, open_span = memory("m2", "r", text)
    insert_rows(con, [
        mine, span.with_(gated=True, told_at=hours(1)), other.with_(source="notes"), open_span,
    ])  # fmt: skip
    assert settle_sharing(con, "probe") == {"no attempt to share": 1}
    spans = read_spans(con)
    entered = dict(zip(spans["memory_id"], spans["enters_at"], strict=True))
    assert entered == {"m1": None, "m2": micros(0)}
    assert settle_sharing(con, "nobody") == {}


def test_an_event_that_is_taken_back_shuts_the_gate_again(con, told):
    told(*BOTH, event("e", 6), sharing("e"))
    insert_rows(con, memory("m", "r", SAID["r"][1]))
    assert settle_sharing(con, "probe") == {"told": 1}
    con.execute("update event set told_at = null")
    assert settle_sharing(con, "probe") == {"an event is not told": 1}
    assert read_spans(con)["enters_at"].to_list() == [None]


def test_a_rereading_shows_each_message_from_the_instant_after_it_opens(con, told):
    told(*BOTH, event("e", 6), sharing("e"))

    def roles(at):
        return read_exchange(con, "u", at=at)["role"].to_list()

    assert roles(micros(0)) == []
    assert roles(micros(0) + 1) == ["user"]
    assert roles(micros(6)) == ["user"]
    assert roles(micros(6) + 1) == ["user", "companion"]
    assert read_exchange(con, "r", at=micros(9))["text"].to_list() == [t for _, t in SAID.values()]
    assert read_exchange(con, "nothing", at=micros(9)).height == 0


def test_the_gist_belongs_to_the_latest_text_only(con):
    put_texts(con, ["old", "new"])
    first = MemorySpan(memory_id="m", text_hash=text_hash("old"), known_at=NOW, leaves_at=hours(1))
    second = first.with_(version=2, text_hash=text_hash("new"), known_at=hours(1), leaves_at=None)
    insert_rows(con, [
        store.Memory(memory_id="m", text_hash=text_hash("new"), gist="of new"), first, second,
    ])  # fmt: skip
    assert read_spans(con)["gist"].to_list() == [None, "of new"]


def test_what_a_shut_version_says_shows_nowhere_and_a_restated_one_keeps_its_telling(con, told):
    told(*BOTH, event("e", 6), sharing("e"))
    put_texts(con, ["edited"])
    mine, first = memory("m", "r", SAID["r"][1])
    said = {"pinned": False, "source": "probe", "turn_id": "r", "tags": ()}
    first = first.with_(**said, layer="log", leaves_at=hours(2))
    spans = [
        first,
        first.with_(version=2, layer="user", known_at=hours(2), leaves_at=hours(8)),
        first.with_(version=3, layer="project", known_at=hours(8), leaves_at=hours(9)),
        first.with_(version=4, layer="secret", known_at=hours(9), text_hash=text_hash("edited"),
                    title="of nothing told", leaves_at=None),
    ]  # fmt: skip
    edited = {"layer": "secret", "title": "of nothing told", "text_hash": text_hash("edited")}
    insert_rows(con, [mine.with_(**edited), *spans])
    for _ in range(2):
        assert settle_sharing(con, "probe") == {"another text than the message": 1, "told": 3}
        rows = read_spans(con).filter(pl.col("enters_at").is_not_null()).sort("version")
        assert rows.select("layer", "enters_at", "leaves_at", "title").rows() == [
            ("log", micros(6), micros(6), None),
            ("user", micros(6), micros(8), None),
            ("project", micros(8), None, None),
        ]
        [latest] = store.read_memories(con).to_dicts()
        assert (latest["layer"], latest["title"], latest["text"]) == ("project", None, SAID["r"][1])
    con.execute("update event set told_at = null")
    settle_sharing(con, "probe")
    assert store.read_memories(con)["layer"].to_list() == ["secret"]
    assert read_spans(con)["enters_at"].null_count() == 4


def test_a_version_that_the_gate_shuts_no_longer_ends_the_one_before(con, told):
    told(*BOTH, event("e", 6), sharing("e"))
    put_texts(con, ["edited"])
    mine, first = memory("m", "r", SAID["r"][1])
    second = first.with_(version=2, text_hash=text_hash("edited"), known_at=hours(8))
    insert_rows(con, [mine, first.with_(leaves_at=hours(8)), second])
    settle_sharing(con, "probe")
    spans = read_spans(con).sort("version")
    assert spans["enters_at"].to_list() == [micros(6), None]
    assert spans["leaves_at"].to_list() == [None, None]


def test_each_text_of_a_memory_waits_for_the_message_it_was_made_from(con, told):
    told(*BOTH, event("e", 6), sharing("e"))
    mine, latest = memory("m", "u", SAID["u"][1])
    latest = latest.with_(
        version=2, known_at=hours(8), layer="log", pinned=False, source="probe", tags=(),
        turn_id="u",
    )  # fmt: skip
    first = latest.with_(
        version=1, known_at=NOW, text_hash=text_hash(SAID["r"][1]), turn_id="r", leaves_at=hours(8)
    )
    insert_rows(con, [mine, first, latest])
    assert settle_sharing(con, "probe") == {"told": 2}
    assert read_spans(con)["enters_at"].to_list() == [micros(6), micros(8)]
