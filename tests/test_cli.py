"""The shell: every verb does its one call, and bad input ends in one line and exit code 2."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recalltune.cli import main
from small_lab import Ask, Note, make_lab

pytestmark = pytest.mark.slow

NOTES = [
    Note(f"m{n:02d}", f"tea {word} note", float(n), layer=layer)
    for n, (word, layer) in enumerate(
        [("garden", "log"), ("server", "project"), ("backup", "log"), ("release", "user")] * 3
    )
]
ASKS = [
    Ask(f"c{n}", word, 20.0, (f"m{n:02d}",), session=f"s{n}", split=("tune", "held_out")[n % 2])
    for n, word in enumerate(["garden", "server", "backup", "release"])
]
LEXICAL = """
[arms.lexical]
[[stages]]
kind = "rrf"
[[stages]]
kind = "decay"
family = "none"
[[stages]]
kind = "select"
top_k = 3
"""


Call = Callable[..., str]


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Run one command line in this process; returns what it said on both streams."""

    def run(*words: str | Path, code: int = 0) -> str:
        monkeypatch.setattr(sys, "argv", ["recalltune", *map(str, words)])
        with pytest.raises(SystemExit) as left:
            main()
        said = capsys.readouterr()
        assert (left.value.code or 0) == code, said.out + said.err
        return said.out + said.err

    return run


@pytest.fixture
def files(tmp_path: Path) -> Path:
    make_lab(tmp_path / "lab.duckdb", NOTES, ASKS)
    (tmp_path / "lexical.toml").write_text(LEXICAL, encoding="utf-8")
    (tmp_path / "space.toml").write_text(
        '[space]\n"decay.family" = ["none", "exponential"]\n', encoding="utf-8"
    )
    return tmp_path


def test_from_a_sweep_to_an_exported_file_with_its_evidence(call: Call, files: Path) -> None:
    db, config = files / "lab.duckdb", files / "lexical.toml"
    common = ("--db", db, "--cases", "s", "--config", config)
    told = call("sweep", *common, "--space", files / "space.toml")
    sweep_id = told.split("sweep ")[-1].split()[0]
    chosen = files / "chosen.toml"
    said = call("choose", "--db", db, "--sweep", sweep_id, "--out", chosen)
    assert "default stays" in " ".join(said.split())
    exported = files / "chosen.json"
    call("export", chosen, "--to", "json", "--into", exported, "--db", db)
    content = json.loads(exported.read_text(encoding="utf-8"))
    assert content["fingerprints"]["chosen_over"]
    assert content["metrics"]["ndcg@10 held out"] is not None
    assert oct(exported.stat().st_mode & 0o777) == "0o600"


def test_an_export_whose_data_moved_on_is_a_finding(call: Call, files: Path) -> None:
    chosen = files / "lexical.toml"
    told = call("export", chosen, "--into", files / "x.json", "--db", files / "lab.duckdb", code=1)
    assert "marked: no evidence" in told
    assert "finding: the evidence is from data not known" in told


def test_evaluate_explain_and_replay_say_what_they_found(call: Call, files: Path) -> None:
    db, config = files / "lab.duckdb", files / "lexical.toml"
    table = call("evaluate", "--db", db, "--cases", "s", "--config", config, "--by", "lang")
    assert "ndcg@10" in table
    parsed = json.loads(call("evaluate", "--db", db, "--cases", "s", "--config", config, "--json"))
    assert parsed["summary"][0]["n"] == 2
    assert parsed["counts"]["not_scored"] == 2
    command = ("evaluate", "--db", db, "--cases", "s", "--config", config, "--split", "all")
    assert json.loads(call(*command, "--json"))["summary"][0]["n"] == 4
    compared = call(
        "evaluate", "--db", db, "--cases", "s", "--config", config, "--baseline", config
    )
    assert "recall_all@10" in compared
    shown = call("explain", "--db", db, "--config", config, "garden", "--scope", "team")
    assert "m00" in shown
    assert "rrf" in shown
    case = call("explain", "--db", db, "--config", config, "--case", "s/c1")
    assert "m01" in case


