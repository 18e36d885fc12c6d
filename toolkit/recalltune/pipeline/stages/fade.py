"""Fading: weights that fall with age, by any published curve, or with the history of use.

In: candidates. Out: factors in [0, 1]. A memory without an event time is left unchanged. What a
number of days means is told by its field: a half-life, a mean life, a stability and a rate are
four fields, and a family reads the one that is its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, field_validator

from recalltune.candidates.table import Candidates
from recalltune.pipeline.bounds import affine_bounds
from recalltune.pipeline.stage import Affine, ScoreStage
from recalltune.pipeline.stages.weigh import by_code
from recalltune.rank.decay import (
    exponential,
    half_floor,
    linear,
    mean_life,
    power,
    reinforced_half_life,
    weibull,
    weibull_rate,
    with_floor,
)
from recalltune.rank.forgetting import act_r, fsrs

__all__ = ["ActR", "Decay"]

Floats = NDArray[np.float64]


class _Family(NamedTuple):
    """One published curve: the field that is its time, and the other fields it reads."""

    days: str
    curve: Callable[..., Floats]
    """(ages, days, *values of the other fields) -> weights."""
    reads: tuple[str, ...] = ()


_FAMILIES: Mapping[str, _Family] = MappingProxyType(
    {
        "exponential": _Family(
            "half_life_days", lambda ages, days: exponential(ages, half_life_days=days)
        ),
        "weibull": _Family(
            "half_life_days",
            lambda ages, days, shape: weibull(ages, half_life_days=days, shape=shape),
            ("shape",),
        ),
        "power": _Family(
            "half_life_days",
            lambda ages, days, exponent: power(ages, half_life_days=days, exponent=exponent),
            ("exponent",),
        ),
        "linear": _Family("half_life_days", lambda ages, days: linear(ages, half_life_days=days)),
        "mean_life": _Family(
            "mean_life_days", lambda ages, days: mean_life(ages, mean_life_days=days)
        ),
        "half_floor": _Family(
            "mean_life_days", lambda ages, days: half_floor(ages, mean_life_days=days)
        ),
        "weibull_rate": _Family(
            "rate_days",
            lambda ages, days, shape: weibull_rate(ages, half_life_days=days, shape=shape),
            ("shape",),
        ),
        "fsrs": _Family(
            "stability_days",
            lambda ages, days, exponent: fsrs(ages, stability_days=days, exponent=exponent),
            ("fsrs_exponent",),
        ),
    }
)
_ALWAYS_READ = {"kind", "name", "family"}
_OFF_WHERE_EMPTY = {
    "layer_days",
    "reinforcement",
    "exempt_pinned",
    "exempt_layers",
    "exempt_categories",
}
_USE = {"access_mean_life_days", "max_multiple"}


class Decay(ScoreStage):
    """Multiply by a weight that falls with age; a memory without event time is left unchanged."""

    kind: Literal["decay"] = "decay"
    family: Literal[
        "none",
        "exponential",
        "weibull",
        "power",
        "linear",
        "mean_life",
        "half_floor",
        "weibull_rate",
        "fsrs",
    ] = "exponential"
    """The curve, t = age in days. none: off. By half_life_days h: exponential 2^-(t/h); weibull
    2^-((t/h)^shape); power (1 + (2^(1/exponent) - 1) t/h)^-exponent; linear 1 - t/2h, then 0. By
    mean_life_days m: mean_life e^-(t/m); half_floor 0.5 + 0.5 e^-(t/m). By rate_days r:
    weibull_rate 2^-(t^shape/r). By stability_days S, p = fsrs_exponent: fsrs
    (1 + (0.9^(-1/p) - 1) t/S)^-p."""
    half_life_days: float = Field(default=30.0, gt=0, le=36_500)
    """Days, > 0. The age at which the weight, before the floor, is one half."""
    mean_life_days: float = Field(default=30.0, gt=0, le=36_500)
    """Days, > 0. mean_life: weight 0.368 here. half_floor: 0.684; it never reaches one half."""
    rate_days: float = Field(default=30.0, gt=0, le=36_500)
    """> 0. weibull_rate: one half at rate_days^(1/shape) days; upstream calls it half-life."""
    stability_days: float = Field(default=30.0, gt=0, le=36_500)
    """Days, > 0. fsrs: weight 0.9 here."""
    shape: float = Field(default=1.0, gt=0, le=5)
    """(0, 5]. weibull: below 1 forgets faster before the half-life and slower after it; above 1
    is the reverse. weibull_rate: the same around an age of one day."""
    exponent: float = Field(default=0.5, ge=0.01, le=100)
    """[0.01, 100]. power: smaller forgets faster before the half-life, with a heavier tail."""
    fsrs_exponent: float = Field(default=0.1542, ge=0.01, le=100)
    """[0.01, 100]. fsrs: 0.1542 is FSRS-6, 0.5 FSRS-4.5 and 5, 1 FSRS v4."""
    floor: float = Field(default=0.0, ge=0, lt=1)
    """[0, 1). floor + (1 - floor) * weight: what never fades."""
    layer_days: dict[str, float] = Field(default_factory=dict)
    """layer -> days, (0, 36500], in the place of the family's own days."""
    reinforcement: float = Field(default=0.0, ge=0, le=10)
    """>= 0. How strongly use stretches the family's days; 0 is off, RecallNest has 0.5."""
    access_mean_life_days: float = Field(default=30.0, gt=0, le=36_500)
    """Days, > 0. 1/e of an access counts this long after it."""
    max_multiple: float = Field(default=3.0, ge=1, le=100)
    """>= 1. The most that use can stretch the days, as a multiple."""
    exempt_pinned: bool = False
    """Whether pinned memories do not fade."""
    exempt_layers: tuple[str, ...] = ()
    """Layers that do not fade."""
    exempt_categories: tuple[str, ...] = ()
    """Categories that do not fade."""

    @field_validator("exempt_layers", "exempt_categories", mode="before")
    @classmethod
    def _as_tuple(cls, names: Any) -> Any:
        return tuple(sorted(set(names))) if isinstance(names, list | tuple) else names

    @field_validator("layer_days")
    @classmethod
    def _days_in_range(cls, layer_days: dict[str, float]) -> dict[str, float]:
        for layer, days in layer_days.items():
            if not 0 < days <= 36_500:
                message = f"must lie in (0, 36500] for every layer, got {days:g} for {layer!r}"
                raise ValueError(message)
        return dict(sorted(layer_days.items()))

    def layers_named(self) -> tuple[str, ...]:
        """Return the layers with days of their own or an exemption."""
        return (*self.layer_days, *self.exempt_layers)

    def unread(self) -> set[str]:
        """Return what the family does not read."""
        read = set(_ALWAYS_READ)
        if self.family != "none":
            family = _FAMILIES[self.family]
            read |= {family.days, *family.reads, "floor", *_OFF_WHERE_EMPTY}
            read |= _USE if self.reinforcement else set()
        return set(type(self).model_fields) - read

    def canonical(self) -> dict[str, Any]:
        """What is empty or 0 is off, the same as not said."""
        said = super().canonical()
        return {
            name: value for name, value in said.items() if value or name not in _OFF_WHERE_EMPTY
        }

    @property
    def fades(self) -> bool:
        """Unless it is off."""
        return self.family != "none"

    @property
    def days(self) -> float:
        """The family's own days: half-life, mean life, rate or stability; infinite for none."""
        if self.family == "none":
            return math.inf
        return float(getattr(self, _FAMILIES[self.family].days))

    @property
    def half_age_days(self) -> float | None:
        """The age at which the weight, before the floor, is one half; None where it never is."""
        if self.family in ("none", "half_floor"):
            return None
        if self.family == "mean_life":
            return self.days * math.log(2.0)
        if self.family == "weibull_rate":
            return float(self.days ** (1.0 / self.shape))
        if self.family == "fsrs":
            return float(
                self.days
                * math.expm1(math.log(2.0) / self.fsrs_exponent)
                / math.expm1(-math.log(0.9) / self.fsrs_exponent)
            )
        return self.days

    def weight(self, ages: Floats, days: Floats | float | None = None) -> Floats:
        """Return the weight of each age in days, floor included; 1 for family none.

        Parameters
        ----------
        ages
            shape (…), days, finite, >= 0.
        days
            broadcasts; in the place of the family's own days.
        """
        if self.family == "none":
            return np.ones_like(ages)
        family = _FAMILIES[self.family]
        others = [getattr(self, name) for name in family.reads]
        curve = family.curve(ages, self.days if days is None else days, *others)
        return with_floor(curve, floor=self.floor)

    def affine(self, candidates: Candidates) -> Affine:
        """Scale by the weight."""
        if self.family == "none":
            return Affine()
        ages = candidates.feature("age_days")
        fading = self.fading(candidates)
        weight = np.ones_like(ages)
        weight[fading] = self.weight(ages[fading], self._days_of(candidates)[fading])
        return Affine(weight)

    def attainable(self, low: float, high: float) -> tuple[float, float]:
        """Return the bounds under weights from the least one to 1."""
        if self.family == "none":
            return low, high
        least = self.floor + (1 - self.floor) * (0.5 if self.family == "half_floor" else 0.0)
        return affine_bounds((low, high), scale=(least, 1.0))

    def fading(self, candidates: Candidates) -> NDArray[np.bool_]:
        """Return shape (Q, C), True where a memory has an event time and no exemption."""
        dated: NDArray[np.bool_] = ~np.isnan(candidates.feature("age_days"))
        return dated & ~self._exempt(candidates)

    def unused_days(self, candidates: Candidates) -> Floats:
        """Return shape (Q, C): the days of each candidate by its layer, before any use."""
        return by_code(candidates, "layer", self.layer_days, other=self.days)

    def _days_of(self, candidates: Candidates) -> Floats:
        """Shape (Q, C): the days of each candidate, by its layer and as use has stretched them."""
        days = self.unused_days(candidates)
        if not self.reinforcement:
            return days
        return reinforced_half_life(
            candidates.feature("access_count"),
            candidates.feature("days_since_access"),
            half_life_days=days,
            factor=self.reinforcement,
            fade_days=self.access_mean_life_days,
            max_multiple=self.max_multiple,
        )

    def _exempt(self, candidates: Candidates) -> NDArray[np.bool_]:
        exempt = np.zeros(candidates.span.shape, dtype=np.bool_)
        for column, names in (("layer", self.exempt_layers), ("category", self.exempt_categories)):
            if names:
                exempt |= by_code(candidates, column, dict.fromkeys(names, 1.0), other=0.0) > 0
        return exempt | (candidates.feature("pinned") > 0) if self.exempt_pinned else exempt


