"""The widgets around an explorer: events in, one scoring at a time, nothing twice."""

from __future__ import annotations

import altair as alt
import pytest

from recalltune.charts import setup
from recalltune.widgets.controls import OFF
from recalltune.widgets.latest import Latest
from recalltune.widgets.model import Explorer
from recalltune.widgets.panel import STILL, Panel
from widgets.explored import config, table


class Booked:
    """A loop under the test's control."""

    def __init__(self):
        self.calls = []

    def __call__(self, call):
        self.calls.append(call)

    def run(self):
        waiting, self.calls = self.calls, []
        for call in waiting:
            call()


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    return table(tmp_path_factory.mktemp("panel"))


@pytest.fixture
def loop():
    return Booked()


@pytest.fixture
def panel(cases, loop):
    setup("static")
    explorer = Explorer(
        cases, config(), ["decay.half_life_days", "select.top_k", "select.caps.log"]
    )
    panel = Panel(explorer, loop)
    panel.widget()
    return panel


def row(panel, address):
    return panel.rows[address]


def slide(panel, address, value):
    row(panel, address).slider.value = panel.model.control(address).stops.index(value)


def test_of_many_wishes_the_last_one_is_carried_out_and_only_once():
    loop, done = Booked(), []
    latest = Latest(done.append, loop)
    for value in (1, 2, 3):
        latest.wish("a", value)
    latest.wish("b", 4)
    assert len(loop.calls) == 1
    loop.run()
    assert done == [{"a": 3, "b": 4}]
    loop.run()
    assert len(done) == 1


def test_a_wish_during_the_work_is_carried_out_after_it():
    loop, done = Booked(), []

    def work(wishes):
        done.append(dict(wishes))
        if len(done) == 1:
            latest.wish("a", "again")

    latest = Latest(work, loop)
    latest.wish("a", "first")
    loop.run()
    assert done == [{"a": "first"}]
    loop.run()
    assert done == [{"a": "first"}, {"a": "again"}]


def test_sliding_over_many_stops_scores_the_last_one_only(panel, loop, monkeypatch):
    scored = []
    original = panel.model.move
    monkeypatch.setattr(
        panel.model, "move", lambda wanted: scored.append(wanted) or original(wanted)
    )
    for value in (14, 7, 3, 1):
        slide(panel, "decay.half_life_days", value)
    loop.run()
    assert scored == [{"decay.half_life_days": 1}]
    assert panel.model.settings_seen == 1
    assert loop.calls == []


def test_strip_table_field_and_chart_follow_a_slider(panel, loop):
    before = (panel.strip.value, panel.picture.spec)
    slide(panel, "decay.half_life_days", OFF)
    loop.run()
    assert row(panel, "decay.half_life_days").field.value == OFF
    assert panel.model.strip_html() in panel.strip.value
    assert panel.strip.value != before[0]
    assert panel.picture.spec["datasets"] != before[1]["datasets"]
    assert panel.moves.value == panel.model.moves_html()


def test_a_typed_value_moves_the_slider_to_the_nearest_stop(panel, loop):
    row(panel, "decay.half_life_days").field.value = "8"
    loop.run()
    assert panel.model.config.stage("decay").half_life_days == 8
    stops = panel.model.control("decay.half_life_days").stops
    assert stops[row(panel, "decay.half_life_days").slider.value] == 7
    assert loop.calls == []


@pytest.mark.parametrize(
    ("address", "text"), [("decay.half_life_days", "-3"), ("select.top_k", "x")]
)
def test_a_refused_text_shows_the_message_and_goes_back(panel, loop, address, text):
    told = row(panel, address).field.value
    strip = panel.model.strip_html()
    row(panel, address).field.value = text
    loop.run()
    assert "role='alert'" in panel.message.value
    assert address.rpartition(".")[2] in panel.message.value
    assert row(panel, address).field.value == told
    assert panel.model.strip_html() == strip
    slide(panel, "decay.half_life_days", 7)
    loop.run()
    assert panel.message.value == ""


def test_reset_returns_every_control_and_forgets_what_was_booked(panel, loop):
    slide(panel, "decay.half_life_days", 3)
    loop.run()
    slide(panel, "select.top_k", 9)
    panel.reset()
    loop.run()
    assert panel.model.config.fingerprint == config().fingerprint
    assert row(panel, "select.top_k").field.value == "4"
    assert row(panel, "decay.half_life_days").field.value == "30"


def test_the_default_button_restores_one_control(panel, loop):
    slide(panel, "decay.half_life_days", 3)
    slide(panel, "select.top_k", 9)
    loop.run()
    row(panel, "select.top_k").back.click()
    loop.run()
    assert panel.model.config.stage("select").top_k == 4
    assert panel.model.config.stage("decay").half_life_days == 3


def test_showing_the_panel_again_attaches_nothing_again(panel, loop):
    first = panel.widget()
    assert panel.widget() is first
    slide(panel, "decay.half_life_days", 7)
    assert len(loop.calls) == 1


def test_the_toml_is_the_present_setting_and_hidden_until_asked_for(panel, loop):
    assert panel.toml.layout.display == "none"
    panel.show_toml()
    assert panel.toml.layout.display == ""
    slide(panel, "decay.half_life_days", 3)
    loop.run()
    assert panel.toml.value == panel.model.toml()


def test_without_a_live_page_there_is_a_sentence_and_no_widget(cases):
    setup("static")
    shown = Panel(Explorer(cases, config(), ["select.top_k"]))
    bundle = shown._repr_mimebundle_()
    assert bundle["text/plain"] == STILL
    assert not [mime for mime in bundle if "widget" in mime]


def test_with_a_live_page_there_is_a_widget_and_the_sentence_behind_it(cases):
    with alt.renderers.enable("jupyter"):
        bundle = Panel(Explorer(cases, config(), ["select.top_k"]))._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert STILL in bundle["text/html"]
