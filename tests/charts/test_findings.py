"""A title's verb follows from its interval: by table, by swap, by permutation, by identity."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from recalltune.charts import Finding, Measure, difference, verdict_of
from recalltune.charts.findings import as_finding
from recalltune.charts.text import display_width
from recalltune.errors import ParameterError

NDCG = "nDCG@10"


def row(diff: float, lo: float, hi: float, n: int = 142, **more: Any) -> dict[str, Any]:
    return {"diff": diff, "lo": lo, "hi": hi, "n": n, **more}


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        (row(0.02, 0.01, 0.03, changed=0), "does not bind"),
        (row(0.02, 0.01, 0.03, n=19), "too few"),
        (row(0.02, 0.01, 0.03, n=20), "gains"),
        (row(0.02, 0.0, 0.03), "cannot be told"),  # 0 itself is within
        (row(-0.02, -0.03, -0.01), "costs"),
        (row(0.0, -0.004, 0.004, other_improves=True), "by at most"),
        (row(0.0, -0.010, 0.004, other_improves=True), "cannot be told"),  # not within margin
        (row(0.0, -0.004, 0.004, other_improves=False), "cannot be told"),
        (row(-0.02, -0.03, -0.01, other_improves=True), "costs"),
        (row(0.02, 0.01, 0.03, higher_is_better=False), "costs"),
        (row(-0.02, -0.03, -0.01, higher_is_better=False), "gains"),
        (row(0.0, -0.004, 0.004, higher_is_better=False, other_improves=True), "by at most"),
        (row(0.0, -0.004, 0.010, higher_is_better=False, other_improves=True), "cannot be told"),
    ],
)  # fmt: skip
def test_the_first_matching_rule_gives_the_verdict(values: dict[str, Any], verdict: str) -> None:
    assert verdict_of(values) == verdict


@pytest.mark.parametrize(
    ("title", "said"),
    [
        (difference(row(0.0, 0.0, 0.0, changed=0), subject="minScore", measure=NDCG),
         "minScore does not bind: 0 of 142 lists change"),
        (difference(row(0.1, 0.1, 0.2, n=12), subject="x", measure=NDCG, cases="date questions"),
         "12 date questions are too few to compare"),
        (difference(row(0.1, 0.1, 0.2, n=1), subject="x", measure=NDCG),
         "1 of the cases is too few to compare"),
        (difference({"n": 0}, subject="x", measure=NDCG), "No cases to compare"),
        (difference(row(0.011, 0.003, 0.020), subject="Half-life 180 d", measure=NDCG),
         "Half-life 180 d gains 0.011 [0.003, 0.020]"),
        (difference(row(-0.036, -0.058, -0.015), subject="Half-life 7 d", measure=NDCG),
         "Half-life 7 d costs 0.036 [−0.058, −0.015]"),
        (difference(row(0.017, -0.004, 0.038), subject="The choice", measure=NDCG,
                    other=("tokens", row(-102, -110, -95))),
         "The choice saves 102 tokens a query; nDCG@10 falls by at most 0.004"),
        (difference(row(0.0, -0.02, 0.02), subject="Shape 1.3", baseline="shape 1.0",
                    measure=NDCG, needed=(160, 0.02)),
         "Shape 1.3 cannot be told from shape 1.0 (about 160 cases needed to see 0.02)"),
        (difference(row(-0.03, -0.06, -0.002), subject="Cap 4", measure="stale@10",
                    scope="on updates"),
         "Cap 4 lowers stale@10 by 0.030 [−0.060, −0.002] on updates"),
        (difference(row(38, 31, 45), subject="Cap 9", measure="tokens"),
         "Cap 9 raises tokens by 38 [31, 45]"),
        (difference(row(0.0, -0.01, 0.004), subject="Cap 4", measure="stale@10",
                    other=(NDCG, row(0.02, 0.01, 0.03))),
         "Cap 4 raises nDCG@10 by 0.020; stale@10 rises by at most 0.004"),
        (difference(row(0.011, 0.003, 0.020), subject="Best cell", measure=NDCG, in_sample=True),
         "Best cell gains 0.011 [0.003, 0.020], in sample"),
    ],
)  # fmt: skip
def test_each_verdict_has_its_sentence(title: Finding, said: str) -> None:
    assert str(title) == said


BOUNDS = st.tuples(st.floats(-1, 1), st.floats(-1, 1)).map(sorted)


@given(BOUNDS, st.booleans())
def test_swapping_the_two_sides_flips_the_verb(bounds: list[float], higher: bool) -> None:
    lo, hi = bounds
    kind = Measure("m", higher_is_better=higher)
    one = difference(row((lo + hi) / 2, lo, hi), subject="x", measure=kind)
    two = difference(row(-(lo + hi) / 2, -hi, -lo), subject="x", measure=kind)
    other = {"gains": "costs", "costs": "gains"}
    assert two.verdict == other.get(one.verdict, one.verdict)


@given(BOUNDS)
def test_a_lower_is_better_measure_is_the_mirror_of_a_higher_is_better_one(
    bounds: list[float],
) -> None:
    lo, hi = bounds
    assert verdict_of(row(0, lo, hi)) == verdict_of(row(0, -hi, -lo, higher_is_better=False))


def test_permuted_labels_gain_or_cost_in_at_most_one_draw_of_twenty() -> None:
    rng = np.random.default_rng(7)
    draws, n = 2_000, 60
    paired = rng.normal(0.05, 0.2, n)
    found = 0
    for _ in range(draws):
        # Under the null the sign of each paired difference is a coin toss.
        values = paired * rng.choice((-1.0, 1.0), n)
        half = 2.001 * values.std(ddof=1) / n**0.5  # t quantile, 59 degrees of freedom
        title = difference(row(values.mean(), values.mean() - half, values.mean() + half, n),
                           subject="x", measure=NDCG)  # fmt: skip
        found += title.verdict in ("gains", "costs")
    error = (0.05 * 0.95 / draws) ** 0.5
    assert found / draws <= 0.05 + 3 * error


@given(st.floats(0.001, 0.5), st.floats(0.0001, 0.4))
def test_the_numbers_in_the_title_are_those_of_the_row(diff: float, half: float) -> None:
    assume(diff - half > 0.0005)
    title = str(difference(row(diff, diff - half, diff + half), subject="x", measure=NDCG))
    assert title == f"x gains {diff:.3f} [{diff - half:.3f}, {diff + half:.3f}]"


def test_a_row_may_be_a_frame_of_one_row_and_no_other() -> None:
    frame = pl.DataFrame([row(0.011, 0.003, 0.020)])
    assert difference(frame, subject="x", measure=NDCG).verdict == "gains"
    with pytest.raises(ParameterError, match="exactly one row, got 2"):
        difference(pl.concat([frame, frame]), subject="x", measure=NDCG)


def test_a_missing_or_inverted_interval_is_refused_not_guessed() -> None:
    with pytest.raises(ParameterError, match="lo and hi must be finite"):
        difference(row(0.1, float("nan"), 0.2), subject="x", measure=NDCG)
    with pytest.raises(ParameterError, match="lo <= hi"):
        difference(row(0.1, 0.3, 0.2), subject="x", measure=NDCG)


def test_a_verdict_that_the_interval_does_not_back_cannot_be_built() -> None:
    with pytest.raises(ParameterError, match="must be 'cannot be told' by the interval"):
        Finding("{diff:amount} gained", row(0.01, -0.01, 0.03), "gains")


@pytest.mark.parametrize(
    "typed",
    ["7 cases", "Decay gains", "A longer half-life is better", "Fewer tokens", "recall improves",
     "半衰期更长", "召回率提升了", "Lost because of decay", "第３名", "Best setting",
     "costs nothing"],
)  # fmt: skip
def test_a_typed_title_may_hold_no_digit_and_no_comparison(typed: str) -> None:
    with pytest.raises(ParameterError, match=r"must hold no (digit|comparison)"):
        as_finding(typed)


def test_a_typed_title_that_only_names_is_taken_as_it_is() -> None:
    assert str(as_finding("Weights by age {per tier} 按年龄")) == "Weights by age {per tier} 按年龄"


def test_an_exact_finding_needs_a_number_and_a_stated_one_no_verb() -> None:
    with pytest.raises(ParameterError, match="filled by at least one number"):
        Finding("x falls", {}, "exact")
    with pytest.raises(ParameterError, match="no comparison, got 'fall'"):
        Finding("{layer} falls", {"layer": "log"})


def test_unknown_fields_and_formats_are_named_with_the_nearest() -> None:
    with pytest.raises(ParameterError, match=r"field 'totl' .*nearest: 'total'"):
        Finding("{totl:count}", {"total": 1})
    with pytest.raises(ParameterError, match=r"format 'cuont' .*nearest: 'count'"):
        Finding("{total:cuont}", {"total": 1})


def test_names_are_cut_before_numbers_and_the_title_keeps_to_two_lines() -> None:
    title = difference(row(0.011, 0.003, 0.020), subject="很长的名字" * 40, measure=NDCG,
                       scope="on updates " * 30)  # fmt: skip
    assert len(title.lines) <= 2
    assert all(display_width(line) <= 70 for line in title.lines)
    assert "0.011 [0.003, 0.020]" in str(title)


def test_hostile_names_reach_a_title_only_as_visible_text() -> None:
    title = Finding("{name} is {n:count}", {"name": "\u202e{n}</script>\n\x00", "n": 3})
    assert str(title) == "{n}</script> is 3"
