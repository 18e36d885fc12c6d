"""Zero leak: fifty words that nobody was told, searched for in every byte that leaves a lab.

Beside each stands the same thing told, with a word of its own: that one must be found, so that a
search which finds nothing is known to look. And a corpus without the untold gives the same bytes.
"""

from __future__ import annotations

import base64
import contextlib
import gzip
import io
import json
import re
import shutil
import sys
import zlib
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

import recalltune as rt
from attack.canaries import KINDS, SCOPE, Planted, forms, leaks, plant
from recalltune.cli import main
from recalltune.ingest.companion import read_companion, write_companion
from recalltune.replay.companion import CompanionMemory
from recalltune.report.journey import write_picture, write_report
from recalltune.report.picture import Picture
from recalltune.store import Turn, count_visibility, insert_rows, text_hash

CONFIG = """
arms.lexical = {}
arms.substring = {}
stages = [
    {kind = "rrf"},
    {kind = "decay", family = "exponential"},
    {kind = "salience", salience_weight = 0.5},
    {kind = "mmr", similarity = "jaccard"},
    {kind = "select", top_k = 60},
    {kind = "block", budget_chars = 20000},
]
"""
SPACE = '[space]\n"decay.half_life_days" = [7, 60]\n"salience.salience_weight" = [0.0, 0.5]\n'
ASKED = "gauge under the bridge flood 风筝"
SHOWN = ("text", "id", "edit", "successor id", "successor text", "copy id", "used id", "used text",
         "shown id", "note text", "target id", "target text", "expected word", "pinned text",
         "undated text", "html text", "old text", "future text", "reply")  # fmt: skip
"""Kinds whose told twin a list shows."""


@dataclass(frozen=True)
class Side:
    """One of the two corpora, in a lab."""

    folder: Path
    hidden: bool

    def run(self, *words: str, fails: bool = False) -> bytes:
        """What a command prints, errors too; it works inside the corpus's folder."""
        out = io.StringIO()
        argv, sys.argv = sys.argv, ["recalltune", *words]
        try:
            with (
                contextlib.chdir(self.folder),
                contextlib.redirect_stdout(out),
                contextlib.redirect_stderr(out),
                pytest.raises(SystemExit) as left,
            ):
                main()
        finally:
            sys.argv = argv
        assert (left.value.code == 2) == fails, out.getvalue()
        return out.getvalue().encode("utf-8", "surrogatepass")

    @property
    def lab(self) -> rt.Lab:
        return rt.open(self.folder / "lab.duckdb")

    def written(self) -> dict[str, bytes]:
        """Every file but the corpus and the lab itself."""
        return {
            path.relative_to(self.folder).as_posix(): path.read_bytes()
            for path in sorted(self.folder.rglob("*"))
            if path.is_file() and "data" not in path.relative_to(self.folder).parts
            and path.suffix != ".duckdb"
        }  # fmt: skip


@dataclass(frozen=True)
class Pair:
    with_: Side
    without: Side
    planted: Planted
    printed: bytes
    """By the import and by the load of the cases."""


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory, root: Path) -> Pair:
    folder = tmp_path_factory.mktemp("canaries")
    with_, without, planted = plant(folder, root / "data")
    sides, printed = [], b""
    for corpus, hidden in ((with_, True), (without, False)):
        side = Side(corpus.parent, hidden)
        (side.folder / "c.toml").write_text(CONFIG, encoding="utf-8")
        (side.folder / "space.toml").write_text(SPACE, encoding="utf-8")
        names = ("connector", "memory", "transcripts", "search_log")
        told = [side.run("ingest", "--db", "lab.duckdb", *(f"data/{name}" for name in names), form)
                for form in ("--json", "--no-turns-as-memories")]  # fmt: skip
        told.append(side.run("cases", "--db", "lab.duckdb", "data/cases/demo.json", "--set", "c"))
        write_companion(side.lab, read_companion(corpus / "companion" / "shelf.json"))
        if hidden:
            # A night of its own: no message of the user, so nothing that was told.
            night = Turn(turn_id=planted.untold["turn_id"], session_id=planted.untold["session"],
                         seq=0, role="companion", text_hash=text_hash("gauge"), source="companion",
                         said_at=datetime(2026, 9, 1, tzinfo=UTC))  # fmt: skip
            with side.lab.writing() as con:
                insert_rows(con, [night])
            # Cases about the untold can be loaded only where it is.
            shutil.copy(side.lab.path, side.folder / "judged.duckdb")
            told.append(
                side.run("cases", "--db", "judged.duckdb", "data/cases/planted.json", "--set", "u")
            )
            printed = b"".join(told)
        sides.append(side)
    return Pair(*sides, planted, printed)


