"""Primitives of RecallNest and its ancestor: by hand, and properties any use may rely on."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recalltune.errors import ParameterError
from recalltune.rank import (
    agreeing_mean,
    arousal_multiplier,
    best_versions,
    blend_views,
    composite_tier_move,
    content_words,
    core_minimum,
    emotional_half_life,
    has_exact_token,
    importance_half_life,
    interfere,
    is_trivial,
    lifecycle_composite,
    rescued_sum,
    search_multiplier,
    tier_move,
    use_frequency,
    version_rank,
    word_overlap,
)

NAN = np.nan
unit = st.floats(0, 1, width=32)
absent_or_unit = st.one_of(st.just(NAN), unit)
counts = st.integers(0, 300)
days = st.floats(0, 2000, width=32)
few = settings(max_examples=40, deadline=None)


# --- words and queries --------------------------------------------------------------------------


def test_overlap_is_coverage_and_density() -> None:
    # 1 of 2 asked, 1 of 3 told: 0.7/2 + 0.3/3
    assert word_overlap(["tea", "pot"], ["tea", "is", "hot"]) == pytest.approx(0.45)
    assert word_overlap(["tea"], ["tea"]) == 1.0
    assert word_overlap([], ["tea"]) == word_overlap(["tea"], []) == 0.0
    # A repeated word hits twice: 0.7 * 2/2 + 0.3 * 2/1
    assert word_overlap(["tea", "tea"], ["tea"]) == pytest.approx(1.3)
    assert word_overlap(["tea", "pot"], ["tea", "is", "hot"], coverage=1.0) == 0.5
    with pytest.raises(ParameterError, match="query must be a list of tokens"):
        word_overlap("tea", ["tea"])


def test_content_words_are_letters_runs_and_single_characters() -> None:
    assert content_words("The MQTT_QoS of a gateway: 网关的 7") == [
        "mqtt_qos",
        "gateway",
        "网",
        "关",
    ]


def test_trivial_lengths_are_utf16_units_and_negative_ones_are_refused() -> None:
    # An emoji of the second plane counts two: 4 units.
    assert not is_trivial("a🦆b", least_chars=4)
    assert is_trivial("a🦆b", least_chars=5)
    with pytest.raises(ParameterError, match="min_chars must be a whole number >= 0, got -1"):
        is_trivial("tea", min_chars=-1)
    with pytest.raises(ParameterError, match="min_chars must be a whole number >= 0, got -1"):
        has_exact_token("tea", min_chars=-1)


@pytest.mark.parametrize(
    ("query", "exact"),
    [
        ("MAX_INFLIGHT 默认多少", True),
        ("open docs/how-to.md please", True),
        ("commit dd12fb5", True),
        ("the defaced facade", False),  # hexadecimal letters are words
        ("deadbeef", False),
        ("a.b", False),
        ("call 5551234567", True),
        ("version 1.2", False),
        ("", False),
    ],
)
def test_exact_names_are_identifiers_files_and_hashes(query: str, exact: bool) -> None:
    assert has_exact_token(query) is exact


@few
@given(st.text(max_size=40), st.integers(0, 40))
def test_a_larger_length_never_makes_a_query_less_trivial(text: str, length: int) -> None:
    assert is_trivial(text, min_chars=length + 1) >= is_trivial(text, min_chars=length)
    assert has_exact_token(text, min_chars=length) >= has_exact_token(text, min_chars=length + 1)


# --- fusion -------------------------------------------------------------------------------------


def test_a_graph_score_adds_to_dense_and_stands_in_for_it() -> None:
    v, b, g = [0.6, NAN, NAN], [NAN, NAN, 0.7], [0.4, 0.4, 0.4]
    np.testing.assert_allclose(agreeing_mean(v, b, g), [0.66, 0.4, 0.5], rtol=1e-12)
    assert agreeing_mean([NAN], [NAN]).tolist() == [0.0]
    with pytest.raises(ParameterError, match="must not both be 0"):
        agreeing_mean([0.5], [0.5], dense_weight=0.0, lexical_weight=0.0)
    with pytest.raises(ParameterError, match=r"dense must lie in \[0, 1\], got 1.5"):
        agreeing_mean([1.5], [0.5])


@few
@given(absent_or_unit, absent_or_unit, st.floats(0.01, 1), st.floats(0.01, 1), st.floats(0.1, 9))
def test_agreement_rewards_and_only_the_ratio_of_weights_matters(
    v: float, b: float, wd: float, wl: float, factor: float
) -> None:
    weights = {"dense_weight": wd, "lexical_weight": wl}
    fused = agreeing_mean([v], [b], **weights)[0]
    present = [score for score in (v, b) if not math.isnan(score)]
    assert 0.0 <= fused <= 1.0
    if present:
        assert min(present) - 1e-12 <= fused <= max(present) * 1.05 + 1e-12
    scaled = {name: weight * factor for name, weight in weights.items()}
    assert agreeing_mean([v], [b], **scaled)[0] == pytest.approx(fused, rel=1e-9, abs=1e-12)


@few
@given(unit, unit)
def test_a_rescue_never_lowers_a_score_and_starts_at_its_threshold(v: float, b: float) -> None:
    plain = rescued_sum([v], [b], rescue_share=0.0)[0]
    rescued = rescued_sum([v], [b])[0]
    assert rescued >= plain
    if b >= 0.75:
        assert rescued >= 0.92 * b - 1e-12
    else:
        assert rescued == plain
    assert rescued_sum([NAN], [b])[0] == b


@few
@given(unit, absent_or_unit, absent_or_unit)
def test_a_blend_lies_between_what_it_blends(score: float, one: float, two: float) -> None:
    blended = blend_views([score], [[one], [two]], shares=[0.2, 0.15])[0]
    there = [value for value in (score, one, two) if not math.isnan(value)]
    assert min(there) - 1e-12 <= blended <= max(there) + 1e-12
    if len(there) == 1:
        assert blended == score


def test_shares_beyond_one_or_of_another_number_are_refused() -> None:
    with pytest.raises(ParameterError, match="1 - sum of shares"):
        blend_views([0.5], [[0.5], [0.5]], shares=[0.6, 0.6])
    with pytest.raises(ParameterError, match="one share for each view"):
        blend_views([0.5], [[0.5]], shares=[0.1, 0.1])


# --- lifecycle ----------------------------------------------------------------------------------


def test_the_second_use_counts_by_how_far_apart_the_two_are() -> None:
    # 1 - e^-0.4, gap max(1, span) / 1 days
    base = 1 - math.exp(-0.4)
    expected = [base * (0.5 + 0.5 * math.exp(-gap / 30)) for gap in (1, 30)]
    np.testing.assert_allclose(use_frequency([2, 2], [0.0, 30.0]), expected, rtol=1e-12)
    assert use_frequency([2], [NAN])[0] == use_frequency([2], [1.0])[0]


@few
@given(counts, days, days)
def test_frequency_falls_with_the_span_and_rises_with_use(
    count: int, span: float, more: float
) -> None:
    near, far = use_frequency([count, count], [span, span + more])
    assert 0.0 <= far <= near <= 1.0
    assert use_frequency([count + 1], [1.0])[0] >= use_frequency([count], [1.0])[0]


@few
@given(unit, unit, unit, unit)
def test_the_multiplier_lies_between_lowest_and_one_and_a_floor_holds(
    composite: float, recency: float, floor: float, lowest: float
) -> None:
    factor = search_multiplier([composite], [recency], [floor], lowest=lowest)[0]
    assert lowest - 1e-12 <= factor <= 1.0
    assert factor >= lowest + (1 - lowest) * floor - 1e-12


def test_importance_and_feeling_lengthen_a_half_life() -> None:
    assert importance_half_life([0.5])[0] == pytest.approx(30 * math.exp(0.75))
    assert importance_half_life([0.5], modulation=0.0)[0] == 30.0
    lives = emotional_half_life([-1.0, 0.1, 0.0999], half_life_days=[60.0, 60.0, 60.0])
    np.testing.assert_allclose(lives, [78.0, 61.8, 60.0], rtol=1e-12)
    assert arousal_multiplier([1.0], weight=0.0)[0] == 1.0


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: emotional_half_life([1.1], half_life_days=60.0), r"valence must lie in \[-1, 1\]"),
        (lambda: arousal_multiplier([-0.1]), r"arousal must lie in \[0, 1\], got -0.1"),
        (lambda: lifecycle_composite([0.1], [0.1], [0.1], weights=(1, 1)), "three numbers"),
        (lambda: use_frequency([-1], [0.0]), "access_count must lie in"),
        (lambda: version_rank([2.0], [0.5], [0]), r"importance must lie in \[0, 1\], got 2.0"),
        (lambda: tier_move([3], [1], [0.5], [1.0]), r"tier must lie in \[0, 2\], got 3.0"),
        (lambda: tier_move([0.5], [1], [0.5], [1.0]), "tier must hold whole numbers"),
        (lambda: core_minimum(-1), "core_count must be a whole number >= 0"),
    ],
)
def test_what_lies_outside_is_refused_by_name(call: Callable[[], Any], says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        call()


# --- tiers --------------------------------------------------------------------------------------


@few
@given(st.integers(0, 2), counts, unit, st.one_of(st.just(NAN), days))
def test_a_tier_moves_by_one_step_but_from_the_bottom_to_core(
    tier: int, count: int, importance: float, since: float
) -> None:
    moved = int(tier_move([tier], [count], [importance], [since])[0])
    assert moved in (tier - 1, tier, tier + 1)
    used_more = int(tier_move([tier], [count + 1], [importance], [since])[0])
    assert used_more >= moved


def test_a_memory_the_working_rule_refuses_may_become_core_at_once() -> None:
    # Working asks for importance 0.5; with 0.95 it fails and core's rule is next.
    moved = tier_move([0], [12], [0.9], [1.0], working_importance=0.95)
    assert moved.tolist() == [2]


def test_the_composite_moves_a_core_memory_down_only_when_it_is_rare_too() -> None:
    tiers = composite_tier_move([2, 2, 1], [0.1, 0.1, 0.1], [2, 3, 30], 0.9, 1.0)
    assert tiers.tolist() == [1, 2, 0]
    # Older than 60 days and rare, strictly.
    old = composite_tier_move([1, 1], [0.5, 0.5], [2, 2], 0.5, [60.0, 60.1])
    assert old.tolist() == [1, 0]


def test_the_published_limits_of_a_tier_stand_where_they_stand() -> None:
    # Each pair is at its limit and just short of it; everything else is well inside.
    assert composite_tier_move(1, [0.7, 0.699], 10, 0.9, 1.0).tolist() == [2, 1]
    assert composite_tier_move(1, 0.9, [10, 9], 0.9, 1.0).tolist() == [2, 1]
    assert composite_tier_move(0, 0.9, [3, 2], 0.5, 1.0).tolist() == [1, 0]
    assert composite_tier_move(1, 0.9, 10, [0.8, 0.799], 1.0).tolist() == [2, 1]
    assert composite_tier_move(0, [0.4, 0.399], 3, 0.5, 1.0).tolist() == [1, 0]
    assert composite_tier_move(2, [0.15, 0.1499], 2, 0.5, 1.0).tolist() == [2, 1]
    assert tier_move([2, 2], 2, 0.5, [60.0, 60.1]).tolist() == [2, 1]


@few
@given(st.integers(0, 4000), st.integers(0, 400))
def test_a_more_crowded_core_never_asks_for_less(count: int, more: int) -> None:
    fewer, many = core_minimum(count), core_minimum(count + more)
    assert many[0] >= fewer[0]
    assert many[1] >= fewer[1]


# --- versions and interference ------------------------------------------------------------------


@few
@given(st.lists(st.tuples(st.integers(-1, 2), unit, st.booleans()), min_size=1, max_size=8))
def test_one_of_every_group_is_left_the_best(rows: list[tuple[int, float, bool]]) -> None:
    group, rank, valid = (np.array(column) for column in zip(*rows, strict=True))
    kept = best_versions(rank, group, valid)
    assert not kept[~valid].any()
    assert kept[valid & (group < 0)].all()
    for one in set(group[valid & (group >= 0)].tolist()):
        mine = np.flatnonzero(valid & (group == one))
        assert kept[mine].sum() == 1
        best = mine[kept[mine]][0]
        assert best == mine[np.argmax(rank[mine])]


lists = st.integers(1, 7).flatmap(
    lambda n: st.tuples(
        st.lists(unit, min_size=n, max_size=n).map(lambda s: sorted(s, reverse=True)),
        st.lists(st.lists(st.integers(-1, 1), min_size=3, max_size=3), min_size=n, max_size=n),
    )
)


@few
@given(lists, st.booleans(), st.integers(1, 3))
def test_interference_loses_nothing_unless_told_and_a_batch_is_one_by_one(
    drawn: tuple[list[float], list[list[int]]], drop: bool, room: int
) -> None:
    scores, vectors = np.array(drawn[0]), np.array(drawn[1], dtype=float)
    norms = np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    alike = np.clip(vectors / norms @ (vectors / norms).T, -1, 1)
    valid = np.ones(scores.size, dtype=bool)
    options = {"cluster_size": room, "drop_weaker": drop}
    one = interfere(scores, alike, valid, **options)
    left = [place for place in one.order.tolist() if place >= 0]
    assert sorted([*left, *np.flatnonzero(one.dropped).tolist()]) == list(range(scores.size))
    assert not one.dropped.any() or drop
    # Kept first and then the tail, each in list order.
    tail = [p for p in left if one.factor[p] != 1.0]
    assert tail == sorted(tail)
    padded = [np.stack([np.pad(array, (0, 2))] * 2) for array in (scores, alike, valid)]
    batch = interfere(*padded, **options)
    for row in range(2):
        assert batch.order[row].tolist()[: scores.size] == one.order.tolist()
        assert batch.factor[row].tolist()[: scores.size] == one.factor.tolist()


def test_only_the_first_kept_twin_is_looked_at() -> None:
    # 2 resembles 0 and 1, which do not resemble one another; 0 is first and 0.5 of it is weak.
    alike = [[1.0, 0.0, 0.9], [0.0, 1.0, 0.9], [0.9, 0.9, 1.0]]
    found = interfere([0.9, 0.55, 0.5], alike, [True] * 3)
    assert found.order.tolist() == [0, 1, 2]
    assert found.dropped.tolist() == [False] * 3
    assert interfere([0.9, 0.55, 0.5], alike, [True] * 3, drop_weaker=True).dropped.tolist() == [
        False,
        False,
        True,
    ]
    with pytest.raises(ParameterError, match="similarity must be"):
        interfere([0.9, 0.5], alike, [True] * 2)


# --- a batch is one by one ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "columns"),
    [
        (agreeing_mean, ([0.2, NAN, 0.9], [0.5, 0.4, NAN])),
        (rescued_sum, ([0.2, NAN, 0.9], [0.8, 0.4, NAN])),
        (version_rank, ([0.2, 0.5, 0.9], [0.5, 0.4, 1.0], [0, 3, 9])),
        (use_frequency, ([0, 1, 7], [1.0, NAN, 90.0])),
        (lifecycle_composite, ([0.2, 0.5, 0.9], [0.5, 0.4, 1.0], [0.0, 0.3, 0.9])),
        (search_multiplier, ([0.2, 0.5, 0.9], [0.5, 0.4, 1.0], [0.5, 0.7, 0.9])),
        (importance_half_life, ([0.2, 0.5, 0.9],)),
        (arousal_multiplier, ([0.2, NAN, 0.9],)),
        (tier_move, ([0, 1, 2], [3, 12, 0], [0.5, 0.9, 0.9], [1.0, 2.0, NAN])),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_batch_is_one_by_one(
    function: Callable[..., Any], columns: tuple[list[Any], ...]
) -> None:
    whole = function(*columns)
    for at in range(3):
        alone = function(*[[column[at]] for column in columns])[0]
        assert whole[at] == pytest.approx(alone, rel=1e-15, abs=0)
