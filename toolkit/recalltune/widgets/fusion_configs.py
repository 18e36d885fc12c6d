"""Configs for the question how lists are fused: each differs from the default in one thing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from recalltune.pipeline.address import set_many
from recalltune.pipeline.config import RankingConfig, preset
from recalltune.pipeline.stages.fuse import WeightedSum
from recalltune.pipeline.stages.recallnest import RecencyBoost

__all__ = ["arms_alone", "boosted", "fusions", "weighted", "with_fusion", "word_searches"]


def arms_alone(base: RankingConfig) -> dict[str, RankingConfig]:
    """Return *both* and each arm alone: the other one gets weight zero in the same fusion.

    Parameters
    ----------
    base
        A config that starts with RRF or a weighted sum over the arms dense and lexical.
    """
    fusion = next(stage.name for stage in base.stages if stage.fuses)
    return {
        "both": base,
        "dense alone": set_many(base, {f"{fusion}.weights.lexical": 0.0}),
        "lexical alone": set_many(base, {f"{fusion}.weights.dense": 0.0}),
    }


def boosted(base: RankingConfig, weight: float) -> RankingConfig:
    """Return ``base`` with a bonus for fresh memories added to the fused score, whatever its scale.

    Parameters
    ----------
    base
        Any config.
    weight
        [0, 1], in units of the score. The bonus at age 0.
    """
    first, *rest = base.stages
    stages = (first, RecencyBoost(name="recency_boost", weight=weight), *rest)
    return base.with_(name="boosted", stages=stages, profiles={})


def fusions(
    base: RankingConfig, *, shares: Sequence[float], presets: Sequence[str]
) -> dict[str, RankingConfig]:
    """Return name -> config that differs from ``base`` in its fusion alone, base first as *RRF*.

    Parameters
    ----------
    base
        The current default.
    shares
        [0, 1]. Shares of the dense arm in a weighted sum, see `weighted`.
    presets
        Names of presets whose fusion is taken, see `with_fusion`.
    """
    return {
        "RRF": base,
        **{f"weighted, dense {share:g}": weighted(base, share) for share in shares},
        **{name: with_fusion(base, name) for name in presets},
    }


def word_searches(
    base: RankingConfig,
    *,
    tokenisers: Sequence[str],
    constants: Sequence[tuple[float, float]],
) -> dict[str, RankingConfig]:
    """Return name -> config that differs from ``base`` in its word search, base first as *words*.

    Parameters
    ----------
    base
        The current default.
    tokenisers
        Names of tokenisers.
    constants
        Pairs of BM25 constants, k1 and b.
    """
    changes: dict[str, dict[str, Any]] = {"words": {}}
    changes |= {name: {"arms.lexical.tokeniser": name} for name in tokenisers}
    changes |= {
        f"k1 {k1:g}, b {b:g}": {"arms.lexical.k1": k1, "arms.lexical.b": b} for k1, b in constants
    }
    return {name: set_many(base, change) for name, change in changes.items()}


def with_fusion(base: RankingConfig, other: str) -> RankingConfig:
    """Return ``base`` with the fusion of a preset in the place of its own.

    Parameters
    ----------
    base
        Its other stages, its admit and its arms stay.
    other
        Name of a preset.
    """
    taken = next(stage for stage in preset(other).stages if stage.fuses)
    stages = [taken if stage.fuses else stage for stage in base.stages]
    return base.with_(name=other, stages=tuple(stages), profiles={})


def weighted(base: RankingConfig, dense_share: float) -> RankingConfig:
    """Return ``base`` with a weighted sum of min-maxed scores in the place of its fusion.

    Parameters
    ----------
    base
        Its other stages, its admit and its arms stay.
    dense_share
        [0, 1]. Weight of the dense arm; the lexical one has the rest.
    """
    taken = WeightedSum(
        name="weighted",
        weights={"dense": dense_share, "lexical": round(1.0 - dense_share, 12)},
        calibration={"dense": "min_max", "lexical": "min_max"},
    )
    stages = [taken if stage.fuses else stage for stage in base.stages]
    return base.with_(name=f"weighted {dense_share:g}", stages=tuple(stages), profiles={})
