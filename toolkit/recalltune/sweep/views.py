"""From a sweep to the tidy frames that charts and reports draw.

A view looks at the sweep from one setting, the base unless `around` says otherwise: the axes in
question move, all others stay. Differences are always paired, to the base config.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recalltune.errors import ParameterError, nearest
from recalltune.evaluate.catalogue import parse_metric
from recalltune.evaluate.clusters import sessions_of
from recalltune.evaluate.comparing import higher_is_better, values_of
from recalltune.evaluate.paired import mean_of, paired
from recalltune.evaluate.run import Evaluation
from recalltune.pipeline.address import get, resolve, set_many
from recalltune.pipeline.config import RankingConfig
from recalltune.sweep.choose import Choice
from recalltune.sweep.engine import SweepResult

__all__ = ["binding", "frontier", "line", "point_of", "surface"]


def point_of(result: SweepResult, config: RankingConfig) -> int:
    """Return the row of ``result.points`` that ranks as ``config`` does.

    Raises
    ------
    ParameterError
        If the sweep has no such setting.
    """
    found = np.flatnonzero(result.points["point_id"].to_numpy() == config.fingerprint)
    if not found.size:
        axes = ", ".join(f"{a}={get(config, a)!r}" for a in result.space.axes)
        message = f"the sweep holds no setting that ranks like {axes}; take values of its axes"
        raise ParameterError(message)
    return int(found[0])


def line(
    result: SweepResult,
    axis: str,
    metric: str,
    *,
    by: str | None = None,
    around: RankingConfig | None = None,
    off: Mapping[str, Any] | None = None,
) -> pl.DataFrame:
    """One axis against the paired difference to the base, overall and by slice.

    Parameters
    ----------
    result
        From `sweep`.
    axis
        Address of one axis of the sweep.
    metric
        One of the sweep's metrics.
    by
        "kind", "lang" or "session": the slices beside *all cases*.
    around
        Where the other axes stand; the base config unless given. An axis that the base switches
        off (a half-life without decay) needs a setting that switches it on.
    off
        Changes to ``around`` that switch the parameter off, as a further row without a value.

    Returns
    -------
    pl.DataFrame
        value (null in the *off* row), diff, lo, hi, slice, n, mean, changed (cases that differ).

    Raises
    ------
    ParameterError
        If the axis, metric or slice is unknown, or a setting was not in the sweep.
    """
    axis = _axis(result, axis)
    around = result.base if around is None else around
    settings: list[tuple[Any, RankingConfig]] = [
        (value, set_many(around, {axis: value})) for value in result.space.axes[axis]
    ]
    if off is not None:
        settings.append((None, set_many(around, off)))
    values = result.of(metric)
    parts = [("all cases", np.arange(result.cases.height)), *_parts(result, by)]
    rows = []
    for value, config in settings:
        point = point_of(result, config)
        for name, members in parts:
            rows.append(
                {"value": value, "slice": name} | _against(result, values, point, members, metric)
            )
    return _typed(rows, ["value"], _LINE)


def surface(
    result: SweepResult,
    x: str,
    y: str,
    metric: str,
    *,
    choice: Choice | None = None,
    around: RankingConfig | None = None,
    off: Mapping[str, Any] | None = None,
) -> pl.DataFrame:
    """Two axes against a metric, with the settings that cannot be told from the best.

    Parameters
    ----------
    result
        From `sweep`.
    x, y
        Addresses of two axes.
    metric
        One of the sweep's metrics.
    choice
        From `choose` on the same sweep and metric: its tie set is flagged. None flags nothing.
    around, off
        As in `line`; the *off* row has neither x nor y.

    Returns
    -------
    pl.DataFrame
        x, y, mean, diff, lo, hi, n, tie (cannot be told from the best of all settings).

    Raises
    ------
    ParameterError
        If an axis or metric is unknown, or a setting was not in the sweep.
    """
    x, y = _axis(result, x), _axis(result, y)
    around = result.base if around is None else around
    ties = set() if choice is None else set(choice.decision.ties)
    settings: list[tuple[Any, Any, RankingConfig]] = [
        (one, two, set_many(around, {x: one, y: two}))
        for two in result.space.axes[y]
        for one in result.space.axes[x]
    ]
    if off is not None:
        settings.append((None, None, set_many(around, off)))
    values = result.of(metric)
    everyone = np.arange(result.cases.height)
    rows = []
    for one, two, config in settings:
        point = point_of(result, config)
        rows.append(
            {"x": one, "y": two, "tie": point in ties}
            | _against(result, values, point, everyone, metric)
        )
    return _typed(rows, ["x", "y"], _SURFACE)


def frontier(
    results: Mapping[str, Evaluation],
    metric: str,
    *,
    default: str | None = None,
    chosen: str | None = None,
) -> pl.DataFrame:
    """Tokens shown against quality for a few evaluated settings.

    Parameters
    ----------
    results
        name -> evaluation.
    metric
        A column of the evaluations.
    default, chosen
        Names among ``results`` that get these roles; the others are presets.

    Returns
    -------
    pl.DataFrame
        label, tokens (mean a query), quality, lo, hi, role (default, chosen, preset), n, frontier
        (no other setting is as good with no more tokens).
    """
    for option, name in (("default", default), ("chosen", chosen)):
        if name is not None and name not in results:
            message = f"{option} {name!r} is not among the results; {nearest(name, results)}"
            raise ParameterError(message)
    roles = {default: "default", chosen: "chosen"}
    rows = []
    for name, run in results.items():
        quality = mean_of(values_of(run, metric), sessions_of(run.cases))
        rows.append(
            {
                "label": name,
                "tokens": float(values_of(run, "tokens").mean()),
                "quality": quality.diff,
                "lo": quality.lo,
                "hi": quality.hi,
                "role": roles.get(name, "preset"),
                "n": quality.n,
            }
        )
    frame = pl.DataFrame(rows, schema=_FRONTIER).sort("tokens", "label")
    sign = 1.0 if higher_is_better(metric) else -1.0
    best = (sign * pl.col("quality")).cum_max().shift(1).fill_null(-np.inf)
    return frame.with_columns((sign * pl.col("quality") > best).alias("frontier"))


def binding(result: SweepResult, metric: str) -> pl.DataFrame:
    """Which axes change anything: address, values, pairs, changed, cases, largest.

    Settings that differ in one axis only are compared; ``changed`` counts the cases whose value
    ever differs between two of them, ``largest`` is the largest difference of two such means.
    An axis with ``changed`` 0 does not bind on these cases.
    """
    values = result.of(metric)
    defined = ~np.isnan(values).any(axis=0)
    rows = []
    for axis in result.space.axes:
        rest = [name for name in result.space.axes if name != axis]
        groups: dict[tuple[str, ...], list[int]] = {}
        for point, row in enumerate(result.points.iter_rows(named=True)):
            groups.setdefault(tuple(row[name] for name in rest), []).append(point)
        changed, largest, pairs = np.zeros(int(defined.sum()), dtype=np.bool_), 0.0, 0
        for members in groups.values():
            if len(members) > 1:
                part = values[members][:, defined]
                changed |= part.max(axis=0) != part.min(axis=0)
                means = part.mean(axis=1) if part.shape[1] else np.zeros(len(members))
                largest, pairs = max(largest, float(np.ptp(means))), pairs + 1
        rows.append(
            {
                "address": axis,
                "values": ", ".join(json.dumps(value) for value in result.space.axes[axis]),
                "pairs": pairs,
                "changed": int(changed.sum()),
                "cases": int(defined.sum()),
                "largest": largest,
            }
        )
    return pl.DataFrame(rows, schema=_BINDING)


def _axis(result: SweepResult, address: str) -> str:
    full = resolve(result.base, address)
    if full not in result.space.axes:
        message = f"{address!r} is no axis of this sweep; {nearest(full, result.space.axes)}"
        raise ParameterError(message)
    return full


def _parts(result: SweepResult, by: str | None) -> list[tuple[str, NDArray[np.intp]]]:
    if by is None:
        return []
    if by not in ("kind", "lang", "session"):
        message = f"by must be kind, lang or session, got {by!r}; {nearest(by, ('kind', 'lang'))}"
        raise ParameterError(message)
    names = np.array(result.cases[by].fill_null("not said").to_list())
    return [(str(name), np.flatnonzero(names == name)) for name in sorted(set(names.tolist()))]


def _against(
    result: SweepResult,
    values: NDArray[np.float64],
    point: int,
    members: NDArray[np.intp],
    metric: str,
) -> dict[str, Any]:
    sessions = sessions_of(result.cases)
    span = parse_metric(metric)[0].span
    change = values[point, members] - values[0, members]
    found = paired(change, [sessions[int(row)] for row in members], span=span)
    mine = values[point, members]
    defined = mine[~np.isnan(mine)]
    return {
        "diff": found.diff,
        "lo": found.lo,
        "hi": found.hi,
        "n": found.n,
        "mean": float(defined.mean()) if defined.size else None,
        "changed": found.changed,
    }


def _typed(
    rows: Sequence[Mapping[str, Any]], axes: Sequence[str], schema: Mapping[str, Any]
) -> pl.DataFrame:
    """Numbers on an axis stay numbers; an axis with a text or a switch is text throughout."""
    kinds: dict[str, Any] = {}
    for name in axes:
        seen = [row[name] for row in rows if row[name] is not None]
        plain = all(isinstance(v, int | float) and not isinstance(v, bool) for v in seen)
        kinds[name] = pl.Float64 if plain else pl.String
    shaped = [
        {
            name: row[name]
            if name not in kinds or row[name] is None
            else (float(row[name]) if kinds[name] == pl.Float64 else str(row[name]))
            for name in {**kinds, **schema}
        }
        for row in rows
    ]
    return pl.DataFrame(shaped, schema={**kinds, **schema})


_LINE = {
    "slice": pl.String,
    "diff": pl.Float64,
    "lo": pl.Float64,
    "hi": pl.Float64,
    "n": pl.Int64,
    "mean": pl.Float64,
    "changed": pl.Int64,
}
_SURFACE = {
    "mean": pl.Float64,
    "diff": pl.Float64,
    "lo": pl.Float64,
    "hi": pl.Float64,
    "n": pl.Int64,
    "tie": pl.Boolean,
}
_FRONTIER = {
    "label": pl.String,
    "tokens": pl.Float64,
    "quality": pl.Float64,
    "lo": pl.Float64,
    "hi": pl.Float64,
    "role": pl.String,
    "n": pl.Int64,
}
_BINDING = {
    "address": pl.String,
    "values": pl.String,
    "pairs": pl.Int64,
    "changed": pl.Int64,
    "cases": pl.Int64,
    "largest": pl.Float64,
}
