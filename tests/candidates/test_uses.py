"""The history of use in a candidate table: every access before the question, and none after it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import recalltune as rt
from fused_lists import config
from recalltune.store import Access, insert_rows
from small_lab import Ask, Note, instant, make_lab

pytestmark = pytest.mark.slow


def test_uses_before_the_question_are_there_with_their_ages_and_later_ones_are_not(tmp_path: Path):
    notes = [Note("a", "tea", 1.0), Note("b", "tea", 2.0)]
    asks = [Ask("early", "tea", 6.0, ("a",)), Ask("late", "tea", 20.0, ("a",))]
    lab = make_lab(tmp_path / "lab.duckdb", notes, asks)
    days = {"a": (5.0, 3.0, 6.0, 9.0), "c": (1.0,)}
    with lab.writing() as con:
        uses = [
            Access(memory_id=name, used_at=instant(day), kind="recalled")
            for name, when in days.items()
            for day in when
        ]
        insert_rows(con, uses)
    stages = ({"kind": "rrf"}, {"kind": "act_r"})
    found = rt.candidates(lab, "s", config(*stages, arms={"lexical": {}}))
    early, late = found.position("early"), found.position("late")
    # Born on day 1, used on days 3 and 5; the use at the very moment of the question is none.
    np.testing.assert_allclose(found.use_ages(early), [[5, 3, 1], [4, np.nan, np.nan]])
    np.testing.assert_allclose(found.use_ages(late)[0], [19, 17, 15, 14, 11])
    for row in (early, late):
        ages = found.use_ages(row)
        counted = (~np.isnan(ages[:, 1:])).sum(axis=1)
        assert counted.tolist() == found.feature("access_count")[row].tolist()
    activation = np.log(5**-0.5 + 3**-0.5 + 1)
    scale = found.feature("age_days")  # shapes agree with what the stage scales
    weight = config(*stages).stage("act_r").affine(found).scale
    assert weight.shape == scale.shape
    assert weight[early, 0] == pytest.approx(1 / (1 + np.exp(-activation / 0.4)), rel=1e-12)


def test_a_sweep_may_give_a_layer_days_of_its_own_or_none(tmp_path: Path):
    notes = [Note("a", "tea", 1.0, layer="log"), Note("b", "tea tea", 8.0, layer="log")]
    lab = make_lab(tmp_path / "lab.duckdb", notes, [Ask("q", "tea", 9.0, ("a",))])
    setting = config({"kind": "rrf"}, {"kind": "decay"}, arms={"lexical": {}})
    table = rt.candidates(lab, "s", setting)
    space = rt.Space({"decay.layer_days.log": [1.0, 30.0, 3000.0, None]})
    swept = rt.sweep(table, setting, space, split="all")
    assert swept.points["decay.layer_days.log"].to_list() == ["null", "1.0", "30.0", "3000.0"]
    assert swept.merged == 1  # none of its own is the base
