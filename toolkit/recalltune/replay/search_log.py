"""How far a configuration would change what production showed: its own search log, replayed.

In: a lab with a search log, a configuration, and the one production runs. Out: for every logged
query the list of today's log against the list the configuration would have shown then, each
difference with the stage that makes it, and beside it production's churn against its own log.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recalltune.candidates.build import candidates_for
from recalltune.candidates.ledger import Hop, degradations
from recalltune.candidates.table import Candidates, Stamp
from recalltune.encode import Encoder
from recalltune.errors import ParameterError
from recalltune.evaluate.paired import Paired, mean_of
from recalltune.evaluate.shown import rank, shown_hits
from recalltune.pipeline.config import RankingConfig
from recalltune.rank import rank_biased_overlap
from recalltune.replay.explained_changes import Ranked, explained
from recalltune.replay.list_changes import ListChange, list_change
from recalltune.replay.logged_lists import LoggedList, WorldIds, day_of, logged_list, logged_queries
from recalltune.replay.step_objects import iso_utc
from recalltune.store import Lab, read_search_log

__all__ = ["Cut", "LogReplay", "replay_search_log"]

Cut: TypeAlias = Literal["as_shown", "own"] | int


@dataclass(frozen=True, eq=False)
class LogReplay:
    """One search log under two configurations."""

    queries: pl.DataFrame
    """One row a dated search, by time: query_id, session (its day in UTC), asked_at (microseconds),
    scope, query (text), p_shown (ids compared), c_shown, entered, left, moved, churn, rbo,
    floor_churn, floor_rbo (production's replay against the log), unreplayable, not_yet, repeated,
    same_instant, set_aside. Of a query that is set aside c_shown and all that compares is null."""
    differences: pl.DataFrame
    """One row a memory that entered, left or moved: query_id, memory_id, change, from_rank (among
    the ids compared), to_rank, noise, fate, stage, margin, unit, by, pushed_out_by, explained_by.
    ``left`` has its fate under the configuration, ``entered`` under production, ``moved`` none."""
    counts: Mapping[str, int]
    """logged, undated, replayed, set_aside, sessions, ids, prompt_unknown (queries of which a
    configuration would hold back what the prompt holds), unreplayable, not_yet, repeated,
    same_instant."""
    ledger: tuple[Hop, ...]
    """Every degradation of either run: of the whole run, then of single queries."""
    config: RankingConfig
    production: RankingConfig
    stamp: Stamp
    """Of the configuration's run."""
    cut: Cut
    p: float

    def __repr__(self) -> str:
        return (
            f"LogReplay of {self.queries.height} queries: queries, differences, counts, summary()"
        )

    def summary(self) -> pl.DataFrame:
        """Return measure, mean, lo, hi, n, changed, sessions: 95 % intervals over whole sessions.

        The measures are ``churn``, ``noise floor``, ``churn above the floor`` (paired, query by
        query), ``rank-biased overlap`` and ``rank-biased overlap of production``. ``changed``
        counts the queries whose value is not that of equal lists. With one session there is no
        interval, without a query no mean.
        """
        compared = self.queries.filter(~pl.col("set_aside"))
        sessions = compared["session"].to_list()
        churn, floor = compared["churn"].to_numpy(), compared["floor_churn"].to_numpy()
        rows = [_measure("churn", mean_of(churn, sessions), churn != 0, sessions)]
        rows += [_measure("noise floor", mean_of(floor, sessions), floor != 0, sessions)]
        above = churn - floor
        rows += [_measure(_ABOVE, mean_of(above, sessions), above != 0, sessions)]
        for name, column in _OVERLAPS.items():
            overlap = compared[column].to_numpy()
            rows += [_measure(name, mean_of(overlap, sessions), overlap != 1, sessions)]
        return pl.DataFrame(rows, schema=_SUMMARY, orient="row")

    def objects(self) -> Iterator[dict[str, Any]]:
        """Yield one JSON-ready object a logged query, without any text of the data."""
        parts = self.differences.partition_by("query_id", as_dict=True)
        prints = {
            "config": self.config.fingerprint,
            "production": self.production.fingerprint,
            "data": self.stamp.data,
        }
        for query in self.queries.drop("query").iter_rows(named=True):
            mine = parts.get((query["query_id"],), self.differences.clear())
            yield (
                {"query_id": query.pop("query_id"), "at": iso_utc(query.pop("asked_at"))}
                | query
                | {"differences": mine.drop("query_id").to_dicts()}
                | prints
            )


_SUMMED = ("unreplayable", "not_yet", "repeated", "same_instant")
_ABOVE = "churn above the floor"
_OVERLAPS = {"rank-biased overlap": "rbo", "rank-biased overlap of production": "floor_rbo"}
_SUMMARY = {
    "measure": pl.String,
    "mean": pl.Float64,
    "lo": pl.Float64,
    "hi": pl.Float64,
    "n": pl.Int64,
    "changed": pl.Int64,
    "sessions": pl.Int64,
}


def _measure(
    name: str, told: Paired, differing: NDArray[np.bool_], sessions: Sequence[str]
) -> tuple[str, float | None, float | None, float | None, int, int, int]:
    count = int(differing.sum())
    return name, told.diff, told.lo, told.hi, told.n, count, len(set(sessions))


def replay_search_log(
    lab: Lab,
    config: RankingConfig,
    *,
    production: RankingConfig,
    encoder: Encoder | str | None = None,
    cut: Cut = "as_shown",
    p: float = 0.9,
) -> LogReplay:
    """Rank every logged query as of its time, and compare with what production showed.

    ``churn = 1 - |P and C| / max(|P|, |C|)``, P = the logged list, C = the configuration's. Ids of
    P that are unknown or outside the query's world are left out and counted, as ``unreplayable``;
    above 10 % of a query's ids the query is set aside. Churn says how much changes, not whether
    for the better: nobody judged what would enter. It means something above the noise floor only,
    which is the churn of production's own configuration against its own log.

    Parameters
    ----------
    lab
        Holds a search log. Only vectors that are missing are written to it.
    config
        The ranking that is tried.
    production
        The ranking that wrote the log, as far as it is known.
    encoder
        An encoder or its name; None takes the best installed.
    cut
        ``as_shown``: a list is compared down to as many ids as the log shows of that query; where
        production showed nothing, nothing is cut, since that was a decision and no limit. A number
        of places >= 1: both lists down to there. ``own``: nothing is cut, so that the limits
        of both are compared as well.
    p
        in (0, 1), of `rank_biased_overlap`.

    Raises
    ------
    ParameterError
        If no dated search is in the lab, or ``cut`` or ``p`` is out of range.
    ContractError
        If a difference is left without a stage that makes it.
    """
    _check_cut(cut)
    rank_biased_overlap([], [], p=p)  # refuses p before anything is ranked
    with lab.reading() as con:
        log = read_search_log(con)
    queries = logged_queries(log)
    table = candidates_for(lab, queries, config, encoder=encoder)
    same = config.setup == production.setup
    other = table if same else candidates_for(lab, queries, production, encoder=encoder)
    worlds = [WorldIds(one.corpus.worlds) for one in (table, other) if one.corpus is not None]
    shown = dict(log.select("query_id", "shown").iter_rows())
    logged = {
        query_id: logged_list(shown[query_id], worlds, at, scope)
        for query_id, at, scope in queries.select("query_id", "asked_at", "scope").iter_rows()
    }
    run = Ranked(table, config, _lists(table, config, logged))
    floor = Ranked(other, production, _lists(other, production, logged))
    compared = {one: given for one, given in logged.items() if not given.set_aside}
    changes = {one: _change(given, run.lists[one], cut, p) for one, given in compared.items()}
    floors = {one: _change(given, floor.lists[one], cut, p) for one, given in compared.items()}
    frame = _frame(table, logged, changes, floors)
    return LogReplay(
        queries=frame,
        differences=explained(changes, floors, run=run, production=floor),
        counts={
            "logged": log.height,
            "undated": log.height - queries.height,
            "replayed": len(compared),
            "set_aside": len(logged) - len(compared),
            "sessions": frame.filter(~pl.col("set_aside"))["session"].n_unique(),
            "ids": sum(one.asked for one in logged.values()),
            "prompt_unknown": queries.height if _hides_prompt(config, production) else 0,
            **{name: int(frame[name].sum()) for name in _SUMMED},
        },
        ledger=tuple(dict.fromkeys((*degradations(table), *degradations(other)))),
        config=config,
        production=production,
        stamp=table.stamp,
        cut=cut,
        p=p,
    )


def _hides_prompt(*configs: RankingConfig) -> bool:
    return any(config.admit.in_prompt != "show" for config in configs)


def _check_cut(cut: Cut) -> None:
    whole = isinstance(cut, int) and not isinstance(cut, bool) and cut >= 1
    if not whole and cut not in ("as_shown", "own"):
        message = f"cut must be 'as_shown', 'own' or a number of places >= 1, got {cut!r}"
        raise ParameterError(message)


def _lists(
    table: Candidates, config: RankingConfig, logged: Mapping[str, LoggedList]
) -> dict[str, list[str]]:
    """query_id -> ids the configuration shows, best first, without what cannot be replayed."""
    hits = shown_hits(table, rank(table, config)).sort("query_id", "rank")
    found = hits.group_by("query_id", maintain_order=True).agg("memory_id")
    listed = dict(found.iter_rows())
    return {
        query_id: [one for one in listed.get(query_id, []) if one not in given.missing]
        for query_id, given in logged.items()
    }


def _change(given: LoggedList, listed: Sequence[str], cut: Cut, p: float) -> ListChange:
    """From the log to one configuration."""
    if isinstance(cut, int):
        return list_change(given.ids[:cut], listed[:cut], p=p)
    # A log that shows nothing was not stopped by its length.
    length = len(given.ids) if cut == "as_shown" and given.asked else None
    return list_change(given.ids, listed[:length], p=p)


def _frame(
    table: Candidates,
    logged: Mapping[str, LoggedList],
    changes: Mapping[str, ListChange],
    floors: Mapping[str, ListChange],
) -> pl.DataFrame:
    head = table.queries.select(
        "query_id",
        day_of(pl.col("asked_at")).alias("session"),
        "asked_at",
        "scope",
        pl.col("text").alias("query"),
    )
    rows = [_row(given, changes.get(one), floors.get(one)) for one, given in logged.items()]
    instant = pl.Series("same_instant", table.query_notices["same_instant"], dtype=pl.Int64)
    told = pl.DataFrame(rows, schema=_QUERY).with_columns(instant)
    return pl.concat([head, told], how="horizontal")


_QUERY = {
    "p_shown": pl.Int64,
    "c_shown": pl.Int64,
    "entered": pl.Int64,
    "left": pl.Int64,
    "moved": pl.Int64,
    "churn": pl.Float64,
    "rbo": pl.Float64,
    "floor_churn": pl.Float64,
    "floor_rbo": pl.Float64,
    "unreplayable": pl.Int64,
    "not_yet": pl.Int64,
    "repeated": pl.Int64,
    "same_instant": pl.Int64,
    "set_aside": pl.Boolean,
}


def _row(one: LoggedList, change: ListChange | None, floor: ListChange | None) -> dict[str, Any]:
    found: dict[str, Any] = {
        "p_shown": len(one.ids),
        "unreplayable": one.unreplayable,
        "not_yet": one.not_yet,
        "repeated": one.repeated,
        "set_aside": one.set_aside,
    }
    if change is not None and floor is not None:
        both = change.kept + len(change.moved)
        found |= {
            "p_shown": both + len(change.left),
            "c_shown": both + len(change.entered),
            "entered": len(change.entered),
            "left": len(change.left),
            "moved": len(change.moved),
            "churn": change.churn,
            "rbo": change.rbo,
            "floor_churn": floor.churn,
            "floor_rbo": floor.rbo,
        }
    return found
