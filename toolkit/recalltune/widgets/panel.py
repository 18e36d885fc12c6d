"""The explorer's widgets: a shell around `Explorer` that holds no logic of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import altair as alt
import ipywidgets

from recalltune.candidates.table import Candidates
from recalltune.errors import ParameterError
from recalltune.pipeline.config import RankingConfig
from recalltune.widgets.controls import Control
from recalltune.widgets.latest import Later, Latest, soon
from recalltune.widgets.live import Live
from recalltune.widgets.markup import escaped, name_of, took, warning
from recalltune.widgets.model import EXPLORER_METRICS, Explorer
from recalltune.widgets.snapshot import Snapshot

__all__ = ["Panel", "explorer"]

STILL = "Start the kernel in JupyterLab and run this cell to move the sliders."


def explorer(
    candidates: Candidates,
    config: RankingConfig,
    controls: Iterable[str] | Mapping[str, Sequence[Any]],
    *,
    metrics: Sequence[str] = EXPLORER_METRICS,
    chart: str = "case_flips",
) -> Panel:
    """Sliders over some parameters; every step scores all tuning cases again.

    Parameters
    ----------
    candidates, config, controls, metrics, chart
        As in `Explorer`.

    Returns
    -------
    Panel
        Shown by a notebook as widgets, or as a sentence where there is no JupyterLab.

    Raises
    ------
    ParameterError
        If an address, metric or chart is unknown, or no case is for tuning.
    """
    return Panel(Explorer(candidates, config, controls, metrics=metrics, chart=chart))


class Panel(Live):
    """Widgets of one explorer, made when they are first shown.

    Parameters
    ----------
    model
        The explorer.
    later
        Books the work of a step; by default after the messages that wait in the kernel.
    """

    still = STILL

    def __init__(self, model: Explorer, later: Later = soon) -> None:
        self.model = model
        self._latest = Latest(self._move, later)
        self.rows: dict[str, _Row] = {}
        self._showing = False
        # Made in `_build`: a widget that is made is saved with the notebook, shown or not.
        self.strip: Any = None
        self.moves: Any = None
        self.message: Any = None
        self.picture: Any = None
        self.toml: Any = None

    def snapshot(self, changes: Mapping[str, Any]) -> Snapshot:
        """Return the still form at one named alternative; see `Explorer.snapshot`."""
        return self.model.snapshot(changes)

    def _build(self) -> ipywidgets.Widget:
        self.strip, self.moves, self.message = (ipywidgets.HTML() for _ in range(3))
        self.toml = ipywidgets.Textarea(
            layout=ipywidgets.Layout(width="280px", height="160px", display="none")
        )
        for control in self.model.controls:
            self.rows[control.address] = _Row(control, self.model.base, self._latest.wish)
        reset = ipywidgets.Button(description="reset", tooltip="Back to the current default")
        copy = ipywidgets.Button(description="copy TOML", tooltip="Show the setting as TOML")
        reset.on_click(lambda _button: self.reset())
        copy.on_click(lambda _button: self.show_toml())
        self.picture = alt.JupyterChart(
            self.model.chart(), embed_options={"actions": False, "renderer": "svg"}
        )
        self.picture.spec = self.model.spec()
        left = ipywidgets.VBox(
            [
                *(row.box for row in self.rows.values()),
                ipywidgets.HBox([reset, copy]),
                self.message,
                self.toml,
            ],
            layout=ipywidgets.Layout(width="300px", min_width="300px"),
        )
        right = ipywidgets.VBox(
            [self.strip, self.moves, self.picture],
            layout=ipywidgets.Layout(flex="1 1 760px", min_width="0", overflow="auto"),
        )
        heading = ipywidgets.HTML(f"<b>{escaped(self.model.heading(), 200)}</b>")
        self._show()
        return ipywidgets.VBox(
            [
                heading,
                ipywidgets.HBox([left, right], layout=ipywidgets.Layout(flex_flow="row wrap")),
            ]
        )

    def _move(self, wishes: Mapping[str, Any]) -> None:
        if self._showing:
            return
        try:
            wanted = {
                address: self.model.control(address).parse(value.text)
                if isinstance(value, _Typed)
                else value
                for address, value in wishes.items()
            }
        except ParameterError as error:
            self.model.message = str(error)
        else:
            self.model.move(wanted)
        self._show()

    def reset(self) -> None:
        """Return to the current default; what is booked is forgotten."""
        self._latest.forget()
        self.model.reset()
        self._show()

    def show_toml(self) -> None:
        """Show the setting as TOML to copy, or hide it again."""
        hidden = self.toml.layout.display == "none"
        self.toml.layout.display = "" if hidden else "none"

    def _show(self) -> None:
        """Let every widget say what the model says; the events this causes are not wishes."""
        self._showing = True
        try:
            for row in self.rows.values():
                row.show(self.model.config)
        finally:
            self._showing = False
        self.message.value = warning(self.model.message)
        self.strip.value = self.model.strip_html() + took(self.model.seconds)
        self.moves.value = self.model.moves_html()
        self.toml.value = self.model.toml()
        self.picture.spec = self.model.spec()


class _Typed:
    """A value that was typed and still has to be read."""

    def __init__(self, text: str) -> None:
        self.text = text


class _Row:
    """Slider, typed field and the way back to the default of one control."""

    def __init__(self, control: Control, base: RankingConfig, wish: Any) -> None:
        self._control = control
        self._wish = wish
        self._silent = False
        default = control.read(base)
        told = control.told(default)
        label = ipywidgets.HTML(name_of(control.address, control.about))
        self.slider = ipywidgets.SelectionSlider(
            # A slider of ipywidgets cannot hold None, so it holds the place of the stop.
            options=[(control.told(stop), place) for place, stop in enumerate(control.stops)],
            value=control.stops.index(default),
            readout=False,
            layout=ipywidgets.Layout(width="190px"),
        )
        self.field = ipywidgets.Text(
            value=told, continuous_update=False, layout=ipywidgets.Layout(width="80px")
        )
        self.back = ipywidgets.Button(
            description=f"default {told}",
            tooltip=f"{control.address} back to {told}",
            layout=ipywidgets.Layout(width="130px", height="24px"),
        )
        self.slider.observe(self._moved, names="value")
        self.field.observe(self._typed, names="value")
        self.back.on_click(lambda _button: wish(control.address, default))
        self.box = ipywidgets.VBox([label, ipywidgets.HBox([self.slider, self.field]), self.back])

    def show(self, config: RankingConfig) -> None:
        """Show a config's value; a value between two stops stands at the nearest one."""
        value = self._control.read(config)
        self._silent = True
        try:
            self.slider.value = self._nearest(value)
            self.field.value = self._control.told(value)
        finally:
            self._silent = False

    def _nearest(self, value: Any) -> int:
        stops = self._control.stops
        if value in stops:
            return stops.index(value)
        numbers = [stop for stop in stops if isinstance(stop, int | float)]
        return stops.index(min(numbers, key=lambda stop: abs(stop - value)))

    def _moved(self, change: Any) -> None:
        if not self._silent:
            self._wish(self._control.address, self._control.stops[change["new"]])

    def _typed(self, change: Any) -> None:
        if not self._silent:
            self._wish(self._control.address, _Typed(change["new"]))
