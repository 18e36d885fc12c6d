"""What is shown fades more slowly: the walk against hand-worked lists, an oracle, and itself."""

from __future__ import annotations

import hashlib
import inspect
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, get_args

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import recalltune as rt
from recalltune.candidates.table import Candidates
from recalltune.candidates.world import DAY_US
from recalltune.errors import ContractError, ParameterError, checked
from recalltune.pipeline import stages as every_stage
from recalltune.pipeline.config import RankingConfig
from recalltune.pipeline.stages.fade import Decay
from recalltune.rank.compiled import compiled_kernels
from recalltune.rank.decay import exponential, reinforced_half_life
from recalltune.replay.reinforce import AccessRule, Reinforced, reinforce
from recalltune.replay.reinforce import Path as Walk
from recalltune.replay.reinforcing.rule import Counter
from recalltune.replay.reinforcing.views import gini
from recalltune.store import Access, insert_rows
from small_lab import Ask, Note, instant, make_lab
from toy_candidates import LAYERS, housed, toy

SECOND = 1_000_000
NO_WAIT = AccessRule(flush_lag_seconds=0.0, cooldown_seconds=0.0)
PATHS = [path for path in get_args(Walk) if path != "compiled" or compiled_kernels()]
FAST = [
    "lanes",
    pytest.param(
        "compiled", marks=pytest.mark.skipif(not compiled_kernels(), reason="needs numba")
    ),
]


def config(*stages: dict[str, Any], name: str = "unnamed", **more: Any) -> RankingConfig:
    values = {"name": name, "layers": list(LAYERS), "arms": {"lexical": {}, "dense": {}}}
    return checked(RankingConfig, {**values, "stages": list(stages), **more})


def faded(factor: float = 2.0, *, top_k: int = 3, **decay: Any) -> RankingConfig:
    fade = {"kind": "decay", "half_life_days": 30.0, "reinforcement": factor, **decay}
    return config({"kind": "rrf"}, fade, {"kind": "select", "top_k": top_k})


def walked_table(seed: int, *, queries: int = 25, columns: int = 14, grain: int = 3) -> Candidates:
    """Queries that lie days and seconds apart, some at one instant, some of them probes."""
    table = toy(seed, queries=queries, columns=columns, grain=grain)
    rng = np.random.default_rng(seed + 9)
    day = rng.integers(60, 200, queries) * DAY_US
    asked = day + rng.choice([0, 0, 3, 5, 200, 300, 400], queries) * SECOND
    kinds = np.where(rng.random(queries) < 0.15, "probe", "turn")
    columns_of = {"asked_at": pl.Series(asked), "kind": pl.Series(kinds.tolist())}
    return replace(table, queries=table.queries.with_columns(**columns_of))


def lists_of(found: Reinforced, number: int = 0) -> list[list[str]]:
    ids = found.candidates.spans["memory_id"].to_list()
    return [
        [ids[found.candidates.span[row, column]] for column in order if column >= 0]
        for row, order in enumerate(found.lists[number])
    ]


# -- by hand ----------------------------------------------------------------------------------


def hand_table(asked: list[float], *, kinds: list[str] | None = None) -> Candidates:
    """Two memories born on day 0 and day 10; the older one ranks first. Times in days."""
    count = len(asked)
    base = toy(0, queries=count, columns=2)
    at = (np.array(asked) * DAY_US).round().astype(np.int64)
    age = (at[:, None] - np.array([0, 10]) * DAY_US) / DAY_US
    ranks = np.tile([1.0, 2.0], (count, 1))
    features = {name: values[:, :2] for name, values in base.features.items()}
    return replace(
        base,
        queries=base.queries.with_columns(
            asked_at=pl.Series(at), kind=pl.Series(kinds or ["turn"] * count)
        ),
        spans=pl.DataFrame({"memory_id": ["old", "young"]}),
        span=np.tile([0, 1], (count, 1)),
        features={
            **features,
            "dense_rank": ranks,
            "lexical_rank": ranks,
            "age_days": age,
            "layer": np.zeros((count, 2), dtype=np.int64),
            "category": np.zeros((count, 2), dtype=np.int64),
            "pinned": np.zeros((count, 2)),
            "access_count": np.zeros((count, 2)),
            "days_since_access": np.full((count, 2), np.nan),
        },
        uses=[np.array([], dtype=np.int64)] * 2,
    )


