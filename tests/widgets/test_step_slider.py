"""The step slider: every step as text of its own, safe to show, and widgets that follow."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser

import altair as alt
import pytest

from recalltune.charts import setup
from recalltune.errors import ParameterError
from recalltune.widgets.step_slider import STILL, StepSlider, step_slider
from recalltune.widgets.step_slider_model import StepModel
from walked import SECRET, walk
from widgets.test_panel import Booked

pytestmark = pytest.mark.slow


class Seen(HTMLParser):
    """Tags, attributes and words of a piece of HTML."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.words = set(), set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attributes}

    def handle_data(self, data):
        self.words.append(data)


@pytest.fixture(scope="module")
def replayed(tmp_path_factory):
    return walk(tmp_path_factory.mktemp("slider") / "l.duckdb")


@pytest.fixture(scope="module")
def model(replayed):
    return StepModel(replayed, gloss={"log-1": "in English"})


def words(html):
    return " ".join(" ".join(Seen(html).words).split())


def test_a_step_shows_its_question_and_its_account(model):
    told = words(model.turn_html(1))
    assert told.startswith("step 1 of 4 2026-01-04 12:00 UTC, session s0 tea garden")
    assert "tea garden" in told
    # old, log-1, log-2, long: two are shown, one does not fit, one stands below the last place.
    assert "4 known then, in scope, 4 candidates, 2 shown" in told
    assert "2 dropped, 1 larger than the budget" in told


def test_a_list_shows_ranks_marks_and_what_came_next(model):
    told = words(model.list_html(2))
    assert "1 ■ project target" in told
    assert "superseded" in told
    assert "larger than the budget (select): tea tea" in told
    first = words(model.list_html(1))
    assert "target, dropped" in first
    assert "below the last place (select): tea garden 备份" in first
    assert "server (in English)" in first


def test_labels_that_may_not_be_named_are_counted_only(model):
    told = words(model.list_html(1))
    assert "2 labels of a memory that was not there when this was asked" in told
    assert "1 label of a memory that may not be seen here" in told
    everything = "".join(model.turn_html(n) + model.list_html(n) for n in range(1, 5))
    for hidden in ("elsewhere", "later", "tomorrow", SECRET, "surprise", "secret"):
        assert hidden not in everything


def test_a_step_without_a_list_says_why(model):
    assert "Nothing is shown (no_evidence)." in words(model.turn_html(4))


def test_text_of_the_data_is_text(model):
    for step in range(1, 5):
        seen = Seen(model.turn_html(step) + model.list_html(step))
        assert seen.tags <= {"div", "b", "span", "table", "tr", "th", "td"}
        assert seen.attributes <= {"style", "aria-hidden"}
    assert "<script>window.broken" in words(model.turn_html(2))
    assert "\u202e" not in model.turn_html(2)


def test_the_timeline_moves_nothing_but_its_cursor(model):
    one, other = model.spec(1), model.spec(3)
    assert one["datasets"]["cursor"] == [{"round": 1}]
    assert other["datasets"]["cursor"] == [{"round": 3}]
    assert {**one, "datasets": {**one["datasets"], "cursor": []}} == {
        **other, "datasets": {**other["datasets"], "cursor": []}
    }  # fmt: skip


def test_the_chosen_steps_are_first_largest_drop_and_last(model):
    drops = model.steps["dropped"].to_list()
    assert model.chosen() == {"first": 1, "largest drop": drops.index(max(drops)) + 1, "last": 4}


def test_steps_outside_the_replay_and_empty_replays_are_refused(model, replayed):
    for step in (0, 5):
        with pytest.raises(ParameterError, match=r"step must be a whole number in \[1, 4\]"):
            model.turn_html(step)
    with pytest.raises(ParameterError, match="at least one step"):
        StepModel(replace(replayed, steps=replayed.steps.clear()))


def test_moving_the_slider_shows_that_step_once(model):
    setup("static")
    loop = Booked()
    slider = StepSlider(model, loop)
    slider.widget()
    assert slider.turn.value == model.turn_html(1)
    for step in (2, 3, 4):
        slider.slider.value = step
    assert len(loop.calls) == 1
    loop.run()
    assert slider.turn.value == model.turn_html(4)
    assert slider.memories.value == model.list_html(4)
    assert slider.picture.spec["datasets"]["cursor"] == [{"round": 4}]


def test_play_moves_the_same_value_as_the_slider(model):
    slider = StepSlider(model, Booked())
    slider.widget()
    assert (slider.play.min, slider.play.max) == (slider.slider.min, slider.slider.max) == (1, 4)
    assert slider._link.source == (slider.play, "value")
    assert slider._link.target == (slider.slider, "value")


def test_the_widgets_are_made_once(model):
    slider = StepSlider(model, Booked())
    assert slider.widget() is slider.widget()


def test_without_a_kernel_there_is_a_sentence_and_a_snapshot_of_three_steps(replayed):
    setup("static")
    slider = step_slider(replayed)
    assert slider._repr_mimebundle_() == {"text/plain": STILL, "text/html": f"<em>{STILL}</em>"}
    assert slider.turn is None
    still = slider.snapshot()
    for name in ("first", "largest drop", "last"):
        assert f"<b>{name}</b>" in still.html()
    assert {row["round"] for row in still.spec["datasets"]["cursor"]} == set(
        slider.model.chosen().values()
    )
    assert 'role="img"' in still.svg()
    assert "<script>" not in still.html() + still.svg()


def test_in_jupyterlab_the_bundle_holds_the_widget_beside_the_sentence(replayed):
    try:
        setup("interactive")
        bundle = step_slider(replayed)._repr_mimebundle_()
        assert "application/vnd.jupyter.widget-view+json" in bundle
        assert bundle["text/plain"]
    finally:
        setup("static")
    assert alt.renderers.active != "jupyter"
