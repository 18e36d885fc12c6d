"""Golden groups of dsh-auto-memory: fusion with a layer arm, and the two token estimates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from recalltune.pipeline.config import RankingConfig
from recalltune.pipeline.stages import LayeredFusion
from recalltune.production.golden.group import Case, Golden
from recalltune.production.golden.one_query import applied, one_query, stage_of
from recalltune.rank.order import rank_order
from recalltune.rank.token_estimates import estimate_tokens_half, estimate_tokens_quarter

__all__ = ["GROUPS"]

_PUBLISHED = 60
_PLACES = {
    "rank_dense": "dense",
    "rank_lex": "lexical",
    "rank_layer": "layer",
    "rank_temp": "time",
}


def rrf(case: Case, config: RankingConfig) -> list[dict[str, Any]]:
    """Fused score and places of each row, best first."""
    # Columns stand in the order of ids, which is production's rule for ties.
    pairs = sorted(case["pairs"], key=lambda pair: pair["id"])
    rows = [
        {
            "memory_id": pair["id"],
            "layer": pair.get("layer"),
            "in_time_asked": pair.get("temp"),
            "dense_rank": dense,
            "lexical_rank": lexical,
        }
        for pair, dense, lexical in zip(
            pairs, _ranks(pairs, "dense"), _ranks(pairs, "lex"), strict=True
        )
    ]
    table = one_query(rows)
    stage: LayeredFusion = stage_of(config, LayeredFusion)
    if case["options"]["divisor"] != _PUBLISHED:
        stage = stage.with_(divisor=float(case["options"]["divisor"]))
    state = applied([stage], table, [0.0] * len(rows))[-1]
    places = stage.places(table)
    return [
        {
            "id": rows[column]["memory_id"],
            "fused": float(state.score[0, column]),
            **{name: _whole(places[arm][0, column]) for name, arm in _PLACES.items()},
        }
        for column in state.listed()[0]
    ]


def _ranks(pairs: Sequence[Mapping[str, Any]], arm: str) -> list[float]:
    """Ranks as an arm of the pipeline gives them; NaN where it has no score."""
    scores = np.array([pair.get(arm, np.nan) for pair in pairs], dtype=np.float64)
    ranks = np.full(scores.shape, np.nan)
    known = ~np.isnan(scores)
    ranks[rank_order(scores, known)[: known.sum()]] = np.arange(1, known.sum() + 1)
    return [float(rank) for rank in ranks]


def _whole(place: float) -> int | None:
    return None if np.isnan(place) else int(place)


def token_estimate(case: Case, config: RankingConfig) -> dict[str, int]:
    """Both estimates of a text of that length."""
    del config
    text = "a" * case["length"]
    return {"repo": estimate_tokens_quarter(text), "conservative": estimate_tokens_half(text)}


def _itself(case: Case) -> Any:
    return case


def _estimates(case: Case) -> Any:
    return {name: case[name] for name in ("repo", "conservative")}


def _output(case: Case) -> Any:
    return case["output"]


GROUPS: Mapping[str, Golden] = {
    "r4_rrf": Golden(rrf, preset="dsh-auto-memory", given=_itself, expected=_output),
    "r4_token_estimate": Golden(
        token_estimate,
        preset="dsh-auto-memory",
        translated=("a length: a text of so many letters",),
        given=_itself,
        expected=_estimates,
    ),
}
