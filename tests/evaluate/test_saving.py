"""Every run that is kept says what it had to do without; a lab in use stops no evaluation."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import polars as pl
import pytest

import recalltune as rt
from recalltune.candidates import build
from recalltune.candidates.ledger import REASONS, degradations
from recalltune.cli import main
from recalltune.errors import ContractError, checked
from recalltune.pipeline.config import RankingConfig
from recalltune.store import (
    Lab,
    LockedError,
    ReadOnlyError,
    Turn,
    get_vectors,
    insert_rows,
    put_texts,
    read_table,
    text_hash,
)
from recalltune.store import lab as lab_module
from small_lab import Ask, Note, WordEncoder, instant, make_lab

pytestmark = pytest.mark.slow

CONFIG = checked(
    RankingConfig,
    {
        "arms": {"lexical": {}, "dense": {}},
        "stages": [
            {"kind": "rrf"},
            {"kind": "decay", "family": "none"},
            {"kind": "select", "top_k": 3},
        ],
    },
)
NOTES = [Note("a", "tea garden", 1.0), Note("b", "tea", 2.0), Note("c", "server", 3.0)]
ASKS = [
    Ask("one", "tea", 10.0, ("a",), session="s1"),
    Ask("two", "server", 11.0, ("c",), session="s2"),
    Ask("none", "nothing of it", 12.0, (), session="s3"),
]
NO_MODEL = REASONS["dense_arm_missing"]
TABLES = ("run", "hit", "metric", "packing", "ledger")
ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    made = make_lab(tmp_path / "lab.duckdb", NOTES, ASKS)
    turn = Turn(
        turn_id="t", session_id="s", seq=0, role="user", text_hash=text_hash("tea"), source="test"
    )
    with made.writing() as con:
        put_texts(con, ["tea"])
        insert_rows(con, [turn.with_(said_at=instant(9.0))])
    (tmp_path / "both.toml").write_text(CONFIG.to_toml(), encoding="utf-8")
    return made


@pytest.fixture
def no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "resolve", lambda name: (None, "nothing is installed"))


@pytest.fixture
def a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "resolve", lambda name: (WordEncoder(), "words"))


@pytest.fixture
def call(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[str, str]]:
    """Run one verb on the lab in this process; what it said, and what it said aside."""

    def run(verb: str, *words: str) -> tuple[str, str]:
        config = str(lab.path.parent / "both.toml")
        line = ["recalltune", verb, "--db", str(lab.path), "--config", config, *words]
        monkeypatch.setattr(sys, "argv", line)
        with pytest.raises(SystemExit) as left:
            main()
        said = capsys.readouterr()
        assert not left.value.code, said.out + said.err
        return said.out, said.err

    return run


def kept(lab: Lab, run_id: str) -> dict[str, pl.DataFrame]:
    with lab.reading() as con:
        return {name: read_table(con, name, run_id=run_id) for name in TABLES}


def hops(lab: Lab, run_id: str) -> list[tuple[str, str]]:
    return kept(lab, run_id)["ledger"].select("hop", "reason").rows()


def run_ids(lab: Lab) -> list[str]:
    with lab.reading() as con:
        return read_table(con, "run")["run_id"].to_list()


@contextmanager
def another_process(lab: Lab, mode: str) -> Iterator[None]:
    """A notebook stopped in a block that reads, or writes, this lab."""
    code = (
        "import sys; from recalltune import store\n"
        f"with store.open(sys.argv[1]).{mode}():\n"
        "    print('held', flush=True); sys.stdin.readline()\n"
    )
    pipe = subprocess.PIPE
    child = subprocess.Popen(
        [sys.executable, "-c", code, str(lab.path)],
        stdin=pipe,
        stdout=pipe,
        text=True,
        env={"PYTHONPATH": str(ROOT / "toolkit")},
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "held\n"
    try:
        yield
    finally:
        child.communicate("\n")


def test_without_a_model_every_kept_run_says_so_in_the_ledger_and_aloud(
    lab: Lab, no_model: None, call: Callable[..., tuple[str, str]]
) -> None:
    space = lab.path.parent / "space.toml"
    space.write_text('[space]\n"decay.family" = ["none", "exponential"]\n', encoding="utf-8")
    evaluated, _ = call("evaluate", "--cases", "s")
    swept, _ = call("sweep", "--cases", "s", "--space", str(space))
    walked, _ = call("replay")
    for said in (evaluated, swept, walked, call("explain", "tea")[0]):
        assert f"degraded: {NO_MODEL}" in said.splitlines()
    evaluation, replay = sorted(run_ids(lab))
    sweep_id = swept.split("sweep ")[-1].split()[0]
    told, empty = ("dense_arm_missing", NO_MODEL), ("empty_arm", "the lexical arm proposed nothing")
    assert hops(lab, evaluation) == [told, empty]
    assert hops(lab, sweep_id) == [told, empty]
    assert hops(lab, replay) == [told]
    call("sweep", "--cases", "s", "--space", str(space))
    assert hops(lab, sweep_id) == [told, empty]
    assert [f"kept: run {run_id}" in said for run_id, said in
            ((evaluation, evaluated), (replay, walked))] == [True, True]  # fmt: skip


def test_an_evaluation_is_kept_whole_and_once(lab: Lab) -> None:
    table = rt.candidates(lab, "s", CONFIG, encoder=WordEncoder())
    result = rt.evaluate(table, CONFIG, metrics=("ndcg@10", "recall@5"))
    run_id = rt.save_evaluation(lab, result, case_set="s")
    first = kept(lab, run_id)
    (run,) = first["run"].to_dicts()
    assert (run["kind"], run["case_set"]) == ("evaluation", "s")
    assert run["config_fingerprint"] == CONFIG.fingerprint
    assert run["data_digest"] == table.stamp.data
    assert run["encoder_id"] == WordEncoder.encoder_id
    assert first["hit"].height == result.hits.height
    assert first["packing"].height == result.accounts.height
    values = {
        (row["query_id"], row["metric"]): (row["value"], row["reason"])
        for row in first["metric"].to_dicts()
    }
    assert len(values) == 3 * 4
    assert values["one", "ndcg@10"][1] is None
    assert values["none", "ndcg@10"] == (None, "undefined for this case")
    assert [values[name, "passed"][0] for name in ("one", "two", "none")] == [1.0, 1.0, None]
    assert rt.save_evaluation(lab, result, case_set="s") == run_id
    again = kept(lab, run_id)
    assert all(again[name].equals(first[name]) for name in TABLES)


class Renamed(WordEncoder):
    encoder_id = "words@2"


def test_another_question_is_another_run(lab: Lab) -> None:
    with lab.writing() as con:
        con.execute("update memory set session = memory_id")
    table = rt.candidates(lab, "s", CONFIG, encoder=WordEncoder())
    plain = rt.candidates(lab, "s", CONFIG.with_(arms={"lexical": {}}))
    other = rt.set_many(CONFIG, {"rrf.rrf_k": 7.0})
    results = [
        rt.evaluate(table, CONFIG),
        rt.evaluate(table, CONFIG, unit="session"),
        rt.evaluate(table, CONFIG, metrics=("ndcg@10",)),
        rt.evaluate(table.take([0]), CONFIG),
        rt.evaluate(table, other),
        rt.evaluate(plain, CONFIG.with_(arms={"lexical": {}})),
        rt.evaluate(rt.candidates(lab, "s", CONFIG, encoder=Renamed()), CONFIG),
    ]
    assert len({rt.save_evaluation(lab, result, case_set="s") for result in results}) == 7
    assert len(run_ids(lab)) == 7


def test_an_arm_that_proposed_nothing_is_told_with_its_query_and_time(lab: Lab) -> None:
    table = rt.candidates(lab, "s", CONFIG, encoder=WordEncoder())
    (empty,) = degradations(table)
    assert (empty.hop, empty.reason) == ("empty_arm", "the lexical arm proposed nothing")
    assert (empty.query_id, empty.asked_at) == ("none", int(instant(12.0).timestamp()) * 1_000_000)
    run_id = rt.save_evaluation(lab, rt.evaluate(table, CONFIG), case_set="s")
    (row,) = kept(lab, run_id)["ledger"].to_dicts()
    assert (row["seq"], row["query_id"], row["asked_at"]) == (1, "none", instant(12.0))


def test_a_replay_of_another_scope_is_another_run(lab: Lab) -> None:
    ids = {
        rt.replay(lab, CONFIG, scope=scope, encoder=WordEncoder(), save=True).run_id
        for scope in (None, "team")
    }
    assert set(run_ids(lab)) == ids
    assert len(ids) == 2


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lab_module, "_ATTEMPTS", 3)


@pytest.mark.stress
def test_a_notebook_that_reads_stops_no_evaluation(
    lab: Lab, a_model: None, hurried: None, call: Callable[..., tuple[str, str]]
) -> None:
    alone, _ = call("evaluate", "--cases", "s")
    with lab.writing() as con:
        con.execute("delete from vector; delete from run")
    with another_process(lab, "reading"):
        said, _ = call("evaluate", "--cases", "s")
        asked, _ = call("explain", "garden")
        walked, _ = call("replay")
        parsed, aside = call("evaluate", "--cases", "s", "--json")
    assert said.splitlines()[:9] == alone.splitlines()[:9]
    for text in (said, walked, aside):
        assert "the run was not kept: " in text
        assert "is held by python" in text
    for text in (said, asked, walked):
        assert "texts were encoded for this run alone: the lab cannot be written to" in text
    assert "not kept" not in parsed
    assert run_ids(lab) == []


def _denied(path: str, *, read_only: bool, config: object) -> duckdb.DuckDBPyConnection:
    if not read_only:
        raise duckdb.IOException(f'IO Error: Cannot open file "{path}": Permission denied')
    return CONNECT(path, read_only=True, config=config)


CONNECT = duckdb.connect


def test_a_lab_that_may_only_be_read_is_evaluated_and_asked_but_keeps_nothing(
    lab: Lab, a_model: None, monkeypatch: pytest.MonkeyPatch, call: Callable[..., tuple[str, str]]
) -> None:
    monkeypatch.setattr(lab_module.duckdb, "connect", _denied)
    said, _ = call("evaluate", "--cases", "s")
    assert "ndcg@10" in said
    assert "the run was not kept: " in said
    assert "may not be written to" in said
    assert "encoded for this run alone" in call("explain", "garden")[0]
    assert "encoded for this run alone" in call("replay")[0]
    with pytest.raises(ReadOnlyError, match="may not be written to"):
        rt.replay(lab, CONFIG, encoder=WordEncoder(), save=True)


def test_vectors_that_could_not_be_kept_rank_as_kept_ones_do(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(lab_module.duckdb, "connect", _denied)
        table = rt.candidates(lab, "s", CONFIG, encoder=WordEncoder())
    again = rt.candidates(lab, "s", CONFIG, encoder=WordEncoder())
    # 3 memories and 3 questions, two texts of which are the same.
    assert (table.notices["vectors_not_kept"], again.notices["vectors_not_kept"]) == (6, 0)
    assert table.stamp == again.stamp
    assert rt.rank(table, CONFIG).order.tolist() == rt.rank(again, CONFIG).order.tolist()


def test_vectors_nobody_may_give_are_refused_where_they_are_not_kept_too(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Long(WordEncoder):
        def encode(self, texts, kind):
            return super().encode(texts, kind) * 2

    monkeypatch.setattr(lab_module.duckdb, "connect", _denied)
    with pytest.raises(ContractError, match="of length 1"):
        rt.candidates(lab, "s", CONFIG, encoder=Long())


EVALUATE = """
import sys
import recalltune as rt
from small_lab import WordEncoder

