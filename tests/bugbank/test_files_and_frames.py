"""Bug bank N90-N94, O117-O121: locks, foreign files, frames, packages, networks, order."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from importlib.metadata import distribution, packages_distributions
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from jupyter_client.blocking import BlockingKernelClient
from jupyter_client.manager import start_new_kernel

import recalltune as rt
from recalltune import store
from recalltune.errors import ContractError, ParameterError, checked
from recalltune.evaluate import query_views, views
from recalltune.pipeline.config import RankingConfig
from recalltune.pipeline.present import present
from recalltune.replay.fate_views import loss_account
from recalltune.replay.fates import fates
from recalltune.report.terminal import evaluation_lines
from recalltune.sweep.views import binding, frontier, line, surface
from report import made_up
from small_lab import Ask, Note, make_lab

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent.parent
LEXICAL = '[arms.lexical]\n[[stages]]\nkind = "rrf"\n[[stages]]\nkind = "select"\ntop_k = 3\n'
NOTES = [Note("a", "tea garden", 1.0), Note("b", "tea", 2.0), Note("c", "server", 3.0)]
ASKS = [Ask("one", "tea", 10.0, ("a",), session="s1"), Ask("two", "server", 10.0, ("c",))]


def lexical(*stages: dict[str, Any]) -> RankingConfig:
    whole = [{"kind": "rrf"}, *stages, {"kind": "select"}]
    return checked(RankingConfig, {"arms": {"lexical": {}}, "stages": whole})


def environment(**changes: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONHASHSEED"}
    return {**kept, "PYTHONPATH": str(ROOT / "toolkit"), **changes}


def shell(*words: str | Path, code: int = 0, **options: Any) -> str:
    """Run one command line in a process of its own; returns what it said."""
    done = subprocess.run(
        [sys.executable, "-m", "recalltune.cli", *map(str, words)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        **{"env": environment(), **options},
    )
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout + done.stderr


# --- N90 ------------------------------------------------------------------------------------


@pytest.fixture
def notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[BlockingKernelClient]:
    """A kernel as JupyterLab starts it, in the folder of the lab."""
    # The kernel of this environment, whatever kernels the user has at home.
    monkeypatch.setenv("JUPYTER_PREFER_ENV_PATH", "1")
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    manager, client = start_new_kernel(
        kernel_name="python3", startup_timeout=120, cwd=str(tmp_path), env=environment()
    )
    yield client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def run_cell(client: BlockingKernelClient, code: str) -> str:
    printed: list[str] = []

    def hook(message: Mapping[str, Any]) -> None:
        printed.append(message["content"].get("text", ""))

    reply = client.execute_interactive(code, output_hook=hook, timeout=120)
    assert reply["content"]["status"] == "ok", reply["content"]
    return "".join(printed).strip()


@pytest.mark.slow
def test_an_idle_kernel_that_opened_the_lab_blocks_no_shell(
    notebook: BlockingKernelClient, tmp_path: Path
) -> None:
    """N90. Kind: file lock between notebooks."""
    make_lab(tmp_path / "lab.duckdb", NOTES, ASKS)
    (tmp_path / "lexical.toml").write_text(LEXICAL, encoding="utf-8")
    (tmp_path / "more.jsonl").write_text(
        '{"query_id": "x1", "query": "tea", "shown": ["a"]}\n', encoding="utf-8"
    )
    run_cell(
        notebook,
        "import recalltune as rt\n"
        "lab = rt.open('lab.duckdb')\n"
        "config = rt.load_config('lexical.toml')\n"
        "table = rt.candidates(lab, 's', config)\n"
        "result = rt.evaluate(table, config)\n",
    )

    # The kernel is idle, and lab, table and result are alive in it.
    words = ["--db", "lab.duckdb", "--cases", "s", "--config", "lexical.toml"]
    assert "ndcg@10" in shell("evaluate", *words, cwd=tmp_path)
    assert "1 kept" in shell("ingest", "--db", "lab.duckdb", "more.jsonl", cwd=tmp_path)

    counted = (
        "with lab.reading() as con:\n    print(rt.store.read_search_log(con).height, flush=True)"
    )
    assert run_cell(notebook, "import recalltune.store\n" + counted) == "1"

    # A kernel that stopped inside a writing block is named, with the way out, in one line.
    pid = run_cell(
        notebook,
        "import os\nblock = lab.writing()\nblock.__enter__()\nprint(os.getpid(), flush=True)",
    )
    told = shell("evaluate", *words, cwd=tmp_path, code=2)
    assert re.fullmatch(rf"error: .*lab\.duckdb is held by .*PID {pid}\).*restart.*\n", told)


# --- N91 ------------------------------------------------------------------------------------


def checksum(header: bytes) -> int:
    """DuckDB's checksum of a block, over whole words."""
    found = 5381
    for (word,) in struct.iter_unpack("<Q", header):
        found ^= word * 0xBF58476D1CE4E5B9 & (2**64 - 1)
    return found


