"""Probes: the values at which a parameter is tried, from what its field declares.

In: a config. Out: for every parameter, a small set of values that always includes the ends of its
range: both switches, every choice, numbers around the present one, small whole numbers one by one
and up to what the config allows. Nothing is drawn at random.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args, get_origin

import numpy as np
from pydantic.fields import FieldInfo

from recalltune.candidates.table import Candidates
from recalltune.errors import RecalltuneError
from recalltune.pipeline.address import UNNAMED, addresses, set_many, value_text
from recalltune.pipeline.config import RankingConfig
from recalltune.pipeline.run import steps
from recalltune.pipeline.stage import FilterStage

__all__ = ["Probe", "place_of", "probes", "probes_of"]

_AROUND = (0.1, 0.5, 0.9, 1.1, 2.0, 10.0)
"""Multiples of the present value."""
_DECADES = (0.1, 1.0, 10.0, 100.0, 1000.0)
"""Where there is none, and no end of the range to go by."""
_LITTLE = range(11)
"""Whole numbers tried one by one wherever they are allowed: one place more is another list."""
_FEW = 40
"""Whole numbers that the config allows are all tried where there are at most so many."""
_SMALL_RANGE = 10.0
"""A closed range up to this long is tried at its quarters too."""
_QUANTILES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
"""Of the scores that arrive at a minimum: it is tried at them."""


@dataclass(frozen=True)
class Probe:
    """One parameter, its present value, and the values it is tried at."""

    address: str
    value: Any
    others: tuple[Any, ...]
    """Without the present value; rising where the values have an order."""
    ordered: bool
    """Whether a value can be below or above the present one. No limit (None) is the highest."""

    @property
    def told(self) -> str:
        """The range and the number of values, in words."""
        if not self.others:
            return "one value only"
        every = [*self.others, self.value]
        if not self.ordered:
            return f"all {len(every)} choices" if len(every) > 2 else _listed(every)
        every.sort(key=place_of)
        return f"{_end(every[0])} to {_end(every[-1])}, {len(every)} values"

    def without(self, refused: Iterable[bool]) -> Probe:
        """Return the probe with the values that were tried; ``refused`` has one mark for each."""
        pairs = zip(self.others, refused, strict=True)
        return replace(self, others=tuple(value for value, mark in pairs if not mark))

    def thinned(self) -> Probe:
        """Return the probe with the ends of its range, half and twice its value only.

        Of whole numbers, those up to 10 stay too.
        """
        if not self.ordered or not self.others:
            return self
        kept = {self.others[0], self.others[-1]}
        kept |= {value for value in self.others if isinstance(value, int) and value in _LITTLE}
        kept |= {0.5 * self.value, 2.0 * self.value} if self.value else set()
        return replace(self, others=tuple(value for value in self.others if value in kept))

    def on(self, side: int) -> str:
        """Return the values below (side -1) or above the present one, in words."""
        runs: list[list[Any]] = []
        for value in (value for value in self.others if self.side(value) == side):
            if runs and isinstance(value, int) and value - 1 == runs[-1][-1]:
                runs[-1].append(value)
            else:
                runs.append([value])
        return ", ".join(
            f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(map(_end, run)) for run in runs
        )

    def side(self, value: Any) -> int:
        """Return -1 for a value below the present one, 1 above, 0 without an order."""
        if not self.ordered:
            return 0
        return -1 if place_of(value) < place_of(self.value) else 1


def place_of(value: Any) -> float:
    """Where a number stands among others; no limit is beyond all."""
    return math.inf if value is None else float(value)


def _listed(values: Iterable[Any]) -> str:
    return " or ".join(sorted(value_text(value) for value in values))


def _end(value: Any) -> str:
    return "no limit" if value is None else value_text(value)


def probes(
    config: RankingConfig,
    *,
    texts: Mapping[str, Sequence[str]] | None = None,
    names: Mapping[str, Sequence[str]] | None = None,
    scores: Mapping[str, Sequence[float]] | None = None,
) -> list[Probe]:
    """Return a probe for every parameter, in the order of `addresses`.

    Parameters
    ----------
    config
        Its present values are the middle of what is tried.
    texts
        Coded feature (layer, category) -> its texts, for parameters that list such texts.
    names
        Address of a parameter that is free text -> what it can be in these data.
    scores
        Address of a minimum -> scores it is tried at, too.
    """
    found = []
    for address, value in addresses(config).items():
        if isinstance(value, Mapping):
            continue
        root, *path = address.split(".")
        arm = root == "arms"
        model = getattr(config.arms, path[0]) if arm else _model(config, root)
        name = path[1] if arm else path[0]
        shape = _shape(type(model).model_fields[name], name)
        words = (names or {}).get(address) or _words(name, texts or {})
        probe = _probe(address, value, shape, words, (scores or {}).get(address, ()))
        found.append(_to_the_limits(probe, config) if shape.kind is int else probe)
    return found


def _to_the_limits(probe: Probe, config: RankingConfig) -> Probe:
    """Add the lowest and highest whole number the config allows; all of them where few."""

    def allowed(number: int) -> bool:
        try:
            set_many(config, {probe.address: number})
        except RecalltuneError:
            return False
        return True

    rising = sorted({n for n in (*probe.others, probe.value) if n is not None})
    low, high = _limit(rising[::-1], allowed), _limit(rising, allowed)
    if low is None or high is None:
        return probe
    more = range(low, high + 1) if high - low < _FEW else (low, high)
    others = sorted({*rising, *more} - {probe.value})
    nothing = (None,) if None in probe.others else ()
    return replace(probe, others=(*others, *nothing))


def _limit(numbers: Sequence[int], allowed: Callable[[int], bool]) -> int | None:
    """The furthest number that is allowed, looked for between those given, too."""
    refused = None
    for number in reversed(numbers):
        if not allowed(number):
            refused = number
            continue
        while refused is not None and abs(refused - number) > 1:
            middle = (refused + number) // 2
            number, refused = (middle, refused) if allowed(middle) else (number, middle)
        return number
    return None


def _words(name: str, texts: Mapping[str, Sequence[str]]) -> Sequence[str]:
    """The texts of the feature a field lists: `exempt_categories` lists those of category."""
    for feature, known in texts.items():
        if name.endswith((f"{feature}s", f"{feature[:-1]}ies")):
            return [text for text in known if text]
    return ()


def _model(config: RankingConfig, root: str) -> Any:
    return config.admit if root == "admit" else config.stage(root)


@dataclass(frozen=True)
class _Shape:
    """What one value of a parameter is; the range of a number, infinite where it is open."""

    kind: Any
    nothing: bool = False
    """Whether it may be missing."""
    low: float = -math.inf
    high: float = math.inf
    low_open: bool = False
    high_open: bool = False

    def holds(self, number: float) -> bool:
        above = number > self.low if self.low_open else number >= self.low
        return above and (number < self.high if self.high_open else number <= self.high)


def _shape(field: FieldInfo, name: str) -> _Shape:
    annotation = field.annotation
    if get_origin(annotation) is dict:
        # One value a layer or an arm; none of those goes below 0.
        return _Shape(get_args(annotation)[1], nothing=name not in UNNAMED, low=0.0)
    limits: dict[str, Any] = {}
    for limit in field.metadata:
        for end, closed, open_ in (("low", "ge", "gt"), ("high", "le", "lt")):
            if hasattr(limit, closed):
                limits[end] = getattr(limit, closed)
            if hasattr(limit, open_):
                limits |= {end: getattr(limit, open_), f"{end}_open": True}
    if get_origin(annotation) in (Literal, tuple):
        return _Shape(annotation)
    options = [option for option in get_args(annotation) if option is not type(None)]
    return _Shape(options[0], nothing=True, **limits) if options else _Shape(annotation, **limits)


def _probe(
    address: str, value: Any, shape: _Shape, words: Sequence[str], extra: Sequence[float]
) -> Probe:
    if shape.kind in (int, float):
        others: list[Any] = [n for n in _numbers(value, shape, extra) if n != value]
        if shape.nothing and value is not None:
            others.append(None)
        return Probe(address, value, tuple(others), ordered=True)
    if shape.kind is bool:
        choices: Iterable[Any] = (False, True)
    elif get_origin(shape.kind) is Literal:
        choices = get_args(shape.kind)
    elif get_origin(shape.kind) is tuple:
        choices = ((), *((word,) for word in words))
    else:
        choices = words
    return Probe(address, value, tuple(c for c in choices if c != value), ordered=False)


def _numbers(value: float | None, shape: _Shape, extra: Sequence[float]) -> list[float]:
    """The ends, multiples of the present value, quarters of a small range, and ``extra``.

    Whole numbers: each up to 10 and then decades, too.
    """
    span, whole = shape.high - shape.low, shape.kind is int
    tried = [*extra, *_ends(shape, span, abs(value or 1.0))]
    if span <= _SMALL_RANGE:
        tried += [shape.low + span * part for part in (0.25, 0.5, 0.75)]
    if value:
        tried += [value * factor for factor in _AROUND]
        tried += [value - 1, value + 1] if whole else []
    elif span > _SMALL_RANGE:
        tried += [*_DECADES, 2.0]
    tried += [*_LITTLE, *_DECADES] if whole else []
    kept = {
        round(number) if whole else float(f"{number:.6g}")
        for number in tried
        if math.isfinite(number) and not (whole and 0 < number < 1)
    }
    return sorted(number for number in kept if shape.holds(number))


def _ends(shape: _Shape, span: float, present: float) -> list[float]:
    """The ends themselves; just inside them where they do not belong to the range."""
    nudge = min(present, span) / 1000
    low = shape.low + nudge if shape.low_open else shape.low
    return [low, shape.high - nudge if shape.high_open else shape.high]


def probes_of(
    table: Candidates, config: RankingConfig, names: Mapping[str, Sequence[str]] | None = None
) -> list[Probe]:
    """Return the probes for one table: texts and scores are tried that occur in it.

    Parameters
    ----------
    table
        Made for ``config``.
    config, names
        As in `probes`.
    """
    return probes(config, texts=table.codes, names=names, scores=_arriving(table, config))


def _arriving(table: Candidates, config: RankingConfig) -> dict[str, list[float]]:
    """Address of each minimum -> scores that arrive there, and one that none of them reaches."""
    found: dict[str, list[float]] = {}
    before = np.zeros(0)
    for stage, _, state in steps(table, config):
        if isinstance(stage, FilterStage) and before.size:
            scores = np.quantile(before, _QUANTILES).tolist()
            tried = [*scores, scores[-1] + 0.01 * abs(scores[-1])]
            found |= {f"{stage.name}.{name}": tried for name in stage.asks()}
        before = state.score[state.alive]
    return found
