"""Use that changes memory: a walk of 1,872 queries by 200 candidates, top 8, one config at a time.

Milliseconds per configuration. Ours is the compiled loop; beside it the same walk by NumPy in lock
step, every query through the ordinary stages (the definition), and the top 8 of a ready table,
which knows nothing of use. The gate: all of them show the same lists.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks.machine import Limits
from benchmarks.rows import Row, against
from benchmarks.timing import interleaved
from recalltune.candidates.table import QUERY_COLUMNS, Candidates
from recalltune.candidates.world import DAY_US
from recalltune.errors import checked
from recalltune.pipeline.config import RankingConfig
from recalltune.replay.reinforce import AccessRule, reinforce
from recalltune.replay.reinforcing.compiled import Loop
from recalltune.replay.reinforcing.fade import Fade, Fades
from recalltune.replay.reinforcing.lanes import walk_lanes
from recalltune.replay.reinforcing.split import Prefixes
from recalltune.replay.reinforcing.uses import Recorded

QUERIES, WIDTH, TOP_K = 1_872, 200, 8
MEMORIES = {50_000: 0.8, 3_000: 0.0}
"""Memories of a store -> how much some of them are asked for more than others. 21 and 69 % of the
candidates have been shown before."""
FACTORS = (0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 4.0)
LANES = 48
_TABLES = "its tables, once"


def table(
    memories: int, *, queries: int = QUERIES, width: int = WIDTH, skew: float = 0.0, seed: int = 7
) -> Candidates:
    """Two arms over memories of three weeks, and a year of queries."""
    rng = np.random.default_rng(seed)
    span = np.stack([_drawn(rng, memories, width, skew) for _ in range(queries)])
    asked = np.sort(rng.integers(20 * DAY_US, 385 * DAY_US, queries))
    born = rng.integers(0, 20 * DAY_US, memories)
    shape = span.shape
    rows = {name: [None] * queries for name in QUERY_COLUMNS} | {
        "query_id": [f"q{row:05d}" for row in range(queries)],
        "asked_at": asked.tolist(),
        "kind": ["turn"] * queries,
    }
    never = np.array([], dtype=np.int64)
    return Candidates(
        queries=pl.DataFrame(rows, schema=dict(QUERY_COLUMNS)),
        spans=pl.DataFrame({"memory_id": [f"m{row:06d}" for row in range(memories)]}),
        span=span,
        features={
            "dense_rank": _ranks(rng, shape),
            "lexical_rank": _ranks(rng, shape),
            "age_days": (asked[:, None] - born[span]) / DAY_US,
            "layer": np.zeros(shape, dtype=np.int64),
            "tokens": np.full(shape, 40),
            "salience": np.full(shape, np.nan),
            "access_count": np.zeros(shape),
            "days_since_access": np.full(shape, np.nan),
        },
        codes={"layer": ("log",)},
        uses=[never] * memories,
    )


def _drawn(rng: np.random.Generator, memories: int, width: int, skew: float) -> NDArray[np.int64]:
    """``width`` different memories; with skew 1 half of them from the first tenth."""
    often = memories // 10
    some = int(width * skew / 2)
    first = rng.choice(often, some, replace=False) if some else np.array([], dtype=np.int64)
    rest = often if some else 0
    others = rest + rng.choice(memories - rest, width - some, replace=False)
    return np.sort(np.concatenate([first, others]).astype(np.int64))


def _ranks(rng: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.float64]:
    ranks = rng.permuted(np.broadcast_to(np.arange(1.0, shape[1] + 1), shape), axis=1)
    return np.where(ranks <= 0.6 * shape[1], ranks, np.nan)


def configs(factors: Sequence[float] = FACTORS, *, top_k: int = TOP_K) -> list[RankingConfig]:
    """RecallNest's half-life and ceiling under reciprocal ranks, one strength of use each."""
    return [
        checked(
            RankingConfig,
            {
                "name": f"reinforcement {factor:g}",
                "arms": {"dense": {}, "lexical": {}},
                "stages": [
                    {"kind": "rrf"},
                    {"kind": "decay", "half_life_days": 60.0, "floor": 0.3, "max_multiple": 3.0,
                     "reinforcement": factor},
                    {"kind": "select", "top_k": top_k},
                ],
            },
        )
        for factor in factors
    ]  # fmt: skip


