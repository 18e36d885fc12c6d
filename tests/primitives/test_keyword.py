"""Full-text search as OpenClaw runs it: match expressions, calibration, the lexical boost."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recalltune.errors import ParameterError
from recalltune.rank.fusion import saturate
from recalltune.rank.keyword import (
    fts_query,
    fts_rank_score,
    keyword_plan,
    lexical_boost,
    search_words,
    words_in_path,
)


def test_a_lower_rank_is_a_higher_score_on_either_side_of_0():
    """Bug bank A13: magnitude x gives x / (1 + x)."""
    np.testing.assert_allclose(fts_rank_score([-6.0, -3.0, -1.0]), [6 / 7, 3 / 4, 1 / 2])
    np.testing.assert_allclose(fts_rank_score([0.0, 1.0, 3.0]), [1.0, 1 / 2, 1 / 4])


@given(st.floats(1e-6, 1e6))
@settings(max_examples=50)
def test_a_bm25_is_calibrated_as_saturation_does_it(bm25):
    assert fts_rank_score(-bm25) == pytest.approx(saturate(bm25), rel=1e-15)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_rank_that_is_no_number_is_refused(bad):
    with pytest.raises(ParameterError, match="rank must be finite"):
        fts_rank_score([-1.0, bad])


@pytest.mark.parametrize(
    ("query", "asked"),
    [
        ("hello world", '"hello" AND "world"'),
        ("FOO_bar baz-1", '"FOO_bar" AND "baz" AND "1"'),
        ("金银价格", '"金银价格"'),
        ("価格 2026年", '"価格" AND "2026年"'),
        ("   ", None),
        ('"unbalanced (AND OR NOT * :', '"unbalanced" AND "AND" AND "OR" AND "NOT"'),
        ("'; drop table memories", '"drop" AND "table" AND "memories"'),
    ],
)
def test_a_query_is_words_in_quotes_and_never_syntax(query, asked):
    assert fts_query(query) == asked


@pytest.mark.parametrize(
    ("query", "match", "substrings"),
    [
        ("go retry", '"retry"', ("go",)),
        ("记忆", None, ("记忆",)),
        ("𠮷野 𠮷野家", '"𠮷野家"', ("𠮷野",)),
        ("", None, ()),
    ],
)
def test_what_is_shorter_than_three_characters_is_looked_for_as_a_part(query, match, substrings):
    assert keyword_plan(query) == (match, substrings)


def test_words_are_compared_composed_and_in_lower_case():
    assert search_words("Cafe\u0301 RETRY_3") == ["café", "retry_3"]
    assert words_in_path({"café", "md"}, "memory/CAFE\u0301.md") == 2


def counts(**changed):
    told = {"asked": 2, "matched": 1, "distinct": 4, "in_path": 1, "length_chars": 16}
    return told | changed


def test_the_boost_is_the_sum_of_its_four_parts():
    # 0.1 + 0.45 * 1/2 + 0.2 * 1/4 + 0.18 * 1 + min(0.18, 16/160)
    assert lexical_boost(0.1, **counts()) == pytest.approx(0.1 + 0.225 + 0.05 + 0.18 + 0.1)
    assert lexical_boost(0.1, **counts(length_chars=1000)) == pytest.approx(0.1 + 0.455 + 0.18)
    assert lexical_boost(0.9, **counts()) == 1.0
    assert lexical_boost(0.3, **counts(asked=0, matched=0, in_path=0)) == 0.3


@pytest.mark.parametrize(
    ("constant", "published", "without"),
    [
        ("overlap_weight", 0.45, 0.1 + 0.05 + 0.18 + 0.1),
        ("density_weight", 0.2, 0.1 + 0.225 + 0.18 + 0.1),
        ("path_weight", 0.18, 0.1 + 0.225 + 0.05 + 0.1),
        ("length_cap", 0.18, 0.1 + 0.225 + 0.05 + 0.18),
    ],
)
def test_each_part_of_the_boost_has_a_weight_of_its_own(constant, published, without):
    plain = lexical_boost(0.1, **counts())
    assert lexical_boost(0.1, **counts(), **{constant: published}) == plain
    assert lexical_boost(0.1, **counts(), **{constant: 0.0}) == pytest.approx(without)


@given(st.floats(0, 1), st.integers(0, 9), st.integers(0, 9), st.integers(0, 2000))
@settings(max_examples=50)
def test_the_boost_never_lowers_a_score_nor_lifts_it_above_1(score, asked, in_path, length):
    told = counts(asked=asked, matched=asked, in_path=min(asked, in_path), length_chars=length)
    assert score <= lexical_boost(score, **told) <= 1.0


@pytest.mark.parametrize(
    ("changed", "told"),
    [({"asked": -1}, "asked"), ({"length_scale_chars": 0.0}, "length_scale_chars")],
)
def test_a_count_or_scale_that_cannot_be_is_refused_by_name(changed, told):
    with pytest.raises(ParameterError, match=told):
        lexical_boost(0.1, **counts(**changed))
