"""Writing: rows and frames in, through Arrow, each checked against the table it goes to."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa

from recalltune.errors import ContractError, nearest
from recalltune.store.frames import run
from recalltune.store.rows import Row, Run, Sweep
from recalltune.store.schema import ORDER_KEYS

__all__ = [
    "insert_frame",
    "insert_rows",
    "table_schema",
    "write_ledger",
    "write_run",
    "write_sweep",
]

_DTYPES: dict[str, pl.DataType] = {
    "VARCHAR": pl.String(),
    "BIGINT": pl.Int64(),
    "INTEGER": pl.Int32(),
    "DOUBLE": pl.Float64(),
    "BOOLEAN": pl.Boolean(),
    "BLOB": pl.Binary(),
    "TIMESTAMP WITH TIME ZONE": pl.Datetime("us", "UTC"),
    "VARCHAR[]": pl.List(pl.String()),
    "DOUBLE[]": pl.List(pl.Float64()),
}
_INSERT = {table: f"insert into {table} by name select * from incoming" for table in ORDER_KEYS}
_COLUMNS = """
select column_name, data_type from duckdb_columns()
where table_name = $table and not internal order by column_index
"""
_GENERATED = {("memory_span", "enters_at")}
_LEDGER = "from ledger where run_id = $run_id limit 1"


def table_schema(con: duckdb.DuckDBPyConnection, table: str) -> dict[str, pl.DataType]:
    """Columns that a writer fills, in table order, with the polars type of each.

    Raises
    ------
    ContractError
        If there is no such table.
    """
    if table not in ORDER_KEYS:
        msg = f"table must exist, got {table!r}; {nearest(table, ORDER_KEYS)}"
        raise ContractError(msg)
    columns = con.sql(_COLUMNS, params={"table": table}).fetchall()
    return {name: _DTYPES[kind] for name, kind in columns if (table, name) not in _GENERATED}


def insert_rows(con: duckdb.DuckDBPyConnection, rows: Iterable[Row]) -> int:
    """Number of rows written; rows of several tables may come mixed, none is fine.

    Raises
    ------
    ContractError
        If a key exists already or a table's check refuses a row.
    """
    by_table: dict[str, list[Row]] = {}
    for row in rows:
        by_table.setdefault(row.table, []).append(row)
    for table, group in by_table.items():
        schema = table_schema(con, table)
        columns = {name: _cells([getattr(row, name) for row in group]) for name in schema}
        try:
            frame = pl.DataFrame(columns, schema=schema)
        except UnicodeEncodeError as error:
            msg = f"{table}: text must be valid Unicode, got a lone surrogate in {error.object!r}"
            raise ContractError(msg) from None
        _insert(con, table, frame)
    return sum(map(len, by_table.values()))


def insert_frame(con: duckdb.DuckDBPyConnection, table: str, frame: pl.DataFrame) -> int:
    """Number of rows of ``frame`` written to ``table``.

    Parameters
    ----------
    con
        An open connection inside `Lab.writing`.
    table
        Name of the table.
    frame
        Its columns, in any order. A nullable column may be left out. Narrower numbers widen;
        a number where text belongs is refused, and so is NaN: what is undefined is null.

    Raises
    ------
    ContractError
        If a column is unknown or has another type, a number is not finite, a key exists already,
        or a check of the table refuses a row. The message names the offenders.
    """
    schema = table_schema(con, table)
    if unknown := sorted(set(frame.columns) - set(schema)):
        msg = f"{table} has no column {unknown}; {nearest(unknown[0], schema)}"
        raise ContractError(msg)
    wrong = [
        f"{name} must be {schema[name]}, got {dtype}"
        for name, dtype in frame.schema.items()
        if not _fits(dtype, schema[name])
    ]
    if wrong:
        raise ContractError(f"{table}: " + "; ".join(wrong))
    for name, dtype in frame.schema.items():
        if dtype.is_float() and not frame[name].drop_nulls().is_finite().all():
            msg = f"{table}.{name} must be finite or null, got NaN or infinity; use fill_nan(None)"
            raise ContractError(msg)
    if frame.height:
        _insert(con, table, _widened(table, frame, schema))
    return frame.height


def write_run(
    con: duckdb.DuckDBPyConnection,
    run: Run,
    *,
    hits: pl.DataFrame | None = None,
    metrics: pl.DataFrame | None = None,
    packing: pl.DataFrame | None = None,
    ledger: pl.DataFrame | None = None,
) -> None:
    """Store a run with its frames; each frame may leave out the ``run_id`` column.

    ``ledger`` is as in `write_ledger`.
    """
    insert_rows(con, [run])
    for table, frame in (("hit", hits), ("metric", metrics), ("packing", packing)):
        if frame is not None:
            insert_frame(con, table, frame.with_columns(run_id=pl.lit(run.run_id)))
    if ledger is not None:
        write_ledger(con, run.run_id, ledger)


def write_sweep(
    con: duckdb.DuckDBPyConnection, sweep: Sweep, points: pl.DataFrame | None = None
) -> None:
    """Store the head of a sweep unless it is there, and points as they arrive (resumable)."""
    if not con.sql("from sweep where sweep_id = $id", params={"id": sweep.sweep_id}).fetchall():
        insert_rows(con, [sweep])
    if points is not None:
        insert_frame(con, "sweep_point", points.with_columns(sweep_id=pl.lit(sweep.sweep_id)))


def write_ledger(con: duckdb.DuckDBPyConnection, run_id: str, hops: pl.DataFrame) -> None:
    """Store the degradations of a run or sweep in their order, unless it has some already.

    ``hops`` has hop, reason and, where they befell one query, query_id and asked_at.
    """
    if not con.sql(_LEDGER, params={"run_id": run_id}).fetchall():
        numbered = hops.with_columns(
            run_id=pl.lit(run_id), seq=pl.int_range(1, pl.len() + 1, dtype=pl.Int32)
        )
        insert_frame(con, "ledger", numbered)


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=True)


def _cells(values: list[Any]) -> Any:
    """Values of one column, of which a model gives all the same type, as polars takes them."""
    first = next((value for value in values if value is not None), None)
    if isinstance(first, Mapping):
        # Most rows of a log say the same beside their text; each is written out once.
        written: dict[str, str] = {}
        return [
            written.get(key := repr(value)) or written.setdefault(key, _json(value))
            for value in values
        ]
    # A list a row is slow to make of Python lists; Arrow is quick at it.
    return pa.array(values) if isinstance(first, tuple) else values


def _widened(table: str, frame: pl.DataFrame, schema: Mapping[str, pl.DataType]) -> pl.DataFrame:
    try:
        return frame.cast({name: schema[name] for name in frame.columns})
    except pl.exceptions.InvalidOperationError as error:
        msg = f"{table}: a value does not fit its column: {error}"
        raise ContractError(msg) from error


def _fits(given: pl.DataType, wanted: pl.DataType) -> bool:
    if given == wanted or given == pl.Null():
        return True
    if isinstance(given, pl.List) and isinstance(wanted, pl.List):
        return _fits(given.inner, wanted.inner)  # type: ignore[arg-type]
    if wanted.is_float():
        return given.is_numeric()
    if wanted.is_integer():
        return given.is_integer()
    # Other units of time convert without loss; a frame without a zone does not say what it means.
    return isinstance(given, pl.Datetime) and given.time_zone == "UTC" and wanted.is_temporal()


def _insert(con: duckdb.DuckDBPyConnection, table: str, frame: pl.DataFrame) -> None:
    try:
        run(con, _INSERT[table], incoming=frame)
    except (duckdb.ConstraintException, duckdb.ConversionException) as error:
        msg = f"{table} refuses the rows: {error}"
        raise ContractError(msg) from error
