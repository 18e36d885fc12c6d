"""Several files about one memory: what they come to, whatever the order and whoever goes."""

from __future__ import annotations

import itertools
import json
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recalltune import store
from recalltune.ingest import ingest
from small_lab import Note, make_lab

pytestmark = pytest.mark.slow

DERIVED = ("memory", "memory_span", "turn", "claim")


def iso(number: int | None) -> str | None:
    return None if number is None else f"2026-01-{number:02}T00:00:00Z"


def us(number: int) -> int:
    return int(datetime(2026, 1, number, tzinfo=UTC).timestamp()) * 10**6


def record(text: str = "tea", *, at: int | None = 1, **said: Any) -> dict[str, Any]:
    return {"id": "a", "text": text, "timestamp": iso(at), "sourceMetadata": said}


def payload(*records: dict[str, Any], produced: int | None = 20) -> dict[str, Any]:
    head = {"version": "connector-v1", "source": "src", "scope": "s"}
    return head | {"producedAt": iso(produced) or "soon", "records": list(records)}


def tables(lab: store.Lab) -> dict[str, pl.DataFrame]:
    with lab.reading() as con:
        return {name: store.read_table(con, name) for name in DERIVED}


def spans(lab: store.Lab) -> list[dict[str, Any]]:
    with lab.reading() as con:
        return store.read_spans(con).sort("memory_id", "version").to_dicts()


def memory(lab: store.Lab) -> dict[str, Any]:
    with lab.reading() as con:
        return store.read_memories(con).row(0, named=True)


def each_order(write, fresh_lab, **files: dict[str, Any]):
    """A lab, and what its last import noticed, for every order in which the files may come."""
    for order in itertools.permutations(files):
        lab = fresh_lab()
        for name in order:
            report = ingest(lab, write(f"{name}.json", files[name]))
        yield lab, report


@pytest.fixture
def fresh_lab(tmp_path: Path, empty_lab: Path):
    made = itertools.count()

    def make() -> store.Lab:
        return store.open(shutil.copy(empty_lab, tmp_path / f"lab{next(made)}.duckdb"))

    return make


NEVER = {"toldAt": None}


def told(number: int) -> dict[str, Any]:
    return {"toldAt": iso(number)}


@pytest.mark.parametrize(
    ("first", "second", "enters"),
    [
        pytest.param({}, NEVER, None, id="told, then marked untold"),
        pytest.param(told(5), {"toldAt": "soon"}, None, id="told, then at an unreadable time"),
        pytest.param(NEVER, told(15), 15, id="untold, then told"),
    ],
)
def test_a_later_payload_says_more_about_telling(write, fresh_lab, first, second, enters):
    files = {
        "b": payload(record(**first), produced=10),
        "a": payload(record(**second), produced=20),
    }
    for lab, report in each_order(write, fresh_lab, **files):
        (span,) = spans(lab)
        assert span["enters_at"] == (None if enters is None else us(enters))
        assert "told differently by two records: the stricter one holds: 1" in report.notices


@pytest.mark.parametrize(
    "silent",
    [
        pytest.param(record(at=9, **NEVER), id="the same text under another time"),
        pytest.param(record("[Tea] tea", **NEVER), id="another text at the same time"),
        pytest.param(record(scope="t", **NEVER), id="another scope"),
        pytest.param(record(status="archived", **NEVER), id="a record that is left out"),
        pytest.param(record() | {"toldAt": None}, id="a rule where it is not read"),
        pytest.param(record(" ", **NEVER), id="a record without a text"),
    ],
)
def test_an_untold_record_hides_the_text_it_repeats_or_replaces(write, fresh_lab, silent):
    other = record() | {"id": "other"}
    files = {"a": payload(record(), other), "b": payload(silent, other)}
    for lab, _ in each_order(write, fresh_lab, **files):
        seen = {span["memory_id"] for span in spans(lab) if span["enters_at"] is not None}
        assert seen == {"other"}
    ingest(lab, write("b.json", payload(other)))
    assert {span["enters_at"] for span in spans(lab)} == {us(1)}


