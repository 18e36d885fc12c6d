"""Faults of memory stores seen through a replay: what was dropped is told, nothing later is seen.

Numbers in the names are those of the bank; inputs are its own.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from recalltune.errors import checked
from recalltune.evaluate.shown import rank
from recalltune.pipeline.config import RankingConfig
from recalltune.replay.fates import fates
from recalltune.replay.steps import Replay, replay
from recalltune.store import Lab
from small_lab import Ask, Note, make_lab
from toy_candidates import toy

pytestmark = pytest.mark.slow


def config(*stages: dict[str, Any], **admit: str) -> RankingConfig:
    return checked(
        RankingConfig,
        {"admit": admit, "arms": {"lexical": {}}, "stages": [{"kind": "rrf"}, *stages]},
    )


def walked(folder: Path, notes: list[Note], ask: Ask, setting: RankingConfig) -> Replay:
    return replay(make_lab(folder / "l.duckdb", notes, [ask]), setting, cases="s")


def sized(name: str, tokens: int, times: int) -> Note:
    """A memory of so many tokens that ranks by how often it says the word asked for."""
    return Note(name, " ".join(["tea"] * times + ["so"] * (tokens - times)), 1.0)


def test_51_and_52_counts_are_of_the_scope_that_was_asked(tmp_path: Path) -> None:
    crowd = [Note(f"log{n:03d}", "tea tea", 1.0, scope="log") for n in range(300)]
    [only] = walked(
        tmp_path,
        [*crowd, Note("mine", "tea garden server", 1.0, scope="user")],
        Ask("c", "tea", 5.0, ("mine",), scope="user"),
        config({"kind": "select", "top_k": 5}),
    ).objects()
    assert only["shown"] == ["mine"]
    assert (only["N"], only["union"], only["arms"]["lexical"]["touched"]) == (1, 1, 1)
    assert sum(layer["candidates"] for layer in only["layers"]) == 1
    assert only["same_instant"] == 0


@pytest.fixture
def packed(tmp_path: Path) -> tuple[Lab, list[str]]:
    sizes = [40, 280, 30, 30, 30]
    notes = [sized(f"m{n}", size, 0) for n, size in enumerate(sizes, start=1)]
    asks = [Ask("c", "so", 5.0, tuple(note.memory_id for note in notes))]
    return make_lab(tmp_path / "l.duckdb", notes, asks), [note.memory_id for note in notes]


def test_53_a_large_item_ends_no_packing_and_is_told_with_what_it_lacked() -> None:
    table = toy(0, queries=1, columns=5)
    table = replace(
        table,
        span=np.arange(5)[None, :],
        features={
            **table.features,
            "dense_rank": np.full((1, 5), np.nan),
            "lexical_rank": np.array([[1.0, 2, 3, 4, 5]]),
            "layer": np.zeros((1, 5), dtype=np.int64),
            "tokens": np.array([[40, 280, 30, 30, 30]]),
        },
    )
    setting = config({"kind": "select", "top_k": 9, "budget_tokens": 300})
    shown = rank(table, setting)
    assert int(shown.accounts["tokens"].sum()) == 40 + 30 + 30 + 30
    wanted = table.spans.head(5).select(pl.lit("q0").alias("query_id"), "memory_id")
    [lost] = fates(table, setting, wanted).filter(pl.col("fate") != "shown").to_dicts()
    # It does not fit: 280 > 260 left.
    assert (lost["memory_id"], lost["fate"], lost["position"]) == ("m001", "budget", 2)
    assert (lost["margin"], lost["unit"]) == (280 - 260, "tokens")
    smaller = config({"kind": "select", "top_k": 9, "budget_tokens": 279})
    [lost] = fates(table, smaller, wanted).filter(pl.col("fate") != "shown").to_dicts()
    assert (lost["fate"], lost["margin"]) == ("oversize", 1)


def test_54_nothing_is_dropped_without_a_line_for_it(packed: tuple[Lab, list[str]]) -> None:
    lab, ids = packed
    for budget in (1, 50, 200, 1_000):
        setting = config({"kind": "select", "top_k": 3, "budget_tokens": budget})
        told = replay(lab, setting, cases="s")
        assert told.fates.height == len(ids)
        shown = told.fates.filter(pl.col("fate") == "shown").height
        account = told.accounts.select(pl.col("candidates", "picked", "dropped").sum()).row(0)
        assert account == (len(ids), shown, len(ids) - shown)
        reasons = set(told.fates.filter(pl.col("fate") != "shown")["fate"])
        assert reasons <= {"budget", "oversize", "limit"}


def test_59_a_larger_budget_never_uses_fewer_tokens(packed: tuple[Lab, list[str]]) -> None:
    lab, _ = packed
    used = []
    for budget in range(20, 600, 145):
        stage = {"kind": "select", "top_k": 9, "budget_tokens": budget, "packer": "prefix"}
        used.append(int(replay(lab, config(stage), cases="s").steps["tokens"].item()))
        assert used[-1] <= budget
    assert used == sorted(used)
    assert used[0] < used[-1]


def test_60_a_layer_drowned_by_volume_gets_its_floor_and_nothing_under_the_minimum(
    tmp_path: Path,
) -> None:
    logs = [Note(f"log{n:02d}", "tea tea tea", 1.0) for n in range(40)]
    weak = " ".join(["tea", *["garden"] * 12])
    projects = [Note(f"p{n}", weak, 1.0, layer="project") for n in range(5)]
    targets = tuple(note.memory_id for note in projects)
    asked = Ask("c", "tea", 5.0, targets)
    lab = make_lab(tmp_path / "l.duckdb", [*logs, *projects], [asked])

    def places(*stages: dict[str, Any]) -> tuple[int, dict[str, int], dict[str, int]]:
        told = replay(lab, config(*stages), cases="s")
        [only] = told.objects()
        layers = {layer["layer"]: layer for layer in only["layers"]}
        became = dict(told.fates.group_by("fate").len().iter_rows())
        return layers["project"]["picked"], became, layers["log"]

    assert places({"kind": "select", "top_k": 10})[:2] == (0, {"limit": 5})
    picked, became, log = places({"kind": "select", "top_k": 10, "floors": {"project": 3}})
    assert (picked, became) == (3, {"shown": 3, "limit": 2})
    assert (log["picked"], log["displaced"]) == (7, 3)
    # The last log row in stands at 1 / 100, the first project row behind it.
    minimum = {"kind": "threshold", "min_score": 1 / 100}
    picked, became, _ = places(minimum, {"kind": "select", "top_k": 10, "floors": {"project": 3}})
    assert (picked, became) == (0, {"threshold": 5})


def test_61_a_superseded_fact_is_hidden_behind_its_correction_or_shown_and_marked(
    tmp_path: Path,
) -> None:
    notes = [Note("old", "tea tea deadline", 1.0, superseded=3.0), Note("new", "tea garden", 2.0)]
    lab = make_lab(tmp_path / "l.duckdb", notes, [Ask("c", "tea", 5.0, ("old", "new"))])
    with lab.writing() as con:
        con.execute("update memory set superseded_by = 'new' where memory_id = 'old'")
    listed = {"kind": "select", "top_k": 5}
    for setting in (config(listed, superseded="hide"), config({"kind": "active"}, listed)):
        now = replay(lab, setting, cases="s")
        assert now.hits["memory_id"].to_list() == ["new"]
        [lost] = now.fates.filter(pl.col("memory_id") == "old").to_dicts()
        # An intended loss: what replaced it is shown, at its place.
        assert (lost["fate"], lost["by"], lost["position"]) == ("status", "new", 1)
        assert (lost["margin"], lost["unit"]) == (2.0, "days")
    both = replay(lab, config(listed), cases="s").hits
    assert dict(both.select("memory_id", "superseded").iter_rows()) == {"old": True, "new": False}


@pytest.mark.parametrize("day", [5.0, 10.0])
def test_70_what_is_recorded_later_or_at_the_very_instant_is_not_seen(
    tmp_path: Path, day: float
) -> None:
    told = walked(
        tmp_path,
        [Note("fact", "tea", 10.0)],
        Ask("c", "tea", day, ("fact",)),
        config({"kind": "select", "top_k": 5}),
    )
    [only] = told.objects()
    assert (only["N"], only["shown"], only["why"]) == (0, [], "empty_world")
    assert only["same_instant"] == int(day == 10.0)
    [fate] = told.fates.to_dicts()
    assert (fate["fate"], fate["margin"], fate["unit"]) == ("not_yet", 10.0 - day, "days")
    assert told.steps["asks"].item() == "not_judged"
