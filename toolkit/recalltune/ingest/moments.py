"""Instants as sources write them, to aware UTC datetimes; every assumption made is counted.

ISO 8601 with a zone is taken as is, without one as UTC, a bare date as its midnight. Numbers are
seconds, milliseconds or microseconds since 1970, told apart by which of them lies between
2000 and 2100. What would fall before 1971 or after 2099 is not used.
"""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, datetime, timedelta

from recalltune.errors import ParameterError

__all__ = ["dated_name", "instant_us", "read_moment"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EARLIEST = datetime(1971, 1, 1, tzinfo=UTC)
_LATEST = datetime(2100, 1, 1, tzinfo=UTC)
_FIRST_SECOND = 946_684_800  # 2000-01-01
_LAST_SECOND = 4_102_444_800  # 2100-01-01
_UNITS = (("seconds", 1), ("milliseconds", 10**3), ("microseconds", 10**6))
_NUMBER = re.compile(r"\d{10,19}")
_DATE_ONLY = re.compile(r"\d{4}-\d{2}-\d{2}")
_DATED_NAME = re.compile(r"(\d{4}-\d{2}-\d{2})(?:[-_. ].*)?\.(?:md|markdown)", re.DOTALL)


def read_moment(value: object, notes: Counter[str], *, what: str) -> datetime | None:
    """Instant a source means, or none; ``notes`` counts what had to be assumed or given up.

    Parameters
    ----------
    value
        Text or number as the source has it; null and "" say that there is none.
    notes
        Counter that receives one count per assumption.
    what
        Name of the field, for the notes.

    Examples
    --------
    >>> read_moment(1767225600, notes := Counter(), what="timestamp")
    datetime.datetime(2026, 1, 1, 0, 0, tzinfo=datetime.timezone.utc)
    >>> list(notes)
    ['timestamp in epoch seconds']
    """
    if value is None or value == "" or isinstance(value, bool):
        return None
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        value = int(value)
    if isinstance(value, int | float):
        return _from_number(value, notes, what)
    try:
        moment = datetime.fromisoformat(str(value).strip())
        if moment.tzinfo is None:
            date_only = bool(_DATE_ONLY.fullmatch(str(value).strip()))
            assumed = (
                "without a time, taken as midnight UTC"
                if date_only
                else "without a zone, taken as UTC"
            )
            notes[f"{what} {assumed}"] += 1
            moment = moment.replace(tzinfo=UTC)
        moment = moment.astimezone(UTC)
    except (ValueError, OverflowError):
        notes[f"{what} unreadable, not used"] += 1
        return None
    if not _EARLIEST <= moment < _LATEST:
        notes[f"{what} before 1971 or after 2099, not used"] += 1
        return None
    return moment


def dated_name(name: str, notes: Counter[str]) -> datetime | None:
    """Midnight UTC of the day a file name starts with, for names such as 2026-05-14-notes.md."""
    found = _DATED_NAME.fullmatch(re.split(r"[/\\]", name)[-1])
    if not found:
        return None
    try:
        return datetime.fromisoformat(found[1]).replace(tzinfo=UTC)
    except ValueError:
        notes["file name with an impossible date, taken as undated"] += 1
        return None


def instant_us(name: str, text: str) -> int:
    """Microseconds since 1970 UTC of an instant a person typed: nothing is assumed about it.

    Raises
    ------
    ParameterError
        If the text is not ISO 8601, or names no time zone.

    Examples
    --------
    >>> instant_us("at", "1970-01-01T01:00:00.000002+01:00")
    2
    """
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        message = f"{name} must be ISO 8601 such as 2026-05-01T09:00:00+00:00, got {text!r}"
        raise ParameterError(message) from None
    if moment.tzinfo is None:
        message = f"{name} needs a time zone, got {text!r}; nearest: {text}+00:00"
        raise ParameterError(message)
    return (moment - _EPOCH) // timedelta(microseconds=1)


def _from_number(value: float, notes: Counter[str], what: str) -> datetime | None:
    for unit, per_second in _UNITS:
        if _FIRST_SECOND * per_second <= value < _LAST_SECOND * per_second:
            notes[f"{what} in epoch {unit}"] += 1
            return _EPOCH + timedelta(microseconds=round(value * (10**6 // per_second)))
    notes[f"{what} before 2000 or after 2099 in every epoch unit, not used"] += 1
    return None
