"""What make docs writes about knobs that do nothing, on an account made by hand."""

from __future__ import annotations

import runpy
from typing import Any

import pytest


def parameter(address: str, verdict: str = "binds", **more: Any) -> dict[str, Any]:
    row = {"address": address, "verdict": verdict, "value": "1", "lists": 0.5, "queries": 8}
    return row | {"reason": ""} | more


@pytest.fixture
def page(root, monkeypatch):
    """The script, run as `make docs` runs it."""
    monkeypatch.syspath_prepend(str(root / "docs"))
    return runpy.run_path(str(root / "docs" / "knobs.py"))


def account(page, *more: dict[str, Any]) -> dict[str, Any]:
    rows = [parameter(address) for address in page["FILE_KEYS"].values()]
    dead = {"lists": 0.0, "reason": "reaches no candidate"}
    rows[5] |= {"verdict": "never binds", **dead}
    ghosts = {"stage": "minimum", "category": "all", "rows": 200, "ghosts": 31, "share": 0.155}
    return {
        "parameters": [*rows, *more],
        "ghosts": [{**ghosts, "category": "log", "ghosts": 30}, ghosts],
        "abstention": [{"empty_at_most": 0.25}, {"empty_at_most": 0.5}],
        "untrusted": 3,
        "shown": 1_200,
    }


def test_every_key_of_the_file_has_a_line_with_its_verdict(page) -> None:
    table = page["keys_table"](account(page)).splitlines()
    assert len(table) == 2 + len(page["FILE_KEYS"])
    assert "| `recencyHalfLifeDays` | 1 | 50% of 8 | binds |  |" in table
    assert "| `hardMinScore` | 1 | 0% of 8 | never binds | reaches no candidate |" in table
    assert any(line.startswith("| `minScore` |") for line in table)


def test_a_preset_has_one_line_and_what_was_not_tried_counts_in_none_of_it(page) -> None:
    given = account(page, parameter("a.b", "not tried", lists=None), parameter("a.c", "not tried"))
    given["parameters"][0]["verdict"] = "always saturates"
    given["parameters"][1]["verdict"] = "not seen to bind"
    size = len(page["FILE_KEYS"])
    assert page["presets_table"]({"mine": given}).splitlines()[-1] == (
        f"| `mine` | {size} | 1 | 1 | 1 | 31 of 200, 15.5% | 50% | 3 of 1,200 |"
    )
    without = {**given, "ghosts": []}
    assert "| no minimum |" in page["presets_table"]({"mine": without})


def test_the_page_has_a_place_for_each_of_them(root, page) -> None:
    text = (root / "docs" / "how-to" / "find-dead-knobs.md").read_text(encoding="utf-8")
    for name in ("stamp", "presets", "keys", "leads"):
        assert page["with_block"](text, name, "x") != text
