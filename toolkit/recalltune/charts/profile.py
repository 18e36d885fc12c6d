"""What is in the memory: over time, as values, or as a count table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal, Unpack

import polars as pl

from recalltune.charts.canvas import About, Chart
from recalltune.charts.profile_matrix import profile_matrix
from recalltune.charts.profile_time import profile_time
from recalltune.charts.profile_values import profile_values
from recalltune.errors import ParameterError, nearest

__all__ = ["profile"]


def profile(
    frame: pl.DataFrame,
    *,
    form: Literal["over_time", "values", "matrix"],
    cases_span: tuple[datetime, datetime] | None = None,
    own_scale: bool = False,
    unit: str = "value",
    limits: Mapping[str, float] | None = None,
    log: bool = False,
    order: Sequence[str] = (),
    column_order: Sequence[str] = (),
    row_name: str = "",
    column_name: str = "",
    noun: str = "memory",
    **about: Unpack[About],
) -> Chart:
    """Memories by layer and month, values by group, or counts by two categories.

    Parameters
    ----------
    frame
        *over_time*: ``layer`` (text), ``month`` (date or UTC time, first day), ``n`` (count,
        >= 0), ``status`` (text; *current* is drawn solid, anything else pale); optional
        ``median_tokens`` (number, the layer's). *values*: ``group`` (text), ``value`` (number);
        optional ``role`` (*target* is drawn in ink). *matrix*: ``row`` and ``column`` (text),
        ``n`` (count, >= 0).
    form
        Which of the three.
    cases_span
        *over_time*: first and last time of the eval cases, a grey band.
    own_scale
        *over_time*: give each layer its own vertical scale, and say so.
    unit
        *values*: title of the x axis with its unit: ``tokens``, ``age, days``.
    limits
        *values*: named rules: ``{"budget 400": 400}``.
    log
        *values*: logarithmic x axis; values must then be positive.
    order, column_order
        Order of layers, groups or rows, and of columns; by default layers in their fixed order,
        else by name.
    row_name, column_name
        *matrix*: what rows and columns are.
    noun
        What is counted, in the singular.

    Raises
    ------
    ParameterError
        If the form is unknown, a column is missing, a count is negative or a key occurs twice.
    """
    forms = ("over_time", "values", "matrix")
    if form not in forms:
        msg = f"form must be one of {', '.join(forms)}, got {form!r}; {nearest(str(form), forms)}"
        raise ParameterError(msg)
    if form == "over_time":
        return profile_time(
            frame, cases_span=cases_span, own_scale=own_scale, order=order, noun=noun, **about
        )
    if form == "values":
        return profile_values(
            frame, unit=unit, limits=limits or {}, log=log, order=order, noun=noun, **about
        )
    return profile_matrix(
        frame, order=order, column_order=column_order, row_name=row_name,
        column_name=column_name, noun=noun, **about,
    )  # fmt: skip
