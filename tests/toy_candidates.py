"""Small candidate tables with deliberate ties, missing ages and padding."""

from __future__ import annotations

import numpy as np
import polars as pl

from recalltune.candidates.table import QUERY_COLUMNS, Candidates

LAYERS = ("log", "project", "user")


def toy(
    seed: int, *, queries: int = 4, columns: int = 12, grain: int = 3, dim: int = 8
) -> Candidates:
    """Return a table whose values come from a coarse grid, so that scores tie often."""
    rng = np.random.default_rng(seed)
    shape = (queries, columns)
    count = columns * 2
    span = np.full(shape, -1)
    for row in range(queries):
        width = int(rng.integers(1, columns + 1))
        span[row, :width] = np.sort(rng.choice(count, size=width, replace=False))
    valid = span >= 0

    def coarse(low: float, high: float) -> np.ndarray:
        return low + (high - low) * rng.integers(0, grain + 1, shape) / grain

    def ranks(share: float) -> np.ndarray:
        out = np.full(shape, np.nan)
        for row in range(queries):
            hit = np.flatnonzero(valid[row] & (rng.random(columns) < share))
            out[row, rng.permutation(hit)] = np.arange(1, hit.size + 1)
        return out

    vectors = rng.integers(-1, 2, (count, dim)).astype(np.float32)
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors = np.where(norms > 0, vectors / np.maximum(norms, 1e-9), 0).astype(np.float32)
    salience = np.where(rng.random(shape) < 0.2, np.nan, coarse(0, 1))
    features = {
        "dense_rank": ranks(0.7),
        "dense_score": coarse(0, 1),
        "lexical_rank": ranks(0.5),
        "lexical_score": coarse(0, 6),
        "age_days": np.where(rng.random(shape) < 0.1, np.nan, coarse(0, 120)),
        "salience": salience,
        "superseded": (rng.random(shape) < 0.2).astype(float),
        "retracted": np.zeros(shape),
        "layer": np.where(valid, rng.integers(0, len(LAYERS), shape), -1),
        "tokens": rng.integers(1, 40, shape),
    }
    rows = {name: [None] * queries for name in QUERY_COLUMNS} | {
        "query_id": [f"q{row}" for row in range(queries)],
        "session": [f"s{row % 2}" for row in range(queries)],
    }
    return Candidates(
        queries=pl.DataFrame(rows, schema=dict(QUERY_COLUMNS)),
        spans=pl.DataFrame({"memory_id": [f"m{index:03d}" for index in range(count)]}),
        span=span,
        features=features,
        codes={"layer": LAYERS},
        vectors=vectors,
        token_sets=[frozenset(f"t{t}" for t in rng.integers(0, 6, 3)) for _ in range(count)],
    )
