"""The charts of a journey, each made once: a PNG beside the report and an image inside it.

In: results. Out: pictures in the order of the report's sections; one that has nothing to show
says why instead of a chart. Every title is a finding computed from the frame that is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from recalltune import charts
from recalltune.charts import Measure, Stamp
from recalltune.charts.findings import TOO_FEW
from recalltune.evaluate.paired import higher_is_better
from recalltune.evaluate.query_views import flow, loss_stages, rival, waterfall
from recalltune.evaluate.views import accounts, age_strata, compare, label_of, layers_over_time
from recalltune.pipeline.address import addresses
from recalltune.pipeline.config import RankingConfig
from recalltune.rank.decay import exponential, weibull, with_floor
from recalltune.report.story import Journey
from recalltune.sweep.views import binding, frontier, line, surface

__all__ = ["Picture", "layer_profile", "measure_of", "pictures"]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST = "01_layers_over_time"
PRESET_METRICS = ("ndcg@10", "recall_all@10", "passed", "tokens")
HALF_LIFE = "decay.half_life_days"
SMALLEST_SLICE = 10
ROUNDS = 40
MEMORIES = 9
NO_SWEEP = "No sweep was run, so there is no other setting to set against the default."
NO_CONTENDER = "No setting of the sweep differs from the default on any case."


@dataclass(frozen=True, eq=False)
class Picture:
    """One chart of the report, or the reason why there is none."""

    name: str
    """Stem of the PNG."""
    section: int
    chart: Any = None
    why: str = ""

    @cached_property
    def spec(self) -> dict[str, Any]:
        """The compiled chart."""
        return charts.compiled(self.chart)

    @cached_property
    def svg(self) -> str:
        """The drawing, made once for the file and for the page."""
        return charts.svg(self.spec)


def measure_of(metric: str) -> Measure:
    """A metric as charts name and round it."""
    if metric == "tokens":
        return Measure("tokens", higher_is_better=False, decimals=0, unit="tokens a query")
    return Measure(label_of(metric), higher_is_better=higher_is_better(metric))


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
    return charts.loss_stages(
        loss_stages(journey.candidates, journey.default.config),
        cases=journey.default.cases.height,
        detail=f"Setting: {journey.default_name}, the current default.",
        stamp=journey.stamp(journey.default.config),
    )


def _decay(journey: Journey) -> Any:
    if journey.sweep is None:
        return NO_SWEEP
    config = journey.faded(journey.contender_config or journey.default.config)
    if config is None:
        return "The current default has no decay stage whose curve could be drawn."
    curves = {_curve_name(config): config.stage("decay")}
    if journey.contender_config is not None:
        for shape in journey.sweep.space.axes.get("decay.shape", ())[:3]:
            other = config.stage("decay").with_(family="weibull", shape=float(shape))
            curves[f"weibull, shape {shape:g}"] = other
    ages = np.geomspace(0.25, 730.0, 160)
    frame = pl.concat(
        pl.DataFrame(
            {"curve": [name] * ages.size, "age_days": ages, "weight": _weight(stage, ages)}
        )
        for name, stage in curves.items()
    )
    rug = journey.targets.select(pl.col("age_days").drop_nulls())
    return charts.decay_curves(
        frame,
        half_life_days=config.stage("decay").half_life_days,
        evidence=rug if rug.height else None,
        detail=f"Half-life {config.stage('decay').half_life_days:g} days in every curve.",
        stamp=Stamp(config=config.fingerprint),
    )


def _half_life(journey: Journey) -> Any:
    if journey.sweep is None:
        return NO_SWEEP
    around = journey.faded(journey.sweep.base)
    if HALF_LIFE not in journey.sweep.space.axes or around is None:
        return f"The sweep has no axis {HALF_LIFE}."
    families = journey.sweep.space.axes.get("decay.family", ())
    off = {"decay.family": "none"} if "none" in families else None
    base = addresses(journey.sweep.base)
    frame = line(journey.sweep, HALF_LIFE, journey.metric, around=around, off=off, by="kind")
    small = frame.filter(pl.col("n") < SMALLEST_SLICE)["slice"].n_unique()
    left = f" {small} kinds under {SMALLEST_SLICE} cases left out." if small else ""
    return charts.sweep_line(
        frame.filter(pl.col("n") >= SMALLEST_SLICE),
        parameter=HALF_LIFE,
        measure=measure_of(journey.metric),
        default=None if base["decay.family"] == "none" else float(base[HALF_LIFE]),
        off_name="no decay",
        detail=f"Tuning cases, {around.stage('decay').family} decay.{left}",
        stamp=journey.stamp(),
    )


def _surface(journey: Journey) -> Any:
    if journey.sweep is None:
        return NO_SWEEP
    around = journey.faded(journey.contender_config or journey.sweep.base)
    numeric = [
        row["address"]
        for row in binding(journey.sweep, journey.metric)
        .sort("largest", "address", descending=[True, False])
        .iter_rows(named=True)
        if all(isinstance(v, int | float) for v in journey.sweep.space.axes[row["address"]])
        and not (around and row["address"] == "decay.shape" and _shapeless(around))
    ]
    if len(numeric) < 2 or around is None:
        return "The sweep has fewer than two axes of numbers."
    # The half-life first, then axes with enough values for a surface, by their effect.
    wide = {a for a in numeric if len(journey.sweep.space.axes[a]) > 2}
    x, y = sorted(numeric, key=lambda address: (address != HALF_LIFE, address not in wide))[:2]
    families = journey.sweep.space.axes.get("decay.family", ())
    off = {"decay.family": "none"} if x == HALF_LIFE and "none" in families else None
    if off and addresses(around)[y] not in journey.sweep.space.axes[y]:
        off = None
    frame = surface(
        journey.sweep, x, y, journey.metric, choice=journey.choice, around=around, off=off
    )
    known = addresses(journey.sweep.base)
    here = (known[x], known[y])
    same = journey.sweep.base.fingerprint == around.fingerprint
    inside = same and frame.filter((pl.col("x") == here[0]) & (pl.col("y") == here[1])).height
    return charts.sweep_heatmap(
        frame,
        x_name=x,
        y_name=y,
        measure=measure_of(journey.metric),
        default=here if inside else None,
        strip_name="no decay",
        detail=(
            f"Other parameters as in the {journey.contender_name} setting. Tie set over all "
            f"{journey.sweep.points.height:,} settings."
        ),
        stamp=journey.stamp(),
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
        detail=_in_sample(journey),
        stamp=journey.stamp(journey.default.config),
        **told,
    )


def _quotas(journey: Journey) -> Any:
    frame = accounts(journey.default)
    order = journey.candidates.queries.sort("asked_at", "query_id")["query_id"].to_list()
    step = -(-len(order) // ROUNDS)
    place = {query_id: at for at, query_id in enumerate(order[::step], start=1)}
    some = frame.filter(pl.col("query_id").is_in(list(place))).with_columns(
        pl.col("query_id").replace_strict(place, return_dtype=pl.Int64).alias("round")
    )
    which = f"every {step}th of {len(order)} cases, by time" if step > 1 else "all cases, by time"
    return charts.quota_account(
        some.sort("round", "layer"),
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
        detail=_in_sample(journey),
        stamp=journey.stamp(),
    )


def _flips(journey: Journey) -> Any:
    if journey.sweep is None:
        return NO_SWEEP
    if journey.flips is None or journey.contender_config is None:
        return NO_CONTENDER
    return charts.case_flips(
        journey.flips,
        list_length=_top_k(journey.contender_config),
        cutoff=min(3, _top_k(journey.contender_config)),
        names=("current default", journey.contender_name),
        detail=_in_sample(journey),
        stamp=journey.stamp(journey.contender_config),
    )


def _flow_of(lang: str) -> Callable[[Journey], Any]:
    def make(journey: Journey) -> Any:
        runs = dict(list(journey.runs.items())[:5])
        query_id = _telling_case(journey, lang)
        if query_id is None:
            return f"No case in the language {lang!r} has a target that any setting shows."
        query = journey.candidates.queries["text"][journey.candidates.position(query_id)]
        return charts.rank_flow(
            flow(journey.candidates, runs, query_id, most=MEMORIES),
            query=query,
            columns=list(runs),
            noun="setting",
            stamp=journey.stamp(),
        )

    return make


def _waterfall(journey: Journey) -> Any:
    config = journey.contender_config or journey.default.config
    run = journey.contender or journey.default
    moved = journey.flips
    if moved is None:
        order = journey.default.cases["query_id"].to_list()
    else:
        gain = (1 / pl.col("rank_b")).fill_null(0.0) - (1 / pl.col("rank_a")).fill_null(0.0)
        order = moved.sort(gain.abs(), "case_id", descending=[True, False])["case_id"].to_list()
    for query_id in order:
        # The rival is what stood above the target under the current default.
        pair = rival(journey.candidates, journey.default, query_id) or rival(
            journey.candidates, run, query_id
        )
        if pair is not None:
            frame = waterfall(
                journey.candidates, config, query_id, {"target": pair[0], "rival": pair[1]}
            )
            row = journey.candidates.position(query_id)
            return charts.score_waterfall(
                frame,
                items=["target", "rival"],
                query=journey.candidates.queries["text"][row],
                detail=f"Setting: {journey.contender_name if journey.contender else 'default'}.",
                stamp=journey.stamp(config),
            )
    return "No case has both a target and another memory among its candidates."


def _telling_case(journey: Journey, lang: str) -> str | None:
    """The case of one language on which the settings disagree most about the first target."""
    pairs = journey.targets.select("query_id", "memory_id")
    mine = journey.candidates.queries.filter(pl.col("lang") == lang)["query_id"]
    best: dict[str, list[float]] = {query_id: [] for query_id in mine.to_list()}
    for run in journey.runs.values():
        hits = run.hits.join(pairs, on=["query_id", "memory_id"], how="semi")
        ranks = dict(hits.group_by("query_id").agg(pl.col("rank").min()).iter_rows())
        for query_id, seen in best.items():
            seen.append(1.0 / ranks[query_id] if query_id in ranks else 0.0)
    scored = [(max(s) - min(s), max(s), q) for q, s in best.items() if s and max(s) > 0]
    if not scored:
        return None
    return min(scored, key=lambda item: (-item[0], -item[1], item[2]))[2]


def _in_sample(journey: Journey) -> str:
    if journey.choice is None:
        return ""
    return f"In sample: {journey.choice.tuned_on} of {journey.default.cases.height} cases tuned on."


def _curve_name(config: RankingConfig) -> str:
    decay = config.stage("decay")
    if decay.family == "weibull":
        return f"weibull, shape {decay.shape:g}"
    return f"exponential, {decay.half_life_days:g} days"


def _weight(decay: Any, ages: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if decay.family == "weibull":
        weight = weibull(ages, half_life_days=decay.half_life_days, shape=decay.shape)
    else:
        weight = exponential(ages, half_life_days=decay.half_life_days)
    return with_floor(weight, floor=decay.floor)


def _shapeless(config: RankingConfig) -> bool:
    return bool(config.stage("decay").family != "weibull")


def _top_k(config: RankingConfig) -> int:
    found = [stage.top_k for stage in config.stages if stage.kind == "select"]
    return int(found[-1]) if found else 20


def _moment(microseconds: int) -> datetime:
    return EPOCH + timedelta(microseconds=microseconds)


_MAKERS: tuple[tuple[str, int, Callable[[Journey], Any]], ...] = (
    (FIRST, 2, _layers),
    ("02_presets", 3, _presets),
    ("03_lost_targets", 4, _lost),
    ("04_decay_curves", 5, _decay),
    ("05_half_life", 5, _half_life),
    ("06_settings", 5, _surface),
    ("07_age_of_evidence", 6, _ages),
    ("08_places_per_layer", 7, _quotas),
    ("09_tokens_and_quality", 7, _tokens),
    ("10_case_flips", 8, _flips),
    ("11_one_english_case", 8, _flow_of("en")),
    ("12_one_chinese_case", 8, _flow_of("zh")),
    ("13_score_of_one_case", 8, _waterfall),
)