def test_a_later_record_changes_status_and_attributes_and_is_counted(write, fresh_lab):
    retracted = record(status="retracted", retractedAt=iso(12), layer="user", confidence=0.2)
    files = {
        "b": payload(record(status="superseded", supersededBy="z", layer="log"), produced=10),
        "a": payload(retracted, produced=20),
    }
    for lab, report in each_order(write, fresh_lab, **files):
        found = memory(lab)
        assert (found["status"], found["superseded_by"]) == ("retracted", None)
        assert (found["layer"], found["confidence"]) == ("user", 0.2)
        assert [
            (span["layer"], span["enters_at"], span["retracted_at"]) for span in spans(lab)
        ] == [
            ("log", us(1), us(12)),
            ("user", us(20), us(12)),
        ]
        assert "status changed by a later record: 1" in report.notices
        assert "attributes changed by a later record: 1" in report.notices


def test_a_file_that_goes_takes_its_word_with_it(lab, write):
    ingest(lab, write("a.json", payload(record(layer="log"), produced=10)))
    before = tables(lab)
    ingest(lab, write("b.json", payload(record(layer="user", **NEVER), produced=20)))
    assert [span["enters_at"] for span in spans(lab)] == [None]
    ingest(lab, write("b.json", payload(produced=21)))
    after = tables(lab)
    assert all(after[name].equals(before[name]) for name in DERIVED)


def test_a_memory_written_without_a_file_is_weighed_like_any_other(tmp_path, write):
    notes = [Note("a", "tea", 0.0, scope="s", gated=True), Note("b", "tea", 0.0, scope="s")]
    lab = make_lab(tmp_path / "l.duckdb", notes, [])
    with lab.writing() as con:
        text = store.text_hash("tea")
        turn = store.Turn(
            turn_id="t", session_id="s", seq=3, role="user", text_hash=text, source="x"
        )
        store.insert_rows(con, [turn])
    other = {"id": "b", "text": "milk", "timestamp": iso(1)}
    report = ingest(lab, write("c.json", payload(record(), other)))
    assert [span["enters_at"] for span in spans(lab)] == [None, us(1)]
    assert [span["text"] for span in spans(lab)] == ["tea", "tea"]
    assert "told differently by two records: the stricter one holds: 1" in report.notices
    before = tables(lab)
    ingest(lab, write("c.json", payload()))
    after = tables(lab)
    assert [span["enters_at"] for span in spans(lab)] == [None, us(1)]
    assert after["claim"]["ref"].to_list() == ["a", "b"]
    assert after["memory"].drop("source").equals(before["memory"].drop("source"))
    said = {"type": "user", "uuid": "t", "message": {"role": "user", "content": "tea"}}
    ingest(lab, write("s.jsonl", [said]))
    assert tables(lab)["turn"].select("seq", "also_in").rows() == [(3, ["src/s.jsonl"])]


def test_a_record_stated_earlier_takes_the_id_from_another_text_and_gives_it_back(lab, write):
    ingest(lab, write("a.json", payload(record("tea"), produced=20)))
    report = ingest(lab, write("b.json", payload(record("coffee"), produced=10)))
    assert memory(lab)["text"] == "coffee"
    notice = (
        "record of another file that gives way: its id is taken by this one (two folders alike? "
        "give each a lab of its own): 1"
    )
    assert notice in report.notices
    ingest(lab, write("b.json", payload(produced=10)))
    assert memory(lab)["text"] == "tea"


def test_a_resumed_session_keeps_what_its_own_file_says_of_a_turn(lab, write, fresh_lab):
    def line(session: str, text: str = "hi from house four") -> dict[str, Any]:
        message = {"role": "user", "content": text}
        return {"type": "user", "uuid": "u", "sessionId": session, "message": message}

    ingest(lab, write("a.jsonl", [line("one")]), turns_as_memories=True)
    ingest(lab, write("b.jsonl", [line("two")]), turns_as_memories=True)
    assert tables(lab)["turn"]["session_id"].to_list() == ["one"]
    ingest(
        lab,
        write("a.jsonl", [line("one", "other words of it") | {"uuid": "v"}]),
        turns_as_memories=True,
    )
    again = fresh_lab()
    for name in ("b", "a"):
        ingest(again, f"{write('x', '').parent}/{name}.jsonl", turns_as_memories=True)
    one, other = tables(lab), tables(again)
    assert one["turn"].filter(turn_id="u")["session_id"].to_list() == ["two"]
    assert one["memory"]["memory_id"].to_list() == ["u", "v"]
    assert all(one[name].equals(other[name]) for name in DERIVED)


