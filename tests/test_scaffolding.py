"""What a bare clone relies on: pinned versions, the verbs of make, the gates of the tests."""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
import sys
import tomllib

import pytest
from packaging.requirements import Requirement

VERBS = ["demo", "test", "quick", "stress", "lab", "check", "notebooks"]
VERBS += ["bench", "parity", "results", "docs"]


@pytest.fixture(scope="module")
def pins(root):
    """Requirement lines of constraints.txt by normalised name."""
    found: dict[str, list[Requirement]] = {}
    for line in (root / "constraints.txt").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            pin = Requirement(line)
            found.setdefault(normal(pin.name), []).append(pin)
    return found


def normal(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def test_every_dependency_is_pinned_to_a_version_its_range_allows(root, pins):
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    names = ("models", "fast", "stores", "dev")
    asked = [*project["dependencies"], *(line for name in names for line in extras[name])]
    for wanted in map(Requirement, asked):
        for pin in pins[normal(wanted.name)]:
            (exact,) = pin.specifier
            assert wanted.specifier.contains(exact.version), f"{wanted} against {pin}"


def test_constraints_hold_public_exact_versions_and_nothing_of_this_machine(pins):
    for pin in (pin for pins_of_one in pins.values() for pin in pins_of_one):
        assert [one.operator for one in pin.specifier] == ["=="]
        assert "+" not in str(pin.specifier)
        assert pin.url is None
    assert "recalltune" not in pins


def test_torch_is_pinned_and_numpy_is_a_pair_of_lines(pins):
    assert [str(pin) for pin in pins["torch"]] == ["torch==2.13.0"]
    markers = sorted(str(pin.marker) for pin in pins["numpy"])
    assert markers == ['python_version < "3.12"', 'python_version >= "3.12"']


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not on PATH")
def test_make_lists_its_verbs(root):
    told = subprocess.run(["make"], cwd=root, capture_output=True, text=True, check=True).stdout
    assert re.findall(r"^  make (\w+)", told, re.MULTILINE) == ["help", *VERBS]


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not on PATH")
def test_without_a_python_make_prints_one_command(root, tmp_path):
    done = subprocess.run(
        ["make", f"STAMP={tmp_path / 'stamp'}", "PYTHON=", "demo"],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "Run:\n\n    make demo PYTHON=/path/to/python3.11\n" in done.stderr


def test_an_old_python_is_answered_with_one_command(root, capsys, monkeypatch):
    script = runpy.run_path(str(root / "tests/checks/environment.py"))
    monkeypatch.setattr(sys, "version_info", (3, 10, 1))
    assert script["main"]() == 1
    told = capsys.readouterr().err
    assert "Python 3.11 or newer is needed" in told
    assert len(re.findall(r"^    \S", told, re.MULTILINE)) == 1


@pytest.mark.slow
@pytest.mark.parametrize(("strict", "outcome"), [("0", "1 skipped"), ("1", "1 error")])
def test_a_missing_need_is_a_skip_here_and_a_failure_in_ci(root, tmp_path, strict, outcome):
    shutil.copy(root / "tests/conftest.py", tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    shared: x\n", encoding="utf-8")
    (tmp_path / "test_x.py").write_text(
        "import pytest\n@pytest.mark.shared\ndef test_x():\n    pass\n", encoding="utf-8"
    )
    told = subprocess.run(
        [sys.executable, "-m", "pytest", "-ra", "-p", "no:cacheprovider", str(tmp_path)],
        cwd=tmp_path,
        env={**os.environ, "RECALLTUNE_CI": strict, "RECALLTUNE_SHARED": str(tmp_path / "none")},
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    assert outcome in told
    assert "no shared data folder" in told
