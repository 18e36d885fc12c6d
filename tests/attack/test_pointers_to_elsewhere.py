"""What a memory says of others counts from when it is there, and where: before, it hides nothing.

A later memory, or one of another scope, may name a copy, a successor or a message of something that
a query sees. What the query is shown, and told, must be the same with it and without.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import recalltune as rt
from recalltune.candidates.copies import Copies
from recalltune.errors import ParameterError, checked
from recalltune.pipeline.config import RankingConfig
from recalltune.store import Lab
from small_lab import Ask, Note, make_lab

FIRST = Note("first", "tea garden", 0.0)
REPEAT = Note("repeat", "tea server", 2.0)
POINTS = [("repeat", "between"), ("between", "first")]
"""What each memory is said to repeat."""


def setting(*stages: dict[str, Any], **admit: str) -> RankingConfig:
    told = {"admit": admit, "arms": {"lexical": {}}, "stages": [{"kind": "rrf"}, *stages]}
    return checked(RankingConfig, told)


def lab_of(folder: Path, notes: Sequence[Note], asks: Sequence[Ask], *changes: str) -> Lab:
    folder.mkdir(exist_ok=True)
    lab = make_lab(folder / "l.duckdb", notes, asks)
    with lab.writing() as con:
        for memory_id, other in POINTS:
            con.execute(
                "update memory set duplicate_of = $other where memory_id = $memory_id",
                {"other": other, "memory_id": memory_id},
            )
        for change in changes:
            con.execute(change)
    return lab


def seen(lab: Lab, day: float, *, scope: str | None = "team") -> list[str]:
    at = int(1e6 * 86_400 * day) + 1_767_225_600_000_000
    table = rt.ask(lab, "tea", setting(), at=at, scope=scope)
    return [table.memory_id(0, column) for column in np.flatnonzero(table.valid[0])]


def test_a_later_memory_makes_no_copy_of_what_was_there(tmp_path: Path) -> None:
    without = lab_of(tmp_path / "a", [FIRST, REPEAT], [])
    later = lab_of(tmp_path / "b", [FIRST, REPEAT, Note("between", "tea cup", 5.0)], [])
    assert seen(without, 3.0) == seen(later, 3.0) == seen(later, 5.0) == ["first", "repeat"]
    # From then on it is a copy of the one that points to it.
    assert seen(later, 6.0) == ["first", "repeat"]
    earlier = lab_of(tmp_path / "c", [FIRST, REPEAT, Note("between", "tea cup", 1.0)], [])
    assert seen(earlier, 3.0) == ["first"]


def test_a_memory_of_another_scope_makes_no_copy_in_this_one(tmp_path: Path) -> None:
    between = Note("between", "tea cup", 1.0, scope="home")
    lab = lab_of(tmp_path, [FIRST, REPEAT, between], [])
    assert seen(lab, 3.0) == ["first", "repeat"]
    assert seen(lab, 3.0, scope="home") == ["between"]


def drawn(seed: int) -> tuple[pl.DataFrame, np.ndarray]:
    """Memories that point anywhere, and when each enters."""
    rng = np.random.default_rng(seed)
    ids = [f"m{n:02d}" for n in range(int(rng.integers(2, 25)))]
    frame = pl.DataFrame(
        {
            "memory_id": ids,
            "version": 1,
            "scope": rng.choice(["team", "home"], len(ids)).tolist(),
            "duplicate_of": [None if rng.random() < 0.3 else str(rng.choice(ids)) for _ in ids],
        },
        schema={"memory_id": pl.String, "version": pl.Int64, "scope": pl.String,
                "duplicate_of": pl.String},
    )  # fmt: skip
    return frame, rng.integers(0, 6, len(ids)).astype(np.int64)


@pytest.mark.parametrize("seed", range(60))
def test_copies_are_those_of_what_is_there_alone(seed: int) -> None:
    frame, enters = drawn(seed)
    whole = Copies.of(frame, enters)
    for at in range(7):
        for scope in ("team", "home"):
            there = (enters < at) & (frame["scope"] == scope).to_numpy()
            alone = Copies.of(frame.filter(there), enters[there])
            hidden = alone.later(np.ones(int(there.sum()), dtype=np.bool_))
            assert sorted(whole.later(there)) == sorted(np.flatnonzero(there)[hidden])


def test_a_text_told_after_its_edit_makes_no_copy_of_the_edit() -> None:
    """Version 1 enters after version 2, which says the same: whether it will, nobody knows yet."""
    frame = pl.DataFrame(
        {
            "memory_id": ["a", "b", "b"],
            "version": [1, 1, 2],
            "scope": "team",
            "text_hash": "x",
            "duplicate_of": [None, "a", "a"],
        }
    )
    enters, there = np.array([0, 6, 3]), np.array([True, False, True])
    assert Copies.of(frame, enters).later(there).tolist() == []
    never_told = frame.filter(pl.Series([True, False, True]))
    assert Copies.of(never_told, enters[there]).later(np.array([True, True])).tolist() == []


@pytest.mark.slow
@pytest.mark.parametrize("hidden", ["admit", "stage"])
def test_a_retracted_memory_has_no_successor_until_it_is_replaced(
    tmp_path: Path, hidden: str
) -> None:
    notes = [Note("old", "tea tea", 0.0, superseded=8.0), Note("new", "tea cup", 1.0)]
    asks = [Ask("c", "tea", 5.0, ("old",)), Ask("d", "tea", 9.0, ("old",))]
    lab = lab_of(
        tmp_path, notes, asks,
        "update memory set superseded_by = 'new' where memory_id = 'old'",
        "update memory_span set retracted_at = known_at + interval 2 day where memory_id = 'old'",
    )  # fmt: skip
    selects = {"kind": "select", "top_k": 5}
    config = (
        setting(selects, retracted="hide") if hidden == "admit"
        else setting({"kind": "active"}, selects)
    )  # fmt: skip
    told = rt.fates(rt.candidates(lab, "s", config), config).sort("query_id")
    assert told["fate"].to_list() == ["status", "status"]
    assert told.select("by", "position").rows() == [(None, None), ("new", 1)]


def test_what_the_prompt_holds_back_is_counted_in_the_world_of_the_query(tmp_path: Path) -> None:
    notes = [
        Note("seen", "tea", 0.0),
        Note("later", "tea", 6.0),
        Note("at", "tea", 5.0),
        Note("gone", "tea", 0.0, leaves=2.0),
        Note("replaced", "tea", 0.0, superseded=2.0),
        Note("elsewhere", "tea", 0.0, scope="home"),
    ]
    asks = [Ask("c", "tea", 5.0, session="s1")]
    lab = lab_of(tmp_path, notes, asks, "update memory set session = 's1'")
    table = rt.candidates(lab, "s", setting(in_prompt="hide_session", superseded="hide"))
    assert table.notices["in_prompt"] == 1


def test_a_bonus_without_a_ceiling_is_refused_in_a_profile_too(tmp_path: Path) -> None:
    config = setting({"kind": "frequency_boost", "weight": 0.0}, {"kind": "select", "top_k": 3})
    config = config.with_(profiles={"busy": {"frequency_boost.weight": 0.5}})
    lab = lab_of(tmp_path, [FIRST], [Ask("c", "tea", 5.0, profile="busy")])
    with pytest.raises(ParameterError, match=r"weight must be 0 .* got 0\.5 in profile 'busy'"):
        rt.reinforce(rt.candidates(lab, "s", config), config)
