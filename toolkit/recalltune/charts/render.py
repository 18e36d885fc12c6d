"""Charts as SVG and PNG, offline, and charts whose data are replaced after compiling."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import altair as alt
import vl_convert

from recalltune.charts.canvas import Drawing
from recalltune.charts.findings import Finding, as_finding
from recalltune.errors import ParameterError, nearest

__all__ = ["compiled", "patch", "save_png", "static_bundle", "svg"]

VEGA_LITE = ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])


def svg(chart: Any) -> str:
    """A chart as SVG text with ``role="img"`` and its alt text as ``aria-label``.

    Parameters
    ----------
    chart
        A chart of this package, or the dictionary of one.
    """
    spec = _spec(chart)
    # Per-mark aria text is a third of the file and unreachable inside an <img>.
    still = {**spec, "config": {**spec.get("config", {}), "aria": False}}
    drawn: str = vl_convert.vegalite_to_svg(still, vl_version=VEGA_LITE, allowed_base_urls=[])
    label = escape(str(spec.get("description", "")), quote=True)
    return drawn.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)


def save_png(chart: Any, path: Path | str, scale: float = 2.0) -> Path:
    """Write a chart as PNG; ``scale`` 2 is 144 ppi.

    Raises
    ------
    ParameterError
        If ``scale`` is not in (0, 4].
    """
    if not 0 < scale <= 4:
        msg = f"scale must lie in (0, 4], got {scale!r}"
        raise ParameterError(msg)
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(
        vl_convert.vegalite_to_png(
            _spec(chart), vl_version=VEGA_LITE, scale=scale, allowed_base_urls=[]
        )
    )
    return target


def static_bundle(spec: dict[str, Any], **_options: Any) -> dict[str, str]:
    """Altair renderer that shows a chart as SVG; needs no browser script and no network."""
    return {"image/svg+xml": svg(spec), "text/plain": str(spec.get("description", "chart"))}


def compiled(chart: Any) -> dict[str, Any]:
    """A chart as a Vega-Lite dictionary whose data sets and title `patch` can replace."""
    spec: dict[str, Any] = chart.to_dict()
    return spec


def patch(
    spec: Mapping[str, Any],
    rows: Drawing | Mapping[str, Sequence[Mapping[str, Any]]],
    title: Finding | str | None = None,
) -> dict[str, Any]:
    """A compiled chart with other data and title, without building it again.

    Only data sets, title, alt text and source table change; scales, sizes and sort orders stay
    as compiled, so explorer charts fix their domains and sort by an order column.

    Parameters
    ----------
    spec
        Result of `compiled`; not changed.
    rows
        The drawing of the new frame (``case_flips_drawing(frame)``), or rows by data set name.
    title
        Finding to show; by default the drawing's.

    Raises
    ------
    ParameterError
        If a data set is not one of the compiled chart's.

    Examples
    --------
    >>> spec = {"datasets": {"cases": []}, "title": {"text": ["old"], "subtitle": ["of 3"]}}
    >>> patch(spec, {"cases": [{"rank": 1}]}, "Nothing moved")["datasets"]
    {'cases': [{'rank': 1}]}
    """
    fresh = rows.rows if isinstance(rows, Drawing) else rows
    known = spec.get("datasets", {})
    for name in fresh:
        if name not in known:
            msg = f"data set {name!r} is not in the compiled chart; {nearest(name, known)}"
            raise ParameterError(msg)
    changed = dict(spec)
    changed["datasets"] = {**known, **{name: list(part) for name, part in fresh.items()}}
    heading = copy.copy(spec.get("title", {}))
    if isinstance(rows, Drawing):
        heading = {**heading, **rows.title}
        changed["description"] = rows.description
        changed["usermeta"] = rows.usermeta
    if title is not None:
        finding = as_finding(title)
        heading = {**heading, "text": list(finding.lines)}
    changed["title"] = heading
    return changed


def _spec(chart: Any) -> dict[str, Any]:
    return dict(chart) if isinstance(chart, Mapping) else compiled(chart)
