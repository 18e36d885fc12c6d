"""Leads: what one arm of a rank fusion can turn round.

In: candidates, a config whose fusion gives places. Out: how often a lead of one place in one arm
survives when another arm prefers the follower. A place is worth less the deeper it is, so one
place in an arm of the same weight ties a lead of one place at the same depth, and flips only
deeper ones.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recalltune.candidates.table import Candidates
from recalltune.pipeline.config import RankingConfig
from recalltune.pipeline.run import check_setup
from recalltune.pipeline.stage import ScoreStage
from recalltune.rank.order import round_significant

__all__ = ["LEADS", "leads"]

LEADS = {
    "stage": pl.String,
    "arm": pl.String,
    "against": pl.String,
    "places": pl.String,
    "pairs": pl.Int64,
    "flipped": pl.Int64,
    "tied": pl.Int64,
}

Floats = NDArray[np.float64]


def leads(candidates: Candidates, config: RankingConfig) -> pl.DataFrame:
    """Return how many leads of one place each arm flips, ties or leaves.

    Parameters
    ----------
    candidates
        From `candidates(lab, case_set, config)`.
    config
        Its fusion is read, no stage after it; profiles are not applied.

    Returns
    -------
    pl.DataFrame
        stage, arm, against, places, pairs, flipped, tied. A pair is two candidates of a query that
        are neighbours in the arm ``against``, that ``arm`` ranks the other way round, and of which
        no further arm knows anything. ``places`` says by how much: "1, no deeper" and "1, deeper"
        for one place, with the lead no deeper in its list than the pair is in that of ``arm``, or
        deeper; "more" for several. ``flipped`` counts those where the follower has the higher
        fused score, ``tied`` those of equal score, which the memory_id settles. Empty where the
        fusion gives no places or has one arm.

    Raises
    ------
    ContractError
        If the candidates were made with other admit or arms models.
    """
    check_setup(candidates, config)
    rows = []
    for stage in config.stages:
        if not (isinstance(stage, ScoreStage) and stage.fuses and hasattr(stage, "places")):
            continue
        score = round_significant(stage.affine(candidates)(np.zeros(candidates.span.shape)))
        arms: Mapping[str, Floats] = stage.places(candidates)
        for arm in arms:
            for against in arms:
                if arm != against:
                    found = _pairs(score, arms, arm, against)
                    rows += [
                        {"stage": stage.name, "arm": arm, "against": against, **count}
                        for count in found
                    ]
    return pl.DataFrame(rows, schema=LEADS)


def _pairs(
    score: Floats, arms: Mapping[str, Floats], arm: str, against: str
) -> list[dict[str, str | int]]:
    counts = {
        places: np.zeros(3, dtype=np.int64) for places in ("1, no deeper", "1, deeper", "more")
    }
    unknown = np.logical_and.reduce(
        [np.isnan(place) for name, place in arms.items() if name not in (arm, against)]
        or [np.ones(score.shape, dtype=np.bool_)]
    )
    for query in range(score.shape[0]):
        order = np.argsort(arms[against][query], kind="stable")
        leader, follower = order[:-1], order[1:]
        mine = arms[arm][query]
        # A comparison with NaN, no place, is false.
        gained = mine[leader] - mine[follower]
        pair = unknown[query, leader] & unknown[query, follower]
        pair &= arms[against][query, follower] - arms[against][query, leader] == 1
        ahead = score[query, follower] - score[query, leader]
        deeper = arms[against][query, leader] > mine[follower]
        kinds = ((gained == 1) & ~deeper, (gained == 1) & deeper, gained > 1)
        for places, kind in zip(counts, kinds, strict=True):
            some = pair & kind
            counts[places] += [some.sum(), (some & (ahead > 0)).sum(), (some & (ahead == 0)).sum()]
    return [
        {"places": places, "pairs": int(pairs), "flipped": int(flipped), "tied": int(tied)}
        for places, (pairs, flipped, tied) in counts.items()
        if pairs
    ]
