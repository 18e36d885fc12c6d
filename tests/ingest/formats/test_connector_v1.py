"""Connector-v1 payloads: fields, hints, times, gates, versions, supersession."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalltune import store
from recalltune.errors import ContractError, SourceError
from recalltune.ingest import CATEGORY_HINTS, ingest
from recalltune.ingest.versions import stacked


def us(day: int) -> int:
    return int(datetime(2026, 1, day, tzinfo=UTC).timestamp()) * 10**6


def record(
    memory_id: Any, text: Any = None, *, day: int | None = 1, **extra: Any
) -> dict[str, Any]:
    row = {"id": memory_id, "text": f"text of {memory_id}" if text is None else text, **extra}
    return row if day is None else row | {"timestamp": f"2026-01-{day:02}T00:00:00Z"}


def payload(*records: Any, **extra: Any) -> dict[str, Any]:
    head = {
        "version": "connector-v1",
        "source": "notes",
        "scope": "vault:mine",
        "producedAt": "2026-02-01T00:00:00Z",
    }
    return head | {"records": list(records)} | extra


def spans(lab: store.Lab) -> pl.DataFrame:
    with lab.reading() as con:
        return store.read_spans(con).sort("memory_id", "version")


def memories(lab: store.Lab) -> dict[str, dict[str, Any]]:
    with lab.reading() as con:
        return {row["memory_id"]: row for row in store.read_memories(con).to_dicts()}


def digest(lab: store.Lab) -> str:
    with lab.reading() as con:
        return store.data_digest(con)


def reasons(report) -> dict[str, int]:
    return dict(report.dropped.select("reason", "count").iter_rows())


def test_a_record_fills_its_memory_and_the_rest_stays_in_meta(lab, write):
    full = record(
        "r1",
        "words",
        title="Plan",
        categoryHint="preferences",
        importanceHint=0.75,
        tags=["a", "b"],
        contentHash="c0ffee",
        sourceMetadata={
            "layer": "user",
            "tier": "core",
            "origin": "owner",
            "confidence": 1,
            "pinned": True,
            "session": "s1",
            "validFrom": "2026-01-01T00:00:00Z",
            "validUntil": "2026-01-02T00:00:00Z",
            "filePath": "x.md",
            "accessCount": 12,
        },
    )
    report = ingest(lab, write("c.json", payload(full, batchId="b7")))
    row = memories(lab)["r1"]
    assert (row["text"], row["title"], row["scope"]) == ("[Plan] words", "Plan", "vault:mine")
    assert (row["category"], row["salience"], row["tags"]) == ("preferences", 0.75, ["a", "b"])
    assert (row["layer"], row["tier"], row["origin"]) == ("user", "core", "owner")
    assert (row["confidence"], row["pinned"], row["session"]) == (1.0, True, "s1")
    assert row["valid_until"] == datetime(2026, 1, 2, tzinfo=UTC)
    assert (row["source"], row["status"]) == ("notes", "current")
    assert json.loads(row["meta"]) == {
        "batchId": "b7",
        "contentHash": "c0ffee",
        "categoryHint": "preferences",
        "importanceHint": 0.75,
        "filePath": "x.md",
    }
    assert "accessCount not read: it is derived from accesses as of each query: 1" in report.notices


def test_bug_43_the_timestamp_is_event_time_and_known_time_and_import_time_is_nowhere(lab, write):
    ingest(lab, write("c.json", payload(record("r1", day=3))))
    row = spans(lab).row(0, named=True)
    assert (row["event_at"], row["known_at"], row["enters_at"]) == (us(3), us(3), us(3))


def test_bug_43_records_without_times_and_a_shared_day_are_both_noticed(lab, write):
    undated = [record(f"u{n}", day=None) for n in range(4)]
    same_day = [record(f"d{n}", day=5) for n in range(20)]
    report = ingest(lab, write("c.json", payload(*undated, *same_day, record("x", day=6))))
    assert "memory without an event time (always there, no age): 4" in report.notices
    assert (
        "memory dated 2026-01-05, as over 90 % of its file: a day of export?: 20" in report.notices
    )
    assert spans(lab).filter(pl.col("event_at").is_null())["enters_at"].unique().to_list() == [
        store.BEGINNING_US
    ]


def test_a_timestamp_after_the_payload_was_written_is_counted_as_future(lab, write):
    late = record("r1") | {"timestamp": "2026-03-01T00:00:00Z"}
    report = ingest(lab, write("c.json", payload(late)))
    notice = "timestamp later than producedAt (in the future when written): 1"
    assert notice in report.notices


@pytest.mark.parametrize("bad", [float("nan"), "", None, "soon"])
def test_bug_47_one_bad_date_does_not_cost_the_memory(lab, write, bad):
    row = record("r1", sourceMetadata={"validUntil": bad}) | {"timestamp": bad}
    ingest(lab, write("c.json", payload(row)))
    assert spans(lab)["event_at"].to_list() == [None]


@pytest.mark.parametrize(
    ("metadata", "gated", "told_at", "enters_at"),
    [
        ({}, False, None, us(1)),
        ({"toldAt": None}, True, None, None),
        ({"toldAt": ""}, True, None, None),
        ({"toldAt": "not a date"}, True, None, None),
        ({"toldAt": "2026-01-09T00:00:00Z"}, True, us(9), us(9)),
        ({"toldAt": "2025-12-01T00:00:00Z"}, True, None, us(1)),
    ],
)
def test_told_at_absent_means_told_when_known_and_null_means_not_told(
    lab, write, metadata, gated, told_at, enters_at
):
    ingest(lab, write("c.json", payload(record("r1", sourceMetadata=metadata))))
    row = spans(lab).row(0, named=True)
    assert (row["gated"], row["enters_at"]) == (gated, enters_at)
    if told_at is not None:
        assert row["told_at"] == told_at


@pytest.mark.parametrize(
    ("hint", "category", "counted"),
    [
        ("preferences", "preferences", False),
        ("events", "events", False),
        ("facts", "entities", False),
        ("decisions", "cases", False),
        ("knowledge", "patterns", False),
        ("gossip", "gossip", True),
    ],
)
def test_category_hints_are_mapped_and_unknown_ones_kept_and_counted(
    lab, write, hint, category, counted
):
    report = ingest(lab, write("c.json", payload(record("r1", categoryHint=hint))))
    assert memories(lab)["r1"]["category"] == category
    assert any("not one of ours, kept as text" in notice for notice in report.notices) is counted


@pytest.mark.parametrize("hint", [-0.1, 1.5, "high", True, [1]])
def test_an_importance_outside_its_range_is_counted_and_left_out(lab, write, hint):
    report = ingest(lab, write("c.json", payload(record("r1", importanceHint=hint))))
    assert memories(lab)["r1"]["salience"] is None
    assert "importanceHint outside [0, 1], not used: 1" in report.notices


@pytest.mark.parametrize("version", ["connector-v2", "connector", 1])
def test_an_unknown_version_is_refused_by_name(lab, write, version):
    path = write("c.json", payload(record("r1"), version=version))
    with pytest.raises(SourceError, match=rf"^src/c\.json:1: .*connector-v1.*{version}"):
        ingest(lab, path, format="connector-v1")


@pytest.mark.parametrize("key", ["source", "scope", "producedAt", "records"])
def test_a_payload_without_a_required_key_names_it(lab, write, key):
    whole = payload(record("r1"))
    del whole[key]
    with pytest.raises(SourceError, match=rf"^src/c\.json:1: .*must have {key}"):
        ingest(lab, write("c.json", whole))


def test_a_newer_version_is_told_what_is_accepted(lab, write):
    path = write("c.json", payload(record("r1"), version="connector-v2"))
    words = r"version must be 'connector-v1', got 'connector-v2'; nearest: 'connector-v1'"
    with pytest.raises(SourceError, match=rf"^src/c\.json:1: {words}"):
        ingest(lab, path)


def test_a_payload_without_a_version_is_known_all_the_same_and_told_so(lab, write):
    whole = payload(record("r1"))
    del whole["version"]
    with pytest.raises(SourceError, match=r"^src/c\.json:1: version is missing.*'connector-v1'"):
        ingest(lab, write("c.json", whole))


@pytest.mark.parametrize("records", [{}, "r1", 3])
def test_records_that_are_no_list_are_refused(lab, write, records):
    with pytest.raises(SourceError, match=r"^src/c\.json:1: records must be a list, got "):
        ingest(lab, write("c.json", payload() | {"records": records}))


@pytest.mark.parametrize("key", ["source", "scope", "producedAt"])
def test_a_blank_name_is_no_name(lab, write, key):
    with pytest.raises(SourceError, match=rf"must have {key}"):
        ingest(lab, write("c.json", payload(record("r1"), **{key: " "})))


def test_keys_the_format_does_not_have_are_counted_by_name_up_to_a_bound(lab, write):
    odd = {f"key{number:02}": 1 for number in range(30)}
    whole = payload(record("r1", colour="red"), record("r2", colour="blue"), cursor="x") | odd
    report = ingest(lab, write("c.json", whole))
    assert "top-level key 'cursor' unknown, not used: 1" in report.notices
    unnamed = [notice for notice in report.notices if "of another name" in notice]
    assert sum(int(notice.rsplit(":", 1)[1]) for notice in unnamed) == 33 - 20
    assert "colour" not in memories(lab)["r1"]["meta"]
    report = ingest(lab, write("d.json", payload(record("r1", colour="x"), record("r2"))))
    assert "record key 'colour' unknown, not used: 1" in report.notices


def test_the_table_of_hints_in_the_docs_is_the_one_that_is_used():
    docs = Path(__file__).parents[3] / "docs" / "tables.md"
    stated = docs.read_text(encoding="utf-8").split("| `categoryHint` |")[1].split("|")[0]
    others = {hint: category for hint, category in CATEGORY_HINTS.items() if hint != category}
    pairs = re.findall(r"`([a-z]{1,20})` is `([a-z]{1,20})`", stated)
    assert dict(pairs) == others
    assert len(CATEGORY_HINTS) - len(others) == 6


def test_hints_are_kept_as_they_were_written_also_where_they_cannot_be_used(lab, write):
    row = record("r1", categoryHint="facts", importanceHint="high")
    ingest(lab, write("c.json", payload(row)))
    found = memories(lab)["r1"]
    assert (found["category"], found["salience"]) == ("entities", None)
    assert json.loads(found["meta"]) == {"categoryHint": "facts", "importanceHint": "high"}


def test_metadata_is_kept_as_it_is_nested_and_its_telling_rule_is_read(lab, write):
    deep = {"frontmatter": {"tags": ["a", {"b": None}], "n": 1.5}, "日本": "語"}
    ingest(lab, write("c.json", payload(record("r1", sourceMetadata=deep | {"toldAt": None}))))
    assert json.loads(memories(lab)["r1"]["meta"]) == deep
    assert spans(lab)["enters_at"].to_list() == [None]


def nested(levels: int) -> Any:
    return {"x": nested(levels - 1)} if levels else 1


@pytest.mark.parametrize(
    ("rest", "kept"),
    [
        ({"x": "y" * 200_000}, True),
        ({"x": "y" * 300_000}, False),
        (nested(32), True),
        (nested(33), False),
    ],
)
def test_metadata_is_bounded_and_what_it_says_of_telling_is_heard_in_any_case(
    lab, write, rest, kept
):
    row = record("r1", sourceMetadata=rest | {"toldAt": None}, contentHash="h")
    report = ingest(lab, write("c.json", payload(row)))
    assert json.loads(memories(lab)["r1"]["meta"]) == (rest if kept else {}) | {"contentHash": "h"}
    notice = "sourceMetadata of more than 256 KiB or 32 levels, left out: 1"
    assert (notice in report.notices) is not kept
    assert spans(lab)["enters_at"].to_list() == [None]


def test_what_a_record_says_itself_wins_over_its_metadata_and_is_counted(lab, write):
    row = record("r1", contentHash="own", sourceMetadata={"contentHash": "other", "a": 1})
    report = ingest(lab, write("c.json", payload(row)))
    assert json.loads(memories(lab)["r1"]["meta"]) == {"contentHash": "own", "a": 1}
    notice = "key of sourceMetadata that the record has itself, not used: 1"
    assert notice in report.notices


def test_a_title_hash_or_batch_that_is_no_text_is_counted_and_costs_nothing(lab, write):
    row = record("r1", title=["T"], contentHash=7)
    report = ingest(lab, write("c.json", payload(row, batchId=9)))
    assert memories(lab)["r1"]["text"] == "text of r1"
    assert memories(lab)["r1"]["meta"] == "{}"
    for what in ("title", "contentHash", "batchId"):
        assert f"{what} is no text, not used: 1" in report.notices


def test_ids_given_twice_in_one_payload_are_copies_versions_or_refused(lab, write):
    records = [
        record("r", "one", day=1),
        record("r", "one", day=1),
        record("r", "two", day=5),
        record("r", "three", day=5),
    ]
    report = ingest(lab, write("c.json", payload(*records)))
    assert reasons(report) == {
        "exact copy of an earlier record": 1,
        "id held by another file's memory (moved, or two folders alike?)": 1,
    }
    assert spans(lab)["text"].to_list() == ["one", "two"]


def test_a_batch_sent_again_in_another_file_imports_nothing_twice_and_is_counted(lab, write):
    ingest(lab, write("a.json", payload(record("r"), record("s"), batchId="b1")))
    before = digest(lab)
    report = ingest(lab, write("retry.json", payload(record("r"), record("s"), batchId="b1")))
    assert reasons(report) == {"memory another file holds": 2}
    assert report.frame.select("kept", "dropped", "already").rows() == [(0, 2, 2)]
    notice = "record of a batch that another file brought, not imported twice: 2"
    assert notice in report.notices
    assert spans(lab).height == 2
    assert digest(lab) == before


def test_a_batch_of_another_source_is_another_batch(lab, write):
    ingest(lab, write("a.json", payload(record("r"), batchId="b1")))
    report = ingest(lab, write("b.json", payload(record("r"), batchId="b1", source="mail")))
    assert not any("batch" in notice for notice in report.notices)


def test_a_batch_sent_again_with_other_content_is_counted_and_the_later_statement_holds(
    lab, write, tmp_path
):
    first = payload(record("r", sourceMetadata={"layer": "log"}), batchId="b1")
    later = payload(record("r", sourceMetadata={"layer": "user"}), batchId="b1")
    later["producedAt"] = "2026-02-02T00:00:00Z"
    files = [write("z.json", first), write("a.json", later)]
    digests = set()
    for number, order in enumerate((files, files[::-1])):
        other = store.open(tmp_path / f"{number}.duckdb")
        for path in order:
            report = ingest(other, path)
        assert memories(other)["r"]["layer"] == "user"
        notice = "batchId of another file with other content, the later statement holds: 1"
        assert notice in report.notices
        digests.add(digest(other))
    assert len(digests) == 1


@pytest.mark.parametrize("turned", [False, True])
def test_a_record_with_the_content_hash_that_is_there_is_unchanged_in_any_order(lab, write, turned):
    first = write("a.json", payload(record("r", "tea", day=1, contentHash="h")))
    touched = write("b.json", payload(record("r", "tea", day=9, contentHash="h")))
    ingest(lab, touched if turned else first)
    report = ingest(lab, first if turned else touched)
    assert reasons(report) == {"unchanged by its contentHash": 1}
    assert report.frame.select("kept", "dropped", "already").rows() == [(0, 1, 1)]
    rows = spans(lab).select("version", "text", "known_at", "leaves_at").rows()
    assert rows == [(1, "tea", us(1), None)]


def test_a_content_hash_that_comes_back_after_another_text_is_a_new_version(lab, write):
    ingest(lab, write("a.json", payload(record("r", "tea", day=1, contentHash="h1"))))
    ingest(lab, write("b.json", payload(record("r", "coffee", day=5, contentHash="h2"))))
    report = ingest(lab, write("c.json", payload(record("r", "tea", day=9, contentHash="h1"))))
    assert reasons(report) == {}
    assert spans(lab)["text"].to_list() == ["tea", "coffee", "tea"]


def test_a_content_hash_says_nothing_about_another_text_or_without_the_other(lab, write):
    ingest(lab, write("a.json", payload(record("r", "tea", day=1, contentHash="h"))))
    report = ingest(lab, write("b.json", payload(record("r", "coffee", day=5, contentHash="h"))))
    assert reasons(report) == {}
    ingest(lab, write("c.json", payload(record("r", "coffee", day=9))))
    assert spans(lab)["text"].to_list() == ["tea", "coffee", "coffee"]


def test_an_unchanged_text_may_change_in_what_is_said_of_it(lab, write):
    ingest(lab, write("a.json", payload(record("r", "tea", day=1, contentHash="h"))))
    gone = {"status": "retracted", "retractedAt": "2026-01-20T00:00:00Z"}
    later = payload(record("r", "tea", day=9, contentHash="h", sourceMetadata=gone))
    report = ingest(lab, write("b.json", later | {"producedAt": "2026-02-02T00:00:00Z"}))
    assert reasons(report) == {}
    assert spans(lab).select("version", "known_at", "retracted_at").rows() == [(1, us(1), us(20))]


def test_an_unchanged_text_that_is_not_to_be_told_is_hidden_from_then_on_and_before(lab, write):
    ingest(lab, write("a.json", payload(record("r", "tea", day=1, contentHash="h"))))
    never = record("r", "tea", day=9, contentHash="h", sourceMetadata={"toldAt": None})
    ingest(lab, write("b.json", payload(never)))
    assert spans(lab)["enters_at"].to_list() == [None]


def test_a_broken_document_names_the_line(lab, write):
    path = write("c.json", '{\n "version": "connector-v1",\n oops\n}')
    with pytest.raises(SourceError, match=r"^src/c\.json:3: not a JSON document"):
        ingest(lab, path, format="connector_v1")


def test_records_that_cannot_be_used_are_dropped_by_reason_and_the_rest_kept(lab, write):
    records = [
        record("ok"),
        "text",
        record(17),
        record(None),
        record("a", "  "),
        record("b", 5),
        record("c", sourceMetadata={"status": "archived"}),
        record("ok"),
    ]
    report = ingest(lab, write("c.json", payload(*records)))
    assert reasons(report) == {
        "record is not an object": 1,
        "id is a number: ids must be text": 1,
        "record without an id": 1,
        "record without a text": 2,
        "status is not current, superseded or retracted": 1,
        "exact copy of an earlier record": 1,
    }
    assert list(memories(lab)) == ["ok"]
    assert report.frame.select("read", "kept", "dropped").rows() == [(8, 1, 7)]


def test_supersession_takes_effect_when_the_successor_became_known(lab, write):
    old = record("old", day=1, sourceMetadata={"status": "superseded", "supersededBy": "new"})
    new = record("new", day=20)
    ingest(lab, write("c.json", payload(old, new)))
    rows = spans(lab).select("memory_id", "status", "superseded_at", "leaves_at").rows()
    assert rows == [("new", "current", None, None), ("old", "superseded", us(20), None)]


def test_supersession_is_settled_whichever_file_comes_first(lab, write):
    old = record("old", sourceMetadata={"supersededBy": "new"})
    report = ingest(lab, write("a.json", payload(old)))
    assert spans(lab)["superseded_at"].to_list() == [None]
    assert "superseded by a memory that is not there: 1" in report.notices
    ingest(lab, write("b.json", payload(record("new", day=20))))
    assert spans(lab)["superseded_at"].to_list() == [None, us(20)]
    ingest(lab, write("b.json", payload(record("new", day=21))))
    assert spans(lab)["superseded_at"].to_list() == [None, us(21)]


def test_a_stated_time_of_supersession_wins(lab, write):
    meta = {"supersededBy": "new", "supersededAt": "2026-01-08T00:00:00Z"}
    old = record("old", sourceMetadata=meta)
    ingest(lab, write("c.json", payload(old, record("new", day=20))))
    assert spans(lab)["superseded_at"].to_list() == [None, us(8)]


def test_a_change_at_an_unknown_time_is_never_applied_backwards_and_is_counted(lab, write):
    gone = record("gone", sourceMetadata={"status": "retracted", "reason": "wrong"})
    old = record("old", sourceMetadata={"status": "superseded"})
    report = ingest(lab, write("c.json", payload(gone, old)))
    assert spans(lab).select("retracted_at", "superseded_at").rows() == [(None, None)] * 2
    notice = "superseded or retracted at an unknown time (stays current in a replay): 2"
    assert notice in report.notices


def test_a_later_text_under_the_same_id_is_a_new_version(lab, write):
    ingest(lab, write("a.json", payload(record("r", "first", day=1))))
    ingest(lab, write("b.json", payload(record("r", "second", day=9))))
    rows = spans(lab).select("version", "text", "known_at", "leaves_at").rows()
    assert rows == [(1, "first", us(1), us(9)), (2, "second", us(9), None)]
    assert memories(lab)["r"]["text"] == "second"


def test_versions_are_the_same_whatever_the_order_of_import(lab, write, tmp_path):
    other = store.open(tmp_path / "other.duckdb")
    a = write("a.json", payload(record("r", "first", day=1)))
    b = write("b.json", payload(record("r", "second", day=9), record("r", "third", day=12)))
    for target, order in ((lab, [a, b]), (other, [b, a])):
        for path in order:
            ingest(target, path)
    with lab.reading() as one, other.reading() as two:
        assert store.data_digest(one) == store.data_digest(two)
    assert memories(other)["r"]["text"] == "third"


def test_the_same_record_in_two_batches_is_held_once_by_both(lab, write):
    ingest(lab, write("a.json", payload(record("r"))))
    report = ingest(lab, write("b.json", payload(record("r"), batchId="again")))
    assert reasons(report) == {"memory another file holds": 1}
    assert report.frame["already"].to_list() == [1]
    ingest(lab, write("a.json", payload(record("other"))))
    assert spans(lab)["memory_id"].to_list() == ["other", "r"]


def test_another_text_without_a_later_time_is_refused_by_reason(lab, write):
    ingest(lab, write("a.json", payload(record("r", "one", day=None), record("s", "one"))))
    again = payload(record("r", "two", day=None), record("s", "two"), record("t"))
    report = ingest(lab, write("b.json", again))
    assert reasons(report) == {"id held by another file's memory (moved, or two folders alike?)": 2}
    assert memories(lab)["r"]["text"] == "one"


def test_a_records_own_scope_and_layer_win_over_the_callers(lab, write):
    own = record("own", sourceMetadata={"scope": "mine", "layer": "user"})
    path = write("c.json", payload(own, record("plain")))
    ingest(lab, path)
    assert spans(lab).select("scope", "layer").rows() == [("mine", "user"), ("vault:mine", "log")]
    ingest(lab, path, scope="given", layer="project")
    assert spans(lab).select("scope", "layer").rows() == [("mine", "user"), ("given", "project")]


@pytest.mark.parametrize("name", ["superseded_by", "supersededBy", "superseded-by", "by"])
def test_keys_may_be_camel_case_or_snake_case(lab, write, name):
    ingest(lab, write("c.json", payload(record("r", sourceMetadata={name: "s"}))))
    assert memories(lab)["r"]["superseded_by"] == "s"


DAYS = st.integers(1, 28).map(lambda day: datetime(2026, 1, day, tzinfo=UTC))


@given(st.lists(DAYS, min_size=1, max_size=6, unique=True))
def test_stacked_versions_cover_time_without_gap_or_overlap(days: Iterable[datetime]):
    rows = [store.MemorySpan(memory_id="m", text_hash=str(day), known_at=day) for day in days]
    versions = stacked(rows)
    assert [span.version for span in versions] == list(range(1, len(rows) + 1))
    assert [span.known_at for span in versions] == sorted(days)
    assert [span.leaves_at for span in versions] == [*sorted(days)[1:], None]
    assert stacked(list(reversed(versions))) == versions


def test_an_integer_id_at_the_door_of_the_store_is_a_contract_error():
    with pytest.raises(ContractError, match="memory_id must be text, got the number 17"):
        store.MemorySpan(memory_id=17, text_hash="x")
