"""dsh-auto-memory's estimates, worked by hand; lengths are UTF-16 units."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recalltune.rank.token_estimates import (
    estimate_tokens_half,
    estimate_tokens_quarter,
    utf16_units,
)


@pytest.mark.parametrize(
    ("text", "units", "quarter", "half"),
    [
        ("", 0, 0, 0),
        ("a", 1, 5, 5),  # ceil(1/4) + 4
        ("abcd", 4, 5, 5),
        ("abcde", 5, 6, 6),  # ceil(5/4) + 4
        ("a" * 16, 16, 8, 8),  # 16/4 + 4 = 16/2
        ("a" * 18, 18, 9, 9),  # ceil(18/4) + 4 = 18/2
        ("a" * 20, 20, 9, 10),  # 20/2 > 20/4 + 4
        ("风筝", 2, 5, 5),
        ("🪁" * 10, 20, 9, 10),  # two units each
        ("a\nb", 3, 5, 5),  # the line end counts
    ],
)
def test_both_estimates_by_hand(text, units, quarter, half):
    assert utf16_units(text) == units
    assert (estimate_tokens_quarter(text), estimate_tokens_half(text)) == (quarter, half)


@settings(max_examples=50)
@given(st.text(max_size=40), st.text(max_size=5))
def test_more_text_never_costs_less_and_half_never_less_than_quarter(text, more):
    for estimate in (estimate_tokens_quarter, estimate_tokens_half):
        assert estimate(text) <= estimate(text + more)
    assert estimate_tokens_quarter(text) <= estimate_tokens_half(text)


@settings(max_examples=50)
@given(st.text(max_size=40))
def test_units_are_those_of_utf_16(text):
    assert utf16_units(text) == len(text.encode("utf-16-le")) // 2
