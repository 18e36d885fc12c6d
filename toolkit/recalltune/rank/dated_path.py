"""Dates in the paths of memory files: which notes belong to a day, and which never fade.

In: paths of files relative to the agent's workspace. Out: of each, its kind and its day.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import date
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from recalltune.rank._check import FloatArray, choice, word_list

__all__ = ["DATED", "EVERGREEN", "IMPOSSIBLE", "OTHER", "PATH_RULES", "path_dates"]

DATED, IMPOSSIBLE, EVERGREEN, OTHER = "dated", "impossible", "evergreen", "other"
"""Kinds of path: named after a day; named after a day that is none; knowledge that does not age;
anything else, whose age has to come from elsewhere."""


class _Rule(NamedTuple):
    """How one version of production reads paths."""

    day: re.Pattern[str]
    """Groups: year, month, day."""
    evergreen: frozenset[str]
    """Whole paths that never fade."""


_DAY = r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
PATH_RULES: Mapping[str, _Rule] = MappingProxyType(
    {
        "release": _Rule(
            re.compile(rf"(?:^|/)memory/(?:[^/]+/)*{_DAY}(?:-[^/]+)?\.md\Z"),
            frozenset({"MEMORY.md", "USER.md"}),
        ),
        "legacy": _Rule(
            re.compile(rf"(?:^|/)memory/{_DAY}\.md\Z"),
            frozenset({"MEMORY.md", "memory.md"}),
        ),
    }
)
"""Versions by name. release: a day at any depth below ``memory/``, with an optional ``-suffix``.
legacy: ``memory/YYYY-MM-DD.md`` only."""


def path_dates(
    paths: Iterable[str], *, rule: str = "release"
) -> tuple[tuple[str, ...], FloatArray]:
    r"""Kind and day of each path.

    ``\`` counts as ``/``, a leading ``./`` is dropped. A path under ``memory/`` that is not named
    after a day is evergreen, as are the files a rule names; one named after a day the calendar
    does not have is neither dated nor evergreen.

    Parameters
    ----------
    paths
        n paths.
    rule
        A name of `PATH_RULES`.

    Returns
    -------
    kinds
        n of ``dated``, ``impossible``, ``evergreen``, ``other``.
    days
        shape (n,), whole days since 1970-01-01 (UTC midnight); NaN where the kind is not dated.

    Raises
    ------
    ParameterError
        If the rule is unknown or ``paths`` is a bare text.

    References
    ----------
    OpenClaw ``temporal-decay.ts``.

    Examples
    --------
    >>> kinds, days = path_dates(["memory/a/1970-01-03-x.md", "memory/trip.md", "notes/x.md"])
    >>> kinds, days.tolist()
    (('dated', 'evergreen', 'other'), [2.0, nan, nan])
    """
    named = PATH_RULES[choice("rule", rule, PATH_RULES)]
    given = word_list("paths", paths)
    found = [_kind(path.replace("\\", "/").removeprefix("./"), named) for path in given]
    return tuple(kind for kind, _ in found), np.array([day for _, day in found], dtype=np.float64)


def _kind(path: str, rule: _Rule) -> tuple[str, float]:
    match = rule.day.search(path)
    if match is None:
        stays = path in rule.evergreen or path.startswith("memory/")
        return (EVERGREEN if stays else OTHER), np.nan
    try:
        day = date(*map(int, match.groups()))
    except ValueError:
        return IMPOSSIBLE, np.nan
    return DATED, float(day.toordinal() - date(1970, 1, 1).toordinal())
