"""What a measure is called, which way is good, and how finely it is printed."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Measure", "as_measure"]

_LOWER_IS_BETTER = ("stale", "hard_negative", "churn", "regret", "tokens", "characters")


@dataclass(frozen=True)
class Measure:
    """A measure as titles and axes name it."""

    name: str
    """As printed, for example ``nDCG@10``."""
    higher_is_better: bool = True
    decimals: int = 3
    """Decimals of a size; 0 for counts such as tokens."""
    unit: str = ""
    """Said after a size, for example ``tokens a query``."""


def as_measure(measure: Measure | str) -> Measure:
    """The measure of a name; stale, hard_negative, churn, regret, tokens are better when lower.

    Examples
    --------
    >>> as_measure("stale@10").higher_is_better
    False
    >>> as_measure("tokens").unit
    'tokens a query'
    """
    if isinstance(measure, Measure):
        return measure
    lower = measure.casefold().startswith(_LOWER_IS_BETTER)
    counted = measure.casefold() in {"tokens", "characters"}
    return Measure(
        measure,
        higher_is_better=not lower,
        decimals=0 if counted else 3,
        unit=f"{measure} a query" if counted else "",
    )
