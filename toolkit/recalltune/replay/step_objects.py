"""One account a step as a program reads it: names, numbers and ids, never a text.

In: a replay. Out: dicts that JSON takes as they are, one at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from recalltune.candidates.arm_views import arm_views
from recalltune.candidates.table import Candidates
from recalltune.replay.account import displaced

if TYPE_CHECKING:
    from recalltune.replay.steps import Replay

__all__ = ["iso_utc", "step_objects"]

_LAYER = ("layer", "candidates", "picked", "dropped", "oversize", "tokens", "cap", "floor")
_STAGE = ("stage", "in", "removed", "returned", "out")
_FLOODING = (
    "largest_session_share", "candidate_session_share", "effective_sessions", "without_session",
)  # fmt: skip


def step_objects(walked: Replay) -> Iterator[dict[str, Any]]:
    """Yield the account of each step of a replay, in the order of the steps."""
    table = walked.candidates
    place = {query_id: row for row, query_id in enumerate(table.queries["query_id"].to_list())}
    layers = _with_displaced(walked, table).partition_by("query_id", as_dict=True)
    stages = walked.stages.partition_by("query_id", as_dict=True)
    hits = walked.hits.partition_by("query_id", as_dict=True)
    fates = walked.fates.partition_by("query_id", as_dict=True)
    whole = [hop.reason for hop in walked.ledger if hop.query_id is None]
    befell: dict[str, list[str]] = {}
    for hop in walked.ledger:
        if hop.query_id is not None:
            befell.setdefault(hop.query_id, []).append(hop.reason)
    admit = walked.config.admit
    for step in walked.steps.iter_rows(named=True):
        key = (query_id := step["query_id"],)
        yield {
            "query_id": query_id,
            "session": step["session"],
            "at": iso_utc(step["asked_at"]),
            "scope": step["scope"],
            "audience": admit.audience,
            "asks": step["asks"],
            "N": step["world"],
            "L": step["world_tokens"],
            "statistics": admit.statistics,
            "arms": _arms(table, walked, place[query_id]),
            "union": step["candidates"],
            "stages": _rows(stages.get(key), _STAGE),
            "layers": _rows(layers.get(key), (*_LAYER, "displaced")),
            "shown": [] if key not in hits else hits[key]["memory_id"].to_list(),
            "tokens": step["tokens"],
            "flooding": {name: step[name] for name in _FLOODING},
            "abstained": step["abstained"],
            "why": step["why"],
            "same_instant": step["same_instant"],
            "clamped_ages": step["clamped_ages"],
            "unknown_status_times": step["unknown_status"],
            "fates": _fates(fates.get(key)),
            "degraded": [*whole, *befell.get(query_id, [])],
            "run_id": walked.run_id,
            "config": walked.config.fingerprint,
            "data": walked.stamp.data,
            "encoder": walked.stamp.encoder,
        }


def iso_utc(microseconds: int) -> str:
    """Return microseconds since 1970 as ISO 8601 in UTC, with as many digits as there are.

    Examples
    --------
    >>> iso_utc(1_767_225_600_000_000), iso_utc(1_767_225_600_000_001)
    ('2026-01-01T00:00:00Z', '2026-01-01T00:00:00.000001Z')
    """
    seconds, rest = divmod(microseconds, 1_000_000)
    at = datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest)
    return at.isoformat().replace("+00:00", "Z")


def _with_displaced(walked: Replay, table: Candidates) -> pl.DataFrame:
    lost = displaced(table, walked.config)
    told = walked.accounts.join(lost, on=["query_id", "layer"], how="left", maintain_order="left")
    return told.with_columns(pl.col("displaced").fill_null(0))


def _rows(frame: pl.DataFrame | None, columns: tuple[str, ...]) -> list[dict[str, Any]]:
    return [] if frame is None else frame.select(columns).to_dicts()


def _fates(frame: pl.DataFrame | None) -> list[dict[str, Any]]:
    return [] if frame is None else _rows(frame, tuple(frame.columns[1:]))


def _arms(table: Candidates, walked: Replay, query: int) -> dict[str, dict[str, Any]]:
    """What each arm touched and returned, and the score at its cut."""
    told = {}
    for arm, view in arm_views(table, walked.config.arms, query).items():
        returned = int((~np.isnan(table.feature(f"{arm}_rank")[query])).sum())
        told[arm] = {
            "touched": view.touched,
            "returned": returned,
            "cut": view.cut,
            "abstained": view.abstained,
        }
    return told
