"""Fading: every family is its primitive, reads its own days, and exempts whom it is told to."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recalltune.errors import ParameterError, checked
from recalltune.pipeline.address import get, set_many
from recalltune.pipeline.config import RankingConfig, parse_config
from recalltune.pipeline.stages import ActR, Decay
from recalltune.rank import decay as curves
from recalltune.rank.forgetting import fsrs
from toy_candidates import DAY_US, LAYERS, NOW, toy

FAMILIES = get_args(Decay.model_fields["family"].annotation)
AGES = np.array([0.0, 0.1, 1.0, 7.0, 30.0, 180.0])
DAYS = {"half_life_days", "mean_life_days", "rate_days", "stability_days"}
# family -> what it gives with its defaults, and the fields it reads beside floor
DEFAULTS = {
    "none": (np.ones(6), set()),
    "exponential": (curves.exponential(AGES, half_life_days=30), {"half_life_days"}),
    "weibull": (curves.weibull(AGES, half_life_days=30, shape=1), {"half_life_days", "shape"}),
    "power": (curves.power(AGES, half_life_days=30, exponent=0.5), {"half_life_days", "exponent"}),
    "linear": (curves.linear(AGES, half_life_days=30), {"half_life_days"}),
    "mean_life": (curves.mean_life(AGES, mean_life_days=30), {"mean_life_days"}),
    "half_floor": (curves.half_floor(AGES, mean_life_days=30), {"mean_life_days"}),
    "weibull_rate": (
        curves.weibull_rate(AGES, half_life_days=30, shape=1),
        {"rate_days", "shape"},
    ),
    "fsrs": (fsrs(AGES, stability_days=30), {"stability_days", "fsrs_exponent"}),
}


def config(**decay: Any) -> RankingConfig:
    stages = [{"kind": "rrf"}, {"kind": "decay", **decay}]
    arms = {"lexical": {}, "dense": {}}
    return checked(RankingConfig, {"layers": list(LAYERS), "arms": arms, "stages": stages})


def aged(*ages: float, **features: list[float]) -> Any:
    """One query with these ages; other features as given, layers project by default."""
    table = toy(1, queries=1, columns=len(ages))
    named = {"age_days": list(ages), "layer": [LAYERS.index("project")] * len(ages), **features}
    whole = {**table.features, **{name: np.array([row]) for name, row in named.items()}}
    return replace(table, span=np.arange(len(ages))[None], features=whole)


def test_every_family_stands_in_the_table_above():
    assert set(DEFAULTS) == set(FAMILIES)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_is_its_primitive_with_its_published_parameters(family):
    stage = Decay(family=family)
    assert stage.weight(AGES).tolist() == DEFAULTS[family][0].tolist()
    scale = np.broadcast_to(stage.affine(aged(*AGES)).scale, (1, 6))
    assert scale[0].tolist() == DEFAULTS[family][0].tolist()


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_reads_its_own_days_and_no_other(family):
    stage = Decay(family=family)
    read = DEFAULTS[family][1] | ({"floor"} if family != "none" else set())
    assert set(stage.canonical()) == {"kind", "name", "family", *read}
    for name in (*DAYS, "shape", "exponent", "fsrs_exponent"):
        other = stage.with_(**{name: 0.7})
        assert (other.canonical() != stage.canonical()) == (name in read)
        assert (other.weight(AGES).tolist() != stage.weight(AGES).tolist()) == (name in read)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("shape", [0.8, 1.5])
def test_the_weight_at_the_stated_age_is_one_half_or_no_age_is_stated(family, shape):
    stage = Decay(family=family, shape=shape, half_life_days=9.0, rate_days=9.0)
    if stage.half_age_days is None:
        assert family in ("none", "half_floor")
        assert stage.weight(np.array([36_500.0])) >= 0.5
    else:
        assert stage.weight(np.array([stage.half_age_days])) == pytest.approx(0.5, rel=1e-9)


def test_a_memory_without_an_age_is_left_unchanged():
    scale = Decay(family="linear").affine(aged(math.nan, 30.0)).scale
    assert scale.tolist() == [[1.0, 0.5]]


def test_a_layer_has_days_of_its_own_whatever_they_mean_in_the_family():
    table = aged(7.0, 7.0, layer=[LAYERS.index("log"), LAYERS.index("project")])
    half_life = Decay(layer_days={"log": 7.0}).affine(table).scale[0]
    np.testing.assert_allclose(half_life, [0.5, 2 ** (-7 / 30)], rtol=1e-15)
    mean_life = Decay(family="mean_life", layer_days={"log": 7.0}).affine(table).scale[0]
    np.testing.assert_allclose(mean_life, [math.exp(-1), math.exp(-7 / 30)], rtol=1e-15)


def test_use_stretches_the_days_as_worked_by_hand():
    # One access today: 30 * (1 + 0.5 * ln 2). None: 30.
    table = aged(30.0, 30.0, access_count=[1.0, 0.0], days_since_access=[0.0, math.nan])
    scale = Decay(reinforcement=0.5).affine(table).scale[0]
    np.testing.assert_allclose(scale, [2 ** (-1 / (1 + 0.5 * math.log(2))), 0.5], rtol=1e-14)


@pytest.mark.parametrize(
    ("exemption", "spared"),
    [
        ({"exempt_pinned": True}, [1.0, 0.5, 0.5]),
        ({"exempt_layers": ["log"]}, [0.5, 1.0, 0.5]),
        ({"exempt_categories": ["patterns"]}, [0.5, 0.5, 1.0]),
        ({"exempt_categories": ["profile"]}, [0.5, 0.5, 0.5]),
    ],
)
def test_who_is_exempt_does_not_fade(exemption, spared):
    project, log = LAYERS.index("project"), LAYERS.index("log")
    table = aged(
        30.0, 30.0, 30.0, pinned=[1, 0, 0], layer=[project, log, project], category=[0, 0, 1]
    )
    assert config(**exemption).stage("decay").affine(table).scale.tolist() == [spared]


def test_a_layer_the_config_does_not_have_is_refused_with_the_nearest():
    for wrong in ({"layer_days": {"projct": 3.0}}, {"exempt_layers": ["projct"]}):
        with pytest.raises(ParameterError, match=r"decay names the layer 'projct'; nearest: 'proj"):
            config(**wrong)


@pytest.mark.parametrize("bad", [0.0, -1.0, 40_000.0])
def test_days_of_a_layer_outside_their_range_are_refused(bad):
    with pytest.raises(ParameterError, match=r"layer_days must lie in \(0, 36500\] for every"):
        config(layer_days={"log": bad})


def test_a_layer_gets_days_by_its_address_and_loses_them_again():
    base = config()
    other = set_many(base, {"decay.layer_days.log": 7.0})
    assert get(other, "decay.layer_days.log") == 7.0
    assert get(other, "decay.layer_days.project") is None
    assert other.fingerprint != base.fingerprint
    back = set_many(other, {"decay.layer_days.log": None})
    assert back.fingerprint == base.fingerprint


def test_a_config_with_every_field_survives_toml():
    whole = config(
        family="fsrs",
        layer_days={"user": 90.0, "log": 7.0},
        reinforcement=0.5,
        exempt_pinned=True,
        exempt_layers=["user", "project"],
        exempt_categories=["patterns"],
    )
    assert parse_config(whole.to_toml(), "text") == whole


def test_act_r_adds_up_the_uses_before_the_question_and_the_birth():
    table = aged(4.0, math.nan, math.nan, 1.0)
    days = [[196, 199, 201], [199], [], []]  # the question is asked on day 200
    uses = [np.array(days[row]) * DAY_US if row < 4 else np.array([]) for row in range(8)]
    table = replace(table, uses=uses)
    ages = table.use_ages(0)
    np.testing.assert_array_equal(ages[0], [4.0, 4.0, 1.0])
    # B = ln(1/2 + 1/2 + 1), ln 1, no use at all, ln 1
    expected = [1 / (1 + math.exp(-math.log(2) / 0.4)), 0.5, 1.0, 0.5]
    np.testing.assert_allclose(ActR().affine(table).scale[0], expected, rtol=1e-14)
    floored = ActR(floor=0.4).affine(table).scale[0]
    np.testing.assert_allclose(floored[1:], [0.7, 1.0, 0.7], rtol=1e-14)
    assert NOW == 200 * DAY_US


STAGES = st.one_of(
    st.builds(
        lambda family, floor: Decay(family=family, floor=floor),
        st.sampled_from(FAMILIES),
        st.sampled_from([0.0, 0.3]),
    ),
    st.builds(lambda floor: ActR(floor=floor), st.sampled_from([0.0, 0.3])),
)


@settings(max_examples=30, deadline=None)
@given(STAGES, st.integers(0, 99), st.floats(-2, 0), st.floats(0, 2))
def test_no_score_leaves_the_attainable_bounds(stage, seed, low, high):
    least, most = stage.attainable(low, high)
    table = toy(seed)
    for score in (low, high):
        after = stage.affine(table)(np.full(table.span.shape, score))
        assert (after >= least - 1e-12).all()
        assert (after <= most + 1e-12).all()
