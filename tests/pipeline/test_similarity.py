"""Similarities of a pool: for all spans at once or query by query, the bits are the same."""

from __future__ import annotations

import numpy as np
import pytest

from recalltune.pipeline.stages import arrange
from toy_candidates import toy


@pytest.mark.parametrize("kind", ["cosine", "jaccard"])
@pytest.mark.parametrize("width", [5, 70])
def test_all_spans_at_once_give_the_bits_of_each_query_alone(kind, width, monkeypatch):
    columns = np.tile(np.arange(width), (6, 1))
    at_once = arrange.pool_similarity(toy(1, queries=6, columns=70), columns, kind)
    monkeypatch.setattr(arrange, "_FEW_SPANS", 0)
    alone = arrange.pool_similarity(toy(1, queries=6, columns=70), columns, kind)
    assert at_once.shape == (6, width, width)
    np.testing.assert_array_equal(at_once, alone)
