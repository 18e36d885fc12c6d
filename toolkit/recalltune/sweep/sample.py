"""Which queries stand for all, where trying everything on each of them would take too long.

In: a candidate table, a config, how many settings are tried. Out: rows of the table. Most configs
need no sample: only stages that compare candidates with one another make a query expensive.
"""

from __future__ import annotations

import numpy as np

from recalltune.candidates.table import Candidates
from recalltune.pipeline.config import RankingConfig

__all__ = ["heavy", "representative"]

_CELLS = 200_000_000
"""Cells, settings times queries times pairs of candidates, that are worked through at most."""
_KEPT = 8_000_000
"""Pairs of candidates whose similarity is kept for all settings, at most."""
_FEWEST = 24
"""Queries a share is taken of, however much work each of them is."""


def representative(
    candidates: Candidates,
    config: RankingConfig,
    settings: int,
    *,
    columns: int | None = None,
    most: int | None = None,
) -> list[int]:
    """Return the rows of evenly spaced queries, in the order of their query_id.

    Parameters
    ----------
    candidates
        The table of all queries.
    config
        Whose stages are run.
    settings
        How many times.
    columns
        Candidates of a query; None takes those of the table.
    most
        How many queries at most; None decides by the work they are.
    """
    queries, columns = candidates.queries.height, columns or candidates.span.shape[1]
    affordable = int(_CELLS / max(settings * _cells(config, columns), 1))
    if any(stage.compares for stage in config.stages):
        affordable = min(affordable, _KEPT // max(columns**2, 1))
    size = min(queries, max(affordable, _FEWEST) if most is None else most)
    by_id = candidates.queries["query_id"].arg_sort().to_list()
    return [by_id[place] for place in np.linspace(0, queries - 1, size).round().astype(int)]


def heavy(candidates: Candidates, config: RankingConfig, settings: int) -> bool:
    """Whether even the fewest queries are much work at so many settings."""
    return settings * _FEWEST * _cells(config, candidates.span.shape[1]) > 2 * _CELLS


def _cells(config: RankingConfig, columns: int) -> float:
    return columns + sum(min(stage.compares, columns) ** 2 for stage in config.stages)
