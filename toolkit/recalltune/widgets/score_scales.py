"""Frames for what a score is worth: the arms' scores on several scales, places under RRF."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recalltune.candidates.table import Candidates
from recalltune.charts import Finding
from recalltune.evaluate.judged import judge
from recalltune.pipeline.stages.fuse import Calibration, calibrated
from recalltune.rank.fusion import rrf
from recalltune.widgets.tables import Table

__all__ = ["arm_scores", "rank_curves", "rank_steps"]

Floats = NDArray[np.float64]

SCALES: tuple[tuple[str, str, Calibration], ...] = (
    ("dense cosine", "dense", "raw"),
    ("dense 1 / (2 - cos)", "dense", "inverse_distance"),
    ("dense min-max", "dense", "min_max"),
    ("lexical s / (1 + s)", "lexical", "saturate"),
    ("lexical logistic", "lexical", "logistic"),
    ("lexical min-max", "lexical", "min_max"),
)
"""Group of the chart, arm, calibration: those that end in [0, 1], and the cosine itself."""
DOTS = 120
"""Most dots of rows that are no target, a group."""
RANKS = np.arange(1.0, 51.0)


def arm_scores(
    candidates: Candidates, *, depth: int = 20, minimum: float = 0.3
) -> tuple[pl.DataFrame, Finding]:
    """Scores of the first rows of each arm on several scales, for `profile` in form values.

    Parameters
    ----------
    candidates
        With both arms.
    depth
        How many rows of each arm and question are looked at.
    minimum
        The threshold the title speaks of.

    Returns
    -------
    tuple[pl.DataFrame, Finding]
        group (arm and calibration), value, role (*target* or *other*; of the others every n-th by
        size); and what share of the targets the minimum would drop on two of the scales.
    """
    judged = judge(candidates)
    goal = np.zeros(candidates.span.shape, dtype=np.bool_)
    hits = (judged.labels.gains > 0) & judged.slots.present
    goal[judged.slots.query[hits], judged.slots.at[hits]] = True
    frames, dropped = [], {}
    for name, arm, calibration in SCALES:
        rows = np.nan_to_num(candidates.feature(f"{arm}_rank"), nan=np.inf) <= depth
        values = calibrated(candidates, arm, calibration)
        mine = values[rows & goal]
        dropped[name] = float((mine < minimum).mean()) if mine.size else 0.0
        for role, part in (("target", rows & goal), ("other", rows & ~goal)):
            sizes = np.sort(values[part])
            every = 1 if role == "target" else -(-sizes.size // DOTS) or 1
            shown = sizes[::every]
            frames.append(
                pl.DataFrame(
                    {"group": [name] * shown.size, "value": shown, "role": [role] * shown.size}
                )
            )
    least, most = (choose(dropped, key=lambda name: dropped[name]) for choose in (min, max))
    told = Finding(
        "A minimum of {minimum:tried} drops {high:share} of the targets by {most} "
        "and {low:share} by {least}",
        {
            "minimum": minimum,
            "low": dropped[least],
            "least": least,
            "high": dropped[most],
            "most": most,
        },
        "exact",
    )
    return pl.concat(frames), told


def rank_curves(named: Mapping[str, tuple[float, float]]) -> tuple[pl.DataFrame, Finding]:
    """What a place in a list is worth under RRF, as a share of the first place.

    Parameters
    ----------
    named
        name -> (k, divisor).

    Returns
    -------
    tuple[pl.DataFrame, Finding]
        curve, rank, weight; and what place five keeps in the steepest and the flattest.
    """
    worth = {name: _by_rank(*setting) for name, setting in named.items()}
    frame = pl.concat(
        pl.DataFrame({"curve": [name] * RANKS.size, "rank": RANKS, "weight": points / points[0]})
        for name, points in worth.items()
    )
    fifth = {name: 1.0 - float(points[4] / points[0]) for name, points in worth.items()}
    steep = max(fifth, key=lambda name: (fifth[name], name))
    flat = min(fifth, key=lambda name: (fifth[name], name))
    values = {"steep": steep, "most": fifth[steep], "flat": flat, "least": fifth[flat], "place": 5}
    return frame, Finding(
        "Place {place:count} is worth {most:share} less than the first with {steep}, "
        "{least:share} with {flat}",
        values,
        "exact",
    )


def rank_steps(named: Mapping[str, tuple[float, float]]) -> Table:
    """What one arm's places are worth in the sum: columns formula, first, and steps down.

    ``to_second``, ``to_fifth`` and ``to_tenth`` are what is lost against the first place.
    """
    rows = []
    for name, (k, divisor) in named.items():
        worth = _by_rank(k, divisor)
        first = float(worth[0])
        rows.append(
            {
                "formula": name,
                "first": first,
                "to_second": float(worth[1]) - first,
                "to_fifth": float(worth[4]) - first,
                "to_tenth": float(worth[9]) - first,
            }
        )
    decimals = dict.fromkeys(("first", "to_second", "to_fifth", "to_tenth"), 7)
    return Table(pl.DataFrame(rows), "Score of one arm by place", decimals)


def _by_rank(k: float, divisor: float) -> Floats:
    return rrf(RANKS[np.newaxis], k=k, divisor=divisor)
