"""How numbers stand in the tables of the page."""

from __future__ import annotations

from recalltune.charts import figures

__all__ = ["number", "spread"]


def spread(
    value: float | None, lo: float | None, hi: float | None, name: str, *, sign: bool = False
) -> str:
    """A value with its interval; a dash where it is undefined."""
    if value is None:
        return "-"
    decimals = 0 if name == "tokens" else 3
    plain = f"{value:,.{decimals}f}"
    shown = figures.signed(value, decimals=decimals) if sign else plain
    return f"{shown} {figures.bounds(lo, hi, decimals=decimals)}".strip()


def number(value: float | None) -> str:
    """A metric with three decimals; a dash where it is undefined."""
    return "-" if value is None else f"{value:.3f}"