def test_bind_says_which_parameters_change_a_list(call: Call, files: Path) -> None:
    common = ("--db", files / "lab.duckdb", "--cases", "s", "--config", files / "lexical.toml")
    told = call("bind", *common)
    rows = {line.split()[0]: line for line in told.splitlines()}
    assert rows["select.caps.log"].endswith("  binds")
    # Every question has three candidates, so three places hold nothing back and fewer do.
    assert rows["select.top_k"].endswith("  saturates")
    assert "no list changed at the values tried above: 4 to 10, 30, 100, 1000; one" in told
    assert rows["decay.half_life_days"].endswith("  never binds")
    assert "not read, as the other values of decay stand: decay.half_life_days" in told
    record = json.loads(call("bind", *common, "--most-queries", "2", "--json"))
    assert {row["queries"] for row in record["parameters"]} <= {2, None}
    assert "never binds" not in {row["verdict"] for row in record["parameters"]}
    assert record["cases"] == 4


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["evaluate", "--db", "absent.duckdb", "--cases", "s", "--config", "textbook"], "--db"),
        (["evaluate", "--db", "{db}", "--cases", "t", "--config", "{config}"], "known: s"),
        (
            ["evaluate", "--db", "{db}", "--cases", "s", "--config", "textbok"],
            "nearest: 'textbook'",
        ),
        (["explain", "--db", "{db}", "--config", "{config}"], "exactly one"),
        (["explain", "--db", "{db}", "--config", "{config}", "x", "--at", "noon"], "ISO 8601"),
        (
            ["explain", "--db", "{db}", "--config", "{config}", "x", "--at", "2026-01-01"],
            "time zone",
        ),
        (["sweep", "--db", "{db}", "--cases", "s"], "Missing option"),
        (["choose", "--db", "{db}", "--sweep", "nothing"], "sweep_id must exist"),
        (["ingest", "--db", "{db}", "absent.jsonl"], "absent.jsonl"),
        (["export", "{config}", "--to", "csv", "--into", "x"], "to must be one of"),
        (["fly"], "No such command"),
    ],
)
def test_bad_input_ends_in_one_line_and_exit_code_2(
    call: Call, files: Path, words: list[str], told: str
) -> None:
    places = {"db": files / "lab.duckdb", "config": files / "lexical.toml"}
    assert told in call(*(word.format(**places) for word in words), code=2)


@pytest.mark.parametrize(
    "verb",
    [
        "demo",
        "ingest",
        "cases",
        "evaluate",
        "explain",
        "bind",
        "replay",
        "sweep",
        "choose",
        "export",
        "report",
    ],
)
def test_every_verb_has_help_with_an_example(call: Call, verb: str) -> None:
    assert "Example: recalltune" in " ".join(call(verb, "--help").split())


def test_a_process_ends_without_a_traceback(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "recalltune.cli", "ingest", "--db", tmp_path / "x", "absent"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr


def test_looks_at_held_out_cases_are_counted_whatever_command_looks(
    call: Call, files: Path
) -> None:
    db, config = files / "lab.duckdb", files / "lexical.toml"
    common = ("evaluate", "--db", db, "--cases", "s", "--config", config)
    assert "looked at" not in call(*common)
    held = call(*common, "--split", "held_out")
    assert "have now been looked at 1 times" in " ".join(held.split())
    both = call(*common, "--split", "all", "--baseline", "textbook")
    assert "have now been looked at 2 times" in " ".join(both.split())
    told = call("sweep", *common[1:], "--space", files / "space.toml")
    sweep_id = told.split("sweep ")[-1].split()[0]
    said = call("choose", "--db", db, "--sweep", sweep_id)
    assert "have now been looked at 3 times" in " ".join(said.split())


def test_bytes_that_are_no_text_and_questions_without_one_are_refused(
    call: Call, files: Path
) -> None:
    common = ("explain", "--db", files / "lab.duckdb", "--config", files / "lexical.toml")
    assert "argument 6 holds bytes that are not UTF-8" in call(*common, "\udcff", code=2)
    assert "text must ask something" in call(*common, "  ", code=2)


def test_a_config_of_tables_in_tables_is_one_line(call: Call, files: Path) -> None:
    deep = files / "deep.toml"
    deep.write_text("[a" + ".a" * 3_000 + "]\nx=1\n", encoding="utf-8")
    common = ("evaluate", "--db", files / "lab.duckdb", "--cases", "s", "--config", deep)
    told = call(*common, code=2)
    assert "not a parameter" in told
    assert len(told) < 1_000


def test_a_report_of_a_saved_sweep_is_about_that_sweep(
    call: Call, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = []

    def kept(journey: Any, out: Path, **options: Any) -> list[Path]:
        told.append(journey)
        return [out / "r.html"]

    monkeypatch.setattr("recalltune.report.journey.write_journey", kept)
    db, config = files / "lab.duckdb", files / "lexical.toml"
    common = ("--db", db, "--cases", "s", "--config", config)
    sweep_id = (
        call("sweep", *common, "--space", files / "space.toml").split("sweep ")[-1].split()[0]
    )
    call("report", *common, "--sweep", sweep_id, "--out", files / "r.html")
    assert told[0].sweep.sweep_id == sweep_id
    other = ("--db", db, "--cases", "s", "--config", "recallnest")
    assert "starts from config" in call("report", *other, "--sweep", sweep_id, code=2)
