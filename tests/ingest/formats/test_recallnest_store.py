"""RecallNest's Lance table: one source of many files, and nothing beyond its folder."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recalltune import store
from recalltune.errors import SourceError
from recalltune.ingest import Source, ingest
from recalltune.ingest.formats.recallnest_store import FORMAT
from recalltune.ingest.parsed import Parsed
from recalltune.ingest.store_folder import source_digest, source_size

try:
    import lance
    import pyarrow as pa
except ImportError:  # pragma: no cover
    if "RECALLTUNE_CI" in os.environ:
        raise
    pytest.skip("needs the extra: pip install 'recalltune[stores]'", allow_module_level=True)

MAY = 1_778_760_000_000  # 2026-05-14 12:00 UTC
AT = datetime(2026, 5, 14, 12, tzinfo=UTC)
DAY_MS = 86_400_000
TEXTS = pa.string()
SCHEMA = pa.schema(
    [
        ("id", TEXTS),
        ("text", TEXTS),
        ("vector", pa.list_(pa.float32(), 2)),
        ("category", TEXTS),
        ("scope", TEXTS),
        ("importance", pa.float64()),
        ("timestamp", pa.float64()),
        ("metadata", TEXTS),
        ("language", TEXTS),
        ("fts_text", TEXTS),
    ]
)
ONLY_TIME = "timestamp is when the store took it in: the only time there is, used"
Row = dict[str, Any]


def row(id: str | None, text: str | None = "Beans like the sun.", **given: Any) -> Row:
    metadata = given.pop("metadata", {})
    said = metadata if isinstance(metadata, str | None) else json.dumps(metadata)
    plain = {"category": "events", "scope": "cc:1", "importance": 0.6, "timestamp": float(MAY)}
    return {"id": id, "text": text, "vector": [0.0, 1.0], "metadata": said} | plain | given


@pytest.fixture
def table(src: Path) -> Callable[..., Path]:
    def table(*rows: Row, schema: Any = SCHEMA) -> Path:
        path = src / "memories.lance"
        lance.write_dataset(pa.Table.from_pylist(list(rows), schema), path, mode="append")
        return path

    return table


def refusal(work: Callable[[], None]) -> str | None:
    """Words of the one kind of error that bad bytes may end in."""
    try:
        work()
    except SourceError as error:
        return str(error)
    return None


def read(path: Path) -> Parsed:
    parsed = Parsed(FORMAT.name, f"src/{path.name}")
    FORMAT.read(Source(path, path.name, f"src/{path.name}"), parsed)
    return parsed


def memories(lab: store.Lab, *columns: str) -> list[tuple[Any, ...]]:
    with lab.reading() as con:
        return store.read_memories(con).sort("memory_id").select(*columns).rows()


def test_a_row_is_a_memory_with_the_columns_and_the_metadata_of_its_row(lab, table):
    path = table(
        row("a", metadata={"tier": "core", "boundary": {"layer": "durable"}, "tags": ["x"]}),
        row("b", "Tea first.", category="preferences", scope="memory:garden", importance=0.9),
    )
    report = ingest(lab, path)
    assert report.frame.select("file", "format", "kept", "dropped").rows() == [
        ("src/memories.lance", "recallnest_store", 2, 0)
    ]
    columns = ("memory_id", "text", "layer", "category", "tier", "scope", "salience")
    assert memories(lab, *columns) == [
        ("a", "Beans like the sun.", "durable", "events", None, "cc:1", 0.6),
        ("b", "Tea first.", "log", "preferences", None, "memory:garden", 0.9),
    ]
    assert f"{ONLY_TIME}: 2" in report.notices
    # It is where the store's own later use has moved it.
    assert "tier not read: the store moves it with later use: 1" in report.notices


def test_the_time_of_the_event_goes_before_the_time_of_intake_which_is_when_it_was_known(table):
    parsed = read(table(row("a", metadata={"evolution": {"eventTime": MAY - DAY_MS}}), row("b")))
    spans = {claim.memory.memory_id: claim.span for claim in parsed.claims}
    assert (spans["a"].event_at, spans["a"].known_at) == (AT.replace(day=13), AT)
    assert (spans["b"].event_at, spans["b"].known_at) == (AT, AT)
    assert parsed.notes[ONLY_TIME] == 1


def test_a_timestamp_that_is_none_leaves_a_memory_undated(table):
    parsed = read(table(row("a", timestamp=0.0), row("b", timestamp=None)))
    assert [claim.span.event_at for claim in parsed.claims] == [None, None]
    assert parsed.notes[ONLY_TIME] == 0


def test_the_stores_own_status_is_kept_with_its_successor_and_time(table):
    later = MAY + DAY_MS
    path = table(
        *(
            row(status, metadata={"evolution": {"status": status} | more})
            for status, more in {
                "active": {"validUntil": later, "accessCount": 3, "lastAccessedAt": later},
                "pending_review": {},
                "superseded": {"supersededBy": "active", "validUntil": later},
                "consolidated": {"consolidatedInto": "active"},
                "archived": {},
                "lost": {},
            }.items()
        )
    )
    parsed = read(path)
    found = {
        memory.memory_id: (
            memory.status,
            memory.superseded_by,
            memory.superseded_at,
            memory.valid_until,
            memory.reason,
        )
        for memory in (claim.memory for claim in parsed.claims)
    }
    day_after = AT.replace(day=15)
    assert found == {
        "active": ("current", None, None, day_after, None),
        "pending_review": ("current", None, None, None, None),
        "superseded": ("superseded", "active", day_after, None, None),
        "consolidated": ("superseded", "active", None, None, "consolidated"),
        "archived": ("retracted", None, None, None, "archived"),
    }
    assert {reason: drop.lines for reason, drop in parsed.drops.items()} == {
        "status is not current, superseded or retracted": [6]
    }
    metas = {claim.memory.memory_id: claim.memory.meta for claim in parsed.claims}
    # Counters are the store's later history.
    assert metas["active"] == {"evolution": {"status": "active", "validUntil": later}}
    for counter in ("accessCount", "lastAccessedAt"):
        assert parsed.notes[f"{counter} not read: it is derived from accesses as of each query"]


def test_what_metadata_says_beside_is_read_or_stays_in_meta(table):
    said = {"confidence": {"score": 0.3}, "l0_abstract": "beans", "anchor": "garden", "usage": {}}
    [claim] = read(table(row("a", metadata=said))).claims
    assert (claim.memory.confidence, claim.memory.gist) == (0.3, "beans")
    assert claim.memory.meta == {"l0_abstract": "beans", "anchor": "garden", "usage": {}}


@pytest.mark.parametrize(
    ("metadata", "gated"),
    [
        ({"toldAt": None}, True),
        ({"connector": {"toldAt": "2026-05-14T12:00:00Z"}}, True),
        ({"evolution": {"told_at": "never"}}, True),
        ({"TOLD-AT": "2026-05-14T12:00:00Z"}, True),
        ('{"toldAt": "2026-05-14T12:00:00Z"', True),
        ('{"tier": "core"', False),
        ({"l2_content": "what she told at: breakfast"}, False),
    ],
)
def test_a_telling_rule_that_cannot_be_read_means_not_told(table, metadata, gated):
    [claim] = read(table(row("a", metadata=metadata))).claims
    assert (claim.span.gated, claim.span.told_at) == (gated, None)


def test_a_row_left_out_still_says_that_it_was_not_told(table):
    evolution = {"status": "lost"}
    parsed = read(table(row("a", metadata={"toldAt": "never", "evolution": evolution})))
    assert (parsed.kept, parsed.dropped) == (0, 1)
    assert [(claim.withheld, claim.silent) for claim in parsed.claims] == [(True, True)]
    assert parsed.texts == {}


def test_rows_without_an_id_or_a_text_are_dropped_and_deleted_rows_are_not_there(table):
    path = table(row(None), row(""), row("c", None), row("d", " \n"), row("e"), row("gone"))
    lance.dataset(path).delete("id = 'gone'")
    parsed = read(path)
    assert {reason: drop.lines for reason, drop in parsed.drops.items()} == {
        "row without an id": [1, 2],
        "row without a text": [3, 4],
    }
    assert [claim.memory.memory_id for claim in parsed.claims] == ["e"]


def test_a_second_import_reads_nothing_and_a_changed_table_replaces_its_own_rows(lab, table, src):
    ingest(lab, table(row("a"), row("b", "Tea first.")))
    assert ingest(lab, src).frame["kept"].to_list() == [0]
    lance.dataset(table(row("c", "Rain at last."))).delete("id = 'a'")
    ingest(lab, src)
    assert memories(lab, "memory_id", "text") == [("b", "Tea first."), ("c", "Rain at last.")]


def test_other_tables_of_a_database_folder_are_passed_over(lab, table, src):
    table(row("a"))
    lance.write_dataset(pa.table({"subject": ["x"]}), src / "triples.lance")
    report = ingest(lab, src)
    assert report.frame["file"].to_list() == ["src/memories.lance"]
    assert any(told.startswith("1 file of another kind") for told in report.notices)
    with pytest.raises(SourceError, match=r"^src/triples\.lance:1: table must have the columns id"):
        ingest(lab, src / "triples.lance")


def test_without_the_extra_the_error_names_it(lab, table, monkeypatch):
    path = table(row("a"))
    monkeypatch.setitem(sys.modules, "lance", None)
    with pytest.raises(SourceError, match=r"^src/mem.*:1: .*pip install 'recalltune\[stores\]'"):
        ingest(lab, path)


def test_a_table_of_other_columns_is_refused_with_what_it_has(table):
    wrong = pa.schema([("id", pa.int64()), *(field for field in SCHEMA if field.name != "id")])
    path = table(row(1), schema=wrong)
    with pytest.raises(SourceError, match=r"must have the columns id, got .*id int64"):
        read(path)


def test_a_table_that_refers_to_data_elsewhere_is_refused(table, src):
    clone = src / "clone.lance"
    lance.dataset(table(row("a"))).shallow_clone(clone, 1)
    with pytest.raises(SourceError, match="refers to data outside its folder"):
        read(clone)


def test_a_link_inside_a_table_refuses_the_whole(lab, table, tmp_path):
    path = table(row("a"))
    [data] = (path / "data").iterdir()
    shutil.move(data, tmp_path / "elsewhere")
    data.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SourceError, match=r"^src/memories\.lance:1: .* nothing but files"):
        ingest(lab, path)


def test_a_table_too_large_keeps_no_other_file_of_a_folder_out(lab, table, src, monkeypatch):
    table(row("a"))
    (src / "MEMORY.md").write_text("- Tea first.")
    monkeypatch.setattr(sys.modules["recalltune.ingest.store_folder"], "MAX_FILE_BYTES", 100)
    report = ingest(lab, src)
    assert report.frame.select("file", "format", "kept").rows() == [
        ("src/memories.lance", "unreadable", 0),
        ("src/MEMORY.md", "markdown_folder", 1),
    ]


def test_the_digest_of_a_table_is_that_of_its_names_and_bytes(tmp_path):
    def folder(name: str, **files: str) -> Path:
        for file, text in files.items():
            path = tmp_path / name / f"{file}.bin"
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        return tmp_path / name

    same = [folder("a.lance", x="1", y="2"), folder("b.lance", y="2", x="1")]
    assert len({source_digest(path) for path in same}) == 1
    others = [folder("c.lance", x="2", y="1"), folder("d.lance", x="1", z="2")]
    assert len({source_digest(path) for path in [same[0], *others]}) == 3
    assert source_size(same[0]) == 2


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sound") / "memories.lance"
    rows = [row(f"{n}", f"text {n}") for n in range(30)]
    lance.write_dataset(pa.Table.from_pylist(rows, SCHEMA), path).delete("id = '3'")
    return path


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    which=st.floats(0, 1),
    cut=st.one_of(st.none(), st.floats(0, 1)),
    changes=st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), min_size=1, max_size=20),
)
def test_a_table_with_changed_bytes_is_read_or_refused_in_one_way(
    tmp_path, sound, which, cut, changes
):
    path = tmp_path / "memories.lance"
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(sound, path)
    files = sorted(one for one in path.rglob("*") if one.is_file())
    file = files[round(which * (len(files) - 1))]
    raw = bytearray(file.read_bytes())
    for place, byte in changes:
        raw[round(place * (len(raw) - 1))] = byte
    file.write_bytes(raw if cut is None else raw[: round(cut * len(raw))])
    parsed: list[Parsed] = []
    if (error := refusal(lambda: parsed.append(read(path)))) is not None:
        assert "src/memories.lance:1: " in error
        return
    assert parsed[0].records == len(parsed[0].claims) + parsed[0].dropped
