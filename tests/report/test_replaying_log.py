"""What the shell says of a replayed search log, and what it refuses."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from logged_searches import Search, log_searches, ranking
from recalltune.cli import main
from recalltune.replay.search_log import replay_search_log
from recalltune.report.replaying_log import log_notices, log_replay_lines
from recalltune.report.text import width
from small_lab import Note, make_lab

pytestmark = pytest.mark.slow

LEXICAL = """
[arms.lexical]
b = 0.0
[[stages]]
kind = "rrf"
[[stages]]
kind = "select"
top_k = 3
"""
FADING = LEXICAL.replace(
    'kind = "rrf"\n', 'kind = "rrf"\n[[stages]]\nkind = "decay"\nhalf_life_days = 1.0\n'
)
NOTES = [
    Note("a", "tea tea tea tea", 4.0),
    Note("b", "tea tea tea one", 4.0),
    Note("c", "tea tea one two", 0.0),
    Note("d", "tea one two three", 4.0),
    Note("e", "tea", 7.0),
    Note("hush", "tea tea tea tea tea", 1.0, gated=True),
]
LOG = [
    Search("q", ("a", "b", "d"), query="tea \x1b[31m 茶"),
    Search("r", ("a", "b", "d", "a"), day=6.0),
    Search("s", ("a", "hush", "e"), day=7.0),
    Search("u", ("a",), day=None),
]
Call = Callable[..., tuple[str, str]]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    log_searches(make_lab(tmp_path / "lab.duckdb", NOTES, []), LOG)
    (tmp_path / "plain.toml").write_text(LEXICAL, encoding="utf-8")
    (tmp_path / "fading.toml").write_text(FADING, encoding="utf-8")
    return tmp_path


@pytest.fixture
def call(files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Run one command line over the lab; returns both streams."""

    def run(*words: str | Path, code: int = 0) -> tuple[str, str]:
        common = ("replay", "--db", files / "lab.duckdb", "--config", files / "plain.toml")
        monkeypatch.setattr(sys, "argv", ["recalltune", *map(str, (*common, *words))])
        with pytest.raises(SystemExit) as left:
            main()
        said = capsys.readouterr()
        assert (left.value.code or 0) == code, said.out + said.err
        return said.out, said.err

    return run


def test_the_shell_says_what_changes_and_what_was_left_out(call: Call, files: Path) -> None:
    told, _ = call("--log", "--production", files / "fading.toml")
    assert "2 logged queries compared, in 2 sessions: the log names none" in told
    assert "churn above the floor" in told
    for notice in (
        "notice: 1 logged query without a time: not replayed",
        "notice: 2 of 9 ids shown unknown or outside the world of the query",
        "notice: 1 of them enters it at the time of the query or later",
        "notice: 1 query with over 10% of the ids left out: set aside",
        "notice: 1 id repeated in a list: the first place counts",
        "notice: 1 memory entered at the very instant of a query: not seen by it",
    ):
        assert notice in told
    assert "hush" not in told
    assert "\x1b" not in told
    assert max(map(width, told.splitlines())) <= 100


def test_without_a_production_the_churn_is_said_to_be_the_floor(call: Call) -> None:
    told, _ = call("--log")
    assert "the configuration is taken to be production's own" in told


def test_json_is_an_object_a_logged_query_and_the_rest_goes_elsewhere(
    call: Call, files: Path
) -> None:
    told, beside = call("--log", "--production", files / "fading.toml", "--json")
    objects = [json.loads(line) for line in told.splitlines()]
    assert [one["query_id"] for one in objects] == ["q", "r", "s"]
    assert [one["set_aside"] for one in objects] == [False, False, True]
    entered = [one for one in objects[0]["differences"] if one["change"] == "entered"]
    assert [(one["memory_id"], one["explained_by"]) for one in entered] == [("c", "decay")]
    assert "1 logged query without a time" in beside
    assert "hush" not in told + beside


def test_what_contradicts_the_log_is_refused(call: Call, files: Path) -> None:
    for words in (("--session", "s"), ("--cases", "s"), ("--scope", "team")):
        _, told = call("--log", *words, code=2)
        assert "--log replays every logged query in its own scope, got" in told
    _, told = call("--production", files / "fading.toml", code=2)
    assert "give --log with it" in told


def test_a_log_of_nothing_but_strangers_is_a_finding(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = make_lab(tmp_path / "other.duckdb", NOTES, [])
    log_searches(lab, [Search("q", ("ghost", "hush"))])
    told, _ = call("--log", "--db", lab.path, code=1)
    assert "finding: no logged query can be compared: all are set aside" in told


def test_what_is_said_depends_on_the_interval(tmp_path: Path) -> None:
    """30 days on which production shows d and the other ranking c; then the other way round."""
    notes = [Note(one, text, -40.0) for one, text in zip("abd", ("tea tea", "tea tea", "tea one"),
                                                        strict=True)]  # fmt: skip
    lab = make_lab(tmp_path / "l.duckdb", notes, [])
    log_searches(lab, [Search(f"q{n}", ("a", "b"), day=float(n)) for n in range(30)])
    best = ranking(top_k=2)
    strict = ranking({"kind": "threshold", "min_score": 1.0}, top_k=2)
    worse = replay_search_log(lab, strict, production=best)
    assert any("more changes than replaying production" in line for line in log_replay_lines(worse))
    nearer = replay_search_log(lab, best, production=strict)
    assert any("was it written by that?" in line for line in log_replay_lines(nearer))
    assert log_notices(nearer) == []
