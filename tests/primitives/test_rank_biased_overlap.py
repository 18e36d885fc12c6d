"""Rank-biased overlap: known values, the published formula written out, and what never fails."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recalltune.errors import ParameterError
from recalltune.rank import rank_biased_overlap

TEN = list("abcdefghij")
RANKINGS = st.lists(st.sampled_from("abcdefghijkl"), unique=True, max_size=12)
SHARES = st.floats(0.05, 0.98)


def as_published(one: list[str], other: list[str], p: float) -> float:
    """Webber, Moffat & Zobel 2010, equation 32, term by term; neither list empty."""
    short, long = sorted((one, other), key=len)
    s, m = len(short), len(long)
    overlap = [0, *(len(set(short[:d]) & set(long[:d])) for d in range(1, m + 1))]
    seen = sum(overlap[d] / d * p**d for d in range(1, m + 1))
    beyond = sum(overlap[s] * (d - s) / (s * d) * p**d for d in range(s + 1, m + 1))
    tail = ((overlap[m] - overlap[s]) / m + overlap[s] / s) * p**m
    return (1 - p) / p * (seen + beyond) + tail


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        pytest.param(TEN, 1.0, id="equal"),
        pytest.param(list("klmnopqrst"), 0.0, id="disjoint"),
        pytest.param(TEN[:4], 1.0, id="its own start"),
        # Only A_1 changes, from 1 to 0: 1 - (1 - p).
        pytest.param(["b", "a", *TEN[2:]], 0.9, id="ranks 1 and 2 swapped"),
        # Only A_9 changes, from 1 to 8/9: 1 - (1 - p) p^8 / 9.
        pytest.param([*TEN[:8], "j", "i"], 1 - 0.1 * 0.9**8 / 9, id="ranks 9 and 10 swapped"),
        pytest.param(["z", *TEN[1:]], 0.729716, id="rank 1 replaced"),
        # A_10 is 9/10, and stays so: 1 - ((1 - p) p^9 + p^10) / 10.
        pytest.param([*TEN[:9], "z"], 1 - 0.9**9 / 10, id="rank 10 replaced"),
    ],
)
def test_values_known_beforehand_at_ten_ranks(other, expected):
    assert rank_biased_overlap(TEN, other, p=0.9) == pytest.approx(expected, abs=5e-7)


def test_the_two_values_with_six_digits_in_print():
    swapped, replaced = [*TEN[:8], "j", "i"], [*TEN[:9], "z"]
    assert round(rank_biased_overlap(TEN, swapped, p=0.9), 6) == 0.995217
    assert round(rank_biased_overlap(TEN, replaced, p=0.9), 6) == 0.961258


def test_a_short_list_by_hand():
    """S = [b], L = [a, b] at p = 1/2: X = 0, 1; A_1 = 0, A_2 = (1 + 0) / 2 = 1/2.

    (1 - p) (A_1 + p A_2) + p^2 A_2 = 1/2 * 1/4 + 1/4 * 1/2 = 1/4.
    """
    assert rank_biased_overlap(["b"], ["a", "b"], p=0.5) == 0.25
    # S = [a], L = [b, c, a]: X_3 = 1, A_3 = 1/3; 1/2 * 1/4 * 1/3 + 1/8 * 1/3 = 1/12.
    assert rank_biased_overlap(["a"], ["b", "c", "a"], p=0.5) == pytest.approx(1 / 12, rel=1e-15)


def test_empty_lists():
    assert rank_biased_overlap([], []) == 1.0
    assert rank_biased_overlap([], ["a"]) == rank_biased_overlap(["a"], []) == 0.0


@pytest.mark.parametrize(("p", "share"), [(0.9, 0.856), (0.8, 0.969)])
def test_weight_of_the_first_ten_ranks(p, share):
    """What the first ten ranks can move at most, at any depth (equation 21)."""
    tail = sum(p**d / d for d in range(10, 2_000))
    weight = 1 - p**9 + (1 - p) / p * 10 * tail
    assert weight == pytest.approx(share, abs=6e-4)
    # Two long lists that share all but the first ten ranks lose just that much.
    rest = [f"r{n}" for n in range(2_000)]
    others = [f"x{n}" for n in range(10)]
    lost = 1 - rank_biased_overlap([*TEN, *rest], [*others, *rest], p=p)
    assert lost == pytest.approx(weight, abs=6e-4)


@settings(max_examples=200)
@given(RANKINGS, RANKINGS, SHARES)
def test_it_is_the_published_formula(one, other, p):
    if one and other:
        found = rank_biased_overlap(one, other, p=p)
        assert found == pytest.approx(as_published(one, other, p), abs=1e-12)


@settings(max_examples=200)
@given(RANKINGS, RANKINGS, SHARES)
def test_it_is_symmetric_and_never_leaves_its_range(one, other, p):
    found = rank_biased_overlap(one, other, p=p)
    assert 0.0 <= found <= 1.0
    assert found == rank_biased_overlap(other, one, p=p)
    if not set(one) & set(other):
        assert found == float(not one and not other)


@settings(max_examples=100)
@given(RANKINGS, st.integers(1, 12), SHARES)
def test_the_start_of_a_list_is_exactly_one_against_the_whole(ids, length, p):
    if ids:
        assert rank_biased_overlap(ids[:length], ids, p=p) == 1.0


@settings(max_examples=50)
@given(RANKINGS, RANKINGS, st.permutations("abcdefghijkl"))
def test_names_do_not_matter(one, other, names):
    named = dict(zip("abcdefghijkl", names, strict=True))
    again = rank_biased_overlap([named[x] for x in one], [named[x] for x in other])
    assert again == rank_biased_overlap(one, other)


@settings(max_examples=50)
@given(RANKINGS, st.data())
def test_a_swap_costs_more_the_higher_it_stands(ids, data):
    if len(ids) < 3:
        return
    high = data.draw(st.integers(0, len(ids) - 3))
    low = data.draw(st.integers(high + 1, len(ids) - 2))

    def swapped(at: int) -> list[str]:
        return [*ids[:at], ids[at + 1], ids[at], *ids[at + 2 :]]

    assert rank_biased_overlap(ids, swapped(high)) < rank_biased_overlap(ids, swapped(low)) < 1


@pytest.mark.parametrize("p", [0.0, 1.0, -0.1, float("nan")])
def test_a_p_outside_its_range_is_refused(p):
    with pytest.raises(ParameterError, match=r"p must lie in \(0, 1\), got"):
        rank_biased_overlap(["a"], ["a"], p=p)


def test_a_repeated_id_and_a_bare_text_are_refused_by_name():
    with pytest.raises(
        ParameterError, match="second must hold every id once, got 'a' again at position 2"
    ):
        rank_biased_overlap(["a"], ["a", "b", "a"])
    with pytest.raises(ParameterError, match="first must be a list of ids, got the text 'mem-7'"):
        rank_biased_overlap("mem-7", ["mem-7"])