@pytest.mark.parametrize("path", ["reference", *FAST])
def test_a_memory_shown_on_one_day_leads_on_the_next_as_worked_out_by_hand(path):
    # Bases 2/61 and 2/62. Day 20: 2^(-20/30) against 2^(-10/30), so the young one is shown.
    # Day 80 without use: 2^(-80/30) 2/61 = .00516 and 2^(-70/30) 2/62 = .00640.
    table = hand_table([20.0, 80.0])
    found = reinforce(table, faded(2.0, top_k=1), NO_WAIT, path=path)
    assert lists_of(found) == [["young"], ["young"]]
    assert found.counts().rows() == [("unnamed", "young", 0, 2)]
    assert found.uses()["used_at"].to_list() == [20 * DAY_US, 80 * DAY_US]


def test_the_old_memory_overtakes_once_it_was_used_as_worked_out_by_hand():
    # The first question sees the old memory alone. 120 days on, its half-life is
    # 30 (1 + 2 ln(1 + e^(-120/30))) = 31.1 days, which is not enough; five days on, 66.8 are.
    for gap, leads in ((120.0, "young"), (5.0, "old")):
        table = hand_table([15.0, 15.0 + gap])
        table.span[0] = [0, -1]
        stretched = reinforced_half_life(1, gap, half_life_days=30.0, factor=2.0)
        old = 2 / 61 * exponential(15.0 + gap, half_life_days=float(stretched))
        young = 2 / 62 * exponential(5.0 + gap, half_life_days=30.0)
        assert (old > young) == (leads == "old")
        for path in PATHS:
            found = reinforce(table, faded(2.0, top_k=1), NO_WAIT, path=path)
            assert lists_of(found) == [["old"], [leads]], path


@pytest.mark.parametrize("path", ["reference", *FAST])
@pytest.mark.parametrize(
    ("lag", "seconds", "seen"), [(5.0, 5.0, False), (5.0, 5.000001, True), (0.0, 0.000001, True)]
)
def test_a_use_is_seen_strictly_after_its_flush(path, lag, seconds, seen):
    table = hand_table([15.0, 15.0 + seconds / 86_400])
    table.span[0] = [0, -1]
    rule = AccessRule(flush_lag_seconds=lag, cooldown_seconds=0.0)
    found = reinforce(table, faded(9.0, top_k=1), rule, path=path)
    assert lists_of(found)[1] == (["old"] if seen else ["young"])


@pytest.mark.parametrize(
    ("gap", "cooldown", "counted"),
    [(299.0, 300.0, 1), (300.0, 300.0, 2), (1.0, 0.0, 2), (0.0, 0.0, 1)],
)
def test_within_the_cooldown_a_memory_is_counted_once(gap, cooldown, counted):
    table = hand_table([15.0, 15.0 + gap / 86_400])
    table.span[:, 1] = -1
    found = reinforce(table, faded(), AccessRule(cooldown_seconds=cooldown))
    assert found.counts()["simulated"].to_list() == [counted]


@pytest.mark.parametrize("path", ["reference", *FAST])
@pytest.mark.parametrize(("gap", "leads"), [(299.0, "young"), (300.0, "old")])
def test_a_use_at_the_end_of_the_cooldown_counts_for_later_lists(path, gap, leads):
    # Five days on, one use makes the old memory's half-life 30 (1 + 1.1 ln 1.846) = 50.2 days,
    # two make it 62.7; it leads from 56.1 days on.
    table = hand_table([15.0, 15.0 + gap / 86_400, 20.0])
    table.span[:2] = [0, -1]
    found = reinforce(table, faded(1.1, top_k=1), AccessRule(flush_lag_seconds=0.0), path=path)
    assert lists_of(found) == [["old"], ["old"], [leads]]


def test_only_the_first_places_count_where_the_rule_says_so():
    table = hand_table([15.0, 40.0])
    every = reinforce(table, faded(0.5, top_k=2), NO_WAIT).counts()
    first = reinforce(table, faded(0.5, top_k=2), NO_WAIT.with_(shown_top=1)).counts()
    assert dict(every.select("memory_id", "simulated").rows()) == {"old": 2, "young": 2}
    assert sum(first["simulated"]) == 2


