"""make demo: what it leaves behind, and what must never be in it."""

from __future__ import annotations

import base64
import json
import re
import stat
from pathlib import Path

import pytest

from recalltune.pipeline.address import get
from recalltune.production.recallnest_file import import_recallnest
from recalltune.report.demo import run_demo

pytestmark = [pytest.mark.slow, pytest.mark.model]


@pytest.fixture(scope="module")
def told(root: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], Path]:
    out = tmp_path_factory.mktemp("demo") / "out"
    lines: list[str] = []
    run_demo(root / "data", out, say=lines.append)
    return lines, out


@pytest.fixture(scope="module")
def untold(root: Path) -> list[dict]:
    payload = json.loads((root / "data/connector/agent_memory.json").read_text("utf-8"))
    found = [
        record
        for record in payload["records"]
        if record["sourceMetadata"].get("toldAt", "told") is None
    ]
    assert len(found) >= 4
    return found


def test_every_step_is_told_with_its_time_and_the_last_line_is_the_report(
    told: tuple[list[str], Path],
) -> None:
    lines, out = told
    steps = [line for line in lines if re.match(r"\d [a-z]+ ", line)]
    assert [line.split()[1] for line in steps] == [
        "import",
        "embed",
        "presets",
        "sweep",
        "choice",
        "production",
        "export",
        "report",
    ]
    assert all(re.search(r"\d+\.\d s$", line) for line in steps)
    assert lines[-1] == str(out / "report.html")
    assert max(map(len, lines)) <= 100


def test_everything_promised_is_there_and_private(told: tuple[list[str], Path]) -> None:
    _, out = told
    names = {path.name for path in out.iterdir()}
    promised = {"report.html", "demo.json", "chosen.toml", "chosen.json", "config.json"}
    assert promised <= names
    assert len([name for name in names if name.endswith(".png")]) >= 7
    assert stat.S_IMODE(out.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in out.iterdir()} == {0o600}


def test_the_figures_add_up(told: tuple[list[str], Path]) -> None:
    lines, out = told
    record = json.loads((out / "demo.json").read_text("utf-8"))
    counted = record["import"]
    assert counted["read"] == counted["kept"] + counted["dropped"]
    assert f"{counted['read']} read" in lines[0]
    layers = next(line for line in lines if "superseded" in line and "project" in line)
    assert (
        sum(map(int, re.findall(r"[a-z] (\d+)", layers.split("superseded")[0]))) == 606
    )  # of 612 kept, 6 were never told
    choice = record["choice"]
    assert choice["settings"] == record["sweep"]["settings"]
    assert choice["held_out"]["n"] <= choice["cases"]


def test_the_exported_file_says_what_was_chosen_and_keeps_the_rest(
    told: tuple[list[str], Path], root: Path
) -> None:
    _, out = told
    before = (root / "data/recallnest/config.json").read_text("utf-8").splitlines()
    after = (out / "config.json").read_text("utf-8").splitlines()
    record = json.loads((out / "demo.json").read_text("utf-8"))["production"]
    config = import_recallnest(out / "config.json")
    assert record["changes"]
    for address, change in record["changes"].items():
        assert get(config, address) == change["chosen"]
    differing = [old for old, new in zip(before, after, strict=True) if old != new]
    assert len(differing) == len(record["changes"])


def test_nothing_untold_is_in_any_artefact(
    told: tuple[list[str], Path], untold: list[dict]
) -> None:
    lines, out = told
    page = (out / "report.html").read_text("utf-8")
    drawn = "".join(
        base64.b64decode(code).decode("utf-8")
        for code in re.findall(r"data:image/svg\+xml;base64,([A-Za-z0-9+/=]+)", page)
    )
    assert "<svg" in drawn
    texts = [page, drawn, *lines]
    texts += [
        path.read_bytes().decode("utf-8", "replace")
        for path in out.iterdir()
        if path.suffix in (".json", ".toml", ".png")
    ]
    everything = "\n".join(texts)
    for record in untold:
        assert record["id"] not in everything
        assert record["text"][:24] not in everything
        assert f"[{record['title']}]" not in everything


@pytest.mark.stress
def test_a_second_run_writes_the_same_bytes(
    told: tuple[list[str], Path], root: Path, tmp_path: Path
) -> None:
    """Only the printed seconds and the speed differ; they stand in no file."""
    _, first = told
    second = tmp_path / "out"
    run_demo(root / "data", second, say=lambda line: None)
    for name in ("demo.json", "chosen.toml", "chosen.json", "config.json"):
        assert (second / name).read_bytes() == (first / name).read_bytes(), name
    page = (first / "report.html").read_text("utf-8")
    assert (second / "report.html").read_text("utf-8") == page
    assert str(first.parent) not in page
