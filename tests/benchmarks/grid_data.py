"""Workload W6: a made-up case set of the shape a sweep meets, as arrays, without any lab.

500 queries with 200 candidates each; 1 to 4 of them relevant, with grades 1 to 3, and 1 to 3 hard
negatives that look relevant and are old. The columns of both stand anywhere, so ties favour none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recalltune.candidates.table import QUERY_COLUMNS, Candidates
from recalltune.errors import checked
from recalltune.pipeline.config import RankingConfig

SEED = 20_260_201
LAYERS = ("project", "reflection", "user", "log")


@dataclass(frozen=True)
class Setting:
    """One point of the grid, in the plainest terms: what a script without a library would hold."""

    rrf_k: float
    dense_weight: float
    half_life_days: float
    shape: float
    """1 is exponential."""
    salience_weight: float


def settings() -> Iterator[Setting]:
    """2,500 settings: 5 k x 4 weights x 25 decays (5 exponential, 20 Weibull) x 5 salience weights.

    A Weibull scale is the age at which 1/e is left; ln(2)^(1/shape) of it is the half-life.
    """
    decays = [(float(half_life), 1.0) for half_life in (7, 14, 30, 60, 120)]
    decays += [
        (scale * float(np.log(2.0) ** (1.0 / shape)), shape)
        for scale in (15, 30, 60, 120)
        for shape in (0.5, 0.8, 1.2, 1.5, 2.0)
    ]
    axes = product((10, 20, 40, 60, 100), (0.3, 0.5, 0.7, 0.9), decays, (0, 0.1, 0.25, 0.5, 1))
    for rrf_k, weight, (half_life, shape), salience in axes:
        yield Setting(float(rrf_k), weight, half_life, shape, float(salience))


def as_config(setting: Setting, *tail: dict[str, Any]) -> RankingConfig:
    """The same setting as a config: fusion, decay with floor 0.3, salience, then ``tail``."""
    weight = setting.dense_weight
    fuse = {
        "kind": "rrf",
        "rrf_k": setting.rrf_k,
        "weights": {"dense": weight, "lexical": 1.0 - weight},
    }
    decay = {
        "kind": "decay",
        "family": "exponential" if setting.shape == 1.0 else "weibull",
        "half_life_days": setting.half_life_days,
        "shape": setting.shape,
        "floor": 0.3,
    }
    salience = {"kind": "salience", "salience_weight": setting.salience_weight}
    arms: dict[str, Any] = {"lexical": {}, "dense": {}}
    return checked(
        RankingConfig,
        {"layers": list(LAYERS), "arms": arms, "stages": [fuse, decay, salience, *tail]},
    )


def candidate_table(
    queries: int = 500, columns: int = 200, *, seed: int = SEED, dim: int = 0
) -> Candidates:
    """The table of W6; with ``dim`` > 0 the memories have vectors in 12 clusters as well."""
    rng = np.random.default_rng(seed)
    shape = (queries, columns)
    gain, hard = _labels(rng, shape)
    relevant = gain > 0
    lexical = rng.gamma(2.0, 2.0, shape)
    lexical += np.where(relevant, rng.gamma(2.0, 2.0, shape), 0.0)
    lexical += np.where(hard, rng.gamma(2.0, 1.5, shape), 0.0)
    dense = rng.normal(0.25, 0.12, shape) + 0.22 * relevant + 0.20 * hard
    matched = rng.random(shape) < np.where(relevant, 0.94, 0.7)
    near = ~matched | (rng.random(shape) < 0.6)
    age = rng.exponential(60.0, shape) * np.where(relevant, 0.7, 1.0)
    age = np.where(hard, 2.0 * age + 20.0, age)
    salience = np.minimum(rng.beta(2.0, 3.0, shape) + 0.12 * relevant, 1.0)
    accesses = rng.geometric(0.3, shape) - 1.0
    layer = rng.choice(len(LAYERS), size=shape, p=[0.05, 0.10, 0.15, 0.70])
    tokens = np.clip(np.rint(rng.lognormal(np.log(40.0), 0.6, shape)), 5, 400)
    vectors = _clustered(rng, queries * columns, dim) if dim else None
    span = np.arange(queries * columns).reshape(shape)
    zeros = np.zeros(shape)
    return Candidates(
        queries=_queries(queries),
        spans=pl.DataFrame({"memory_id": [f"m{number:07d}" for number in range(span.size)]}),
        span=span,
        features={
            "lexical_score": lexical,
            "lexical_rank": _ranks(lexical, matched),
            "dense_score": dense,
            "dense_rank": _ranks(dense, near),
            "age_days": age,
            "salience": salience,
            "access_count": accesses,
            "superseded": zeros,
            "retracted": zeros,
            "layer": layer,
            "tokens": tokens.astype(np.int64),
        },
        codes={"layer": LAYERS},
        vectors=vectors,
        labels=_label_frame(gain, hard),
    )


def _labels(
    rng: np.random.Generator, shape: tuple[int, int]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    gain, hard = np.zeros(shape), np.zeros(shape, dtype=bool)
    for row in range(shape[0]):
        targets, negatives = int(rng.integers(1, 5)), int(rng.integers(1, 4))
        at = rng.choice(shape[1], size=targets + negatives, replace=False)
        gain[row, at[:targets]] = rng.integers(1, 4, targets)
        hard[row, at[targets:]] = True
    return gain, hard


def _ranks(scores: NDArray[np.float64], listed: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Ranks from 1 by falling score among the listed; NaN elsewhere."""
    order = np.argsort(np.where(listed, -scores, np.inf), axis=1, kind="stable")
    ranks = np.empty(scores.shape)
    np.put_along_axis(ranks, order, np.arange(1.0, scores.shape[1] + 1.0)[None, :], axis=1)
    return np.where(listed, ranks, np.nan)


def _clustered(rng: np.random.Generator, count: int, dim: int) -> NDArray[np.float32]:
    vectors = rng.standard_normal((12, dim))[rng.integers(0, 12, count)]
    vectors = vectors + rng.standard_normal((count, dim))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def _queries(count: int) -> pl.DataFrame:
    empty: dict[str, list[Any]] = {name: [None] * count for name in QUERY_COLUMNS}
    named = {
        "query_id": [f"q{row:04d}" for row in range(count)],
        "session": [f"s{row // 10:03d}" for row in range(count)],
        "split": ["tune"] * count,
    }
    return pl.DataFrame(empty | named, schema=dict(QUERY_COLUMNS))


def _label_frame(gain: NDArray[np.float64], hard: NDArray[np.bool_]) -> pl.DataFrame:
    row, column = np.nonzero((gain > 0) | hard)
    width = gain.shape[1]
    return pl.DataFrame(
        {
            "query_id": [f"q{number:04d}" for number in row],
            "memory_id": [f"m{number:07d}" for number in row * width + column],
            "role": np.where(hard[row, column], "hard_negative", "target").tolist(),
            "grade": gain[row, column].astype(np.int64),
            "place": pl.Series([None] * len(row), dtype=pl.Int64),
            "exists": [True] * len(row),
        }
    )
