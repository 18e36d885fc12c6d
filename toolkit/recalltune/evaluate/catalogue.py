"""Metrics by name: ``ndcg@10`` to a function, its direction and its range.

The name in a result column says everything that changes the number: the gain function
(``ndcg`` linear, ``ndcg_exp`` exponential) and the cutoff.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from recalltune.errors import ParameterError, nearest
from recalltune.evaluate import metrics
from recalltune.evaluate.labels import CaseLabels

__all__ = ["METRICS", "Average", "Metric", "average", "measure", "metric_label", "parse_metric"]

Floats = NDArray[np.float64]
NAME = re.compile(r"([a-z_]{1,40})(?:@([1-9][0-9]{0,5}))?")
ALIASES = {"mrr": "reciprocal_rank", "map": "average_precision", "hit": "recall_any"}


@dataclass(frozen=True)
class Metric:
    """One metric of a shown list against the labels of its case."""

    name: str
    label: str
    better: Literal["higher", "lower"]
    low: float
    high: float
    description: str
    compute: Callable[[Floats, CaseLabels, float], Floats]
    """(ranks (..., L), labels, cutoff) to values (..., N)."""
    needs_cutoff: bool = False

    @property
    def span(self) -> float:
        """Width of the range: what one case can change at most."""
        return self.high - self.low


def _entries() -> list[Metric]:
    return [
        Metric(
            "ndcg", "nDCG", "higher", 0.0, 1.0,
            "discounted gain over that of the ideal list, linear gain",
            lambda r, c, k: metrics.ndcg(r, c.gains, c.offsets, cutoff=k),
        ),
        Metric(
            "ndcg_exp", "nDCG (2^grade - 1)", "higher", 0.0, 1.0,
            "discounted gain over that of the ideal list, exponential gain",
            lambda r, c, k: metrics.ndcg(r, c.gains, c.offsets, cutoff=k, gain="exponential"),
        ),
        Metric(
            "reciprocal_rank", "MRR", "higher", 0.0, 1.0,
            "one over the place of the first target",
            lambda r, c, k: metrics.reciprocal_rank(r, c.gains, c.offsets, cutoff=k),
        ),
        Metric(
            "average_precision", "MAP", "higher", 0.0, 1.0,
            "mean precision at the places of the targets, over all targets",
            lambda r, c, k: metrics.average_precision(r, c.gains, c.offsets, cutoff=k),
        ),
        Metric(
            "recall", "Recall", "higher", 0.0, 1.0,
            "share of the targets shown",
            lambda r, c, k: metrics.recall(r, c.gains, c.offsets, cutoff=k, groups=c.groups),
        ),
        Metric(
            "recall_any", "Hit", "higher", 0.0, 1.0,
            "at least one target shown",
            lambda r, c, k: metrics.recall_any(r, c.gains, c.offsets, cutoff=k),
        ),
        Metric(
            "recall_all", "All found", "higher", 0.0, 1.0,
            "every target shown",
            lambda r, c, k: metrics.recall_all(r, c.gains, c.offsets, cutoff=k, groups=c.groups),
        ),
        Metric(
            "precision", "Precision", "higher", 0.0, 1.0,
            "share of the first places that hold a target",
            lambda r, c, k: metrics.precision(r, c.gains, c.offsets, cutoff=k),
            needs_cutoff=True,
        ),
        Metric(
            "hard_negative_rate", "Hard negatives", "lower", 0.0, 1.0,
            "share of the hard negatives shown",
            lambda r, c, k: metrics.hard_negative_rate(r, c.hard_negative, c.offsets, cutoff=k),
        ),
        Metric(
            "order_violations", "Order violations", "lower", 0.0, 1.0,
            "share of expected neighbours shown the wrong way round",
            lambda r, c, k: metrics.order_violations(r, c.order, c.offsets, cutoff=k),
        ),
    ]  # fmt: skip


METRICS: Mapping[str, Metric] = MappingProxyType({entry.name: entry for entry in _entries()})


def parse_metric(name: str) -> tuple[Metric, int | None]:
    """Metric and cutoff of a name such as ``ndcg@10``; no cutoff means the whole shown list.

    Raises
    ------
    ParameterError
        If the metric is unknown, the cutoff malformed, or missing where one is needed.

    Examples
    --------
    >>> metric, cutoff = parse_metric("mrr@10")
    >>> metric.name, cutoff
    ('reciprocal_rank', 10)
    """
    match = NAME.fullmatch(name)
    if match is None:
        msg = f"metric must read NAME or NAME@CUTOFF with a cutoff from 1, got {name[:60]!r}"
        raise ParameterError(msg)
    stem = ALIASES.get(match[1], match[1])
    if stem not in METRICS:
        msg = f"unknown metric {name!r}; {nearest(match[1], [*METRICS, *ALIASES])}"
        raise ParameterError(msg)
    metric, cutoff = METRICS[stem], int(match[2]) if match[2] else None
    if metric.needs_cutoff and cutoff is None:
        msg = f"metric {stem!r} needs a cutoff; nearest: '{stem}@10'"
        raise ParameterError(msg)
    return metric, cutoff


def metric_label(name: str) -> str:
    """Name for titles and sentences: ``ndcg@10`` becomes ``nDCG@10``."""
    metric, cutoff = parse_metric(name)
    return metric.label if cutoff is None else f"{metric.label}@{cutoff}"


def measure(name: str, ranks: Floats, labels: CaseLabels) -> Floats:
    """Values of a named metric per case.

    Parameters
    ----------
    name
        Such as ``recall@5``.
    ranks
        shape (..., L), places in the shown list from 1, NaN = not shown.
    labels
        The labels the ranks belong to.

    Returns
    -------
    Floats
        shape (..., N), NaN where the metric is undefined for a case.
    """
    metric, cutoff = parse_metric(name)
    return metric.compute(ranks, labels, np.inf if cutoff is None else float(cutoff))


@dataclass(frozen=True, eq=False)
class Average:
    """Mean over the cases for which a metric is defined, with the count beside it."""

    mean: Floats
    """shape (...,). NaN only if no case is defined."""
    n: NDArray[np.int64]
    """shape (...,). Cases the mean is over."""
    undefined: NDArray[np.int64]
    """shape (...,). Cases without a value."""


def average(values: Floats) -> Average:
    """Mean of per-case values (..., N) over the defined ones, never without their number."""
    defined = ~np.isnan(values)
    n = defined.sum(axis=-1)
    total = np.where(defined, values, 0.0).sum(axis=-1)
    mean = np.divide(total, n, out=np.full(np.shape(total), np.nan), where=n > 0)
    return Average(mean=mean, n=n, undefined=values.shape[-1] - n)
