"""Scales: thresholds and boosts that the config itself says cannot work, before anything is run.

In: a config. Out: one notice for each minimum that no row, or no row of one arm, can reach, for
each that every row reaches, for each that a later stage undercuts, and for each bonus larger than
the relevance it is added to. Nothing is refused: a sweep may visit such a point, but says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from recalltune.pipeline.attainable import StageBounds, score_bounds
from recalltune.pipeline.config import RankingConfig
from recalltune.pipeline.run import with_profile
from recalltune.pipeline.stage import FilterStage, ScoreStage

__all__ = ["ScaleNotice", "scale_notices", "score_text"]


@dataclass(frozen=True)
class ScaleNotice:
    """One parameter that stands outside what the scores can be."""

    address: str
    """`stage.field`, or the stage where all of it is meant."""
    kind: Literal["unreachable", "slack", "one arm", "undercut", "boost"]
    message: str

    def __str__(self) -> str:
        return f"{self.address}: {self.message}"


def score_text(score: float) -> str:
    """Return a score to six decimals, and with two at least.

    Examples
    --------
    >>> score_text(2 / 61), score_text(0.3), score_text(0.0000185)
    ('0.032787', '0.30', '1.85e-05')
    """
    if 0 < abs(score) < 1e-4:
        return f"{score:.3g}"
    whole, _, decimals = f"{score:.6f}".partition(".")
    return f"{whole}.{decimals.rstrip('0'):0<2}"


def scale_notices(config: RankingConfig) -> tuple[ScaleNotice, ...]:
    """Return what is wrong with the scale of each threshold and boost, profiles included.

    Parameters
    ----------
    config
        Any; it need not have been run.
    """
    found = list(_notices(config))
    for name in config.profiles:
        for notice in _notices(with_profile(config, name)):
            if notice not in found:
                found.append(replace(notice, message=f"{notice.message} (profile {name})"))
    return tuple(found)


def _notices(config: RankingConfig) -> Iterator[ScaleNotice]:
    walked = score_bounds(config)
    names = config.arms.names
    alone = {name: score_bounds(config, only=name) for name in names if len(names) > 1}
    for place, bounds in enumerate(walked):
        stage = bounds.stage
        if isinstance(stage, FilterStage):
            reach = {name: walk[place].before[1] for name, walk in alone.items()}
            for field, asked in stage.asks().items():
                address = f"{stage.name}.{field}"
                yield from _of_minimum(address, asked, bounds, reach)
                yield from _undercut(address, asked, walked[place:])
        elif isinstance(stage, ScoreStage) and not stage.fuses:
            yield from _of_boost(stage, bounds)


def _of_minimum(
    address: str, asked: float, bounds: StageBounds, reach: dict[str, float]
) -> Iterator[ScaleNotice]:
    low, high = bounds.before
    field = address.rpartition(".")[2]
    if high < asked:
        message = f"max attainable {score_text(high)} < {field} {score_text(asked)}"
        yield ScaleNotice(address, "unreachable", message)
        return
    if 0 < asked <= low:
        message = f"no score is below {score_text(low)}, so {score_text(asked)} does not bind"
        yield ScaleNotice(address, "slack", message)
    for arm, highest in reach.items():
        if highest < asked:
            told = f"at most {score_text(highest)} < {score_text(asked)}"
            yield ScaleNotice(address, "one arm", f"{arm}-only hits can reach {told}")


def _undercut(address: str, asked: float, later: list[StageBounds]) -> Iterator[ScaleNotice]:
    """A minimum before the last score stage does not hold for the score that is shown."""
    low, high = later[0].before
    if not low < asked <= high:
        return
    low = asked
    by = ""
    for bounds in later[1:]:
        low, high = bounds.stage.attainable(low, high)
        by = by or (bounds.stage.name if low < asked else "")
    if low < asked:
        message = (
            f"stands before {by}: a row that reaches {score_text(asked)} can be shown with "
            f"{score_text(low)}"
        )
        yield ScaleNotice(address, "undercut", message)


def _of_boost(stage: ScoreStage, bounds: StageBounds) -> Iterator[ScaleNotice]:
    """What a stage gives a row of score 0 is its bonus, whatever the row matches."""
    relevance, boost = bounds.before[1], stage.attainable(0.0, 0.0)[1]
    if 0 < relevance < boost and np.isfinite(boost):
        message = (
            f"boost {boost:.6g} is {boost / relevance:.3g}x the attainable relevance "
            f"{score_text(relevance)}"
        )
        yield ScaleNotice(stage.name, "boost", message)
