"""Titles that cannot say more than the frame that is drawn.

A `Finding` is a template without digits, the values that fill it, and a verdict. A verdict about
a paired difference is recomputed from the interval when the finding is built, so a title cannot
say *gains* over an interval that holds 0.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from string import Formatter
from typing import Any, Literal

from recalltune.charts import figures
from recalltune.charts.text import cut, wrap
from recalltune.errors import ParameterError, nearest

__all__ = ["TOO_FEW", "Finding", "Verdict", "as_finding", "verdict_of"]

Verdict = Literal[
    "states", "exact", "does not bind", "too few", "gains", "costs", "by at most", "cannot be told"
]

TOO_FEW = 20
"""Cases under which no difference is claimed."""

LINE_COLUMNS = 70
_PAIRED = {"does not bind", "too few", "gains", "costs", "by at most", "cannot be told"}

# Words that compare or explain. They stand in a title only where an interval, an exact count or
# an ablation backs them, never in a sentence typed by hand.
_COMPARES = re.compile(
    r"\b(gain|cost|improv|worse|better|best|worst|beat|wins?\b|won\b|lose|losing|lost\b|lower|rais|"
    r"rise|rising|rose\b|fall|fell\b|save|saving|increas|decreas|reduc|more\b|less\b|few|higher|"
    r"outweigh|outperform|exceed|drop|grow|hurt|help|pays?\b|doubl|halv|most\b|least\b|"
    r"because|thanks to|due to)|"
    r"[更超胜优]|提升|提高|下降|降低|减少|增加|改善|变差|好于|因为|由于",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Finding:
    """A title: template, values, verdict.

    Parameters
    ----------
    template
        Text with ``{name}`` or ``{name:format}`` fields; formats: metric, amount, signed, factor,
        share, count, age, tried, interval, and amount0, interval0 for whole numbers. The text
        between fields holds no digit.
    values
        One value a field, taken from the frame that is drawn.
    verdict
        ``states``: the template holds no word that compares. ``exact``: it may compare, and at
        least one number fills it (counts, values of a formula). Any other: checked against
        ``diff``, ``lo``, ``hi``, ``n`` in ``values`` by `verdict_of`.

    Raises
    ------
    ParameterError
        If the template holds a digit, a comparison its verdict does not back, or an unknown
        field or format, or if the text does not fit on two lines of 70 columns.

    Examples
    --------
    >>> print(Finding("{layer} is {n:count} of {total:count} memories",
    ...               {"layer": "log", "n": 449, "total": 1531}))
    log is 449 of 1,531 memories
    """

    template: str
    values: Mapping[str, Any] = field(default_factory=dict)
    verdict: Verdict = "states"
    lines: tuple[str, ...] = field(init=False)
    """The title as drawn: at most two lines of 70 columns."""

    def __post_init__(self) -> None:
        pieces = _pieces(self.template)
        literal = " ".join(text for text, _, _ in pieces)
        if digit := _digit(literal):
            msg = (
                f"finding template must hold no digit outside fields, got {digit!r} in "
                f"{cut(self.template, 80)!r}; numbers come from values"
            )
            raise ParameterError(msg)
        if self.verdict == "states" and (word := _COMPARES.search(literal)):
            msg = (
                f"a stated finding must hold no comparison, got {word.group()!r} in "
                f"{cut(self.template, 80)!r}; use difference(...) or verdict='exact' with values"
            )
            raise ParameterError(msg)
        if self.verdict == "exact" and not any(form for _, _, form in pieces):
            msg = "an exact finding must be filled by at least one number, got none"
            raise ParameterError(msg)
        if self.verdict in _PAIRED and (seen := verdict_of(self.values)) != self.verdict:
            msg = f"verdict must be {seen!r} by the interval in values, got {self.verdict!r}"
            raise ParameterError(msg)
        object.__setattr__(self, "lines", _fitted(pieces, self.values))

    def __str__(self) -> str:
        return " ".join(self.lines)


def as_finding(finding: Finding | str) -> Finding:
    """A finding, or a plain string that holds no digit and no word of comparison.

    Raises
    ------
    ParameterError
        If a string holds a digit or a word of comparison.
    """
    if isinstance(finding, Finding):
        return finding
    escaped = finding.replace("{", "{{").replace("}", "}}")
    return Finding(escaped)


def verdict_of(values: Mapping[str, Any]) -> Verdict:
    """What a paired difference allows to be said; the first rule that matches wins.

    Parameters
    ----------
    values
        ``diff``, ``lo``, ``hi`` of the difference b - a; ``n`` cases; optional ``changed``
        (lists that change), ``higher_is_better`` (default true), ``margin`` (largest loss that
        was declared beforehand to be acceptable, default 0.01) and ``other_improves`` (another
        measure improves beyond noise).

    Returns
    -------
    Verdict
        ``gains`` means the better direction, whichever that is for the measure.

    Raises
    ------
    ParameterError
        If a bound is missing although there are enough cases, or lo > hi.

    Examples
    --------
    >>> verdict_of({"diff": 0.011, "lo": 0.003, "hi": 0.02, "n": 142})
    'gains'
    >>> verdict_of({"diff": 0.011, "lo": 0.003, "hi": 0.02, "n": 142, "higher_is_better": False})
    'costs'
    """
    n = values.get("n")
    if n is None:
        raise ParameterError("n must be the number of cases compared, got None")
    if values.get("changed") == 0 and n > 0:
        return "does not bind"
    if n < TOO_FEW:
        return "too few"
    lo, hi = values.get("lo"), values.get("hi")
    if lo is None or hi is None or not lo <= hi:
        msg = f"lo and hi must be finite with lo <= hi, got lo={lo!r}, hi={hi!r}"
        raise ParameterError(msg)
    worst, best = (lo, hi) if values.get("higher_is_better", True) else (-hi, -lo)
    if worst > 0:
        return "gains"
    if best < 0:
        return "costs"
    if values.get("other_improves") and worst > -values.get("margin", 0.01):
        return "by at most"
    return "cannot be told"


def _pieces(template: str) -> list[tuple[str, str | None, str]]:
    try:
        parsed = list(Formatter().parse(template))
    except ValueError as error:
        msg = f"finding template must have balanced braces, got {cut(template, 80)!r}: {error}"
        raise ParameterError(msg) from None
    return [(text, name, form or "") for text, name, form, _ in parsed]


def _digit(text: str) -> str | None:
    return next((sign for sign in text if unicodedata.category(sign) in {"Nd", "No", "Nl"}), None)


def _fitted(
    pieces: list[tuple[str, str | None, str]], values: Mapping[str, Any]
) -> tuple[str, ...]:
    # Names give way before numbers do: an amount or interval is never cut.
    for columns in (40, 28, 18, 12):
        text = "".join(
            literal + ("" if name is None else _filled(name, form, values, columns))
            for literal, name, form in pieces
        )
        if len(lines := wrap(text, LINE_COLUMNS)) <= 2:
            return lines
    msg = f"finding must fit on two lines of {LINE_COLUMNS} columns, got {cut(text, 160)!r}"
    raise ParameterError(msg)


def _filled(name: str, form: str, values: Mapping[str, Any], columns: int) -> str:
    if name not in values:
        msg = f"finding field {name!r} must be among the values; {nearest(name, values)}"
        raise ParameterError(msg)
    value = values[name]
    if not form:
        return cut(str(value), columns)
    decimals = 0 if form.endswith("0") else 3
    match form.removesuffix("0"):
        case "interval":
            return figures.interval(*value, decimals=decimals)
        case "amount":
            return figures.amount(value, decimals=decimals)
        case plain if plain in figures.FORMATS:
            return figures.FORMATS[plain](value)
    known = [*figures.FORMATS, "interval", "interval0", "amount0"]
    msg = f"finding format {form!r} is not known; {nearest(form, known)}"
    raise ParameterError(msg)
