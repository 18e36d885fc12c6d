"""Curves of forgetting: published values, the half-life property, direction of the shape."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from recalltune.errors import ParameterError
from recalltune.rank.decay import (
    exponential,
    half_floor,
    linear,
    mean_life,
    power,
    reinforced_half_life,
    weibull,
    weibull_rate,
    with_floor,
)

AGES = [0.1, 1, 7, 30, 90, 180, 365]
AGE = st.floats(0, 5000)
HALF_LIFE = st.floats(0.01, 5000)
SHAPE = st.floats(0.1, 5)
PINNED = {
    "exponential": exponential,
    "linear": linear,
    **{
        f"weibull {shape}": lambda t, s=shape, **p: weibull(t, shape=s, **p)
        for shape in (0.3, 0.8, 1.0, 1.3, 4.0)
    },
    **{
        f"power {exponent}": lambda t, e=exponent, **p: power(t, exponent=e, **p)
        for exponent in (0.1542, 0.5, 1.0, 20.0)
    },
}
EVERY = {
    **PINNED,
    "mean life": lambda t, half_life_days: mean_life(t, mean_life_days=half_life_days),
    "half floor": lambda t, half_life_days: half_floor(t, mean_life_days=half_life_days),
    "weibull rate": lambda t, half_life_days: weibull_rate(
        t, half_life_days=half_life_days, shape=0.8
    ),
}


@pytest.mark.parametrize(
    ("weight", "published"),
    [
        (exponential(AGES, half_life_days=30), ".9977 .9772 .8507 .5 .1250 .0156 .0002"),
        (weibull(AGES, half_life_days=30, shape=0.5), ".9608 .8811 .7155 .5 .3010 .1831 .0891"),
        (weibull(AGES, half_life_days=30, shape=0.8), ".9928 .9554 .8054 .5 .1884 .0547 .0060"),
        (weibull(AGES, half_life_days=30, shape=1.3), ".9996 .9917 .9008 .5 .0555 .0008 .0000"),
        (weibull(AGES, half_life_days=30, shape=1.5), ".9999 .9958 .9248 .5 .0273 .0000 .0000"),
        (power(AGES, half_life_days=30, exponent=1), ".9967 .9677 .8108 .5 .2500 .1429 .0759"),
        (power(AGES, half_life_days=30, exponent=0.5), ".9950 .9535 .7670 .5 .3162 .2294 .1633"),
        (
            power(AGES, half_life_days=30, exponent=0.1542),
            ".9609 .8090 .6223 .5 .4226 .3798 .3407",
        ),
        (mean_life(AGES, mean_life_days=30), ".9967 .9672 .7919 .3679 .0498 .0025 .0000"),
        (half_floor(AGES, mean_life_days=30), ".9983 .9836 .8959 .6839 .5249 .5012 .5000"),
        (
            with_floor(weibull(AGES, half_life_days=30, shape=0.8), 0.85),
            ".9989 .9933 .9708 .9250 .8783 .8582 .8509",
        ),
        (
            with_floor(weibull(AGES, half_life_days=30, shape=1.0), 0.65),
            ".9992 .9920 .9477 .8250 .6937 .6555 .6501",
        ),
        (
            with_floor(weibull(AGES, half_life_days=30, shape=1.3), 0.45),
            ".9998 .9954 .9454 .7250 .4805 .4504 .4500",
        ),
    ],
)
def test_curves_pass_through_their_published_values(weight, published):
    np.testing.assert_allclose(weight, [float(x) for x in published.split()], atol=5.01e-5)


CORE, PERIPHERAL = (0.8, 0.85), (1.3, 0.45)  # shape, floor


def tiered(tier, ages, half_life_days=1.0):
    shape, floor = tier
    return with_floor(weibull(ages, half_life_days=half_life_days, shape=shape), floor)


def test_a_peripheral_memory_of_recallnest_outweighs_a_core_one_for_its_first_days():
    """They are equal at 0.070 half-lives: 2.1 days of 30, 4.2 days of 60."""
    from scipy.optimize import brentq

    def lead(age):
        return float(tiered(PERIPHERAL, age) - tiered(CORE, age))

    crossing = brentq(lead, 0.01, 1.0)
    assert crossing == pytest.approx(0.070, abs=5e-4)
    for half_life_days, days in ((30.0, 2.1), (60.0, 4.2)):
        assert crossing * half_life_days == pytest.approx(days, abs=0.05)
        before, after = tiered(PERIPHERAL, [0.9 * days, 1.1 * days], half_life_days) > tiered(
            CORE, [0.9 * days, 1.1 * days], half_life_days
        )
        assert before
        assert not after


@given(st.floats(1e-6, 0.0695), st.floats(0.0705, 1e4))
def test_before_the_crossing_peripheral_always_leads_and_after_it_never(young, old):
    assert tiered(PERIPHERAL, young) > tiered(CORE, young)
    assert tiered(PERIPHERAL, old) < tiered(CORE, old)


@pytest.mark.parametrize("name", PINNED)
@given(half_life_days=HALF_LIFE)
def test_the_weight_at_the_half_life_is_one_half(name, half_life_days):
    weight = PINNED[name](half_life_days, half_life_days=half_life_days)
    assert weight == pytest.approx(0.5, rel=1e-12)


def test_the_three_other_meanings_of_half_life_do_not_give_one_half():
    assert mean_life(30.0, mean_life_days=30.0) == pytest.approx(math.exp(-1), rel=1e-15)
    assert half_floor(30.0, mean_life_days=30.0) == pytest.approx((1 + math.exp(-1)) / 2, rel=1e-15)
    assert weibull_rate(30.0, half_life_days=30.0, shape=0.8) > 0.7
    # The rate form reaches one half at h ** (1 / shape) days.
    assert weibull_rate(30.0**1.25, half_life_days=30.0, shape=0.8) == pytest.approx(0.5)


@pytest.mark.parametrize("name", EVERY)
@given(half_life_days=HALF_LIFE, age=AGE, older=AGE)
def test_a_weight_starts_at_one_never_rises_and_stays_in_range(name, half_life_days, age, older):
    age, older = sorted([age, older])
    start, young, old = EVERY[name]([0.0, age, older], half_life_days=half_life_days)
    assert start == 1.0
    assert 1.0 >= young >= old >= 0.0


@pytest.mark.parametrize("name", EVERY)
def test_an_infinite_half_life_switches_decay_off_exactly(name):
    assert EVERY[name]([0.0, 5.0, 1e9], half_life_days=math.inf).tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("name", [n for n in EVERY if n != "weibull rate"])
@given(half_life_days=HALF_LIFE, age=AGE)
def test_days_or_hours_give_the_same_weight(name, half_life_days, age):
    days = EVERY[name](age, half_life_days=half_life_days)
    hours = EVERY[name](age * 24, half_life_days=half_life_days * 24)
    assert hours == pytest.approx(days, rel=1e-9, abs=1e-300)


def test_the_rate_form_depends_on_the_unit_of_time():
    days = weibull_rate(3.0, half_life_days=30.0, shape=0.8)
    hours = weibull_rate(72.0, half_life_days=720.0, shape=0.8)
    assert abs(days - hours) > 0.01


@given(AGE, HALF_LIFE, SHAPE, SHAPE)
def test_a_larger_shape_weighs_more_before_the_half_life_and_less_after(age, half_life, one, two):
    small, large = sorted([one, two])
    flat = weibull(age, half_life_days=half_life, shape=small)
    steep = weibull(age, half_life_days=half_life, shape=large)
    if age <= half_life:
        assert steep >= flat * (1 - 1e-12)
    else:
        assert steep <= flat * (1 + 1e-12)


@given(AGE, HALF_LIFE)
def test_shape_one_is_the_exponential(age, half_life):
    assert weibull(age, half_life_days=half_life, shape=1.0) == pytest.approx(
        exponential(age, half_life_days=half_life), rel=1e-15, abs=1e-300
    )


@given(AGE, HALF_LIFE, SHAPE)
def test_weibull_agrees_with_the_survival_function_of_scipy(age, half_life, shape):
    from scipy.stats import weibull_min

    scale = half_life / math.log(2) ** (1 / shape)
    assume((age / half_life) ** shape < 500)
    expected = weibull_min.sf(age, shape, scale=scale)
    assert weibull(age, half_life_days=half_life, shape=shape) == pytest.approx(expected, rel=1e-9)


@given(st.floats(0, 300), st.floats(1, 1000))
def test_a_large_exponent_of_the_power_law_approaches_the_exponential(age, half_life):
    nearly = power(age, half_life_days=half_life, exponent=100.0)
    exact = exponential(age, half_life_days=half_life)
    assert nearly == pytest.approx(exact, abs=2e-3)


def test_ages_are_not_cut_to_whole_days():
    np.testing.assert_allclose(
        exponential([0.5, 0.75], half_life_days=1.0), [2**-0.5, 2**-0.75], rtol=1e-15
    )


def test_linear_weight_reaches_zero_at_twice_the_half_life():
    assert linear([45.0, 60.0, 61.0], half_life_days=30.0).tolist() == [0.25, 0.0, 0.0]


def test_a_floor_rescues_what_a_pure_exponential_buries():
    weight = mean_life(242.0, mean_life_days=1 / 0.03)
    assert 0.95 * weight == pytest.approx(0.000668, abs=5e-7)
    assert 0.95 * with_floor(weight, 0.3) == pytest.approx(0.285, abs=1e-3)


@given(st.floats(0, 1), st.floats(0, 1))
def test_a_floored_weight_lies_between_floor_and_one(weight, floor):
    assert floor <= with_floor(weight, floor) <= 1.0
    assert with_floor(1.0, floor) == 1.0
    assert with_floor(0.0, floor) == floor


@given(HALF_LIFE, st.floats(0, 1))
def test_at_the_half_life_a_floored_weight_is_midway_from_floor_to_one(half_life, floor):
    weight = with_floor(exponential(half_life, half_life_days=half_life), floor)
    assert weight == pytest.approx((1 + floor) / 2, rel=1e-12)


def test_a_settings_axis_gives_what_each_setting_gives_alone():
    ages = np.array([[0.0, 3.0, 40.0], [1.0, 2.0, 900.0]])
    half_lives, shapes = np.array([7.0, 30.0, 90.0]), np.array([0.8, 1.0, 1.3])
    column = (slice(None), np.newaxis, np.newaxis)
    grid = weibull(ages, half_life_days=half_lives[column], shape=shapes[column])
    for setting, (half_life, shape) in enumerate(zip(half_lives, shapes, strict=True)):
        alone = weibull(ages, half_life_days=half_life, shape=shape)
        assert grid[setting].tobytes() == alone.tobytes()


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("bad", [0.0, -5.0, math.nan])
def test_a_half_life_that_is_not_positive_is_refused_with_its_name(name, bad):
    with pytest.raises(ParameterError, match=r"(half|mean)_life_days must lie in \(0, inf\], got"):
        EVERY[name]([1.0], half_life_days=bad)


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("bad", [-1e-9, math.nan, math.inf])
def test_an_impossible_age_is_refused_with_its_position(name, bad):
    with pytest.raises(ParameterError, match=r"age_days must lie in \[0, inf\), got .* position 1"):
        EVERY[name]([1.0, bad], half_life_days=30.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: weibull(1.0, half_life_days=1.0, shape=0.0), r"shape must lie in \(0, inf\)"),
        (lambda: weibull_rate(1.0, half_life_days=1.0, shape=-1), "shape must lie in"),
        (lambda: power(1.0, half_life_days=1.0, exponent=0.001), r"exponent must lie in \[0.01"),
        (lambda: with_floor(0.5, 1.5), r"floor must lie in \[0, 1\], got 1.5"),
        (lambda: with_floor([0.5, 1.5], 0.5), r"weight must lie in .* at position 1"),
    ],
)
def test_a_parameter_outside_its_range_is_named(call, message):
    with pytest.raises(ParameterError, match=message):
        call()


def test_extreme_ages_and_half_lives_end_at_zero_without_a_warning():
    tiny, huge = 5e-324, 1.7e308
    assert exponential(huge, half_life_days=tiny) == 0.0
    assert weibull(huge, half_life_days=tiny, shape=5.0) == 0.0
    assert power(huge, half_life_days=tiny, exponent=100.0) == 0.0
    assert weibull_rate(huge, half_life_days=tiny, shape=5.0) == 0.0
    assert linear(huge, half_life_days=tiny) == 0.0


def test_reinforcement_worked_by_hand():
    # One access just now: 60 * (1 + 0.5 * ln 2).
    assert reinforced_half_life(1, 0.0, half_life_days=60.0) == pytest.approx(
        60 * (1 + 0.5 * math.log(2)), rel=1e-15
    )
    # Thirty days later an access counts e**-1, or one half.
    assert reinforced_half_life(5, 30.0, half_life_days=60.0) == pytest.approx(
        60 * (1 + 0.5 * math.log(1 + 5 / math.e)), rel=1e-15
    )
    assert reinforced_half_life(5, 30.0, half_life_days=60.0, fade="half_life") == pytest.approx(
        60 * (1 + 0.5 * math.log(3.5)), rel=1e-15
    )


def test_without_an_access_the_half_life_is_unchanged():
    plain = reinforced_half_life([0, 7, 0], [1.0, math.nan, math.nan], half_life_days=60.0)
    assert plain.tolist() == [60.0, 60.0, 60.0]


@given(
    st.integers(0, 10**6),
    st.integers(0, 10**6),
    st.floats(0, 999),
    st.floats(0, 999),
    st.floats(0, 5),
    st.floats(1, 9),
)
def test_reinforcement_grows_with_use_fades_with_time_and_is_bounded(
    few, many, recent, old, factor, ceiling
):
    few, many = sorted([few, many])
    recent, old = sorted([recent, old])

    def stretched(count, days):
        return reinforced_half_life(
            count, days, half_life_days=60.0, factor=factor, max_multiple=ceiling
        )

    assert 60.0 <= stretched(few, recent) <= stretched(many, recent) <= 60.0 * ceiling
    assert stretched(many, old) <= stretched(many, recent)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"fade": "none"}, "fade must be one of mean_life, half_life, got 'none'"),
        ({"max_multiple": 0.5}, r"max_multiple must lie in \[1, inf\], got 0.5"),
        ({"factor": -1.0}, r"factor must lie in \[0, inf\)"),
        ({"fade_days": 0.0}, r"fade_days must lie in \(0, inf\]"),
    ],
)
def test_reinforcement_names_what_is_wrong(parameters, message):
    with pytest.raises(ParameterError, match=message):
        reinforced_half_life(1, 1.0, **{"half_life_days": 60.0, **parameters})
    with pytest.raises(ParameterError, match="access_count must lie in"):
        reinforced_half_life(-1, 1.0, half_life_days=60.0)
