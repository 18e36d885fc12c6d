"""Titles and marks of the charts about use, on frames whose every number is known."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from recalltune import charts
from recalltune.errors import ParameterError


def title(chart: Any) -> str:
    return " ".join(charts.compiled(chart)["title"]["text"])


def test_exposure_names_the_most_and_the_least_uneven_config(demos: dict[str, Any]) -> None:
    frame = demos["exposure_share"].frame
    said = "Gini of exposures is 0.420 under 强化 2, 0.300 under 强化 0"
    assert title(charts.exposure_share(frame)) == said
    tenth = "Most shown tenth holds 52 % under 强化 2, 40 % under 强化 0"
    assert title(charts.exposure_share(frame, measure="top_10_share")) == tenth
    alike = frame.with_columns(gini=pl.lit(0.25))
    assert title(charts.exposure_share(alike)) == (
        "Gini of exposures is 0.250 after 500 queries under all 3 configs"
    )


def test_drift_names_what_is_left_of_the_list_and_what_new_needs_pay(demos: dict[str, Any]) -> None:
    frame = demos["feedback_drift"].frame
    # Six windows of four: half of 24 found, three quarters without use.
    assert title(charts.feedback_drift(frame)) == (
        "强化 2 ends with 75 % of the list without use; it finds 12 of 24 first needs, 18 without"
    )
    still = frame.filter(pl.col("config") == "强化 0")
    assert title(charts.feedback_drift(still)) == "Use changes no list in 10 windows"


def test_one_grey_line_stands_for_all_configs_that_agree_without_use(demos: dict[str, Any]) -> None:
    frame = demos["feedback_drift"].frame
    rows = charts.compiled(charts.feedback_drift(frame))["datasets"]["still"]
    assert {row["config"] for row in rows} == {"without use"}
    own = frame.with_columns(still_first_recall=pl.col("first_recall"))
    rows = charts.compiled(charts.feedback_drift(own))["datasets"]["still"]
    assert {row["config"] for row in rows} == set(frame["config"])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"gini": pl.lit(1.5)}, r"must lie in \[0, 1\], got 1.5"),
        ({"step": pl.lit(1)}, "each step must occur once in a config"),
        ({"config": pl.col("step").cast(pl.String)}, "at most 5, got 10"),
    ],
)
def test_frames_that_cannot_be_drawn_are_refused(
    demos: dict[str, Any], change: dict[str, pl.Expr], said: str
) -> None:
    frame = demos["exposure_share"].frame
    changed = (frame.unique("step") if "config" in change else frame).with_columns(**change)
    with pytest.raises(ParameterError, match=said):
        charts.exposure_share(changed)


def test_an_unknown_measure_is_refused_by_name(demos: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="measure must be one of gini"):
        charts.exposure_share(demos["exposure_share"].frame, measure="share")  # type: ignore[arg-type]
