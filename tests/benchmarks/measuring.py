"""nDCG@10, MRR and recall@10 of 1,000 lists of 100 with four graded labels each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.machine import Limits
from benchmarks.rows import Row, against
from benchmarks.timing import interleaved
from recalltune.evaluate.catalogue import measure
from recalltune.evaluate.labels import CaseLabels

QUERIES, DEPTH, LABELS = 1_000, 100, 4
METRICS = ("ndcg@10", "mrr", "recall@10")


@dataclass(frozen=True)
class Judged:
    """Scores of every listed memory, and which columns are labelled with what grade."""

    scores: NDArray[np.float64]
    """shape (queries, depth); no two of a row are equal."""
    at: NDArray[np.int64]
    """shape (queries, labels), columns."""
    grade: NDArray[np.int64]


def judged(queries: int = QUERIES, *, seed: int = 20_260_601) -> Judged:
    rng = np.random.default_rng(seed)
    scores = rng.permuted(np.broadcast_to(np.arange(1.0, DEPTH + 1), (queries, DEPTH)), axis=1)
    columns = rng.permuted(np.broadcast_to(np.arange(DEPTH), (queries, DEPTH)), axis=1)
    return Judged(scores, columns[:, :LABELS], rng.integers(1, 4, (queries, LABELS)))


def ours(lists: Judged) -> dict[str, NDArray[np.float64]]:
    """Count how many score higher than each labelled memory; metrics follow from the ranks."""
    mine = np.take_along_axis(lists.scores, lists.at, axis=1)
    higher = lists.scores[:, None, :] > mine[:, :, None]
    ranks = 1.0 + np.count_nonzero(higher, axis=-1).ravel()
    queries = len(lists.scores)
    labels = CaseLabels.build(
        np.repeat(np.arange(queries), LABELS), n_cases=queries, gains=lists.grade.ravel()
    )
    return {metric: measure(metric, ranks, labels) for metric in METRICS}


def as_dicts(lists: Judged) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, int]]]:
    """(run, judgements) by query and memory, as the peers want them."""
    run = {
        f"q{row:04d}": {f"m{column:03d}": score for column, score in enumerate(scores)}
        for row, scores in enumerate(lists.scores.tolist())
    }
    judgements = {
        f"q{row:04d}": {
            f"m{column:03d}": int(grade) for column, grade in zip(at, grades, strict=True)
        }
        for row, (at, grades) in enumerate(
            zip(lists.at.tolist(), lists.grade.tolist(), strict=True)
        )
    }
    return run, judgements


def ir_measures_values(lists: Judged) -> dict[str, float]:
    import ir_measures
    from ir_measures import RR, R, nDCG

    run, judgements = as_dicts(lists)
    names = {nDCG @ 10: "ndcg@10", RR: "mrr", R @ 10: "recall@10"}
    told = ir_measures.calc_aggregate(list(names), judgements, run)
    return {names[name]: value for name, value in told.items()}


def gate(lists: Judged) -> None:
    """Means equal those of ir_measures (trec_eval) to nine digits."""
    for metric, value in ir_measures_values(lists).items():
        np.testing.assert_allclose(ours(lists)[metric].mean(), value, rtol=1e-9, err_msg=metric)


def bench(limits: Limits, *, repeats: int = 5) -> list[Row]:
    import ir_measures
    from ir_measures import RR, R, nDCG
    from ranx import Qrels, Run
    from ranx import evaluate as ranx_evaluate

    lists = judged()
    gate(lists)
    run, judgements = as_dicts(lists)
    ready_run, ready_judgements = Run(run), Qrels(judgements)
    names = ["ndcg@10", "mrr", "recall@10"]
    measures = [nDCG @ 10, RR, R @ 10]

    def ranx_ready() -> Any:
        return ranx_evaluate(ready_judgements, ready_run, names)

    told = ranx_ready()
    for metric, values in ours(lists).items():
        np.testing.assert_allclose(values.mean(), told[metric], rtol=1e-9, err_msg=metric)
    times = interleaved(
        {
            "ours": lambda: ours(lists),
            "ir_measures calc_aggregate": lambda: ir_measures.calc_aggregate(
                measures, judgements, run
            ),
            "ranx evaluate, prebuilt": ranx_ready,
            "ranx Run() + evaluate": lambda: ranx_evaluate(ready_judgements, Run(run), names),
        },
        repeats=repeats,
    )
    share = lists.scores.size * LABELS / limits.compares / times["ours"].best
    return against("metrics of 1,000 lists", times, limit=f"compares are {100 * share:.0f} % of it")
