"""A replay on the terminal: readable times and ids, a total that adds up, a stream for programs."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import recalltune as rt
from recalltune.cli import main
from recalltune.pipeline.config import load_config
from recalltune.report.replaying import json_line, replay_findings, replay_lines, short_ids
from recalltune.report.text import width
from small_lab import Ask, Note, make_lab

pytestmark = pytest.mark.slow

LEXICAL = """
[arms.lexical]
width = 3
[[stages]]
kind = "rrf"
[[stages]]
kind = "threshold"
min_score = 0.001
[[stages]]
kind = "select"
top_k = 2
"""
LONG = "0f3c9a52-1111-5a3e-856b-2c61c1e835e"
NOTES = [
    *(Note(f"m{n}", f"tea {word}", float(n)) for n, word in enumerate(["garden", "server", "oil"])),
    Note("wide", "tea in every garden and every server", 1.0),
    Note("secret\x1b[31m", "surprise", 1.0, gated=True),
]
ASKS = [
    Ask("garden", "tea garden", 9.0, ("m0", "wide"), session=f"{LONG}1"),
    Ask("later", "tea", 9.5, ("m2",), session=f"{LONG}2"),
    Ask("nothing", "zebra", 9.5, (), session=f"{LONG}2", kind="nothing_to_find"),
    Ask("held", "tea", 9.5, ("m1",), split="held_out"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("replaying")
    make_lab(made / "lab.duckdb", NOTES, ASKS)
    (made / "lexical.toml").write_text(LEXICAL, encoding="utf-8")
    return made


@pytest.fixture
def call(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[str, str, int]]:
    def run(*words: str) -> tuple[str, str, int]:
        fixed = ["--db", str(folder / "lab.duckdb"), "--config", str(folder / "lexical.toml")]
        monkeypatch.setattr(sys, "argv", ["recalltune", "replay", *fixed, *words])
        with pytest.raises(SystemExit) as left:
            main()
        return *capsys.readouterr(), int(left.value.code or 0)

    return run


def test_people_read_times_short_ids_a_total_a_legend_and_what_was_lost(call) -> None:
    said, _, code = call("--cases", "s")
    lines = said.splitlines()
    assert code == 0
    assert [line for line in lines if width(line) > 100] == []
    assert LONG not in said
    head, first = lines[1].split(), lines[2].split()
    assert head == [
        "step", "session", "at", "asked", "world", "cand", "shown", "tokens", "empty",
    ]  # fmt: skip
    assert first[:3] == ["garden", f"{LONG[:6]}…{LONG[-6:]}1", "2026-01-10T00:00:00Z"]
    assert first[-4:-1] == ["4", "3", "2"]
    [total] = [line for line in lines if line.startswith("total")]
    assert "2 sessions" in total
    assert "3 steps" in total
    assert total.split()[-2:] == ["1", "empty"]
    assert any(line.startswith("world: memories the step could see") for line in lines)
    assert "3 targets: 2 shown, 1 lost" in lines
    [lost] = [line.split() for line in lines if line.startswith("select")]
    assert lost == ["select", "1", "never", "in", "the", "first", "places", "2"]
    nothing = "nothing to find: 1 of 1 step shown nothing (wanted): no evidence 1; 0 tokens"
    assert nothing in said
    assert "notice: 1 case held out: not walked" in lines
    assert "kept: run replay-" in said


def test_a_program_reads_one_object_a_line_in_ascii(call) -> None:
    said, _, code = call("--cases", "s", "--json")
    accounts = [json.loads(line) for line in said.splitlines()]
    assert code == 0
    assert [account["query_id"] for account in accounts] == ["garden", "later", "nothing"]
    assert said.isascii()
    assert "surprise" not in said
    assert accounts[0]["at"] == "2026-01-10T00:00:00Z"


def test_a_finding_is_exit_code_1_and_bad_input_2(call, folder: Path) -> None:
    said, told, code = call("--cases", "none")
    assert (code, said) == (2, "")
    assert "known: s" in told
    said, told, code = call("--cases", "s", "--scope", "team")
    assert (code, "scope must be left out" in told) == (2, True)
    silent = [Ask("c", "zebra", 9.0, ("nobody",))]
    lab = make_lab(folder / "silent.duckdb", NOTES, silent)
    walked = rt.replay(lab, load_config(str(folder / "lexical.toml")), cases="s")
    found = ["nothing is recalled at any step", "1 label names no memory"]
    assert replay_findings(walked) == found
    assert replay_lines(walked)[-2:] == [f"finding: {one}" for one in found]
    for more in ([], ["--json"]):
        said, told, code = call("--db", str(folder / "silent.duckdb"), "--cases", "s", *more)
        assert code == 1


def test_whoever_reads_may_leave_early(folder: Path) -> None:
    words = ["--db", str(folder / "lab.duckdb"), "--config", str(folder / "lexical.toml")]
    command = [sys.executable, "-m", "recalltune", "replay", *words, "--cases", "s", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.close()
        told = child.stderr.read()
    assert (child.returncode, told) == (0, b"")


@given(st.lists(st.text(min_size=1, max_size=30), min_size=1, max_size=6, unique=True))
def test_short_ids_are_short_and_as_distinct_as_the_ids(names: list[str]) -> None:
    short = short_ids(names)
    assert len(set(short)) == len(names)
    assert all(width(one) <= 20 or one in names for one in short)
    assert short_ids([*names, *names]) == short * 2


def test_what_stands_in_an_id_can_steer_no_terminal() -> None:
    line = json_line({"query_id": "a\x1b[31m\u202e\u2028\x9b"})
    assert line.isascii()
    assert line.isprintable()
