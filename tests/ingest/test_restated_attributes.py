"""What a source says of a memory later holds from then on: layer, salience and their like."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalltune import store
from recalltune.candidates.build import candidates
from recalltune.candidates.settings import Admit, Arms, DenseArm, LexicalArm
from recalltune.candidates.table import Candidates
from recalltune.errors import checked
from recalltune.ingest import ingest
from recalltune.ingest.claim import Claim
from recalltune.ingest.versions import settle
from recalltune.pipeline.config import RankingConfig
from recalltune.store import Memory, MemorySpan, attributes_of
from small_lab import WordEncoder

CHANGED = "attributes changed by a later record"
UNORDERED = "attributes said differently by records of one time"


def day(number: int | None) -> datetime | None:
    return None if number is None else datetime(2026, 1, number, tzinfo=UTC)


def us(number: int) -> int:
    return int(datetime(2026, 1, number, tzinfo=UTC).timestamp()) * 10**6


def claim(
    text: str = "tea", *, at: int | None = 1, stated: int | None = 1, file: str = "f", **said: Any
) -> Claim:
    times = {name: said.pop(name) for name in ("gated", "told_at", "leaves_at") if name in said}
    span = MemorySpan(
        memory_id="a", text_hash=text, event_at=day(at), known_at=day(at), file=file, **times
    )
    memory = Memory(memory_id="a", text_hash=text, **said)
    return Claim(memory, span, 1, day(stated), edits=True)


def layers(*claims: Claim) -> list[tuple[str | None, int | None, int | None]]:
    """Layer, and the days on which its span is known and leaves; in either order of claims."""
    settled, turned = settle(claims), settle(claims[::-1])
    assert (settled.spans, settled.findings) == (turned.spans, turned.findings)
    assert settled.memory is not None
    days = [[at and at.day for at in (span.known_at, span.leaves_at)] for span in settled.spans]
    said = [span.layer or settled.memory.layer for span in settled.spans]
    return [(layer, *at) for layer, at in zip(said, days, strict=True)]


def test_a_later_statement_opens_a_span_of_the_same_text_and_age():
    settled = settle([claim(layer="log", salience=0.2), claim(stated=10, layer="user", file="g")])
    first, second = settled.spans
    assert (first.layer, first.salience, first.leaves_at) == ("log", 0.2, day(10))
    assert (second.layer, second.salience, second.known_at) == ("user", None, day(10))
    assert first.text_hash == second.text_hash
    assert first.event_at == second.event_at == day(1)
    assert settled.memory is not None
    assert settled.memory.layer == "user"
    assert settled.findings == {CHANGED}


def test_the_first_statement_holds_from_the_beginning_and_the_same_again_changes_nothing():
    assert layers(claim(stated=5, layer="user")) == [("user", 1, None)]
    assert layers(
        claim(stated=5, layer="user"),
        claim(stated=8, layer="user", file="g"),
        claim(stated=9, layer="log", file="h"),
        claim(stated=12, layer="user", file="i"),
    ) == [("user", 1, 9), ("log", 9, 12), ("user", 12, None)]


def test_of_an_undated_memory_the_first_state_has_always_been_there():
    assert layers(
        claim(at=None, stated=5, layer="log"), claim(at=None, stated=9, layer="user", file="g")
    ) == [("log", None, 9), ("user", 9, None)]


def test_what_nobody_knows_the_time_of_is_not_applied_backwards_and_is_counted():
    records = [claim(stated=None, layer="log"), claim(stated=None, layer="user", file="g")]
    assert layers(*records) == [("user", 1, None)]
    assert settle(records).findings == {UNORDERED}
    dated = claim(stated=9, layer="project", file="h")
    assert layers(*records, dated) == [("user", 1, 9), ("project", 9, None)]
    assert settle([*records, dated]).findings == {UNORDERED, CHANGED}
    # Stated at one time they cannot be ordered either; nor is a time before the text one of its.
    assert layers(claim(stated=9, layer="log"), claim(stated=9, layer="user", file="g")) == [
        ("user", 1, None)
    ]


def test_a_record_that_tells_of_a_change_was_stated_after_it():
    ended = {"status": "superseded", "superseded_at": day(8)}
    assert layers(
        claim(stated=None, layer="user", file="g", **ended), claim(stated=None, layer="log")
    ) == [("log", 1, 8), ("user", 8, None)]


def test_restating_an_old_text_does_not_bring_it_back():
    old, edit = claim(layer="log"), claim("coffee", at=5, stated=5, layer="log", file="g")
    late = claim(stated=9, layer="user", file="h")
    settled = settle([old, edit, late])
    open_ever = [
        span for span in settled.spans if span.leaves_at is None or span.known_at < span.leaves_at
    ]
    assert [(span.text_hash, span.layer) for span in open_ever] == [
        ("tea", "log"),
        ("coffee", "log"),
    ]
    assert settled.memory is not None
    assert (settled.memory.text_hash, settled.memory.layer) == ("coffee", "log")


def test_an_edit_that_is_told_late_leaves_the_restated_text_until_then():
    edit = claim("coffee", at=5, stated=5, file="g", gated=True, told_at=day(15))
    spans = settle([claim(layer="log"), edit, claim(stated=9, layer="user", file="h")]).spans
    assert [(span.text_hash, span.layer, span.leaves_at) for span in spans] == [
        ("tea", "log", day(9)),
        ("tea", "user", day(15)),
        ("coffee", "log", None),
    ]


def test_what_went_away_is_not_brought_back_by_a_later_statement():
    gone = claim(layer="log", leaves_at=day(5))
    assert layers(gone, claim(stated=9, layer="user", file="g")) == [("log", 1, 5)]
    assert layers(gone, claim(stated=3, layer="user", file="g")) == [
        ("log", 1, 3),
        ("user", 3, 5),
    ]


def test_a_repetition_is_not_stated_afterwards():
    records = [claim(), claim(stated=9, duplicate_of="b", file="g")]
    settled = settle(records)
    assert settled.memory is not None
    assert settled.memory.duplicate_of is None
    assert settled.findings == {"duplicate_of stated otherwise by a later record, not used"}
    assert len(settled.spans) == 1


def test_an_untold_record_restates_nothing():
    silent = claim(stated=9, layer="secret", file="g", gated=True)
    lifted = claim(stated=12, layer="user", file="h", gated=True, told_at=day(11))
    said = settle([claim(layer="log"), silent, lifted])
    assert [(span.layer, span.told_at) for span in said.spans] == [
        ("log", day(11)),
        ("user", day(11)),
    ]
    untold_edit = claim("coffee", at=5, stated=5, layer="secret", file="g", gated=True)
    settled = settle([claim(layer="log"), untold_edit])
    told = [span for span in settled.spans if span.told_at or not span.gated]
    assert [(span.layer, span.leaves_at) for span in told] == [("log", None)]
    assert settled.memory is not None
    assert settled.memory.layer == "log"


VERSIONS = st.lists(st.sampled_from([1, 4, 8]), unique=True, min_size=1)
SAID = st.fixed_dictionaries(
    {"layer": st.sampled_from(["log", "user"]), "salience": st.sampled_from([None, 0.1, 0.9])},
    optional={"pinned": st.just(value=True), "tier": st.just("core"), "tags": st.just(("x",))},
)


@st.composite
def histories(draw: st.DrawFn) -> list[Claim]:
    """Texts stated as they were known, and what was stated of each of them then or later."""
    claims: list[Claim] = []
    for at in draw(VERSIONS):
        times = [at, *draw(st.lists(st.sampled_from([None, *range(at, 13)]), max_size=4))]
        claims += [
            claim(f"t{at % 3}", at=at, stated=stated, file=f"{at}-{n}", **draw(SAID))
            for n, stated in enumerate(times)
        ]
    return draw(st.permutations(claims))


def seen(claims: Sequence[Claim], at: int, *, hour: int = 0) -> list[tuple[Any, ...]]:
    """Text and attributes open at an instant."""
    settled = settle(claims)
    if settled.memory is None:
        return []
    t = datetime(2026, 1, at, hour, tzinfo=UTC)
    return [
        (span.text_hash, *attributes_of(settled.memory if span.layer is None else span).values())
        for span in settled.spans
        if (span.known_at is None or span.known_at < t)
        and (span.leaves_at is None or t <= span.leaves_at)
    ]


@given(histories())
def test_one_state_is_open_at_any_time_from_the_first_on(claims):
    begin = min(one.span.known_at.day for one in claims)  # type: ignore[union-attr]
    for at in range(1, 15):
        for hour in (0, 1):
            assert len(seen(claims, at, hour=hour)) == int((at, hour) > (begin, 0))


@given(histories(), st.integers(1, 13))
def test_nothing_stated_at_or_after_an_instant_changes_what_was_seen_up_to_it(claims, cut):
    kept = [one for one in claims if one.stated_at is None or one.stated_at < day(cut)]  # type: ignore[operator]
    for at in range(1, cut + 1):
        assert seen(kept, at) == seen(claims, at)


@given(histories(), st.randoms(use_true_random=False))
def test_the_order_of_records_changes_no_span(claims, chance):
    turned = list(claims)
    chance.shuffle(turned)
    one, other = settle(claims), settle(turned)
    assert (one.memory, one.spans, one.findings) == (other.memory, other.spans, other.findings)


def record(text: str = "tea", *, memory_id: str = "a", **said: Any) -> dict[str, Any]:
    return {
        "id": memory_id, "text": text, "timestamp": "2026-01-01T00:00:00Z", "sourceMetadata": said,
    }  # fmt: skip


def payload(produced: int, *records: dict[str, Any]) -> dict[str, Any]:
    head = {"version": "connector-v1", "source": "src", "scope": "s"}
    return head | {"producedAt": f"2026-01-{produced:02}T00:00:00Z", "records": list(records)}


class Counting(WordEncoder):
    """An encoder that remembers what it was asked for."""

    def __init__(self) -> None:
        self.passages: list[str] = []

    def encode(self, texts: Sequence[str], kind: Any) -> np.ndarray:
        self.passages += list(texts) if kind == "passage" else []
        return super().encode(texts, kind)


SETUP = checked(
    RankingConfig,
    {
        "admit": Admit(),
        "arms": Arms(lexical=LexicalArm(), dense=DenseArm()),
        "stages": [{"kind": "rrf"}],
    },
)


def table_of(lab: store.Lab, instants: Sequence[int], encoder: Any) -> Candidates:
    cases = [
        store.EvalCaseRow(
            case_set="s", case_id=f"q{n}", query="tea",
            asked_at=datetime.fromtimestamp(at / 1e6, UTC),
        )
        for n, at in enumerate(instants)
    ]  # fmt: skip
    with lab.writing() as con:
        con.execute("delete from eval_case")
        store.insert_rows(con, cases)
    return candidates(lab, "s", SETUP, encoder=encoder)


def told(table: Candidates, feature: str) -> list[list[Any]]:
    codes = table.codes.get(feature)
    return [
        [codes[int(value)] if codes else float(value) for value in row[shown]]
        for row, shown in zip(table.features[feature], table.valid, strict=True)
    ]


@pytest.mark.slow
def test_a_query_sees_the_layer_of_its_time_and_no_text_is_encoded_again(lab, write):
    encoder = Counting()
    ingest(lab, write("b.json", payload(10, record(layer="log", salience=0.5))))
    before = table_of(lab, [us(10)], encoder)
    ingest(lab, write("a.json", payload(20, record(layer="user", salience=0.75))))
    table = table_of(lab, [us(1), us(10), us(20), us(20) + 1, us(25)], encoder)
    assert encoder.passages == ["tea"]
    assert table.valid.sum(axis=1).tolist() == [0, 1, 1, 1, 1]
    assert told(table, "layer") == [[], ["log"], ["log"], ["user"], ["user"]]
    assert told(table, "salience") == [[], [0.5], [0.5], [0.75], [0.75]]
    assert told(table, "age_days")[3] == [pytest.approx(19.0)]
    for feature in ("layer", "salience", "age_days", "dense_score", "lexical_score"):
        assert told(before, feature)[0] == told(table, feature)[1]


@pytest.mark.slow
def test_a_copy_stays_hidden_when_it_is_restated_but_for_a_pin(lab, write):
    first = [record(memory_id="a", layer="log"), record(memory_id="b", layer="log")]
    ingest(lab, write("a.json", payload(2, *first)))
    # The one known first stays the one that speaks, whichever was restated.
    ingest(lab, write("b.json", payload(5, record(memory_id="a", layer="user"))))
    ingest(lab, write("c.json", payload(8, record(memory_id="b", layer="project"))))
    ingest(lab, write("d.json", payload(11, record(memory_id="b", layer="project", pinned=True))))
    table = table_of(lab, [us(3), us(6), us(9), us(12)], Counting())
    found = [
        [table.memory_id(row, column) for column in np.flatnonzero(table.valid[row])]
        for row in range(4)
    ]
    assert found == [["a"], ["a"], ["a"], ["a", "b"]]


@pytest.mark.slow
def test_a_memory_written_with_restated_attributes_keeps_them_when_a_file_names_it(lab, write):
    text = store.text_hash("tea")
    said = {"pinned": False, "source": "manual", "tags": ()}
    first = MemorySpan(memory_id="a", text_hash=text, scope="s", event_at=day(1), known_at=day(1),
                       leaves_at=day(5), layer="log", **said)  # fmt: skip
    later = first.with_(version=2, known_at=day(5), leaves_at=None, layer="user", salience=0.5)
    with lab.writing() as con:
        store.put_texts(con, ["tea"])
        memory = Memory(memory_id="a", text_hash=text, scope="s", layer="user", salience=0.5)
        store.insert_rows(con, [memory, first, later])
        before = store.read_spans(con)
        digest = store.data_digest(con)
    milk = record("milk") | {"timestamp": "2026-01-09T00:00:00Z"}
    ingest(lab, write("c.json", payload(9, milk)))
    with lab.reading() as con:
        spans = store.read_spans(con).sort("version")
        assert spans.select("text", "layer", "salience", "leaves_at").rows() == [
            ("tea", "log", None, us(5)),
            ("tea", "user", 0.5, us(9)),
            ("milk", "log", None, None),
        ]
    ingest(lab, write("c.json", payload(9)))
    with lab.reading() as con:
        assert store.read_spans(con).equals(before)
        assert store.data_digest(con) == digest


@pytest.mark.slow
def test_a_file_that_goes_takes_its_statement_with_it(lab, write, tmp_path: Path):
    def state() -> tuple[str, Any]:
        with lab.reading() as con:
            return store.data_digest(con), store.read_table(con, "memory_span").rows()

    ingest(lab, write("a.json", payload(10, record(layer="log"))))
    before = state()
    ingest(lab, write("b.json", payload(20, record(layer="user"))))
    assert len(state()[1]) == 2
    ingest(lab, write("b.json", payload(21)))
    assert state() == before


def test_the_notice_names_the_change(lab, write: Callable[..., Path]):
    both = payload(10, record(layer="log")), payload(20, record(layer="user"))
    for name, content in zip("ab", both, strict=True):
        report = ingest(lab, write(f"{name}.json", json.loads(json.dumps(content))))
    assert f"{CHANGED}: 1" in report.notices


def statuses(*claims: Claim) -> list[tuple[int | None, int | None, str | None]]:
    """Days on which each span is retracted and leaves, and whether that was taken back."""
    settled, turned = settle(claims), settle(claims[::-1])
    assert (settled.spans, settled.findings) == (turned.spans, turned.findings)
    return [
        (span.retracted_at and span.retracted_at.day, span.leaves_at and span.leaves_at.day,
         span.lifted)
        for span in settled.spans
    ]  # fmt: skip


def test_a_status_that_is_taken_back_held_until_then():
    retracted = claim(stated=5, file="g", status="retracted", retracted_at=day(5))
    assert statuses(claim(), retracted, claim(stated=8, file="h")) == [
        (5, 8, ""),
        (None, None, None),
    ]
    # An edit takes it back as well.
    assert statuses(claim(), retracted, claim("coffee", at=9, stated=9, file="h")) == [
        (5, 9, ""),
        (None, None, None),
    ]
    # What is not taken back needs no span of its own: the memory's status tells all of them.
    assert statuses(claim(), retracted) == [(None, None, None)]


def test_the_first_end_holds_until_current_is_said():
    superseded = claim(stated=5, file="g", status="superseded", superseded_by="z")
    retracted = claim(stated=8, file="h", status="retracted", retracted_at=day(7))
    assert statuses(claim(), superseded, retracted) == [(7, None, "z")]
    other = claim(stated=8, file="h", status="superseded", superseded_by="y")
    assert statuses(claim(), superseded, other) == [(None, None, "z")]
    again = claim(stated=9, file="i", status="current")
    assert statuses(claim(), superseded, again) == [(None, 9, "z"), (None, None, None)]
    assert statuses(
        claim(),
        retracted,
        again,
        claim(stated=12, file="j", status="retracted", retracted_at=day(11)),
    ) == [(7, 9, ""), (None, None, None)]


@pytest.mark.slow
def test_a_query_sees_the_status_of_its_time(lab, write):
    gone = {"status": "retracted", "retractedAt": "2026-01-05T00:00:00Z"}
    ingest(lab, write("a.json", payload(2, record(layer="log"))))
    ingest(lab, write("b.json", payload(5, record(layer="log", **gone))))
    instants = [us(4), us(5) + 1, us(6), us(8)]
    before = told(table_of(lab, instants, WordEncoder()), "retracted")
    ingest(lab, write("c.json", payload(8, record(layer="log", status="current"))))
    after = told(table_of(lab, [*instants, us(8) + 1], WordEncoder()), "retracted")
    assert before == [[0.0], [1.0], [1.0], [1.0]]
    assert after == [*before, [0.0]]
