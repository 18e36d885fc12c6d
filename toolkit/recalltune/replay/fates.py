"""Where each wanted memory was lost: the first stage that removes it for good, and by how much.

In: candidates, a config, pairs of query and memory. Out: one fate a pair. The memories are looked
at beside the run and never take part in it: naming more of them changes no list.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recalltune.candidates.table import Candidates
from recalltune.candidates.trace import trace, visible_successor
from recalltune.evaluate.run import Split, in_split
from recalltune.pipeline.config import RankingConfig
from recalltune.pipeline.ranks import LabelSlots, ranks_of
from recalltune.pipeline.run import check_setup
from recalltune.pipeline.stages import Select
from recalltune.replay.walk import Walk, walks

__all__ = ["FATES", "FATES_SCHEMA", "NEVER_INSIDE", "fates", "targets_of"]

FATES = (
    "unknown_id", "not_yet", "ended", "scope", "gate", "status", "copy", "in_context", "arms",
    "pool", "threshold", "suppress", "quota", "budget", "oversize", "limit", "shown",
)  # fmt: skip
"""Every fate, in the order in which a memory can meet them by default."""

NEVER_INSIDE = "never_inside"
"""In ``pushed_out_by``: the memory was below the last place at every stage."""

FATES_SCHEMA: Mapping[str, Any] = {
    "query_id": pl.String,
    "memory_id": pl.String,
    "fate": pl.String,
    "stage": pl.String,
    "margin": pl.Float64,
    "unit": pl.String,
    "by": pl.String,
    "position": pl.Int64,
    "pushed_out_by": pl.String,
    "rescued_by": pl.List(pl.String),
    "score_gap": pl.Float64,
}

_BEFORE_STAGES = {"status": "admit", "copy": "admit", "in_context": "admit", "arms": "arms"}
"""Fate -> what keeps the memory out; everything else is a matter of the world."""
# What was never told is unknown here; an id that a label names must not come back beside that.
_UNSEEN = ("unknown_id", "scope", "gate")
"""Fates of memories the query may not see: counted, never named."""


def fates(
    candidates: Candidates,
    config: RankingConfig,
    wanted: pl.DataFrame | None = None,
    *,
    split: Split = "tune",
    rescue: bool = True,
    progress: Callable[[int], None] | None = None,
) -> pl.DataFrame:
    """Return what became of each wanted memory, one row a pair, in their order.

    Parameters
    ----------
    candidates
        Made for ``config``; it keeps what was searched.
    config
        Ranked as it stands; a case's profile is honoured.
    wanted
        query_id, memory_id: distinct pairs. None: every target of the labels.
    split
        Whose targets where none are given: tune, held_out or all, as `evaluate` has it.
    rescue
        False leaves ``rescued_by`` null: it costs one run a stage.
    progress
        Told the number of queries just finished.

    Returns
    -------
    pl.DataFrame
        ``fate``: one of `FATES`. ``stage``: name of the stage that took the memory out for good;
        world, admit or arms before any stage; null where it is shown. ``margin``, ``unit``: by how
        much, all else equal, > 0 where lost: days to the instant that decides, ranks past the
        width of the nearest arm, score, similarity or worth missing, items over the cap, places,
        tokens or chars missing; where shown, the places left before the list ends, negative.
        ``by``: the memory in its way: successor, copy that speaks, blocker, the row that took its
        place. ``position``: place in the list the stage was given, or that it is shown at; for
        status and copy that of ``by`` in the list shown, null if it is not. For limit:
        ``pushed_out_by``, the last stage that moved it from the first top_k places to below them,
        or `NEVER_INSIDE`; ``rescued_by``, the stages without which, one at a time, it is shown;
        ``score_gap``, how much less than the last row above it it scores. ``memory_id`` is null
        for unknown_id, scope and gate.

    Raises
    ------
    ContractError
        If the candidates carry no labels and none are given, were made for another config, or keep
        nothing of what was searched while a memory is no candidate.
    ParameterError
        If a column is missing, a query is unknown or a pair occurs twice.

    Notes
    -----
    A row that a later stage brings back (`exact_tokens`) has the fate of the last stage that takes
    it out. The margin of a threshold is on the scale of the score at that stage.
    """
    check_setup(candidates, config)
    pairs = targets_of(in_split(candidates, split)) if wanted is None else wanted
    stands = trace(candidates, config, pairs)
    place = {query_id: row for row, query_id in enumerate(candidates.queries["query_id"])}
    rows = np.array([place[query_id] for query_id in stands["query_id"]], dtype=np.intp)
    told: list[dict[str, Any]] = [{} for _ in range(stands.height)]
    for walk in walks(candidates, config, np.unique(rows)):
        number = {row: at for at, row in enumerate(walk.rows)}
        mine = [at for at, row in enumerate(rows.tolist()) if row in number]
        query = np.array([number[int(rows[at])] for at in mine], dtype=np.intp)
        part = stands[mine]
        inside = (part["stands"] == "table").to_numpy()
        found = _inside(walk, query[inside], part.filter(inside), rescue=rescue)
        for at, row in zip(np.flatnonzero(inside).tolist(), found, strict=True):
            told[mine[at]] = row
        for at in np.flatnonzero(~inside).tolist():
            told[mine[at]] = _outside(walk, int(query[at]), part.row(at, named=True), config)
        if progress is not None:
            progress(len(walk.rows))
    return pl.DataFrame(told, schema=dict(FATES_SCHEMA))


def targets_of(candidates: Candidates) -> pl.DataFrame:
    """Return query_id, memory_id of every target the labels name, whether it exists or not."""
    if not candidates.labels.columns:
        return pl.DataFrame(schema={"query_id": pl.String, "memory_id": pl.String})
    goals = candidates.labels.filter(pl.col("role") == "target")
    return goals.select("query_id", "memory_id").unique(maintain_order=True)


def _outside(
    walk: Walk, query: int, stands: Mapping[str, Any], config: RankingConfig
) -> dict[str, Any]:
    """The fate of a memory that is no candidate."""
    fate = stands["stands"]
    named = None if fate in _UNSEEN else stands["memory_id"]
    row = {"query_id": stands["query_id"], "memory_id": named, "fate": fate}
    row["stage"] = _BEFORE_STAGES.get(fate, "world")
    if fate == "arms":
        return row | _nearest_arm(stands, config)
    if stands["distance_days"] is not None:
        row |= {"margin": stands["distance_days"], "unit": "days"}
    by = stands["by"]
    return row | {"by": by, "position": _position_of(walk, query, by)}


def _nearest_arm(stands: Mapping[str, Any], config: RankingConfig) -> dict[str, Any]:
    """How far the memory is behind the cut of the arm that came nearest to proposing it."""
    behind = []
    for arm in config.arms.names:
        rank, width = stands[f"{arm}_rank"], getattr(config.arms, arm)
        if rank is not None and stands[f"{arm}_why"] is None:
            behind.append((rank - width.proposed(), f"ranks in {arm}"))
    if not behind:
        return {}
    nearest, unit = min(behind)
    return {"margin": float(nearest), "unit": unit}


def _position_of(walk: Walk, query: int, memory_id: str | None) -> int | None:
    """Place of a memory in the list that is shown; None where it is not."""
    if memory_id is None:
        return None
    order = walk.states[-1].listed()[query]
    spans = walk.candidates.span[query, order[order >= 0]]
    ids = walk.candidates.spans["memory_id"].gather(spans).to_list()
    return ids.index(memory_id) + 1 if memory_id in ids else None


def _inside(
    walk: Walk, query: NDArray[np.intp], stands: pl.DataFrame, *, rescue: bool
) -> list[dict[str, Any]]:
    """The fates of candidates."""
    slots = LabelSlots(query, stands["column"].to_numpy().astype(np.intp))
    track = _Track.of(walk, slots)
    rows: list[dict[str, Any]] = []
    top_k = _last_place(walk)
    for at, pair in enumerate(stands.select("query_id", "memory_id").iter_rows(named=True)):
        row: dict[str, Any] = {**pair, "fate": "shown"}
        if track.lost_at[at] < 0:
            position = int(track.positions[-1, at])
            row["position"] = position
            if top_k is not None and position <= top_k:
                row |= {"margin": float(position - top_k - 1), "unit": "places"}
        rows.append(row)
    for stage in sorted({int(one) for one in track.lost_at if one >= 0}):
        lost = np.flatnonzero(track.lost_at == stage)
        for at, row in zip(lost.tolist(), _lost(walk, stage, track, lost), strict=True):
            rows[at] |= row
    limited = np.array([row["fate"] == "limit" for row in rows], dtype=np.bool_)
    if rescue and limited.any():
        rescued = _rescued(walk, track, limited)
        for at in np.flatnonzero(limited).tolist():
            rows[at]["rescued_by"] = rescued[at]
    return rows


def _last_place(walk: Walk) -> int | None:
    """How many places the last selection has; None where nothing selects."""
    places = [stage.top_k for stage in walk.stages if isinstance(stage, Select)]
    return places[-1] if places else None


@dataclass(frozen=True, eq=False)
class _Track:
    """Where L candidates stand after each stage."""

    slots: LabelSlots
    positions: NDArray[np.float64]
    """shape (stages, L), from 1; NaN = not in the list."""
    lost_at: NDArray[np.intp]
    """shape (L,), the stage that takes each out for good; -1 = it is shown."""
    best_arm: NDArray[np.float64]
    """shape (L,), the best rank an arm gave."""

    @classmethod
    def of(cls, walk: Walk, slots: LabelSlots) -> _Track:
        positions = np.stack([ranks_of(state, slots) for state in walk.states[1:]])
        there = ~np.isnan(positions)
        # From the end: how many stages in a row do not have it.
        gone = np.logical_and.accumulate(~there[::-1], axis=0).sum(axis=0)
        lost_at = np.where(gone > 0, len(walk.stages) - gone, -1)
        ranks = [
            values[slots.query, slots.at]
            for name, values in walk.candidates.features.items()
            if name in ("dense_rank", "lexical_rank", "substring_rank")
        ]
        best = np.full(slots.query.size, np.nan)
        for rank in ranks:
            best = np.fmin(best, rank)
        return cls(slots, positions, lost_at.astype(np.intp), best)

    def pushed_out_by(self, at: int, names: list[str], top_k: int) -> str:
        """The last stage after which a row stood below the places it stood in before."""
        path = [("arms", self.best_arm[at])]
        path += [(name, self.positions[stage, at]) for stage, name in enumerate(names)]
        known = [(name, position) for name, position in path if not np.isnan(position)]
        out = NEVER_INSIDE
        for (_, before), (name, after) in pairwise(known):
            if before <= top_k < after:
                out = name
        return out


def _lost(walk: Walk, stage: int, track: _Track, lost: NDArray[np.intp]) -> list[dict[str, Any]]:
    """What one stage says of the rows it took out."""
    decided, before = walk.stages[stage], walk.states[stage]
    query, column = track.slots.query[lost], track.slots.at[lost]
    told = decided.losses(before, walk.candidates, query, column)
    # Before the first stage nothing is ranked.
    position = track.positions[stage - 1, lost] if stage else np.full(lost.size, np.nan)
    rows = []
    for at, fate in enumerate(told.fate):
        by = int(told.by[at])
        row: dict[str, Any] = {
            "fate": fate,
            "stage": decided.name,
            "margin": None if np.isnan(told.margin[at]) else float(told.margin[at]),
            "unit": told.unit[at] or None,
            "by": walk.candidates.memory_id(int(query[at]), by) if by >= 0 else None,
            "position": None if np.isnan(position[at]) else int(position[at]),
        }
        if fate == "limit":
            assert isinstance(decided, Select)
            names = [one.name for one in walk.stages[:stage]]
            row["pushed_out_by"] = track.pushed_out_by(int(lost[at]), names, decided.top_k)
            if by >= 0:
                gap = before.score[query[at], by] - before.score[query[at], column[at]]
                row["score_gap"] = float(gap)
        if fate == "status":
            span = int(walk.candidates.span[query[at], column[at]])
            row["by"] = visible_successor(walk.candidates, int(query[at]), span)
            row["position"] = _position_of(walk, int(query[at]), row["by"])
        rows.append(row)
    return rows


def _rescued(walk: Walk, track: _Track, limited: NDArray[np.bool_]) -> list[list[str]]:
    """For each row: the stages without which, one at a time, it is shown."""
    found: list[list[str]] = [[] for _ in range(limited.size)]
    for stage, skipped in enumerate(walk.stages):
        behind = limited & (track.lost_at > stage)
        if skipped.fuses or not behind.any() or not walk.changes(stage):
            continue
        shown = ~np.isnan(ranks_of(walk.without(stage), track.slots))
        for at in np.flatnonzero(behind & shown).tolist():
            found[at].append(skipped.name)
    return found
