"""Feature columns of a candidate table: what each candidate is, as of its query's time."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recalltune.candidates.source_path import source_path
from recalltune.candidates.world import DAY_US, AccessLog, SpanTable
from recalltune.rank.token_estimates import utf16_units

__all__ = ["features_of", "use_times"]

_CODED = ("layer", "category", "tier", "scope", "origin", "project")


def features_of(
    spans: SpanTable, span: NDArray[np.int64], at: NDArray[np.int64], accesses: pl.DataFrame
) -> tuple[dict[str, NDArray[Any]], dict[str, tuple[str, ...]], dict[str, NDArray[np.int64]]]:
    """Return the features, the texts behind the coded ones, and what was clamped or missing.

    Parameters
    ----------
    spans
        S spans.
    span
        shape (Q, C), row of ``spans``, -1 = padding.
    at
        shape (Q, C), microseconds since 1970 UTC: when the query of each row is asked.
    accesses
        From `store.read_accesses`; only uses before ``at`` count.

    Returns
    -------
    tuple
        name -> shape (Q, C), NaN where a value is absent; name of a coded feature -> its texts;
        name of a notice -> shape (Q,), how many candidates of each query it concerns.
    """
    valid, row, frame = span >= 0, np.maximum(span, 0), spans.frame

    def along(values: NDArray[Any], padding: float) -> NDArray[Any]:
        return np.where(valid, values[row], padding)

    age = np.where(valid, (at - spans.event[row]) / DAY_US, np.nan)
    future = valid & (age < 0)
    utf16 = np.array([utf16_units(text) for text in frame["text"].to_list()], dtype=np.int64)
    count, since = _uses(frame["memory_id"].to_list(), span, at, accesses)
    features = {
        "age_days": np.where(future, 0.0, age),
        "days_ahead": np.where(future, -age, 0.0),
        "superseded": (valid & (spans.superseded[row] < at)).astype(np.float64),
        "retracted": (valid & (spans.retracted[row] < at)).astype(np.float64),
        "salience": along(_numbers(frame["salience"]), np.nan),
        "confidence": along(_numbers(frame["confidence"]), np.nan),
        "tokens": along(frame["tokens"].fill_null(0).to_numpy(), 0),
        "chars": along(frame["chars"].fill_null(0).to_numpy(), 0),
        "utf16_chars": along(utf16, 0),
        "pinned": along(frame["pinned"].fill_null(value=False).to_numpy(), 0),
        "access_count": count,
        "days_since_access": since,
    }
    codes = {}
    for column in (*(frame[name] for name in _CODED), _paths(frame)):
        codes[column.name], coded = _coded(column)
        features[column.name] = along(coded, -1)
    notices = {
        "future_timestamps": future.sum(axis=1),
        "untimed_candidates": (valid & np.isnan(age)).sum(axis=1),
        "missing_salience": (valid & np.isnan(features["salience"])).sum(axis=1),
    }
    return features, codes, notices


def _numbers(column: pl.Series) -> NDArray[np.float64]:
    return column.cast(pl.Float64).fill_null(np.nan).to_numpy()


def _coded(column: pl.Series) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Distinct texts, rising, and the place of each row's text among them."""
    texts = column.fill_null("").to_list()
    known = tuple(sorted(set(texts)))
    place = {text: code for code, text in enumerate(known)}
    return known, np.array([place[text] for text in texts], dtype=np.int64)


def _paths(frame: pl.DataFrame) -> pl.Series:
    told = frame.select("memory_id", "source").iter_rows()
    return pl.Series("path", [source_path(*row) for row in told], dtype=pl.String)


def _uses(
    memory_ids: list[str],
    span: NDArray[np.int64],
    at: NDArray[np.int64],
    accesses: pl.DataFrame,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Accesses of each candidate before its query, and days since the last one or NaN."""
    number = {memory_id: position for position, memory_id in enumerate(sorted(set(memory_ids)))}
    memory = np.array([number[memory_id] for memory_id in memory_ids], dtype=np.int64)
    used = accesses.filter(pl.col("memory_id").is_in(list(number)))
    log = AccessLog(
        np.array([number[memory_id] for memory_id in used["memory_id"].to_list()], dtype=np.int64),
        used["used_at"].to_numpy().astype(np.int64),
        len(number),
    )
    valid = span >= 0
    count, since = np.zeros(span.shape), np.full(span.shape, np.nan)
    count[valid], since[valid] = log.before(memory[span[valid]], at[valid])
    return count, since


def use_times(spans: pl.DataFrame, accesses: pl.DataFrame) -> list[NDArray[np.int64]]:
    """Return, for each row of ``spans``, the instants of every use of its memory, rising."""
    instants = pl.col("used_at").cast(pl.Int64)
    used = accesses.select("memory_id", instants).sort("memory_id", "used_at")
    times = {
        str(memory_id): mine["used_at"].to_numpy()
        for (memory_id,), mine in used.group_by("memory_id", maintain_order=True)
    }
    never = np.array([], dtype=np.int64)
    return [times.get(memory_id, never) for memory_id in spans["memory_id"].to_list()]