def made_by_a_newer_duckdb(path: Path) -> None:
    """Give a database file a storage version no library knows yet, with a right checksum."""
    content = bytearray(path.read_bytes())
    assert struct.unpack("<Q", content[:8])[0] == checksum(bytes(content[8:4096]))
    content[12:20] = struct.pack("<Q", 1_000_000)
    content[:8] = struct.pack("<Q", checksum(bytes(content[8:4096])))
    path.write_bytes(content)


@pytest.mark.stress
@pytest.mark.slow
def test_a_file_of_a_newer_duckdb_names_both_versions_and_a_command_that_rebuilds_it(
    tmp_path: Path,
) -> None:
    """N91. Kind: database newer than the library."""
    import duckdb

    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "2026-05-01.md").write_text("- tea at nine\n", encoding="utf-8")
    shell("ingest", "--db", "lab.duckdb", "memory", cwd=tmp_path)
    lab = rt.open(tmp_path / "lab.duckdb")
    with lab.reading() as con:
        before = store.data_digest(con)
    made_by_a_newer_duckdb(lab.path)

    told = shell("ingest", "--db", "lab.duckdb", "memory", cwd=tmp_path, code=2)
    assert told.count("\n") == 1
    assert f"cannot be read by DuckDB {duckdb.__version__}" in told
    assert "storage version number 1000000" in told
    command = re.search(r"`rm (\S+) && recalltune (ingest --db \S+) PATH\.\.\.`", told)
    assert command is not None
    Path(command[1]).unlink()
    shell(*command[2].split(), "memory", cwd=tmp_path)
    with rt.open(lab.path).reading() as con:
        assert store.data_digest(con) == before


@pytest.mark.parametrize("folder", ["plain", "block"])
@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("not a database", lambda content: b"text " * 2_000),
        ("a wrong byte", lambda content: content[:40] + b"?" + content[41:]),
        ("cut off", lambda content: content[:5_000]),
        ("cut between blocks", lambda content: content[:8_192]),
    ],
)
def test_a_damaged_file_is_said_to_be_damaged_and_not_locked(
    tmp_path: Path, folder: str, name: str, damage: Any
) -> None:
    """N91. Kind: database newer than the library (and one that nothing can read)."""
    lab = rt.open(tmp_path / folder / "lab.duckdb")
    lab.path.write_bytes(damage(lab.path.read_bytes()))
    # Where it was never a database, no advice to delete it is given.
    said = r"cannot be read by DuckDB .*rebuild it with `rm |is no DuckDB file, so no lab"
    with pytest.raises(ContractError, match=said):
        rt.open(lab.path)


