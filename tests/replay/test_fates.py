"""Every wanted memory has one fate, the fates add up, and looking at them changes no list."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recalltune.candidates.table import Candidates
from recalltune.charts import loss_stages
from recalltune.errors import ContractError, checked
from recalltune.evaluate.shown import rank, shown_hits
from recalltune.pipeline.config import RankingConfig, preset, preset_names
from recalltune.pipeline.stage import FilterStage
from recalltune.replay.account import stage_account
from recalltune.replay.fate_views import loss_account
from recalltune.replay.fates import FATES, NEVER_INSIDE, fates
from toy_candidates import LAYERS, filed, housed, remembered, toy

ARMS: dict[str, Any] = {"lexical": {}, "dense": {}}


def config(*stages: dict[str, Any], **more: Any) -> RankingConfig:
    made = {"layers": list(LAYERS), "arms": ARMS, "stages": list(stages), **more}
    return checked(RankingConfig, made)


def everything(seed: int) -> Candidates:
    """A toy table with every feature some stage reads."""
    return housed(remembered(filed(toy(seed), seed), seed), seed)


def every_pair(table: Candidates) -> pl.DataFrame:
    query, column = np.nonzero(table.valid)
    return pl.DataFrame(
        {
            "query_id": table.queries["query_id"].gather(query),
            "memory_id": table.spans["memory_id"].gather(table.span[query, column]),
        }
    )


def listed(table: Candidates, setting: RankingConfig) -> set[tuple[str, str]]:
    hits = shown_hits(table, rank(table, setting))
    return set(hits.select("query_id", "memory_id").iter_rows())


SELECT = {"kind": "select", "top_k": 3}
MIDDLE = [
    {"kind": "threshold", "min_score": 0.02},
    {"kind": "similarity_minimum", "min_score": 0.02, "unless_empty": False},
    {"kind": "category_minimum", "unless_empty": False, "events": 0.02, "other": 0.03},
    {"kind": "openclaw_minimum", "min_score": 0.03, "relaxed_score": 0.02},
    {"kind": "active"},
    {"kind": "best_version"},
    {"kind": "rerank_pool", "rows": 5},
    {"kind": "interference", "threshold": 0.3, "ratio": 0.9, "drop_weaker": True},
    {"kind": "defer", "threshold": 0.3},
    {"kind": "mmr", "lambda_": 0.4},
    {"kind": "skip_trivial"},
    {"kind": "salience", "salience_weight": 0.5},
    {"kind": "decay", "family": "exponential", "half_life_days": 20.0},
    {"kind": "openclaw_rank"},
    {"kind": "exact_tokens", "rows": 2},
]
LAST = [
    SELECT,
    {"kind": "select", "top_k": 4, "floors": {"log": 1, "user": 1}, "caps": {"project": 1}},
    {"kind": "select", "top_k": 5, "budget_tokens": 40, "floors": {"user": 1}},
    {"kind": "select", "top_k": 5, "budget_tokens": 60, "packer": "prefix", "caps": {"log": 2}},
]
chains = st.builds(
    lambda middle, last, block: config(
        {"kind": "rrf"}, *middle, last, *([{"kind": "block", "budget_chars": 300}] * block)
    ),
    st.lists(st.sampled_from(MIDDLE), max_size=4, unique_by=lambda stage: stage["kind"]),
    st.sampled_from(LAST),
    st.integers(0, 1),
)


@given(st.integers(0, 200), chains)
@settings(max_examples=60)
def test_fates_add_up_stage_by_stage_and_shown_are_those_in_the_list(
    seed: int, setting: RankingConfig
) -> None:
    table = everything(seed)
    pairs = every_pair(table)
    found = fates(table, setting, pairs, rescue=False)
    assert found.height == pairs.height
    assert set(found["fate"]) <= set(FATES)
    shown = found.filter(pl.col("fate") == "shown")
    assert set(shown.select("query_id", "memory_id").iter_rows()) == listed(table, setting)
    lost = found.filter(pl.col("fate") != "shown")
    # Every candidate is wanted here, so what a stage loses for good is what it removes in all.
    account = stage_account(table, setting)
    gone = account.group_by("stage").agg((pl.col("removed") - pl.col("returned")).sum())
    if not account["returned"].sum():
        by_stage = dict(lost.group_by("stage").len().iter_rows())
        assert {name: n for name, n in gone.iter_rows() if n} == by_stage
    assert lost.height == int(gone["removed"].sum())
    assert (lost["margin"].drop_nulls() >= 0).all()
    free = lost.filter(~pl.col("fate").is_in(["suppress", "status"]))
    assert free["margin"].null_count() == 0
    assert (free["margin"] > 0).all()
    assert (shown["margin"].drop_nulls() < 0).all()
    assert not (lost["by"] == lost["memory_id"]).any()


@given(st.integers(0, 200), chains)
@settings(max_examples=30)
def test_without_the_filter_that_lost_it_a_memory_is_lost_strictly_later(
    seed: int, setting: RankingConfig
) -> None:
    table = everything(seed)
    pairs = every_pair(table)
    found = fates(table, setting, pairs, rescue=False)
    names = [stage.name for stage in setting.stages]
    for stage in setting.stages:
        if not isinstance(stage, FilterStage):
            continue
        lost = found.filter(pl.col("stage") == stage.name).select("query_id", "memory_id")
        others = tuple(one for one in setting.stages if one is not stage)
        without = fates(table, setting.with_(stages=others), lost, rescue=False)
        for later in without["stage"].drop_nulls():
            assert names.index(later) > names.index(stage.name)


@pytest.mark.parametrize("name", preset_names())
def test_every_preset_gives_every_candidate_one_fate(name: str) -> None:
    setting = preset(name)
    for seed in range(4):
        table = everything(seed)
        if "substring" in setting.arms.names:
            renamed = {
                feature.replace("lexical", "substring"): values
                for feature, values in table.features.items()
            }
            table = replace(table, features=renamed)
        found = fates(table, setting, every_pair(table))
        shown = found.filter(pl.col("fate") == "shown").select("query_id", "memory_id")
        assert set(shown.iter_rows()) == listed(table, setting)


@given(st.integers(0, 50), chains)
@settings(max_examples=20)
def test_naming_memories_changes_no_list_and_no_other_fate(
    seed: int, setting: RankingConfig
) -> None:
    table = everything(seed)
    before = listed(table, setting)
    pairs = every_pair(table)
    whole = fates(table, setting, pairs)
    assert listed(table, setting) == before
    some = fates(table, setting, pairs[::3])
    assert some.equals(whole[::3])


def row(order: list[float], **features: list[float]) -> Candidates:
    """One query whose candidates m0, m1, ... score as given by their dense rank."""
    size = len(order)
    shape = (1, size)
    table = toy(0, queries=1, columns=size)
    columns = {name: np.array([values], dtype=float) for name, values in features.items()}
    defaults = {
        "dense_rank": np.array([order]),
        "lexical_rank": np.full(shape, np.nan),
        "layer": np.zeros(shape, dtype=np.int64),
        "tokens": np.ones(shape, dtype=np.int64),
        "superseded": np.zeros(shape),
        "retracted": np.zeros(shape),
        "age_days": np.zeros(shape),
        "salience": np.zeros(shape),
    }
    coded = {
        name: columns.pop(name).astype(np.int64) for name in ("layer", "tokens") if name in columns
    }
    return replace(
        table,
        span=np.arange(size)[None, :],
        features={
            **{n: v for n, v in table.features.items() if v.shape == shape},
            **defaults,
            **columns,
            **coded,
        },
    )


def one(table: Candidates, setting: RankingConfig, memory_id: str) -> dict[str, Any]:
    wanted = pl.DataFrame({"query_id": ["q0"], "memory_id": [memory_id]})
    return fates(table, setting, wanted).row(0, named=True)


def test_the_margin_of_a_threshold_is_what_the_score_lacks() -> None:
    setting = config({"kind": "rrf"}, {"kind": "threshold", "min_score": 0.0155}, SELECT)
    lost = one(row([1, 2, 3, 4, 5]), setting, "m004")
    assert (lost["fate"], lost["stage"], lost["unit"]) == ("threshold", "threshold", "score")
    assert lost["margin"] == pytest.approx(0.0155 - 1 / 65)
    assert lost["position"] == 5


def test_cap_floor_budget_oversize_and_limit_are_told_apart() -> None:
    table = row([1, 2, 3, 4, 5, 6], layer=[0, 0, 0, 1, 1, 2], tokens=[5, 5, 5, 40, 9, 1])
    capped = config({"kind": "rrf"}, {"kind": "select", "top_k": 9, "caps": {"log": 1}})
    lost = one(table, capped, "m002")
    assert (lost["fate"], lost["margin"], lost["unit"], lost["by"]) == ("quota", 2, "items", "m000")
    floored = config({"kind": "rrf"}, {"kind": "select", "top_k": 2, "floors": {"user": 1}})
    lost = one(table, floored, "m001")
    assert (lost["fate"], lost["margin"], lost["unit"], lost["by"]) == (
        "quota",
        1,
        "places",
        "m005",
    )
    tight = config({"kind": "rrf"}, {"kind": "select", "top_k": 9, "budget_tokens": 20})
    lost = one(table, tight, "m004")
    assert (lost["fate"], lost["margin"], lost["unit"], lost["by"]) == ("budget", 4, "tokens", None)
    lost = one(table, tight, "m003")
    assert (lost["fate"], lost["margin"], lost["unit"]) == ("oversize", 20, "tokens")
    lost = one(table, config({"kind": "rrf"}, SELECT), "m004")
    assert (lost["fate"], lost["margin"], lost["by"]) == ("limit", 2, "m002")
    assert lost["score_gap"] == pytest.approx(1 / 63 - 1 / 65)


def test_a_list_says_which_stage_pushed_a_memory_out_and_which_would_save_it() -> None:
    fade = {"kind": "decay", "family": "exponential", "half_life_days": 10.0}
    table = row([1, 2, 3, 4, 5], age_days=[50.0, 0, 0, 0, 0])
    lost = one(table, config({"kind": "rrf"}, fade, SELECT), "m000")
    assert (lost["fate"], lost["position"]) == ("limit", 5)
    assert (lost["pushed_out_by"], lost["rescued_by"]) == ("decay", ["decay"])
    never = one(table, config({"kind": "rrf"}, SELECT), "m004")
    assert (never["pushed_out_by"], never["rescued_by"]) == (NEVER_INSIDE, [])
    unasked = fates(
        table,
        config({"kind": "rrf"}, fade, SELECT),
        pl.DataFrame({"query_id": ["q0"], "memory_id": ["m000"]}),
        rescue=False,
    )
    assert unasked["rescued_by"].null_count() == 1


def test_the_last_place_is_inside_and_the_next_one_is_out() -> None:
    raised = {"kind": "salience", "salience_weight": 1.0}
    table = row([1, 2, 3, 4], salience=[0.0, 0.0, 0.0, 1.0])
    lost = one(table, config({"kind": "rrf"}, raised, SELECT), "m002")
    assert (lost["position"], lost["margin"]) == (4, 1)
    assert (lost["pushed_out_by"], lost["rescued_by"]) == ("salience", ["salience"])
    kept = one(table, config({"kind": "rrf"}, SELECT), "m002")
    assert (kept["fate"], kept["position"], kept["margin"]) == ("shown", 3, -1)


def test_two_stages_of_which_either_is_enough_to_lose_it_save_it_alone_neither() -> None:
    fade = {"kind": "decay", "family": "exponential", "half_life_days": 10.0}
    again = {"kind": "recency", "weight": 5.0, "half_life_days": 1.0}
    table = row([1, 2, 3, 4, 5], age_days=[50.0, 0, 0, 0, 0])
    lost = one(table, config({"kind": "rrf"}, fade, again, SELECT), "m000")
    assert (lost["pushed_out_by"], lost["rescued_by"]) == ("decay", [])


def test_a_near_duplicate_names_the_row_it_stands_behind() -> None:
    table = row([1, 2, 3, 4])
    vectors = np.zeros((table.spans.height, 8), dtype=np.float32)
    vectors[:4, 0], vectors[2:4, :2] = 1.0, [[0.0, 1.0], [0.8, 0.6]]
    table = replace(table, vectors=vectors)
    drop = {"kind": "interference", "threshold": 0.7, "ratio": 0.99, "drop_weaker": True}
    lost = one(table, config({"kind": "rrf"}, drop, SELECT), "m003")
    assert (lost["fate"], lost["unit"], lost["by"]) == ("suppress", "similarity", "m000")
    assert lost["margin"] == pytest.approx(0.1, abs=1e-6)


def test_a_row_a_later_stage_brings_back_is_shown() -> None:
    table = row([1, 2, 3, 4, 5], lexical_rank=[np.nan, np.nan, np.nan, np.nan, 1.0])
    table = replace(
        table, queries=table.queries.with_columns(pl.lit("see retriever.ts").alias("text"))
    )
    by_meaning = {"kind": "rrf", "weights": {"lexical": 0.0}}
    back = config(by_meaning, {"kind": "select", "top_k": 1}, {"kind": "exact_tokens"})
    found = fates(table, back, every_pair(table))
    assert dict(found.select("memory_id", "fate").iter_rows())["m004"] == "shown"
    account = stage_account(table, back).filter(pl.col("returned") > 0)
    assert account["stage"].to_list() == ["exact_tokens"]


def test_a_profile_ranks_its_own_cases() -> None:
    table = row([1, 2, 3])
    table = replace(table, queries=table.queries.with_columns(pl.lit("wide").alias("profile")))
    setting = config(
        {"kind": "rrf"}, {"kind": "select", "top_k": 1}, profiles={"wide": {"select.top_k": 3}}
    )
    assert one(table, setting, "m002")["fate"] == "shown"


def test_the_frame_of_losses_balances_for_the_chart() -> None:
    table = everything(3)
    setting = config(
        {"kind": "rrf"}, {"kind": "threshold", "min_score": 0.02}, {"kind": "mmr"}, SELECT
    )
    found = fates(table, setting, every_pair(table))
    account = loss_account(found, setting)
    assert account["stage"].unique(maintain_order=True).to_list() == [
        "world",
        "admit",
        "arms",
        "threshold",
        "mmr",
        "select",
    ]
    shown = found.filter(pl.col("fate") == "shown").height
    assert account["alive"][-1] == shown
    assert int(account["lost"].sum()) + shown == found.height
    assert loss_stages(account) is not None


def test_fates_refuse_a_table_made_for_another_setup() -> None:
    from recalltune.candidates.table import Stamp

    table = replace(toy(0), stamp=Stamp("other", "d", "e"))
    with pytest.raises(ContractError, match="asks for admit/arms"):
        fates(table, config({"kind": "rrf"}, SELECT), every_pair(table))


def test_no_labels_are_no_fates() -> None:
    found = fates(toy(0), config({"kind": "rrf"}, SELECT))
    assert found.height == 0
    assert found.columns[:8] == [
        "query_id", "memory_id", "fate", "stage", "margin", "unit", "by", "position",
    ]  # fmt: skip
