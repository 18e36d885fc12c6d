"""Importance, length and use: neutral values, direction, and refusal of other scales."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalltune.errors import ParameterError
from recalltune.rank.salience import (
    access_boost,
    evolution_score,
    frequency_multiplier,
    hotness,
    importance_weight,
    length_norm,
    recency_boost,
    salience_multiplier,
)

NAN = math.nan
SHARE = st.floats(0, 1)
COUNT = st.integers(0, 10**6)
DAYS = st.floats(0, 5000)


def test_salience_multiplier_worked_by_hand():
    assert salience_multiplier([0.0, 0.5, 1.0], weight=9.0).tolist() == [1.0, 5.5, 10.0]


@given(st.floats(0, 100))
def test_missing_salience_is_neutral_and_not_the_same_as_one_half(weight):
    missing, zero, half = salience_multiplier([NAN, 0.0, 0.5], weight=weight)
    assert missing == 1.0
    assert zero == 1.0
    assert half == 1.0 + weight * 0.5


@given(SHARE, SHARE, st.floats(0, 100))
def test_more_salience_never_lowers_the_multiplier(one, two, weight):
    low, high = salience_multiplier(sorted([one, two]), weight=weight)
    assert 1.0 <= low <= high <= 1.0 + weight


def test_a_ten_point_scale_in_a_unit_field_is_refused():
    with pytest.raises(
        ParameterError, match=r"salience must lie in \[0, 1\], got 7.0 at position 1"
    ):
        salience_multiplier([0.5, 7.0], weight=0.5)
    with pytest.raises(ParameterError, match="importance must lie in"):
        importance_weight([7.0], base=0.5)


def test_importance_weight_worked_by_hand():
    assert importance_weight([0.0, 0.5, 1.0], base=0.5).tolist() == [0.5, 0.75, 1.0]
    assert importance_weight([NAN], base=0.5).tolist() == [1.0]
    assert importance_weight([NAN], base=0.5, missing=0.7).tolist() == [0.85]


@given(SHARE, SHARE, SHARE)
def test_importance_weight_runs_from_base_to_one(one, two, base):
    low, high = importance_weight(sorted([one, two]), base=base)
    assert base <= low <= high <= 1.0
    assert importance_weight(1.0, base=base) == 1.0


def test_length_norm_takes_a_third_at_twice_the_anchor_and_nothing_below():
    norm = length_norm([0, 800, 1600, 3200], anchor_chars=800.0)
    np.testing.assert_allclose(norm, [1, 1, 1 / 1.5, 1 / 2], rtol=1e-15)
    assert length_norm([10**9], anchor_chars=math.inf).tolist() == [1.0]


@given(st.integers(0, 10**9), st.integers(0, 10**9), st.floats(0, 5))
def test_a_longer_text_never_gains(one, two, strength):
    short, long = length_norm(sorted([one, two]), anchor_chars=300.0, strength=strength)
    assert 0.0 < long <= short <= 1.0


def test_recency_boost_is_its_weight_now_and_a_third_of_it_after_its_mean_life():
    boost = recency_boost([0.0, 14.0], weight=0.1, mean_life_days=14.0)
    np.testing.assert_allclose(boost, [0.1, 0.1 / math.e], rtol=1e-15)
    assert recency_boost([0.0, 5.0], weight=0.0).tolist() == [0.0, 0.0]


def test_access_boost_grows_per_doubling_up_to_its_cap():
    boost = access_boost([0, 1, 3, 7, 31, 32])
    np.testing.assert_allclose(boost, [1, 1.03, 1.06, 1.09, 1.15, 1.15], rtol=1e-15)


def test_hotness_worked_by_hand():
    hot = hotness([0, 1, 5, 1], [NAN, 0.0, 0.0, 10.0])
    np.testing.assert_allclose(hot, [0, 2 / 3, 6 / 7, 2 / 3 / math.e], rtol=1e-15)


@given(COUNT, COUNT, DAYS, DAYS)
def test_use_never_hurts_and_time_never_helps(one, two, three, four):
    few, many = sorted([one, two])
    recent, old = sorted([three, four])
    for score in (hotness, frequency_multiplier):
        assert score(few, recent) <= score(many, recent)
        assert score(many, old) <= score(many, recent)
    assert access_boost(few) <= access_boost(many) <= 1.15


def test_frequency_counts_from_the_second_fresh_hit():
    multiplier = frequency_multiplier([0, 1, 2, 3, 4, 100], [NAN, 0, 0, 30, 30, 0])
    expected = [1, 1, 1.15, 1, 1.15, 1 + 0.15 * math.log2(100)]
    np.testing.assert_allclose(multiplier, expected, rtol=1e-15)


def test_a_used_memory_without_a_day_of_use_is_refused():
    with pytest.raises(ParameterError, match="days_since_access must be given where access_count"):
        hotness([0, 1], [NAN, NAN])
    with pytest.raises(ParameterError, match="days_since_hit must be given where hit_count"):
        frequency_multiplier([1], [NAN])


def test_evolution_score_worked_by_hand():
    # 0.2 * 2**-1 + 0.3 * log2(2) / 2 + 0.5 * 0.5
    assert evolution_score(90.0, 1, 30.0, 0.5) == pytest.approx(0.1 + 0.15 + 0.25, rel=1e-15)
    # Last access not known: an access counts half.
    assert evolution_score(0.0, 1, NAN, 0.0) == pytest.approx(0.2 + 0.15, rel=1e-15)


@given(DAYS, COUNT, DAYS, SHARE)
def test_evolution_score_stays_within_the_sum_of_its_weights(age, count, days, importance):
    assert 0.0 <= evolution_score(age, count, days, importance) <= 1.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: salience_multiplier(0.5, weight=-1.0), r"weight must lie in \[0, inf\), got -1.0"),
        (lambda: importance_weight(0.5, base=1.5), r"base must lie in \[0, 1\], got 1.5"),
        (lambda: importance_weight(NAN, base=0.5, missing=2.0), "missing must lie in"),
        (lambda: length_norm(-1, anchor_chars=1.0), "length_chars must lie in"),
        (lambda: length_norm(1, anchor_chars=0.0), r"anchor_chars must lie in \(0, inf\], got 0.0"),
        (lambda: recency_boost(-1.0), "age_days must lie in"),
        (lambda: access_boost(-1), "access_count must lie in"),
        (lambda: access_boost(1, cap=-1.0), "cap must lie in"),
        (lambda: frequency_multiplier(1, 1.0, min_hits=0.0), r"min_hits must lie in \[1, inf\)"),
        (lambda: evolution_score(0.0, 1, 1.0, 1.4), "importance must lie in"),
        (lambda: evolution_score(0.0, 1, 1.0, 1.0, weights=(1, 2)), "weights must be three"),
    ],
)
def test_a_value_outside_its_range_is_named(call, message):
    with pytest.raises(ParameterError, match=message):
        call()
