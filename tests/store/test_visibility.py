"""What may be shown as of an instant: the truth table, message by message, reasons only."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recalltune.errors import ContractError
from recalltune.store import (
    TOLD,
    Event,
    Lab,
    Memory,
    MemorySpan,
    Sharing,
    Turn,
    count_visibility,
    insert_rows,
    latest_event_at,
    open,
    put_gist,
    put_texts,
    read_exchanges,
    read_gate,
    read_spans,
    settle_sharing,
    text_hash,
)

NOW = datetime(2026, 3, 1, tzinfo=UTC)
USER, REPLY = "Is the kite still up?", "It is, I flew it alone."


def hours(number):
    return None if number is None else NOW + timedelta(hours=number)


def micros(number):
    return round((NOW + timedelta(hours=number)).timestamp() * 1_000_000)


def turn(name, seq, at, *, role, text, source="probe", **more):
    return Turn(turn_id=name, session_id="s", seq=seq, role=role, text_hash=text_hash(text),
                said_at=hours(at), source=source, **more)  # fmt: skip


def both(**more):
    return [
        turn("u", 0, 0, role="user", text=USER),
        turn("r", 1, 1, role="companion", text=REPLY, **more),
    ]


def memory(name, text, *, turn_id=None, source="notes", origin=None, **span):
    return [
        Memory(memory_id=name, text_hash=text_hash(text), turn_id=turn_id, source=source,
               origin=origin),
        MemorySpan(memory_id=name, text_hash=text_hash(text), known_at=NOW, **span),
    ]  # fmt: skip


def shared(told, *, acknowledged=2.0, judged=3.0):
    return [
        Event(event_id="e", text_hash=text_hash(REPLY), happened_at=hours(-1),
              told_at=hours(told), origin="self_life"),
        Sharing(sharing_id="try", turn_id="r", candidates=("e",), state="judged",
                acknowledged_at=hours(acknowledged), judged_at=hours(judged)),
    ]  # fmt: skip


@pytest.fixture
def write(con):
    def written(*rows):
        put_texts(con, [USER, REPLY, "something else"])
        insert_rows(con, rows)
        return con

    return written


def reasons(con, at, wanted="u", **more):
    return read_exchanges(con, [wanted], at=micros(at), **more)["reason"].to_list()


@pytest.mark.parametrize(
    ("at", "reason"),
    [
        (1.5, "not acknowledged"),
        (2, "not acknowledged"),  # what happens at t has not happened
        (2.1, "not judged"),
        (3, "not judged"),
        (3.1, "an event is not told"),
        (5, "an event is not told"),
        (5.1, TOLD),
    ],
)
def test_the_reason_is_the_one_that_held_then(write, at, reason):
    con = write(*both(), *shared(5))
    assert reasons(con, at) == [TOLD, reason]
    row = read_exchanges(con, ["u"], at=micros(at)).row(1, named=True)
    hidden = {row[name] for name in ("turn_id", "role", "text", "text_hash", "said_at", "scope")}
    assert (hidden == {None}) == (reason != TOLD)


def test_each_text_of_a_memory_shuts_the_message_it_was_made_from(write):
    replies = [
        turn("first", 1, 1, role="companion", text=REPLY),
        turn("second", 2, 2, role="companion", text="something else"),
    ]
    latest, _ = memory("m", "something else", turn_id="second")
    own = {"layer": "log", "pinned": False, "source": "notes", "tags": ()}
    states = [
        MemorySpan(memory_id="m", version=1, text_hash=text_hash(REPLY), known_at=hours(1),
                   gated=True, turn_id="first", **own),
        MemorySpan(memory_id="m", version=2, text_hash=text_hash("something else"),
                   known_at=hours(2), gated=True, told_at=hours(3), turn_id="second", **own),
    ]  # fmt: skip
    con = write(both()[0], *replies, latest, *states)
    assert reasons(con, 9) == [TOLD, "a memory of it is not told", TOLD]
    # Nor does the clock of the data show that it was said.
    con.execute("delete from turn where turn_id <> 'first'")
    con.execute("update memory_span set known_at = null, told_at = '2020-01-01' where version = 2")
    assert latest_event_at(con) < micros(1)


def test_what_was_not_said_by_then_is_not_there_at_all(write):
    con = write(*both(), *shared(5))
    assert [reasons(con, at) for at in (0, 0.5, 1)] == [[], [TOLD], [TOLD]]
    assert read_exchanges(con, ["r"], at=micros(1)).height == 0
    assert read_exchanges(con, ["nobody"], at=micros(9)).height == 0


def test_a_source_without_a_gate_tells_by_saying(write):
    con = write(*both())
    assert reasons(con, 2) == [TOLD, TOLD]
    settle_sharing(con, "probe")
    assert reasons(con, 2) == [TOLD, "no attempt to share"]


def test_a_message_with_a_time_of_telling_waits_for_it(write):
    con = write(*both(told_at=hours(4)))
    assert [reasons(con, at)[1] for at in (4, 4.1)] == ["not told", TOLD]


@pytest.mark.parametrize(
    ("span", "said"),
    [
        ({"gated": True}, "a memory of it is not told"),
        ({"gated": True, "told_at": hours(5)}, "a memory of it is not told"),
        ({"gated": True, "told_at": hours(2)}, TOLD),
        ({"audience": "mira"}, "a memory of it is not told"),
        ({"leaves_at": hours(2)}, "its memory has ended"),
        ({"leaves_at": hours(4)}, TOLD),
        ({}, TOLD),
    ],
)
@pytest.mark.parametrize("text", [REPLY, "something else"])
def test_a_withheld_memory_shuts_the_message_it_was_made_from(write, span, said, text):
    con = write(*both(), *memory("m", text, turn_id="r", **span))
    assert reasons(con, 4) == [TOLD, said]
    assert reasons(con, 4, audience="mira")[1] == (TOLD if "audience" in span else said)


def test_an_edited_memory_leaves_its_message_open(write):
    first, old = memory("m", REPLY, turn_id="r", leaves_at=hours(2))
    new = old.with_(version=2, text_hash=text_hash("something else"), known_at=hours(2),
                    leaves_at=None)  # fmt: skip
    assert reasons(write(*both(), first, old, new), 4) == [TOLD, TOLD]


def counts(con, at, **more):
    rows = count_visibility(con, at=micros(at), **more).rows()
    return {(what, origin, reason): n for what, origin, reason, _, n in rows}


def test_the_truth_table_by_origin_telling_and_time(write):
    rows = []
    for origin in ("owner", "self_life", None):
        for name, span in {
            "open": {},
            "soon": {"gated": True, "told_at": hours(5)},
            "never": {"gated": True},
            "hers": {"audience": "mira"},
        }.items():
            rows += memory(f"{origin}-{name}", f"{origin} {name}", origin=origin, **span)
    con = write(*rows)
    for at, told in ((5, 1), (5.1, 2)):
        found = counts(con, at)
        for origin in ("owner", "self_life", "not stated"):
            assert found["memory", origin, TOLD] == told
            assert found["memory", origin, "not told"] == 3 - told
            assert found["memory", origin, "for another audience"] == 1
    assert counts(con, 5.1, audience="mira")["memory", "owner", TOLD] == 3
    assert counts(con, 0) == {}


def test_counts_name_messages_and_events_by_reason_and_nothing_else(write):
    con = write(*both(), *shared(5), *memory("m", REPLY, turn_id="r", source="probe"))
    settle_sharing(con, "probe")
    frame = count_visibility(con, at=micros(4))
    assert frame.columns == ["what", "origin", "reason", "shown", "n"]
    assert frame.rows() == [
        ("event", "self_life", "not told", False, 1),
        ("memory", "agent", "not told", False, 1),
        ("message", "agent", "an event is not told", False, 1),
        ("message", "owner", TOLD, True, 1),
    ]
    assert count_visibility(con, at=micros(5.1))["shown"].all()


INSTANTS = st.one_of(st.none(), st.integers(0, 6))


@pytest.mark.slow
@settings(max_examples=15)
@given(st.tuples(INSTANTS, INSTANTS, INSTANTS, INSTANTS, INSTANTS))
def test_the_gate_as_of_an_instant_is_the_gate_of_a_lab_that_ends_there(tmp_path_factory, drawn):
    asked, replied, acknowledged, judged, told = drawn
    rows = [
        turn("u", 0, asked, role="user", text=USER),
        turn("r", 1, replied, role="companion", text=REPLY),
        *shared(told, acknowledged=acknowledged, judged=judged),
    ]
    lab = open(tmp_path_factory.mktemp("gate") / "lab.duckdb")
    with lab.writing() as con:
        put_texts(con, [USER, REPLY])
        insert_rows(con, rows)
        whole = read_gate(con)
        for at in (0, 1, 2, 3, 4, 5, 6, 7):
            then = read_gate(con, at=micros(at))
            opened = set(then.filter(pl.col("reason") == TOLD)["turn_id"])
            assert opened == set(whole.filter(pl.col("opens_at") < micros(at))["turn_id"])
            assert (then["opens_at"].drop_nulls() < micros(at)).all()


def test_a_gist_speaks_from_its_making_on_and_not_before(tmp_path):
    lab: Lab = open(tmp_path / "lab.duckdb")
    rows = memory("m", REPLY, origin="owner")
    with lab.writing() as con:
        put_texts(con, [REPLY])
        insert_rows(con, rows)
        put_gist(con, "m", "she flew it", at=hours(3))
        with pytest.raises(ContractError, match="'x' is not there"):
            put_gist(con, "x", "she flew it", at=hours(3))
    with lab.reading() as con:
        spans = read_spans(con).sort("version")
    assert spans["gist"].to_list() == [None, "she flew it"]
    assert spans["text"].to_list() == [REPLY, REPLY]
    assert spans["origin"].to_list() == ["owner", "owner"]
    assert spans["enters_at"].to_list() == [micros(0), micros(3)]
    assert spans["leaves_at"].to_list() == [micros(3), None]
