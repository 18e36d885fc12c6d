"""Controls: stops, typed texts, and the one state they read, the config."""

from __future__ import annotations

import pytest

import recalltune as rt
from recalltune.errors import ParameterError
from recalltune.widgets.controls import OFF, controls_for

BASE = rt.preset("textbook")


def one(address, base=BASE, stops=None):
    return controls_for(base, [address] if stops is None else {address: stops})[0]


def test_a_half_life_has_a_stop_that_switches_decay_off():
    control = one("half_life_days")
    assert control.address == "decay.half_life_days"
    assert control.stops[-1] == OFF
    assert control.read(BASE) == OFF
    on = rt.set_many(BASE, control.changes(30, BASE))
    assert (on.stage("decay").family, on.stage("decay").half_life_days) == ("exponential", 30)
    assert rt.set_many(on, control.changes(OFF, on)).stage("decay").family == "none"


def test_a_new_half_life_keeps_the_family_that_is_on():
    fading = rt.set_many(BASE, {"decay.family": "weibull"})
    assert one("half_life_days").changes(7, fading)["decay.family"] == "weibull"


def test_the_default_is_a_stop_wherever_it_lies():
    odd = rt.set_many(BASE, {"select.top_k": 33, "salience.salience_weight": 0.33})
    assert one("select.top_k", odd).stops[-1] == 33
    stops = one("salience.salience_weight", odd).stops
    assert stops == tuple(sorted(stops))
    assert 0.33 in stops


def test_a_cap_has_none_as_its_last_stop():
    control = one("select.caps.log")
    assert control.stops[-1] is None
    assert control.read(BASE) is None
    assert control.told(None) == "none"
    assert control.parse("none") is None
    assert control.parse(" 4 ") == 4


def test_choices_are_stops():
    assert one("decay.family").stops[:3] == ("none", "exponential", "weibull")
    assert one("mmr.similarity").parse("jaccard") == "jaccard"


@pytest.mark.parametrize(
    ("address", "text", "value"),
    [("decay.half_life_days", "45", 45.0), ("decay.half_life_days", "off", OFF),
     ("select.top_k", "7", 7), ("decay.shape", "1.25", 1.25)],
)  # fmt: skip
def test_typed_texts_are_values(address, text, value):
    assert one(address).parse(text) == value


@pytest.mark.parametrize(
    ("address", "text", "kind"),
    [("select.top_k", "7.5", "a whole number"), ("decay.half_life_days", "a month", "or off"),
     ("select.caps.log", "many", "or none")],
)  # fmt: skip
def test_a_text_that_is_no_value_is_refused_with_what_would_be(address, text, kind):
    with pytest.raises(ParameterError, match=kind) as refused:
        one(address).parse(text)
    assert repr(text) in str(refused.value)


def test_a_parameter_without_bounds_needs_stops_of_its_own():
    config = rt.preset("recallnest")
    address = "tier_decay.exempt_categories"
    assert one("tier_decay.core_importance", config).stops[:2] == (0, 0.1)
    with pytest.raises(ParameterError, match="needs stops"):
        one(address, config)
    assert one(address, config, [(), ("patterns",)]).stops == ((), ("patterns",))


def test_a_control_says_what_its_parameter_is():
    assert one("decay.half_life_days").about.startswith("Days, > 0.")


def test_a_control_acts_where_any_stop_ranks_differently():
    assert one("rrf.weights.dense").acts(BASE)
    assert not one("decay.shape").acts(BASE)
    assert one("decay.shape").acts(rt.set_many(BASE, {"decay.family": "weibull"}))
