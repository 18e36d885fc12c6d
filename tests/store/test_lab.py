"""The lab file: creation, privacy, locks between processes, schema numbers, transactions."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import textwrap
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import duckdb
import pytest

from recalltune import store
from recalltune.errors import ContractError


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def _child(code: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


def _answer(child: subprocess.Popen[str]) -> str:
    assert child.stdout is not None
    return child.stdout.readline().strip()


def _finish(child: subprocess.Popen[str]) -> str:
    out, err = child.communicate("\n", timeout=60)
    assert child.returncode == 0, err
    return out


def test_a_new_lab_is_private_with_its_folder_and_its_write_ahead_log(tmp_path: Path):
    before = os.umask(0o022)
    try:
        lab = store.open(tmp_path / "deep" / "lab.duckdb")
        with lab.writing() as con:
            store.put_texts(con, ["a secret"])
            modes = {path.name: _mode(path) for path in lab.path.parent.iterdir()}
        assert os.umask(0o022) == 0o022
    finally:
        os.umask(before)
    assert _mode(lab.path.parent) == 0o700
    assert set(modes.values()) == {0o600}


def test_a_symbolic_link_is_refused_and_its_target_named(tmp_path: Path):
    store.open(tmp_path / "real.duckdb")
    (tmp_path / "link.duckdb").symlink_to(tmp_path / "real.duckdb")
    with pytest.raises(ContractError, match=r"link\.duckdb is a symbolic link.*real\.duckdb"):
        store.open(tmp_path / "link.duckdb")


def test_a_symbolic_link_in_place_of_the_write_ahead_log_is_refused(tmp_path: Path):
    (tmp_path / "lab.duckdb.wal").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ContractError, match="symbolic link"):
        store.open(tmp_path / "lab.duckdb")
    assert not (tmp_path / "elsewhere").exists()


def test_a_folder_is_refused(tmp_path: Path):
    with pytest.raises(ContractError, match="is a folder"):
        store.open(tmp_path)


@pytest.mark.parametrize("content", [b"", b"not a database" * 100])
def test_a_file_that_is_no_database_is_refused_without_advice_to_delete_it(
    tmp_path: Path, content: bytes
):
    path = tmp_path / "lab.duckdb"
    path.write_bytes(content)
    with pytest.raises(ContractError, match="no DuckDB file, so no lab") as refused:
        store.open(path)
    assert "rm " not in str(refused.value)


def test_someone_elses_database_is_refused_and_left_alone(tmp_path: Path):
    path = tmp_path / "lab.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute("create table sales (x integer)")
    with pytest.raises(ContractError, match="not a lab"):
        store.open(path)
    with duckdb.connect(str(path)) as con:
        assert con.sql("select table_name from duckdb_tables()").fetchall() == [("sales",)]


@pytest.mark.parametrize(("offset", "age"), [(-1, "older"), (1, "newer")])
def test_bug_91_another_schema_number_names_both_and_the_way_out(
    tmp_path: Path, offset: int, age: str
):
    """N91. Kind: database newer than the library."""
    lab = store.open(tmp_path / "lab.duckdb")
    other = store.SCHEMA_NUMBER + offset
    with lab.writing() as con:
        con.execute("update schema_number set number = ?", [other])
    expected = (
        rf"schema {other}, {age} than the {store.SCHEMA_NUMBER} of this library.*"
        rf"rm {lab.path} && recalltune ingest --db {lab.path} PATH\.\.\."
    )
    with pytest.raises(ContractError, match=expected):
        store.open(lab.path)


def test_a_creation_that_was_killed_half_way_is_finished_by_the_next_open(tmp_path: Path):
    path = tmp_path / "lab.duckdb"
    duckdb.connect(str(path)).close()
    lab = store.open(path)
    with lab.reading() as con:
        assert store.read_spans(con).is_empty()


def test_an_error_inside_writing_rolls_everything_back(tmp_path: Path):
    lab = store.open(tmp_path / "lab.duckdb")
    with lab.reading() as con:
        before = store.data_digest(con)
    with suppress(RuntimeError), lab.writing() as con:
        store.insert_rows(con, [store.Memory(memory_id="m", text_hash="0" * 64)])
        raise RuntimeError
    with lab.reading() as con:
        assert store.data_digest(con) == before


def test_an_error_caught_inside_writing_still_writes_nothing(tmp_path: Path):
    lab = store.open(tmp_path / "lab.duckdb")
    row = store.Memory(memory_id="m", text_hash="0" * 64)

    def careless() -> None:
        with lab.writing() as con:
            store.insert_rows(con, [row])
            with suppress(ContractError):
                store.insert_rows(con, [row])

    with pytest.raises(ContractError, match="nothing was written"):
        careless()
    with lab.reading() as con:
        assert store.read_table(con, "memory").is_empty()


def test_a_reading_connection_cannot_write(tmp_path: Path):
    lab = store.open(tmp_path / "lab.duckdb")
    with lab.reading() as con, pytest.raises(duckdb.InvalidInputException, match="read-only"):
        con.execute("delete from memory")


def test_reading_inside_writing_says_to_leave_the_outer_block(tmp_path: Path):
    lab = store.open(tmp_path / "lab.duckdb")
    with lab.writing(), pytest.raises(store.LockedError, match="already open in this process"):
        lab.reading().__enter__()


def test_bug_90_an_idle_reader_in_another_process_does_not_block_a_writer(tmp_path: Path):
    """N90. Kind: file lock between notebooks."""
    lab = store.open(tmp_path / "lab.duckdb")
    notebook = _child(
        """
        import sys
        from recalltune import store
        lab = store.open(sys.argv[1])
        with lab.reading() as con:
            store.read_spans(con)
        print("idle", flush=True)
        sys.stdin.readline()
        with lab.reading() as con:
            print(store.read_memories(con).height)
        """,
        str(lab.path),
    )
    assert _answer(notebook) == "idle"
    with lab.writing() as con:
        [text] = store.put_texts(con, ["written while the notebook was idle"])
        store.insert_rows(con, [store.Memory(memory_id="m", text_hash=text)])
    assert _finish(notebook).strip() == "1"


def test_bug_90_the_lock_error_names_the_process_and_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    lab = store.open(tmp_path / "lab.duckdb")
    holder = _child(
        """
        import sys
        from recalltune import store
        with store.open(sys.argv[1]).writing():
            print("held", flush=True)
            sys.stdin.readline()
        """,
        str(lab.path),
    )
    assert _answer(holder) == "held"
    monkeypatch.setattr("recalltune.store.lab._ATTEMPTS", 2)  # of a hundred, in five seconds
    with pytest.raises(store.LockedError, match=rf"PID {holder.pid}\).*close it there"):
        lab.reading().__enter__()
    _finish(holder)
    with lab.reading() as con:
        assert store.read_memories(con).is_empty()


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Asia/Shanghai"])
def test_bug_46_instants_are_the_same_whatever_zone_the_process_lives_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, zone: str
):
    monkeypatch.setenv("TZ", zone)
    lab = store.open(tmp_path / "lab.duckdb")
    there = timezone(timedelta(hours=8))
    with lab.writing() as con:
        [text] = store.put_texts(con, ["noon"])
        store.insert_rows(
            con,
            [
                store.Memory(memory_id="m", text_hash=text),
                store.MemorySpan(
                    memory_id="m",
                    text_hash=text,
                    event_at=datetime(2026, 3, 1, 12, tzinfo=UTC),
                    known_at=datetime(2026, 3, 1, 20, tzinfo=there),
                ),
            ],
        )
    with lab.reading() as con:
        spans = store.read_spans(con)
    # 2026-03-01T12:00:00Z is 1772366400 seconds after 1970; 20:00 at +08:00 is the same instant.
    assert spans["event_at"].to_list() == [1772366400 * 10**6]
    assert spans["known_at"].to_list() == [1772366400 * 10**6]


def test_bug_119_extensions_are_never_downloaded(tmp_path: Path):
    """O119. Kind: extension download at run time."""
    lab = store.open(tmp_path / "lab.duckdb")
    with lab.reading() as con:
        setting = con.sql("select current_setting('autoinstall_known_extensions')").fetchall()
    assert setting == [(False,)]


def test_bug_103_text_that_looks_like_sql_is_plain_text(tmp_path: Path):
    lab = store.open(tmp_path / "lab.duckdb")
    hostile = ["'; drop table memory; --", 'a" OR 1=1 --', '"unbalanced (AND OR NOT * :', "nul\x00"]
    with lab.writing() as con:
        hashes = store.put_texts(con, hostile)
        store.insert_rows(
            con,
            [
                store.Memory(memory_id=text, text_hash=text_hash)
                for text, text_hash in zip(hostile, hashes, strict=True)
            ],
        )
    with lab.reading() as con:
        assert sorted(store.read_memories(con)["text"]) == sorted(hostile)
        assert store.read_table(con, "memory", memory_id=hostile[0]).height == 1
