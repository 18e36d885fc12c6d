"""make results: what it writes holds aggregates only, and nothing where there is no shared data."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks import results

SLICED_BY = {"kind", "language", "ranking", "tokeniser"}
COLUMNS = {"metric", "mean", "lo", "hi", "n", "undefined"} | SLICED_BY


def tables(told: dict[str, Any]) -> Iterator[list[dict[str, Any]]]:
    yield from (value for value in told.values() if isinstance(value, list))


def test_without_shared_data_nothing_is_written_and_that_is_said(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("RECALLTUNE_SHARED", str(tmp_path / "none"))
    monkeypatch.setattr("sys.argv", ["results.py", "--into", str(tmp_path / "results")])
    assert results.main() == 0
    assert "no shared data" in capsys.readouterr().out
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize("name", sorted(results.DATA_SETS))
def test_committed_figures_are_aggregates_with_n_and_recipe(root, name):
    told = json.loads((root / "docs" / "results" / f"{name}.json").read_text(encoding="utf-8"))
    assert {"data", "recipe", "n"} <= told.keys()
    rows = [row for table in tables(told) for row in table]
    assert rows
    assert all(row.keys() <= COLUMNS and row["n"] >= 30 for row in rows)
    assert all(0 <= row["lo"] <= row["mean"] <= row["hi"] <= 1 for row in rows)
    assert told["recipe"]["config"] == results.CONFIGS[name]


@pytest.mark.slow
@pytest.mark.shared
def test_committed_figures_of_cranfield_are_those_of_the_code(root, shared: Path, tmp_path):
    told = json.loads((root / "docs" / "results" / "cranfield.json").read_text(encoding="utf-8"))
    assert results.cranfield(shared, tmp_path) == told
