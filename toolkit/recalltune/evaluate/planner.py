"""How many cases a question needs, and what the cases at hand could have shown."""

from __future__ import annotations

import math
from typing import SupportsFloat

from scipy import special

from recalltune.errors import ParameterError

__all__ = [
    "alpha_for_look",
    "binary_sd",
    "bonferroni_critical",
    "cases_needed",
    "power_at",
    "smallest_detectable",
]


def cases_needed(
    gain: float, sd: float, *, critical_t: float, power: float = 0.8, deff: float = 1.0
) -> int | None:
    """Cases to see a paired gain with the given power.

    ``n = ceil(((c + z) sd / gain)^2 + c^2 / 2)``, times the design effect.

    Parameters
    ----------
    gain
        > 0, unit of the metric. The gain worth seeing.
    sd
        > 0, standard deviation of the paired difference over cases.
    critical_t
        > 0. `MaxT.critical_t` of a pilot of 100 cases or more; 1.645 for one comparison fixed in
        advance; `bonferroni_critical` without a pilot.
    power
        in (0, 1). Chance of seeing it.
    deff
        > 0, design effect of clusters; their sizes are taken to stay as they are.

    Returns
    -------
    int | None
        Cases; none if the critical value is infinite (too few clusters for any answer).

    Raises
    ------
    ParameterError
        If a number is out of range.

    Examples
    --------
    >>> cases_needed(0.0873, 0.463, critical_t=1.645)
    176
    """
    for name, value in (("gain", gain), ("sd", sd)):
        _positive(name, value)
    c, z = _checked(critical_t, power, deff)
    if math.isinf(c):
        return None
    return math.ceil(math.ceil(((c + z) * sd / gain) ** 2 + c * c / 2) * deff)


def smallest_detectable(
    n: int, sd: float, *, critical_t: float, power: float = 0.8, deff: float = 1.0
) -> float:
    """Smallest paired gain that n cases show with the given power: ``(c + z) sd / sqrt(n / deff)``.

    Parameters
    ----------
    n
        >= 1, cases.
    sd
        >= 0, standard deviation of the paired difference.
    critical_t
        > 0, as in `cases_needed`.
    power
        in (0, 1).
    deff
        > 0, design effect.

    Returns
    -------
    float
        Unit of the metric; infinite if the critical value is.

    Examples
    --------
    >>> round(smallest_detectable(200, 0.15, critical_t=3.3), 3)
    0.044
    """
    _positive("n", n)
    c, z = _checked(critical_t, power, deff)
    return math.inf if math.isinf(c) else (c + z) * sd / math.sqrt(n / deff)


def power_at(gain: float, n: int, sd: float, *, critical_t: float, deff: float = 1.0) -> float:
    """Chance that n cases find a setting with this true gain; the inverse of `cases_needed`.

    Parameters
    ----------
    gain
        Unit of the metric; may be negative.
    n
        >= 1, cases.
    sd
        > 0, standard deviation of the paired difference.
    critical_t
        > 0, as in `cases_needed`.
    deff
        > 0, design effect.

    Returns
    -------
    float
        in [0, 1].
    """
    _positive("n", n)
    _positive("sd", sd)
    c, _ = _checked(critical_t, 0.5, deff)
    if math.isinf(c):
        return 0.0
    effective = max(0.0, n / deff - c * c / 2)
    return float(special.ndtr(gain * math.sqrt(effective) / sd - c))


def bonferroni_critical(settings: int, *, alpha: float = 0.05) -> float:
    """Upper limit of the critical value for a number of settings: ``z(1 - alpha / settings)``."""
    _positive("settings", settings)
    _share("alpha", alpha)
    return float(-special.ndtri(alpha / settings))


def binary_sd(gained: float, lost: float) -> float:
    """Standard deviation of a 0/1 metric's paired difference, from the shares gained and lost.

    ``sqrt(gained + lost - (gained - lost)^2)``, shares in [0, 1].
    """
    if not (gained >= 0 and lost >= 0 and gained + lost <= 1):
        msg = f"gained and lost must lie in [0, 1] and add to at most 1, got {gained} and {lost}"
        raise ParameterError(msg)
    return math.sqrt(gained + lost - (gained - lost) ** 2)


def alpha_for_look(look: int, *, alpha: float = 0.05, planned: int | None = None) -> float:
    """Error rate to spend at one of several looks at growing data.

    Parameters
    ----------
    look
        >= 1, number of this look.
    alpha
        in (0, 1), for all looks together.
    planned
        Looks declared in advance: each gets ``alpha / planned``. Left open:
        ``alpha * 6 / (pi look)^2``, which adds up to alpha over endlessly many.

    Returns
    -------
    float
        The alpha for this look.

    Raises
    ------
    ParameterError
        If the look comes after the last one planned.
    """
    _positive("look", look)
    _share("alpha", alpha)
    if planned is None:
        return alpha * 6.0 / (math.pi * look) ** 2
    if look > planned:
        msg = f"look must lie in [1, {planned}] as planned, got {look}"
        raise ParameterError(msg)
    return alpha / planned


def _checked(critical_t: float, power: float, deff: float) -> tuple[float, float]:
    if not critical_t > 0:
        msg = f"critical_t must lie in (0, inf], got {critical_t}"
        raise ParameterError(msg)
    _share("power", power)
    _positive("deff", deff)
    return critical_t, float(special.ndtri(power))


def _positive(name: str, value: SupportsFloat) -> None:
    if not 0 < float(value) < math.inf:
        msg = f"{name} must lie in (0, inf), got {value}"
        raise ParameterError(msg)


def _share(name: str, value: float) -> None:
    if not 0 < value < 1:
        msg = f"{name} must lie in (0, 1), got {value}"
        raise ParameterError(msg)
