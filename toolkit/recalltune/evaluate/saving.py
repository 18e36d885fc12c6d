"""Runs in the store: what was shown, what it scored case by case, what had to be done without."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from recalltune.candidates.ledger import Hop, ledger_frame
from recalltune.candidates.table import Stamp
from recalltune.evaluate.run import Evaluation
from recalltune.pipeline.config import RankingConfig, digest
from recalltune.store import Lab, Run, read_table, write_run
from recalltune.version import code_digest

__all__ = ["keep_run", "run_id_of", "save_evaluation"]

_UNDEFINED = "undefined for this case"


def save_evaluation(lab: Lab, evaluation: Evaluation, *, case_set: str) -> str:
    """Write an evaluation and return its run_id; one that is there already is not written again.

    Parameters
    ----------
    lab
        An open lab.
    evaluation
        From `evaluate`.
    case_set
        The case set it scored.

    Raises
    ------
    LockedError
        If another process holds the lab for seconds.
    ReadOnlyError
        If the lab may not be written to.
    """
    cases = evaluation.cases["query_id"].to_list()
    asked = [case_set, list(evaluation.metrics), evaluation.unit, cases]
    run_id = run_id_of("evaluation", evaluation.config, evaluation.stamp, asked)
    keep_run(
        lab,
        run_id,
        evaluation.config,
        evaluation.stamp,
        kind="evaluation",
        case_set=case_set,
        settings={
            "unit": evaluation.unit,
            "counts": {name: int(n) for name, n in evaluation.counts.items()},
        },
        hits=evaluation.hits,
        metrics=_metrics(evaluation),
        packing=evaluation.accounts,
        ledger=evaluation.ledger,
    )
    return run_id


def run_id_of(kind: str, config: RankingConfig, stamp: Stamp, asked: Sequence[Any]) -> str:
    """Return the id of a run: the hash of config, data, encoder, vectors, code and what was asked.

    Parameters
    ----------
    kind
        What the id begins with.
    config, stamp
        What ranked, and on what.
    asked
        Whatever else decides the result, as JSON values.
    """
    made = [config.canonical(), stamp.data, stamp.encoder, stamp.vectors, code_digest()]
    return f"{kind}-{digest([*made, *asked], digits=12)}"


def keep_run(
    lab: Lab,
    run_id: str,
    config: RankingConfig,
    stamp: Stamp,
    *,
    kind: str,
    hits: pl.DataFrame,
    packing: pl.DataFrame,
    ledger: Sequence[Hop],
    metrics: pl.DataFrame | None = None,
    case_set: str | None = None,
    settings: Mapping[str, Any] | None = None,
) -> None:
    """Write a run with all its tables in one transaction, unless its id is there.

    Parameters
    ----------
    lab
        An open lab.
    run_id
        From `run_id_of`: the hash of all inputs, so what stands under it is the same.
    config, stamp, kind, case_set, settings
        The head of the run.
    hits
        query_id, rank, memory_id, score; further columns are left out.
    packing, metrics, ledger
        As the tables of these names hold them.
    """
    run = Run(
        run_id=run_id,
        kind=kind,
        config=config.to_toml(),
        config_fingerprint=config.fingerprint,
        data_digest=stamp.data,
        encoder_id=stamp.encoder,
        code_version=code_digest(),
        case_set=case_set,
        settings=dict(settings or {}),
    )
    shown = hits.select("query_id", "rank", "memory_id", "score")
    hops = ledger_frame(ledger)
    with lab.writing() as con:
        if not read_table(con, "run", run_id=run_id).height:
            write_run(con, run, hits=shown, metrics=metrics, packing=packing, ledger=hops)


def _metrics(evaluation: Evaluation) -> pl.DataFrame:
    """Return query_id, metric, value, reason: one row a case and metric, the verdict included."""
    frames = []
    for name in (*evaluation.metrics, "passed", "tokens"):
        value = pl.col(name).cast(pl.Float64)
        undefined = pl.when(value.is_null()).then(pl.lit(_UNDEFINED))
        said = pl.col("reason").replace("", None) if name == "passed" else pl.lit(None, pl.String)
        frames.append(
            evaluation.cases.select(
                "query_id",
                pl.lit(name).alias("metric"),
                value.alias("value"),
                pl.coalesce(said, undefined).alias("reason"),
            )
        )
    return pl.concat(frames)