@dataclass(frozen=True, eq=False)
class Ready:
    """A table at its start, and configs with their tables made."""

    recorded: Recorded
    fades: list[Fade]
    rule: AccessRule

    @classmethod
    def of(cls, candidates: Candidates, settings: Sequence[RankingConfig]) -> Ready:
        rule = AccessRule()
        recorded = Recorded.of(candidates, rule)
        prefixes = Prefixes(recorded.candidates)
        fades = Fades(prefixes)
        found = [fades.of(prefixes.parts(config)) for config in settings]
        return cls(recorded, [fade for fade in found if fade is not None], rule)

    def compiled(self) -> list[NDArray[np.int32]]:
        loop = Loop(self.recorded, self.rule)
        return [loop.walk(fade) for fade in self.fades]

    def lanes(self) -> list[NDArray[np.int32]]:
        return list(walk_lanes(self.recorded, self.fades, self.rule))

    def tables(self) -> Fade | None:
        """What the first config of a half-life pays beside its walk."""
        prefixes = Prefixes(self.recorded.candidates)
        return Fades(prefixes).of(prefixes.parts(configs(FACTORS[:1])[0]))


def top_of_a_table(rounded: NDArray[np.float64], top_k: int) -> NDArray[np.intp]:
    """The best of each row by one vectorised selection; equal scores in any order."""
    first = np.argpartition(-rounded, top_k, axis=1)[:, :top_k]
    best = np.argsort(-np.take_along_axis(rounded, first, axis=1), axis=1, kind="stable")
    return np.take_along_axis(first, best, axis=1)


def gate(candidates: Candidates, settings: Sequence[RankingConfig]) -> None:
    """Every path shows the lists of the reference, which differ from those without any use."""
    found = {
        path: reinforce(candidates, settings, path=path)
        for path in ("reference", "lanes", "compiled")
    }
    for path, one in found.items():
        for shown, wanted in zip(one.lists, found["reference"].lists, strict=True):
            np.testing.assert_array_equal(shown, wanted, err_msg=path)
    shown, still = found["reference"].lists[-1], found["reference"].still[-1]
    if np.array_equal(shown, still):
        raise AssertionError("the walk must change lists, got those of a walk without use")


def bench(limits: Limits, *, repeats: int = 5) -> list[Row]:
    """Two rows a store: the walk alone; what its tables cost is said beside."""
    gate(table(300, queries=120, width=60, skew=1.0), configs())
    rows: list[Row] = []
    for memories, skew in MEMORIES.items():
        ready = Ready.of(table(memories, skew=skew), configs())
        wide = Ready.of(table(memories, skew=skew), configs(np.linspace(0.1, 4.0, LANES).tolist()))
        for shown, wanted in zip(ready.compiled(), ready.lanes(), strict=True):
            np.testing.assert_array_equal(shown, wanted)
        times = interleaved(
            {
                "ours": ready.compiled,
                f"NumPy, {LANES} in lock step": wide.lanes,
                "top 8 of a table, no use": lambda ready=ready: top_of_a_table(
                    ready.fades[0].tables.rounded, TOP_K
                ),
                _TABLES: ready.tables,
            },
            repeats=repeats,
        )
        tables = f"its tables once: {1e3 * times.pop(_TABLES).best:.0f} ms"
        per = {"ours": len(FACTORS), f"NumPy, {LANES} in lock step": LANES}
        rows += against(f"reinforcing, {memories:,} memories", times, per=per, limit=tables)
    return rows
