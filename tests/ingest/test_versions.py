"""Claims about one memory, settled: the rule of the gate, of the newest record and of the id."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recalltune.ingest.claim import Claim
from recalltune.ingest.gate import strictest
from recalltune.ingest.versions import Settled, settle
from recalltune.store import Memory, MemorySpan

SAID_OF_MEMORY = {"status", "superseded_at", "superseded_by", "retracted_at", "layer", "tier"}


def day(number: int | None) -> datetime | None:
    return None if number is None else datetime(2026, 1, number, tzinfo=UTC)


def claim(
    text: str = "tea", *, at: int | None = 1, stated: int | None = 10, file: str = "f", **said: Any
) -> Claim:
    memory = {name: said.pop(name) for name in SAID_OF_MEMORY & set(said)}
    edits, withheld = said.pop("edits", True), said.pop("withheld", False)
    span = MemorySpan(memory_id="a", text_hash=text, known_at=day(at), file=file, **said)
    return Claim(
        Memory(memory_id="a", text_hash=text, **memory), span, 1, day(stated), edits, withheld
    )


def both_ways(*claims: Claim) -> Settled:
    settled, turned = settle(claims), settle(claims[::-1])
    assert (settled.memory, settled.spans) == (turned.memory, turned.spans)
    assert settled.findings == turned.findings
    return settled


OPEN: dict[str, Any] = {}
NEVER: dict[str, Any] = {"gated": True}


def told(number: int) -> dict[str, Any]:
    return {"gated": True, "told_at": day(number)}


@pytest.mark.parametrize(
    ("first", "second", "rests_on"),
    [
        pytest.param(OPEN, NEVER, NEVER, id="told, then marked untold"),
        pytest.param(told(5), NEVER, NEVER, id="told at a time, then marked untold"),
        pytest.param(NEVER, OPEN, NEVER, id="untold, then without a word about it"),
        pytest.param(NEVER, told(15), told(15), id="untold, then told"),
        pytest.param(NEVER, told(5), told(10), id="untold on day 10, then said to be told before"),
        pytest.param(told(5), told(8), told(8), id="told, then told later"),
        pytest.param(told(8), told(5), told(8), id="told, then told earlier"),
        pytest.param(OPEN, told(5), told(5), id="not gated, then told at a time"),
        pytest.param(told(5), OPEN, told(5), id="told at a time, then not gated"),
    ],
)
def test_of_two_records_about_telling_the_stricter_one_holds(first, second, rests_on):
    settled = both_ways(claim(stated=10, file="z", **first), claim(stated=20, file="a", **second))
    (span,) = settled.spans
    assert (span.gated, span.told_at) == (True, rests_on.get("told_at"))
    assert settled.findings == {"told differently by two records: the stricter one holds"}


@pytest.mark.parametrize("stated", [(10, 10), (20, 10), (None, 20), (10, None), (None, None)])
def test_without_a_later_time_of_its_own_no_record_lifts_an_untold_one(stated):
    silent, lifting = stated
    settled = both_ways(claim(stated=silent, **NEVER), claim(stated=lifting, **told(15)))
    assert settled.spans[0].told_at is None


def test_told_untold_and_told_again_is_told_from_the_last_time_on():
    settled = both_ways(
        claim(stated=5, **told(4)), claim(stated=10, **NEVER), claim(stated=20, **told(15))
    )
    assert settled.spans[0].told_at == day(15)


def test_a_record_that_was_left_out_silences_and_delays_but_lifts_nothing():
    left_out = {"stated": 20, "withheld": True}
    assert both_ways(claim(), claim(**NEVER, **left_out)).spans[0].gated
    assert both_ways(claim(), claim(**told(9), **left_out)).spans[0].told_at == day(9)
    assert both_ways(claim(**NEVER), claim(**told(15), **left_out)).spans[0].told_at is None
    assert both_ways(claim(**NEVER, **left_out)) == Settled(None, [], [], frozenset())


def test_a_version_listens_to_its_time_and_to_a_silence_about_its_text():
    first, second = both_ways(claim(), claim(at=9, **NEVER)).spans
    assert first.told_at is second.told_at is None
    assert first.gated
    assert both_ways(claim(), claim("coffee", file="z", **NEVER)).spans[0].gated
    first, second = both_ways(claim(**told(2)), claim(at=9, **told(10))).spans
    assert (first.told_at, second.told_at) == (day(2), day(10))
    first, second = both_ways(claim(), claim("coffee", at=9, **NEVER)).spans
    assert (first.gated, second.gated) == (False, True)


def test_of_two_audiences_the_narrower_one_holds_and_under_two_nobody_is_told():
    everyone, one, two = claim(), claim(audience="one"), claim(audience="two")
    assert strictest([everyone, one]).audience == "one"
    assert strictest([one, everyone]).audience == "one"
    (span,) = both_ways(everyone, one, two).spans
    assert (span.gated, span.told_at) == (True, None)


SUPERSEDED = {"status": "superseded", "superseded_by": "b"}


@pytest.mark.parametrize(
    ("one", "other", "finding"),
    [
        pytest.param(
            {"stated": 20, "layer": "user"},
            {"stated": 10, "status": "retracted", "layer": "user"},
            "status changed by a later record",
            id="stated last",
        ),
        pytest.param(
            SUPERSEDED | {"superseded_at": day(8)},
            {"status": "retracted", "retracted_at": day(7)},
            "status changed by a later record",
            id="changed last",
        ),
        pytest.param(
            SUPERSEDED | {"stated": None, "superseded_at": day(12)},
            {"stated": 10},
            "status changed by a later record",
            id="changed after the other was stated",
        ),
        pytest.param(
            SUPERSEDED | {"file": "a"},
            {"file": "b"},
            "status said differently by records of one time",
            id="more final",
        ),
        pytest.param(
            {"file": "b", "tier": "core"},
            {"file": "a", "tier": "working"},
            "attributes said differently by records of one time",
            id="last by file name",
        ),
        pytest.param(
            {"stated": 20, "tier": "core"},
            {"stated": None, "tier": "working"},
            "attributes changed by a later record",
            id="stated at all",
        ),
    ],
)
def test_the_newest_record_speaks_for_the_memory_and_the_change_is_told(one, other, finding):
    newest = claim(**one)
    settled = both_ways(newest, claim(**other))
    assert settled.memory == newest.memory
    assert settled.findings == {finding}


def test_what_an_untold_record_says_beside_is_not_heard():
    settled = both_ways(
        claim(stated=10, layer="user", **NEVER), claim(stated=20, layer="log", **told(15))
    )
    assert settled.memory.layer == "log"
    assert settled.findings == {"told differently by two records: the stricter one holds"}


def test_the_record_stated_first_keeps_the_id_then_the_first_by_file_name():
    later, first = claim("tea", stated=20, file="a"), claim("coffee", stated=10, file="b")
    assert both_ways(later, first).refused == [later]
    same, named_first = claim("tea", file="b"), claim("coffee", file="a")
    assert both_ways(same, named_first).refused == [same]
    never_edited = claim("milk", at=3, stated=30, edits=False)
    assert [span.text_hash for span in both_ways(later, never_edited).spans] == ["tea", "milk"]


CLAIMS = st.lists(
    st.builds(
        lambda text, gate, **said: claim(text, **gate, **said),
        st.sampled_from("xy"),
        st.sampled_from([OPEN, NEVER, told(5), told(15)]),
        at=st.sampled_from([None, 1, 2]),
        stated=st.sampled_from([None, 6, 10]),
        scope=st.sampled_from("st"),
        status=st.sampled_from(["current", "superseded", "retracted"]),
        layer=st.sampled_from(["log", "user"]),
        edits=st.booleans(),
        withheld=st.booleans(),
        file=st.sampled_from("fghij"),
    ),
    min_size=1,
    max_size=5,
    unique_by=lambda one: (one.span.file, one.line),
)


@settings(max_examples=50)
@given(CLAIMS, st.randoms(use_true_random=False))
def test_what_claims_come_to_does_not_depend_on_their_order(claims, chance):
    before = settle(claims)
    turned = list(claims)
    chance.shuffle(turned)
    after = settle(turned)
    assert (after.memory, after.spans) == (before.memory, before.spans)
    assert after.findings == before.findings
    assert {one.span.file for one in after.refused} == {one.span.file for one in before.refused}
    opened = [span for span in after.spans if not span.gated or span.told_at is not None]
    assert opened == [] or not all(one.silent for one in claims)
