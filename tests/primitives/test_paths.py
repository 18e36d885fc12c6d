"""What the path of a file tells: that a query names it, and the day it belongs to."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recalltune.errors import ParameterError
from recalltune.rank.dated_path import path_dates
from recalltune.rank.exact_path import exact_tie, path_exactness


@pytest.mark.parametrize(
    ("query", "path", "tier"),
    [
        ("memory/retry.md", "memory/retry.md", 3),
        (" ./Memory\\RETRY.md ", "memory/retry.md", 3),
        ("retry.md", "memory/retry.md", 2),
        (".env", "x/.env", 2),
        ("retry", "memory/retry.md", 1),
        ("retry.md", "memory/retry.md.bak", 1),
        ("cafe\u0301", "memory/Café.md", 1),
        ("env", "x/.env", 0),
        ("a/retry.md", "memory/a/retry.md", 0),
        ("retr", "memory/retry.md", 0),
        (".", ".", 0),
        ("", "", 0),
        ("x", "", 0),
    ],
)
def test_a_query_names_a_path_whole_by_its_last_part_or_by_its_stem(query, path, tier):
    assert path_exactness(query, [path]).tolist() == [tier]


def test_a_bare_text_is_no_list_of_paths():
    for read in (lambda text: path_exactness("a", text), path_dates):
        with pytest.raises(ParameterError, match="paths must be a list"):
            read("memory/a.md")


@given(st.floats(-1e3, 1e3), st.floats(-1e3, 1e3))
@settings(max_examples=50)
def test_a_named_row_scores_from_one_half_to_one_and_rises_with_content(a, b):
    low, high = exact_tie(sorted((a, b)))
    assert 0.5 <= low <= high <= 1.0
    assert exact_tie([0.0, 0.25, 1.0]).tolist() == [0.5, 0.625, 1.0]


@pytest.mark.parametrize(
    ("path", "release", "legacy"),
    [
        ("memory/2026-05-14.md", "dated", "dated"),
        ("agent/memory/2026-05-14.md", "dated", "dated"),
        ("./memory\\2026-05-14.md", "dated", "dated"),
        ("memory/a/b/2026-05-14.md", "dated", "evergreen"),
        ("memory/2026-05-14-1530.md", "dated", "evergreen"),
        ("memory/2026-05-14-.md", "evergreen", "evergreen"),
        ("memory/2026-05-14_x.md", "evergreen", "evergreen"),
        ("memory/2026-05-14.md\n", "evergreen", "evergreen"),
        ("memory/2026-02-30.md", "impossible", "impossible"),
        ("memory/0000-01-01.md", "impossible", "impossible"),
        ("MEMORY.md", "evergreen", "evergreen"),
        ("USER.md", "evergreen", "other"),
        ("memory.md", "other", "evergreen"),
        ("agent/MEMORY.md", "other", "other"),
        ("notes/2026-05-14.md", "other", "other"),
        ("", "other", "other"),
    ],
)
def test_what_a_path_says_of_age_by_version(path, release, legacy):
    assert path_dates([path])[0] == (release,)
    assert path_dates([path], rule="legacy")[0] == (legacy,)


def test_a_day_is_counted_from_1970():
    kinds, days = path_dates(["memory/1970-01-01.md", "memory/2000-03-01.md", "memory/x.md"])
    assert kinds == ("dated", "dated", "evergreen")
    # 30 years of 365 days, 7 leap days before 2000, then 31 + 29 days.
    np.testing.assert_array_equal(days, [0.0, 30 * 365 + 7 + 60, np.nan])


def test_an_unknown_rule_is_refused_with_the_known_ones():
    with pytest.raises(ParameterError, match=r"rule must be one of release, legacy.*nearest"):
        path_dates([], rule="releases")


def test_a_long_path_that_almost_fits_is_read_at_once():
    assert path_dates(["memory/" + "a/" * 5_000 + "2026-05-14-.md"])[0] == ("evergreen",)
