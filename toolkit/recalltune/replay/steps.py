"""replay: at every question of a session, what would have been recalled, and what was dropped."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from recalltune.candidates.build import candidates, candidates_for, refuse_empty_scope
from recalltune.candidates.ledger import Hop, degradations
from recalltune.candidates.table import QUERY_COLUMNS, Candidates, Stamp
from recalltune.encode import Encoder
from recalltune.errors import ContractError, ParameterError, nearest
from recalltune.evaluate.run import in_split
from recalltune.evaluate.saving import keep_run, run_id_of
from recalltune.evaluate.shown import rank, shown_hits
from recalltune.pipeline.config import RankingConfig
from recalltune.replay.account import WHY, emptied, floods, stage_account, worlds_seen
from recalltune.replay.fates import fates, targets_of
from recalltune.replay.step_objects import step_objects
from recalltune.store import Lab, read_turns

__all__ = ["Replay", "replay", "save_replay"]

_NOTHING = "nothing_to_find"
_ASKED = (_NOTHING, "answerable", "not_judged")
"""What a step asks for: nothing that is there; a target that exists; nobody says."""


@dataclass(frozen=True, eq=False)
class Replay:
    """One walk through a transcript, or through the cases of a set."""

    run_id: str
    steps: pl.DataFrame
    """One row a step, in order of session and time: query_id, session, asked_at, scope, asks
    (nothing_to_find, answerable or not_judged), world, world_tokens, candidates, picked, dropped,
    oversize, tokens, abstained, why, largest_session_share, candidate_session_share,
    effective_sessions, without_session, same_instant, clamped_ages, unknown_status."""
    accounts: pl.DataFrame
    """query_id, layer, candidates, picked, dropped, oversize, tokens, cap, floor."""
    hits: pl.DataFrame
    """query_id, rank, memory_id, score, layer, superseded, tokens."""
    ledger: tuple[Hop, ...]
    """Every degradation: of the whole run, then of single steps."""
    config: RankingConfig
    stamp: Stamp
    fates: pl.DataFrame
    """What became of every target, as `fates` has it; empty where nothing is labelled."""
    stages: pl.DataFrame
    """Rows in and out of every stage at every step, as `stage_account` has it."""
    candidates: Candidates = field(repr=False)
    """What was ranked."""
    case_set: str | None = None
    """The case set that was walked; None for a transcript."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """Cases that are held out and were not walked, and the notices of the candidates."""

    def __repr__(self) -> str:
        return f"Replay of {self.steps.height} steps: steps, accounts, hits, fates, stages, ledger"

    def abstentions(self) -> pl.DataFrame:
        """Return how often nothing was shown, apart for what the steps ask.

        Returns
        -------
        pl.DataFrame
            asks, steps, abstained, share (in [0, 1]: wanted where there is nothing to find,
            unwanted where there is an answer), one column a reason (counts), tokens_shown (mean
            over all steps). One row for each kind of step there is.
        """
        reasons = [(pl.col("why") == why).sum().cast(pl.Int64).alias(why) for why in WHY]
        grouped = self.steps.group_by("asks").agg(
            pl.len().cast(pl.Int64).alias("steps"),
            pl.col("abstained").sum().cast(pl.Int64),
            pl.col("abstained").mean().alias("share"),
            *reasons,
            pl.col("tokens").mean().alias("tokens_shown"),
        )
        place = pl.col("asks").replace_strict({name: at for at, name in enumerate(_ASKED)})
        return grouped.sort(place)

    def objects(self) -> Iterator[dict[str, Any]]:
        """Yield one account a step, ready for JSON, in the order of `steps`; no text in it."""
        return step_objects(self)


def replay(
    lab: Lab,
    config: RankingConfig,
    *,
    session: str | None = None,
    scope: str | None = None,
    cases: str | None = None,
    encoder: Encoder | str | None = None,
    save: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Replay:
    """Rank every user turn, or every case of a set, against the memory as it stood then.

    Parameters
    ----------
    lab
        An open lab that holds turns, or the case set.
    config
        The ranking.
    session
        One session_id, or a beginning that only one has; None replays every interactive session,
        or the cases of every session.
    scope
        Scope the agent searched in; None searches every scope. Cases name their own.
    cases
        Name of a case set: its tuning cases are the steps, and their labels are followed. What is
        held out is left out and counted.
    encoder
        An encoder or its name; None takes the best one installed.
    save
        Write run, hits, packing and ledger to the lab, as `save_replay` does. Ranking itself
        writes nothing.
    progress
        Told the number of steps just accounted for.

    Raises
    ------
    ContractError
        If there is no such case set.
    ParameterError
        If the session is unknown, no turn asks anything, or a scope is given beside cases.
    """
    if cases is None:
        table, held_out = _of_turns(lab, config, session, scope, encoder), 0
    else:
        if scope is not None:
            message = f"scope must be left out beside cases, which name their own; got {scope!r}"
            raise ParameterError(message)
        table, held_out = _of_cases(lab, config, cases, session, encoder)
    shown = rank(table, config)
    stages = stage_account(table, config, progress=progress)
    questions = table.queries.select("query_id", "scope").to_dict(as_series=False)
    walked = Replay(
        run_id=run_id_of(
            "replay", config, table.stamp, [questions] if cases is None else [cases, questions]
        ),
        steps=_steps(table, shown.accounts, stages, floods(table, shown.order)),
        accounts=shown.accounts,
        hits=shown_hits(table, shown),
        ledger=degradations(table),
        config=config,
        stamp=table.stamp,
        fates=fates(table, config, targets_of(table)),
        stages=stages,
        candidates=table,
        case_set=cases,
        counts={"held_out_cases": held_out, **_told_counts(table)},
    )
    if save:
        save_replay(lab, walked)
    return walked


def _told_counts(table: Candidates) -> dict[str, int]:
    """The notices of a table, but for how much nobody was told of."""
    return {name: count for name, count in table.notices.items() if name != "untold_spans"}


def _of_turns(
    lab: Lab,
    config: RankingConfig,
    session: str | None,
    scope: str | None,
    encoder: Encoder | str | None,
) -> Candidates:
    asked = _questions(lab, session)
    table = candidates_for(lab, _queries(asked, scope), config, encoder=encoder)
    refuse_empty_scope(table, scope, config)
    return table


def _questions(lab: Lab, session: str | None) -> pl.DataFrame:
    """Turns that ask: of one session, named whole or by a beginning that only one has, or of all.

    A session in which no user asks is not known here: the agent's own ones must not be named.
    """
    with lab.reading() as con:
        turns = read_turns(con)
    asked = turns.filter(
        (pl.col("role") == "user")
        & ~pl.col("sidechain")
        & (pl.col("session_kind") == "interactive")
        & pl.col("said_at").is_not_null()
    )
    if asked.height == 0:
        raise ParameterError("no turn to replay: no dated user turn in these sessions")
    if session is None:
        return asked
    known = asked["session_id"].unique().sort().to_list()
    same = [one for one in known if one.startswith(session)] if session else []
    if session in known or len(same) == 1:
        same = [session] if session in known else same
        return asked.filter(pl.col("session_id").is_in(same))
    why = f"begins {len(same)} sessions" if same else "is unknown"
    message = f"session {session!r} {why}; {nearest(session, known)}"
    raise ParameterError(message)


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


def _of_cases(
    lab: Lab,
    config: RankingConfig,
    cases: str,
    session: str | None,
    encoder: Encoder | str | None,
) -> tuple[Candidates, int]:
    """The tuning cases of a set, or of one session of it, and how many are held out."""
    every = candidates(lab, cases, config, encoder=encoder)
    if session is not None:
        sessions = every.queries["session"].to_list()
        known = sorted({one for one in sessions if one is not None})
        if session not in known:
            message = f"session {session!r} is unknown to {cases!r}; {nearest(session, known)}"
            raise ParameterError(message)
        every = every.take([row for row, one in enumerate(sessions) if one == session])
    table = in_split(every, "tune")
    return table, every.queries.height - table.queries.height


def _steps(
    table: Candidates, accounts: pl.DataFrame, stages: pl.DataFrame, flooding: pl.DataFrame
) -> pl.DataFrame:
    if table.corpus is None:
        raise ContractError("these candidates keep nothing of what was searched")
    worlds = worlds_seen(table, table.corpus)
    totals = accounts.group_by("query_id", maintain_order=True).agg(
        pl.col("candidates", "picked", "dropped", "oversize", "tokens").sum()
    )
    steps = table.queries.select("query_id", "session", "asked_at", "scope", "kind").with_columns(
        pl.Series("clamped_ages", table.query_notices["future_timestamps"], dtype=pl.Int64),
        pl.Series("same_instant", table.query_notices["same_instant"], dtype=pl.Int64),
    )
    for told in (_asks(table), worlds, totals, emptied(stages, worlds), flooding):
        steps = steps.join(told, on="query_id", how="left", maintain_order="left")
    return steps.select(
        "query_id", "session", "asked_at", "scope", "asks", "world", "world_tokens", "candidates",
        "picked", "dropped", "oversize", "tokens", (pl.col("picked") == 0).alias("abstained"),
        "why", "largest_session_share", "candidate_session_share", "effective_sessions",
        "without_session", "same_instant", "clamped_ages", "unknown_status",
    ).sort("session", "asked_at", "query_id")  # fmt: skip


def _asks(table: Candidates) -> pl.DataFrame:
    """What each step asks for."""
    answerable: list[str] = []
    if table.labels.columns:
        there = table.labels.filter((pl.col("role") == "target") & pl.col("exists"))
        answerable = there["query_id"].unique().to_list()
    return table.queries.select(
        "query_id",
        pl.when(pl.col("kind") == _NOTHING)
        .then(pl.lit(_NOTHING))
        .when(pl.col("query_id").is_in(answerable))
        .then(pl.lit("answerable"))
        .otherwise(pl.lit("not_judged"))
        .alias("asks"),
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
        case_set=walked.case_set,
        hits=walked.hits,
        packing=walked.accounts,
        ledger=walked.ledger,
    )
    return walked.run_id
