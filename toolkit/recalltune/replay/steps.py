"""replay: at every question of a session, what would have been recalled, and what was dropped."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from recalltune.candidates.build import candidates_for
from recalltune.candidates.ledger import Hop, degradations
from recalltune.candidates.table import QUERY_COLUMNS, Candidates, Stamp
from recalltune.encode import Encoder
from recalltune.errors import ParameterError, nearest
from recalltune.evaluate.run import rank, shown_hits
from recalltune.evaluate.saving import keep_run, run_id_of
from recalltune.pipeline.config import RankingConfig
from recalltune.store import Lab, read_turns

__all__ = ["Replay", "replay", "save_replay"]


@dataclass(frozen=True, eq=False)
class Replay:
    """One walk through a transcript."""

    run_id: str
    steps: pl.DataFrame
    """query_id, session, asked_at, candidates, picked, dropped, oversize, tokens, abstained."""
    accounts: pl.DataFrame
    """query_id, layer, candidates, picked, dropped, oversize, tokens, cap, floor."""
    hits: pl.DataFrame
    """query_id, rank, memory_id, score, layer, superseded, tokens."""
    ledger: tuple[Hop, ...]
    """Every degradation: of the whole run, then of single turns."""
    config: RankingConfig
    stamp: Stamp


def replay(
    lab: Lab,
    config: RankingConfig,
    *,
    session: str | None = None,
    scope: str | None = None,
    encoder: Encoder | str | None = None,
    save: bool = False,
) -> Replay:
    """Rank every user turn of a session, or of all, against the memory as it stood then.

    Parameters
    ----------
    lab
        An open lab that holds turns.
    config
        The ranking.
    encoder
        An encoder or its name; None takes the best one installed.
    session
        One session_id; None replays every interactive session.
    scope
        Scope the agent searched in; None searches every scope.
    save
        Write run, hits, packing and ledger to the lab, as `save_replay` does. Ranking itself
        writes nothing.

    Raises
    ------
    ParameterError
        If the session is unknown or no turn asks anything.
    """
    with lab.reading() as con:
        turns = read_turns(con, session)
        if turns.height == 0 and session is not None:
            known = read_turns(con)["session_id"].unique().sort().to_list()
            message = f"session {session!r} is unknown; {nearest(session, known)}"
            raise ParameterError(message)
    asked = turns.filter(
        (pl.col("role") == "user")
        & ~pl.col("sidechain")
        & (pl.col("session_kind") == "interactive")
        & pl.col("said_at").is_not_null()
    )
    if asked.height == 0:
        raise ParameterError("no turn to replay: no dated user turn in these sessions")
    table = candidates_for(lab, _queries(asked, scope), config, encoder=encoder)
    shown = rank(table, config)
    questions = table.queries.select("query_id", "scope").to_dict(as_series=False)
    walked = Replay(
        run_id=run_id_of("replay", config, table.stamp, [questions]),
        steps=_steps(table, shown.accounts),
        accounts=shown.accounts,
        hits=shown_hits(table, shown),
        ledger=degradations(table),
        config=config,
        stamp=table.stamp,
    )
    if save:
        save_replay(lab, walked)
    return walked


def _queries(turns: pl.DataFrame, scope: str | None) -> pl.DataFrame:
    empty = pl.lit(None, pl.String)
    return turns.select(
        pl.col("turn_id").alias("query_id"),
        pl.col("text"),
        pl.col("said_at").alias("asked_at"),
        pl.lit(scope, pl.String).alias("scope"),
        empty.alias("profile"),
        pl.lit(None, pl.Int64).alias("top_k"),
        pl.col("session_id").alias("session"),
        pl.lit("turn").alias("kind"),
        empty.alias("lang"),
        empty.alias("split"),
    ).select(*QUERY_COLUMNS)


def _steps(table: Candidates, accounts: pl.DataFrame) -> pl.DataFrame:
    totals = accounts.group_by("query_id", maintain_order=True).agg(
        pl.col("candidates", "picked", "dropped", "oversize", "tokens").sum()
    )
    head = table.queries.select("query_id", "session", "asked_at")
    joined = head.join(totals, on="query_id", how="left", maintain_order="left")
    return joined.with_columns((pl.col("picked") == 0).alias("abstained")).sort(
        "session", "asked_at", "query_id"
    )


def save_replay(lab: Lab, walked: Replay) -> str:
    """Write a replay and return its run_id; one that is there already is not written again.

    Raises
    ------
    LockedError
        If another process holds the lab for seconds.
    ReadOnlyError
        If the lab may not be written to.
    """
    keep_run(
        lab,
        walked.run_id,
        walked.config,
        walked.stamp,
        kind="replay",
        hits=walked.hits,
        packing=walked.accounts,
        ledger=walked.ledger,
    )
    return walked.run_id
