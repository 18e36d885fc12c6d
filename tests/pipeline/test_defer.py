"""Deferral over the whole list and over a pool, worked by hand."""

from __future__ import annotations

import numpy as np

from recalltune.pipeline.stages import Defer
from recalltune.production.golden.one_query import applied, one_query

# Rows 0, 1 and 3 point the same way.
VECTORS = [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, -1.0]]
SCORES = [5.0, 4.0, 3.0, 2.0, 1.0]


def order(**fields: object) -> list[int]:
    stage = Defer(name="defer", **fields)
    table = one_query([{}] * 5, vectors=VECTORS)
    return applied([stage], table, SCORES)[-1].listed()[0].tolist()


def test_duplicates_go_behind_all_others():
    assert order() == [0, 2, 4, 1, 3]


def test_with_a_pool_they_go_behind_the_pool_and_the_rest_stays():
    assert order(pool=3) == [0, 2, 1, 3, 4]
    assert order(pool=100) == order()


def test_a_threshold_of_one_defers_nothing_equal_texts_included():
    # 0.6, 0.8 has a length of 1 and a rounding.
    table = one_query([{}] * 2, vectors=[[0.6, 0.8], [0.6, 0.8]])
    stage = Defer(name="defer", threshold=1.0)
    assert applied([stage], table, [2.0, 1.0])[-1].listed()[0].tolist() == [0, 1]
    assert stage.canonical() == {"kind": "defer", "name": "defer", "threshold": 1.0}


def test_what_is_not_read_is_no_part_of_the_fingerprint():
    assert "pool" not in Defer(name="defer").canonical()
    assert Defer(name="defer", pool=3).canonical()["pool"] == 3
    assert [Defer(name="defer", pool=p).compares for p in (None, 7)] == [np.inf, 7]
    assert Defer(name="defer", threshold=1.0).compares == 0
