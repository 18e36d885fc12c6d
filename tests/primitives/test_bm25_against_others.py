"""BM25 against an independent run on test collections, and against another library."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from recalltune.rank.bm25 import PostingIndex
from recalltune.rank.order import rank_order
from recalltune.rank.tokens import TOKENIZERS


def records(path: Path) -> list[dict]:
    # Not splitlines(), which also cuts at U+2028 inside a text.
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]


def ranked_lists(folder: Path, tokenizer: str, **parameters):
    """Relevant ids and up to 1,000 ranked ids of every query that has relevant ones."""
    tokenize = TOKENIZERS[tokenizer]
    rows = records(folder / "corpus.jsonl")
    ids = [row["_id"] for row in rows]
    index = PostingIndex.build([tokenize(f"{row['title']} {row['text']}") for row in rows])
    relevant: dict[str, set[str]] = {}
    for line in (folder / "qrels.tsv").read_text("utf-8").splitlines()[1:]:
        query_id, doc_id, grade = line.split("\t")
        if int(grade) > 0:
            relevant.setdefault(query_id, set()).add(doc_id)
    for query in records(folder / "queries.jsonl"):
        if query["_id"] in relevant:
            scores = index.scores(tokenize(query["text"]), **parameters)
            found = rank_order(scores, scores > 0)[: min(1000, np.count_nonzero(scores))]
            yield relevant[query["_id"]], [ids[row] for row in found]


def average_precision(relevant, found):
    hits = [rank for rank, doc in enumerate(found, start=1) if doc in relevant]
    return sum(n / rank for n, rank in enumerate(hits, start=1)) / len(relevant)


@pytest.mark.shared
@pytest.mark.parametrize(
    ("collection", "parameters", "independent"),
    [
        ("cacm", {"k1": 1.2, "b": 0.75}, 0.325),
        ("cacm", {"k1": 0.9, "b": 0.4}, 0.307),
        ("cranfield", {"k1": 1.2, "b": 0.75}, 0.277),
    ],
)
def test_mean_average_precision_of_the_plain_analyser_is_that_of_an_independent_run(
    shared, collection, parameters, independent
):
    lists = ranked_lists(shared / "data" / collection, "plain", **parameters)
    found = np.mean([average_precision(*one) for one in lists])
    assert found == pytest.approx(independent, abs=6e-4)


def test_scores_agree_with_bm25s_up_to_its_constant_and_its_single_precision():
    bm25s = pytest.importorskip("bm25s")
    rng = np.random.default_rng(20260101)
    docs = [[f"w{n}" for n in rng.zipf(1.5, rng.integers(5, 60)) % 300] for _ in range(200)]
    ours = PostingIndex.build(docs)
    for k1, b in ((1.2, 0.75), (0.9, 0.4), (2.0, 0.0)):
        theirs = bm25s.BM25(method="lucene", k1=k1, b=b)
        theirs.index(docs, show_progress=False)
        for query in (["w1", "w2"], ["w7", "w7"], docs[3][:6]):
            expected = theirs.get_scores(list(query)) * (k1 + 1)  # Lucene drops the constant
            np.testing.assert_allclose(ours.scores(query, k1=k1, b=b), expected, rtol=1e-4)
