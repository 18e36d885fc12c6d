"""The layered display: same items, same order within a layer, and a mark on what was replaced."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from recalltune.candidates.build import candidates
from recalltune.errors import checked
from recalltune.pipeline.config import LAYERS as CONFIG_LAYERS
from recalltune.pipeline.config import RankingConfig
from recalltune.pipeline.present import display_lines, present
from recalltune.pipeline.run import run
from small_lab import Ask, Note, make_lab
from toy_candidates import LAYERS, toy

CONFIG = checked(RankingConfig, {"arms": {"lexical": {}}, "stages": [{"kind": "rrf"}]})


def test_a_superseded_entry_is_marked_and_points_to_its_successor(tmp_path: Path) -> None:
    notes = [
        Note("old", "tea at three", 1.0, layer="project", superseded=5.0),
        Note("new", "tea at four", 5.0, layer="project"),
        Note("day", "tea was good", 6.0),
    ]
    asks = [Ask("before", "tea", 4.0, ("old",)), Ask("later", "tea", 9.0, ("new",))]
    lab = make_lab(tmp_path / "l.duckdb", notes, asks)
    with lab.writing() as con:
        con.execute("update memory set superseded_by = 'new' where memory_id = 'old'")
    table = candidates(lab, "s", CONFIG)
    order = run(table, CONFIG).listed()
    before = present(table, order, table.position("before"), layers=CONFIG_LAYERS)
    assert before.select("memory_id", "status", "successor").rows() == [("old", "current", None)]
    later = present(table, order, table.position("later"), layers=CONFIG_LAYERS)
    assert later["layer"].to_list() == ["project", "project", "log"]
    lines = display_lines(later)
    assert lines[0] == "[project]"
    assert any("(no longer valid: superseded, see new) tea at three" in line for line in lines)
    assert lines[3] == "[log]"


def test_a_successor_the_query_may_not_see_is_not_named(tmp_path: Path) -> None:
    notes = [
        Note("old", "tea at three", 1.0, superseded=5.0),
        Note("new", "tea at four", 5.0, gated=True),
    ]
    lab = make_lab(tmp_path / "l.duckdb", notes, [Ask("q", "tea", 9.0, ("old",))])
    with lab.writing() as con:
        con.execute("update memory set superseded_by = 'new' where memory_id = 'old'")
    table = candidates(lab, "s", CONFIG)
    shown = present(table, run(table, CONFIG).listed(), 0, layers=CONFIG_LAYERS)
    assert shown.select("memory_id", "status", "successor").rows() == [("old", "superseded", None)]


@given(st.integers(0, 300), st.permutations(LAYERS))
def test_grouping_keeps_every_item_and_the_order_within_a_layer(
    seed: int, layers: list[str]
) -> None:
    bare = toy(seed)
    code = np.arange(bare.spans.height) % len(LAYERS)
    spans = bare.spans.with_columns(
        pl.Series("layer", [LAYERS[n] for n in code]),
        pl.lit("t").alias("text"),
        pl.lit(-1).alias("enters_at"),
        pl.lit(None, pl.String).alias("superseded_by"),
    )
    queries = bare.queries.with_columns(pl.lit(0, pl.Int64).alias("asked_at"))
    table = replace(bare, spans=spans, queries=queries)
    order = run(table, CONFIG_BOTH).listed()
    for query in range(order.shape[0]):
        shown = present(table, order, query, layers=layers)
        listed = [table.memory_id(query, int(c)) for c in order[query] if c >= 0]
        assert sorted(shown["memory_id"].to_list()) == sorted(listed)
        for group in shown.partition_by("layer"):
            assert group["rank"].is_sorted()


CONFIG_BOTH = checked(
    RankingConfig, {"arms": {"lexical": {}, "dense": {}}, "stages": [{"kind": "rrf"}]}
)
