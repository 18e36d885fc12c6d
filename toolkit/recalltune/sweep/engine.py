"""sweep: a config, a space, a candidate table in; every point's value for every case out."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recalltune.candidates.table import Candidates, Stamp
from recalltune.errors import ParameterError
from recalltune.evaluate.catalogue import measure, parse_metric
from recalltune.evaluate.judged import judge
from recalltune.evaluate.run import Split, in_split
from recalltune.pipeline.address import get, set_many
from recalltune.pipeline.config import RankingConfig, digest
from recalltune.pipeline.ranks import ranks_of
from recalltune.pipeline.run import check_setup, profile_groups, with_profile
from recalltune.pipeline.stage import Stage
from recalltune.sweep.space import LARGEST_GRID, Space
from recalltune.sweep.walk import walk
from recalltune.version import code_digest

__all__ = ["SWEEP_METRICS", "SweepResult", "distinct", "sweep"]

SWEEP_METRICS = ("ndcg@10", "recall_any@10", "recall_all@10", "hard_negative_rate@3")


@dataclass(frozen=True, eq=False)
class SweepResult:
    """Every point of a grid, scored on every case. Point 0 is always the base config."""

    base: RankingConfig
    space: Space
    points: pl.DataFrame
    """point_id, fingerprint, then one column an axis; row g is setting g. Points that rank alike
    (a shape without Weibull) appear once."""
    configs: Sequence[RankingConfig] = field(repr=False)
    """G settings; their fingerprints are the point_ids."""
    values: dict[str, NDArray[np.float64]]
    """metric -> shape (G, N); NaN where the metric is undefined for a case, in every setting."""
    cases: pl.DataFrame
    """query_id, session, kind, lang; row n is case n."""
    stamp: Stamp
    candidates: Candidates = field(repr=False)
    seconds: float = 0.0
    """Wall time of the evaluation; no part of any result."""
    merged: int = 0
    """Grid points that ranked like an earlier one and were not evaluated again."""

    @property
    def sweep_id(self) -> str:
        """The hash of base config, space, data, encoder, code and cases."""
        axes = {address: list(values) for address, values in self.space.axes.items()}
        identity = [self.base.canonical(), axes, self.stamp.data, self.stamp.encoder, code_digest()]
        return digest([*identity, self.cases["query_id"].to_list()], digits=12)

    def config(self, point: int) -> RankingConfig:
        """Return the config of one row of `points`."""
        return self.configs[point]

    def frame(self, metric: str) -> pl.DataFrame:
        """Return `points` with typed axis values and the mean of one metric, null if undefined."""
        decoded = self.points.with_columns(
            pl.Series(address, _decoded(self.points[address].to_list()), strict=False)
            for address in self.space.axes
        )
        # The mean over no case is no number, and null says so.
        return decoded.with_columns(pl.Series("mean", self.means(metric)).fill_nan(None))

    def means(self, metric: str) -> NDArray[np.float64]:
        """Return shape (G,): means over the cases a metric is defined for, NaN without one."""
        values = self.of(metric)
        defined = ~np.isnan(values).any(axis=0)
        return values[:, defined].mean(axis=1) if defined.any() else np.full(len(values), np.nan)

    def of(self, metric: str) -> NDArray[np.float64]:
        """Return shape (G, N), one metric of every setting and case.

        Raises
        ------
        ParameterError
            If the sweep does not hold the metric.
        """
        if metric not in self.values:
            message = f"the sweep holds {', '.join(self.values)}; got {metric!r}"
            raise ParameterError(message)
        return self.values[metric]

    def told(self) -> str:
        """Return how much was evaluated and how fast, in one line."""
        speed = self.points.height / self.seconds if self.seconds else 0.0
        return (
            f"{self.points.height:,} settings × {self.cases.height} cases in "
            f"{self.seconds:.2f} s, {speed:,.0f} settings/s"
        )

    def __repr__(self) -> str:
        return f"SweepResult({self.told()})"


def _decoded(texts: Sequence[str]) -> list[Any]:
    return [json.loads(text) for text in texts]


def sweep(
    candidates: Candidates,
    config: RankingConfig,
    space: Space,
    *,
    metrics: Sequence[str] = SWEEP_METRICS,
    split: Split = "tune",
    largest: int = LARGEST_GRID,
    progress: Callable[[int], None] | None = None,
) -> SweepResult:
    """Score every point of ``space`` on every case.

    Parameters
    ----------
    candidates
        From `candidates(lab, case_set, config)`.
    config
        The base; it is always point 0, so a choice can be compared with it.
    space
        Axes over stage parameters. Axes over admit or arms need candidates of their own.
    metrics
        What to keep for every (point, case).
    split
        tune, held_out or all: the cases to score, as `evaluate` takes them.
    largest
        Grids above it are refused; pass a larger number to confirm.
    progress
        Called with the number of settings finished since the last call.

    Raises
    ------
    ParameterError
        If an axis is unknown, a value is out of range, or the grid is larger than ``largest``.
    """
    for metric in metrics:
        parse_metric(metric)
    check_setup(candidates, config)
    if space.size > largest:
        message = (
            f"the grid has {space.size:,} points, more than {largest:,}; "
            f"pass largest={space.size} to confirm"
        )
        raise ParameterError(message)
    space = space.resolved(config)
    for address in space.axes:
        if address.partition(".")[0] in ("admit", "arms"):
            message = f"axis {address!r} changes the candidates; build one table a value instead"
            raise ParameterError(message)
    candidates = in_split(candidates, split)
    configs, rows, merged = distinct(config, space)
    began = time.perf_counter()
    ranks, judged_labels = _ranks(candidates, configs, progress)
    values = {metric: measure(metric, ranks, judged_labels) for metric in metrics}
    return SweepResult(
        base=config,
        space=space,
        points=rows,
        configs=configs,
        values=values,
        cases=candidates.queries.select("query_id", "session", "kind", "lang"),
        stamp=candidates.stamp,
        candidates=candidates,
        seconds=time.perf_counter() - began,
        merged=merged,
    )


def distinct(config: RankingConfig, space: Space) -> tuple[list[RankingConfig], pl.DataFrame, int]:
    """Return the settings that rank differently, base first, their points, and the rest's count.

    A stage is checked once for each combination of its own axes, however large the grid.

    Raises
    ------
    ParameterError
        If a combination contradicts itself, such as floors that promise more than top_k.
    """
    variants = _variants(config, space)
    stages = list(config.stages)
    base_key = tuple(_canonical(stage) for stage in stages)
    configs, seen = [config], {base_key}
    rows = [{address: json.dumps(get(config, address)) for address in space.axes}]
    texts = {a: [json.dumps(value) for value in values] for a, values in space.axes.items()}
    for places in itertools.product(*(range(len(values)) for values in space.axes.values())):
        point = dict(zip(space.axes, places, strict=True))
        key = list(base_key)
        setting = list(stages)
        for position, (axes, models) in variants.items():
            setting[position], key[position] = models[tuple(point[axis] for axis in axes)]
        if tuple(key) not in seen:
            seen.add(tuple(key))
            configs.append(config.model_copy(update={"stages": tuple(setting)}))
            rows.append({address: texts[address][place] for address, place in point.items()})
    names = [setting.fingerprint for setting in configs]
    columns = {address: [row[address] for row in rows] for address in space.axes}
    return configs, pl.DataFrame({"point_id": names, **columns}), space.size + 1 - len(configs)


def _variants(
    config: RankingConfig, space: Space
) -> dict[int, tuple[list[str], dict[tuple[int, ...], tuple[Any, str]]]]:
    """Position of a stage -> (its axes, place on each -> (model, canonical text))."""
    names = [stage.name for stage in config.stages]
    by_stage: dict[int, list[str]] = {}
    for address in space.axes:
        by_stage.setdefault(names.index(address.partition(".")[0]), []).append(address)
    found = {}
    for position, axes in by_stage.items():
        models = {}
        for places in itertools.product(*(range(len(space.axes[axis])) for axis in axes)):
            point = {
                axis: space.axes[axis][place] for axis, place in zip(axes, places, strict=True)
            }
            model = set_many(config, point).stages[position]
            models[places] = (model, _canonical(model))
        found[position] = (axes, models)
    return found


def _canonical(stage: Stage) -> str:
    return json.dumps(stage.canonical(), sort_keys=True)


def _ranks(
    candidates: Candidates,
    configs: Sequence[RankingConfig],
    progress: Callable[[int], None] | None,
) -> tuple[NDArray[np.float64], Any]:
    judged = judge(candidates)
    ranks = np.full((len(configs), judged.slots.query.size), np.nan)
    for profile, rows in profile_groups(candidates, configs[0]).items():
        part = candidates if len(rows) == candidates.queries.height else candidates.take(rows)
        mine = np.isin(judged.slots.query, rows)
        slots = judge(part).slots

        def visit(point: int, state: Any, mine: Any = mine, slots: Any = slots) -> None:
            ranks[point, mine] = ranks_of(state, slots)
            if progress is not None:
                progress(1)

        walk(part, [with_profile(setting, profile) for setting in configs], visit)
    return ranks, judged.labels
