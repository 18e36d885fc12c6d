"""Statements that read polars frames beside the lab's tables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import duckdb
import polars as pl

__all__ = ["ids", "run"]


def run(
    con: duckdb.DuckDBPyConnection,
    statement: str,
    params: dict[str, Any] | None = None,
    *,
    incoming: pl.DataFrame | None = None,  # noqa: ARG001
    wanted: pl.DataFrame | None = None,  # noqa: ARG001
    gate: pl.DataFrame | None = None,  # noqa: ARG001
    gated: pl.DataFrame | None = None,  # noqa: ARG001
) -> pl.DataFrame:
    """Rows of one statement, which may name the frames as tables.

    DuckDB finds them as variables of this function. Frames that are registered under a name are
    kept, with all their memory, until the transaction ends.
    """
    found = con.sql(statement, params=params)
    rows: pl.DataFrame = pl.DataFrame() if found is None else found.pl()
    return rows


def ids(values: Iterable[str]) -> pl.DataFrame:
    """Distinct ids as a frame with the one column ``id``."""
    return pl.DataFrame({"id": list(dict.fromkeys(values))}, schema={"id": pl.String})
