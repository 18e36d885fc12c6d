"""Scoring the same cases over and over: a step recomputes the stages from the changed one on.

The stages, the counting of ranks and the metrics are those of `evaluate`, so a number here is the
number there.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from recalltune.candidates.table import Candidates
from recalltune.evaluate.catalogue import measure, parse_metric
from recalltune.evaluate.judged import judge
from recalltune.pipeline.config import RankingConfig
from recalltune.pipeline.ranks import LabelSlots, ranks_of
from recalltune.pipeline.run import check_setup, profile_groups, start, with_profile
from recalltune.pipeline.stage import Affine, ScoreStage, Stage, State

__all__ = ["Rescorer", "Scored"]

_STATES = 48
"""Prefixes kept for each group of cases; the oldest unused one goes first."""

Floats = NDArray[np.float64]
Kept = TypeVar("Kept")


@dataclass(frozen=True, eq=False)
class Scored:
    """One config on all tuning cases."""

    config: RankingConfig
    values: dict[str, Floats]
    """metric -> shape (N,); NaN where the metric is undefined for the case."""
    best: Floats
    """shape (N,). Rank of the first target shown, NaN where none is."""
    order: NDArray[np.intp]
    """shape (N, K). Candidate columns shown, best first, -1 after the last."""

    def mean(self, metric: str) -> float | None:
        """Mean over the cases the metric is defined for; None without one."""
        defined = self.values[metric][~np.isnan(self.values[metric])]
        return float(defined.mean()) if defined.size else None


@dataclass(frozen=True, eq=False)
class _Group:
    """Cases that share a profile."""

    profile: str
    rows: NDArray[np.intp]
    part: Candidates
    slots: LabelSlots
    labels: NDArray[np.intp]
    """Positions of the group's labels among all."""
    states: _Recent[State]


class Rescorer:
    """Scores configs on one candidate table, keeping the states that prefixes of stages lead to.

    Parameters
    ----------
    candidates
        Tuning cases only: `in_split(candidates, "tune")`.
    base
        Its admit, arms and profiles are those of every config scored.
    metrics
        Names such as ``ndcg@10``, or ``tokens``.

    Raises
    ------
    ParameterError
        If a metric is unknown.
    ContractError
        If the candidates were made for another admit or arms, or carry no labels.
    """

    def __init__(self, candidates: Candidates, base: RankingConfig, metrics: Sequence[str]) -> None:
        for metric in metrics:
            if metric != "tokens":
                parse_metric(metric)
        check_setup(candidates, base)
        self.candidates = candidates
        self.metrics = tuple(metrics)
        self._judged = judge(candidates)
        self._operands: _Recent[Affine] = _Recent(_STATES)
        self._groups = [
            self._group(profile, np.asarray(rows, dtype=np.intp))
            for profile, rows in profile_groups(candidates, base).items()
        ]

    def _group(self, profile: str, rows: NDArray[np.intp]) -> _Group:
        slots = self._judged.slots
        part = self.candidates.take(rows.tolist())
        mine = np.flatnonzero(np.isin(slots.query, rows))
        local = np.searchsorted(rows, slots.query[mine])
        return _Group(
            profile, rows, part, LabelSlots(local, slots.column[mine]), mine, _Recent(_STATES)
        )

    def score(self, config: RankingConfig) -> Scored:
        """Rank and measure every case.

        Raises
        ------
        ContractError
            If the config's admit or arms differ from the candidates'.
        """
        check_setup(self.candidates, config)
        labels = self._judged.labels
        ranks = np.full(self._judged.slots.query.size, np.nan)
        lists = []
        for group in self._groups:
            state = self._state(group, with_profile(config, group.profile))
            ranks[group.labels] = ranks_of(state, group.slots)
            lists.append((group.rows, state.listed()))
        order = np.full(
            (self.candidates.queries.height, max(part.shape[1] for _, part in lists)),
            -1,
            dtype=np.intp,
        )
        for rows, part in lists:
            order[rows, : part.shape[1]] = part
        values = {
            metric: self._tokens(order) if metric == "tokens" else measure(metric, ranks, labels)
            for metric in self.metrics
        }
        return Scored(config, values, self._best(ranks), order)

    def _state(self, group: _Group, config: RankingConfig) -> State:
        keys = [json.dumps(stage.canonical(), sort_keys=True) for stage in config.stages]
        known = len(keys)
        while known and (tuple(keys[:known]) not in group.states):
            known -= 1
        state = group.states.get(tuple(keys[:known]), lambda: start(group.part))
        with np.errstate(all="raise", under="ignore"):
            for depth in range(known, len(keys)):
                stage = config.stages[depth]
                operands = self._affine(group, stage, keys[depth])
                state = stage.apply(state, group.part, operands)
                group.states.put(tuple(keys[: depth + 1]), state)
        return state

    def _affine(self, group: _Group, stage: Stage, key: str) -> Affine | None:
        """The operands of a score stage, wherever in the list of stages it stands."""
        if not isinstance(stage, ScoreStage):
            return None
        return self._operands.get((group.profile, key), lambda: stage.affine(group.part))

    def _best(self, ranks: Floats) -> Floats:
        """Smallest rank of a shown target for each case."""
        labels, queries = self._judged.labels, self._judged.slots.query
        best = np.full(self.candidates.queries.height, np.inf)
        goal = (labels.gains > 0) & ~np.isnan(ranks)
        np.minimum.at(best, queries[goal], ranks[goal])
        return np.where(np.isinf(best), np.nan, best)

    def _tokens(self, order: NDArray[np.intp]) -> Floats:
        tokens = self.candidates.feature("tokens")
        along = np.take_along_axis(tokens, np.maximum(order, 0), axis=1)
        summed: Floats = np.where(order >= 0, along, 0).sum(axis=1).astype(np.float64)
        return summed


class _Recent(Generic[Kept]):
    """A bounded memory; what was not used for longest is forgotten first."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._kept: OrderedDict[Any, Kept] = OrderedDict()

    def __contains__(self, key: Any) -> bool:
        return key in self._kept

    def get(self, key: Any, make: Callable[[], Kept]) -> Kept:
        if key not in self._kept:
            self.put(key, make())
        self._kept.move_to_end(key)
        return self._kept[key]

    def put(self, key: Any, value: Kept) -> None:
        self._kept[key] = value
        if len(self._kept) > self._size:
            self._kept.popitem(last=False)