def test_gini_and_shares_are_those_of_a_hand_count():
    # i = 1..4 over 1, 1, 2, 4: (-3 - 1 + 2 + 12) / (4 * 8).
    assert gini(np.array([4, 1, 2, 1])) == pytest.approx(10 / 32)
    table = hand_table([15.0, 16.0, 17.0])
    told = reinforce(table, faded(0.5, top_k=1), NO_WAIT).exposure(points=3)
    assert told["step"].to_list() == [1, 2, 3]
    assert told["shown"].to_list() == [1, 2, 3]
    assert told["top_10_share"].to_list() == [1.0, 1.0, 1.0]


# -- recorded uses ----------------------------------------------------------------------------


def test_recorded_uses_count_before_the_start_and_never_beside_simulated_ones():
    table = hand_table([20.0, 40.0])
    used = [np.array([5, 30], dtype=np.int64) * DAY_US, np.array([20], dtype=np.int64) * DAY_US]
    table = replace(table, uses=used)
    simulated = reinforce(table, faded(), NO_WAIT).counts()
    # Day 5 is before the start; day 20 is the start itself, day 30 lies within the walk.
    assert dict(simulated.select("memory_id", "recorded").rows())["old"] == 1
    assert dict(simulated.select("memory_id", "recorded").rows())["young"] == 0
    bare = reinforce(table, faded(), NO_WAIT.with_(recorded_before_start=False)).counts()
    assert bare["recorded"].to_list() == [0, 0]
    recorded = reinforce(table, faded(), NO_WAIT.with_(accesses="recorded"))
    assert recorded.uses().height == 0
    assert recorded.walked == ("recorded",)


@pytest.mark.parametrize("path", ["reference", *FAST])
def test_uses_recorded_from_the_start_on_change_nothing(path):
    table = walked_table(7)
    loud = table.queries.filter(pl.col("kind") == "turn")
    start = int(loud["asked_at"].min())
    earlier = replace(table, uses=[times[times < start] for times in table.uses])
    assert sum(times.size for times in earlier.uses) < sum(times.size for times in table.uses)
    for one, other in zip(
        reinforce(table, faded(), path=path).lists,
        reinforce(earlier, faded(), path=path).lists,
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)


def test_the_recorded_walk_is_the_ordinary_as_of_evaluation():
    table = walked_table(3)
    setting = faded()
    found = reinforce(table, setting, AccessRule(accesses="recorded"))
    order = rt.rank(table, setting).order
    np.testing.assert_array_equal(found.lists[0], order[:, : found.lists[0].shape[1]])


def test_a_table_without_the_history_of_use_is_refused_unless_the_walk_starts_without():
    table = replace(walked_table(1), uses=None)
    with pytest.raises(ContractError, match="no history of use"):
        reinforce(table, faded())
    reinforce(table, faded(), AccessRule(recorded_before_start=False))


# -- properties of the walk -------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_factor_0_is_the_static_run(seed):
    table = walked_table(seed)
    bare = replace(table, uses=[np.array([], dtype=np.int64)] * table.spans.height)
    found = reinforce(bare, faded(0.0))
    np.testing.assert_array_equal(found.lists[0], found.still[0])
    order = rt.rank(bare, faded(0.0)).order[:, : found.lists[0].shape[1]]
    np.testing.assert_array_equal(found.lists[0], order)
    strong = reinforce(bare, faded(4.0, max_multiple=20.0))
    assert not np.array_equal(strong.lists[0], strong.still[0])


