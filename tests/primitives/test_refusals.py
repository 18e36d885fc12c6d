"""Every candidate `select` passes over has one reason, and the walk that finds it picks alike."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from recalltune.rank.quota import select
from recalltune.rank.refusals import REFUSALS, refusals


def told(layer: list[int], tokens: list[int], **limits: Any) -> list[tuple[str, int, int]]:
    found = refusals([layer], [tokens], **limits)
    return [
        (REFUSALS[code], int(margin), int(by))
        for code, margin, by in zip(found.reason[0], found.margin[0], found.by[0], strict=True)
    ]


def test_caps_places_and_size_are_told_apart():
    free = {"floors": [0, 0], "caps": [-1, -1], "top_k": 9}
    # Three of 40 and one of 30 are more than 120: the last one lacks 30.
    assert told([0] * 4, [40, 40, 40, 30], **free, budget_tokens=120) == [
        ("", 0, -1),
        ("", 0, -1),
        ("", 0, -1),
        ("budget", 30, -1),
    ]
    assert told([0, 0, 1, 0], [1] * 4, **free | {"caps": [1, -1]}) == [
        ("", 0, -1),
        ("cap", 1, 0),
        ("", 0, -1),
        ("cap", 2, 0),
    ]
    assert told([0, 0, 0], [1] * 3, **free | {"top_k": 1})[1:] == [
        ("places", 1, 0),
        ("places", 2, 0),
    ]
    assert told([0, 0], [50, 9], **free, budget_tokens=20) == [("oversize", 30, -1), ("", 0, -1)]


def test_a_floor_names_the_lower_row_it_admitted():
    found = told([0, 0, 0, 1], [1] * 4, top_k=2, floors=[0, 1], caps=[-1, -1])
    assert found == [("", 0, -1), ("floor", 1, 3), ("places", 2, 0), ("", 0, -1)]


def test_a_prefix_blames_the_candidate_that_ended_it():
    limits = {"floors": [0], "caps": [-1], "top_k": 9, "budget_tokens": 100}
    assert told([0] * 4, [60, 50, 10, 10], **limits, packer="prefix") == [
        ("", 0, -1),
        ("budget", 10, -1),
        ("budget", 20, 1),
        ("budget", 30, 1),
    ]
    assert [reason for reason, _, _ in told([0] * 4, [60, 50, 10, 10], **limits)] == [
        "",
        "budget",
        "",
        "",
    ]


@st.composite
def lanes(draw: st.DrawFn) -> tuple[Any, Any, dict[str, Any]]:
    rows, size, layers = draw(st.integers(1, 3)), draw(st.integers(0, 9)), draw(st.integers(1, 3))
    shape = rows * size
    layer = draw(st.lists(st.integers(-1, layers - 1), min_size=shape, max_size=shape))
    tokens = draw(st.lists(st.integers(0, 12), min_size=shape, max_size=shape))
    floors = draw(st.lists(st.integers(0, 2), min_size=layers, max_size=layers))
    caps = [draw(st.sampled_from([-1, floor, floor + 1])) for floor in floors]
    return (
        np.array(layer, dtype=np.int64).reshape(rows, size),
        np.array(tokens, dtype=np.int64).reshape(rows, size),
        {
            "top_k": draw(st.integers(sum(floors), sum(floors) + 4)),
            "floors": floors,
            "caps": caps,
            "budget_tokens": draw(st.sampled_from([None, 0, 5, 15, 30])),
            "packer": draw(st.sampled_from(["skip", "prefix"])),
        },
    )


@given(lanes())
def test_what_is_not_picked_has_a_reason_and_a_margin_and_nothing_else_has(drawn):
    layer, tokens, limits = drawn
    found = refusals(layer, tokens, **limits)
    picked = select(layer, tokens, **limits).picked
    np.testing.assert_array_equal(found.picked, picked)
    refused = (layer >= 0) & ~picked
    np.testing.assert_array_equal(found.reason > 0, refused)
    np.testing.assert_array_equal(found.margin > 0, refused)
    lane, place = np.nonzero(found.by >= 0)
    blocker = found.by[lane, place]
    by_prefix = found.reason[lane, place] == REFUSALS.index("budget")
    # Who has what a candidate lacked was taken itself, unless it ended a prefix.
    assert (picked[lane, blocker] | by_prefix).all()


@given(lanes())
def test_one_more_place_or_token_than_is_missing_would_do_where_nothing_else_is_asked(drawn):
    layer, tokens, limits = drawn
    limits |= {"floors": [0] * len(limits["floors"]), "caps": [-1] * len(limits["caps"])}
    found = refusals(layer, tokens, **limits | {"budget_tokens": None})
    for lane, place in np.argwhere(found.reason == REFUSALS.index("places")).tolist():
        missing = int(found.margin[lane, place])
        for more, enough in ((missing, True), (missing - 1, False)):
            wider = limits | {"budget_tokens": None, "top_k": limits["top_k"] + more}
            assert select(layer, tokens, **wider).picked[lane, place] == enough
