"""Sweep result ≡ single-run result, for every stage."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recalltune.errors import checked
from recalltune.pipeline.config import RankingConfig
from recalltune.pipeline.ranks import LabelSlots, ranks_in_list, ranks_of
from recalltune.pipeline.run import run
from recalltune.pipeline.stages import Decay
from recalltune.sweep.walk import walk
from toy_candidates import LAYERS, filed, housed, remembered, toy

ARMS = {"lexical": {}, "dense": {}}


def config(*stages: dict[str, Any]) -> RankingConfig:
    return checked(RankingConfig, {"layers": list(LAYERS), "arms": ARMS, "stages": list(stages)})


fuse = st.one_of(
    st.builds(
        lambda k, w: {"kind": "rrf", "rrf_k": k, "weights": {"dense": w}},
        st.sampled_from([0.0, 10.0, 60.0]),
        st.sampled_from([0.0, 0.5, 1.0, 2.0]),
    ),
    st.builds(
        lambda w, c: {"kind": "weighted", "weights": {"lexical": w}, "calibration": c},
        st.sampled_from([0.3, 1.0]),
        st.sampled_from([{}, {"lexical": "min_max"}, {"lexical": "saturate", "dense": "z_score"}]),
    ),
    st.builds(
        lambda w, tie: {"kind": "openclaw_fuse", "vector_weight": w, "exact_tie": tie},
        st.sampled_from([0.0, 0.7]),
        st.sampled_from(["halved", "content"]),
    ),
    st.builds(
        lambda w: {"kind": "openclaw_legacy_fuse", "text_weight": w}, st.sampled_from([0.0, 0.3])
    ),
    st.builds(
        lambda w, short: {"kind": "recallnest_fusion", "dense_weight": w, "short_words": short},
        st.sampled_from([0.0, 0.7]),
        st.sampled_from([0, 4]),
    ),
    st.builds(
        lambda share: {"kind": "lancedb_pro_fusion", "rescue_share": share},
        st.sampled_from([0.0, 0.92]),
    ),
    st.builds(
        lambda divisor, time, layer: {
            "kind": "dsh_rrf",
            "divisor": divisor,
            "time": time,
            "layer": layer,
        },
        st.sampled_from([1.0, 60.0]),
        st.sampled_from(["asked", "newest", "none"]),
        st.sampled_from(["order", "none"]),
    ),
    st.builds(
        lambda decay, weight: {
            "kind": "generative_agents",
            "hourly_decay": decay,
            "importance_weight": weight,
        },
        st.sampled_from([0.9, 0.995]),
        st.sampled_from([0.0, 1.0]),
    ),
)
FAMILIES = get_args(Decay.model_fields["family"].annotation)
DAYS = ("half_life_days", "mean_life_days", "rate_days", "stability_days")
decay = st.one_of(
    st.builds(
        lambda family, days, shape, others: {
            "kind": "decay",
            "family": family,
            **dict.fromkeys(DAYS, days),
            "shape": shape,
            **others,
        },
        st.sampled_from(FAMILIES),
        st.sampled_from([7.0, 30.0, 180.0]),
        st.sampled_from([0.5, 1.0, 1.5]),
        st.sampled_from(
            [
                {},
                {"floor": 0.4},
                {"layer_days": {"log": 3.0}},
                {"reinforcement": 0.5},
                {"exempt_pinned": True, "exempt_layers": ["project"]},
                {"exempt_categories": ["patterns"]},
            ]
        ),
    ),
    st.builds(
        lambda exponent, floor: {"kind": "act_r", "exponent": exponent, "floor": floor},
        st.sampled_from([0.3, 0.5]),
        st.sampled_from([0.0, 0.4]),
    ),
    st.builds(
        lambda on, paths: {"kind": "openclaw_decay", "enabled": on, "paths": paths},
        st.booleans(),
        st.sampled_from(["release", "legacy"]),
    ),
)
weigh = st.one_of(
    st.sampled_from(
        [
            {"kind": "emotion_decay", "stretch": 2.0},
            {"kind": "composite_decay", "lowest": 0.1},
            {"kind": "half_floor_decay", "reinforcement": 0.0},
            {"kind": "light_rerank", "cosine_share": 0.5},
            {"kind": "anchor_boost", "weight": 1.0},
            {"kind": "view_blend", "short_abstract": 0.5},
        ]
    ),
    st.builds(lambda w: {"kind": "salience", "salience_weight": w}, st.sampled_from([0.0, 0.5])),
    st.builds(lambda w: {"kind": "recency", "weight": w}, st.sampled_from([0.0, 0.3])),
    st.builds(lambda w: {"kind": "status", "superseded_weight": w}, st.sampled_from([0.0, 0.5])),
    st.builds(lambda m: {"kind": "threshold", "min_score": m}, st.sampled_from([0.0, 0.02, 0.4])),
    st.builds(
        lambda m, keep: {"kind": "similarity_minimum", "min_score": m, "unless_empty": keep},
        st.sampled_from([0.02, 0.4]),
        st.booleans(),
    ),
    st.builds(lambda b: {"kind": "openclaw_importance", "base": b}, st.sampled_from([0.5, 0.75])),
)
arrange = st.one_of(
    st.builds(
        lambda t, drop: {
            "kind": "interference",
            "threshold": t,
            "cluster_size": 1,
            "drop_weaker": drop,
        },
        st.sampled_from([0.0, 0.85]),
        st.booleans(),
    ),
    st.builds(lambda rows: {"kind": "exact_tokens", "rows": rows}, st.sampled_from([1, 3])),
    st.builds(
        lambda lam, pool, sim: {"kind": "mmr", "lambda_": lam, "pool": pool, "similarity": sim},
        st.sampled_from([0.3, 0.7, 1.0]),
        st.sampled_from([3, 50]),
        st.sampled_from(["cosine", "jaccard"]),
    ),
    st.builds(
        lambda t, pool: {"kind": "defer", "threshold": t, "pool": pool},
        st.sampled_from([0.0, 0.85, 1.0]),
        st.sampled_from([None, 3]),
    ),
    st.builds(
        lambda lam, same: {"kind": "openclaw_rank", "lambda_": lam, "same_project": same},
        st.sampled_from([0.3, 1.0]),
        st.sampled_from([1.0, 1.15]),
    ),
)
keep = st.one_of(
    st.builds(
        lambda m, fill, relaxed: {
            "kind": "openclaw_minimum",
            "min_score": m,
            "fill_up": fill,
            "relaxed": relaxed,
        },
        st.sampled_from([0.0, 0.35, 1.0]),
        st.booleans(),
        st.booleans(),
    ),
    st.builds(lambda rows: {"kind": "rerank_pool", "rows": rows}, st.sampled_from([1, 4])),
    st.builds(lambda by: {"kind": "best_version", "by": by}, st.sampled_from(["scope", "layer"])),
    st.builds(
        lambda budget, entry: {"kind": "block", "budget_chars": budget, "entry_chars": entry},
        st.sampled_from([0, 160, 400]),
        st.sampled_from([5, 120]),
    ),
)
gate = st.builds(lambda n: {"kind": "skip_trivial", "min_chars": n}, st.sampled_from([0, 15]))
select = st.builds(
    lambda k, floors, caps, budget, packer: {
        "kind": "select",
        "top_k": k,
        "floors": floors,
        "caps": caps,
        "packer": packer,
        **({} if budget is None else {"budget_tokens": budget}),
    },
    st.sampled_from([4, 8]),
    st.sampled_from([{}, {"project": 2}, {"user": 1, "project": 1}]),
    st.sampled_from([{}, {"log": 2}]),
    st.sampled_from([None, 30, 90]),
    st.sampled_from(["skip", "prefix"]),
)
configs = st.builds(
    lambda g, a, b, c, d, e, f: config(*g, a, b, *c, *d, *e, *f),
    st.lists(gate, max_size=1),
    fuse,
    decay,
    st.lists(weigh, max_size=2, unique_by=lambda s: s["kind"]),
    st.lists(arrange, max_size=1),
    st.lists(keep, max_size=1),
    st.lists(select, max_size=1),
)


def every_slot(table: Any) -> LabelSlots:
    rows, columns = np.indices(table.span.shape)
    return LabelSlots(rows.ravel(), np.where(table.valid, columns, -1).ravel())


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10_000), st.lists(configs, min_size=1, max_size=6))
def test_every_item_of_every_setting_has_the_rank_of_its_single_run(
    seed: int, grid: list[RankingConfig]
) -> None:
    table = remembered(housed(filed(toy(seed), seed), seed), seed)
    slots = every_slot(table)
    swept: dict[int, np.ndarray] = {}
    walk(table, grid, lambda g, state: swept.update({g: ranks_of(state, slots)}))
    assert sorted(swept) == list(range(len(grid)))
    for g, setting in enumerate(grid):
        single = ranks_in_list(run(table, setting).listed(), slots)
        np.testing.assert_array_equal(swept[g], single, err_msg=setting.to_toml())


def test_a_two_stage_toy_ranks_as_worked_by_hand() -> None:
    table = toy(3, queries=1, columns=3)
    table.features["dense_rank"][0] = [1, 2, 3]
    table.features["lexical_rank"][0] = [np.nan, 2, 1]
    table.features["age_days"][0] = [30, 0, 30]
    table.span[0] = [0, 1, 2]
    setting = config({"kind": "rrf"}, {"kind": "decay", "half_life_days": 30.0})
    scores = run(table, setting).score[0]
    expected = [1 / 61 / 2, 1 / 62 + 1 / 62, (1 / 63 + 1 / 61) / 2]
    np.testing.assert_allclose(scores, expected, rtol=1e-12)
    assert run(table, setting).listed()[0].tolist() == [1, 2, 0]


def test_floors_that_promise_more_than_top_k_are_refused_with_both_numbers() -> None:
    with pytest.raises(ValueError, match="floors promise 5 places but top_k is 4"):
        config({"kind": "rrf"}, {"kind": "select", "top_k": 4, "floors": {"project": 5}})
