"""A candidate table of one query from plain rows: what a golden case becomes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recalltune.candidates.table import QUERY_COLUMNS, Candidates
from recalltune.pipeline.config import RankingConfig
from recalltune.pipeline.stage import Stage, State
from recalltune.production.golden.group import Case

__all__ = ["applied", "features_of", "one_query", "stage_of", "status_of"]

_NUMBERS: Mapping[str, float] = {
    "dense_score": np.nan,
    "dense_rank": np.nan,
    "age_days": np.nan,
    "salience": np.nan,
    "confidence": np.nan,
    "access_count": 0.0,
    "days_since_access": np.nan,
    "pinned": 0.0,
    "superseded": 0.0,
    "retracted": 0.0,
    "utf16_chars": 0.0,
    "tokens": 0.0,
}
_TEXTS = ("layer", "category", "tier", "scope", "origin", "authority")


def one_query(
    rows: Sequence[Mapping[str, Any]],
    *,
    text: str | None = None,
    vectors: Sequence[Sequence[float]] | None = None,
) -> Candidates:
    """Return a table of one query and one candidate per row, in the order given.

    Parameters
    ----------
    rows
        feature -> value; a feature that is None or left out is missing. Arms beside the dense one
        are there when the first row names them.
    text
        The query's text.
    vectors
        One per row, any length above 0; they are scaled to length 1.
    """
    shape = (1, len(rows))
    lexical = [name for name in ("lexical_score", "lexical_rank") if rows and name in rows[0]]
    missing = dict(_NUMBERS) | dict.fromkeys(lexical, np.nan)
    features: dict[str, NDArray[Any]] = {
        name: np.array(
            [absent if row.get(name) is None else row[name] for row in rows], dtype=np.float64
        ).reshape(shape)
        for name, absent in missing.items()
    }
    codes = {}
    for name in _TEXTS:
        texts = [row.get(name) or "" for row in rows]
        codes[name] = tuple(sorted(set(texts)))
        features[name] = np.array([codes[name].index(t) for t in texts], dtype=np.int64)[None, :]
    query: dict[str, Any] = dict.fromkeys(QUERY_COLUMNS) | {"query_id": "query", "text": text}
    ids = [row.get("memory_id") or f"m{number:04d}" for number, row in enumerate(rows)]
    return Candidates(
        queries=pl.DataFrame([query], schema=dict(QUERY_COLUMNS)),
        spans=pl.DataFrame({"memory_id": ids}, schema={"memory_id": pl.String}),
        span=np.arange(len(rows), dtype=np.int64)[None, :],
        features=features,
        codes=codes,
        vectors=None if vectors is None else _unit(vectors),
    )


def applied(
    stages: Sequence[Stage], candidates: Candidates, scores: Sequence[float]
) -> tuple[State, ...]:
    """Return the state before the first stage and after each one."""
    states = [State(score=np.array([scores], dtype=np.float64), alive=candidates.valid)]
    for stage in stages:
        states.append(stage.apply(states[-1], candidates))
    return tuple(states)


def _unit(vectors: Sequence[Sequence[float]]) -> NDArray[np.float32]:
    rows = np.asarray(vectors, dtype=np.float64)
    unit: NDArray[np.float32] = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype("f4")
    return unit


def stage_of(config: RankingConfig, kind: type) -> Any:
    """Return the stage of that kind in the config, or one with the published defaults."""
    return next((stage for stage in config.stages if isinstance(stage, kind)), None) or kind(
        name=kind.model_fields["kind"].default  # type: ignore[attr-defined]
    )


def features_of(case: Case) -> dict[str, Any]:
    """Return the features of a golden row under our names."""
    return {
        "memory_id": case.get("id"),
        "age_days": case["ageDays"],
        "salience": case["importance"],
        "confidence": case.get("confidence"),
        "category": case["category"],
        "tier": case.get("tier"),
        "scope": case.get("scope"),
        "utf16_chars": case.get("charLen"),
        "access_count": case.get("accessCount"),
        "days_since_access": case.get("daysSinceAccess"),
        **status_of(case.get("status")),
    }


def status_of(status: str | None) -> dict[str, float]:
    """Return the features that say what the status of an entry says."""
    return {
        "superseded": float(status == "superseded"),
        "retracted": float(status in ("archived", "consolidated")),
    }
