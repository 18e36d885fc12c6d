"""Charts of section 8: which cases move, and two of them closely."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl

from recalltune import charts
from recalltune.evaluate.query_views import flow, rival, waterfall, withheld, withheld_targets
from recalltune.evaluate.views import rank_gain
from recalltune.pipeline.config import RankingConfig
from recalltune.report.picture import NO_CONTENDER, NO_SWEEP, in_sample
from recalltune.report.story import Journey

__all__ = ["case_flips", "flow_of", "score_of_one"]

MEMORIES = 9


def case_flips(journey: Journey) -> Any:
    """Cases whose first target moves, or why there is no such chart."""
    if journey.sweep is None:
        return NO_SWEEP
    if journey.flips is None or journey.contender_config is None:
        return NO_CONTENDER
    return charts.case_flips(
        journey.flips,
        list_length=_top_k(journey.contender_config),
        cutoff=min(3, _top_k(journey.contender_config)),
        names=("current default", journey.contender_name),
        detail=in_sample(journey),
        stamp=journey.stamp(journey.contender_config),
    )


def flow_of(lang: str) -> Callable[[Journey], Any]:
    """Return the maker of the rank flow of the most telling case in one language."""

    def make(journey: Journey) -> Any:
        runs = dict(list(journey.runs.items())[:5])
        query_id = _telling_case(journey, lang)
        if query_id is None:
            return f"No case in the language {lang!r} has a target that any setting shows."
        query = journey.candidates.queries["text"][journey.candidates.position(query_id)]
        unknown = withheld_targets(journey.candidates, query_id)
        return charts.rank_flow(
            flow(journey.candidates, runs, query_id, most=MEMORIES),
            query=query,
            columns=list(runs),
            noun="setting",
            detail=f"{withheld(unknown)}." if unknown else "",
            stamp=journey.stamp(),
        )

    return make


def score_of_one(journey: Journey) -> Any:
    """How target and rival of the case that moves furthest came to their scores."""
    config = journey.contender_config or journey.default.config
    run = journey.contender or journey.default
    moved = journey.flips
    if moved is None:
        order = journey.default.cases["query_id"].to_list()
    else:
        furthest = moved.sort(rank_gain().abs(), "case_id", descending=[True, False])
        order = furthest["case_id"].to_list()
    for query_id in order:
        # The rival is what stood above the target under the current default.
        pair = rival(journey.candidates, journey.default, query_id) or rival(
            journey.candidates, run, query_id
        )
        if pair is not None:
            frame = waterfall(
                journey.candidates, config, query_id, {"target": pair[0], "rival": pair[1]}
            )
            row = journey.candidates.position(query_id)
            return charts.score_waterfall(
                frame,
                items=["target", "rival"],
                query=journey.candidates.queries["text"][row],
                detail=f"Setting: {journey.contender_name if journey.contender else 'default'}.",
                stamp=journey.stamp(config),
            )
    return "No case has both a target and another memory among its candidates."


def _telling_case(journey: Journey, lang: str) -> str | None:
    """The case of one language on which the settings disagree most about the first target."""
    pairs = journey.targets.select("query_id", "memory_id")
    mine = journey.candidates.queries.filter(pl.col("lang") == lang)["query_id"]
    best: dict[str, list[float]] = {query_id: [] for query_id in mine.to_list()}
    for run in journey.runs.values():
        hits = run.hits.join(pairs, on=["query_id", "memory_id"], how="semi")
        ranks = dict(hits.group_by("query_id").agg(pl.col("rank").min()).iter_rows())
        for query_id, seen in best.items():
            seen.append(1.0 / ranks[query_id] if query_id in ranks else 0.0)
    scored = [(max(s) - min(s), max(s), q) for q, s in best.items() if s and max(s) > 0]
    if not scored:
        return None
    return min(scored, key=lambda item: (-item[0], -item[1], item[2]))[2]


def _top_k(config: RankingConfig) -> int:
    found = [stage.top_k for stage in config.stages if stage.kind == "select"]
    return int(found[-1]) if found else 20