# --- N94 ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def frames(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pl.DataFrame]:
    """Every frame the library hands out about one small run."""
    story = made_up.journey(made_up.filled(tmp_path_factory.mktemp("made_up")))
    assert story.sweep is not None
    table, base, swept = story.candidates, story.sweep.base, story.sweep
    one = rt.evaluate(table, base)
    two = rt.evaluate(table, swept.config(swept.points.height - 1))
    query = table.queries["query_id"][0]
    runs = {"one": one, "two": two}
    return {
        "cases": one.cases,
        "hits": one.hits,
        "accounts": one.accounts,
        "summary": one.summary(),
        "summary by kind": one.summary("kind"),
        "explain": rt.explain(table, base, query),
        "present": present(table, rt.rank(table, base).order, 0, layers=base.layers),
        "points": swept.points,
        "grid": swept.frame("ndcg@10"),
        "line": line(swept, "salience.salience_weight", "ndcg@10", by="kind"),
        "surface": surface(swept, *list(swept.space.axes)[1:3], "ndcg@10"),
        "binding": binding(swept, "ndcg@10"),
        "frontier": frontier(runs, "ndcg@10"),
        "compare": views.compare(runs, ["ndcg@10", "passed", "tokens"]),
        "slices": views.slices(one, two, "ndcg@10"),
        "flips": views.flips(table, one, two),
        "targets": views.targets(table),
        "losses": loss_account(fates(table, base), base),
        "listed": query_views.listed(table, one, query),
        "queries": table.queries,
        "spans": table.spans,
        "labels": table.labels,
    }


def test_no_frame_holds_unsigned_numbers(frames: dict[str, pl.DataFrame]) -> None:
    """N94. Kind: unsigned wrap-around."""
    unsigned = [
        (name, column)
        for name, frame in frames.items()
        for column, dtype in frame.schema.items()
        if dtype.is_unsigned_integer()
    ]
    assert unsigned == []


def test_a_better_rank_and_a_shorter_text_differ_by_a_negative_number(tmp_path: Path) -> None:
    """N94. Kind: unsigned wrap-around."""
    notes = [Note("a", "tea garden", 1.0, salience=1.0), Note("b", "tea", 2.0, salience=0.0)]
    table = rt.candidates(make_lab(tmp_path / "lab.duckdb", notes, ASKS[:1]), "s", lexical())
    # b is shorter and first: 1/61 against 1/62; with a factor 1 + 1 * 1 for a, 2/62 against 1/61.
    lifted = lexical({"kind": "salience", "salience_weight": 1.0})
    flips = views.flips(table, rt.evaluate(table, lexical()), rt.evaluate(table, lifted))
    assert flips.select(pl.col("rank_b") - pl.col("rank_a")).to_series().to_list() == [-1]
    # "tea" is 7 characters shorter than "tea garden".
    assert table.spans.sort("memory_id").select(pl.col("chars").diff()).to_series()[1] == -7


# --- O118 -----------------------------------------------------------------------------------

