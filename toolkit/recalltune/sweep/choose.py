"""choose: is any setting of a sweep better than the default beyond noise, and which one to take."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recalltune.candidates.table import Candidates
from recalltune.errors import ParameterError
from recalltune.evaluate.catalogue import metric_label, parse_metric
from recalltune.evaluate.clusters import sessions_of
from recalltune.evaluate.comparing import paired_runs, values_of
from recalltune.evaluate.decide import Decision, decide
from recalltune.evaluate.paired import SEED, finite_or_none
from recalltune.evaluate.run import DEFAULT_METRICS, Evaluation, evaluate
from recalltune.evaluate.wording import sentence
from recalltune.pipeline.address import effective, get, is_read, value_text
from recalltune.pipeline.config import RankingConfig
from recalltune.sweep.engine import SweepResult
from recalltune.version import code_digest

__all__ = ["Choice", "Difference", "choose", "difference"]


@dataclass(frozen=True)
class Difference:
    """A paired difference, b - a, over the cases where the metric is defined."""

    metric: str
    mean_a: float
    mean_b: float
    mean: float
    lo: float | None
    """None with a single session: there is nothing to resample."""
    hi: float | None
    n: int
    wins: int
    losses: int

    @property
    def beyond_noise(self) -> bool:
        """Whether the interval leaves 0."""
        return self.lo is not None and self.hi is not None and not self.lo <= 0 <= self.hi

    def interval(self) -> str:
        """Return ``[0.003, 0.020]``, or why there is none."""
        if self.lo is None or self.hi is None:
            return "(one session only: no interval)"
        return f"[{self.lo:.3f}, {self.hi:.3f}]"


def difference(a: Evaluation, b: Evaluation, metric: str) -> Difference:
    """Return b - a in one metric with its 95 % interval over whole sessions.

    Raises
    ------
    ContractError
        If the two evaluations differ in cases, data or encoder.
    ParameterError
        If the metric is undefined for every case.
    """
    told = paired_runs(a, b, metric)
    before, after = values_of(a, metric), values_of(b, metric)
    both = ~np.isnan(before) & ~np.isnan(after)
    if told.diff is None:
        message = f"{metric} is undefined for every case; label some targets or choose another"
        raise ParameterError(message)
    return Difference(
        metric=metric,
        mean_a=float(before[both].mean()),
        mean_b=float(after[both].mean()),
        mean=told.diff,
        lo=told.lo,
        hi=told.hi,
        n=told.n,
        wins=int((after[both] > before[both]).sum()),
        losses=int((after[both] < before[both]).sum()),
    )


@dataclass(frozen=True, eq=False)
class Choice:
    """What a sweep decides, with its evidence."""

    metric: str
    decision: Decision
    default: RankingConfig
    chosen: RankingConfig
    changes: dict[str, tuple[Any, Any]]
    """address -> (default, chosen), for the axes that differ."""
    subject_changes: dict[str, tuple[Any, Any]]
    """The same for the setting that the numbers describe: the chosen one, or the best tried."""
    tie_ranges: dict[str, list[Any]]
    """address -> the values that occur among settings that cannot be told from the best."""
    heldout: Difference | None
    """Chosen against default on the held-out cases; None where there are none."""
    tuned_on: int
    heldout_cases: int
    sweep_id: str
    stamp: dict[str, str]

    def sentence(self) -> str:
        """Return the decision in words, the held-out result included."""
        names = ["setting"] * self.decision.n_settings
        names[self.decision.default] = "the default"
        names[self.decision.subject] = _named(self.subject_changes)
        names[self.decision.chosen] = _named(self.changes)
        told = sentence(self.decision, names, metric_label(self.metric))
        return f"{told} {self._heldout()}"

    def _heldout(self) -> str:
        if self.heldout is None:
            return "No case was held out, so this is in sample."
        if not self.changes:
            return (
                f"On {self.heldout_cases} held-out cases the default scores "
                f"{self.heldout.mean_a:.3f}."
            )
        return (
            f"On {self.heldout_cases} held-out cases: {self.heldout.mean_b:.3f} against "
            f"{self.heldout.mean_a:.3f}, {self.heldout.mean:+.3f} {self.heldout.interval()}."
        )

    def evidence(self) -> dict[str, Any]:
        """Return what an export carries beside the stamp: metrics, the rival, the verdict."""
        means = self.decision.means
        found = {
            f"{self.metric} tuned on": finite_or_none(means[self.decision.chosen]),
            f"{self.metric} of the default": finite_or_none(means[self.decision.default]),
        }
        if self.heldout is not None:
            found[f"{self.metric} held out"] = finite_or_none(self.heldout.mean_b)
            found[f"{self.metric} of the default, held out"] = finite_or_none(self.heldout.mean_a)
        return {
            "metrics": found,
            "chosen_over": self.default.fingerprint,
            "verdict": self.sentence(),
        }

    def record(self) -> dict[str, Any]:
        """Return the decision record as JSON-ready values: no text of the data, no clock."""
        d, e = self.decision, self.decision.evidence
        return {
            "metric": self.metric,
            "verdict": d.verdict,
            "sentence": self.sentence(),
            "changes": {a: {"default": o, "chosen": n} for a, (o, n) in self.changes.items()},
            "means": {
                "default": finite_or_none(d.means[d.default]),
                "chosen": finite_or_none(d.means[d.chosen]),
            },
            "gain": finite_or_none(e.gain),
            "at_least": finite_or_none(e.lower),
            "p_adjusted": finite_or_none(d.p),
            "p_monte_carlo_error": finite_or_none(d.p_error),
            "interval_95_uncorrected": [
                finite_or_none(e.interval.low),
                finite_or_none(e.interval.high),
            ],
            "interval_method": e.interval.method,
            "alpha": d.alpha,
            "sign_patterns": d.resamples,
            "seed": SEED,
            "settings": d.n_settings,
            "distinct_settings": d.n_distinct,
            "identical_to_default": len(d.identical_to_default),
            "cases": d.n_cases,
            "cases_undefined": len(d.dropped),
            "sessions": d.n_clusters,
            "sessions_that_differ": e.differing,
            "wins": e.wins,
            "losses": e.losses,
            "tie_set_size": len(d.ties),
            "tie_set_ranges": self.tie_ranges,
            "default_in_tie_set": d.default_in_ties,
            "apparent_gain": finite_or_none(d.apparent_gain),
            "fold_gain": None if d.heldout is None else finite_or_none(d.heldout.gain),
            "power": finite_or_none(e.power),
            "smallest_detectable_gain": finite_or_none(e.smallest_detectable),
            "cases_needed": e.cases_needed,
            "held_out": None if self.heldout is None else vars(self.heldout),
            "sweep_id": self.sweep_id,
            **self.stamp,
        }


def _named(changes: dict[str, tuple[Any, Any]]) -> str:
    parts = (f"{address} {value_text(new)}" for address, (_, new) in changes.items())
    return ", ".join(parts) or "the default"


def choose(
    result: SweepResult,
    metric: str = "ndcg@10",
    *,
    candidates: Candidates | None = None,
    alpha: float = 0.05,
) -> Choice:
    """Decide over a sweep; then, and only then, score the held-out cases for chosen and default.

    Parameters
    ----------
    result
        From `sweep`; its point 0 is the default.
    metric
        One of the sweep's metrics, fixed before looking.
    candidates
        The whole table, held-out cases included; None leaves the held-out part unscored.
    alpha
        Share of false winners allowed.

    Raises
    ------
    ParameterError
        If the sweep does not hold the metric.
    """
    values, known = result.of(metric), parse_metric(metric)[0]
    decision = decide(
        values,
        0,
        sessions_of(result.cases),
        rng=np.random.default_rng(SEED),
        alpha=alpha,
        direction=known.better,
        span=known.span,
        distance_keys=_distances(result),
    )
    chosen = result.config(decision.chosen)
    held = _heldout(candidates, result.base, chosen, metric)
    return Choice(
        metric=metric,
        decision=decision,
        default=result.base,
        chosen=chosen,
        changes=_changes(result, decision.chosen),
        subject_changes=_changes(result, decision.subject),
        tie_ranges=_ranges(result, decision.ties),
        heldout=held,
        tuned_on=result.cases.height,
        heldout_cases=0 if held is None else held.n,
        sweep_id=result.sweep_id,
        stamp={
            "config_default": result.base.fingerprint,
            "config_chosen": chosen.fingerprint,
            "data": result.stamp.data,
            "encoder": result.stamp.encoder,
            "code": code_digest(),
        },
    )


def _heldout(
    candidates: Candidates | None, default: RankingConfig, chosen: RankingConfig, metric: str
) -> Difference | None:
    if candidates is None or "held_out" not in candidates.queries["split"].to_list():
        return None
    metrics = tuple(dict.fromkeys([metric, *DEFAULT_METRICS]))
    before = evaluate(candidates, default, metrics=metrics, split="held_out")
    after = evaluate(candidates, chosen, metrics=metrics, split="held_out")
    return difference(before, after, metric)


def _changes(result: SweepResult, point: int) -> dict[str, tuple[Any, Any]]:
    """Axes on which the two configs differ in effect; a shape that no decay reads is no change."""
    default, chosen = result.base, result.config(point)
    return {
        address: (get(default, address), get(chosen, address))
        for address in result.space.axes
        if effective(default, address) != effective(chosen, address)
    }


def _ranges(result: SweepResult, ties: tuple[int, ...]) -> dict[str, list[Any]]:
    """Values in effect among the ties; where a setting does not read an axis, it has none."""
    found = {}
    for address, declared in result.space.axes.items():
        tied = [result.configs[point] for point in ties]
        read = [get(config, address) for config in tied if is_read(config, address)]
        kept = [value for value in (*declared, get(result.base, address)) if value in read]
        found[address] = list(dict.fromkeys(kept))
    return found


def _distances(result: SweepResult) -> NDArray[np.float64]:
    """Fewest parameters changed, then the smallest distance in places along the axes."""
    base = result.points.row(0, named=True)
    changed = np.zeros(result.points.height)
    steps = np.zeros(result.points.height)
    for address, values in result.space.axes.items():
        column = result.points[address].to_list()
        at_home = effective(result.base, address)
        changed += np.array([effective(setting, address) != at_home for setting in result.configs])
        place = {json.dumps(value): position for position, value in enumerate(values)}
        at = np.array([place.get(text, -1) for text in column], dtype=float)
        home = place.get(base[address], at[0])
        steps += np.abs(at - home) / max(len(values) - 1, 1)
    return np.stack([changed, steps, np.arange(result.points.height, dtype=float)], axis=1)