lab, config = rt.open(sys.argv[1]), rt.load_config(sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
for word in sys.argv[3:]:
    rt.ask(lab, word, config, encoder=WordEncoder())
result = rt.evaluate(rt.candidates(lab, "s", config, encoder=WordEncoder()), config)
print(rt.save_evaluation(lab, result, case_set="s"))
"""


def evaluating(lab: Lab, *words: str) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    path = f"{ROOT / 'toolkit'}:{ROOT / 'tests'}"
    config = lab.path.parent / "both.toml"
    child = subprocess.Popen(
        [sys.executable, "-c", EVALUATE, str(lab.path), str(config), *words],
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        text=True,
        env={"PYTHONPATH": path},
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    return child


def finished(child: subprocess.Popen[str]) -> str:
    said, errors = child.communicate("\n", timeout=300)
    assert child.returncode == 0, errors
    return said.strip()


def test_two_evaluations_at_once_take_turns_and_both_are_kept(lab: Lab) -> None:
    words = [f"word{n}" for n in range(10)]
    one, two = evaluating(lab, *words), evaluating(lab, *reversed(words))
    for child in (one, two):
        assert child.stdin is not None
        child.stdin.write("\n")
        child.stdin.flush()
    assert finished(one) == finished(two)
    assert len(run_ids(lab)) == 1
    with lab.reading() as con:
        found, _ = get_vectors(con, WordEncoder.encoder_id, [text_hash(word) for word in words])
    assert found.all()


@pytest.mark.stress
def test_who_finds_the_lab_held_waits_a_while_and_then_names_the_holder(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    with another_process(lab, "writing"):
        monkeypatch.setattr(lab_module.time, "sleep", pauses.append)
        with pytest.raises(LockedError, match="also after 5 seconds"):
            lab.reading().__enter__()
    assert sum(pauses) == pytest.approx(5.0, abs=0.1)
    monkeypatch.undo()
    holder = another_process(lab, "writing")
    holder.__enter__()
    monkeypatch.setattr(lab_module.time, "sleep", lambda _: holder.__exit__(None, None, None))
    with lab.reading() as con:
        assert read_table(con, "run").is_empty()
