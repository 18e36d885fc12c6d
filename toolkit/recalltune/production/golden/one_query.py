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
# Features that a table has only where the first row names them.
_OPTIONAL = (
    "lexical_score",
    "lexical_rank",
    "ranking_score",
    "path_score",
    "like_score",
    "exact_tier",
    "importance",
    "days_ahead",
    "graph_score",
    "valence",
    "arousal",
    "abstract_score",
    "overview_score",
    "in_time_asked",
    "substring_score",
    "substring_rank",
)
_OPTIONAL_TEXTS = ("path", "project", "anchor", "version_group", "temporal_type")


def one_query(
    rows: Sequence[Mapping[str, Any]],
    *,
    text: str | None = None,
    asked_at: int | None = None,
    scope: str | None = None,
    vectors: Sequence[Sequence[float]] | None = None,
) -> Candidates:
    """Return a table of one query and one candidate per row, in the order given.

    Parameters
    ----------
    rows
        feature -> value; a feature that is None or left out is missing. The lexical arm, paths,
        projects, texts and the like are there when the first row names them.
    text, asked_at, scope
        The query's own; ``asked_at`` in microseconds.
    vectors
        One per row, any length above 0; they are scaled to length 1.
    """
    shape, named = (1, len(rows)), set(rows[0]) if rows else set()
    optional = [name for name in _OPTIONAL if name in named]
    missing = dict(_NUMBERS) | dict.fromkeys(optional, np.nan)
    features: dict[str, NDArray[Any]] = {
        name: np.array(
            [absent if row.get(name) is None else row[name] for row in rows], dtype=np.float64
        ).reshape(shape)
        for name, absent in missing.items()
    }
    codes = {}
    for name in (*_TEXTS, *(name for name in _OPTIONAL_TEXTS if name in named)):
        texts = [row.get(name) or "" for row in rows]
        codes[name] = tuple(sorted(set(texts)))
        features[name] = np.array([codes[name].index(t) for t in texts], dtype=np.int64)[None, :]
    query: dict[str, Any] = dict.fromkeys(QUERY_COLUMNS) | {"query_id": "query", "text": text}
    query |= {"asked_at": asked_at, "scope": scope}
    spans = {"memory_id": [row.get("memory_id") or f"m{n:04d}" for n, row in enumerate(rows)]}
    if "text" in named:
        spans["text"] = [row.get("text") or "" for row in rows]
    return Candidates(
        queries=pl.DataFrame([query], schema=dict(QUERY_COLUMNS)),
        spans=pl.DataFrame(spans, schema=dict.fromkeys(spans, pl.String)),
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
