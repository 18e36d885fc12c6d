"""Charts of section 5: the curves that were tried, one axis, two axes."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from recalltune import charts
from recalltune.charts import Stamp
from recalltune.pipeline.address import addresses
from recalltune.pipeline.config import RankingConfig
from recalltune.report.picture import NO_SWEEP, measure_of
from recalltune.report.story import Journey
from recalltune.sweep.views import binding, line, surface

__all__ = ["decay", "half_life", "settings"]

HALF_LIFE = "decay.half_life_days"
SMALLEST_SLICE = 10


def decay(journey: Journey) -> Any:
    """The decay curves that were tried, over the ages of the evidence."""
    if journey.sweep is None:
        return NO_SWEEP
    config = journey.faded(journey.contender_config or journey.default.config)
    if config is None:
        return "The current default has no decay stage whose curve could be drawn."
    stage = config.stage("decay")
    half = stage.half_age_days
    curves = {_curve_name(config): stage}
    if journey.contender_config is not None and half is not None:
        for shape in journey.sweep.space.axes.get("decay.shape", ())[:3]:
            other = stage.with_(family="weibull", half_life_days=half, shape=float(shape))
            curves[f"weibull, shape {shape:g}"] = other
    ages = np.geomspace(0.25, 730.0, 160)
    frame = pl.concat(
        pl.DataFrame({"curve": [name] * ages.size, "age_days": ages, "weight": stage.weight(ages)})
        for name, stage in curves.items()
    )
    rug = journey.targets.select(pl.col("age_days").drop_nulls())
    return charts.decay_curves(
        frame,
        half_life_days=half,
        evidence=rug if rug.height else None,
        detail="" if half is None else f"Half-life {half:g} days in every curve.",
        stamp=Stamp(config=config.fingerprint),
    )


def _curve_name(config: RankingConfig) -> str:
    decay = config.stage("decay")
    if decay.family == "weibull":
        return f"weibull, shape {decay.shape:g}"
    return f"{decay.family.replace('_', ' ')}, {decay.days:g} days"


def half_life(journey: Journey) -> Any:
    """The half-life alone against the current default, by kind of case."""
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
        detail=(
            f"Tuning cases, {around.stage('decay').family} decay, other parameters as in the "
            f"current default.{left}"
        ),
        stamp=journey.stamp(),
    )


def settings(journey: Journey) -> Any:
    """The half-life, or the strongest axis, against the next one, with the tie set."""
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
    # The strip is one cell, so it stands at one value of y.
    strip = f"; no decay at {y.rpartition('.')[2]} {addresses(around)[y]:g}" if off else ""
    inside = same and frame.filter((pl.col("x") == here[0]) & (pl.col("y") == here[1])).height
    return charts.sweep_heatmap(
        frame,
        x_name=x,
        y_name=y,
        measure=measure_of(journey.metric),
        default=here if inside else None,
        strip_name="no decay",
        detail=(
            f"Other parameters as in the {journey.contender_name} setting{strip}. Tie set over all "
            f"{journey.sweep.points.height:,} settings."
        ),
        stamp=journey.stamp(),
    )


def _shapeless(config: RankingConfig) -> bool:
    return bool(config.stage("decay").family != "weibull")
