"""Places per layer: floors, caps and budget against a plain walk, and the account."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recalltune.errors import ParameterError
from recalltune.rank.quota import PACKERS, select

PROJECT, USER, LOG = 0, 1, 2
FREE = [-1, -1, -1]
QUICK = settings(max_examples=40)  # the plain walk below is compared at full length


def plain(layer, tokens, *, top_k, floors, caps, budget_tokens=None, packer="skip"):
    """One lane, one candidate at a time, in the words of the rule."""
    budget = float("inf") if budget_tokens is None else budget_tokens
    fitting = [p for p, code in enumerate(layer) if code >= 0 and tokens[p] <= budget]
    reserved = [
        p
        for p in fitting
        if [layer[q] for q in fitting if q < p].count(layer[p]) < floors[layer[p]]
    ]
    picked, left = [], budget
    for queue in (reserved, [p for p in fitting if p not in reserved]):
        for p in queue:
            cap = caps[layer[p]]
            if len(picked) == top_k or 0 <= cap <= [layer[q] for q in picked].count(layer[p]):
                continue
            if tokens[p] > left:
                if packer == "prefix":
                    break
                continue
            picked.append(p)
            left -= tokens[p]
    return sorted(picked)


@st.composite
def problems(draw, lanes=1, budget=True):
    width = draw(st.integers(0, 12))
    cells = lanes * width
    layer = draw(st.lists(st.integers(-1, 2), min_size=cells, max_size=cells))
    tokens = draw(st.lists(st.integers(0, 30), min_size=cells, max_size=cells))
    floors = draw(st.lists(st.integers(0, 3), min_size=3, max_size=3))
    caps = [draw(st.just(-1) | st.integers(floor, 6)) for floor in floors]
    parameters = {
        "top_k": draw(st.integers(sum(floors), 14)),
        "floors": floors,
        "caps": caps,
        "packer": draw(st.sampled_from(PACKERS)),
    }
    if budget:
        parameters["budget_tokens"] = draw(st.none() | st.integers(0, 120))
    shape = (lanes, width)
    return np.array(layer, int).reshape(shape), np.array(tokens, int).reshape(shape), parameters


def positions(layer, tokens, **parameters):
    chosen = select([layer], [tokens], **parameters)
    return np.flatnonzero(chosen.picked[0]).tolist()


def test_without_floors_caps_or_budget_the_first_places_are_taken():
    assert positions([2, 2, 0, 1], [1] * 4, top_k=3, floors=[0, 0, 0], caps=FREE) == [0, 1, 2]


def test_a_floor_saves_the_best_of_a_layer_from_a_flood():
    layer = [LOG] * 8 + [PROJECT] * 4
    chosen = positions(layer, [1] * 12, top_k=10, floors=[3, 0, 0], caps=FREE)
    assert chosen == [0, 1, 2, 3, 4, 5, 6, 8, 9, 10]


def test_a_floor_without_enough_candidates_gives_its_places_back():
    layer = [LOG] * 5 + [PROJECT]
    assert positions(layer, [1] * 6, top_k=4, floors=[3, 0, 0], caps=FREE) == [0, 1, 2, 5]


def test_three_places_and_four_wanting_layers_fill_three_places():
    chosen = positions([0, 1, 2, 2], [1] * 4, top_k=3, floors=[1, 1, 1], caps=FREE)
    assert chosen == [0, 1, 2]


def test_a_cap_holds_a_layer_back_and_lets_the_next_one_in():
    layer = [LOG, LOG, LOG, USER, LOG, PROJECT]
    assert positions(layer, [1] * 6, top_k=4, floors=[0, 0, 0], caps=[-1, -1, 2]) == [0, 1, 3, 5]


def test_a_cap_of_zero_shuts_a_layer_out():
    assert positions([2, 0, 2], [1] * 3, top_k=3, floors=[0, 0, 0], caps=[-1, -1, 0]) == [1]


def test_one_item_that_does_not_fit_does_not_end_the_packing():
    chosen = select(
        [[0] * 5], [[40, 280, 30, 30, 30]], top_k=5, floors=[0], caps=[-1], budget_tokens=300
    )
    assert np.flatnonzero(chosen.picked[0]).tolist() == [0, 2, 3, 4]
    assert chosen.tokens.tolist() == [[130]]
    assert (chosen.dropped.tolist(), chosen.oversize.tolist()) == ([[1]], [[0]])


def test_a_prefix_ends_at_the_first_item_that_does_not_fit():
    parameters = {"top_k": 5, "floors": [0], "caps": [-1], "budget_tokens": 300}
    assert positions([0] * 5, [40, 280, 30, 30, 30], packer="prefix", **parameters) == [0]


def test_an_item_larger_than_the_budget_is_oversize_and_stops_no_prefix():
    chosen = select(
        [[0, 0, 0]],
        [[301, 10, 10]],
        top_k=3,
        floors=[1],
        caps=[-1],
        budget_tokens=300,
        packer="prefix",
    )
    assert chosen.picked.tolist() == [[False, True, True]]
    assert chosen.oversize.tolist() == [[1]]


def test_reserved_items_are_packed_before_better_ones_without_a_reservation():
    # log 60, log 60, project 50; the project item is reserved and leaves 70.
    chosen = positions(
        [LOG, LOG, PROJECT], [60, 60, 50], top_k=3, floors=[1, 0, 0], caps=FREE, budget_tokens=120
    )
    assert chosen == [0, 2]


def test_reserved_items_that_do_not_all_fit_are_kept_as_far_as_they_do():
    chosen = select(
        [[0, 0, 0]], [[150, 170, 200]], top_k=3, floors=[3], caps=[-1], budget_tokens=400
    )
    assert chosen.picked.tolist() == [[True, True, False]]
    assert (chosen.tokens.tolist(), chosen.dropped.tolist()) == ([[320]], [[1]])


@pytest.mark.parametrize("packer", PACKERS)
def test_reserved_items_count_towards_the_cap_of_their_layer(packer):
    parameters = {"top_k": 4, "floors": [1, 0], "caps": [1, -1], "budget_tokens": 50}
    assert positions([0, 0, 0, 1], [10, 10, 10, 45], packer=packer, **parameters) == [0]


def test_skipping_can_keep_fewer_items_under_a_larger_budget():
    parameters = {"top_k": 3, "floors": [0], "caps": [-1]}
    assert positions([0] * 3, [10, 4, 4], budget_tokens=9, **parameters) == [1, 2]
    assert positions([0] * 3, [10, 4, 4], budget_tokens=10, **parameters) == [0]


def test_the_account_of_a_lane_worked_by_hand():
    chosen = select(
        [[0, 2, 2, 1, 2, -1]],
        [[10, 20, 500, 30, 40, 7]],
        top_k=3,
        floors=[0, 1, 0],
        caps=[-1, -1, 1],
        budget_tokens=100,
    )
    assert chosen.picked.tolist() == [[True, True, False, True, False, False]]
    assert chosen.candidates.tolist() == [[1, 1, 3]]
    assert chosen.picked_count.tolist() == [[1, 1, 1]]
    assert chosen.oversize.tolist() == [[0, 0, 1]]
    assert chosen.dropped.tolist() == [[0, 0, 1]]
    assert chosen.tokens.tolist() == [[10, 30, 20]]


@given(problems())
def test_every_choice_equals_the_plain_walk(problem):
    layer, tokens, parameters = problem
    expected = plain(layer[0].tolist(), tokens[0].tolist(), **parameters)
    assert positions(layer[0], tokens[0], **parameters) == expected


@QUICK
@given(problems(lanes=4))
def test_many_lanes_at_once_are_each_lane_alone(problem):
    layer, tokens, parameters = problem
    together = select(layer, tokens, **parameters)
    for lane in range(4):
        alone = select(layer[[lane]], tokens[[lane]], **parameters)
        for field in ("picked", "candidates", "picked_count", "dropped", "oversize", "tokens"):
            assert getattr(together, field)[lane].tolist() == getattr(alone, field)[0].tolist()


@QUICK
@given(problems(lanes=2), problems(lanes=2))
def test_settings_may_differ_from_lane_to_lane(problem, other):
    layer, tokens, one = problem
    two = other[2]
    budgets = [p["budget_tokens"] if p["budget_tokens"] is not None else 10**6 for p in (one, two)]
    together = select(
        layer,
        tokens,
        top_k=[one["top_k"], two["top_k"]],
        floors=[one["floors"], two["floors"]],
        caps=[one["caps"], two["caps"]],
        budget_tokens=budgets,
    )
    for lane, parameters in enumerate((one, two)):
        parameters = {**parameters, "packer": "skip"}
        alone = positions(layer[lane], tokens[lane], **parameters)
        assert np.flatnonzero(together.picked[lane]).tolist() == alone


@QUICK
@given(problems(lanes=3))
def test_the_account_adds_up(problem):
    layer, tokens, parameters = problem
    chosen = select(layer, tokens, **parameters)
    total = chosen.picked_count + chosen.dropped + chosen.oversize
    assert (chosen.candidates == total).all()
    assert (chosen.dropped >= 0).all()
    assert (chosen.candidates.sum(axis=1) == (layer >= 0).sum(axis=1)).all()
    assert (chosen.tokens.sum(axis=1) == (tokens * chosen.picked).sum(axis=1)).all()


@QUICK
@given(problems(lanes=3))
def test_no_limit_is_ever_exceeded_and_padding_is_never_picked(problem):
    layer, tokens, parameters = problem
    chosen = select(layer, tokens, **parameters)
    assert (chosen.picked.sum(axis=1) <= parameters["top_k"]).all()
    assert not chosen.picked[layer < 0].any()
    for code, cap in enumerate(parameters["caps"]):
        assert cap < 0 or (chosen.picked_count[:, code] <= cap).all()
    if parameters["budget_tokens"] is not None:
        assert (chosen.tokens.sum(axis=1) <= parameters["budget_tokens"]).all()


@QUICK
@given(problems(lanes=3, budget=False))
def test_without_a_budget_every_floor_is_met_as_far_as_there_are_candidates(problem):
    layer, tokens, parameters = problem
    chosen = select(layer, tokens, **parameters)
    assert (chosen.picked_count >= np.minimum(parameters["floors"], chosen.candidates)).all()


@QUICK
@given(problems(lanes=3, budget=False))
def test_without_a_budget_more_places_keep_a_superset(problem):
    layer, tokens, parameters = problem
    fewer = select(layer, tokens, **parameters).picked
    parameters["top_k"] += 1
    assert (fewer <= select(layer, tokens, **parameters).picked).all()


@QUICK
@given(problems(lanes=3), st.integers(0, 60), st.integers(0, 60))
def test_a_prefix_never_uses_fewer_tokens_of_a_larger_budget(problem, budget, more):
    layer, tokens, parameters = problem
    parameters |= {"packer": "prefix", "top_k": layer.shape[1] + 9, "caps": FREE}
    used = [
        select(layer, tokens, **{**parameters, "budget_tokens": b}).tokens.sum(axis=1)
        for b in (budget, budget + more)
    ]
    # An item that stops being oversize may newly end a pass: only budgets that all fit compare.
    fits = (tokens * (layer >= 0)).max(axis=1, initial=0) <= budget
    assert (used[0] <= used[1])[fits].all()


@QUICK
@given(problems(lanes=3), st.integers(0, 60), st.integers(0, 60))
def test_a_prefix_without_floors_keeps_a_superset_under_a_larger_budget(problem, budget, more):
    layer, tokens, parameters = problem
    parameters |= {"packer": "prefix", "floors": [0, 0, 0]}
    picked = [
        select(layer, tokens, **{**parameters, "budget_tokens": b}).picked
        for b in (budget, budget + more)
    ]
    fits = (tokens * (layer >= 0)).max(axis=1, initial=0) <= budget
    assert (picked[0] <= picked[1])[fits].all()


@QUICK
@given(problems(lanes=2))
def test_a_budget_for_everything_is_no_budget(problem):
    layer, tokens, parameters = problem
    parameters["budget_tokens"] = None
    free = select(layer, tokens, **parameters)
    parameters["budget_tokens"] = 10**6
    assert select(layer, tokens, **parameters).picked.tolist() == free.picked.tolist()


@QUICK
@given(problems())
def test_padding_and_what_stands_in_it_change_nothing(problem):
    layer, tokens, parameters = problem
    wider = np.insert(layer, 0, -1, axis=1)
    sizes = np.insert(tokens, 0, -999, axis=1)
    padded = select(wider, sizes, **parameters)
    assert padded.picked[:, 1:].tolist() == select(layer, tokens, **parameters).picked.tolist()


def test_nothing_to_choose_from_gives_an_empty_choice_and_account():
    chosen = select(np.empty((2, 0), int), np.empty((2, 0), int), top_k=3, floors=[1], caps=[-1])
    assert chosen.picked.shape == (2, 0)
    assert chosen.candidates.tolist() == [[0], [0]]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"floors": [2, 1, 0]}, r"floors \[2, 1, 0\] promise 3 places but top_k is 2"),
        ({"floors": [2, 0, 0], "caps": [1, -1, -1]}, "got floor 2 over cap 1 for layer 0"),
        ({"floors": [-1, 0, 0]}, r"floors must be >= 0, got -1 at position 0"),
        ({"caps": [-2, 0, 0]}, r"caps must be >= -1, got -2 at position 0"),
        ({"caps": [-1]}, None),
        ({"caps": [-1, -1]}, r"caps must fit the shape \(1, 3\), got \(2,\)"),
        ({"floors": 1}, "floors and caps must hold one number per layer"),
        ({"top_k": -1}, "top_k must be >= 0, got -1"),
        ({"top_k": 2.0}, "top_k must hold whole numbers"),
        ({"budget_tokens": -1}, "budget_tokens must be >= 0, got -1"),
        ({"packer": "greedy"}, "packer must be one of skip, prefix, got 'greedy'"),
        ({"layer": [[0, 3]]}, r"layer must hold codes in \[-1, 2\], got 3"),
        ({"layer": [[0, -2]]}, "layer must be >= -1, got -2"),
        ({"layer": [0, 1]}, r"layer must have shape \(B, P\)"),
        ({"tokens": [[1, -5]]}, r"tokens must be >= 0, got -5 at position \(0, 1\)"),
        ({"tokens": [[1, 2, 3]]}, r"tokens must fit the shape \(1, 2\), got \(1, 3\)"),
        ({"tokens": [[1.5, 2.0]]}, "tokens must hold whole numbers"),
    ],
)
def test_what_is_wrong_is_named(changes, message):
    arguments = {
        "layer": [[0, 1]], "tokens": [[1, 1]], "top_k": 2, "floors": [0, 0, 0], "caps": FREE,
    } | changes  # fmt: skip
    layer, tokens = arguments.pop("layer"), arguments.pop("tokens")
    if message is None:  # one cap for all layers is a broadcast, and allowed
        assert select(layer, tokens, **arguments).picked.all()
        return
    with pytest.raises(ParameterError, match=message):
        select(layer, tokens, **arguments)
