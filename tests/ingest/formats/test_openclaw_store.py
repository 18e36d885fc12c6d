"""OpenClaw's memory index: every chunk a memory, dated by its path alone, nothing run."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recalltune import store
from recalltune.errors import SourceError
from recalltune.ingest import Source, detect, ingest
from recalltune.ingest.formats.openclaw_store import FORMAT
from recalltune.ingest.parsed import Parsed

OTHERS = """
create table meta (key text primary key, value text not null);
create table files (
    path text primary key, source text not null default 'memory', hash text not null,
    mtime integer not null, size integer not null
);
"""
CHUNKS = """
create table chunks (
    id text primary key, path text not null, source text not null default 'memory',
    start_line integer not null, end_line integer not null, hash text not null,
    model text not null, dims integer, text text not null, embedding text not null,
    updated_at integer not null
);
create index idx_chunks_path on chunks(path);
create virtual table chunks_fts using fts5(text, id unindexed);
"""
LOOSE = "create table chunks (id, path, source, start_line, end_line, text, updated_at);"
DAY = "memory/2026-05-14.md"
INDEXED = 1_790_000_000_000
Row = tuple[Any, ...]


def chunk(id: str, path: str, start: Any, end: Any, text: str, source: str = "memory") -> Row:
    return (id, path, source, start, end, text, INDEXED)


def make(path: Path, rows: Iterable[Row], schema: str = OTHERS + CHUNKS) -> Path:
    with closing(sqlite3.connect(path)) as con:
        con.executescript(schema)
        dims = "hash, model, embedding, " if "model text" in schema else ""
        marks = "'h', 'm', '[0.1]', " if dims else ""
        con.executemany(
            f"insert into chunks ({dims}id, path, source, start_line, end_line, text, updated_at) "
            f"values ({marks}?, ?, ?, ?, ?, ?, ?)",
            rows,
        )
        con.commit()
    return path


@pytest.fixture
def index(src: Path) -> Callable[..., Path]:
    return lambda rows, schema=OTHERS + CHUNKS: make(src / "main.sqlite", rows, schema)


def memories(lab: store.Lab, *columns: str) -> list[Row]:
    with lab.reading() as con:
        return store.read_memories(con).sort("memory_id").select(*columns).rows()


def events(lab: store.Lab) -> dict[str, datetime | None]:
    with lab.reading() as con:
        return dict(con.sql("select memory_id, event_at from memory_span").fetchall())


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


def test_every_chunk_is_a_memory_under_its_own_id_of_the_kind_its_path_says(lab, index):
    path = index(
        [
            chunk("a", "MEMORY.md", 1, 9, "Tea is kept in the blue tin."),
            chunk("b", DAY, 3, 12, "Planted the beans."),
            chunk("c", "memory/dreaming/light.md", 1, 2, "A dream of beans."),
            chunk("d", "memory/cron/notes.md", 1, 2, "The nightly check passed."),
            chunk("e", "sessions/7f3a.jsonl", 4, 8, "User: hi\nAssistant: hello", "sessions"),
        ]
    )
    report = ingest(lab, path)
    assert report.frame.select("format", "kept", "dropped").rows() == [("openclaw_store", 5, 0)]
    assert memories(lab, "memory_id", "layer", "origin", "session", "text") == [
        ("a", "project", None, None, "Tea is kept in the blue tin."),
        ("b", "log", None, None, "Planted the beans."),
        ("c", "reflection", "agent", None, "A dream of beans."),
        ("d", "project", "system", None, "The nightly check passed."),
        ("e", "log", None, "7f3a", "User: hi\nAssistant: hello"),
    ]
    metas = {claim.memory.memory_id: claim.memory.meta for claim in read(path).claims}
    assert metas["b"] == {"path": DAY, "index": "memory", "lines": [3, 12]}
    assert metas["d"]["session_kind"] == "cron"


def test_only_a_path_named_after_a_day_dates_a_chunk_in_the_order_of_its_lines(lab, index):
    report = ingest(
        lab,
        index([chunk("a", DAY, 7, 9, "later"), chunk("b", "MEMORY.md", 1, 2, "timeless")]),
    )
    assert events(lab) == {"a": datetime(2026, 5, 14, 0, 0, 0, 7, tzinfo=UTC), "b": None}
    assert "updated_at is when a chunk was indexed, not used: 2" in report.notices
    assert "chunk of a path without a day, undated: 1" in report.notices


def test_chunks_that_overlap_stay_as_they_are_and_are_counted(lab, index):
    rows = [
        chunk("a", DAY, 1, 10, "one two"),
        chunk("b", DAY, 9, 20, "two three"),
        chunk("c", DAY, 21, 30, "four"),
        chunk("d", "memory/other.md", 25, 30, "five"),
    ]
    report = ingest(lab, index(rows))
    assert [text for (text,) in memories(lab, "text")] == ["one two", "two three", "four", "five"]
    assert "chunk overlaps the one before it, kept as it is: 1" in report.notices


def test_the_layer_the_caller_names_goes_before_the_path_and_the_scope_is_the_callers(lab, index):
    rows = [chunk("a", DAY, 1, 2, "x y z"), chunk("b", "sessions/s.jsonl", 1, 2, "u", "sessions")]
    ingest(lab, index(rows), layer="whiteboard", scope="garden")
    assert memories(lab, "layer", "scope") == [("whiteboard", "garden")] * 2


def test_a_file_with_a_telling_rule_in_one_chunk_is_silent_as_a_whole(lab, index):
    rows = [
        chunk("z", "memory/gift.md", 4, 9, "It is hidden in the shed."),
        chunk("a", "memory/gift.md", 1, 3, "---\ntold_at: never\n---"),
        chunk("b", "memory/tea.md", 1, 3, "She told at: nothing {here}"),
    ]
    report = ingest(lab, index(rows))
    with lab.reading() as con:
        found = con.sql("select memory_id, gated, told_at from memory_span").fetchall()
    assert sorted(found) == [("a", True, None), ("b", False, None), ("z", True, None)]
    assert "file of the index with a telling rule, all of it taken as not told: 1" in report.notices


def test_rows_that_are_no_chunks_are_dropped_with_reasons_and_the_rest_is_kept(lab, index):
    rows = [
        (None, DAY, "memory", 1, 2, "x", 1),
        (7, DAY, "memory", 1, 2, "x", 1),
        ("b", None, "memory", 1, 2, "x", 1),
        ("c", DAY, "memory", 1, 2, b"\x00blob", 1),
        ("d", DAY, "memory", 1, 2, "  ", 1),
        ("e", DAY, None, "one", 2**62, "kept", None),
    ]
    parsed = read(index(rows, OTHERS + LOOSE))
    drops = {reason: drop.lines for reason, drop in parsed.drops.items()}
    assert drops == {
        "chunk without an id": [1, 2],
        "chunk without a path": [3],
        "chunk without a text": [4, 5],
    }
    assert [claim.memory.memory_id for claim in parsed.claims] == ["e"]
    assert parsed.notes["line numbers of a chunk that are none, not used"] == 1


def test_text_that_is_no_utf_8_is_repaired_and_counted(index):
    path = index([chunk("a", DAY, 1, 2, "x")])
    with closing(sqlite3.connect(path)) as con:
        con.execute("update chunks set text = cast(x'6869ff' as text)")
        con.commit()
    parsed = read(path)
    assert list(parsed.texts.values()) == ["hi\ufffd"]
    # Rows are read twice; it is counted once.
    assert parsed.notes["text with bytes that are not UTF-8, replaced by U+FFFD"] == 1


def test_nothing_is_written_beside_an_index_in_use_and_its_log_is_told(lab, src):
    path = src / "main.sqlite"
    make(path, [chunk("a", DAY, 1, 2, "checkpointed")])
    with closing(sqlite3.connect(path)) as con:
        con.execute("pragma journal_mode = wal")
        con.execute("pragma wal_autocheckpoint = 0")
        con.execute("update chunks set text = 'in the log alone'")
        con.commit()
        before = {one.name: one.read_bytes() for one in src.iterdir()}
        report = ingest(lab, path)
        assert {one.name: one.read_bytes() for one in src.iterdir()} == before
    assert memories(lab, "text") == [("checkpointed",)]
    assert (
        "write-ahead log beside the database, not read: close the agent first: 1" in report.notices
    )


def test_a_name_with_the_letters_of_an_address_is_a_name(lab, src):
    path = make(src / "a b?mode=rwc#%41.sqlite", [chunk("a", DAY, 1, 2, "x")])
    assert ingest(lab, path).frame["kept"].to_list() == [1]
    assert [one.name for one in src.iterdir()] == [path.name]


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        # A view would run what it says, however long.
        (
            OTHERS + "create view chunks as with recursive c(id) as (select 1 union all "
            "select id + 1 from c) select id, id path, id source from c;",
            "no ordinary table 'chunks'",
        ),
        (OTHERS + "create virtual table chunks using fts5(id, text);", "no ordinary table"),
        (OTHERS + "create table chunks (id, path, text);", "columns source, start_line, end_line"),
        (
            OTHERS + "create table chunks (id, path, source, start_line, end_line, updated_at, "
            "text as (hex(zeroblob(1000000000))));",
            "must have the columns text",
        ),
    ],
)
def test_what_is_no_stored_table_of_chunks_is_never_run(src, schema, said):
    path = src / "main.sqlite"
    with closing(sqlite3.connect(path)) as con:
        con.executescript(schema)
    with pytest.raises(SourceError, match=said):
        read(path)


def test_pages_read_again_and_again_end_in_an_error(src):
    """An inner page whose entries all lead to one leaf yields more than the file holds."""
    path = src / "main.sqlite"
    rows = [chunk(f"{n:05}", DAY, 1, 2, "x" * 300) for n in range(3000)]
    make(path, rows, OTHERS + LOOSE)
    raw = bytearray(path.read_bytes())
    size = int.from_bytes(raw[16:18])
    with closing(sqlite3.connect(path)) as con:
        [(root,)] = con.execute("select rootpage from sqlite_schema where name = 'chunks'")
    page = (root - 1) * size
    assert raw[page] == 5  # an inner page of a table
    cells = int.from_bytes(raw[page + 3 : page + 5])
    places = [
        page + int.from_bytes(raw[at : at + 2]) for at in range(page + 12, page + 12 + 2 * cells, 2)
    ]
    # The second half of the file goes, and all its entries lead to the first leaf.
    leaf = bytes(raw[places[0] : places[0] + 4])
    for place in places:
        raw[place : place + 4] = leaf
    pages = int.from_bytes(leaf) + 2
    raw[28:32] = pages.to_bytes(4)
    raw[page + 8 : page + 12] = leaf
    path.write_bytes(bytes(raw[: pages * size]))
    with pytest.raises(SourceError, match="yields more than the file can hold"):
        read(path)


def test_a_cut_index_is_one_clear_error_and_imports_nothing(lab, index):
    path = index([chunk(f"{n}", DAY, 1, 2, "x" * 500) for n in range(200)])
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(SourceError, match=r"^src/main\.sqlite:1: no SQLite database that can be"):
        ingest(lab, path)
    assert memories(lab, "memory_id") == []


def test_another_programs_database_is_no_index(src):
    path = src / "other.sqlite"
    with closing(sqlite3.connect(path)) as con:
        con.executescript("create table chunks (id, text); create table files (path);")
    with pytest.raises(SourceError, match="format not recognised"):
        detect(Source(path, path.name, f"src/{path.name}"))


def test_a_second_import_reads_nothing_and_a_changed_index_replaces_its_own_rows(lab, index, src):
    path = index([chunk("a", DAY, 1, 2, "old"), chunk("b", DAY, 3, 4, "stays")])
    ingest(lab, path)
    assert ingest(lab, path).frame["kept"].to_list() == [0]
    path.unlink()
    index([chunk("c", DAY, 1, 2, "new"), chunk("b", DAY, 3, 4, "stays")])
    ingest(lab, path)
    assert memories(lab, "memory_id", "text") == [("b", "stays"), ("c", "new")]


CELL = st.one_of(
    st.none(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.binary(max_size=8),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    st.sampled_from([DAY, "MEMORY.md", "sessions", "a/../2026-13-40.md", "told_at: never"]),
)


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.tuples(*[CELL] * 7), max_size=8))
def test_records_read_are_those_kept_and_those_dropped(tmp_path, rows):
    path = tmp_path / "any.sqlite"
    path.unlink(missing_ok=True)
    parsed = read(make(path, rows, OTHERS + LOOSE))
    assert parsed.records == len(rows) == parsed.kept + parsed.dropped
    assert parsed.kept == len(parsed.claims)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("sound") / "main.sqlite"
    rows = [chunk(f"{n}", DAY, n + 1, n + 3, f"text {n} " * 40) for n in range(40)]
    return make(path, rows).read_bytes()


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes=st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), min_size=1, max_size=40))
def test_an_index_with_changed_bytes_is_read_or_refused_in_one_way(tmp_path, sound, changes):
    path = tmp_path / "any.sqlite"
    raw = bytearray(sound)
    for place, byte in changes:
        raw[16 + round(place * (len(raw) - 17))] = byte
    path.write_bytes(raw)
    parsed: list[Parsed] = []
    if (error := refusal(lambda: parsed.append(read(path)))) is not None:
        assert "src/any.sqlite:1: " in error
        return
    assert parsed[0].records == len(parsed[0].claims) + parsed[0].dropped
