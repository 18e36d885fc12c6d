"""The one theme: type, axes, legend, background, and which palette is in force.

Charts bake the configuration into themselves, so a chart looks the same in the lab, in the
report and in a test, whatever theme Altair has active.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from recalltune.charts.palette import LIGHT, Palette, palette

__all__ = ["FONT", "activate", "config", "current", "using"]

# Noto Sans CJK SC stands first because vl-convert does not follow the stack per glyph:
# with a Latin face first it takes any installed CJK font, often a serif.
FONT = (
    "'Noto Sans CJK SC', Inter, 'Helvetica Neue', Arial, "
    "'PingFang SC', 'Microsoft YaHei', sans-serif"
)

_active: Palette = LIGHT


def current() -> Palette:
    """The palette new charts are drawn with."""
    return _active


def activate(theme: str) -> None:
    """Draw every later chart in ``theme`` ("light" or "dark")."""
    global _active
    _active = palette(theme)


@contextmanager
def using(theme: str) -> Iterator[Palette]:
    """Draw charts in ``theme`` inside a ``with`` block; the report uses light whatever the lab.

    Examples
    --------
    >>> with using("dark") as colours:
    ...     colours.paper
    '#16181D'
    >>> current().name
    'light'
    """
    before = current().name
    activate(theme)
    try:
        yield current()
    finally:
        activate(before)


def config(colours: Palette | None = None) -> dict[str, Any]:
    """Vega-Lite configuration of the theme."""
    shades = colours or current()
    return {
        "font": FONT,
        # Opaque: a transparent chart loses its ink on a dark page.
        "background": shades.paper,
        "padding": {"left": 8, "right": 12, "top": 8, "bottom": 8},
        "view": {"stroke": None},
        "concat": {"spacing": 16},
        "title": {
            "anchor": "start",
            "frame": "group",
            "font": FONT,
            "fontSize": 15,
            "fontWeight": 600,
            "color": shades.ink,
            "subtitleFont": FONT,
            "subtitleFontSize": 11.5,
            "subtitleColor": shades.muted,
            "subtitlePadding": 4,
            "offset": 14,
            "limit": 0,
        },
        "axis": {
            "grid": False,
            "gridColor": shades.grid,
            "domainColor": shades.muted,
            "ticks": False,
            "tickColor": shades.muted,
            "labelFont": FONT,
            "labelFontSize": 11,
            "labelColor": shades.ink,
            "labelPadding": 5,
            "labelLimit": 240,
            # Ticks are thinned before drawing; Vega would drop labels without a word.
            "labelOverlap": False,
            "titleFont": FONT,
            "titleFontSize": 11,
            "titleFontWeight": "normal",
            "titleColor": shades.muted,
            "titleLimit": 0,
            "titlePadding": 8,
        },
        "axisY": {"domain": False},
        "legend": {
            "orient": "bottom",
            "direction": "horizontal",
            "labelFont": FONT,
            "labelFontSize": 11,
            "labelColor": shades.ink,
            "labelLimit": 240,
            "titleFont": FONT,
            "titleFontSize": 11,
            "titleFontWeight": "normal",
            "titleColor": shades.muted,
            "titleLimit": 0,
            "titleOrient": "left",
            "symbolType": "square",
        },
        "text": {"font": FONT, "fontSize": 11, "color": shades.ink},
    }