BROUGHT = {
    # Import -> the declared package that always brings it.
    "IPython": "ipywidgets",
    "huggingface_hub": "sentence-transformers",
    "tokenizers": "transformers",
    "torch": "sentence-transformers",
    "transformers": "sentence-transformers",
}
UNSEEN = {"pyarrow": "DuckDB and polars exchange frames through it", "jupyterlab": "make lab"}
"""Packages nothing imports by name, and why they are declared all the same."""


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", re.split(r"[\s\[<>=!~;(]", name.strip(), maxsplit=1)[0]).lower()


def imported(folder: Path) -> set[str]:
    found: set[str] = set()
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.partition(".")[0])
    return found - set(sys.stdlib_module_names) - {"recalltune"}


def always_required(package: str) -> set[str]:
    lines = distribution(package).requires or []
    return {normal(line) for line in lines if "extra ==" not in line}


@pytest.mark.parametrize("folder", ["toolkit", "notebooks"])
def test_every_package_that_is_imported_is_declared(root: Path, folder: str) -> None:
    """O118. Kind: frame exchange needs an undeclared package."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = {normal(line) for line in project["dependencies"]}
    optional = {normal(line) for part in ("models", "fast", "dask", "stores")
                for line in project["optional-dependencies"][part]}  # fmt: skip
    owners = packages_distributions()
    undeclared = {
        name: owners.get(name)
        for name in imported(root / folder)
        if not {normal(owner) for owner in owners.get(name, [])} & (declared | optional)
        and name not in BROUGHT
    }
    assert undeclared == {}
    assert set(UNSEEN) <= declared


@pytest.mark.parametrize(("name", "by"), BROUGHT.items())
def test_a_package_that_another_brings_is_always_brought_by_it(name: str, by: str) -> None:
    """O118. Kind: frame exchange needs an undeclared package."""
    owners = {normal(owner) for owner in packages_distributions()[name]}
    assert owners & always_required(by)


# --- O119 -----------------------------------------------------------------------------------

WATCH = """
import os, sys

def refuse(event, arguments):
    # Nothing here has to talk to another process, so any address is one too many.
    if event in ("socket.getaddrinfo", "socket.connect", "socket.sendto"):
        with open(os.environ["WATCHED"], "a") as told:
            told.write(f"{event} {arguments[:2]!r}\\n")
        raise OSError("this test has no network")

sys.addaudithook(refuse)
"""


def without_network(words: list[str]) -> list[str]:
    """The command in a network namespace of its own, where the system allows one."""
    unshare = shutil.which("unshare")
    if unshare is None:
        return words
    tried = subprocess.run([unshare, "-rn", "true"], capture_output=True, check=False)
    return [unshare, "-rn", *words] if tried.returncode == 0 else words


@pytest.mark.slow
@pytest.mark.model
def test_import_and_evaluation_need_neither_network_nor_home(root: Path, tmp_path: Path) -> None:
    """O119. Kind: extension download at run time."""
    home, watch, watched = tmp_path / "home", tmp_path / "watch", tmp_path / "watched.txt"
    home.mkdir()
    watch.mkdir()
    (watch / "sitecustomize.py").write_text(WATCH, encoding="utf-8")
    env = environment(HOME=str(home), WATCHED=str(watched))
    env["PYTHONPATH"] = os.pathsep.join([str(watch), env["PYTHONPATH"]])
    for name in list(env):
        if name.startswith(("HF_", "TRANSFORMERS_", "XDG_", "JUPYTER")):
            del env[name]
    sources = [str(root / "data" / name) for name in ("connector", "memory", "transcripts")]
    cases = str(root / "data" / "cases" / "demo.json")
    for words in (
        ["ingest", "--db", "lab.duckdb", *sources],
        ["cases", "--db", "lab.duckdb", cases, "--set", "demo"],
        ["evaluate", "--db", "lab.duckdb", "--cases", "demo", "--config", "textbook", "--json"],
    ):
        done = subprocess.run(
            without_network([sys.executable, "-m", "recalltune.cli", *words]),
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
            cwd=tmp_path,
            env=env,
        )
        assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["encoder"].startswith("multilingual@")
    assert told["counts"]["dense_arm_missing"] == 0
    assert not watched.exists(), watched.read_text(encoding="utf-8")
    assert list(home.iterdir()) == []


# --- O120 -----------------------------------------------------------------------------------


@pytest.mark.stress
@pytest.mark.slow
def test_two_runs_from_import_to_report_give_the_same_bytes(root: Path, tmp_path: Path) -> None:
    """O120. Kind: undefined order."""
    script, runs = Path(__file__).with_name("one_run.py"), []
    for seed, threads, zone in (("1", "1", "UTC"), ("2", "4", "Asia/Tokyo")):
        folder = tmp_path / seed
        folder.mkdir()
        process = subprocess.Popen(
            [sys.executable, str(script), str(root / "data")],
            cwd=folder,
            env=environment(PYTHONHASHSEED=seed, POLARS_MAX_THREADS=threads, TZ=zone),
            stderr=subprocess.PIPE,
            text=True,
        )
        runs.append((folder, process))
    for _, process in runs:
        _, told = process.communicate(timeout=600)
        assert process.returncode == 0, told
    first, second = (
        {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.is_file() and path.suffix != ".duckdb"
        }
        for folder, _ in runs
    )
    assert {"told.json", "chosen.toml", "chosen.json", "report/report.html"} <= set(first)
    assert sum(name.endswith(".svg") for name in first) >= 10
    assert list(first) == list(second)
    assert [name for name in first if first[name] != second[name]] == []


# --- O121 -----------------------------------------------------------------------------------


def undefined_lab(path: Path, *, some: bool) -> store.Lab:
    """Hard negatives everywhere; a target in one case, if at all."""
    asks = [
        Ask("one", "tea", 10.0, ("a",) if some else (), negatives=("c",)),
        Ask("two", "tea", 10.0, negatives=("c",)),
    ]
    return make_lab(path / "lab.duckdb", NOTES, asks)


def holds_nan(frame: pl.DataFrame) -> bool:
    floats = frame.select(pl.selectors.float())
    return any(bool(column.is_nan().any()) for column in floats.iter_columns())


def test_the_mean_over_no_case_is_null_with_its_count_and_never_nan_or_nought(
    tmp_path: Path,
) -> None:
    """O121. Kind: NaN vs null in averages."""
    lab = undefined_lab(tmp_path, some=False)
    table = rt.candidates(lab, "s", lexical())
    run = rt.evaluate(table, lexical())
    row = run.summary().filter(pl.col("metric") == "ndcg@10").row(0, named=True)
    assert (row["mean"], row["n"], row["undefined"]) == (None, 0, 2)
    assert not any(map(holds_nan, (run.cases, run.hits, run.summary())))
    assert re.search(r"^ndcg@10 +- +0 +2$", "\n".join(evaluation_lines(run)), re.MULTILINE)
    assert json.loads(run.to_json())["summary"][0]["mean"] is None
    with pytest.raises(ParameterError, match=r"ndcg@10 is undefined for every case"):
        run.value("ndcg@10")
    swept = rt.sweep(table, lexical(), rt.Space({"rrf.rrf_k": [1, 60]}), split="all")
    assert swept.frame("ndcg@10")["mean"].to_list() == [None, None]
    with lab.reading() as con:
        assert store.read_table(con, "sweep_point").height == 0
    sweep_id = rt.save_sweep(lab, swept, case_set="s")
    with lab.reading() as con:
        points = store.read_table(con, "sweep_point", sweep_id=sweep_id)
    ndcg = points.filter(pl.col("metric") == "ndcg@10")
    assert ndcg["value"].to_list() == [None, None]
    assert ndcg["case_values"].to_list() == [[None, None], [None, None]]


def test_a_mean_is_taken_over_the_cases_that_have_a_value(tmp_path: Path) -> None:
    """O121. Kind: NaN vs null in averages."""
    table = rt.candidates(undefined_lab(tmp_path, some=True), "s", lexical())
    run = rt.evaluate(table, lexical())
    row = run.summary().filter(pl.col("metric") == "mrr@10").row(0, named=True)
    # "tea" finds b (shorter) before a: the one defined case has 1/2, and [1/2, null] means 1/2.
    assert (row["mean"], row["n"], row["undefined"]) == (0.5, 1, 1)
    assert run.value("mrr@10") == 0.5
    swept = rt.sweep(
        table, lexical(), rt.Space({"rrf.rrf_k": [1, 60]}), metrics=("mrr@10",), split="all"
    )
    assert swept.frame("mrr@10")["mean"].to_list() == [0.5, 0.5]
    assert np.isnan(swept.values["mrr@10"]).sum() == 2