FAMILIES = [one for one in get_args(Decay.model_fields["family"].annotation) if one != "none"]
fades = st.builds(
    lambda family, days, factor, multiple, mean, shape, more: {
        "kind": "decay",
        "family": family,
        "half_life_days": days,
        "mean_life_days": days,
        "rate_days": days,
        "stability_days": days,
        "reinforcement": factor,
        "max_multiple": multiple,
        "access_mean_life_days": mean,
        "shape": shape,
        **more,
    },
    st.sampled_from(FAMILIES),
    st.sampled_from([5.0, 30.0, 200.0]),
    st.sampled_from([0.3, 2.0, 8.0]),
    st.sampled_from([1.0, 3.0, 40.0]),
    st.sampled_from([3.0, 30.0]),
    st.sampled_from([0.5, 1.0, 2.5]),
    st.sampled_from([{}, {"floor": 0.3}, {"layer_days": {"log": 2.0}}, {"exempt_pinned": True}]),
)
halves = st.builds(
    lambda factor, days: {
        "kind": "half_floor_decay",
        "reinforcement": factor,
        "mean_life_days": days,
    },
    st.sampled_from([0.5, 6.0]),
    st.sampled_from([10.0, 60.0]),
)
fusions = st.sampled_from(
    [
        {"kind": "rrf"},
        {"kind": "weighted", "weights": {"lexical": 1.0, "dense": 1.0}},
        {"kind": "weighted", "weights": {"lexical": 1.0}, "calibration": {"lexical": "z_score"}},
    ]
)
rules = st.builds(
    lambda lag, cooldown, top: AccessRule(
        flush_lag_seconds=lag, cooldown_seconds=cooldown, shown_top=top
    ),
    st.sampled_from([0.0, 5.0, 90_000.0]),
    st.sampled_from([0.0, 300.0, 400_000.0]),
    st.sampled_from([None, 1, 2]),
)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    fusion=fusions,
    fade=fades | halves,
    others=st.lists(
        st.sampled_from(
            [
                {"kind": "salience", "salience_weight": 0.5},
                {"kind": "status", "superseded_weight": 0.5},
                {"kind": "mmr", "lambda_": 1.0},
            ]
        ),
        max_size=2,
        unique_by=lambda one: str(one["kind"]),
    ),
    top_k=st.sampled_from([1, 3, 8, 40]),
    rule=rules,
)
@pytest.mark.slow
def test_the_fast_paths_show_the_lists_of_the_reference(seed, fusion, fade, others, top_k, rule):
    table = walked_table(seed)
    later = sorted(others, key=lambda one: one["kind"] == "mmr")
    setting = config(fusion, fade, *later, {"kind": "select", "top_k": top_k})
    wanted = reinforce(table, setting, rule, path="reference")
    if fade["kind"] == "half_floor_decay" and any(one["kind"] != "mmr" for one in others):
        return  # a clipped score times a factor is the reference's alone
    for path in ("lanes", "compiled") if compiled_kernels() else ("lanes",):
        found = reinforce(table, setting, rule, path=path)
        np.testing.assert_array_equal(found.lists[0], wanted.lists[0], err_msg=path)
        np.testing.assert_array_equal(found.still[0], wanted.still[0], err_msg=path)


