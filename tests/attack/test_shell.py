"""The shell with input nobody would give on purpose: one line and exit code 2, no traceback."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import duckdb
import pytest

from attack.conftest import record
from recalltune import cli
from recalltune.errors import ParameterError
from recalltune.production import replacing
from recalltune.sweep.space import Space

pytestmark = pytest.mark.slow


def run(monkeypatch: pytest.MonkeyPatch, *words: str | Path) -> int:
    monkeypatch.setattr(sys, "argv", ["recalltune", *map(str, words)])
    with pytest.raises(SystemExit) as left:
        cli.main()
    return int(left.value.code or 0)


@pytest.fixture
def lab_file(world, tmp_path: Path) -> Path:
    return world([record("a", "alpha")]).path


@pytest.mark.parametrize(
    "sql",
    [
        "create table schema_number as select 'x' as foo",
        "create table schema_number as select 'x' as number",
        "create table schema_number as select 1 as number",
        "create view v as select 1",
    ],
)
def test_a_database_of_another_program_is_refused_and_left_alone(
    tmp_path: Path, monkeypatch, capsys, sql: str
):
    file = tmp_path / "foreign.duckdb"
    with duckdb.connect(str(file)) as con:
        con.execute(sql)
    before = file.read_bytes()
    assert run(monkeypatch, "replay", "--db", file, "--config", "textbook") == 2
    assert "not a lab" in capsys.readouterr().err
    assert file.read_bytes() == before


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"a=" + b"[" * 5000])
@pytest.mark.parametrize("option", ["--config", "--space"])
def test_a_config_or_space_that_is_no_text_or_too_deep_is_one_line(
    lab_file: Path, tmp_path: Path, monkeypatch, capsys, content: bytes, option: str
):
    file = tmp_path / "c.toml"
    file.write_bytes(content)
    (tmp_path / "cases.json").write_text('[{"name": "c", "query": "alpha", "targets": ["a"]}]')
    cases = ["cases", "--db", lab_file, "--set", "x", tmp_path / "cases.json"]
    monkeypatch.setattr(sys, "argv", ["recalltune", *map(str, cases)])
    with pytest.raises(SystemExit):
        cli.main()
    words = {"--config": "textbook", "--space": "none.toml", option: file}
    flat = [word for pair in words.items() for word in pair]
    assert run(monkeypatch, "sweep", "--db", lab_file, "--cases", "x", *flat) == 2
    assert "c.toml:1: not" in capsys.readouterr().err


@pytest.mark.parametrize(
    "case",
    [
        {"limit": 10**30},
        {"limit": 2**40},
        {"expectTopK": 10**30},
        {"at": "0001-01-01T00:00:00+14:00"},
        {"at": "9999-12-31T23:59:59-14:00"},
    ],
)
def test_numbers_and_instants_no_table_can_hold_are_refused_by_line(
    lab_file: Path, tmp_path: Path, monkeypatch, capsys, case: dict[str, object]
):
    file = tmp_path / "cases.json"
    file.write_text(json.dumps([{"name": "c", "query": "q", **case}]))
    assert run(monkeypatch, "cases", "--db", lab_file, file) == 2
    assert "cases.json:1: case 1 ('c')" in capsys.readouterr().err


def test_paths_that_cannot_be_are_one_line(lab_file: Path, tmp_path: Path, monkeypatch, capsys):
    long = "x" * 300
    (tmp_path / "file").write_bytes(b"")
    for words in (
        ["ingest", "--db", tmp_path / "file" / "sub" / "lab.duckdb", tmp_path],
        ["ingest", "--db", lab_file, long],
        ["replay", "--db", long, "--config", "textbook"],
        ["replay", "--db", "", "--config", "textbook"],
        ["replay", "--db", lab_file, "--config", long],
        ["cases", "--db", lab_file, long],
        ["export", "textbook", "--into", tmp_path / long],
    ):
        assert run(monkeypatch, *words) == 2
        assert capsys.readouterr().err.startswith("error: ")


def test_no_device_or_folder_is_replaced_by_a_result(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path):
        with pytest.raises(ParameterError, match="no plain file"):
            replacing.write_private(path, "x")
    assert (tmp_path / "pipe").is_fifo()


def test_a_message_cannot_steer_the_terminal(tmp_path: Path, monkeypatch, capsys):
    hostile = tmp_path / "\x1b[2Jx\u202e.duckdb"
    assert run(monkeypatch, "replay", "--db", hostile, "--config", "textbook") == 2
    said = capsys.readouterr().err
    assert "\x1b" not in said
    assert "\u202e" not in said
    config = tmp_path / "config.json"
    config.write_text('{"retrieval": {"key\\u001b[2J": 1}}')
    run_export = ["export", "recallnest", "--to", "recallnest", "--dry-run", "--into", config]
    monkeypatch.setattr(sys, "argv", ["recalltune", *map(str, run_export)])
    with pytest.raises(SystemExit):
        cli.main()
    assert "\x1b" not in capsys.readouterr().out


def test_ranges_of_small_steps_keep_their_decimals():
    axes = Space({"x": {"start": 0, "stop": 5e-7, "step": 1e-7}}).axes
    assert axes["x"] == (0, 1e-7, 2e-7, 3e-7, 4e-7, 5e-7)


@pytest.mark.parametrize(
    "ends",
    [
        {"start": 0, "stop": 1, "step": 1e-300},
        {"start": 0, "stop": 1, "step": float("inf")},
        {"start": "a", "stop": 1, "step": 1},
        {"start": 0, "stop": 1, "step": None},
        {"start": 10**400, "stop": 10**401, "step": 1},
    ],
)
def test_ranges_that_are_no_ranges_are_refused_before_they_are_made(ends):
    with pytest.raises(ParameterError, match="a range needs"):
        Space({"x": ends})


def test_an_undo_that_is_killed_between_its_two_writes_loses_nothing(tmp_path: Path, monkeypatch):
    file, backup = tmp_path / "config.json", tmp_path / "config.json.bak"
    file.write_bytes(b"exported")
    backup.write_bytes(b"original")
    put, calls = replacing._put, []

    def killed(path, *rest):
        if calls:
            raise KeyboardInterrupt
        calls.append(path)
        put(path, *rest)

    monkeypatch.setattr(replacing, "_put", killed)
    with pytest.raises(KeyboardInterrupt):
        replacing.restore(file)
    assert b"original" in (file.read_bytes(), backup.read_bytes())
