"""W6 with places per layer and a token budget: eight selections that share one order."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from benchmarks.grid_data import LAYERS, Setting, as_config, candidate_table, settings
from benchmarks.grid_sweep import METRICS, evenly, our_sweep
from benchmarks.machine import Limits
from benchmarks.plain_sweep import Case, Values, best_first, metrics_of, plain_cases, scored
from benchmarks.rows import Row, against
from benchmarks.timing import interleaved
from recalltune.candidates.table import Candidates

BUDGET, TOP_K = 800, 20
SELECTIONS = tuple(product((0, 1, 2, 3), (0, 2)))
"""Floors for the layers project and user."""
SETTINGS, PLAIN_SETTINGS = 12, 1


@dataclass(frozen=True)
class Packing:
    """A case with what a selection reads."""

    case: Case
    layer: dict[str, str]
    tokens: dict[str, int]


def select_stage(floors: tuple[int, int]) -> dict[str, Any]:
    return {
        "kind": "select",
        "top_k": TOP_K,
        "floors": dict(zip(("project", "user"), floors, strict=True)),
        "budget_tokens": BUDGET,
    }


def packings(table: Candidates) -> list[Packing]:
    ids = table.spans["memory_id"].to_list()
    found = []
    for row, case in enumerate(plain_cases(table)):
        names = [ids[span] for span in table.span[row].tolist()]
        layer = [LAYERS[code] for code in table.feature("layer")[row].tolist()]
        tokens = table.feature("tokens")[row].tolist()
        found.append(
            Packing(
                case,
                dict(zip(names, layer, strict=True)),
                dict(zip(names, tokens, strict=True)),
            )
        )
    return found


def shown(packing: Packing, ranking: list[str], floors: tuple[int, int]) -> list[str]:
    """Reserved items are packed first, then the rest; an item that does not fit is passed over."""
    left = dict(zip(("project", "user"), floors, strict=True))
    reserved, rest = [], []
    for name in ranking:
        if left.get(packing.layer[name], 0) > 0:
            left[packing.layer[name]] -= 1
            reserved.append(name)
        else:
            rest.append(name)
    spent, picked = 0, set()
    for name in reserved + rest:
        if len(picked) < TOP_K and spent + packing.tokens[name] <= BUDGET:
            spent += packing.tokens[name]
            picked.add(name)
    return [name for name in ranking if name in picked]


def plain_places(cases: list[Packing], grid: list[Setting]) -> list[Values]:
    """Per setting and selection, metric -> one value a case; each order is sorted once."""
    results = []
    for setting in grid:
        values: list[Values] = [{metric: [] for metric in METRICS} for _ in SELECTIONS]
        for packing in cases:
            ranking = best_first(scored(packing.case, setting))
            for mine, floors in zip(values, SELECTIONS, strict=True):
                told = metrics_of(packing.case, shown(packing, ranking, floors))
                for metric in METRICS:
                    mine[metric].append(told[metric])
        results += values
    return results


def gate(table: Candidates, grid: list[Setting]) -> None:
    configs = [as_config(one, select_stage(floors)) for one in grid for floors in SELECTIONS]
    found = our_sweep(table, configs)
    wanted = plain_places(packings(table), grid)
    for metric in METRICS:
        expected = [values[metric] for values in wanted]
        np.testing.assert_allclose(found[metric], expected, rtol=0, atol=1e-12, err_msg=metric)


def bench(limits: Limits, *, repeats: int = 5) -> list[Row]:
    del limits
    table, grid = candidate_table(), list(settings())
    mine = [grid[point] for point in evenly(grid, SETTINGS)]
    theirs = mine[:PLAIN_SETTINGS]
    gate(table, theirs)
    configs = [as_config(one, select_stage(floors)) for one in mine for floors in SELECTIONS]
    cases, peer = packings(table), f"plain Python ({PLAIN_SETTINGS * len(SELECTIONS)} settings)"
    times = interleaved(
        {"ours": lambda: our_sweep(table, configs), peer: lambda: plain_places(cases, theirs)},
        repeats=repeats,
    )
    per = {"ours": len(configs), peer: PLAIN_SETTINGS * len(SELECTIONS)}
    return against("sweep W6 + floors + budget 800", times, per=per)
