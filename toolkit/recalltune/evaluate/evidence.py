"""What the cases say about one setting against the default."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recalltune.evaluate.clusters import Clusters, mean_and_se
from recalltune.evaluate.intervals import Interval, default_interval
from recalltune.evaluate.planner import cases_needed, power_at, smallest_detectable

__all__ = ["Evidence", "Plan", "weigh"]

Floats = NDArray[np.float64]
TOP_CLUSTERS = 5


@dataclass(frozen=True)
class Plan:
    """What to plan for: a gain worth seeing and the chance to see it."""

    target_gain: float = 0.01
    power: float = 0.8
    expected_gain: float = 0.0
    """Gain at which the power of these cases is stated: the held-out one."""


@dataclass(frozen=True)
class Evidence:
    """One setting's paired difference to the default; positive is better."""

    gain: float
    se: float
    """Standard error with clusters as units."""
    lower: float
    """Gain minus critical value times error: a bound that allows for all settings looked at."""
    interval: Interval
    """Two-sided 95 %, not corrected for having been selected."""
    wins: int
    """Clusters that gain."""
    losses: int
    """Clusters that lose."""
    largest_share: float
    """Share of the gain in the five best clusters, above 1 when others lose; NaN without gain."""
    dominant: str | None
    """Cluster with more than a quarter of the cases."""
    gain_without_dominant: float | None
    sd: float
    """Standard deviation of the difference over cases."""
    deff: float
    """Design effect: how many times more cases the clustering costs; NaN if nothing differs."""
    power: float
    """Chance that as many cases again would find the expected gain; NaN if nothing differs."""
    smallest_detectable: float
    """Gain these cases could have shown; NaN if nothing differs."""
    cases_needed: int | None
    """To see the target gain; none if these cases cannot tell."""

    @property
    def differing(self) -> int:
        """m, clusters whose sum differs."""
        return self.wins + self.losses


def weigh(
    difference: Floats,
    clusters: Clusters,
    sums: Floats,
    *,
    critical_t: float,
    plan: Plan,
    rng: np.random.Generator,
    resamples: int = 2000,
    span: float = 1.0,
) -> Evidence:
    """Weigh one setting's differences.

    Parameters
    ----------
    difference
        shape (N,), value minus the default's, positive is better.
    clusters
        The N cases in J clusters.
    sums
        shape (J,), the differences summed over each cluster.
    critical_t
        > 0, from `max_t` over the whole family.
    plan
        What the planner is asked.
    rng
        Source of the bootstrap.
    resamples
        B of the bootstrap, >= 99.
    span
        > 0, width of the metric's range.

    Returns
    -------
    Evidence
        All numbers a decision quotes.
    """
    mean, error = (float(x) for x in mean_and_se(sums, clusters.sizes))
    total = float(sums.sum())
    dominant, without = _dominance(sums, clusters)
    sd = float(difference.std(ddof=1)) if len(difference) > 1 else 0.0
    deff = error**2 * len(difference) / sd**2 if sd > 0 else np.nan
    power, detectable, needed = _planned(len(difference), sd, deff, critical_t, plan)
    return Evidence(
        gain=mean,
        se=error,
        lower=mean if error == 0 else mean - critical_t * error,
        interval=default_interval(sums, clusters.sizes, rng=rng, resamples=resamples, span=span),
        wins=int((sums > 0).sum()),
        losses=int((sums < 0).sum()),
        largest_share=float(np.sort(sums)[-TOP_CLUSTERS:].sum()) / total if total > 0 else np.nan,
        dominant=dominant,
        gain_without_dominant=without,
        sd=sd,
        deff=deff,
        power=power,
        smallest_detectable=detectable,
        cases_needed=needed,
    )


def _planned(
    n: int, sd: float, deff: float, critical_t: float, plan: Plan
) -> tuple[float, float, int | None]:
    if not 0 < deff < np.inf:
        # Nothing differs, or one cluster holds every case: no spread to plan with.
        return np.nan, np.nan, None
    return (
        power_at(plan.expected_gain, n, sd, critical_t=critical_t, deff=deff),
        smallest_detectable(n, sd, critical_t=critical_t, power=plan.power, deff=deff),
        cases_needed(plan.target_gain, sd, critical_t=critical_t, power=plan.power, deff=deff),
    )


def _dominance(sums: Floats, clusters: Clusters) -> tuple[str | None, float | None]:
    largest = int(clusters.sizes.argmax())
    cases = int(clusters.sizes.sum())
    if clusters.count == 1 or clusters.sizes[largest] <= cases / 4:
        return None, None
    rest = float(sums.sum() - sums[largest]) / (cases - int(clusters.sizes[largest]))
    return clusters.ids[largest], rest
