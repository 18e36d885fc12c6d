"""replay: at every question of a session, what would have been recalled, and what was dropped."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from recalltune.candidates.build import candidates_for
from recalltune.candidates.table import QUERY_COLUMNS, Candidates
from recalltune.encode import Encoder
from recalltune.errors import ParameterError, nearest
from recalltune.evaluate.run import rank, shown_hits
from recalltune.pipeline.config import RankingConfig
from recalltune.store import Lab, Run, read_table, read_turns, record_ledger, write_run
from recalltune.version import code_digest

__all__ = ["Replay", "replay"]


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
    ledger: tuple[tuple[str, str], ...]
    """(hop, reason) of every degradation."""


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
        Write run, hits, packing and ledger to the lab. Ranking itself writes nothing.

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
    ledger = _ledger(table)
    run_id = _identity(config, table)
    result = Replay(
        run_id, _steps(table, shown.accounts), shown.accounts, shown_hits(table, shown), ledger
    )
    if save:
        _save(lab, config, table, result)
    return result


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


def _ledger(table: Candidates) -> tuple[tuple[str, str], ...]:
    hops: Sequence[tuple[str, str, str]] = (
        ("dense_arm_missing", "dense", "no encoder could run: lexical only"),
        ("abstained_queries", "dense", "{n} queries have no direction: lexical only for them"),
        (
            "zero_vectors",
            "dense",
            "{n} memories have no direction: never proposed by the dense arm",
        ),
    )
    return tuple(
        (hop, reason.format(n=table.notices[name]))
        for name, hop, reason in hops
        if table.notices.get(name)
    )


def _identity(config: RankingConfig, table: Candidates) -> str:
    parts = [config.fingerprint, table.stamp.data, table.stamp.encoder, code_digest()]
    parts += table.queries["query_id"].to_list()
    return "replay-" + hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]


def _save(lab: Lab, config: RankingConfig, table: Candidates, result: Replay) -> None:
    run = Run(
        run_id=result.run_id,
        kind="replay",
        config=config.to_toml(),
        config_fingerprint=config.fingerprint,
        data_digest=table.stamp.data,
        encoder_id=table.stamp.encoder,
        code_version=code_digest(),
    )
    hits = result.hits.select("query_id", "rank", "memory_id", "score")
    with lab.writing() as con:
        if read_table(con, "run", run_id=result.run_id).height:
            return  # the id is the hash of all inputs, so what stands there is the same
        write_run(con, run, hits=hits, packing=result.accounts)
        for hop, reason in result.ledger:
            record_ledger(con, result.run_id, hop=hop, reason=reason)
