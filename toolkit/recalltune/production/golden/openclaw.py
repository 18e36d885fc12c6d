"""Which golden group of OpenClaw is answered by what.

Inputs that production accepts and our checked parameters do not are translated by these answers
and nowhere else; each group lists what it translates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from recalltune.production.golden import openclaw_lists as lists
from recalltune.production.golden import openclaw_scores as scores
from recalltune.production.golden.group import Case, Golden

__all__ = ["GROUPS"]

PRESET = "openclaw"


def _whole(case: Case) -> Case:
    return case


def _one(name: str) -> Callable[[Case], Any]:
    return lambda case: case[name]


def _some(*names: str) -> Callable[[Case], Any]:
    return lambda case: {name: case[name] for name in names}


# Most groups keep inputs and outputs in one mapping.
_flat = partial(Golden, preset=PRESET, given=_whole)
_MERGE = Golden(
    lists.merge,
    preset=PRESET,
    given=_one("input"),
    expected=_one("output"),
    translated=("text score t: BM25 t / (1 - t); 1: BM25 1e17",),
)

GROUPS: Mapping[str, Golden] = {
    "bm25_rank_to_score": _flat(
        scores.rank,
        expected=_one("score"),
        translated=("rank NaN or infinite: 999",),
    ),
    "text_similarity": _flat(scores.likeness, expected=_some("similarity", "raw_jaccard")),
    "importance_multiplier": _flat(
        scores.importance,
        expected=_one("multiplier"),
        translated=("importance outside [1, 10]: the nearer end",),
    ),
    "project_multiplier": _flat(scores.project, expected=_one("multiplier")),
    "decay": _flat(
        scores.decay,
        expected=_one("decayed"),
        translated=("age -5: age 0", "half-life 0 or -2 means off: enabled = false"),
    ),
    "path_dates": _flat(scores.date, expected=_some("date", "evergreen")),
    "decay_by_source": _flat(
        scores.decay_by_source,
        expected=_one("decayed"),
        cases=scores.timed,
        translated=("recorded time of a file: the age of the event",),
    ),
    "exact_path": _flat(scores.path, expected=_one("specificity")),
    "exact_tie": _flat(scores.tie, expected=_one("score")),
    "mmr_score": _flat(scores.objective, expected=_one("score")),
    "mmr_rerank": _flat(
        lists.rerank,
        expected=_one("order"),
        translated=("lambda outside [0, 1]: the nearer end",),
    ),
    "merge": _MERGE,
    "merge_fuzz": _MERGE,
    "select": _flat(lists.select, expected=_one("selected")),
    "lexical_boost": _flat(scores.boost, expected=_one("score")),
    "fts_query": _flat(scores.fts, expected=_one("fts")),
    "keyword_plan_trigram": _flat(scores.plan, expected=_some("matchQuery", "substringTerms")),
    "decay_weibull_half_life": _flat(
        scores.weibull,
        expected=_one("multiplier"),
        translated=("beta outside [0.1, 5]: the nearer end, 1.5 where it is not positive",),
    ),
}
