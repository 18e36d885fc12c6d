"""Fates as frames that charts and tables read: how many wanted memories are left after each stage.

In: fates, the config they come from. Out: tidy counts that add up to the number of fates.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from recalltune.pipeline.config import RankingConfig
from recalltune.replay.fates import FATES, NEVER_INSIDE

__all__ = ["NOT_THERE", "REASONS", "loss_account"]

NOT_THERE = ("unknown_id", "not_yet", "ended")
"""Fates of labels that name nothing that was there: they are no losses of the ranking."""

REASONS = {
    "unknown_id": "names no memory",
    "not_yet": "not there yet",
    "ended": "gone already",
    "scope": "in another scope",
    "gate": "not told yet",
    "status": "superseded or retracted",
    "copy": "a copy of one that may be shown",
    "in_context": "in the prompt already",
    "arms": "no arm proposed it",
    "pool": "below the rerank pool",
    "threshold": "under a minimum",
    "suppress": "suppressed",
    "quota": "layer places full",
    "budget": "does not fit",
    "oversize": "larger than the budget",
    "limit": "below the last place",
}
"""Fate of a lost memory -> why, in a few words."""

_STEPS = {
    "step": pl.Int64,
    "stage": pl.String,
    "alive": pl.Int64,
    "lost": pl.Int64,
    "reason": pl.String,
}


def loss_account(fates: pl.DataFrame, config: RankingConfig) -> pl.DataFrame:
    """Return how many wanted memories are left after each stage, and why the others are not.

    Parameters
    ----------
    fates
        From `fates`.
    config
        The config they come from.

    Returns
    -------
    pl.DataFrame
        step, stage, alive, lost, reason, as `charts.loss_stages` reads it: one row a stage and
        reason. First world, admit and arms, then the config's stages but for those that only move
        scores and lose nothing. The sum of ``lost`` and the last ``alive`` is the number of fates.
    """
    names = ["world", "admit", "arms", *(stage.name for stage in config.stages)]
    moving = {stage.name for stage in config.stages if stage.form == "score"}
    alive = fates.height
    rows: list[dict[str, Any]] = []
    for name in names:
        lost = list(_lost_at(fates, name))
        if not lost and name in moving:
            continue
        alive -= sum(count for _, count in lost)
        step = rows[-1]["step"] + 1 if rows else 0
        rows += [
            {"step": step, "stage": name, "alive": alive, "lost": count, "reason": reason}
            for reason, count in lost or [(None, 0)]
        ]
    return pl.DataFrame(rows, schema=_STEPS)


def _lost_at(fates: pl.DataFrame, stage: str) -> Iterator[tuple[str | None, int]]:
    """Reasons and counts of one stage; what is lost at the last place says what pushed it there."""
    mine = fates.filter(pl.col("stage") == stage)
    for fate in FATES:
        same = mine.filter(pl.col("fate") == fate)
        if fate != "limit":
            if same.height:
                yield REASONS[fate], same.height
            continue
        pushed = same.group_by("pushed_out_by").len().sort("len", "pushed_out_by", descending=True)
        for by, count in pushed.iter_rows():
            never = by in (None, NEVER_INSIDE)
            yield ("never in the first places" if never else f"pushed out by {by}"), int(count)
