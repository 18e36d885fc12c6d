"""The finding of one paired comparison: its verb follows from the interval."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import polars as pl

from recalltune.charts.findings import Finding, verdict_of
from recalltune.charts.measures import Measure, as_measure
from recalltune.errors import ParameterError

__all__ = ["difference", "one_row"]

Row = Mapping[str, Any] | pl.DataFrame


def difference(
    row: Row,
    *,
    subject: str,
    measure: Measure | str,
    baseline: str = "the current default",
    cases: str = "cases",
    scope: str = "",
    margin: float = 0.01,
    other: tuple[Measure | str, Row] | None = None,
    needed: tuple[int, float] | None = None,
    in_sample: bool = False,
) -> Finding:
    """What may be said about one paired difference, subject minus baseline.

    Parameters
    ----------
    row
        One row of the drawn frame: ``diff``, ``lo``, ``hi``, ``n`` and, if known, ``changed``
        (lists that change). If the comparison was picked out of a grid, ``lo`` and ``hi`` are
        the interval corrected for the grid.
    subject
        What is compared, parameter and value: ``Half-life 180 d``.
    measure
        Measure of ``diff``; says which way is better.
    baseline
        What it is compared with.
    cases
        Plural name of the cases, for the too-few sentence: ``date questions``.
    scope
        Said at the end: ``on updates``.
    margin
        >= 0, in units of the measure. Loss declared beforehand to be acceptable.
    other
        A second measure and its own row, for *saves ... falls by at most*.
    needed
        Cases needed and the difference they would show, said when nothing can be told.
    in_sample
        Whether the subject was picked on the same cases; said in the title.

    Raises
    ------
    ParameterError
        If a value is missing or the interval is upside down.

    Examples
    --------
    >>> print(difference({"diff": 0.011, "lo": 0.003, "hi": 0.02, "n": 142},
    ...                  subject="Half-life 180 d", measure="nDCG@10"))
    Half-life 180 d gains 0.011 [0.003, 0.020]
    >>> print(difference({"diff": -0.03, "lo": -0.06, "hi": -0.002, "n": 96},
    ...                  subject="Cap 4", measure="stale@10", scope="on updates"))
    Cap 4 lowers stale@10 by 0.030 [−0.060, −0.002] on updates
    """
    if margin < 0:
        msg = f"margin must be at least 0, got {margin!r}"
        raise ParameterError(msg)
    kind = as_measure(measure)
    values = {**one_row(row), "higher_is_better": kind.higher_is_better, "margin": margin}
    saving = _saving(other)
    values["other_improves"] = saving is not None
    verdict = verdict_of(values)
    values |= {"subject": subject, "baseline": baseline, "cases": cases, "measure": kind.name}
    match verdict:
        case "does not bind":
            template = "{subject} does not bind: {changed:count} of {n:count} lists change"
        case "too few":
            template = _too_few(int(values["n"]))
        case "gains" | "costs":
            template = _moves(kind, values)
        case "by at most":
            template = _at_most(kind, values, saving)
        case _:
            template = "{subject} cannot be told from {baseline}"
            if needed is not None:
                values |= {"needed": needed[0], "seen": needed[1]}
                template += " (about {needed:count} cases needed to see {seen:tried})"
    if scope and verdict in {"gains", "costs", "cannot be told"}:
        values["scope"] = scope
        template += " {scope}"
    if in_sample and verdict in {"gains", "by at most"}:
        template += ", in sample"
    return Finding(template, values, verdict)


def one_row(row: Row) -> dict[str, Any]:
    """A row as a dictionary, with NaN and infinity as None.

    Raises
    ------
    ParameterError
        If a frame does not hold exactly one row.
    """
    if isinstance(row, pl.DataFrame):
        if row.height != 1:
            msg = f"a comparison must be exactly one row, got {row.height}"
            raise ParameterError(msg)
        row = row.row(0, named=True)
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in row.items()
    }


def _too_few(n: int) -> str:
    if n == 0:
        return "No {cases} to compare"
    return (
        "{n:count} of the {cases} is too few to compare"
        if n == 1
        else ("{n:count} {cases} are too few to compare")
    )


def _moves(kind: Measure, values: dict[str, Any]) -> str:
    whole = "0" if kind.decimals == 0 else ""
    values["interval"] = (values["lo"], values["hi"])
    size = f"{{diff:amount{whole}}} {{interval:interval{whole}}}"
    if kind.higher_is_better:
        verb = "gains" if values["lo"] > 0 else "costs"
        return f"{{subject}} {verb} {size}"
    verb = "lowers" if values["hi"] < 0 else "raises"
    return f"{{subject}} {verb} {{measure}} by {size}"


def _saving(other: tuple[Measure | str, Row] | None) -> tuple[Measure, dict[str, Any]] | None:
    if other is None:
        return None
    kind, row = as_measure(other[0]), one_row(other[1])
    seen = verdict_of({**row, "higher_is_better": kind.higher_is_better})
    return (kind, row) if seen == "gains" else None


def _at_most(
    kind: Measure, values: dict[str, Any], saving: tuple[Measure, dict[str, Any]] | None
) -> str:
    if saving is None:
        raise ParameterError("by at most needs another measure that improves, got none")
    gained, row = saving
    whole = "0" if gained.decimals == 0 else ""
    values |= {"saved": row["diff"], "saved_name": gained.unit or gained.name}
    if gained.unit:
        first = f"{{subject}} saves {{saved:amount{whole}}} {{saved_name}}"
    else:
        verb = "raises" if gained.higher_is_better else "lowers"
        first = f"{{subject}} {verb} {{saved_name}} by {{saved:amount{whole}}}"
    values["loss"] = values["lo"] if kind.higher_is_better else values["hi"]
    whole = "0" if kind.decimals == 0 else ""
    second = "falls" if kind.higher_is_better else "rises"
    return f"{first}; {{measure}} {second} by at most {{loss:amount{whole}}}"
