"""The checks themselves: what a refusal says."""

import numpy as np
import pytest

from recalltune.errors import ParameterError
from recalltune.rank._check import at_least, choice, finite, in_range, whole_numbers


def test_a_scalar_is_named_with_its_interval_and_value():
    with pytest.raises(ParameterError, match=r"^half_life_days must lie in \(0, inf\), got 0.0$"):
        in_range("half_life_days", 0.0, low=0.0, low_open=True, high_open=True)


def test_an_array_is_named_with_the_first_offending_position():
    with pytest.raises(ParameterError, match=r"^age must lie in \[0, 9\], got -1.0 at position 2$"):
        in_range("age", [1.0, 2.0, -1.0, -2.0], low=0.0, high=9.0)
    with pytest.raises(ParameterError, match=r"got nan at position \(1, 0\)$"):
        in_range("age", [[1.0], [np.nan]], low=0.0, high=9.0)


def test_nan_is_let_through_only_where_it_means_absent():
    assert np.isnan(in_range("rank", [np.nan], low=1.0, nan_ok=True)).all()
    assert np.isnan(finite("score", [np.nan], nan_ok=True)).all()
    with pytest.raises(ParameterError, match="score must be finite or NaN, got inf"):
        finite("score", [np.inf], nan_ok=True)


@pytest.mark.parametrize("value", [True, 1.0, "1", None, 0])
def test_a_count_is_a_whole_number_and_not_a_truth_value(value):
    with pytest.raises(ParameterError, match="top_k must be a whole number >= 1, got"):
        at_least("top_k", value, low=1)


def test_numpy_integers_count_as_whole_numbers():
    assert at_least("top_k", np.int16(3), low=0) == 3
    assert whole_numbers("top_k", np.uint8(3), low=0, shape=(2,)).tolist() == [3, 3]


def test_a_misspelt_choice_is_told_its_nearest_neighbour():
    with pytest.raises(ParameterError, match="got 'prefixx'; nearest: 'prefix'"):
        choice("packer", "prefixx", ("skip", "prefix"))


@pytest.mark.parametrize("value", ["text", [None], [True], np.array(["a"])])
def test_what_is_not_a_number_is_refused(value):
    with pytest.raises(ParameterError, match="age must hold numbers"):
        in_range("age", value, low=0.0)
