"""What a decision is, as a file others can trust: checked models, written once, read back."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from recalltune.errors import ParameterError, Settings

__all__ = [
    "Cost",
    "DecisionRecord",
    "Effect",
    "LosingSlice",
    "NotDecided",
    "ParameterChange",
    "Verdict",
    "read_decisions",
]

Verdict = Literal["keep", "change", "cannot decide"]


class ParameterChange(Settings):
    """One parameter that changes."""

    address: str
    default: Any = None
    chosen: Any = None


class Effect(Settings):
    """The difference that the decision rests on."""

    metric: str
    default: float | None
    chosen: float | None
    difference: float | None
    lo: float | None
    hi: float | None
    n: int = Field(ge=0)
    correction: str
    """How the interval allows for the settings that were looked at."""
    basis: Literal["in sample", "held out"]
    at_least: float | None = None
    """From a sweep: the gain that is left after allowing for every setting looked at."""


class LosingSlice(Settings):
    """A slice in which the choice costs beyond noise."""

    by: str
    slice: str
    difference: float
    lo: float
    hi: float
    n: int


class Cost(Settings):
    """What the choice costs."""

    tokens: float | None = None
    """Tokens a query, chosen minus default."""
    tokens_lo: float | None = None
    tokens_hi: float | None = None
    losing_slices: tuple[LosingSlice, ...] = ()
    flips_to_failure: int = 0
    flips_to_pass: int = 0
    examples: tuple[str, ...] = ()
    """Ids of up to three cases that fail now."""


class NotDecided(Settings):
    """What the cases leave open."""

    tie_set: int | None = None
    tie_ranges: dict[str, list[Any]] = Field(default_factory=dict)
    not_binding: tuple[str, ...] = ()
    small_slices: tuple[str, ...] = ()
    cases_needed: int | None = None
    """To see a difference of 0.01."""


class DecisionRecord(Settings):
    """One decision, as the exporter and the report read it."""

    number: str = Field(pattern=r"^[0-9a-z_]{1,40}$")
    question: str = Field(min_length=3, max_length=300)
    verdict: Verdict
    claim: str = Field(max_length=1_000)
    changes: tuple[ParameterChange, ...] = ()
    effect: Effect | None = None
    cost: Cost = Cost()
    not_decided: NotDecided = NotDecided()
    would_change_it: str = Field(min_length=3, max_length=600)
    stamp: dict[str, str]


def read_decisions(out: str | Path = "out") -> list[DecisionRecord]:
    """Read the decisions of a run, by number.

    Raises
    ------
    ParameterError
        If a file does not hold a valid decision; the message names it.
    """
    found = []
    for path in sorted((Path(out) / "decisions").glob("*.json")):
        try:
            found.append(DecisionRecord.model_validate_json(path.read_text(encoding="utf-8")))
        except ValueError as error:
            message = f"{path}: not a decision: {str(error).splitlines()[0]}"
            raise ParameterError(message) from None
    return found