@pytest.mark.parametrize("packed", ["plain", "utf-16", "base64", "json", "html", "zlib", "gzip"])
@pytest.mark.parametrize("kind", ["text", "title"])
def test_a_canary_is_found_however_it_is_packed(packed, kind):
    word = {"text": "qzvbntrwklm", "title": "泙谶郏襎祢玎"}[kind]
    text = f"a few words, {word}, and a few more"
    made = {
        "plain": text.encode(),
        "utf-16": text.encode("utf-16"),
        "base64": b"<img src='data:x;base64," + base64.b64encode(text.encode()) + b"'>",
        "json": json.dumps(json.dumps(text)).encode(),
        "html": "".join(f"&#{ord(one)};" for one in text).encode(),
        "zlib": b"head" + zlib.compress(text.encode()),
        "gzip": gzip.compress(text.encode()),
    }[packed]
    assert leaks(made, {kind: word}) == [kind]
    assert leaks(made, {kind: word[::-1]}) == []


def test_there_are_fifty_kinds_of_canaries(pair):
    assert len(KINDS) == len(set(pair.planted.untold.values())) == 50
    assert not set(pair.planted.untold.values()) & set(pair.planted.told.values())
    held = (pair.with_.folder / "lab.duckdb").read_bytes()
    corpus = b"".join(p.read_bytes() for p in pair.with_.folder.joinpath("data").rglob("*.*"))
    there = [kind for kind, word in pair.planted.untold.items() if word.encode() in corpus]
    assert sorted(there) == sorted(KINDS)
    # The lab keeps all of it (text is compressed there, so a few of them prove it).
    assert leaks(held, {"id": pair.planted.untold["id"]}) == ["id"]
    assert forms("x") > {"x"}


QUERY = ["explain", "--db", "lab.duckdb", "--config", "c.toml", "--top", "100"]
SET = ["--db", "lab.duckdb", "--cases", "c", "--config", "c.toml"]
SAME: dict[str, list[str]] = {
    "explain": [*QUERY, ASKED],
    "explain in a scope": [*QUERY, ASKED, "--scope", SCOPE],
    "explain at a time": [*QUERY, ASKED, "--at", "2026-06-02T00:00:00Z"],
    "explain far in the future": [*QUERY, ASKED, "--at", "2029-01-01T00:00:00Z"],
    "explain a case": [*QUERY, "--case", "c/case-00"],
    "explain by the probe": ["explain", "--db", "lab.duckdb", "--config", "hel847-ported", "风筝"],
    "replay": ["replay", "--db", "lab.duckdb", "--config", "c.toml"],
    "replay as JSON": ["replay", "--db", "lab.duckdb", "--config", "c.toml", "--json"],
    "replay in a scope": ["replay", "--db", "lab.duckdb", "--config", "c.toml", "--json",
                          "--scope", SCOPE],
    "evaluate": ["evaluate", *SET, "--split", "all"],
    "evaluate as JSON": ["evaluate", *SET, "--json"],
    "evaluate by kind": ["evaluate", *SET, "--by", "session"],
    "evaluate against": ["evaluate", *SET, "--baseline", "hel847-baseline", "--json"],
    "bind": ["bind", *SET, "--json", "--most-queries", "3"],
    "replay of cases": ["replay", "--db", "lab.duckdb", "--config", "c.toml", "--cases", "c",
                        "--json"],
}  # fmt: skip


