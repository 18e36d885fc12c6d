"""When a list that is shown counts as a use of its memories: the rule of the access tracker."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, field_validator

from recalltune.errors import ParameterError, Settings
from recalltune.pipeline.config import RankingConfig
from recalltune.pipeline.run import with_profile
from recalltune.pipeline.stage import Stage

__all__ = ["AccessRule", "Counter", "refuse_unbounded"]

SECOND_MICROSECONDS = 1_000_000
_LONGEST = 31_536_000.0
"""Seconds of a year."""


class Counter(Settings):
    """How one counter takes uses in."""

    flush_lag_seconds: float = Field(default=5.0, ge=0, le=_LONGEST)
    """Seconds, >= 0. A use is written, and dated, this long after the list was shown."""
    cooldown_seconds: float = Field(default=300.0, ge=0, le=_LONGEST)
    """Seconds, >= 0. A memory shown again sooner than this after its last counted use is not
    counted. At one instant it is counted once, whatever the cooldown."""

    @property
    def lag_us(self) -> int:
        """Microseconds between the list and the use."""
        return round(self.flush_lag_seconds * SECOND_MICROSECONDS)

    @property
    def cooldown_us(self) -> int:
        """Microseconds, at least 1: the store keeps one use of a memory an instant."""
        return max(1, round(self.cooldown_seconds * SECOND_MICROSECONDS))


class AccessRule(Counter):
    """What counts as a use, and which uses a list may see.

    A use at time e is seen by a query at t iff e < t. The defaults are RecallNest's, whose second
    counter (``evolution``) has neither lag nor cooldown; its novelty test is off, as in production.
    """

    shown_top: int | None = Field(default=None, ge=1, le=100_000)
    """>= 1. How many places from the top of a list count as uses; None: all that is shown."""
    silent_kinds: tuple[str, ...] = ("auto_recall", "probe")
    """Kinds of query whose lists are no use: probes of an evaluation, recall that nobody asked
    for."""
    accesses: Literal["simulated", "recorded"] = "simulated"
    """simulated: recorded uses before the first query that counts, then those of the lists shown.
    recorded: the uses of the data, and none of the lists. Never both."""
    recorded_before_start: bool = True
    """False: the walk starts with no use of anything."""
    evolution: Counter | None = Counter(flush_lag_seconds=0.0, cooldown_seconds=0.0)
    """The second counter; None: every stage reads the one counter."""
    evolution_stages: tuple[str, ...] = ("access_boost", "evolution_blend")
    """Kinds of stage that read the second counter, in everything they read of use."""
    tier_moves: bool = False
    """Whether a flush moves a memory's tier by `rank.tier_move`, as RecallNest does. Tiers are
    those of the first counter."""

    @field_validator("silent_kinds", "evolution_stages", mode="before")
    @classmethod
    def _as_tuple(cls, names: Any) -> Any:
        return tuple(sorted(set(names))) if isinstance(names, list | tuple) else names

    def counter_of(self, stage: Stage) -> int:
        """Return which counter a stage reads: 0 the tracker's, 1 ``evolution``."""
        return int(self.evolution is not None and stage.kind in self.evolution_stages)

    def counter(self, number: int) -> Counter:
        """Return the counter of that number."""
        return self if number == 0 or self.evolution is None else self.evolution


def refuse_unbounded(config: RankingConfig) -> None:
    """Refuse a config in which use can raise a score without limit, in any of its profiles.

    Every other stage that reads use has a ceiling of its own: ``cap``, ``max_multiple``, or a
    weight that never passes 1.

    Raises
    ------
    ParameterError
        If a ``frequency_boost`` is on: its multiplier grows with every doubling of the uses.
    """
    for profile in (None, *sorted(config.profiles)):
        where = "" if profile is None else f" in profile {profile!r}"
        for stage in with_profile(config, profile).stages:
            if stage.kind == "frequency_boost" and stage.weight > 0.0:
                message = (
                    f"{stage.name}.weight must be 0 where uses are simulated, got "
                    f"{stage.weight:g}{where}: its bonus has no ceiling; access_boost has one"
                )
                raise ParameterError(message)
