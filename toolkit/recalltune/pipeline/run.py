"""One run of a config: candidates in, the state after each stage out."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from recalltune.candidates.table import Candidates
from recalltune.errors import ContractError, ParameterError, nearest
from recalltune.pipeline.address import set_many
from recalltune.pipeline.config import RankingConfig
from recalltune.pipeline.stage import Affine, ScoreStage, Stage, State

__all__ = ["check_setup", "profile_groups", "run", "start", "steps", "with_profile"]

DEFAULT_PROFILES = ("", "default", "general")


def start(candidates: Candidates) -> State:
    """Return the state before the first stage: every candidate alive, every score 0."""
    return State(score=np.zeros(candidates.span.shape), alive=candidates.valid)


def steps(
    candidates: Candidates,
    config: RankingConfig,
    *,
    without: Callable[[Stage], bool] | None = None,
) -> Iterator[tuple[Stage, Affine | None, State]]:
    """Yield (stage, its operands if it moves scores, the state after it).

    Stages for which ``without`` is true are passed over, to tell what they change.
    """
    state = start(candidates)
    for stage in config.stages:
        if without is not None and without(stage):
            continue
        operands = stage.affine(candidates) if isinstance(stage, ScoreStage) else None
        with np.errstate(all="raise", under="ignore"):
            state = stage.apply(state, candidates, operands)
        yield stage, operands, state


def run(candidates: Candidates, config: RankingConfig) -> State:
    """Return the state after the last stage; every query is ranked by ``config`` as it stands."""
    check_setup(candidates, config)
    state = start(candidates)
    for _, _, after in steps(candidates, config):
        state = after
    return state


def check_setup(candidates: Candidates, config: RankingConfig) -> None:
    """Refuse a config whose admit or arms are not the ones the candidates were made with."""
    if candidates.stamp.setup not in ("none", config.setup):
        message = (
            f"config {config.fingerprint} asks for admit/arms {config.setup}, the candidates were "
            f"made with {candidates.stamp.setup}; call candidates(lab, cases, config) for it"
        )
        raise ContractError(message)


def with_profile(config: RankingConfig, name: str | None) -> RankingConfig:
    """Return ``config`` as the named profile changes it.

    A config without profiles has one setting for every case; one with profiles refuses a name it
    does not have.
    """
    if not config.profiles or (name or "") in DEFAULT_PROFILES:
        return config
    overrides = config.profiles.get(str(name))
    if overrides is None:
        message = f"profile {name!r} is unknown; {nearest(str(name), config.profiles)}"
        raise ParameterError(message)
    return set_many(config, overrides)


def profile_groups(candidates: Candidates, config: RankingConfig) -> dict[str, list[int]]:
    """Return profile -> query rows; one group where the config has no profiles."""
    rows = list(range(candidates.queries.height))
    if not config.profiles:
        return {"": rows}
    groups: dict[str, list[int]] = {}
    for row, name in zip(rows, candidates.queries["profile"].to_list(), strict=True):
        key = "" if (name or "") in DEFAULT_PROFILES else str(name)
        groups.setdefault(key, []).append(row)
    return groups