# One of each kind is enough between two edits.
DEAR = {"bind", "evaluate", "evaluate by kind", "evaluate against", "explain in a scope",
        "explain at a time", "replay", "replay in a scope"}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.stress) if name in DEAR else name for name in SAME],
)
def test_a_command_prints_the_same_bytes_with_and_without_the_untold(pair, name):
    found = pair.with_.run(*SAME[name])
    assert leaks(found, pair.planted.untold) == []
    # How many spans were never told is counted for whoever evaluates, and is all that differs.
    count = re.compile(rb'(untold_spans"?:?) \d+')
    assert count.sub(rb"\1", found) == count.sub(rb"\1", pair.without.run(*SAME[name]))


@pytest.mark.slow
def test_the_twins_that_were_told_are_shown(pair):
    found = pair.with_.run(*SAME["explain"])
    assert not set(SHOWN) - set(leaks(found, pair.planted.told))


def test_an_import_names_nothing_that_was_not_told(pair):
    assert leaks(pair.printed, pair.planted.untold) == []


@pytest.mark.slow
def test_a_sweep_its_choice_and_what_is_exported_are_the_same(pair, root):
    written = []
    for side in (pair.with_, pair.without):
        told = side.run("sweep", *SET, "--space", "space.toml")
        sweep = re.search(rb"--sweep (\w+)", told)[1].decode()
        of = ["--db", "lab.duckdb", "--sweep", sweep]
        told += side.run("choose", *of, "--out", "chosen.toml") + side.run("choose", *of, "--json")
        shutil.copy(root / "data" / "recallnest" / "config.json", side.folder / "recallnest.json")
        for to in ("json", "recallnest"):
            into = ["--to", to, "--into", f"{to}.json"]
            told += side.run("export", "chosen.toml", "--db", "lab.duckdb", *into)
        told = re.sub(rb"in [\d.]+ s, [\d,]+ settings/s", b"", told)
        written.append((told, side.written()))
        assert leaks(told + b"".join(side.written().values()), pair.planted.untold) == []
    assert written[0] == written[1]
    assert {"chosen.toml", "json.json"} <= set(written[0][1])


@pytest.mark.slow
def test_the_doctor_counts_and_names_nothing(pair):
    for words in (["--json"], []):
        found = pair.with_.run("doctor", "--db", "lab.duckdb", *words)
        assert leaks(found, pair.planted.untold) == []
        assert {"layer", "origin", "category", "tier"} <= set(leaks(found, pair.planted.told))


NEAR = {
    "a case": lambda w: ["explain", "--db", "judged.duckdb", "--config", "c.toml", "--case",
                         f"u/{w['target id'][:-1]}"],
    "a scope": lambda w: [*QUERY, ASKED, "--scope", w["scope"][:-1]],
    "a session": lambda w: ["replay", "--db", "lab.duckdb", "--config", "c.toml", "--session",
                            w["session"][:-1]],
    "a turn": lambda w: ["replay", "--db", "lab.duckdb", "--config", "c.toml", "--session",
                         w["turn_id"][:-1]],
    "a set": lambda w: ["evaluate", "--db", "lab.duckdb", "--config", "c.toml", "--cases",
                        w["layer"][:-1]],
    "a sweep": lambda w: ["choose", "--db", "lab.duckdb", "--sweep", w["id"][:-1]],
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", NEAR)
def test_an_error_near_an_untold_name_does_not_complete_it(pair, name):
    found = pair.with_.run(*NEAR[name](pair.planted.untold), fails=True)
    assert b"error: " in found
    assert leaks(found, pair.planted.untold) == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["id", "successor id", "like id"])