def many() -> list[RankingConfig]:
    strengths = [(factor, days) for factor in (0.0, 0.5, 3.0) for days in (10.0, 60.0)]
    chosen = [faded(factor, half_life_days=days, top_k=4) for factor, days in strengths]
    return [
        *chosen,
        faded(2.0, top_k=2, family="weibull", shape=0.7),
        faded(2.0, top_k=6, access_mean_life_days=4.0),
        config({"kind": "rrf"}, {"kind": "act_r"}, {"kind": "select", "top_k": 4}),
        config(
            {"kind": "rrf"},
            {"kind": "half_floor_decay"},
            {"kind": "mmr", "lambda_": 0.6, "similarity": "jaccard"},
            {"kind": "select", "top_k": 4, "floors": {"user": 1}},
        ),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("path", ["auto", "reference"])
def test_many_configs_together_are_each_alone(path):
    table, configs = walked_table(11, queries=40), many()
    together = reinforce(table, configs, path=path)
    for number, setting in enumerate(configs):
        alone = reinforce(table, setting, path=path)
        np.testing.assert_array_equal(together.lists[number], alone.lists[0])
        np.testing.assert_array_equal(together.still[number], alone.still[0])


@pytest.mark.parametrize("bound", [1, 2_000])
def test_lanes_in_several_blocks_are_those_of_one(bound, monkeypatch):
    table, configs = walked_table(5), many()[:8]
    whole = reinforce(table, configs[2:], path="lanes")
    from recalltune.replay.reinforcing import lanes

    monkeypatch.setitem(lanes.walk_lanes.__kwdefaults__, "bound_bytes", bound)
    for one, other in zip(
        reinforce(table, configs[2:], path="lanes").lists, whole.lists, strict=True
    ):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("path", ["reference", *FAST])
def test_queries_of_one_instant_in_any_order_leave_the_same_state(path):
    table = walked_table(2, queries=30)
    at = table.queries["asked_at"].to_numpy().copy()
    at[10:20] = at[10]
    table = replace(table, queries=table.queries.with_columns(asked_at=pl.Series(at)))
    found = reinforce(table, faded(), path=path)
    mixed = np.random.default_rng(0).permutation(30).tolist()
    again = reinforce(table.take(mixed), faded(), path=path)
    np.testing.assert_array_equal(again.lists[0], found.lists[0][mixed])
    assert again.counts().equals(found.counts())
    assert again.uses().equals(found.uses())


@pytest.mark.parametrize("path", ["reference", *FAST])
def test_probes_inserted_anywhere_change_nothing(path):
    table = walked_table(4, queries=30)
    table = replace(table, queries=table.queries.with_columns(kind=pl.lit("turn")))
    alone = table.take(list(range(20)))
    kinds = ["turn"] * 20 + ["probe"] * 10
    at = table.queries["asked_at"].to_numpy().copy()
    at[20], at[21], at[22] = at.min() - 1, at[0], at.max() + 1
    columns = {"kind": pl.Series(kinds), "asked_at": pl.Series(at)}
    probed = replace(table, queries=table.queries.with_columns(**columns))
    found, with_probes = (reinforce(one, faded(), path=path) for one in (alone, probed))
    np.testing.assert_array_equal(
        with_probes.lists[0][:20, : found.lists[0].shape[1]], found.lists[0]
    )
    assert with_probes.counts().equals(found.counts())
    # What a probe asks is answered by what was used until then.
    assert (with_probes.lists[0][20:] >= 0).any()


@pytest.mark.parametrize("path", ["reference", *FAST])
def test_a_second_run_is_byte_identical(path):
    def told() -> str:
        found = reinforce(walked_table(6), [faded(), faded(0.5)], path=path)
        digest = hashlib.sha256(b"".join(one.tobytes() for one in found.lists))
        for frame in (found.hits(), found.counts(), found.exposure(), found.drift()):
            digest.update(frame.write_csv().encode())
        return digest.hexdigest()

    assert told() == told()


@pytest.mark.skipif(not compiled_kernels(), reason="needs numba")
def test_scores_too_close_for_the_loop_are_told_by_numpy(monkeypatch):
    # Two scores of one value by different ways: the loop may not guess which stands first.
    from recalltune.replay.reinforcing.compiled import Loop

    asked: list[int] = []
    exact = Loop._exact
    monkeypatch.setattr(
        Loop, "_exact", lambda self, fade, row: asked.append(row) or exact(self, fade, row)
    )
    # Never used but exempt, and used with an age of 0: both weigh exactly 1.
    table = hand_table([15.0, 15.1])
    table.features["age_days"][1] = [np.nan, 0.0]
    table.features["dense_rank"][1] = table.features["lexical_rank"][1] = 1.0
    found = reinforce(table, faded(2.0, top_k=2), NO_WAIT, path="compiled")
    assert asked == [1]
    assert lists_of(found)[1] == ["old", "young"]


# -- two counters, tiers, ceilings ------------------------------------------------------------


def test_the_second_counter_has_neither_lag_nor_cooldown_and_is_read_by_its_stages():
    boosted = config(
        {"kind": "rrf"}, {"kind": "access_boost", "weight": 1.0, "cap": 1.0},
        {"kind": "select", "top_k": 1},
    )  # fmt: skip
    table = hand_table([15.0, 15.0 + 60 / 86_400, 15.0 + 120 / 86_400])
    two = reinforce(table, boosted)
    assert two.counters == (frozenset({1}),)
    assert two.counts()["simulated"].to_list() == [3]
    one = reinforce(table, boosted, AccessRule(evolution=None))
    assert one.counters == (frozenset({0}),)
    assert one.counts()["simulated"].to_list() == [1]
    both = config({"kind": "rrf"}, {"kind": "half_floor_decay"}, {"kind": "access_boost"})
    assert reinforce(table, both).counters == (frozenset({0, 1}),)


def test_uses_move_tiers_where_the_rule_says_so():
    rows = [20.0 + step for step in range(6)]
    table = hand_table(rows)
    salience = np.tile([0.9, 0.5], (len(rows), 1))
    tier = np.zeros((len(rows), 2), dtype=np.int64)
    table = replace(
        table,
        features={**table.features, "salience": salience, "tier": tier},
        codes={**table.codes, "tier": ("peripheral",)},
    )
    # Old and never faded enough to lose: by its third use the old memory is a working one.
    stages = ({"kind": "rrf"}, {"kind": "tier_decay", "exempt_days": 0.0, "reinforcement": 0.0,
              "working_floor": 0.99, "peripheral_floor": 0.0, "half_life_days": 3.0},
              {"kind": "select", "top_k": 2})  # fmt: skip
    still = reinforce(table, config(*stages), NO_WAIT)
    moved = reinforce(table, config(*stages), NO_WAIT.with_(tier_moves=True))
    assert lists_of(still)[-1] == ["young", "old"]
    assert lists_of(moved)[-1] == ["old", "young"]
    assert lists_of(moved)[:3] == lists_of(still)[:3]


def test_importance_that_is_stated_later_moves_no_tier_before():
    rows = [20.0 + step for step in range(6)]
    table = hand_table(rows)
    salience = np.full((len(rows), 2), 0.1)
    salience[-1] = 0.9
    tier = np.zeros((len(rows), 2), dtype=np.int64)
    table = replace(
        table,
        features={**table.features, "salience": salience, "tier": tier},
        codes={**table.codes, "tier": ("peripheral",)},
    )
    stages = ({"kind": "rrf"}, {"kind": "tier_decay", "exempt_days": 0.0, "reinforcement": 0.0,
              "working_floor": 0.99, "peripheral_floor": 0.0, "half_life_days": 3.0},
              {"kind": "select", "top_k": 2})  # fmt: skip
    moved = reinforce(table, config(*stages), NO_WAIT.with_(tier_moves=True))
    assert lists_of(moved) == [["young", "old"]] * len(rows)


def test_a_bonus_without_a_ceiling_is_refused_by_name():
    open_ended = config({"kind": "rrf"}, {"kind": "frequency_boost", "name": "hits"})
    with pytest.raises(ParameterError, match=r"hits\.weight must be 0 .* got 0\.15"):
        reinforce(hand_table([1.0]), open_ended)
    off = config({"kind": "rrf"}, {"kind": "frequency_boost", "weight": 0.0})
    reinforce(hand_table([1.0]), off)


def test_every_stage_that_reads_use_is_known_to_have_a_ceiling():
    reads = {
        name
        for name in every_stage.__all__
        if inspect.isclass(stage := getattr(every_stage, name))
        and any(
            word in inspect.getsource(inspect.getmodule(base)) and word in inspect.getsource(base)
            for base in stage.__mro__
            if base.__module__.startswith("recalltune.pipeline.stages")
            for word in ('"access_count"', '"days_since_access"', "use_ages(")
        )
    }
    bounded = {
        "AccessBoost", "ActR", "BestVersion", "CompositeDecay", "Decay", "EmotionDecay",
        "EvolutionBlend", "HalfFloorDecay", "HotnessBlend", "PaperScore", "TierDecay",
    }  # fmt: skip
    assert reads == bounded | {"FrequencyBoost"}


@pytest.mark.slow
def test_every_preset_that_can_walk_this_table_walks_it():
    for name in ("recallnest", "recallnest-hybrid", "lancedb-pro", "lancedb-pro-plain",
                 "generative-agents", "textbook"):  # fmt: skip
        preset = rt.preset(name)
        table = housed(walked_table(8, queries=30), 8)
        found = reinforce(table, preset)
        assert found.lists[0].shape[0] == 30
        order = rt.rank(table, preset).order
        assert found.lists[0].shape[1] <= order.shape[1]


# -- refusals ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (lambda: reinforce(walked_table(0), []), "at least one config, got none"),
        (lambda: reinforce(walked_table(0), [faded()] * 2, labels=["a", "a"]), "different texts"),
        (lambda: reinforce(walked_table(0), faded(), path="quick"), "path must be one of"),
        (
            lambda: reinforce(
                walked_table(0), config({"kind": "rrf"}, {"kind": "act_r"}), path="lanes"
            ),
            "cannot walk 'unnamed'",
        ),
        (lambda: reinforce(walked_table(0), faded()).drift(windows=0), "windows must be"),
        (lambda: reinforce(walked_table(0), faded()).exposure(points=0), "points must be"),
        (lambda: AccessRule().with_(cooldown_seconds=-1.0), "cooldown_seconds"),
        (lambda: AccessRule().with_(accesses="both"), "accesses cannot be 'both'"),
    ],
)
def test_bad_input_is_refused_by_name(made, told):
    with pytest.raises(ParameterError, match=told):
        made()


