"""Models with a state: FSRS by its stability, ACT-R by the history of use."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalltune.errors import ParameterError
from recalltune.rank.decay import power
from recalltune.rank.forgetting import act_r, fsrs

USES = st.lists(st.floats(0.001, 1000), min_size=1, max_size=5)


@given(st.floats(0.01, 1000), st.sampled_from([0.1542, 0.5, 1.0]))
def test_retrievability_is_nine_tenths_at_the_stability(stability, exponent):
    weight = fsrs(stability, stability_days=stability, exponent=exponent)
    assert weight == pytest.approx(0.9, rel=1e-12)


@pytest.mark.parametrize(
    ("exponent", "stability"), [(1.0, 30 / 9), (0.5, 30 * (19 / 81) / 3), (0.1542, 0.33203)]
)
def test_fsrs_is_the_power_law_with_another_anchor(exponent, stability):
    ages = np.array([0.1, 1, 7, 30, 90, 365])
    np.testing.assert_allclose(
        fsrs(ages, stability_days=stability, exponent=exponent),
        power(ages, half_life_days=30.0, exponent=exponent),
        rtol=1e-5,
    )


@given(st.floats(0, 5000), st.floats(0, 5000), st.floats(0.01, 1000), st.floats(0.05, 5))
def test_an_older_memory_is_never_heavier_and_every_exponent_has_a_stated_half_age(
    age, older, stability, exponent
):
    age, older = sorted([age, older])
    start, young, old = fsrs([0.0, age, older], stability_days=stability, exponent=exponent)
    assert 1.0 == start >= young >= old >= 0.0
    half = stability * (2 ** (1 / exponent) - 1) / (0.9 ** (-1 / exponent) - 1)
    weight = fsrs(half, stability_days=stability, exponent=exponent)
    assert weight == pytest.approx(0.5, rel=1e-9)


def test_the_constants_of_the_published_versions_come_out():
    # (1 + t / 9S) ** -1 and (1 + 19/81 t/S) ** -0.5
    assert fsrs(7.0, stability_days=2.0, exponent=1.0) == pytest.approx(1 / (1 + 7 / 18), rel=1e-14)
    assert fsrs(7.0, stability_days=2.0, exponent=0.5) == pytest.approx(
        (1 + 19 / 81 * 3.5) ** -0.5, rel=1e-14
    )
    assert fsrs(7.0, stability_days=2.0) == pytest.approx((1 + 0.98035 * 3.5) ** -0.1542, abs=1e-6)


def test_activation_worked_by_hand():
    # Uses 1 and 4 days ago: B = ln(1 + 1/2); one threshold away, recall is 1/2 at B = threshold.
    history = [[1.0, 4.0]]
    b = math.log(1.5)
    assert act_r(history, threshold=b)[0] == pytest.approx(0.5, rel=1e-15)
    assert act_r(history, noise=0.4)[0] == pytest.approx(1 / (1 + math.exp(-b / 0.4)), rel=1e-14)


def test_never_used_is_never_recalled_and_used_now_is_certain():
    assert act_r([[math.nan, math.nan], [0.0, 5.0]]).tolist() == [0.0, 1.0]
    assert act_r(np.empty((2, 0))).tolist() == [0.0, 0.0]


@given(USES, st.floats(0.001, 1000), st.floats(0.05, 1))
def test_another_use_never_lowers_recall_and_its_place_does_not_matter(uses, more, exponent):
    padded = [*uses, math.nan]
    before = act_r(padded, exponent=exponent)
    after = act_r([*uses, more], exponent=exponent)
    assert after >= before
    assert 0.0 <= before <= 1.0


@given(USES, st.floats(0, 1000))
def test_time_passing_never_raises_recall(uses, days):
    assert act_r(np.array(uses) + days) <= act_r(uses) * (1 + 1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fsrs(1.0, stability_days=0.0), r"stability_days must lie in \(0, inf\], got 0.0"),
        (lambda: fsrs(-1.0, stability_days=1.0), "age_days must lie in"),
        (lambda: fsrs(1.0, stability_days=1.0, exponent=0.0), "exponent must lie in"),
        (lambda: act_r([[-1.0]]), r"use_ages_days must lie in .* at position \(0, 0\)"),
        (lambda: act_r([[1.0]], exponent=1.5), r"exponent must lie in \(0, 1\], got 1.5"),
        (lambda: act_r([[1.0]], noise=0.0), r"noise must lie in \(0, inf\), got 0.0"),
        (lambda: act_r([[1.0]], threshold=math.inf), "threshold must be finite, got inf"),
    ],
)
def test_a_parameter_outside_its_range_is_named(call, message):
    with pytest.raises(ParameterError, match=message):
        call()
