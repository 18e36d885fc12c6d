"""Reciprocal rank fusion of four lists of 100 for 1,000 queries."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.machine import Limits
from benchmarks.rows import Row, against
from benchmarks.timing import interleaved
from recalltune.rank.fusion import rrf
from recalltune.rank.order import rank_order

ARMS, QUERIES, DEPTH, POOL, K = 4, 1_000, 100, 400, 60.0
Lists = NDArray[np.int64]


def lists(queries: int = QUERIES, *, seed: int = 20_260_401) -> Lists:
    """Shape (arms, queries, depth): numbers of memories, best first, drawn from 400 a query."""
    rng = np.random.default_rng(seed)
    drawn = rng.permuted(np.broadcast_to(np.arange(POOL), (ARMS, queries, POOL)), axis=-1)
    return drawn[..., :DEPTH]


def as_ranks(found: Lists) -> NDArray[np.float64]:
    """Shape (arms, queries, pool): the rank each arm gave each memory, NaN where it gave none."""
    ranks = np.full((*found.shape[:-1], POOL), np.nan)
    np.put_along_axis(ranks, found, np.arange(1.0, found.shape[-1] + 1.0), axis=-1)
    return ranks


def fused(ranks: NDArray[np.float64]) -> NDArray[np.intp]:
    """Shape (queries, pool): memories by fused score, best first."""
    score = rrf(ranks, k=K)
    return rank_order(score, score > 0)


def plain_rrf(found: list[list[list[int]]]) -> list[list[int]]:
    """A dictionary a query and a sort: what one writes first."""
    answers = []
    for query in range(len(found[0])):
        scores: dict[int, float] = {}
        for arm in found:
            for rank, name in enumerate(arm[query], 1):
                scores[name] = scores.get(name, 0.0) + 1.0 / (K + rank)
        answers.append(sorted(scores, key=lambda name: (-scores[name], name)))
    return answers


def ranx_runs(found: Lists) -> list[Any]:
    from ranx import Run

    return [
        Run(
            {
                f"q{query}": {
                    f"m{name:03d}": float(DEPTH - place) for place, name in enumerate(row)
                }
                for query, row in enumerate(arm.tolist())
            }
        )
        for arm in found
    ]


def gate(found: Lists) -> None:
    """The same scores in the same order as the plain loop."""
    ranks = as_ranks(found)
    order, score = fused(ranks), rrf(ranks, k=K)
    for query, expected in enumerate(plain_rrf(found.tolist())):
        mine = [int(at) for at in order[query] if score[query, at] > 0]
        close = [(score[query, a], score[query, b]) for a, b in zip(mine, expected, strict=True)]
        np.testing.assert_allclose(*zip(*close, strict=True), rtol=1e-12)


def gate_ranx(found: Lists) -> None:
    """The same scores as ranx."""
    from ranx import fuse

    score = rrf(as_ranks(found), k=K)
    theirs = fuse(runs=ranx_runs(found), method="rrf", params={"k": int(K)})
    for query in range(min(20, found.shape[1])):
        for name, value in theirs.run[f"q{query}"].items():
            np.testing.assert_allclose(score[query, int(name[1:])], value, rtol=1e-9)


def bench(limits: Limits, *, repeats: int = 5) -> list[Row]:
    from ranx import fuse

    gate(lists(50))
    gate_ranx(lists(50))
    found = lists()
    ranks, plain, runs = as_ranks(found), found.tolist(), ranx_runs(found)
    times = interleaved(
        {
            "ours": lambda: fused(ranks),
            "plain Python": lambda: plain_rrf(plain),
            "ranx fuse, runs prebuilt": lambda: fuse(runs=runs, method="rrf", params={"k": int(K)}),
        },
        repeats=repeats,
    )
    share = ranks[0].size / limits.sorted_keys / times["ours"].best
    return against(
        "RRF of 4 lists, 1,000 queries", times, limit=f"one row sort is {100 * share:.0f} % of it"
    )
