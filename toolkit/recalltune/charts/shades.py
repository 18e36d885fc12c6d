"""The diverging ramp: worse than the default, equal to it, better."""

from __future__ import annotations

from recalltune.charts.look import current

__all__ = ["ink_on", "luminance", "shade"]


def shade(part: float) -> str:
    """Colour of a difference; -1 worst, 0 none, 1 best; outside values are drawn as the ends.

    The ramp has five stops and is mixed in RGB: mixed in other spaces it passes through pink.

    Examples
    --------
    >>> shade(-1.0), shade(0.0), shade(1.0)
    ('#A8410B', '#F4F2EE', '#1B5FA8')
    """
    stops = current().diverging
    place = (min(max(part, -1.0), 1.0) + 1) / 2 * (len(stops) - 1)
    left = min(int(place), len(stops) - 2)
    mix = place - left
    channels = zip(_channels(stops[left]), _channels(stops[left + 1]), strict=True)
    return "#" + "".join(f"{round(low + (high - low) * mix):02X}" for low, high in channels)


def ink_on(fill: str) -> str:
    """Near-black or white, whichever reads better on a fill.

    Examples
    --------
    >>> ink_on("#1B5FA8"), ink_on("#F4F2EE")
    ('#FFFFFF', '#202124')
    """
    light = luminance(fill)
    on_white = 1.05 / (light + 0.05)
    on_ink = (light + 0.05) / (luminance("#202124") + 0.05)
    return "#FFFFFF" if on_white > on_ink else "#202124"


def luminance(colour: str) -> float:
    """Relative luminance of an sRGB colour, in [0, 1] (WCAG 2.2)."""
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in (channel / 255 for channel in _channels(colour))
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _channels(colour: str) -> tuple[int, ...]:
    return tuple(int(colour[at : at + 2], 16) for at in (1, 3, 5))
