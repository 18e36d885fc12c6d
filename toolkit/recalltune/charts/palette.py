"""Every colour of the charts, in a light and a dark set.

One chart gives colour one meaning: layer, outcome or preset family. Sets were picked so that any
two members stay apart under protan-, deuter- and tritanopia; the tests measure it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from recalltune.errors import ParameterError, nearest
from recalltune.pipeline.config import LAYERS

__all__ = ["DARK", "DASHES", "LIGHT", "OUTCOMES", "Palette", "family_of", "palette"]

OUTCOMES = ("better", "worse", "unchanged")

FAMILIES = ("textbook", "recallnest", "openclaw", "dsh-auto-memory", "hel847", "others")

DASHES: Mapping[str, tuple[int, ...]] = MappingProxyType(
    {
        "textbook": (1, 0),
        "recallnest": (6, 2),
        "openclaw": (2, 2),
        "dsh-auto-memory": (8, 2, 2, 2),
        "hel847": (4, 4),
        "others": (1, 3),
    }
)
"""Stroke dash of a preset family, in px."""


@dataclass(frozen=True)
class Palette:
    """Colours of one theme; ``*_text`` variants are dark (or light) enough to be read."""

    name: str
    ink: str
    muted: str
    grid: str
    paper: str
    layer: Mapping[str, str]
    layer_text: Mapping[str, str]
    outcome: Mapping[str, str]
    outcome_text: Mapping[str, str]
    family: Mapping[str, str]
    family_text: Mapping[str, str]
    diverging: tuple[str, ...]
    dropped_opacity: float

    def layer_mark(self, layer: str) -> str:
        """Mark colour of a layer; a layer of the user's own is grey like ``unchanged``."""
        return self.layer.get(layer, self.outcome["unchanged"])

    def layer_label(self, layer: str) -> str:
        """Text colour of a layer."""
        return self.layer_text.get(layer, self.outcome_text["unchanged"])


def _layers(*colours: str) -> Mapping[str, str]:
    return MappingProxyType(dict(zip(LAYERS, colours, strict=True)))


def _outcomes(*colours: str) -> Mapping[str, str]:
    return MappingProxyType(dict(zip(OUTCOMES, colours, strict=True)))


def _families(*colours: str) -> Mapping[str, str]:
    return MappingProxyType(dict(zip(FAMILIES, colours, strict=True)))


_DARK_FAMILIES = _families("#AAACAE", "#6393F7", "#FE8231", "#9FE9D3", "#B85381", "#E8EAED")
# As the marks, but for hel847, whose mark is too dark to be read as text.
_DARK_FAMILY_TEXT = _families("#AAACAE", "#6393F7", "#FE8231", "#9FE9D3", "#CC6B98", "#E8EAED")
_DIVERGING = ("#A8410B", "#E0A77F", "#F4F2EE", "#8DB7DD", "#1B5FA8")

LIGHT = Palette(
    name="light",
    ink="#202124",
    muted="#5F6368",
    grid="#EEF0F2",
    paper="#FFFFFF",
    layer=_layers("#214892", "#CB8026", "#3E7D64", "#830650", "#90939B"),
    layer_text=_layers("#214892", "#8F5510", "#2F6650", "#830650", "#656A73"),
    outcome=_outcomes("#1B6FB5", "#C4500F", "#8C9299"),
    outcome_text=_outcomes("#1B6FB5", "#C4500F", "#5F6368"),
    family=_families("#787C83", "#5D92DB", "#E46604", "#0E4C2C", "#7D1F99", "#202124"),
    family_text=_families("#5F6368", "#2F62A8", "#A84A02", "#0E4C2C", "#7D1F99", "#202124"),
    diverging=_DIVERGING,
    dropped_opacity=0.28,
)

DARK = Palette(
    name="dark",
    ink="#E8EAED",
    muted="#A5ABB3",
    grid="#2A2E35",
    paper="#16181D",
    layer=_layers("#3C7CF2", "#E48618", "#7BE5C4", "#9E56A4", "#9C9DA6"),
    layer_text=_layers("#7FA8F7", "#F0A550", "#7BE5C4", "#CE93D3", "#B4B6BE"),
    outcome=_outcomes("#62AEEA", "#F0854A", "#8A9099"),
    outcome_text=_outcomes("#62AEEA", "#F0854A", "#A5ABB3"),
    family=_DARK_FAMILIES,
    family_text=_DARK_FAMILY_TEXT,
    diverging=_DIVERGING,
    dropped_opacity=0.40,
)

_THEMES = {"light": LIGHT, "dark": DARK}


def palette(name: str) -> Palette:
    """The palette of a theme.

    Raises
    ------
    ParameterError
        If there is no such theme.
    """
    if name not in _THEMES:
        msg = f"theme must be one of light, dark, got {name!r}; {nearest(name, _THEMES)}"
        raise ParameterError(msg)
    return _THEMES[name]


def family_of(preset: str) -> str:
    """Preset family whose colour and dash a preset wears, by the start of its name.

    Examples
    --------
    >>> family_of("recallnest-minimal"), family_of("lancedb-pro"), family_of("my own")
    ('recallnest', 'recallnest', 'others')
    """
    name = preset.casefold()
    if name.startswith("lancedb"):
        return "recallnest"
    return next((family for family in FAMILIES[:-1] if name.startswith(family)), "others")