class ActR(ScoreStage):
    """Multiply by the probability of recall that ACT-R gives a history of use.

    The birth of a memory is a use, and so is every access before the query's time. A memory
    without event time and without accesses is left unchanged.
    """

    kind: Literal["act_r"] = "act_r"
    exponent: float = Field(default=0.5, gt=0, le=1)
    """(0, 1]. How fast one use fades."""
    threshold: float = Field(default=0.0, ge=-20, le=20)
    """[-20, 20]. Activation, for ages in days, at which one half is recalled."""
    noise: float = Field(default=0.4, gt=0, le=20)
    """(0, 20]. Small values make recall all or nothing."""
    floor: float = Field(default=0.0, ge=0, lt=1)
    """[0, 1). floor + (1 - floor) * probability: what never fades."""

    @property
    def fades(self) -> bool:
        """Always."""
        return True

    def affine(self, candidates: Candidates) -> Affine:
        """Scale by the probability, floor included."""
        weight = np.ones(candidates.span.shape)
        for row in range(len(weight)):
            ages = candidates.use_ages(row)
            used = ~np.isnan(ages).all(axis=1)
            recalled = act_r(
                ages[used], exponent=self.exponent, threshold=self.threshold, noise=self.noise
            )
            weight[row, used] = with_floor(recalled, floor=self.floor)
        return Affine(weight)

    def attainable(self, low: float, high: float) -> tuple[float, float]:
        """Return the bounds under weights from the floor to 1."""
        return affine_bounds((low, high), scale=(self.floor, 1.0))
