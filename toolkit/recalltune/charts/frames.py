"""Checks on the frames charts are handed, and rows a strict JSON reader accepts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any, Literal

import polars as pl

from recalltune.charts.text import TOOLTIP_COLUMNS, cut
from recalltune.errors import ParameterError, nearest

__all__ = [
    "ROW_LIMIT",
    "Kind",
    "json_rows",
    "refuse_nan",
    "refuse_others",
    "tidy",
    "without_gaps",
]

Kind = Literal["text", "number", "count", "flag", "time"]

ROW_LIMIT = 4_000
"""Rows a chart takes. Above it the notebook file grows and the browser stalls."""


def tidy(
    frame: pl.DataFrame,
    chart: str,
    required: Mapping[str, Kind],
    optional: Mapping[str, Kind] | None = None,
    *,
    aggregate: str = "aggregate it first",
) -> pl.DataFrame:
    """The named columns of a frame, checked, cleaned and in one fixed type each.

    Parameters
    ----------
    frame
        Frame handed to a chart function; other columns are left out.
    chart
        Name of the chart function, for messages.
    required, optional
        Kind of each column: text (cleaned, cut at 240 columns; null stays null), number (Float64,
        NaN and infinity become null), count (Int64), flag (Boolean), time (UTC microseconds).
        A missing optional column is added as nulls.
    aggregate
        What to do about too many rows, said in the message.

    Raises
    ------
    ParameterError
        If it is no polars frame, a column is missing or of the wrong type, or there are more
        than 4,000 rows.
    """
    given: object = frame
    if not isinstance(given, pl.DataFrame):
        msg = f"{chart} takes a polars DataFrame, got {type(given).__name__}"
        raise ParameterError(msg)
    for name in required:
        if name not in frame.columns:
            msg = f"{chart} needs a column {name!r}; {nearest(name, frame.columns)}"
            raise ParameterError(msg)
    if frame.height > ROW_LIMIT:
        msg = f"{chart} takes at most {ROW_LIMIT:,} rows, got {frame.height:,}; {aggregate}"
        raise ParameterError(msg)
    wanted = {**required, **(optional or {})}
    return pl.DataFrame(
        [
            _column(frame.get_column(name), kind, chart)
            if name in frame.columns
            else pl.Series(name, [None] * frame.height, dtype=_DTYPES[kind])
            for name, kind in wanted.items()
        ]
    )


def refuse_nan(frame: pl.DataFrame, columns: Sequence[str], chart: str) -> None:
    """Refuse NaN where null has a meaning, such as a parameter that is off.

    Raises
    ------
    ParameterError
        If one of the columns is of floats and holds NaN or infinity.
    """
    for name in columns:
        column = frame.get_column(name)
        if column.dtype.is_float() and not column.drop_nulls().is_finite().all():
            msg = f"{chart} needs finite numbers or null in column {name!r}, got NaN or infinity"
            raise ParameterError(msg)


def refuse_others(values: Iterable[Any], allowed: Sequence[str], column: str) -> None:
    """Refuse a value that is not one of those a column may hold.

    Raises
    ------
    ParameterError
        If there is one; the message names the first.
    """
    if odd := [value for value in values if value not in allowed]:
        msg = f"{column} must be one of {', '.join(map(repr, allowed))}, got {odd[0]!r}"
        raise ParameterError(msg)


def without_gaps(frame: pl.DataFrame, columns: Sequence[str]) -> tuple[pl.DataFrame, str]:
    """Rows that have a value in all of ``columns``, and a sentence about those left out."""
    kept = frame.drop_nulls(list(columns))
    left = frame.height - kept.height
    if not left:
        return kept, ""
    rows = "1 row has" if left == 1 else f"{left:,} rows have"
    return kept, f"{rows} no {' or '.join(columns)} and are not drawn."


def json_rows(frame: pl.DataFrame) -> list[dict[str, Any]]:
    """Rows with JSON values only: no NaN, no infinity, times as UTC milliseconds."""
    return [{name: _plain(value) for name, value in row.items()} for row in frame.to_dicts()]


_DTYPES: dict[Kind, pl.DataType] = {
    "text": pl.String(),
    "number": pl.Float64(),
    "count": pl.Int64(),
    "flag": pl.Boolean(),
    "time": pl.Datetime("us", "UTC"),
}


def _column(column: pl.Series, kind: Kind, chart: str) -> pl.Series:
    dtype = column.dtype
    if dtype == pl.Null:
        return column.cast(_DTYPES[kind])
    numeric = dtype.is_numeric()
    fits = {
        "text": dtype in (pl.String, pl.Categorical, pl.Enum),
        "number": numeric,
        "count": numeric,
        "flag": dtype == pl.Boolean,
        "time": dtype == pl.Date or isinstance(dtype, pl.Datetime),
    }[kind]
    if not fits:
        msg = f"{chart} needs column {column.name!r} as {kind}, got {dtype}"
        raise ParameterError(msg)
    if kind == "text":
        text = column.cast(pl.String)
        cleaned = [None if value is None else cut(value, TOOLTIP_COLUMNS) for value in text]
        return pl.Series(column.name, cleaned, dtype=pl.String)
    if kind == "number":
        floats = column.cast(pl.Float64)
        return floats.set(~floats.is_finite(), None) if len(floats) else floats
    if kind == "count":
        return _counts(column, chart)
    if kind == "time":
        return _times(column, chart)
    return column


def _counts(column: pl.Series, chart: str) -> pl.Series:
    whole = column.cast(pl.Int64, strict=False)
    same = (whole.cast(pl.Float64) == column.cast(pl.Float64)).fill_null(value=True)
    lost = whole.null_count() - column.null_count()
    if lost or not same.all():
        msg = f"{chart} needs whole numbers in column {column.name!r}, got fractions or NaN"
        raise ParameterError(msg)
    return whole


def _times(column: pl.Series, chart: str) -> pl.Series:
    dtype = column.dtype
    if isinstance(dtype, pl.Datetime):
        if dtype.time_zone is None:
            msg = f"{chart} needs a time zone in column {column.name!r}, got none; use UTC"
            raise ParameterError(msg)
        return column.dt.convert_time_zone("UTC").dt.cast_time_unit("us")
    return column.cast(pl.Datetime("us")).dt.replace_time_zone("UTC")


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, datetime):
        return int(value.timestamp() * 1000)
    if isinstance(value, date):
        return int(datetime(value.year, value.month, value.day, tzinfo=UTC).timestamp() * 1000)
    return value
