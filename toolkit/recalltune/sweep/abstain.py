"""Abstaining: whether any minimum of a config can answer a question with nothing.

In: candidates, a config. Out: for each score the config asks for, the share of cases with an empty
list where it stands and anywhere on its range. The cases are those with nothing to find.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from recalltune.candidates.table import Candidates
from recalltune.pipeline.config import RankingConfig
from recalltune.pipeline.run import profile_groups, run, with_profile
from recalltune.pipeline.stage import FilterStage, Stage
from recalltune.sweep.moves import with_value
from recalltune.sweep.probes import Probe, probes_of

__all__ = ["ABSTENTION", "TOGETHER", "abstention"]

TOGETHER = "all together"
"""The row where every minimum stands at its highest value."""

_KIND = "nothing_to_find"

ABSTENTION = {
    "address": pl.String,
    "tried": pl.String,
    "cases": pl.Int64,
    "kind": pl.String,
    "empty": pl.Float64,
    "empty_at_most": pl.Float64,
}


def _of_minimum(config: RankingConfig, probe: Probe) -> bool:
    """Whether a parameter is a score that a stage asks for."""
    root, *path = probe.address.split(".")
    stage = next((stage for stage in config.stages if stage.name == root), None)
    return isinstance(stage, FilterStage) and path[0] in stage.asks()


def abstention(candidates: Candidates, config: RankingConfig) -> pl.DataFrame:
    """Return the share of cases that get an empty list, as it stands and at the highest minima.

    Parameters
    ----------
    candidates
        Cases of the kind ``nothing_to_find`` count; where there is none, all do.
    config
        A case's profile is honoured, and a minimum that it sets does not move.

    Returns
    -------
    pl.DataFrame
        address, tried, cases, kind, empty, empty_at_most: a row for each minimum, then one for all
        of them together at their highest values. ``kind`` is null where all cases count. ``empty``
        is the share as the config stands, ``empty_at_most`` the largest share at any value.
    """
    table = _nothing_to_find(candidates)
    minima = [probe for probe in probes_of(candidates, config) if _of_minimum(config, probe)]
    usual = _empty(table, config, {})
    rows = []
    for probe in minima:
        shares = [_empty(table, config, {probe.address: value}) for value in probe.others]
        rows.append((probe.address, probe.told, max([usual, *shares])))
    highest = {probe.address: max([*probe.others, probe.value]) for probe in minima}
    together = max(usual, _empty(table, config, highest))
    rows.append((TOGETHER, "the highest values" if minima else "no minimum", together))
    cases = table.queries.height
    kind = None if table is candidates else _KIND
    return pl.DataFrame(
        [(address, tried, cases, kind, usual, most) for address, tried, most in rows],
        schema=ABSTENTION,
        orient="row",
    )


def _nothing_to_find(candidates: Candidates) -> Candidates:
    kinds = candidates.queries["kind"].to_list()
    rows = [row for row, kind in enumerate(kinds) if kind == _KIND]
    return candidates.take(rows) if rows else candidates


def _empty(table: Candidates, config: RankingConfig, minima: dict[str, float]) -> float:
    """Share of lists that are empty with these minima."""
    empty = np.ones(table.queries.height, dtype=np.bool_)
    for profile, rows in profile_groups(table, config).items():
        setting = with_profile(config, profile)
        stages: dict[str, Stage] = {stage.name: stage for stage in setting.stages}
        for address, value in minima.items():
            root, *path = address.split(".")
            if address not in config.profiles.get(profile, {}):
                stages[root] = with_value(stages[root], path, value)
        moved = setting.model_copy(update={"stages": tuple(stages.values())})
        empty[rows] = ~(run(table.take(rows), moved).listed() >= 0).any(axis=1)
    return float(empty.mean()) if empty.size else 0.0
