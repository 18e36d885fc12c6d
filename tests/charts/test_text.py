"""Hostile text comes out short, on one line, and without signs that move other signs."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalltune.charts import figures
from recalltune.charts.text import clean, cut, display_width, wrap
from recalltune.errors import ParameterError

HOSTILE = "\u202eevil\u2066\u200b\u200d\x00\x1b[31m\r\n\u2028</script>\ud800\ufeff尾"


def test_control_bidi_zero_width_and_surrogates_are_stripped() -> None:
    assert clean(HOSTILE) == "evil[31m </script>尾"


@given(st.text(max_size=300))
def test_clean_text_is_one_line_of_visible_signs_and_clean_again(text: str) -> None:
    seen = clean(text)
    assert not {"Cc", "Cf", "Cs", "Zl", "Zp"} & {unicodedata.category(sign) for sign in seen}
    assert clean(seen) == seen


@given(st.text(max_size=300), st.integers(2, 60))
def test_a_cut_never_takes_more_columns_than_it_was_given(text: str, columns: int) -> None:
    assert display_width(cut(text, columns)) <= columns


def test_a_long_line_is_read_only_to_its_first_four_thousand_signs() -> None:
    assert len(clean("备" * 50_000)) == 4_000
    assert display_width(cut("备" * 50_000, 40)) <= 40


def test_a_wide_sign_takes_two_columns_and_a_combining_mark_none() -> None:
    assert display_width("e\u0301") == 1
    assert display_width("备份ab") == 6
    assert cut("备份备份", 5) == "备份…"


@given(st.text(max_size=200), st.integers(4, 40))
def test_wrapped_lines_fit_and_lose_nothing_but_spaces(text: str, columns: int) -> None:
    lines = wrap(text, columns)
    assert all(display_width(line) <= columns for line in lines)
    assert "".join(lines).replace(" ", "") == clean(text).replace(" ", "")


def test_numbers_are_printed_the_house_way() -> None:
    assert figures.metric(0.5) == "0.500"
    assert figures.signed(-0.058) == "−0.058"
    assert figures.interval(-0.004, 0.038) == "[−0.004, 0.038]"
    assert figures.share(0.45) == "45 %"
    assert figures.count(3600) == "3,600"


def test_a_small_bound_is_never_printed_as_zero() -> None:
    # [0.0003, 0.02] excludes 0; "[0, 0.020]" would say that it does not.
    assert figures.interval(0.0003, 0.02) == "[0.0003, 0.020]"
    assert figures.interval(0.0, 0.02) == "[0, 0.020]"


def test_a_time_without_zone_is_refused() -> None:
    from datetime import datetime

    with pytest.raises(ParameterError, match="must carry a zone"):
        figures.moment(datetime(2026, 5, 1))  # noqa: DTZ001
