"""The still form of an explorer: what git, a converter and a reader without a kernel see."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from recalltune.charts import svg
from recalltune.widgets.markup import escaped

__all__ = ["Snapshot"]


@dataclass(frozen=True)
class Snapshot:
    """Strip, changed cases and chart of one setting against the default."""

    heading: str
    strip: str
    """HTML."""
    moves: str
    """HTML."""
    spec: dict[str, Any] = field(repr=False)
    """The chart as Vega-Lite."""

    def html(self) -> str:
        """Return heading, strip and table."""
        return f"<div><b>{escaped(self.heading, 200)}</b></div>{self.strip}{self.moves}"

    def svg(self) -> str:
        """Return the chart as SVG with its alt text."""
        return svg(self.spec)

    def _ipython_display_(self) -> None:
        # IPython is there whenever something calls this.
        from IPython.display import display

        show: Callable[..., None] = display
        show({"text/html": self.html(), "text/plain": self.heading}, raw=True)
        said = str(self.spec.get("description", "chart"))
        show({"image/svg+xml": self.svg(), "text/plain": said}, raw=True)
