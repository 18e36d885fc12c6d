"""The charts of a journey, each made once: a PNG beside the report and an image inside it.

In: results. Out: pictures in the order of the report's sections; one that has nothing to show
says why instead of a chart. Every title is a finding computed from the frame that is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl

from recalltune import charts
from recalltune.charts import Measure, Stamp
from recalltune.charts.findings import TOO_FEW
from recalltune.evaluate.views import age_strata, compare, layers_over_time, some_rounds
from recalltune.replay.fate_views import loss_account
from recalltune.replay.fates import fates
from recalltune.report.case_pictures import case_flips, flow_of, score_of_one
from recalltune.report.picture import Picture, in_sample, measure_of
from recalltune.report.story import Journey
from recalltune.report.sweep_pictures import decay, half_life, settings
from recalltune.sweep.views import frontier

__all__ = ["layer_profile", "pictures"]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST = "01_layers_over_time"
PRESET_METRICS = ("ndcg@10", "recall_all@10", "passed", "tokens")
ROUNDS = 40


def layer_profile(spans: pl.DataFrame, asked: Sequence[int], *, data: str = "") -> Picture:
    """What is in the memory, month by month: the first picture a run can draw.

    Parameters
    ----------
    spans
        Told spans, as in ``candidates.spans``.
    asked
        Microseconds since 1970, UTC: when the eval cases are asked.
    data
        Digest of the data, for the stamp.
    """
    frame = layers_over_time(spans).rename({"tokens": "median_tokens"})
    chart = charts.profile(
        frame,
        form="over_time",
        cases_span=(_moment(min(asked)), _moment(max(asked))) if asked else None,
        stamp=Stamp(data=data),
    )
    return Picture(FIRST, 2, chart)


def pictures(journey: Journey, *, drawn: Sequence[Picture] = ()) -> Iterator[Picture]:
    """Yield the charts of a journey in the order of its sections.

    Parameters
    ----------
    journey
        What is drawn.
    drawn
        Pictures that exist already; they are not made again.
    """
    there = {picture.name: picture for picture in drawn}
    for name, section, make in _MAKERS:
        if name in there:
            yield there[name]
            continue
        made = make(journey)
        if isinstance(made, str):
            yield Picture(name, section, why=made)
        else:
            yield Picture(name, section, made)


def _layers(journey: Journey) -> Any:
    asked = journey.candidates.queries["asked_at"].drop_nulls().to_list()
    return layer_profile(journey.candidates.spans, asked, data=journey.candidates.stamp.data).chart


def _presets(journey: Journey) -> Any:
    held = [m for m in PRESET_METRICS if m in journey.default.cases.columns]
    return charts.preset_dots(
        compare(journey.results, held),
        metrics=[measure_of(metric) for metric in held],
        default_row=journey.default_name,
        interval="pointwise",
        stamp=Stamp(data=journey.candidates.stamp.data),
    )


def _lost(journey: Journey) -> Any:
    config = journey.default.config
    return charts.loss_stages(
        loss_account(fates(journey.candidates, config), config),
        cases=journey.default.cases.height,
        detail=f"Setting: {journey.default_name}, the current default.",
        stamp=journey.stamp(config),
    )


def _ages(journey: Journey) -> Any:
    runs = {journey.default_name: journey.default}
    chosen = None
    if journey.contender is not None:
        runs[journey.contender_name] = journey.contender
        chosen = journey.contender_name
    frame = age_strata(journey.candidates, runs, chosen=chosen)
    if not frame.height:
        return "No case has a target, so there is no evidence whose age could be looked at."
    # The title speaks of the oldest bin with enough targets: fixed before looking, not picked.
    tested = frame.filter(pl.col("diff").is_not_null() & (pl.col("n") >= TOO_FEW))
    oldest = tested.filter(pl.col("bin") != "no date").sort("bin_order").tail(1)
    told: dict[str, Any] = {}
    if oldest.height:
        row = oldest.row(0, named=True)
        told = {
            "comparison": {
                "diff": row["diff"], "lo": row["diff_lo"], "hi": row["diff_hi"], "n": row["n"],
            },
            "compared": f"targets {row['bin']} old",
            "subject": journey.contender_name,
        }  # fmt: skip
    return charts.age_strata(
        frame,
        measure=Measure("share of targets shown in the first ten"),
        detail=in_sample(journey),
        stamp=journey.stamp(journey.default.config),
        **told,
    )


def _quotas(journey: Journey) -> Any:
    cases = journey.candidates.queries.height
    step = -(-cases // ROUNDS)
    which = (
        f"every {step}th of {cases} tuning cases, by time"
        if step > 1
        else "all tuning cases, by time"
    )
    return charts.quota_account(
        some_rounds(journey.candidates, journey.default, rounds=ROUNDS),
        round_name="case",
        detail=f"{journey.default_name}; {which}.",
        stamp=journey.stamp(journey.default.config),
    )


def _tokens(journey: Journey) -> Any:
    chosen = journey.contender_name if journey.contender is not None and journey.changed else None
    frame = frontier(journey.runs, journey.metric, default=journey.default_name, chosen=chosen)
    quality, cost = journey.change(journey.metric), journey.change("tokens")
    return charts.pareto_quality_tokens(
        frame,
        measure=measure_of(journey.metric),
        cost=measure_of("tokens"),
        comparison=asdict(quality) if quality and chosen else None,
        saving=asdict(cost) if cost and chosen else None,
        detail=in_sample(journey),
        stamp=journey.stamp(),
    )


def _moment(microseconds: int) -> datetime:
    return EPOCH + timedelta(microseconds=microseconds)


_MAKERS: tuple[tuple[str, int, Callable[[Journey], Any]], ...] = (
    (FIRST, 2, _layers),
    ("02_presets", 3, _presets),
    ("03_lost_targets", 4, _lost),
    ("04_decay_curves", 5, decay),
    ("05_half_life", 5, half_life),
    ("06_settings", 5, settings),
    ("07_age_of_evidence", 6, _ages),
    ("08_places_per_layer", 7, _quotas),
    ("09_tokens_and_quality", 7, _tokens),
    ("10_case_flips", 8, case_flips),
    ("11_one_english_case", 8, flow_of("en")),
    ("12_one_chinese_case", 8, flow_of("zh")),
    ("13_score_of_one_case", 8, score_of_one),
)
