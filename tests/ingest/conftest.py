"""A fresh lab per test, and short ways to write source files."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recalltune import store


@pytest.fixture(scope="session")
def empty_lab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return store.open(tmp_path_factory.mktemp("empty") / "lab.duckdb").path


@pytest.fixture
def lab(tmp_path: Path, empty_lab: Path) -> store.Lab:
    # Copying an empty lab is ten times faster than making its tables again.
    return store.open(shutil.copy(empty_lab, tmp_path / "lab.duckdb"))


@pytest.fixture
def src(tmp_path: Path) -> Path:
    folder = tmp_path / "src"
    folder.mkdir()
    return folder


@pytest.fixture
def write(src: Path) -> Callable[..., Path]:
    """Write a file below ``src``: text or bytes as they are, a list of objects as JSON lines."""

    def write(name: str, content: str | bytes | list[Any] | dict[str, Any]) -> Path:
        path = src / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, list):
            content = "".join(json.dumps(line) + "\n" for line in content)
        if isinstance(content, dict):
            content = json.dumps(content)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write
