"""BM25 on W1 with 10,000 documents: one query, a thousand, and building the index."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.machine import Limits
from benchmarks.rows import Row, against
from benchmarks.text_data import documents, queries
from benchmarks.timing import interleaved
from recalltune.rank.bm25 import PostingIndex

TOP, DOCUMENTS, GATED = 10, 10_000, 200
Search = Callable[[list[list[str]]], list[list[tuple[int, float]]]]


def ours(index: PostingIndex) -> Search:
    """All rows scored, then the best ten by (score, row); a row without a shared word is none."""

    def search(asked: list[list[str]]) -> list[list[tuple[int, float]]]:
        return [_best(index.scores(query)) for query in asked]

    return search


def _best(scores: np.ndarray[Any, Any]) -> list[tuple[int, float]]:
    # Negated: picking the smallest avoids the slow path a mostly zero row would take.
    count = min(TOP, len(scores))
    near = np.argpartition(-scores, count - 1)[:count]
    worst = scores[near].min()
    rows = np.flatnonzero(scores >= worst) if worst > 0 else np.flatnonzero(scores > 0)
    rows = rows[np.lexsort((rows, -scores[rows]))][:count]
    return list(zip(rows.tolist(), scores[rows].tolist(), strict=True))


def bm25s_search(docs: list[list[str]], backend: str) -> Search:
    import bm25s

    model = bm25s.BM25(method="lucene", k1=1.2, b=0.75, backend=backend)
    model.index(docs, show_progress=False)

    def search(asked: list[list[str]]) -> list[list[tuple[int, float]]]:
        rows, scores = model.retrieve(asked, k=TOP, show_progress=False, n_threads=0)
        return [
            [(int(row), float(score)) for row, score in zip(*pair, strict=True) if score > 0]
            for pair in zip(rows, scores, strict=True)
        ]

    return search


def gate(index: PostingIndex, theirs: Search, asked: list[list[str]]) -> None:
    """Top-ten score sequences agree; bm25s adds in float32 and leaves the (k1 + 1) out."""
    for mine, other in zip(ours(index)(asked), theirs(asked), strict=True):
        np.testing.assert_allclose(
            [score / 2.2 for _, score in mine], [score for _, score in other], rtol=2e-5
        )


def bench(limits: Limits, *, repeats: int = 5) -> list[Row]:
    import bm25s

    docs = documents(DOCUMENTS)
    asked = queries(docs)
    index = PostingIndex.build(docs)
    mine = ours(index)
    peers = {f"bm25s {name}": bm25s_search(docs, name) for name in ("numpy", "numba")}
    for search in peers.values():
        gate(index, search, asked[:GATED])
    one_by_one = interleaved(
        {
            name: lambda search=search: [search([query]) for query in asked[:GATED]]
            for name, search in {"ours": mine, **peers}.items()
        },
        repeats=repeats,
    )
    batch = interleaved(
        {
            name: lambda search=search: search(asked)
            for name, search in {"ours": mine, **peers}.items()
        },
        repeats=repeats,
    )
    built = interleaved(
        {
            "ours": lambda: PostingIndex.build(docs),
            "bm25s numpy": lambda: bm25s.BM25(method="lucene").index(docs, show_progress=False),
        },
        repeats=repeats,
    )
    touched = sum(len(index.rows[_span(index, word)]) for query in asked for word in query)
    rate = touched / batch["ours"].best
    limit = f"{rate / 1e6:.1f} M postings/s, {100 * rate / limits.divides:.1f} % of divisions"
    return [
        *against("BM25 10k, one query", one_by_one, per=dict.fromkeys(one_by_one, GATED)),
        *against("BM25 10k, 1,000 queries", batch, limit=limit),
        *against("BM25 10k, build the index", built),
    ]


def _span(index: PostingIndex, word: str) -> slice:
    number = index.terms[word]
    return slice(index.starts[number], index.starts[number + 1])
