"""Which vector stands for which: by hand, and what holds for any vectors."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from recalltune.errors import ParameterError
from recalltune.rank import cosine_matrix, survivors


def at(*degrees: float) -> list[list[float]]:
    return [[math.cos(math.radians(d)), math.sin(math.radians(d))] for d in degrees]


def test_the_more_important_one_stands_for_those_near_it():
    # cos 10 = .985, cos 20 = .940, cos 30 = .866
    assert survivors(at(0, 10, 60), [0.5, 0.9, 0.4]).tolist() == [1, 1, 2]
    assert survivors(at(0, 20, 40), [0.1, 0.9, 0.1]).tolist() == [1, 1, 1]


def test_of_equals_the_first_one_stands():
    assert survivors(at(0, 0, 0), [0.5, 0.5, 0.5]).tolist() == [0, 0, 0]


def test_what_was_dropped_drops_nothing():
    # 20 repeats 0 and is dropped; 40 is .940 from it, but .766 from the one that was kept.
    assert survivors(at(0, 20, 40), [0.9, 0.8, 0.7]).tolist() == [0, 0, 2]


def test_it_points_to_the_nearest_of_those_kept():
    # 15 lies .966 from 0 and .982 from 26; 0 and 26 are .899 apart.
    assert survivors(at(0, 26, 15), [0.9, 0.8, 0.7]).tolist() == [0, 1, 1]


def test_exactly_the_threshold_is_no_repeat():
    vectors = [[1.0, 0.0], [0.6, 0.8]]
    assert survivors(vectors, [1, 1], threshold=0.6).tolist() == [0, 1]
    assert survivors(vectors, [1, 1], threshold=0.599).tolist() == [0, 0]


def test_a_zero_vector_repeats_nothing_and_lengths_do_not_count():
    assert survivors([[0, 0], [0, 0]], [1, 1], threshold=0.0).tolist() == [0, 1]
    assert survivors([[1e-200, 0], [1e200, 0]], [1, 2]).tolist() == [1, 1]
    assert survivors(np.empty((0, 3)), []).tolist() == []


@pytest.mark.parametrize(
    ("given_", "says"),
    [
        (([1.0], [1.0], 0.9), r"vectors must have shape \(n, d\), got \(1,\)"),
        (([[1.0]], [1.0, 2.0], 0.9), r"importances must have shape \(1,\), got \(2,\)"),
        (([[math.nan]], [1.0], 0.9), "vectors must be finite"),
        (([[1.0]], [math.inf], 0.9), "importances must be finite"),
        (([[1.0]], [1.0], 1.5), r"threshold must lie in \[0, 1\], got 1.5"),
    ],
)
def test_wrong_arrays_are_refused_by_name(given_, says):
    vectors, importances, threshold = given_
    with pytest.raises(ParameterError, match=says):
        survivors(vectors, importances, threshold=threshold)


@given(
    hnp.arrays(np.float64, st.tuples(st.integers(0, 12), st.just(3)), elements=st.integers(-2, 2)),
    st.data(),
)
def test_kept_ones_are_unlike_and_dropped_ones_point_to_a_kept_one_as_important(vectors, data):
    importances = data.draw(
        st.lists(st.sampled_from([0.1, 0.5, 0.9]), min_size=len(vectors), max_size=len(vectors))
    )
    # No cosine of such small whole numbers is near .81 without being clearly above or below it.
    found = survivors(vectors, importances, threshold=0.81)
    cosine = cosine_matrix(vectors) if len(vectors) else np.empty((0, 0))
    kept = np.flatnonzero(found == np.arange(len(vectors)))
    assert all(cosine[a, b] <= 0.81 for a in kept for b in kept if a != b)
    for place, one in enumerate(found):
        assert found[one] == one
        if one != place:
            assert cosine[place, one] > 0.81
            assert (-importances[one], one) < (-importances[place], place)


@pytest.mark.shared
def test_production_keeps_the_same(shared: Path):
    content = json.loads((shared / "golden" / "recallnest.json").read_text("utf-8"))
    cases = content["groups"]["batch_internal_dedup"]["cases"]
    assert len(cases) == 4
    for case in cases:
        given_ = case["in"]
        found = survivors(given_["vectors"], given_["importances"], threshold=given_["threshold"])
        assert np.flatnonzero(found == np.arange(len(found))).tolist() == case["out"]


def test_the_default_threshold_is_that_of_production():
    # Cosines just above and just below .93.
    above, below = 0.9301, 0.9299
    for cosine, dropped in ((above, True), (below, False)):
        vectors = [[1.0, 0.0], [cosine, (1 - cosine**2) ** 0.5]]
        assert (survivors(vectors, [1, 1]).tolist() == [0, 0]) is dropped
