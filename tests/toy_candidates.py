"""Small candidate tables with deliberate ties, missing ages and padding."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from recalltune.candidates.table import QUERY_COLUMNS, Candidates
from recalltune.candidates.world import DAY_US

LAYERS = ("log", "project", "user")
CATEGORIES = ("events", "patterns")
NOW = 200 * DAY_US
PATHS = ("", "MEMORY.md", "memory/1970-06-01.md", "memory/1970-02-30.md", "memory/tea.md", "x.md")
PROJECTS = ("", "garden", "garden; harbour")
HOUSE_CATEGORIES = ("", "cases", "events", "patterns")
SCOPES = ("asset:brief:1", "asset:x", "cc:1", "memory:x", "project:a")
TIERS = ("", "core", "peripheral", "working")
ANCHORS = ("", "decay half life", "short", "数据库迁移")
GROUPS = ("", "v1", "v2")
TEMPORAL = ("dynamic", "static")


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
        "pinned": (rng.random(shape) < 0.2).astype(float),
        "category": np.where(valid, rng.integers(0, len(CATEGORIES), shape), -1),
    }
    # The last use of some memories is on the day of the question, of others a while ago.
    uses = [
        np.sort(rng.integers(0, NOW // DAY_US, rng.integers(0, 4))) * DAY_US for _ in range(count)
    ]
    count_and_age = [_uses_of(uses, row) for row in span]
    features["access_count"] = np.array([counts for counts, _ in count_and_age])
    features["days_since_access"] = np.array([days for _, days in count_and_age])
    rows = {name: [None] * queries for name in QUERY_COLUMNS} | {
        "query_id": [f"q{row}" for row in range(queries)],
        "session": [f"s{row % 2}" for row in range(queries)],
        "asked_at": [NOW] * queries,
    }
    return Candidates(
        queries=pl.DataFrame(rows, schema=dict(QUERY_COLUMNS)),
        spans=pl.DataFrame({"memory_id": [f"m{index:03d}" for index in range(count)]}),
        span=span,
        features=features,
        codes={"layer": LAYERS, "category": CATEGORIES},
        uses=uses,
        vectors=vectors,
        token_sets=[frozenset(f"t{t}" for t in rng.integers(0, 6, 3)) for _ in range(count)],
    )


def filed(table: Candidates, seed: int) -> Candidates:
    """The same table with texts, paths and projects, and queries that name some of them."""
    rng = np.random.default_rng(seed)
    count, shape = table.spans.height, table.span.shape
    texts = [" ".join(rng.choice(["tea", "oil", "мир", "备份"], 3)) for _ in range(count)]
    of_span = {"path": rng.integers(0, len(PATHS), count)}
    of_span["project"] = rng.integers(0, len(PROJECTS), count)
    coded = {
        name: np.where(table.valid, values[table.span], -1) for name, values in of_span.items()
    }
    asked = rng.choice(["tea", "tea oil", "memory/tea.md", "?"], shape[0]).tolist()
    scopes = rng.choice(["team", "project:garden"], shape[0]).tolist()
    return replace(
        table,
        queries=table.queries.with_columns(
            pl.Series("text", asked, dtype=pl.String), pl.Series("scope", scopes, dtype=pl.String)
        ),
        spans=table.spans.with_columns(pl.Series("text", texts)),
        features={**table.features, **coded, "utf16_chars": np.full(shape, 12)},
        codes={**table.codes, "path": PATHS, "project": PROJECTS},
    )


def housed(table: Candidates, seed: int) -> Candidates:
    """The same table with every feature RecallNest's stages read; coarse, so that scores tie."""
    rng = np.random.default_rng(seed + 1)
    shape, valid = table.span.shape, table.valid

    def coded(texts: tuple[str, ...]) -> np.ndarray:
        return np.where(valid, rng.integers(0, len(texts), shape), -1)

    def some(share: float, low: float, high: float) -> np.ndarray:
        values = low + (high - low) * rng.integers(0, 5, shape) / 4
        return np.where(rng.random(shape) < share, values, np.nan)

    count = np.where(rng.random(shape) < 0.5, 0.0, rng.integers(1, 12, shape))
    ages = table.features["age_days"]
    more = {
        "confidence": some(0.7, 0.0, 1.0),
        "retracted": (rng.random(shape) < 0.1).astype(float),
        "pinned": (rng.random(shape) < 0.1).astype(float),
        "access_count": count,
        "days_since_access": np.where(count > 0, rng.integers(0, 4, shape) * 5.0, np.nan),
        "days_ahead": np.where(ages == 0, rng.integers(0, 3, shape) * 4.0, 0.0),
        "utf16_chars": rng.integers(0, 4, shape) * 700.0,
        "valence": some(0.7, -1.0, 1.0),
        "arousal": some(0.7, 0.0, 1.0),
        "abstract_score": some(0.6, 0.0, 1.0),
        "overview_score": some(0.6, 0.0, 1.0),
        "graph_score": some(0.3, 0.0, 1.0),
    }
    codes = {
        "category": HOUSE_CATEGORIES,
        "scope": SCOPES,
        "tier": TIERS,
        "anchor": ANCHORS,
        "version_group": GROUPS,
        "temporal_type": TEMPORAL,
    }
    columns = {name: coded(texts) for name, texts in codes.items()}
    asked = ["short", "five words that all count surely", "tune retriever.ts decay", "数据库"]
    own = pl.Series("text", rng.permutation(asked * shape[0])[: shape[0]].tolist(), dtype=pl.String)
    return replace(
        table,
        queries=table.queries.with_columns(pl.col("text").fill_null(own)),
        features={**table.features, **more, **columns},
        codes={**table.codes, **codes},
    )


def remembered(table: Candidates, seed: int) -> Candidates:
    """The same table with roles and gists, and with what lies in the time a query names."""
    rng = np.random.default_rng(seed + 2)
    count, shape = table.spans.height, table.span.shape
    roles = rng.choice(["user", "companion"], count).tolist()
    gists = [None if one < 0.5 else "tea" * int(1 + 9 * one) for one in rng.random(count)]
    asked = np.where(rng.random(shape) < 0.3, np.nan, rng.integers(0, 2, shape))
    return replace(
        table,
        spans=table.spans.with_columns(
            pl.Series("role", roles, dtype=pl.String), pl.Series("gist", gists, dtype=pl.String)
        ),
        features={**table.features, "in_time_asked": asked},
    )


def _uses_of(uses: list[np.ndarray], spans: np.ndarray) -> tuple[list[float], list[float]]:
    mine = [uses[row] if row >= 0 else np.array([]) for row in spans]
    return (
        [float(times.size) for times in mine],
        [(NOW - times[-1]) / DAY_US if times.size else np.nan for times in mine],
    )
