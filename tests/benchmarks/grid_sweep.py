"""Workload W6: a grid of 2,500 settings over 500 queries with 200 candidates each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from benchmarks.grid_data import Setting, as_config, candidate_table, settings
from benchmarks.machine import Limits
from benchmarks.plain_sweep import plain_cases, plain_sweep
from benchmarks.rows import Row, against
from benchmarks.timing import interleaved
from recalltune.candidates.table import Candidates
from recalltune.evaluate.catalogue import measure
from recalltune.evaluate.judged import judge
from recalltune.pipeline.config import RankingConfig
from recalltune.pipeline.ranks import ranks_of
from recalltune.sweep.walk import walk

METRICS = ("ndcg@10", "mrr", "recall@10", "hard_negative_rate@10")
SUBSET = 5
"""Settings the plain loop is timed on, evenly through the grid; its time is told a setting."""


def our_sweep(table: Candidates, grid: list[RankingConfig]) -> dict[str, NDArray[np.float64]]:
    """Metric -> shape (settings, queries): walk, counted ranks, metrics, as `sweep` does it."""
    judged = judge(table)
    ranks = np.empty((len(grid), judged.slots.query.size))

    def visit(point: int, state: object) -> None:
        ranks[point] = ranks_of(state, judged.slots)  # type: ignore[arg-type]

    walk(table, grid, visit)
    return {metric: measure(metric, ranks, judged.labels) for metric in METRICS}


def evenly(grid: list[Setting], count: int) -> list[int]:
    """Positions through the grid, so that every axis is met."""
    return np.linspace(0, len(grid) - 1, count).round().astype(int).tolist()


def gate(table: Candidates, grid: list[Setting], at: list[int]) -> None:
    """Refuse to time unless every metric of every query is the plain loop's."""
    found = our_sweep(table, [as_config(grid[point]) for point in at])
    wanted = plain_sweep(plain_cases(table), [grid[point] for point in at])
    for metric, values in found.items():
        expected = [values_of[metric] for values_of in wanted]
        np.testing.assert_allclose(values, expected, rtol=0, atol=1e-12, err_msg=metric)


def bench(limits: Limits, *, repeats: int = 5) -> list[Row]:
    table, grid = candidate_table(), list(settings())
    at = evenly(grid, SUBSET)
    gate(table, grid, at)
    configs = [as_config(setting) for setting in grid]
    cases, subset = plain_cases(table), [grid[point] for point in at]
    times = interleaved(
        {
            "ours": lambda: our_sweep(table, configs),
            f"plain Python ({SUBSET} settings)": lambda: plain_sweep(cases, subset),
        },
        repeats=repeats,
    )
    labels = judge(table).slots.query.size
    cells = len(grid) * (table.span.size * 1.2 + labels * table.span.shape[1])
    share = cells / times["ours"].best / limits.compares
    return against(
        "sweep W6, a setting",
        times,
        per={"ours": len(grid), f"plain Python ({SUBSET} settings)": SUBSET},
        limit=f"{100 * share:.0f} % of compares",
    )
