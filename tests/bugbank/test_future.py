"""Bug bank F38: a memory dated after the question."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import recalltune as rt
from recalltune.pipeline.address import set_many
from recalltune.pipeline.run import run
from small_lab import Ask, Note, WordEncoder, make_lab

pytestmark = pytest.mark.slow


@pytest.fixture
def plan(tmp_path: Path) -> rt.store.Lab:
    """One memory known on day 1, asked for on day 3, about day 13."""
    lab = make_lab(tmp_path / "lab.duckdb", [Note("m", "tea", 1.0)], [Ask("q", "tea", 3.0)])
    with lab.writing() as con:
        con.execute("update memory_span set event_at = event_at + interval 12 day")
    return lab


def test_a_future_timestamp_is_new_counted_and_boosts_nothing_unless_asked(
    plan: rt.store.Lab,
) -> None:
    """F38. Kind: future timestamp is boosted or crashes."""
    config = rt.preset("textbook").with_(
        arms={"lexical": {}},
        stages=({"kind": "rrf"}, {"kind": "decay", "half_life_days": 30.0}),
    )
    table = rt.candidates(plan, "s", config)
    assert table.notices["future_timestamps"] == 1
    assert (table.feature("age_days")[0, 0], table.feature("days_ahead")[0, 0]) == (0.0, 10.0)
    # Factor 1.0, not 2^(10/30) = 1.259921.
    assert config.stage("decay").affine(table).scale[0, 0] == 1.0

    house = rt.preset("recallnest")
    table = rt.candidates(plan, "s", house, encoder=WordEncoder())
    boost = house.stage("recency_boost")
    # RecallNest gives more than its 0.1; ours does not.
    assert boost.affine(table).shift[0, 0] == pytest.approx(0.1 * math.exp(10 / 14))
    ours = set_many(house, {"recency_boost.boost_future": False})
    assert ours.stage("recency_boost").affine(table).shift[0, 0] == pytest.approx(0.1)
    for setting in (house, ours):
        assert run(table, setting).score[0, 0] <= 1.0