def test_a_query_without_a_time_is_refused():
    table = walked_table(0)
    undated = table.queries.with_columns(asked_at=pl.lit(None, pl.Int64))
    with pytest.raises(ContractError, match="'q0' has none"):
        reinforce(replace(table, queries=undated), faded())


# -- through a lab ----------------------------------------------------------------------------


def small_lab(folder: Path, *uses: Access, name: str = "lab") -> rt.Lab:
    words = ("tea", "garden", "server", "backup")
    notes = [
        Note(f"m{number:02d}", f"{words[number % 4]} {words[number % 3]} note {number}", number / 2)
        for number in range(24)
    ]
    asks = [
        Ask(f"q{number:02d}", f"{words[number % 4]} note", 12.0 + number * 0.7,
            (f"m{number % 24:02d}",), top_k=4)
        for number in range(30)
    ]  # fmt: skip
    lab = make_lab(folder / f"{name}.duckdb", notes, asks)
    if uses:
        with lab.writing() as con:
            insert_rows(con, list(uses))
    return lab


LEXICAL = {"arms": {"lexical": {}}}
LAB_CONFIG = config(
    {"kind": "rrf"},
    {"kind": "decay", "half_life_days": 8.0, "reinforcement": 2.0, "max_multiple": 10.0},
    {"kind": "select", "top_k": 4},
    **LEXICAL,
)


