"""How a number is printed, in titles, labels and tooltips alike.

Metrics have three decimals and a leading zero, differences a true sign (U+2212 for minus) and a
bare ``0``, shares whole percent with a space, counts grouped, ages two significant digits.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from recalltune.errors import ParameterError

__all__ = [
    "age",
    "amount",
    "bounds",
    "count",
    "counted",
    "factor",
    "instant",
    "interval",
    "metric",
    "moment",
    "noun",
    "rounded",
    "share",
    "signed",
    "tried",
]

MINUS = "−"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def metric(value: float) -> str:
    """A measure with three decimals.

    Examples
    --------
    >>> metric(0.6134), metric(-0.02)
    ('0.613', '−0.020')
    """
    return _true_minus(f"{value:.3f}")


def amount(value: float, *, decimals: int = 3) -> str:
    """A size without sign; one significant digit more where it would round to 0.

    Examples
    --------
    >>> amount(-0.0112), amount(0.0004), amount(0.0), amount(102.4, decimals=0)
    ('0.011', '0.0004', '0', '102')
    """
    size = abs(value)
    if size == 0:
        return "0"
    plain = f"{size:,.{decimals}f}"
    if float(plain.replace(",", "")) > 0:
        return plain
    # A bound of 0.0004 printed as 0 would claim that the interval holds 0.
    for digits in range(decimals + 1, 13):
        plain = f"{size:.{digits}f}"
        if float(plain) > 0:
            return plain
    return "0"


def signed(value: float, *, decimals: int = 3) -> str:
    """A difference with its sign; 0 has none.

    Examples
    --------
    >>> signed(0.011), signed(-0.058), signed(0)
    ('+0.011', '−0.058', '0')
    """
    size = amount(value, decimals=decimals)
    if size == "0":
        return "0"
    return f"+{size}" if value > 0 else f"{MINUS}{size}"


def interval(lo: float, hi: float, *, decimals: int = 3) -> str:
    """An interval; only the minus is written, as in ``[−0.058, 0.015]``.

    Examples
    --------
    >>> interval(0.003, 0.02), interval(-45, -31, decimals=0)
    ('[0.003, 0.020]', '[−45, −31]')
    """
    bounds = (signed(bound, decimals=decimals).removeprefix("+") for bound in (lo, hi))
    return f"[{', '.join(bounds)}]"


def bounds(lo: float | None, hi: float | None, *, decimals: int = 3) -> str:
    """An interval, or nothing where a bound is missing.

    Examples
    --------
    >>> bounds(0.003, 0.02), bounds(None, 0.02)
    ('[0.003, 0.020]', '')
    """
    return "" if lo is None or hi is None else interval(lo, hi, decimals=decimals)


def factor(value: float) -> str:
    """A factor with two decimals.

    Examples
    --------
    >>> factor(0.7)
    '× 0.70'
    """
    return f"× {_true_minus(f'{value:.2f}')}"


def share(value: float) -> str:
    """A part of 1 in whole percent; never 0 % or 100 % unless it is.

    Examples
    --------
    >>> share(0.451), share(0.002), share(0.998), share(0.0)
    ('45 %', '< 1 %', '> 99 %', '0 %')
    """
    percent = round(100 * value)
    if percent == 0 and value > 0:
        return "< 1 %"
    if percent == 100 and value < 1:
        return "> 99 %"
    return f"{percent} %"


def count(value: float) -> str:
    """A whole number, grouped.

    Examples
    --------
    >>> count(3600)
    '3,600'
    """
    return _true_minus(f"{round(value):,}")


def counted(number: int, word: str) -> str:
    """A count with its noun, plural unless it is 1.

    Examples
    --------
    >>> counted(1, "case"), counted(0, "case"), counted(2, "query")
    ('1 case', '0 cases', '2 queries')
    """
    return f"{count(number)} {noun(number, word)}"


def noun(number: int, word: str) -> str:
    """The singular for 1, else the plural; a word that ends in another script has one form.

    Examples
    --------
    >>> noun(1, "preset"), noun(3, "memory"), noun(2, "recall step"), noun(2, "轮")
    ('preset', 'memories', 'recall steps', '轮')
    """
    if number == 1 or not word[-1:].isascii():
        return word
    return f"{word[:-1]}ies" if word.endswith(("ry", "cy")) else f"{word}s"


def age(days: float) -> str:
    """Days with two significant digits, whole from ten on.

    Examples
    --------
    >>> age(4.23), age(0.25), age(181)
    ('4.2', '0.25', '181')
    """
    if days >= 10:
        return f"{round(days):,}"
    return f"{days:.2g}"


def rounded(value: float) -> str:
    """About how much, with three significant digits.

    Examples
    --------
    >>> rounded(20.552), rounded(1834.0), rounded(0.0)
    ('20.6', '1,830', '0')
    """
    if value == 0:
        return "0"
    size = float(f"{value:.3g}")
    return _true_minus(f"{size:,.0f}" if abs(size) >= 100 else f"{size:.6g}")


def tried(value: float) -> str:
    """A parameter value as it stands in a configuration, without trailing zeros.

    Examples
    --------
    >>> tried(60.0), tried(1.3), tried(7200)
    ('60', '1.3', '7,200')
    """
    text = f"{value:,.6f}".rstrip("0").rstrip(".")
    return _true_minus(text if float(text.replace(",", "")) or value == 0 else f"{value:.2g}")


def instant(microseconds: int) -> str:
    """An instant, microseconds since 1970 UTC, as a table has it: to the minute.

    Examples
    --------
    >>> instant(0)
    '1970-01-01 00:00 UTC'
    """
    return f"{_EPOCH + timedelta(microseconds=microseconds):%Y-%m-%d %H:%M} UTC"


def moment(value: datetime) -> str:
    """A time as ISO 8601 in UTC, to the minute.

    Examples
    --------
    >>> moment(datetime(2026, 5, 1, 9, 30, tzinfo=UTC))
    '2026-05-01T09:30Z'
    """
    if value.tzinfo is None:
        msg = f"time must carry a zone, got {value.isoformat()}"
        raise ParameterError(msg)
    return f"{value.astimezone(UTC):%Y-%m-%dT%H:%M}Z"


def _true_minus(text: str) -> str:
    return text.replace("-", MINUS)


FORMATS: dict[str, Callable[[float], str]] = {
    "metric": metric,
    "amount": amount,
    "signed": signed,
    "factor": factor,
    "share": share,
    "count": count,
    "age": age,
    "rounded": rounded,
    "tried": tried,
}
"""Formats a claim template may name, as in ``{total:count}``."""
