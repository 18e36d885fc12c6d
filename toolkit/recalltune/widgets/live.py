"""What a notebook shows of a widget: the live form in JupyterLab, elsewhere a sentence."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import altair as alt
import ipywidgets

__all__ = ["Live"]


class Live(ABC):
    """Widgets, made when they are first shown: one that is made is saved, shown or not.

    Attributes
    ----------
    still
        What stands in their place where there is no JupyterLab.
    """

    still: ClassVar[str]
    _box: ipywidgets.Widget | None = None

    @abstractmethod
    def _build(self) -> ipywidgets.Widget:
        """Make the widgets and attach their handlers."""

    def widget(self) -> ipywidgets.Widget:
        """Return the widgets; the same ones each time, so handlers are attached once."""
        if self._box is None:
            self._box = self._build()
        return self._box

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        del options
        still = {"text/plain": self.still, "text/html": f"<em>{self.still}</em>"}
        if alt.renderers.active != "jupyter":
            return still
        live: dict[str, Any] = self.widget()._repr_mimebundle_()
        return {**still, **live}
