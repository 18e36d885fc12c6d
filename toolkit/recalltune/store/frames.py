"""A polars frame under a name that SQL can read, for the length of one block."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import duckdb
import polars as pl

__all__ = ["registered"]


@contextmanager
def registered(con: duckdb.DuckDBPyConnection, name: str, frame: pl.DataFrame) -> Iterator[None]:
    """Let statements inside the block read ``frame`` as the table ``name``."""
    con.register(name, frame)
    yield
    # Only after a block that went well: an error loses the transaction and the name with it, and
    # taking the name back would then hide the error behind one of its own.
    con.unregister(name)