def test_a_case_that_misspells_an_untold_id_is_not_helped(pair, kind):
    word = pair.planted.untold[kind]
    case = {"name": "n", "query": "q", "targets": [word[:-2] + "zz"]}
    file = pair.with_.folder / "data" / "wrong.json"
    file.write_text(json.dumps([case], ensure_ascii=False), encoding="utf-8")
    load = ["cases", "--db", "lab.duckdb", "data/wrong.json"]
    found = pair.with_.run(*load, fails=True)
    file.unlink()
    assert b"names no memory" in found
    assert leaks(found, pair.planted.untold) == []


@pytest.mark.slow
def test_cases_about_the_untold_are_scored_without_naming_it(pair):
    of = ["--db", "judged.duckdb", "--cases", "u", "--config", "c.toml"]
    found = pair.with_.run("evaluate", *of, "--split", "all", "--json")
    for words in (["--split", "all"], ["--baseline", "hel847-baseline", "--split", "all"]):
        found += pair.with_.run("evaluate", *of, *words)
    replay = ["replay", "--db", "judged.duckdb", "--config", "c.toml", "--cases", "u"]
    found += pair.with_.run(*replay) + pair.with_.run(*replay, "--json")
    found += pair.with_.run("explain", *of[:2], *of[4:], "--case", "u/planted")
    assert leaks(found, pair.planted.untold) == []
    lab = rt.open(pair.with_.folder / "judged.duckdb")
    config = rt.load_config(str(pair.with_.folder / "c.toml"))
    evaluated = rt.evaluate(rt.candidates(lab, "u", config), config, split="all")
    frames = [evaluated.cases, evaluated.hits]
    found = "".join(json.dumps(frame.to_dicts(), default=str) for frame in frames).encode()
    assert leaks(found, pair.planted.untold) == []


@pytest.mark.slow
def test_rereading_gives_the_same_block_with_and_without_the_untold(pair):
    blocks = []
    for side in (pair.with_, pair.without):
        companion = read_companion(side.folder / "data" / "companion" / "shelf.json")
        memory = CompanionMemory(side.lab, companion.now)
        again = [
            memory.reread(query, budget_chars=5_000)
            for query in ("风筝", "霜信", "红薯", pair.planted.told["reply"])
        ]
        blocks.append([(one.before, one.text, one.entries.rows()) for one in again])
        found = "".join(one.before + one.text for one in again).encode()
        found += "".join(str(one.account.rows()) for one in again).encode()
        assert leaks(found, pair.planted.untold) == []
        # The twin was shared, so its exchange is read.
        assert "reply" in leaks(found, pair.planted.told)
        with side.lab.reading() as con:
            counted = count_visibility(con, at=memory.at)
        assert leaks(str(counted.rows()).encode(), pair.planted.untold) == []
    assert blocks[0] == blocks[1]


@pytest.mark.stress
def test_a_report_its_charts_and_their_data_name_nothing(pair, monkeypatch):
    """The page, every picture as PNG, SVG and Vega-Lite with its data: of both sets of cases."""
    config = rt.load_config(str(pair.with_.folder / "c.toml"))
    drawn: list[bytes] = []

    def kept(picture: Picture, out: Path) -> Path:
        drawn.append(picture.svg.encode())
        drawn.append(picture.chart.to_json().encode() if picture.chart is not None else b"")
        return write_picture(picture, out)

    monkeypatch.setattr("recalltune.report.journey.write_picture", kept)
    for file, cases in (("lab", "c"), ("judged", "u")):
        lab = rt.open(pair.with_.folder / f"{file}.duckdb")
        out = pair.with_.folder / "report" / cases / "r.html"
        write_report(lab, cases, config, out, presets=("hel847-baseline", "hel847-ported"))
    written = pair.with_.written()
    assert {Path(name).suffix for name in written} >= {".html", ".png"}
    assert len(drawn) > 10
    for name, data in [*written.items(), *enumerate(drawn)]:
        assert leaks(data, pair.planted.untold) == [], name
    assert "text" in leaks(written["report/c/r.html"], pair.planted.told)


