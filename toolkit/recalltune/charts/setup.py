"""How notebooks show charts: in the browser with everything local, or as still SVG."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import altair as alt

from recalltune.charts import look
from recalltune.charts.render import static_bundle
from recalltune.errors import ParameterError, nearest

__all__ = ["cjk_font_found", "setup"]

# Names under which CJK sans faces lie in font folders, in lower case.
_CJK_FILES = (
    "notosanscjk", "notosanssc", "notosanstc", "notosansjp", "notosanskr", "sourcehansans",
    "pingfang", "hiragino", "stheiti", "msyh", "simhei", "wqy", "droidsansfallback", "yahei",
)  # fmt: skip
_FONT_FOLDERS = (
    "/usr/share/fonts", "/usr/local/share/fonts", "~/.fonts", "~/.local/share/fonts",
    "/System/Library/Fonts", "/Library/Fonts", "~/Library/Fonts", "C:/Windows/Fonts",
)  # fmt: skip
_warned = False


def setup(
    mode: Literal["auto", "interactive", "static"] = "auto",
    theme: Literal["light", "dark"] = "light",
) -> str:
    """Choose how charts are shown and in which theme; loads nothing from the network.

    Parameters
    ----------
    mode
        ``interactive``: Vega in the browser from a local bundle (2 to 7 s once a kernel).
        ``static``: SVG with alt text. ``auto``: interactive in a JupyterLab session, static
        everywhere else; the environment variable ``RECALLTUNE_CHARTS`` overrides ``auto``.
    theme
        ``dark`` is for the lab; files and the report are always light.

    Returns
    -------
    str
        The mode in force.

    Raises
    ------
    ParameterError
        If mode or theme is unknown.
    """
    wanted = os.environ.get("RECALLTUNE_CHARTS", mode) if mode == "auto" else mode
    known = ("auto", "interactive", "static")
    if wanted not in known:
        msg = f"mode must be one of {', '.join(known)}, got {wanted!r}; {nearest(wanted, known)}"
        raise ParameterError(msg)
    look.activate(theme)
    alt.theme.register("recalltune", enable=True)(_theme)
    alt.renderers.register("recalltune", static_bundle)
    # A kernel that JupyterLab started knows its session; one of nbconvert or nbclient does not.
    if wanted == "auto":
        wanted = "interactive" if os.environ.get("JPY_SESSION_NAME") else "static"
    if wanted == "interactive":
        # Both switches: the renderer's own comes too late for a JupyterChart made by hand.
        alt.JupyterChart.enable_offline()
        alt.renderers.enable("jupyter", offline=True, embed_options={"actions": False})
    else:
        alt.renderers.enable("recalltune")
    _warn_without_cjk_font()
    return wanted


def cjk_font_found(folders: Iterable[str] = _FONT_FOLDERS) -> bool:
    """Whether a sans face with Chinese lies in one of the font folders."""
    for folder in folders:
        for _, _, files in os.walk(Path(folder).expanduser()):
            if any(_plain(name).startswith(_CJK_FILES) for name in files):
                return True
    return False


def _plain(name: str) -> str:
    return name.lower().replace(" ", "").replace("-", "").replace("_", "")


def _warn_without_cjk_font() -> None:
    global _warned
    if _warned or cjk_font_found():
        return
    _warned = True
    warnings.warn(
        "no CJK sans font found: Chinese labels may come out as boxes or in a serif face; "
        "install fonts-noto-cjk (Debian) or Noto Sans CJK SC",
        stacklevel=3,
    )


def _theme() -> Any:
    return {"config": look.config()}
