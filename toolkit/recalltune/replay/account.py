"""What happened at every step of a replay, in numbers that add up.

In: candidates, a config. Out: rows in and out of each stage, why a list is empty, whose rows fill
it, and what stood in the world that was searched. Counts are over the world of each query alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recalltune.candidates.corpus import Corpus
from recalltune.candidates.table import Candidates
from recalltune.pipeline.config import RankingConfig
from recalltune.pipeline.stages import Select
from recalltune.replay.walk import Walk, in_list, walks

__all__ = ["WHY", "displaced", "emptied", "floods", "stage_account", "worlds_seen"]

WHY = ("empty_world", "no_evidence", "below_threshold", "suppressed", "quota_or_budget")
"""Why a list is empty: nothing was there, no arm proposed anything, or the last stage that took
the rest: for their score, for what they are or resemble, for places or budget."""

_WHY_OF_LOSS = {
    "threshold": "below_threshold",
    "limit": "quota_or_budget",
    "quota": "quota_or_budget",
    "budget": "quota_or_budget",
}

_STAGES: Mapping[str, Any] = {
    "query_id": pl.String,
    "step": pl.Int64,
    "stage": pl.String,
    "form": pl.String,
    "in": pl.Int64,
    "removed": pl.Int64,
    "returned": pl.Int64,
    "out": pl.Int64,
    "loses": pl.String,
}


def stage_account(
    candidates: Candidates,
    config: RankingConfig,
    *,
    progress: Callable[[int], None] | None = None,
) -> pl.DataFrame:
    """Return how many rows each stage was given, took out, brought back and left.

    Parameters
    ----------
    candidates
        Made for ``config``.
    config
        Ranked as it stands; a case's profile is honoured.
    progress
        Told the number of queries just finished.

    Returns
    -------
    pl.DataFrame
        query_id, step (from 1), stage, form, in, removed, returned, out, loses: in the order of
        the queries, then of the stages. ``in`` - ``removed`` + ``returned`` = ``out``, and ``out``
        is the next stage's ``in``; the first is given the candidates. ``returned`` is 0 but for a
        stage that reaches behind an earlier cut. ``loses``: what becomes of the rows it takes out.
    """
    parts = [pl.DataFrame(schema={"row": pl.Int64, **_STAGES})]
    for walk in walks(candidates, config):
        parts += _account(walk)
        if progress is not None:
            progress(len(walk.rows))
    return pl.concat(parts).sort("row", "step").drop("row")


def _account(walk: Walk) -> list[pl.DataFrame]:
    ids = walk.candidates.queries["query_id"]
    frames, before = [], in_list(walk.states[0])
    for step, (stage, state) in enumerate(zip(walk.stages, walk.states[1:], strict=True), start=1):
        after = in_list(state)
        frames.append(
            pl.DataFrame(
                {
                    "row": np.array(walk.rows, dtype=np.int64),
                    "query_id": ids,
                    "step": np.full(ids.len(), step, dtype=np.int64),
                    "stage": [stage.name] * ids.len(),
                    "form": [stage.form] * ids.len(),
                    "in": before.sum(axis=1),
                    "removed": (before & ~after).sum(axis=1),
                    "returned": (after & ~before).sum(axis=1),
                    "out": after.sum(axis=1),
                    "loses": [stage.loses] * ids.len(),
                },
                schema={"row": pl.Int64, **_STAGES},
            )
        )
        before = after
    return frames


def emptied(account: pl.DataFrame, worlds: pl.DataFrame) -> pl.DataFrame:
    """Return query_id, why: for each query one of `WHY`, null where something is shown.

    Parameters
    ----------
    account
        From `stage_account`.
    worlds
        query_id, world: how many rows each query could see.
    """
    took_the_rest = pl.col("loses").filter((pl.col("in") > 0) & (pl.col("out") == 0)).last()
    ends = account.group_by("query_id", maintain_order=True).agg(
        pl.col("out").last(), took_the_rest.alias("took")
    )
    told = ends.join(worlds.select("query_id", "world"), on="query_id", maintain_order="left")
    by_stage = pl.col("took").replace_strict(_WHY_OF_LOSS, default="suppressed")
    return told.select(
        "query_id",
        pl.when(pl.col("out") > 0)
        .then(pl.lit(None, pl.String))
        .when(pl.col("world") == 0)
        .then(pl.lit("empty_world"))
        .when(pl.col("took").is_null())
        .then(pl.lit("no_evidence"))
        .otherwise(by_stage)
        .alias("why"),
    )


def floods(candidates: Candidates, order: NDArray[np.intp]) -> pl.DataFrame:
    """Return whose rows fill each list: the session with most of them, beside its usual share.

    Parameters
    ----------
    candidates
        The table that was ranked.
    order
        shape (Q, K), columns shown, best first, -1 after the last.

    Returns
    -------
    pl.DataFrame
        query_id, largest_session_share (of the rows shown that have a session; of equals the first
        session by name), its candidate_session_share (of the candidates that have one),
        effective_sessions (1 / sum of squared shares; all three null where no row has a session),
        without_session (rows shown that have none).
    """
    known = candidates.spans
    named = known["session"] if "session" in known.columns else pl.Series([None] * known.height)
    code = named.cast(pl.String).rank("dense").fill_null(0).to_numpy().astype(np.int64)
    rows = []
    for row, query_id in enumerate(candidates.queries["query_id"].to_list()):
        listed = order[row][order[row] >= 0]
        shown = code[candidates.span[row, listed]]
        offered = code[candidates.span[row][candidates.span[row] >= 0]]
        rows.append((query_id, *_shares(shown, offered)))
    return pl.DataFrame(rows, schema=dict(_FLOODS), orient="row")


_FLOODS: Mapping[str, Any] = {
    "query_id": pl.String,
    "largest_session_share": pl.Float64,
    "candidate_session_share": pl.Float64,
    "effective_sessions": pl.Float64,
    "without_session": pl.Int64,
}


def _shares(
    shown: NDArray[np.int64], offered: NDArray[np.int64]
) -> tuple[float | None, float | None, float | None, int]:
    of_shown = np.bincount(shown)[1:] if shown.size else np.zeros(0, dtype=np.int64)
    without = int((shown == 0).sum())
    if not of_shown.sum():
        return None, None, None, without
    share = of_shown / of_shown.sum()
    largest = int(share.argmax())
    usual = float((offered == largest + 1).sum() / (offered > 0).sum())
    return float(share[largest]), usual, float(1.0 / (share**2).sum()), without


def worlds_seen(candidates: Candidates, corpus: Corpus) -> pl.DataFrame:
    """Return what each query could see, before any arm: its world in numbers.

    Returns
    -------
    pl.DataFrame
        query_id, world (N, rows), world_tokens (L, the lexical arm's own tokens; null without that
        arm), unknown_status (rows said to be superseded or retracted without a time: they count as
        current).
    """
    worlds, frame = corpus.worlds, corpus.worlds.spans.frame
    # The status is that of the latest state: of an earlier one it tells nothing.
    latest = pl.col("version") == pl.col("version").max().over("memory_id")
    untimed = frame.select(
        latest
        & (pl.col("status") != "current")
        & pl.col("superseded_at").is_null()
        & pl.col("retracted_at").is_null()
    ).to_series()
    unknown = untimed.fill_null(value=False).to_numpy()
    lengths = None if corpus.index is None else corpus.index.postings.lengths
    rows = []
    for query_id, at, scope in candidates.queries.select("query_id", "asked_at", "scope").rows():
        world = worlds.world(int(at), scope)
        tokens = None if lengths is None else int(lengths[world].sum())
        rows.append((query_id, int(world.sum()), tokens, int((unknown & world).sum())))
    return pl.DataFrame(rows, schema=dict(_WORLDS), orient="row")


_WORLDS: Mapping[str, Any] = {
    "query_id": pl.String,
    "world": pl.Int64,
    "world_tokens": pl.Int64,
    "unknown_status": pl.Int64,
}


def displaced(candidates: Candidates, config: RankingConfig) -> pl.DataFrame:
    """Return query_id, layer, displaced: rows that only the floors of other layers keep out.

    Rows the last selection would show without floors and does not show with them; layers that
    lose none have no row.
    """
    layers = np.array(candidates.codes["layer"], dtype=object)
    found: list[tuple[str, str, int]] = []
    for walk in walks(candidates, config):
        chosen = [at for at, stage in enumerate(walk.stages) if isinstance(stage, Select)]
        if not chosen or not any(walk.stages[chosen[-1]].floors.values()):  # type: ignore[attr-defined]
            continue
        at = chosen[-1]
        free = walk.stages[at].with_(floors={}).apply(walk.states[at], walk.candidates)
        lost = in_list(free) & ~in_list(walk.states[at + 1])
        layer = walk.candidates.feature("layer").astype(np.intp)
        for row, query_id in enumerate(walk.candidates.queries["query_id"].to_list()):
            for code, count in zip(
                *np.unique(layer[row][lost[row]], return_counts=True), strict=True
            ):
                found.append((query_id, str(layers[code]), int(count)))
    schema = {"query_id": pl.String, "layer": pl.String, "displaced": pl.Int64}
    return pl.DataFrame(found, schema=schema, orient="row")
