"""What changed in the lists of a search log, each difference with the stage that makes it.

In: the changes of every query, and both runs. Out: one row a difference. What left has its fate
under the configuration; what entered has the fate that kept it out of production's list.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import polars as pl

from recalltune.candidates.table import Candidates
from recalltune.errors import ContractError
from recalltune.pipeline.config import RankingConfig
from recalltune.replay.fates import NEVER_INSIDE, fates
from recalltune.replay.list_changes import ListChange
from recalltune.replay.logged_lists import WorldIds

__all__ = ["NOISE", "Ranked", "explained"]

CUT = "cut"
"""Stage of a memory that a configuration lists below the length that is compared."""
NOISE = "noise floor"
"""Stage of a memory that production's own replay lists and its log does not."""


class Ranked(NamedTuple):
    """One run over the logged queries."""

    table: Candidates
    config: RankingConfig
    lists: Mapping[str, Sequence[str]]
    """query_id -> ids it shows, best first."""


@dataclass(frozen=True)
class _Difference:
    query_id: str
    memory_id: str
    change: str
    from_rank: int | None
    to_rank: int | None
    noise: bool
    fate: str | None = None
    stage: str | None = None
    margin: float | None = None
    unit: str | None = None
    by: str | None = None
    pushed_out_by: str | None = None


_SCHEMA = {
    "query_id": pl.String,
    "memory_id": pl.String,
    "change": pl.String,
    "from_rank": pl.Int64,
    "to_rank": pl.Int64,
    "noise": pl.Boolean,
    "fate": pl.String,
    "stage": pl.String,
    "margin": pl.Float64,
    "unit": pl.String,
    "by": pl.String,
    "pushed_out_by": pl.String,
}
_FATE = ["query_id", "memory_id", "fate", "stage", "margin", "unit", "by", "pushed_out_by"]


def explained(
    changes: Mapping[str, ListChange],
    floors: Mapping[str, ListChange],
    *,
    run: Ranked,
    production: Ranked,
) -> pl.DataFrame:
    """Return one row a difference: by query, what left, entered and moved, each by rank.

    Parameters
    ----------
    changes
        query_id -> what changes from the log to the configuration.
    floors
        query_id -> what changes from the log to production's own replay.
    run, production
        The configuration's run and production's.

    Returns
    -------
    pl.DataFrame
        query_id, memory_id, change, from_rank, to_rank, noise (production's own replay differs
        from the log in the same way), fate, stage, margin (in ``unit``), by, pushed_out_by (all as
        `fates` tells them), and explained_by: the stage to look at. That is the noise floor for
        noise, and for what ends beyond the last place the one that pushed it there, or the arms
        where it never stood before it. All from fate on are null for what moved.

    Raises
    ------
    ContractError
        If something entered or left and no stage makes it.
    """
    rows = [one for query_id in changes for one in _differences(query_id, changes, floors)]
    left = [_beyond(run, one, changes[one.query_id].length) for one in rows if one.change == "left"]
    entered = [
        replace(one, fate="shown", stage=NOISE)
        if one.noise
        else _beyond(production, one, floors[one.query_id].length)
        for one in rows
        if one.change == "entered"
    ]
    moved = [one for one in rows if one.change == "moved"]
    entered = _fates_of(_outside(production, entered), production)
    order = {query_id: place for place, query_id in enumerate(changes)}
    every = [*_fates_of(left, run), *entered, *moved]
    every.sort(key=lambda one: order[one.query_id])
    frame = pl.DataFrame([vars(one) for one in every], schema=_SCHEMA)
    return frame.with_columns(
        pl.when(pl.col("change") == "moved")
        .then(None)
        .when("noise")
        .then(pl.lit(NOISE))
        .when(pl.col("pushed_out_by") == NEVER_INSIDE)
        .then(pl.lit("arms"))
        .otherwise(pl.coalesce("pushed_out_by", "stage"))
        .alias("explained_by")
    )


def _differences(
    query_id: str, changes: Mapping[str, ListChange], floors: Mapping[str, ListChange]
) -> Iterator[_Difference]:
    change, floor = changes[query_id], floors[query_id]
    gone, come = {one for one, _ in floor.left}, {one for one, _ in floor.entered}
    moved = {(one, to) for one, _, to in floor.moved}
    for one, rank in change.left:
        yield _Difference(query_id, one, "left", rank, None, one in gone)
    for one, rank in change.entered:
        yield _Difference(query_id, one, "entered", None, rank, one in come)
    for one, before, after in change.moved:
        yield _Difference(query_id, one, "moved", before, after, (one, after) in moved)


def _outside(ranked: Ranked, rows: Sequence[_Difference]) -> list[_Difference]:
    """Name the fate of what is in the other run's world and not in this one's."""
    if ranked.table.corpus is None:
        return list(rows)
    world = WorldIds(ranked.table.corpus.worlds)
    asked = ranked.table.queries.select("query_id", "asked_at", "scope").rows_by_key("query_id")
    told = []
    for one in rows:
        [(at, scope)] = asked[one.query_id]
        inside = world.holds(one.memory_id, at, scope)
        elsewhere = world.holds(one.memory_id, at, None)
        fate = "scope" if elsewhere else "gate"
        told.append(one if inside else replace(one, fate=fate, stage="admit"))
    return told


def _beyond(ranked: Ranked, one: _Difference, length: int) -> _Difference:
    """Name the fate of what a run lists, but below the length that is compared."""
    listed = ranked.lists[one.query_id]
    if one.memory_id not in listed:
        return one
    margin = float(listed.index(one.memory_id) + 1 - length)
    return replace(one, fate="limit", stage=CUT, margin=margin, unit="places")


def _fates_of(rows: Sequence[_Difference], ranked: Ranked) -> list[_Difference]:
    """Rows without a fate get the one `fates` finds in a run."""
    wanted = [(one.query_id, one.memory_id) for one in rows if one.fate is None]
    if not wanted:
        return list(rows)
    schema = {"query_id": pl.String, "memory_id": pl.String}
    pairs = pl.DataFrame(wanted, schema=schema, orient="row")
    told = fates(ranked.table, ranked.config, pairs, rescue=False).select(_FATE)
    found = told.rows_by_key(["query_id", "memory_id"], named=True, unique=True)
    return [
        one if one.fate is not None else _named(one, found.get((one.query_id, one.memory_id), {}))
        for one in rows
    ]


def _named(one: _Difference, told: Mapping[str, Any]) -> _Difference:
    fate, stage = told.get("fate"), told.get("stage")
    # That it is shown explains nothing: it would be no difference.
    if fate in (None, "shown") or stage is None:
        message = (
            f"memory {one.memory_id!r} {one.change} the list of query {one.query_id!r} and no "
            f"stage makes it: its fate is {fate!r}"
        )
        raise ContractError(message)
    return replace(one, **{name: told[name] for name in _FATE[2:]})
