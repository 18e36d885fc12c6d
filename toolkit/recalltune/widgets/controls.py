"""A control: one parameter, the stops of its slider, what a typed text means.

The config is the only state. A control reads its value from a config and says which addresses a
new value changes; ranges are not repeated here, the config's own check refuses what is outside.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from recalltune.errors import ParameterError
from recalltune.pipeline.address import get, resolve, set_many
from recalltune.pipeline.config import RankingConfig

__all__ = ["OFF", "Control", "controls_for"]

OFF = "off"
"""A stop that switches a decay off."""

LARGEST_SHARE = 20
_STOPS: Mapping[str, tuple[Any, ...]] = {
    "half_life_days": (1, 3, 7, 14, 30, 60, 90, 120, 180, 365),
    "mean_life_days": (1, 3, 7, 14, 30, 60, 90, 120, 180, 365),
    "rate_days": (1, 3, 7, 14, 30, 60, 90, 120, 180, 365),
    "stability_days": (1, 2, 3, 5, 7, 14, 30, 60, 90),
    "layer_days": (1, 3, 7, 14, 30, 60, 90, 180, 365, None),
    "exponent": (0.1, 0.1542, 0.25, 0.5, 0.75, 1),
    "fsrs_exponent": (0.1, 0.1542, 0.25, 0.5, 0.75, 1),
    "reinforcement": (0, 0.25, 0.5, 1, 2),
    "shape": tuple(round(0.1 * tenth, 1) for tenth in range(5, 21)),
    "floor": tuple(round(0.05 * part, 2) for part in range(20)),
    "rrf_k": (0, 1, 2, 5, 10, 20, 30, 60, 90, 120),
    "divisor": (1, 60),
    "weights": (0, 0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4),
    "weight": (0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5),
    "salience_weight": (0, 0.1, 0.25, 0.5, 0.75, 1),
    "floors": tuple(range(9)),
    "caps": (*range(21), None),
    "top_k": tuple(range(1, 21)),
    "lambda_": tuple(round(0.05 * part, 2) for part in range(21)),
    "pool": (5, 10, 20, 50, 100, 200),
    "threshold": tuple(round(0.5 + 0.05 * part, 2) for part in range(11)),
    "budget_tokens": (120, 160, 200, 300, 400, 500, 600, 800, None),
}
_STEPS_BETWEEN_BOUNDS = 11


@dataclass(frozen=True)
class Control:
    """One parameter of a config as a slider with stops and a typed field."""

    address: str
    """Full address, such as ``decay.half_life_days``."""
    stops: tuple[Any, ...]
    """Values of the slider in order; ``None`` is *none*, ``OFF`` switches the decay off."""
    whole: bool = False
    """Whether a number must be whole."""
    number: bool = True
    about: str = ""
    """What the parameter is, out of the stage that has it."""
    switch: str = ""
    """Address of the family that ``OFF`` sets to *none*; empty where there is none."""

    def read(self, config: RankingConfig) -> Any:
        """Return the control's value in a config."""
        if self.switch and get(config, self.switch) == "none":
            return OFF
        return get(config, self.address)

    def changes(self, value: Any, config: RankingConfig) -> dict[str, Any]:
        """Return address -> value of what a new value changes in ``config``."""
        if not self.switch:
            return {self.address: value}
        if value == OFF:
            return {self.switch: "none"}
        on = get(config, self.switch)
        return {self.switch: "exponential" if on == "none" else on, self.address: value}

    def parse(self, text: str) -> Any:
        """Return the value a typed text means.

        Raises
        ------
        ParameterError
            If a number is needed and the text is none.
        """
        typed = text.strip()
        if typed.lower() == OFF and OFF in self.stops:
            return OFF
        if typed.lower() in ("", "none") and None in self.stops:
            return None
        if not self.number:
            return typed
        try:
            return int(typed) if self.whole else float(typed)
        except ValueError:
            kind = "a whole number" if self.whole else "a number"
            extra = "".join(f" or {self.told(v)}" for v in self.stops if v in (None, OFF))
            message = f"{self.address} must be {kind}{extra}, got {typed[:40]!r}"
            raise ParameterError(message) from None

    def told(self, value: Any) -> str:
        """Return a value as the panel prints it."""
        if value is None:
            return "none"
        return f"{value:g}" if isinstance(value, int | float) else str(value)

    def acts(self, config: RankingConfig) -> bool:
        """Whether any other stop would rank differently; a shape without Weibull would not."""
        for stop in self.stops:
            if stop == self.read(config):
                continue
            try:
                other = set_many(config, self.changes(stop, config))
            except ParameterError:
                continue
            if other.fingerprint != config.fingerprint:
                return True
        return False


def controls_for(
    config: RankingConfig, wanted: Iterable[str] | Mapping[str, Sequence[Any]]
) -> tuple[Control, ...]:
    """Return a control for each address, with stops of its own where a mapping gives some.

    Raises
    ------
    ParameterError
        If an address is unknown, changes the candidates, or has no stops of its own.
    """
    own = dict(wanted) if isinstance(wanted, Mapping) else {}
    made = [_control(config, address, own.get(address)) for address in wanted]
    names = [control.address for control in made]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        message = f"controls must be different addresses, got {', '.join(twice)} more than once"
        raise ParameterError(message)
    return tuple(made)


def _control(config: RankingConfig, address: str, own: Sequence[Any] | None) -> Control:
    full = resolve(config, address)
    root, *path = full.split(".")
    if root in ("admit", "arms"):
        message = f"control {full!r} changes the candidates, which an explorer cannot rebuild"
        raise ParameterError(message)
    stage = config.stage(root)
    field = type(stage).model_fields[path[0]]
    kinds = _kinds(field.annotation)
    family = type(stage).model_fields.get("family")
    switch = path[0] == "half_life_days" and family is not None
    choices = tuple(
        value for kind in kinds if get_origin(kind) is Literal for value in get_args(kind)
    )
    stops = (
        tuple(own) if own is not None else choices or _STOPS.get(path[0]) or _between(full, field)
    )
    number = not choices and bool not in kinds
    now = get(config, full)
    if now not in stops:
        numbers = sorted([stop for stop in (*stops, now) if stop is not None])
        stops = (*numbers, *((None,) if None in stops or now is None else ()))
    if switch and OFF not in stops:
        stops = (*stops, OFF)
    inner = {int, float} & {k for kind in kinds for k in (kind, *get_args(kind))}
    return Control(
        address=full,
        stops=stops,
        whole=float not in inner,
        number=number,
        about=" ".join((field.description or "").split()),
        switch=f"{root}.family" if switch else "",
    )


def _kinds(annotation: Any) -> tuple[Any, ...]:
    if get_origin(annotation) in (Union, UnionType):
        return get_args(annotation)
    return (annotation,)


def _between(address: str, field: Any) -> tuple[Any, ...]:
    """Evenly spaced stops of a parameter that has two bounds, or both values of a switch."""
    if field.annotation is bool:
        return (False, True)
    low = [
        getattr(rule, name)
        for rule in field.metadata
        for name in ("ge", "gt")
        if hasattr(rule, name)
    ]
    high = [
        getattr(rule, name)
        for rule in field.metadata
        for name in ("le", "lt")
        if hasattr(rule, name)
    ]
    if not low or not high:
        message = f"control {address!r} needs stops: give controls={{{address!r}: [values]}}"
        raise ParameterError(message)
    step = (high[0] - low[0]) / (_STEPS_BETWEEN_BOUNDS - 1)
    return tuple(round(low[0] + step * part, 6) for part in range(_STEPS_BETWEEN_BOUNDS))
