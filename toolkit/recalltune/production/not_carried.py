"""What RecallNest cannot take from a config, each with the reason.

In: a config, the file it goes into, the values that change there. Out: one line for everything
that production will do otherwise than the config, and for every key that has no effect there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from recalltune.pipeline.config import RankingConfig, preset
from recalltune.production.recallnest_file import RecallNestFile
from recalltune.production.recallnest_keys import KEYS, POOL_LIMIT, half_life_of

__all__ = ["NotCarried", "not_carried"]


@dataclass(frozen=True)
class NotCarried:
    """One thing production does otherwise, or a key it does not heed."""

    what: str
    """A parameter address, a stage, or a key of the file."""
    value: str
    reason: str

    def __str__(self) -> str:
        return f"{self.what} = {self.value}: {self.reason}"


_MAPPED = {(key.kind, key.field) for key in KEYS} | {
    ("select", "top_k"),
    ("source_diversity", "places"),
    ("similarity_minimum", "min_score"),
}
# Kinds whose key in the file can say that they are left out.
_CAN_BE_OFF = {key.kind for key in KEYS} | {"source_diversity", "select", "similarity_minimum"}
_GENERIC = {
    "rrf": "RecallNest has no reciprocal rank fusion; it scores by 1 / (2 - cosine)",
    "mmr": "RecallNest has no lambda; it only defers what is too similar",
    "salience": "RecallNest weighs importance by a formula of its own (stage importance)",
    "recency": "RecallNest adds to the score where this multiplies (stage recency_boost)",
    "status": "RecallNest drops superseded entries (stage active)",
    "threshold": "RecallNest has one minimum per category (stage category_minimum)",
    "recallnest_fusion": "RecallNest's hybrid mode; the export writes vector mode",
    "rerank_pool": "RecallNest's hybrid mode; the export writes vector mode",
    "light_rerank": "RecallNest's hybrid mode; the export writes vector mode",
    "interference": "RecallNest's enableRIF decides, which the export leaves as it is",
    "emotion_decay": "RecallNest's environment decides (RECALLNEST_EMOTION_SCORING)",
    "view_blend": "RecallNest's environment decides (RECALLNEST_MULTI_VECTOR)",
    "frequency_boost": "RecallNest's statistics file decides (frequency-stats.json)",
    "exact_tokens": "RecallNest does so by itself, with constants",
}
_SAID = {"kind", "name", "family"} | {
    f"{what}_days" for what in ("half_life", "mean_life", "rate", "stability")
}
_SELECT = {
    "floors": "RecallNest reserves no places per layer",
    "caps": "RecallNest limits no layer",
    "budget_tokens": "RecallNest's retrieval has no token budget",
    "packer": "RecallNest's retrieval has no token budget",
}


def not_carried(
    config: RankingConfig, file: RecallNestFile, values: Mapping[tuple[str, ...], Any]
) -> tuple[NotCarried, ...]:
    """Return everything in ``config`` that ``file`` cannot say, and every dead key.

    Parameters
    ----------
    config
        The config that is exported.
    file
        Its target.
    values
        Path below `retrieval` -> new value, for what changes.
    """
    base = preset("recallnest")
    return (
        *_arms(config, base),
        *_stages(config, base),
        *_profiles(config, base, values),
        *_dead_keys(config, file, values),
        *(
            NotCarried(
                f"retrieval.{key}", "set", "RecallNest heeds it, the config does not model it"
            )
            for key in file.not_modelled
        ),
    )


def _arms(config: RankingConfig, base: RankingConfig) -> Iterator[NotCarried]:
    for field in type(config.admit).model_fields:
        ours, theirs = getattr(config.admit, field), getattr(base.admit, field)
        if ours != theirs:
            yield NotCarried(f"admit.{field}", str(ours), f"fixed in RecallNest: {theirs}")
    if config.arms.lexical is not None:
        reason = "vector mode has no lexical arm; hybrid mode fuses by another formula"
        yield NotCarried("arms.lexical", "on", reason)
    if config.arms.substring is not None:
        reason = "RecallNest does not search letter by letter"
        yield NotCarried("arms.substring", "on", reason)
    if config.arms.dense is None:
        yield NotCarried("arms.dense", "off", "RecallNest always searches by vector")
    elif config.arms.dense.proposed() > POOL_LIMIT:
        reason = f"RecallNest's store returns at most {POOL_LIMIT} rows"
        yield NotCarried("arms.dense.width", str(config.arms.dense.width), reason)


def _stages(config: RankingConfig, base: RankingConfig) -> Iterator[NotCarried]:
    theirs = {stage.kind: stage for stage in base.stages}
    seen: list[str] = []
    for stage in config.stages:
        if stage.kind in seen:
            yield NotCarried(stage.name, "a second one", f"RecallNest runs {stage.kind} once")
        elif stage.kind in theirs and not (stage.fuses and config.arms.lexical is not None):
            seen.append(stage.kind)
            yield from _fields(stage, theirs[stage.kind])
        else:
            yield from _generic(stage)
    # A fusion of another kind has been named already.
    told = {*seen, *_CAN_BE_OFF, "recallnest_fusion"}
    for kind in theirs:
        if kind not in told:
            yield NotCarried(kind, "left out", "RecallNest always runs it")
    if seen != [kind for kind in theirs if kind in seen]:
        yield NotCarried("the order of stages", " ".join(seen), "fixed in RecallNest's code")


def _fields(stage: Any, theirs: Any) -> Iterator[NotCarried]:
    ours, fixed = stage.canonical(), theirs.canonical()
    if stage.kind == "select":
        reason = "the caller of RecallNest sets the limit, at most 20"
        yield NotCarried(f"{stage.name}.top_k", str(stage.top_k), reason)
    for field, value in ours.items():
        off = stage.kind == "length" and field == "strength" and value == 0
        mapped = field in ("kind", "name") or (stage.kind, field) in _MAPPED
        if mapped or off or value == fixed.get(field, getattr(theirs, field)):
            continue
        reason = f"a constant in RecallNest: {getattr(theirs, field)}"
        if stage.kind == "select":
            reason = _SELECT[field]
        if stage.kind == "recallnest_fusion" and field.endswith("_weight"):
            reason = "vector mode heeds neither vectorWeight nor bm25Weight"
        yield NotCarried(f"{stage.name}.{field}", str(value), reason)


def _generic(stage: Any) -> Iterator[NotCarried]:
    effective = stage.canonical()
    if stage.kind == "decay":
        yield from _decay(stage)
        return
    neutral = {
        "mmr": lambda: stage.lambda_ == 1,
        "salience": lambda: stage.salience_weight == 0,
        "recency": lambda: stage.weight == 0,
        "status": lambda: stage.superseded_weight == stage.retracted_weight == 1,
        "threshold": lambda: stage.min_score == 0,
    }
    if not neutral.get(stage.kind, lambda: False)():
        shown = ", ".join(f"{k} {v}" for k, v in effective.items() if k not in ("kind", "name"))
        reason = _GENERIC.get(stage.kind, "RecallNest has no such stage")
        yield NotCarried(stage.name, shown or "on", reason)


def _decay(stage: Any) -> Iterator[NotCarried]:
    if stage.family == "none":
        return
    days = half_life_of(stage)
    carried = "nothing is carried" if days is None else "the half-life is carried"
    if stage.family not in ("exponential", "weibull"):
        told = carried if days is None else f"the age of weight one half is carried, {days:g} days"
        reason = f"RecallNest fades by Weibull curves; {told}"
        yield NotCarried(f"{stage.name}.family", stage.family, reason)
    for field, value in stage.canonical().items():
        if field not in _SAID:
            reason = f"RecallNest decays per tier, with constants; {carried}"
            yield NotCarried(f"{stage.name}.{field}", str(value), reason)


def _profiles(
    config: RankingConfig, base: RankingConfig, values: Mapping[tuple[str, ...], Any]
) -> Iterator[NotCarried]:
    listed = {stage.name for stage in config.stages}
    for name in sorted({*config.profiles, *base.profiles}):
        ours = config.profiles.get(name, {})
        fixed = {
            address: value
            for address, value in base.profiles.get(name, {}).items()
            if address.partition(".")[0] in listed
        }
        if ours != fixed:
            differing = sorted(a for a in {*ours, *fixed} if ours.get(a) != fixed.get(a))
            reason = "RecallNest's profiles are in its code"
            yield NotCarried(f"profiles.{name}", ", ".join(differing), reason)
    for key in KEYS:
        own = {n: p[key.address] for n, p in base.profiles.items() if key.address in p}
        if key.path in values and own:
            themselves = ", ".join(f"{name} {value:g}" for name, value in own.items())
            reason = f"reaches only the profile default; the others set it themselves: {themselves}"
            yield NotCarried(f"retrieval.{key.name}", str(values[key.path]), reason)


def _dead_keys(
    config: RankingConfig, file: RecallNestFile, values: Mapping[tuple[str, ...], Any]
) -> Iterator[NotCarried]:
    for key in ("vectorWeight", "bm25Weight"):
        if key in file.keys:
            yield NotCarried(f"retrieval.{key}", "kept", "has no effect in vector mode")
    if file.pool is not None and file.pool > POOL_LIMIT:
        reason = f"has no effect above {POOL_LIMIT}: the store returns no more"
        yield NotCarried("retrieval.candidatePoolSize", f"{file.pool:g}", reason)
    dense = config.arms.dense
    if file.min_score is not None and file.min_score <= 1 / 3 and ("minScore",) not in values:
        reason = "has no effect up to 1/3: no vector scores less"
        yield NotCarried("retrieval.minScore", f"{file.min_score:g}", reason)
    elif dense is not None and dense.min_cosine > -1:
        reason = "short queries take 0.6 of it, the config does not"
        yield NotCarried("arms.dense.min_cosine", str(dense.min_cosine), reason)
    if ("hardMinScore",) in values:
        reason = "reaches only memories outside the six categories, which have their own minima"
        yield NotCarried("retrieval.hardMinScore", f"{values['hardMinScore',]:g}", reason)
