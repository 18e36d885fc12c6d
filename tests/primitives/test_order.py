"""Ranking: rounding to significant digits, and the order it decides."""

import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from recalltune.errors import ParameterError
from recalltune.rank.order import rank_order, round_significant

NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
# Few distinct values: ties are the point.
TIED = st.sampled_from([0.0, -0.0, 1 / 61, 1 / 62, 1 / 61 + 1e-17, -0.5, 3.0])


@pytest.mark.parametrize(
    ("x", "rounded"),
    [
        (0.0, 0.0),
        (1.0, 1.0),
        (0.1 + 0.2, 0.3),
        (2 / 61, 0.0327868852459),
        (123456789012.4, 123456789012.0),
        (1234567890123.0, 1234567890120.0),
        (999999999999.7, 1e12),
        (-0.99999999999996, -1.0),
        (1e300, 1e300),
    ],
)
def test_rounding_gives_the_decimal_written_by_hand(x, rounded):
    assert round_significant(x) == rounded


def test_the_naive_sums_of_two_equal_rank_sets_become_one_number():
    # Ranks (1, 1, 2) and (2, 1, 1): the same three terms, added in another order.
    first = 1 / 61 + 1 / 61 + 1 / 62
    second = 1 / 62 + 1 / 61 + 1 / 61
    assert first != second
    assert round_significant(first) == round_significant(second)


@given(st.floats(min_value=1e-270, max_value=1e300), st.integers(1, 15))
def test_rounding_moves_by_at_most_half_a_unit_of_the_last_digit(x, digits):
    unit = Decimal(10) ** (Decimal(x).adjusted() - digits + 1)
    moved = abs(Decimal(float(round_significant(x, digits))) - Decimal(x))
    assert moved <= unit / 2 + 4 * Decimal(math.ulp(x))


@given(st.integers(-999999999999, 999999999999), st.integers(-11, 9))
def test_a_number_of_twelve_digits_is_left_alone(whole, exponent):
    x = float(f"{whole}e{exponent}")
    assert round_significant(x) == x


@given(NUMBERS)
def test_rounding_twice_changes_nothing_and_is_odd(x):
    once = round_significant(x)
    assert round_significant(once) == once
    assert round_significant(-x) == -once


@given(NUMBERS, NUMBERS)
def test_rounding_never_swaps_two_numbers(x, y):
    low, high = sorted([x, y])
    assert round_significant(low) <= round_significant(high)


@given(hnp.arrays(np.float64, hnp.array_shapes(max_dims=3, max_side=6), elements=NUMBERS))
def test_rounding_an_array_is_rounding_its_elements(x):
    alone = np.array([float(round_significant(one)) for one in x.ravel()])
    assert round_significant(x).tobytes() == alone.reshape(x.shape).tobytes()


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_rounding_refuses_what_is_not_finite_and_says_where(bad):
    with pytest.raises(ParameterError, match=r"x must be finite, got .* at position 1"):
        round_significant([0.0, bad])


@pytest.mark.parametrize("digits", [0, 16, 2.0, True])
def test_rounding_refuses_a_wrong_number_of_digits(digits):
    with pytest.raises(ParameterError, match="digits"):
        round_significant(1.0, digits)


def test_order_is_score_descending_then_position_with_the_dead_last():
    scores = [0.5, 0.9, 0.5, math.nan, 0.7, math.inf]
    alive = [True, True, True, False, True, False]
    assert rank_order(scores, alive).tolist() == [1, 4, 0, 2, 3, 5]


@given(
    hnp.arrays(
        np.float64,
        st.tuples(st.integers(1, 4), st.integers(1, 12)),
        elements=TIED,
        fill=st.nothing(),
    ),
    st.data(),
)
def test_order_agrees_with_sorting_pairs_in_plain_python(scores, data):
    alive = data.draw(hnp.arrays(np.bool_, scores.shape))
    rounded = round_significant(scores)
    for row, order in enumerate(rank_order(scores, alive)):
        expected = sorted(
            range(scores.shape[1]),
            key=lambda c: (not alive[row, c], -rounded[row, c] * alive[row, c], c),
        )
        assert order.tolist() == expected


@given(
    hnp.arrays(np.float64, 7, elements=st.floats(-1e3, 1e3), fill=st.nothing()), st.integers(-6, 6)
)
def test_order_does_not_depend_on_a_common_power_of_ten(scores, exponent):
    # Only numbers of few digits: scaling others may round differently at the twelfth.
    scores = np.round(scores, 6)
    scaled = np.array([float(f"{x:.6f}e{exponent}") for x in scores])
    assert rank_order(scores).tolist() == rank_order(scaled).tolist()


@pytest.mark.parametrize("length", [8192, 8193, 9000])
def test_a_long_row_is_ordered_like_a_short_one(length):
    scores = np.random.default_rng(7).integers(0, 50, length) / 64.0
    expected = np.lexsort((np.arange(length), -scores))
    assert rank_order(scores).tolist() == expected.tolist()


def test_a_score_that_rounds_up_to_a_power_of_ten_ties_with_it():
    assert rank_order([0.99999999999996, 1.0, 1.0, 0.99999999999996]).tolist() == [0, 1, 2, 3]
    assert rank_order([0.09999999999999996, 0.1]).tolist() == [0, 1]


def test_the_smallest_and_largest_numbers_keep_their_order():
    scores = [5e-324, 1e-281, 1e-279, 1.7e308, 0.0, -1e-279, -1.7e308]
    assert rank_order(scores).tolist() == [3, 2, 1, 0, 4, 5, 6]


def test_no_candidates_give_no_positions():
    assert rank_order(np.empty((3, 0))).shape == (3, 0)


def test_order_refuses_a_living_nan_and_a_mask_of_another_shape():
    with pytest.raises(
        ParameterError, match=r"scores must be finite, got nan at position \(0, 1\)"
    ):
        rank_order([[0.0, math.nan]], [[True, True]])
    with pytest.raises(ParameterError, match=r"alive must have shape \(1, 2\), got \(2,\)"):
        rank_order([[0.0, 1.0]], [True, True])
    with pytest.raises(ParameterError, match="alive must be a Boolean mask"):
        rank_order([0.0, 1.0], [1, 0])
    with pytest.raises(ParameterError, match="last axis of candidates"):
        rank_order(1.0)
