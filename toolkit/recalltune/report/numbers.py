"""How numbers stand in the tables of the page."""

from __future__ import annotations

from typing import Any

from recalltune.charts import figures

__all__ = ["about", "number", "span", "spread", "value_of"]


def about(count: int) -> int:
    """A count to two significant digits, rounded up: it is an estimate."""
    step = int(10 ** max(0, len(str(count)) - 2))
    return -(-count // step) * step


def spread(
    value: float | None, lo: float | None, hi: float | None, name: str, *, sign: bool = False
) -> str:
    """A value with its interval; a dash where it is undefined."""
    if value is None:
        return "-"
    decimals = 0 if name == "tokens" else 3
    plain = f"{value:,.{decimals}f}"
    shown = figures.signed(value, decimals=decimals) if sign else plain
    return f"{shown} {span(lo, hi, decimals=decimals)}".strip()


def span(lo: float | None, hi: float | None, *, decimals: int) -> str:
    """An interval, or nothing where a bound is missing."""
    return "" if lo is None or hi is None else figures.interval(lo, hi, decimals=decimals)


def number(value: float | None) -> str:
    """A metric with three decimals; a dash where it is undefined."""
    return "-" if value is None else f"{value:.3f}"


def value_of(value: Any) -> str:
    """A parameter value as a configuration has it."""
    if value is None:
        return "not set"
    return f"{value:g}" if isinstance(value, float) else str(value)
