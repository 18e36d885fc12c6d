"""One query looked at closely: its lists in several runs, and what each stage did to a memory.

Memory texts are those of the span that was open when the query was asked, out of the candidate
table, which holds no untold span. A label whose memory was not known then, or never told, is
named nowhere: `withheld_targets` counts it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import polars as pl

from recalltune.candidates.table import Candidates
from recalltune.errors import ParameterError
from recalltune.pipeline.config import RankingConfig
from recalltune.pipeline.explain import explain

__all__ = [
    "Listing",
    "flow",
    "listed",
    "memories_then",
    "rival",
    "waterfall",
    "withheld",
    "withheld_targets",
]

MOST_MEMORIES = 12


class Listing(Protocol):
    """A run that has lists: an evaluation, or a replay."""

    @property
    def config(self) -> RankingConfig:
        """What it ranked with."""
        ...

    @property
    def hits(self) -> pl.DataFrame:
        """query_id, rank, memory_id, score, layer, superseded, tokens."""
        ...


def flow(
    candidates: Candidates,
    results: Mapping[str, Listing],
    query_id: str,
    *,
    most: int = MOST_MEMORIES,
) -> pl.DataFrame:
    """Rank of the memories that matter for one query in every run: targets, then the top ranks.

    Returns
    -------
    pl.DataFrame
        memory_id, label (text), column (run), rank (null: not shown), role (target; superseded:
        an earlier version of a target; other), layer; at most ``most`` memories. Targets that
        nobody was told of by then have no row, see `withheld_targets`.

    Raises
    ------
    ParameterError
        If the query is unknown.
    """
    wanted = _wanted(candidates, query_id)
    shown = {
        name: {
            row["memory_id"]: row["rank"]
            for row in run.hits.filter(pl.col("query_id") == query_id).iter_rows(named=True)
        }
        for name, run in results.items()
    }
    best: dict[str, int] = {}
    for ranks in shown.values():
        for memory_id, rank in ranks.items():
            best[memory_id] = min(rank, best.get(memory_id, rank))
    rest = sorted((m for m in best if m not in wanted), key=lambda m: (best[m], m))
    chosen = [*wanted, *rest][:most]
    facts = memories_then(candidates, query_id, chosen)
    rows = [
        {
            "memory_id": memory_id,
            "label": facts[memory_id]["text"],
            "column": name,
            "rank": ranks.get(memory_id),
            "role": _role(memory_id, wanted, facts, followed_by=wanted),
            "layer": facts[memory_id]["layer"],
        }
        for memory_id in chosen
        for name, ranks in shown.items()
    ]
    return pl.DataFrame(rows, schema=_FLOW)


def withheld_targets(candidates: Candidates, query_id: str) -> int:
    """Count the targets of a query that did not exist when it was asked, or were not told by then.

    Raises
    ------
    ParameterError
        If the query is unknown.
    """
    candidates.position(query_id)
    return len(_labelled(candidates, query_id, "target", exists=False))


def withheld(count: int, noun: str = "target") -> str:
    """Say how many memories a label names that must not be named.

    Examples
    --------
    >>> withheld(2)
    '2 targets withheld, or not known when this was asked'
    """
    return f"{count} {noun}{'' if count == 1 else 's'} withheld, or not known when this was asked"


def memories_then(
    candidates: Candidates, query_id: str, memory_ids: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """What each memory was when the query was asked, by its id.

    Keys: text, layer, event_at, superseded, superseded_by, known.
    ``known`` is false for a memory that did not exist or was never told; its text is then a note.
    """
    asked = int(candidates.queries["asked_at"][candidates.position(query_id)])
    mine = candidates.spans.filter(
        pl.col("memory_id").is_in(list(memory_ids))
        & (pl.col("enters_at") < asked)
        & (pl.col("leaves_at").is_null() | (pl.col("leaves_at") >= asked))
    ).sort("memory_id", "version")
    found: dict[str, dict[str, Any]] = {
        memory_id: {
            "text": "not known when this was asked",
            "layer": None,
            "event_at": None,
            "superseded": False,
            "superseded_by": None,
            "known": False,
        }
        for memory_id in memory_ids
    }
    for row in mine.iter_rows(named=True):
        ended = row["superseded_at"]
        found[row["memory_id"]] = {
            "text": row["text"],
            "layer": row["layer"],
            "event_at": row["event_at"],
            "superseded": ended is not None and ended < asked,
            "superseded_by": row.get("superseded_by"),
            "known": True,
        }
    return found


def listed(candidates: Candidates, run: Listing, query_id: str) -> pl.DataFrame:
    """The list one query is shown: rank, memory_id, text, layer, score, tokens, role, event_at."""
    wanted = _wanted(candidates, query_id)
    avoided = _labelled(candidates, query_id, "hard_negative", exists=True)
    hits = run.hits.filter(pl.col("query_id") == query_id).sort("rank")
    facts = memories_then(candidates, query_id, hits["memory_id"].to_list())
    rows = [
        {
            "rank": row["rank"],
            "memory_id": row["memory_id"],
            "text": facts[row["memory_id"]]["text"],
            "layer": row["layer"],
            "score": row["score"],
            "tokens": row["tokens"],
            "role": "hard negative"
            if row["memory_id"] in avoided
            else _role(row["memory_id"], wanted, facts),
            "event_at": facts[row["memory_id"]]["event_at"],
        }
        for row in hits.iter_rows(named=True)
    ]
    return pl.DataFrame(rows, schema=_LISTED)


def rival(candidates: Candidates, run: Listing, query_id: str) -> tuple[str, str] | None:
    """Return the best ranked target of a query and the best other memory above it, if any.

    Without another memory above, the one directly below stands in; None where the query has no
    target among its candidates or nothing to set against it.
    """
    table = listed(candidates, run, query_id)
    wanted = _wanted(candidates, query_id)
    mine = table.filter(pl.col("memory_id").is_in(wanted))
    if mine.height:
        target, rank = mine["memory_id"][0], int(mine["rank"][0])
    else:
        row = candidates.position(query_id)
        there = {
            candidates.memory_id(row, column)
            for column in range(candidates.span.shape[1])
            if candidates.span[row, column] >= 0
        }
        proposed = [memory_id for memory_id in wanted if memory_id in there]
        if not proposed:
            return None
        target, rank = proposed[0], table.height + 1
    others = table.filter(~pl.col("memory_id").is_in(wanted))
    above = others.filter(pl.col("rank") < rank)
    against = above.head(1) if above.height else others.head(1)
    return (target, str(against["memory_id"][0])) if against.height else None


def waterfall(
    candidates: Candidates,
    config: RankingConfig,
    query_id: str,
    memories: Mapping[str, str],
) -> pl.DataFrame:
    """How the score of some memories came about, stage by stage, in pipeline order.

    Parameters
    ----------
    candidates
        Made for ``config``.
    config
        The ranking whose stages are told.
    query_id
        One case.
    memories
        What each is called (target, rival) -> memory_id.

    Returns
    -------
    pl.DataFrame
        item, memory_id, label (text), step, stage, before, after, kind (start, factor, add,
        final), reason (of the final row: its rank, or the stage that took it out), scale, shift.
        Only stages that move scores have a row.

    Raises
    ------
    ParameterError
        If the query is unknown, or a memory is no candidate of it.
    """
    evidence = explain(candidates, config, query_id)
    known = set(evidence["memory_id"].to_list())
    facts = memories_then(candidates, query_id, list(memories.values()))
    rows = []
    for item, memory_id in memories.items():
        if memory_id not in known:
            message = f"{item} {memory_id!r} is no candidate of {query_id!r}; it has {len(known)}"
            raise ParameterError(message)
        mine = evidence.filter(pl.col("memory_id") == memory_id).sort("step")
        told = {"item": item, "memory_id": memory_id, "label": facts[memory_id]["text"]}
        for row in mine.drop_nulls("scale").iter_rows(named=True):
            rows.append(
                {
                    **told,
                    **{name: row[name] for name in ("step", "stage", "before", "after")},
                    "kind": _kind(row),
                    "reason": None,
                    "scale": row["scale"],
                    "shift": row["shift"],
                }
            )
        score = mine["after"][-1]
        rows.append(
            {
                **told,
                "step": mine["step"][-1] + 1,
                "stage": "final",
                "before": score,
                "after": score,
                "kind": "final",
                "reason": _outcome(mine),
                "scale": None,
                "shift": None,
            }
        )
    return pl.DataFrame(rows, schema=_WATERFALL)


def _wanted(candidates: Candidates, query_id: str) -> list[str]:
    candidates.position(query_id)
    return _labelled(candidates, query_id, "target", exists=True)


def _labelled(candidates: Candidates, query_id: str, role: str, *, exists: bool) -> list[str]:
    if not candidates.labels.height:
        return []
    mine = candidates.labels.filter(
        (pl.col("query_id") == query_id) & (pl.col("role") == role) & (pl.col("exists") == exists)
    )
    return mine.sort("memory_id")["memory_id"].unique(maintain_order=True).to_list()


def _role(
    memory_id: str,
    wanted: Sequence[str],
    facts: Mapping[str, Mapping[str, Any]],
    *,
    followed_by: Sequence[str] | None = None,
) -> str:
    """Target, superseded (by one of ``followed_by``, where that is given) or other."""
    if memory_id in wanted:
        return "target"
    mine = facts[memory_id]
    replaced = mine["superseded"] and (followed_by is None or mine["superseded_by"] in followed_by)
    return "superseded" if replaced else "other"


def _kind(row: Mapping[str, Any]) -> str:
    """What a score stage did: set the score, scale it, or add to it."""
    if row["scale"] == 0.0:
        return "start"
    return "add" if row["shift"] else "factor"


def _outcome(evidence: pl.DataFrame) -> str:
    if evidence["alive"][-1]:
        return f"rank {evidence['rank'][-1]}"
    lost = evidence.filter(~pl.col("alive"))["stage"][0]
    return f"lost at {lost}"


_FLOW = {
    "memory_id": pl.String,
    "label": pl.String,
    "column": pl.String,
    "rank": pl.Int64,
    "role": pl.String,
    "layer": pl.String,
}
_LISTED = {
    "rank": pl.Int64,
    "memory_id": pl.String,
    "text": pl.String,
    "layer": pl.String,
    "score": pl.Float64,
    "tokens": pl.Int64,
    "role": pl.String,
    "event_at": pl.Int64,
}
_WATERFALL = {
    "item": pl.String,
    "memory_id": pl.String,
    "label": pl.String,
    "step": pl.Int64,
    "stage": pl.String,
    "before": pl.Float64,
    "after": pl.Float64,
    "kind": pl.String,
    "reason": pl.String,
    "scale": pl.Float64,
    "shift": pl.Float64,
}
_LOSS = {
    "step": pl.Int64,
    "stage": pl.String,
    "alive": pl.Int64,
    "lost": pl.Int64,
    "reason": pl.String,
}
