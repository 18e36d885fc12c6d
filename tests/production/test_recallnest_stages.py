"""RecallNest's stages: values worked by hand, and every sweep equal to its single runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recalltune.candidates.table import Candidates
from recalltune.errors import ParameterError, checked
from recalltune.pipeline.config import RankingConfig, load_config, preset
from recalltune.pipeline.explain import explain, replay_evidence
from recalltune.pipeline.ranks import LabelSlots, ranks_in_list, ranks_of
from recalltune.pipeline.run import run, with_profile
from recalltune.pipeline.stages import (
    AccessBoost,
    Active,
    Boundary,
    CategoryMinimum,
    EvolutionBlend,
    HotnessBlend,
    Importance,
    Length,
    RecencyBoost,
    SourceDiversity,
    TierDecay,
)
from recalltune.pipeline.stages.recallnest_keep import count_words
from recalltune.production.golden.one_query import applied, one_query
from recalltune.sweep.walk import walk
from toy_candidates import LAYERS, housed, toy

pytestmark = pytest.mark.slow


def score(stage: Any, row: dict[str, Any], before: float = 0.8, text: str | None = None) -> float:
    stage = stage.with_(name="stage")
    return float(applied([stage], one_query([row], text=text), [before])[-1].score[0, 0])


# --- one stage at a time ------------------------------------------------------------------------


def test_a_memory_without_event_time_is_left_unchanged_by_every_age_stage() -> None:
    row = {"salience": 0.2, "access_count": 4.0, "days_since_access": 50.0}
    for stage in (RecencyBoost(), TierDecay(), EvolutionBlend()):
        assert score(stage, row, 0.37) == 0.37
        assert score(stage, {**row, "age_days": 40.0}, 0.37) != 0.37


def test_a_missing_importance_counts_as_the_published_half() -> None:
    # 0.8 * (0.5 + 0.5 * 0.5) = 0.6
    assert score(Importance(), {}) == pytest.approx(0.6, rel=1e-12)
    assert score(Importance(missing=0.9), {}) == pytest.approx(0.8 * 0.95, rel=1e-12)


def test_scores_are_clipped_to_one_after_a_bonus() -> None:
    assert score(RecencyBoost(), {"age_days": 0.0}, 0.95) == 1.0
    assert score(AccessBoost(), {"access_count": 31.0}, 0.95) == 1.0


def test_length_counts_beyond_the_anchor_only() -> None:
    # 1600 / 800 = 2 doublings^1: 0.8 / 1.5
    assert score(Length(), {"utf16_chars": 1600}) == pytest.approx(0.8 / 1.5, rel=1e-12)
    assert score(Length(), {"utf16_chars": 799}) == 0.8


@pytest.mark.parametrize(
    ("row", "factor"),
    [
        ({"layer": "durable", "authority": "structured-memory"}, 1.03),
        ({"layer": "durable"}, 1.01),
        ({"layer": "evidence", "authority": "transcript-ingest"}, 0.97),
        ({"layer": "evidence", "scope": "memory:x"}, 0.99),
        ({"layer": "canonical", "scope": "memory:x"}, 1.0),
        ({"layer": "project", "scope": "memory:x"}, 1.01),
        ({"layer": "log", "scope": "minis:x"}, 0.99),
        ({"layer": "log", "scope": "ccx"}, 1.0),
    ],
)
def test_boundary_goes_by_production_layer_else_by_scope(
    row: dict[str, Any], factor: float
) -> None:
    assert score(Boundary(), row) == pytest.approx(0.8 * factor, rel=1e-12)


@pytest.mark.parametrize(
    ("row", "tier"),
    [
        ({"salience": 0.95}, 2),
        ({"salience": 0.949}, 1),
        ({"salience": 0.8}, 1),
        ({"salience": 0.799}, 0),
        ({"salience": 0.1, "access_count": 10.0}, 2),
        ({"salience": 0.1, "access_count": 9.0}, 1),
        ({"salience": 0.1, "access_count": 3.0}, 1),
        ({"salience": 0.1, "access_count": 2.0}, 0),
        ({"salience": 0.99, "tier": "working"}, 1),
        ({}, 0),
    ],
)
def test_the_tier_is_the_memory_s_own_else_from_importance_and_accesses(
    row: dict[str, Any], tier: int
) -> None:
    for stage in (TierDecay(), EvolutionBlend()):
        assert stage.tier(one_query([row]))[0, 0] == tier


@pytest.mark.parametrize(
    ("row", "exempt"),
    [
        ({"category": "patterns"}, True),
        ({"category": "cases"}, False),
        ({"tier": "core", "salience": 0.95}, True),
        ({"tier": "core", "salience": 0.94}, False),
        ({"tier": "working", "salience": 1.0}, False),
        ({"access_count": 1.0, "days_since_access": 6.99}, True),
        ({"access_count": 1.0, "days_since_access": 7.0}, False),
        ({"pinned": 1.0}, True),
    ],
)
def test_exempt_memories_keep_their_score_and_blend_in_a_worth_of_one(
    row: dict[str, Any], exempt: bool
) -> None:
    aged = {"salience": 0.5, "age_days": 300.0, **row}
    assert (score(TierDecay(), aged) == 0.8) is exempt
    # 0.9 * 0.8 + 0.1 * 1 = 0.82
    assert (score(EvolutionBlend(), aged) == pytest.approx(0.82, rel=1e-12)) is exempt


def test_a_tier_decays_to_its_floor_and_to_the_middle_at_its_half_life() -> None:
    # floor + (1 - floor) / 2 at the half-life, for every tier and shape.
    for tier, floor in (("core", 0.85), ("working", 0.65), ("peripheral", 0.45)):
        row = {"age_days": 60.0, "tier": tier, "salience": 0.1}
        assert score(TierDecay(), row, 1.0) == pytest.approx((1 + floor) / 2, rel=1e-12)
        assert score(TierDecay(), {**row, "age_days": 36_500.0}, 1.0) == pytest.approx(floor)


def test_early_on_a_peripheral_memory_keeps_more_than_a_core_one() -> None:
    def at(age: float, tier: str) -> float:
        return score(TierDecay(), {"age_days": age, "tier": tier, "salience": 0.1}, 1.0)

    assert at(3.0, "peripheral") > at(3.0, "core")
    assert at(6.0, "peripheral") < at(6.0, "core")


def test_hotness_leaves_unused_memories_unchanged_and_is_off_by_default() -> None:
    used = {"access_count": 5.0, "days_since_access": 0.0}
    assert score(HotnessBlend(), used) == 0.8
    assert score(HotnessBlend(weight=0.15), {}) == 0.8
    # 0.85 * 0.8 + 0.15 * 6/7
    assert score(HotnessBlend(weight=0.15), used) == pytest.approx(0.68 + 0.15 * 6 / 7, rel=1e-12)


# --- cuts ---------------------------------------------------------------------------------------


def test_active_drops_what_was_superseded_or_retracted_unless_asked_to_show_it() -> None:
    table = one_query([{}, {"superseded": 1.0}, {"retracted": 1.0}])
    hidden = applied([Active(name="active")], table, [0.5, 0.5, 0.5])[-1].alive[0]
    assert hidden.tolist() == [True, False, False]
    shown = Active(name="active", superseded="show", retracted="show")
    assert applied([shown], table, [0.5, 0.5, 0.5])[-1].alive.all()


def test_the_minimum_of_a_category_is_lower_for_a_short_query() -> None:
    rows = [{"category": name} for name in ("events", "patterns", "ledger")]

    def kept(text: str | None, scores: list[float], **fields: Any) -> list[bool]:
        stage = CategoryMinimum(name="minimum", **fields)
        return [
            bool(kept) for kept in applied([stage], one_query(rows, text=text), scores)[-1].alive[0]
        ]

    four, five = "tune decay params now", "tune decay params right now"
    # 0.6 * (.35, .45, .35) = (.21, .27, .21)
    assert kept(four, [0.21, 0.269, 0.2099]) == [True, False, False]
    assert kept(five, [0.35, 0.449, 0.3499]) == [True, False, False]
    assert kept(None, [0.35, 0.449, 0.3499]) == [True, False, False]
    assert kept(five, [0.1, 0.1, 0.1]) == [True, True, True]
    assert kept(five, [0.1, 0.1, 0.1], unless_empty=False) == [False, False, False]


def test_only_living_rows_count_when_a_query_would_be_empty() -> None:
    table = one_query([{"superseded": 1.0, "category": "events"}, {"category": "events"}])
    stages = [Active(name="active"), CategoryMinimum(name="minimum")]
    # The only row over the minimum is superseded: production asks again and shows the other.
    assert applied(stages, table, [0.9, 0.1])[-1].listed()[0].tolist() == [1, -1]


def test_words_are_counted_as_production_counts_them() -> None:
    assert count_words("how to tune decay") == 2
    assert count_words("数据库 迁移") == 5
    assert count_words("我的数据库") == 3
    assert count_words("a b snake_case x9") == 2
    assert count_words("") == 0


def test_one_row_of_every_scope_comes_first_when_rows_would_be_cut() -> None:
    table = one_query([{"scope": scope} for scope in "aaabbc"])
    scores = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4]

    def order(**fields: Any) -> list[int]:
        stage = SourceDiversity(name="sources", **fields)
        return [int(at) for at in applied([stage], table, scores)[-1].listed()[0]]

    assert order(places=5) == [0, 3, 5, 1, 2, 4]
    assert order(places=6) == [0, 1, 2, 3, 4, 5]
    assert order(places=5, min_scopes=4) == [0, 1, 2, 3, 4, 5]


# --- the preset ---------------------------------------------------------------------------------


def test_the_preset_round_trips_and_says_what_it_needs() -> None:
    config = preset("recallnest")
    assert config.arms.names == ("dense",)
    assert config.arms.dense is not None
    assert (config.arms.dense.width, config.arms.dense.store_limit) == (30, 20)
    again = checked(RankingConfig, config.model_dump(mode="json"))
    assert again == config
    assert again.fingerprint == config.fingerprint
    assert sorted(config.profiles) == ["debug", "fact-check", "writing"]
    for name in ("", "default", "general"):
        assert with_profile(config, name) == config
    with pytest.raises(ParameterError, match=r"profile 'fact-chek' is unknown; nearest: 'fact-"):
        with_profile(config, "fact-chek")


def test_the_preset_reads_back_from_its_own_toml(tmp_path: Any) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(preset("recallnest").to_toml(), encoding="utf-8")
    assert load_config(file) == preset("recallnest")


def test_a_fresh_irrelevant_memory_outranks_an_old_perfect_one() -> None:
    # The compression the reference describes: 300 characters, confidence missing (0.7).
    common = {"utf16_chars": 300.0, "dense_rank": 1.0}
    fresh = {
        **common,
        "dense_score": 0.0,
        "age_days": 0.0,
        "salience": 0.7,
        "layer": "durable",
        "authority": "structured-memory",
        "category": "events",
    }
    old = {
        **common,
        "dense_score": 1.0,
        "age_days": 365.0,
        "salience": 0.6,
        "layer": "evidence",
        "authority": "transcript-ingest",
        "category": "events",
        "tier": "peripheral",
    }
    table = one_query(
        [fresh, old], text="five words that all count surely", vectors=[[0, 1], [1, 0]]
    )
    state = run(table, preset("recallnest"))
    np.testing.assert_allclose(state.score[0], [0.457, 0.299], atol=5e-4)
    assert state.listed()[0].tolist()[0] == 0
    assert not state.alive[0, 1]


# --- sweep = single -----------------------------------------------------------------------------


def stage(kind: str, **choices: list[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {"kind": st.just(kind)}, optional={k: st.sampled_from(v) for k, v in choices.items()}
    )


gates = stage("skip_trivial", min_chars=[0, 15], min_chars_cjk=[0, 9], least_chars=[4, 9])
fusing = st.one_of(
    st.just({"kind": "weighted", "calibration": {"lexical": "logistic"}}),
    stage(
        "recallnest_fusion",
        dense_weight=[0.0, 0.7],
        agreement=[1.0, 1.05],
        short_words=[0, 4],
        short_lexical_cap=[0.1, 0.6],
        short_lexical_only=[1.0, 1.5],
        graph_weight=[0.0, 0.15],
        graph_bonus=[0.0, 0.5],
    ),
    stage("lancedb_pro_fusion", rescue_from=[0.5, 0.75], rescue_share=[0.0, 0.92]),
)
moving = st.one_of(
    stage(
        "recency_boost",
        weight=[0.0, 0.1, 0.3],
        mean_life_days=[7.0, 30.0],
        boost_future=[True, False],
    ),
    stage("importance", base=[0.0, 0.5], missing=[0.0, 0.5]),
    stage("confidence", base=[0.2, 0.5]),
    stage("boundary", memory_scope=[1.0, 1.2]),
    stage("asset", brief=[0.5, 0.88]),
    stage("length", anchor_chars=[400.0, 800.0], strength=[0.0, 0.5]),
    stage(
        "tier_decay",
        half_life_days=[10.0, 60.0],
        core_floor=[0.0, 0.85],
        reinforcement=[0.0, 0.5],
        access_mean_life_days=[5.0, 30.0],
        exempt_categories=[[], ["patterns"]],
    ),
    stage(
        "emotion_decay",
        half_life_days=[10.0, 60.0],
        stretch=[0.0, 0.3],
        dead_zone=[0.0, 0.6],
        arousal_weight=[0.0, 0.5],
    ),
    stage("evolution_blend", weight=[0.0, 0.1], age_half_life_days=[9.0, 90.0]),
    stage("access_boost", weight=[0.0, 0.03], cap=[0.0, 0.05]),
    stage("hotness_blend", weight=[0.0, 0.15], mean_life_days=[1.0, 10.0]),
    stage("frequency_boost", weight=[0.0, 0.15], half_life_days=[3.0, 30.0], min_hits=[1.0, 2.0]),
    stage("anchor_boost", weight=[0.0, 0.25], coverage=[0.0, 0.7]),
    stage("view_blend", short_words=[0, 3], long_words=[4, 10], middle_abstract=[0.0, 0.5]),
    stage("light_rerank", cosine_share=[0.0, 0.3, 1.0]),
    stage(
        "composite_decay",
        half_life_days=[10.0, 30.0],
        lowest=[0.3, 1.0],
        core_floor=[0.0, 0.9],
        frequency_weight=[0.0, 1.0],
        dynamic_divisor=[1.0, 3.0],
    ),
    stage(
        "half_floor_decay",
        mean_life_days=[10.0, 60.0],
        reinforcement=[0.0, 0.5],
        access_half_life_days=[5.0, 30.0],
    ),
)
cutting = st.one_of(
    stage("active", superseded=["hide", "show"]),
    stage("category_minimum", events=[0.2, 0.5], other=[0.1], unless_empty=[True, False]),
    stage("rerank_pool", rows=[1, 3, 20]),
    stage("best_version", by=["version_group", "scope"], importance_share=[0.0, 0.5]),
)
arranging = st.one_of(
    stage("defer", threshold=[0.0, 0.85]),
    stage("source_diversity", places=[1, 3, 20], min_scopes=[1, 3]),
    stage(
        "interference",
        threshold=[0.0, 0.5],
        ratio=[0.5, 0.9],
        cluster_size=[1, 2],
        crowded_factor=[0.0, 0.5],
        drop_weaker=[True, False],
        similarity=["cosine", "jaccard"],
    ),
    stage("exact_tokens", rows=[0, 1, 3], min_chars=[5, 20]),
    stage("best_version"),
)
chains = st.builds(
    lambda gate, fused, a, b, c, d: checked(
        RankingConfig,
        {
            "layers": list(LAYERS),
            "arms": {"lexical": {}, "dense": {}},
            "stages": [*gate, fused, *a, *b, *c, *d],
        },
    ),
    st.lists(gates, max_size=1),
    fusing,
    st.lists(moving, max_size=4, unique_by=lambda s: s["kind"]),
    st.lists(cutting, max_size=2, unique_by=lambda s: s["kind"]),
    st.lists(arranging, max_size=2, unique_by=lambda s: s["kind"]).map(
        lambda stages: [{**s, "name": f"last_{s['kind']}"} for s in stages]
    ),
    st.lists(stage("select", top_k=[2, 5]), max_size=1),
)


def every_slot(table: Candidates) -> LabelSlots:
    rows, columns = np.indices(table.span.shape)
    return LabelSlots(rows.ravel(), np.where(table.valid, columns, -1).ravel())


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10_000), st.lists(chains, min_size=1, max_size=6))
def test_every_item_of_every_setting_has_the_rank_of_its_single_run(
    seed: int, grid: list[RankingConfig]
) -> None:
    table = housed(toy(seed), seed)
    slots = every_slot(table)
    swept: dict[int, np.ndarray] = {}
    walk(table, grid, lambda g, state: swept.update({g: ranks_of(state, slots)}))
    assert sorted(swept) == list(range(len(grid)))
    for g, setting in enumerate(grid):
        single = ranks_in_list(run(table, setting).listed(), slots)
        np.testing.assert_array_equal(swept[g], single, err_msg=setting.to_toml())


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), chains)
def test_fields_left_out_of_the_canonical_form_have_no_effect(
    seed: int, config: RankingConfig
) -> None:
    table = housed(toy(seed), seed)
    before = run(table, config)
    bare = checked(RankingConfig, {**config.canonical()})
    after = run(table, bare)
    np.testing.assert_array_equal(before.score, after.score)
    np.testing.assert_array_equal(before.listed(), after.listed())


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), chains)
def test_the_evidence_replayed_gives_the_final_score(seed: int, config: RankingConfig) -> None:
    table = housed(toy(seed), seed)
    evidence = explain(table, config, "q0")
    replayed = replay_evidence(evidence)
    final = evidence.filter(pl.col("step") == pl.col("step").max())
    pairs = replayed.join(final, on="memory_id", validate="1:1")
    np.testing.assert_allclose(pairs["score"], pairs["after"], rtol=1e-12)
