"""A space says what it holds before anything runs."""

from __future__ import annotations

import pytest

from recalltune.errors import ParameterError, checked
from recalltune.pipeline.config import RankingConfig
from recalltune.sweep.engine import distinct
from recalltune.sweep.space import Space, load_space
from toy_candidates import LAYERS

BASE = checked(
    RankingConfig,
    {
        "layers": list(LAYERS),
        "arms": {"lexical": {}, "dense": {}},
        "stages": [
            {"kind": "rrf"},
            {"kind": "decay", "family": "none"},
            {"kind": "mmr"},
            {"kind": "select", "top_k": 4},
        ],
    },
)


def test_nested_axes_give_every_point_once() -> None:
    space = Space(
        {
            "decay.half_life_days": [7, 30],
            "select.floors.project": [1, 2],
            "mmr.lambda_": [0.5, 0.7],
        }
    )
    points = [tuple(point.values()) for point in space.points()]
    assert space.size == len(points) == len(set(points)) == 8


def test_a_range_holds_decimal_points() -> None:
    space = Space({"mmr.lambda_": {"start": 0.1, "stop": 0.5, "step": 0.1}})
    assert space.axes["mmr.lambda_"] == (0.1, 0.2, 0.3, 0.4, 0.5)


def test_points_that_rank_alike_are_evaluated_once_and_counted() -> None:
    """3 families, 2 half-lives, 2 shapes: none 1, exponential 2, Weibull 4; the base is 'none'."""
    space = Space(
        {
            "decay.family": ["none", "exponential", "weibull"],
            "decay.half_life_days": [7, 30],
            "decay.shape": [0.5, 2.0],
        }
    ).resolved(BASE)
    configs, points, merged = distinct(BASE, space)
    assert len(configs) == points.height == 1 + 2 + 4
    assert merged == 12 + 1 - 7
    assert points["point_id"].n_unique() == 7
    assert points["point_id"].to_list() == [config.fingerprint for config in configs]


@pytest.mark.parametrize(
    ("axes", "told"),
    [
        ({}, "at least one axis"),
        ({"mmr.lambda_": []}, "at least one value"),
        ({"mmr.lambda_": [0.5, 0.5]}, "more than once"),
        ({"mmr.lambda_": "0.5"}, "must be a list"),
        ({"mmr.lambda_": {"start": 0, "stop": 1}}, "start, stop, step"),
        ({"mmr.lambda_": {"start": 1, "stop": 0, "step": 0.1}}, "start <= stop"),
    ],
)
def test_a_space_that_means_nothing_is_refused(axes: dict, told: str) -> None:
    with pytest.raises(ParameterError, match=told):
        Space(axes)


def test_values_are_checked_against_the_range_of_their_parameter() -> None:
    with pytest.raises(ParameterError, match=r"lambda_.*less than or equal to 1.*got 1\.5"):
        Space({"mmr.lambda_": [0.5, 1.5]}).resolved(BASE)
    with pytest.raises(ParameterError, match=r"nearest: 'mmr\.lambda_'"):
        Space({"mmr.lambda": [0.5]}).resolved(BASE)
    with pytest.raises(ParameterError, match="same parameter"):
        Space({"mmr.lambda_": [0.5], "lambda_": [0.7]}).resolved(BASE)


def test_floors_that_contradict_top_k_stop_the_sweep() -> None:
    space = Space({"select.floors.project": [3], "select.floors.user": [2]}).resolved(BASE)
    with pytest.raises(ParameterError, match="floors promise 5 places but top_k is 4"):
        distinct(BASE, space)


def test_a_space_reads_back_equal_from_its_toml(tmp_path) -> None:
    space = Space({"decay.half_life_days": [7, 30.5], "decay.family": ["none", "weibull"]})
    file = tmp_path / "space.toml"
    file.write_text(space.to_toml(), encoding="utf-8")
    assert load_space(file).axes == space.axes
