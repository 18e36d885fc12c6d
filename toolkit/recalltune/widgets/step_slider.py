"""The step slider's widgets: a shell around `StepModel` that holds no logic of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import altair as alt
import ipywidgets

from recalltune.charts import svg
from recalltune.replay.steps import Replay
from recalltune.widgets.latest import Later, Latest, soon
from recalltune.widgets.live import Live
from recalltune.widgets.markup import escaped
from recalltune.widgets.step_slider_model import StepModel

__all__ = ["StepSlider", "StepSnapshot", "step_slider"]

STILL = "Start the kernel in JupyterLab and run this cell to move through the steps."
_BESIDE = "display:flex;flex-wrap:wrap;gap:8px 28px;align-items:flex-start;margin:4px 0 14px"
PLAY_MS = 1_500
"""Time between two steps when it plays."""


def step_slider(replay: Replay, *, gloss: Mapping[str, str] | None = None) -> StepSlider:
    """Walk through a replay step by step: the turn, its list, and where it stands in time.

    Parameters
    ----------
    replay
        From `rt.replay`.
    gloss
        Id of a memory or turn -> English, shown beside a text in another language.

    Returns
    -------
    StepSlider
        Shown by a notebook as widgets, or as a sentence where there is no JupyterLab; its
        ``snapshot()`` is three steps that need no kernel.

    Raises
    ------
    ParameterError
        If the replay has no step.
    """
    return StepSlider(StepModel(replay, gloss=gloss))


class StepSlider(Live):
    """Widgets of one replay, made when they are first shown.

    Parameters
    ----------
    model
        The steps.
    later
        Books the work of a move; by default after the messages that wait in the kernel.
    """

    still = STILL

    def __init__(self, model: StepModel, later: Later = soon) -> None:
        self.model = model
        self._latest = Latest(lambda wishes: self._show(wishes["step"]), later)
        # Made in `_build`: a widget that is made is saved with the notebook, shown or not.
        self.play: Any = None
        self.slider: Any = None
        self.turn: Any = None
        self.memories: Any = None
        self.picture: Any = None
        self._link: Any = None

    def snapshot(self) -> StepSnapshot:
        """Return the still form: the first step, the largest drop, the last step."""
        chosen = self.model.chosen()
        parts = {
            name: (self.model.turn_html(step), self.model.list_html(step))
            for name, step in chosen.items()
        }
        return StepSnapshot(self.model.heading(), parts, self.model.spec(*chosen.values()))

    def _build(self) -> ipywidgets.Widget:
        steps = {"min": 1, "max": self.model.count, "value": 1}
        self.play = ipywidgets.Play(**steps, interval=PLAY_MS, description="play")
        self.slider = ipywidgets.IntSlider(
            **steps,
            description="step",
            continuous_update=True,
            layout=ipywidgets.Layout(width="560px"),
        )
        # Linked in the browser: the slider follows the play button without the kernel.
        self._link = ipywidgets.jslink((self.play, "value"), (self.slider, "value"))
        self.turn, self.memories = (ipywidgets.HTML() for _ in range(2))
        self.picture = alt.JupyterChart(
            self.model.chart(), embed_options={"actions": False, "renderer": "svg"}
        )
        self.slider.observe(lambda change: self._latest.wish("step", change["new"]), names="value")
        self._show(1)
        left = ipywidgets.VBox(
            [self.turn], layout=ipywidgets.Layout(width="395px", min_width="375px")
        )
        right = ipywidgets.VBox(
            [self.memories],
            layout=ipywidgets.Layout(flex="1 1 620px", min_width="0", overflow="auto"),
        )
        return ipywidgets.VBox(
            [
                ipywidgets.HTML(f"<b>{escaped(self.model.heading(), 200)}</b>"),
                ipywidgets.HBox([self.play, self.slider]),
                ipywidgets.HBox([left, right], layout=ipywidgets.Layout(flex_flow="row wrap")),
                self.picture,
            ]
        )

    def _show(self, step: int) -> None:
        self.turn.value = self.model.turn_html(step)
        self.memories.value = self.model.list_html(step)
        self.picture.spec = self.model.spec(step)


@dataclass(frozen=True)
class StepSnapshot:
    """Three steps of a replay and its timeline, for readers without a kernel."""

    heading: str
    parts: Mapping[str, tuple[str, str]]
    """What a step is -> its question and its list, as HTML."""
    spec: dict[str, Any]
    """The timeline as Vega-Lite, with a cursor at each of them."""

    def html(self) -> str:
        """Return heading, and each step with its name."""
        steps = "".join(
            f"<details open><summary><b>{escaped(name)}</b></summary>"
            f"<div style='{_BESIDE}'><div style='flex:0 0 375px'>{turn}</div>"
            f"<div style='flex:1 1 560px'>{memories}</div></div></details>"
            for name, (turn, memories) in self.parts.items()
        )
        return f"<div><b>{escaped(self.heading, 200)}</b></div>{steps}"

    def svg(self) -> str:
        """Return the timeline as SVG with its alt text."""
        return svg(self.spec)

    def _ipython_display_(self) -> None:
        # IPython is there whenever something calls this.
        from IPython.display import display

        show: Callable[..., None] = display
        show({"text/html": self.html(), "text/plain": self.heading}, raw=True)
        said = str(self.spec.get("description", "chart"))
        show({"image/svg+xml": self.svg(), "text/plain": said}, raw=True)
