"""Frames for the question how fast memories fade: curves, names, and what tuning makes of luck."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recalltune.charts import Finding
from recalltune.pipeline.config import RankingConfig
from recalltune.pipeline.stages.recallnest_fade import TIERS
from recalltune.rank.decay import exponential, half_floor, mean_life, weibull, with_floor
from recalltune.sweep.choose import Choice
from recalltune.widgets.tables import Table

__all__ = ["curves", "half_life_names", "optimism", "shape_curves", "tier_curves", "worst_loss"]

Ages = NDArray[np.float64]
AGES: Ages = np.geomspace(0.25, 730.0, 160)
"""Days; the points a curve is drawn at."""


def curves(named: Mapping[str, Callable[[Ages], Ages]]) -> pl.DataFrame:
    """Points of some curves: curve, age_days, weight.

    Parameters
    ----------
    named
        name -> function from ages in days to weights.
    """
    frames = [
        pl.DataFrame({"curve": [name] * AGES.size, "age_days": AGES, "weight": curve(AGES)})
        for name, curve in named.items()
    ]
    return pl.concat(frames)


def half_life_names(half_life_days: float) -> tuple[Table, pl.DataFrame]:
    """Three formulas that production code calls a half-life: a table, and their curves.

    Parameters
    ----------
    half_life_days
        Days, > 0.

    Returns
    -------
    tuple[Table, pl.DataFrame]
        name, formula, weight_at_half_life; and the points of `curves`.
    """
    h = half_life_days
    known: dict[str, tuple[str, Callable[[Ages], Ages]]] = {
        "half-life": ("2^-(age/h)", lambda ages: exponential(ages, half_life_days=h)),
        "mean life": ("e^-(age/h)", lambda ages: mean_life(ages, mean_life_days=h)),
        "half floor": (".5 + .5 e^-(age/h)", lambda ages: half_floor(ages, mean_life_days=h)),
    }
    at = np.array([h])
    rows = [
        {"name": name, "formula": formula, "weight_at_half_life": float(curve(at)[0])}
        for name, (formula, curve) in known.items()
    ]
    return Table(pl.DataFrame(rows)), curves({name: curve for name, (_, curve) in known.items()})


def shape_curves(half_life_days: float, shapes: tuple[float, ...]) -> pl.DataFrame:
    """Weibull curves of one half-life and several shapes, as `curves`."""
    return curves({f"shape {shape:g}": _weibull(half_life_days, shape, 0.0) for shape in shapes})


def tier_curves(config: RankingConfig) -> pl.DataFrame:
    """Curves of RecallNest's tiers, floors included, as `curves`.

    Raises
    ------
    ParameterError
        If ``config`` has no stage ``tier_decay``.
    """
    stage = config.stage("tier_decay")
    return curves(
        {
            tier: _weibull(
                stage.half_life_days,
                getattr(stage, f"{tier}_shape"),
                getattr(stage, f"{tier}_floor"),
            )
            for tier in reversed(TIERS)
        }
    )


def optimism(choice: Choice) -> tuple[pl.DataFrame, Finding]:
    """What the best setting of a sweep seems to gain, and what is left of it on new sessions.

    Returns
    -------
    tuple[pl.DataFrame, Finding]
        row, metric, value, role: *in sample* is the best mean picked and measured on the same
        cases, *new sessions* the mean of choosing on some sessions and measuring on the others;
        without folds the second one is missing. And the two numbers as a title.
    """
    found = {"in sample": choice.decision.apparent_gain}
    if choice.decision.heldout is not None:
        found["new sessions"] = choice.decision.heldout.gain
    rows = [
        {"row": "best setting", "metric": "gain", "value": gain, "role": role}
        for role, gain in found.items()
    ]
    template = "Picked in sample {seen:signed}"
    if "new sessions" in found:
        template += ", picked and measured on new sessions {new:signed}"
    title = Finding(
        template, {"seen": found["in sample"], "new": found.get("new sessions")}, "exact"
    )
    return pl.DataFrame(rows), title


def worst_loss(flips: pl.DataFrame) -> str | None:
    """Return the case whose first target falls furthest, by 1 / rank; None where none falls.

    Parameters
    ----------
    flips
        From `evaluate.views.flips`: case_id, rank_a, rank_b.
    """
    change = (1 / pl.col("rank_b")).fill_null(0.0) - (1 / pl.col("rank_a")).fill_null(0.0)
    fallen = flips.with_columns(change=change).filter(pl.col("change") < 0)
    ranked = fallen.sort("change", "case_id")["case_id"].to_list()
    return ranked[0] if ranked else None


def _weibull(half_life_days: float, shape: float, floor: float) -> Callable[[Ages], Any]:
    def curve(ages: Ages) -> Any:
        weight = weibull(ages, half_life_days=half_life_days, shape=shape)
        return with_floor(weight, floor=floor)

    return curve