@pytest.mark.slow
@pytest.mark.parametrize("lag", [5.0, 100_000.0])
def test_simulated_lists_fed_back_as_recorded_accesses_give_the_same_lists(tmp_path, lag):
    table = rt.candidates(small_lab(tmp_path), "s", LAB_CONFIG)
    rule = AccessRule(flush_lag_seconds=lag, cooldown_seconds=60_000.0)
    walked = reinforce(table, LAB_CONFIG, rule)
    assert not np.array_equal(walked.lists[0], walked.still[0])
    uses = [
        Access(memory_id=memory, used_at=instant_of(at), kind="shown")
        for _, memory, at in walked.uses().rows()
    ]
    fed = rt.candidates(small_lab(tmp_path, *uses, name="fed"), "s", LAB_CONFIG)
    order = rt.rank(fed, LAB_CONFIG).order
    for path in PATHS:
        found = reinforce(table, LAB_CONFIG, rule, path=path)
        np.testing.assert_array_equal(order, found.lists[0], err_msg=path)


def instant_of(microseconds: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)


@pytest.mark.slow
def test_reading_for_a_measurement_never_reinforces(tmp_path: Path):
    lab = small_lab(tmp_path, Access(memory_id="m01", used_at=instant(1.0), kind="shown"))
    file = tmp_path / "lab.duckdb"
    before, digest = accesses(lab), hashlib.sha256(file.read_bytes()).hexdigest()
    for _ in range(2):
        table = rt.candidates(lab, "s", LAB_CONFIG)
        rt.evaluate(table, LAB_CONFIG, split="all")
        rt.explain(table, LAB_CONFIG, "q03")
        rt.reinforce(table, [LAB_CONFIG]).drift()
        assert hashlib.sha256(file.read_bytes()).hexdigest() == digest
    assert accesses(lab).equals(before)


def accesses(lab: rt.Lab) -> pl.DataFrame:
    from recalltune.store import read_accesses

    with lab.reading() as con:
        return read_accesses(con)


def test_counters_name_their_units():
    assert Counter().lag_us == 5 * SECOND
    assert Counter(cooldown_seconds=0.0).cooldown_us == 1
