"""MMR of one query: 10 of 200 memories with 384-dimensional vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.machine import Limits
from benchmarks.rows import Row, against
from benchmarks.timing import interleaved
from recalltune.rank.diversity import cosine_matrix, mmr, mmr_batch

SIZE, PICKS, DIM, LAMBDA, LANES = 200, 10, 384, 0.5, 64


def pool(size: int = SIZE, dim: int = DIM, *, seed: int = 20_260_501) -> tuple[Any, Any]:
    """Vectors of ``size`` memories in 12 clusters, and their cosine with a query."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((12, dim))
    vectors = centres[rng.integers(0, 12, size)] + rng.standard_normal((size, dim))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    query = centres[0] + centres[1] + rng.standard_normal(dim)
    return vectors, vectors @ (query / np.linalg.norm(query))


def plain_mmr(
    relevance: NDArray[np.float64], vectors: NDArray[np.float64], picks: int
) -> list[int]:
    """The definition as a loop: every candidate against every picked one, at every step."""
    picked: list[int] = []
    left = list(range(len(relevance)))
    while left and len(picked) < picks:
        best, best_value = left[0], -np.inf
        for one in left:
            nearest = max((float(vectors[one] @ vectors[other]) for other in picked), default=0.0)
            value = LAMBDA * float(relevance[one]) - (1.0 - LAMBDA) * nearest
            if value > best_value:
                best, best_value = one, value
        picked.append(best)
        left.remove(best)
    return picked


def gate(size: int, picks: int, dim: int) -> None:
    for seed in range(5):
        vectors, relevance = pool(size, dim, seed=seed)
        mine = mmr(relevance, cosine_matrix(vectors), lambda_=LAMBDA, top_k=picks, normalise=False)
        assert mine.tolist() == plain_mmr(relevance, vectors, picks)


def bench(limits: Limits, *, repeats: int = 5) -> list[Row]:
    gate(SIZE, PICKS, DIM)
    vectors, relevance = pool()
    similarity = cosine_matrix(vectors)
    many = np.broadcast_to(similarity, (LANES, SIZE, SIZE)).copy()
    lanes, valid = np.tile(relevance, (LANES, 1)), np.ones((LANES, SIZE), dtype=bool)
    options = {"lambda_": LAMBDA, "top_k": PICKS, "normalise": False}
    peer = "plain loop"
    one = interleaved(
        {
            "ours": lambda: mmr(relevance, cosine_matrix(vectors), **options),
            peer: lambda: plain_mmr(relevance, vectors, PICKS),
        },
        repeats=repeats,
    )
    known = interleaved(
        {
            "ours": lambda: mmr(relevance, similarity, **options),
            peer: lambda: plain_mmr(relevance, vectors, PICKS),
        },
        repeats=repeats,
    )
    batch = interleaved(
        {
            "ours": lambda: mmr_batch(lanes, many, valid, **options),
            peer: lambda: plain_mmr(relevance, vectors, PICKS),
        },
        repeats=repeats,
    )
    read = LANES * PICKS * SIZE * 8 / batch["ours"].best
    return [
        *against("MMR 10 of 200, from vectors", one),
        *against("MMR 10 of 200, cosines known", known),
        *against(
            f"MMR 10 of 200, {LANES} queries at once",
            batch,
            per={"ours": LANES},
            limit=f"{100 * read / limits.copy_bytes:.0f} % of a copy's bandwidth",
        ),
    ]
