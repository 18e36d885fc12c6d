"""The last cells of a notebook: what to read next, and what the numbers were made with."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from importlib.metadata import version

import polars as pl

from recalltune.candidates.table import Candidates
from recalltune.charts import Stamp
from recalltune.pipeline.config import RankingConfig
from recalltune.sweep.engine import SweepResult
from recalltune.sweep.views import binding
from recalltune.version import VERSION, code_digest
from recalltune.widgets.tables import Table

__all__ = ["chart_stamp", "reading_list", "stamp"]

_PACKAGES = ("duckdb", "polars", "numpy", "altair")


def reading_list(result: SweepResult, metric: str, notebooks: Mapping[str, str]) -> Table:
    """Notebooks by how much their parameters move a metric, in sample: the largest first.

    Parameters
    ----------
    result
        A small sweep over one or more parameters of each notebook.
    metric
        One of the sweep's metrics.
    notebooks
        Address of a parameter -> notebook; a notebook takes the largest of its parameters.

    Returns
    -------
    Table
        notebook, parameter, largest_difference (between two settings that differ in it alone),
        cases_that_change.

    Raises
    ------
    ParameterError
        If the sweep does not hold the metric.
    """
    frame = (
        binding(result, metric)
        .filter(pl.col("address").is_in(list(notebooks)))
        .with_columns(
            pl.col("address")
            .replace_strict(dict(notebooks), return_dtype=pl.String)
            .alias("notebook")
        )
        .sort("largest", "address", descending=[True, False])
        .unique("notebook", keep="first", maintain_order=True)
        .select(
            "notebook",
            pl.col("address").alias("parameter"),
            pl.col("largest").alias("largest_difference"),
            pl.col("changed").alias("cases_that_change"),
        )
    )
    return Table(frame, "What to read next, by what its parameter moves here (in sample)")


def chart_stamp(candidates: Candidates, config: RankingConfig | None = None) -> Stamp:
    """Return what a chart was made from; ``config`` only where one config is drawn."""
    return Stamp(
        config="" if config is None else config.fingerprint,
        data=candidates.stamp.data,
        encoder=candidates.stamp.vectors,
        code=code_digest(),
    )


def stamp(candidates: Candidates, config: RankingConfig, *, small: bool) -> Table:
    """What the numbers of a notebook were made with; the same run gives the same stamp.

    Parameters
    ----------
    candidates
        The table that was ranked.
    config
        The current default.
    small
        Whether the run was a small one.
    """
    rows = {
        "run": "small (RECALLTUNE_SMALL=1)" if small else "full",
        "config": f"{config.name} {config.fingerprint}",
        "data": candidates.stamp.data,
        "encoder": candidates.stamp.encoder,
        "vectors": candidates.stamp.vectors,
        "code": f"{code_digest()} (recalltune {VERSION})",
        "python": ".".join(platform.python_version_tuple()[:2]),
        **{name: version(name) for name in _PACKAGES},
    }
    return Table(pl.DataFrame({"what": list(rows), "value": list(rows.values())}), "Stamp")
