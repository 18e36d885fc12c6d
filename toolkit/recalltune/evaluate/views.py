"""From results to the tidy frames that charts and reports draw; all statistics end here.

In: evaluations, and the candidate table they came from where texts or labels are needed. Out: one
polars frame a function. Texts come from the candidate table only, which holds no untold span.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recalltune.candidates.table import Candidates
from recalltune.errors import ParameterError
from recalltune.evaluate.catalogue import metric_label
from recalltune.evaluate.clusters import sessions_of
from recalltune.evaluate.comparing import check_comparable, paired_runs, values_of
from recalltune.evaluate.paired import mean_of
from recalltune.evaluate.run import Evaluation
from recalltune.evaluate.target_views import AGE_BINS, age_strata, targets

__all__ = [
    "AGE_BINS",
    "accounts",
    "age_strata",
    "compare",
    "flips",
    "label_of",
    "layers_over_time",
    "rank_gain",
    "slices",
    "some_rounds",
    "targets",
]

Floats: TypeAlias = NDArray[np.float64]


def label_of(metric: str) -> str:
    """Return a metric's name as charts print it.

    Examples
    --------
    >>> label_of("ndcg@10"), label_of("passed")
    ('nDCG@10', 'cases passed')
    """
    return {"passed": "cases passed", "tokens": "tokens"}.get(metric) or metric_label(metric)


def compare(results: Mapping[str, Evaluation], metrics: Sequence[str]) -> pl.DataFrame:
    """One row a (run, metric): its mean, and its paired difference to the first run.

    Parameters
    ----------
    results
        name -> evaluation; the first one is the baseline.
    metrics
        Columns of the evaluations, such as "ndcg@10", "passed", "tokens".

    Returns
    -------
    pl.DataFrame
        row, metric (as printed), name (of the column), value, lo, hi, n, diff, diff_lo, diff_hi,
        changed. The difference is null in the rows of the baseline.

    Raises
    ------
    ContractError
        If two runs differ in cases, data or encoder.
    ParameterError
        If there is no run, or a run does not hold a metric.
    """
    if not results:
        raise ParameterError("results must hold at least one evaluation, got none")
    first = next(iter(results.values()))
    rows = []
    for name, run in results.items():
        sessions = sessions_of(run.cases)
        for metric in metrics:
            own = mean_of(values_of(run, metric), sessions)
            change = None if run is first else paired_runs(first, run, metric)
            rows.append(
                {
                    "row": name,
                    "metric": label_of(metric),
                    "name": metric,
                    "value": own.diff,
                    "lo": own.lo,
                    "hi": own.hi,
                    "n": own.n,
                    "diff": change and change.diff,
                    "diff_lo": change and change.lo,
                    "diff_hi": change and change.hi,
                    "changed": change and change.changed,
                }
            )
    return pl.DataFrame(rows, schema=_COMPARE)


def slices(
    a: Evaluation, b: Evaluation, metric: str, by: Sequence[str] = ("kind", "lang")
) -> pl.DataFrame:
    """Paired difference b - a overall and per slice: by, slice, mean_a, mean_b, diff, lo, hi, n.

    Raises
    ------
    ContractError
        If the two runs are not comparable.
    ParameterError
        If cases have no column of that name.
    """
    check_comparable(a, b)
    parts: list[tuple[str, str, NDArray[np.intp]]] = [
        ("all", "all cases", np.arange(a.cases.height))
    ]
    for column in by:
        if column not in a.cases.columns:
            message = f"cases have no column {column!r} to slice by; use kind, lang, split, session"
            raise ParameterError(message)
        names = a.cases[column].fill_null("not said").to_list()
        parts += [
            (column, str(name), np.flatnonzero(np.array(names) == name))
            for name in sorted(set(names))
        ]
    rows = []
    for column, name, members in parts:
        change = paired_runs(a, b, metric, rows=members)
        means = [_mean(values_of(run, metric)[members]) for run in (a, b)]
        rows.append(
            {
                "by": column,
                "slice": name,
                "mean_a": means[0],
                "mean_b": means[1],
                "diff": change.diff,
                "lo": change.lo,
                "hi": change.hi,
                "n": change.n,
                "changed": change.changed,
            }
        )
    return pl.DataFrame(rows, schema=_SLICES)


def flips(candidates: Candidates, a: Evaluation, b: Evaluation) -> pl.DataFrame:
    """One row a case with a target: the best rank of its targets in two runs.

    Returns
    -------
    pl.DataFrame
        case_id, label (the query), rank_a, rank_b (null: no target is shown), kind, lang, layer
        (of the best ranked target, or of the first one), passed_a, passed_b.

    Raises
    ------
    ContractError
        If the two runs are not comparable.
    """
    check_comparable(a, b)
    wanted = targets(candidates)
    best_a, best_b = _best(a, wanted, "rank_a"), _best(b, wanted, "rank_b")
    layer = wanted.group_by("query_id", maintain_order=True).agg(pl.col("layer").first())
    frame = (
        a.cases.select("query_id", "kind", "lang", pl.col("passed").alias("passed_a"))
        .with_columns(b.cases["passed"].alias("passed_b"))
        .join(layer, on="query_id", how="inner", maintain_order="left")
    )
    for best in (best_a, best_b):
        frame = frame.join(best, on="query_id", how="left", maintain_order="left")
    shown = pl.coalesce("layer_rank_b", "layer_rank_a", "layer").alias("layer")
    texts = candidates.queries.select("query_id", pl.col("text").alias("label"))
    return (
        frame.join(texts, on="query_id", how="left", maintain_order="left")
        .with_columns(shown)
        .select(
            pl.col("query_id").alias("case_id"),
            "label",
            "rank_a",
            "rank_b",
            "kind",
            "lang",
            "layer",
            "passed_a",
            "passed_b",
        )
    )


def rank_gain() -> pl.Expr:
    """Change of 1 / rank of the first target, b - a, in a frame of `flips`; not shown counts 0."""
    before, after = (1 / pl.col(name) for name in ("rank_a", "rank_b"))
    return after.fill_null(0.0) - before.fill_null(0.0)


def accounts(evaluation: Evaluation) -> pl.DataFrame:
    """Places and tokens per round and layer; a round is a case, in the order of the cases.

    Columns: round (from 1), query_id, layer, picked, dropped, oversize, tokens, candidates, cap,
    floor.
    """
    order = evaluation.cases.select("query_id").with_row_index("round", offset=1)
    return (
        order.join(evaluation.accounts, on="query_id", how="inner", maintain_order="left_right")
        .with_columns(pl.col("round").cast(pl.Int64))
        .select(
            "round", "query_id", "layer", "picked", "dropped", "oversize", "tokens",
            "candidates", "cap", "floor",
        )
    )  # fmt: skip


def some_rounds(candidates: Candidates, evaluation: Evaluation, *, rounds: int) -> pl.DataFrame:
    """Places and tokens per layer in every n-th case by time, at most ``rounds`` of them.

    Columns as in `accounts`; ``round`` counts the cases taken, from 1.
    """
    order = candidates.queries.sort("asked_at", "query_id")["query_id"].to_list()
    taken = order[:: -(-len(order) // rounds)]
    number = {query_id: place for place, query_id in enumerate(taken, start=1)}
    place = pl.col("query_id").replace_strict(number, return_dtype=pl.Int64).alias("round")
    mine = accounts(evaluation).filter(pl.col("query_id").is_in(taken))
    return mine.with_columns(place).sort("round", "layer")


def layers_over_time(spans: pl.DataFrame) -> pl.DataFrame:
    """Memories per layer, month and status: layer, month (date, null = no time), status, n, tokens.

    Parameters
    ----------
    spans
        ``candidates.spans``: spans that were told, one or more a memory; the latest counts.
    """
    latest = spans.sort("memory_id", "version").unique(
        "memory_id", keep="last", maintain_order=True
    )
    month = (
        pl.from_epoch(pl.col("event_at"), time_unit="us")
        .dt.replace_time_zone("UTC")
        .dt.truncate("1mo")
        .dt.date()
    )
    return (
        latest.with_columns(month.alias("month"))
        .group_by("layer", "month", "status")
        .agg(pl.len().cast(pl.Int64).alias("n"), pl.col("tokens").median().alias("tokens"))
        .sort("layer", "month", "status", nulls_last=True)
    )


def _best(run: Evaluation, wanted: pl.DataFrame, name: str) -> pl.DataFrame:
    hits = run.hits.select("query_id", "memory_id", "rank", pl.col("layer").alias(f"layer_{name}"))
    pairs = wanted.select("query_id", "memory_id")
    return (
        hits.join(pairs, on=["query_id", "memory_id"], how="semi", maintain_order="left")
        .sort("query_id", "rank")
        .unique("query_id", keep="first", maintain_order=True)
        .select("query_id", pl.col("rank").alias(name), f"layer_{name}")
    )


def _mean(values: Floats) -> float | None:
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if defined.size else None


_COMPARE = {
    "row": pl.String,
    "metric": pl.String,
    "name": pl.String,
    "value": pl.Float64,
    "lo": pl.Float64,
    "hi": pl.Float64,
    "n": pl.Int64,
    "diff": pl.Float64,
    "diff_lo": pl.Float64,
    "diff_hi": pl.Float64,
    "changed": pl.Int64,
}


_SLICES = {
    "by": pl.String,
    "slice": pl.String,
    "mean_a": pl.Float64,
    "mean_b": pl.Float64,
    "diff": pl.Float64,
    "lo": pl.Float64,
    "hi": pl.Float64,
    "n": pl.Int64,
    "changed": pl.Int64,
}
