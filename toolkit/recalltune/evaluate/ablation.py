"""What a factor and variety each do to one list: the same candidates under every pair of the two.

In: a candidate table and a config with salience and MMR. Out: one row a place. A gain that stays
when MMR is off is not MMR's, and one that stays without the factor is not the factor's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from recalltune.candidates.table import Candidates
from recalltune.errors import ParameterError, nearest
from recalltune.pipeline.address import set_many
from recalltune.pipeline.config import RankingConfig
from recalltune.pipeline.run import run
from recalltune.pipeline.stages import Block, OpenClawImportance, Salience

__all__ = ["IMPORTANCES", "ablation", "list_of", "repeated", "with_importance"]

IMPORTANCES = ("1+9*salience", "0.75+0.05*floor(1+9*salience)", "none")
"""What a score may be multiplied by: the HEL-847 probe's form, OpenClaw's, nothing."""


def with_importance(config: RankingConfig, importance: str) -> RankingConfig:
    """Return the config with one of `IMPORTANCES` in place of its stage ``salience``.

    Raises
    ------
    ParameterError
        If the form is unknown, or the config has no such stage.
    """
    if importance not in IMPORTANCES:
        message = f"importance {importance!r} is unknown; {nearest(importance, IMPORTANCES)}"
        raise ParameterError(message)
    at = next((n for n, stage in enumerate(config.stages) if isinstance(stage, Salience)), None)
    if at is None:
        kinds = ", ".join(stage.kind for stage in config.stages)
        message = f"config {config.name!r} must have a stage salience, got {kinds}"
        raise ParameterError(message)
    instead = {
        IMPORTANCES[0]: (Salience(name=config.stages[at].name, salience_weight=9.0),),
        IMPORTANCES[1]: (OpenClawImportance(name="importance"),),
        IMPORTANCES[2]: (),
    }
    stages = (*config.stages[:at], *instead[importance], *config.stages[at + 1 :])
    return config.with_(stages=stages)


def list_of(candidates: Candidates, config: RankingConfig, query_id: str) -> list[str]:
    """Ids of the list one query is shown, before it is packed into a block of text."""
    listing = tuple(stage for stage in config.stages if not isinstance(stage, Block))
    one = candidates.take([candidates.position(query_id)])
    order = run(one, config.with_(stages=listing)).listed()[0]
    return [one.memory_id(0, int(column)) for column in order if column >= 0]


def repeated(candidates: Candidates, query_id: str) -> dict[str, str]:
    """Candidates of one query that say what another candidate says -> the first that said it."""
    row = candidates.position(query_id)
    spans = candidates.spans[candidates.span[row][candidates.valid[row]].tolist()]
    first = {
        memory_id: origin or memory_id
        for memory_id, origin in spans.select("memory_id", "duplicate_of").iter_rows()
    }
    said = list(first.values())
    return {memory_id: origin for memory_id, origin in first.items() if said.count(origin) > 1}


def ablation(
    candidates: Candidates,
    config: RankingConfig,
    query_id: str,
    *,
    importances: Sequence[str] = IMPORTANCES,
    lambdas: Sequence[float] = (0.7, 1.0),
    english: Mapping[str, str] | None = None,
) -> pl.DataFrame:
    """One row a place of one query's list, under each importance and each lambda.

    Parameters
    ----------
    candidates
        Made for ``config``.
    config
        With the stages ``salience`` and ``mmr``.
    query_id
        One query.
    importances
        Some of `IMPORTANCES`.
    lambdas
        Values of ``mmr.lambda_``; 1 is without MMR.
    english
        memory_id -> English.

    Returns
    -------
    pl.DataFrame
        importance, lambda_, place (from 1), memory_id, label (the gist, or else the text),
        english, same_as (the memory that said it first; null where no candidate repeats it).

    Raises
    ------
    ParameterError
        If the query or a form is unknown, or the config lacks a stage.
    """
    again = repeated(candidates, query_id)
    seen = candidates.seen_by(candidates.position(query_id))
    said = {name: span["gist"] or span["text"] for name, span in seen.items()}
    rows = [
        {
            "importance": importance,
            "lambda_": lambda_,
            "place": place,
            "memory_id": memory_id,
            "label": said[memory_id],
            "english": (english or {}).get(memory_id),
            "same_as": again.get(memory_id),
        }
        for importance in importances
        for lambda_ in lambdas
        for place, memory_id in enumerate(
            list_of(
                candidates,
                set_many(with_importance(config, importance), {"mmr.lambda_": lambda_}),
                query_id,
            ),
            start=1,
        )
    ]
    return pl.DataFrame(rows, schema=_ABLATION)


_ABLATION = {
    "importance": pl.String,
    "lambda_": pl.Float64,
    "place": pl.Int64,
    "memory_id": pl.String,
    "label": pl.String,
    "english": pl.String,
    "same_as": pl.String,
}