@pytest.mark.slow
def test_an_explorer_and_tables_name_nothing(pair):
    config = rt.load_config(str(pair.with_.folder / "c.toml"))
    shown = []
    for side in (pair.with_, pair.without):
        table = rt.candidates(side.lab, "c", config)
        page = rt.widgets.explorer(table, config, ["decay.half_life_days"]).snapshot(
            {"decay.half_life_days": 7}
        )
        tables = [
            rt.widgets.replaced(table),
            rt.widgets.answer(table, rt.evaluate(table, config), "case-00"),
        ]
        shown.append((page.html() if callable(page.html) else page.html) + page.svg()
                     + "".join(one._repr_html_() + str(one) for one in tables))  # fmt: skip
        assert leaks(shown[-1].encode(), pair.planted.untold) == []
    assert shown[0] == shown[1]
    assert "text" in leaks(shown[0].encode(), pair.planted.told)


@pytest.mark.slow
def test_what_a_reader_spills_is_sealed_private_and_gone(pair, tmp_path, monkeypatch):
    spilled = tmp_path / "spilled"
    limits = {"memory_limit": "96MiB", "temp_directory": str(spilled), "threads": 1}
    for name, value in limits.items():
        monkeypatch.setitem(sys.modules["recalltune.store.lab"]._CONFIG, name, value)
    more = "create temp table more as select t.text || i || repeat(md5(i::varchar), 40) as text"
    with pair.with_.lab.reading() as con:
        con.execute(f"{more} from text t, range(1000) r(i)")
        files = [path for path in spilled.iterdir() if path.is_file()]
        data = b"".join(path.read_bytes() for path in files)
        assert len(data) > 10_000_000
        assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
        assert spilled.stat().st_mode & 0o777 == 0o700
        words = [*pair.planted.untold.values(), *pair.planted.told.values()]
        assert not [word for word in words if word.encode() in data]
    assert not list(spilled.glob("*.tmp"))


@pytest.mark.slow
def test_no_log_and_no_temporary_file_is_left_beside_the_lab(pair):
    pair.with_.run(*SAME["replay"])
    assert [name for name in pair.with_.written() if "lab.duckdb" in name] == []


@pytest.mark.stress
@pytest.mark.model
def test_the_demo_and_the_notebooks_name_nothing(tmp_path, root, monkeypatch):
    """Every file the demo writes, and all that three notebooks put out, on the planted corpus."""
    corpus, _, planted = plant(tmp_path, root / "data", whole=True)
    side = Side(corpus.parent, hidden=True)
    printed = side.run("demo", "--out", "out/demo", "--data", "data")
    notebooks = side.folder / "notebooks"
    notebooks.mkdir()
    monkeypatch.setenv("RECALLTUNE_SMALL", "1")
    monkeypatch.setenv("JUPYTER_PREFER_ENV_PATH", "1")
    executed = {}
    for path in sorted((root / "notebooks").glob("*.ipynb")):
        if path.name.startswith(("00", "01", "10")):
            notebook = nbformat.read(path, as_version=4)
            NotebookClient(
                notebook, timeout=600, kernel_name="python3",
                resources={"metadata": {"path": str(notebooks)}},
            ).execute()  # fmt: skip
            executed[path.name] = nbformat.writes(notebook).encode()
    assert len(executed) == 3
    written = side.written()
    assert {Path(name).suffix for name in written} >= {".html", ".png", ".json"}
    # The import names values of layers and the like: see the test on imports.
    known = {"category", "tier", "origin"}
    for name, data in {"printed": printed, **executed, **written}.items():
        assert set(leaks(data, planted.untold)) <= known, name
    told = set(leaks(b"".join([*executed.values(), *written.values()]), planted.told))
    assert told & {"text", "id", "layer", "target text"}
