"""The guides are run: every shell line in a copy of the demo data, every Python block in order."""

from __future__ import annotations

import importlib.util
import inspect
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

GUIDES = [
    # Nine commands, each starting the embedding model anew, and a report.
    pytest.param("tune-your-own-data", marks=pytest.mark.stress),
    # Starts the embedding model and tries some hundred settings.
    pytest.param("find-dead-knobs", marks=pytest.mark.stress),
    # Starts the embedding model three times.
    pytest.param("replay-a-transcript", marks=pytest.mark.stress),
    "export-to-recallnest",
    "add-a-transcript-format",
]


def blocks(root: Path, guide: str, language: str) -> list[str]:
    text = (root / "docs" / "how-to" / f"{guide}.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def run_shell(script: str, folder: Path) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, f"{script}\n{done.stdout[-2_000:]}\n{done.stderr[-2_000:]}"
    return done.stdout


@pytest.mark.slow
@pytest.mark.model
@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not on PATH")
@pytest.mark.parametrize("guide", GUIDES)
def test_the_shell_lines_of_a_guide_work_one_after_another(root, tmp_path, guide):
    shutil.copytree(root / "data", tmp_path / "data")
    sweep_id = "none yet"
    for script in blocks(root, guide, "sh"):
        told = run_shell(script.replace("SWEEP_ID", sweep_id), tmp_path)
        if found := re.search(r"^sweep ([0-9a-f]{12})\b", told, re.MULTILINE):
            sweep_id = found[1]
    wanted = {
        "tune-your-own-data": ["report.html", "chosen.json"],
        "export-to-recallnest": ["config.json", "config.json.recalltune.json"],
    }
    assert all((tmp_path / name).is_file() for name in wanted.get(guide, []))
    if guide == "export-to-recallnest":
        before = (tmp_path / "data" / "recallnest" / "config.json").read_bytes()
        assert (tmp_path / "config.json").read_bytes() == before, "undo puts the bytes back"


@pytest.mark.parametrize(
    "guide",
    [
        "add-a-stage",
        "add-a-transcript-format",
        pytest.param("replay-a-transcript", marks=pytest.mark.slow),
    ],
)
def test_the_code_of_a_guide_passes_its_own_test(root, tmp_path, monkeypatch, guide):
    # One module, as a reader would have it: definitions first, its test below.
    name = guide.replace("-", "_")
    code = "from __future__ import annotations\n" + "\n".join(blocks(root, guide, "python"))
    (tmp_path / f"{name}.py").write_text(code, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, tmp_path / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)
    tests = [value for told, value in vars(module).items() if told.startswith("test_")]
    assert tests
    for test in tests:
        test(**({"tmp_path": tmp_path} if inspect.signature(test).parameters else {}))
