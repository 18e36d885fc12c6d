"""Every snippet of the README does what it says, on the demo corpus."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from recalltune.evaluate.cases import load_cases
from recalltune.report.demo import demo_lab


def snippets(root: Path, language: str) -> list[str]:
    text = (root / "README.md").read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def environment() -> dict[str, str]:
    folder = str(Path(sys.executable).parent)
    return {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "100"}


@pytest.mark.slow
@pytest.mark.model
def test_the_python_example_runs_and_says_what_was_chosen(root: Path, tmp_path: Path) -> None:
    (code,) = snippets(root, "python")
    (tmp_path / "out").mkdir()
    demo_lab(root / "data", tmp_path / "out" / "demo.duckdb")
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "the default" in done.stdout
    assert "held-out cases" in done.stdout


@pytest.mark.slow
@pytest.mark.model
def test_the_block_for_your_own_data_runs_as_it_stands(root: Path, tmp_path: Path) -> None:
    block = next(code for code in snippets(root, "sh") if "recalltune ingest" in code)
    (tmp_path / "data").symlink_to(root / "data")
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env=environment(),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for word in ("memories", "ndcg@10", "single_fact", "settings/s", "held-out cases"):
        assert word in " ".join(done.stdout.split())
    assert json.loads((tmp_path / "chosen.json").read_text(encoding="utf-8"))["metrics"]


@pytest.mark.slow
def test_the_case_shown_loads_into_the_demo_lab(root: Path, tmp_path: Path) -> None:
    (text,) = snippets(root, "json")
    (tmp_path / "one.json").write_text(text, encoding="utf-8")
    lab, _, _ = demo_lab(root / "data", tmp_path / "demo.duckdb")
    assert load_cases(lab, tmp_path / "one.json", case_set="readme").labels == 2


def test_the_lines_without_make_are_the_ones_the_environment_runs(root: Path) -> None:
    (block,) = [code for code in snippets(root, "sh") if "venv .venv" in code]
    project = (root / "pyproject.toml").read_text(encoding="utf-8")
    for extra in re.search(r"\.\[([a-z,]+)\]", block)[1].split(","):  # type: ignore[index]
        assert f"{extra} = [" in project
    assert "constraints.txt" in block
    assert (root / "constraints.txt").is_file()


def test_every_file_the_readme_links_to_is_there(root: Path) -> None:
    text = (root / "README.md").read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert (root / target).exists(), target