RECORDS = st.builds(
    lambda memory_id, text, at, title, content, said: (
        record(text, at=at, **said)
        | {"id": memory_id, "title": title}
        | ({"contentHash": content} if content else {})
    ),
    st.sampled_from("ab"),
    st.sampled_from(["tea", "coffee"]),
    st.sampled_from([None, 1, 2]),
    st.sampled_from([None, None, "T"]),
    st.sampled_from([None, "h1", "h2"]),
    st.fixed_dictionaries(
        {},
        optional={
            "toldAt": st.sampled_from([None, None, iso(5), iso(9)]),
            "status": st.sampled_from(["current", "superseded", "retracted", "archived"]),
            "supersededBy": st.sampled_from("ab"),
            "retractedAt": st.sampled_from([iso(3), iso(4)]),
            "layer": st.sampled_from(["log", "user"]),
            "scope": st.sampled_from(["s", "t"]),
            "tags": st.sampled_from([["x"], ["y"]]),
        },
    ),
)
PAYLOADS = st.builds(
    lambda records, produced, batch: payload(*records, produced=produced) | batch,
    st.lists(RECORDS, max_size=3),
    st.sampled_from([None, 6, 10, 20]),
    st.sampled_from([{}, {"batchId": "b1"}, {"batchId": "b2"}]),
)
STEPS = st.lists(st.tuples(st.sampled_from("xyz"), PAYLOADS), min_size=1, max_size=6)


def may_be_shown(text: str, records: list[tuple[int | None, dict[str, Any]]]) -> bool:
    """Whether a text may be shown at any time, from all records of its memory: the gate's bound."""
    silent = [at for at, one in records if titled(one) == text and telling(one) == "never"]
    lifted = [at for at, one in records if telling(one) == "told"]
    return not silent or (
        None not in silent and any(at is not None and at > max(silent) for at in lifted)
    )


def titled(one: dict[str, Any]) -> str:
    return f"[{one['title']}] {one['text']}" if one["title"] else one["text"]


def telling(one: dict[str, Any]) -> str:
    said = one["sourceMetadata"]
    return "open" if "toldAt" not in said else "told" if said["toldAt"] else "never"


def produced_on(content: dict[str, Any]) -> int | None:
    found = content["producedAt"]
    return None if found == "soon" else int(found[8:10])


@pytest.mark.stress
@settings(max_examples=15)
@given(steps=STEPS, turned=st.booleans())
def test_any_sequence_of_imports_equals_a_fresh_one_and_shows_nothing_untold(
    tmp_path_factory, empty_lab, steps, turned
):
    folder = tmp_path_factory.mktemp("sequence")
    lab, fresh = (store.open(shutil.copy(empty_lab, folder / f"{n}.duckdb")) for n in (1, 2))
    source, last = folder / "src", dict(steps)
    for name, content in steps:
        write_into(source, name, content)
        ingest(lab, source)
    shutil.rmtree(source)
    for name in sorted(last, reverse=turned):
        write_into(source, name, last[name])
        ingest(fresh, source)
    one, other = tables(lab), tables(fresh)
    for name in DERIVED:
        assert one[name].equals(other[name]), name
    for span in spans(lab):
        records = [
            (produced_on(content), entry)
            for content in last.values()
            for entry in content["records"]
            if entry["id"] == span["memory_id"]
        ]
        assert span["enters_at"] is None or may_be_shown(span["text"], records)


def write_into(folder: Path, name: str, content: dict[str, Any]) -> None:
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
