"""What every score stage says it can attain holds for any data, and for any score before it."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recalltune.candidates.settings import Arms, DenseArm, LexicalArm
from recalltune.pipeline.bounds import arm_bounds
from recalltune.pipeline.stage import ScoreStage, State
from recalltune.pipeline.stages import AnyStage, LanceDbFusion, RecallNestFusion
from toy_candidates import housed, toy

OURS = ("recallnest", "lancedb_pro")
KINDS = [
    kind
    for kind in get_args(get_args(AnyStage)[0])
    if issubclass(kind, ScoreStage) and kind.__module__.rpartition(".")[2].startswith(OURS)
]
# Other settings than the published ones, among them what is off by default.
OTHERS: dict[str, dict[str, Any]] = {
    "recency_boost": {"boost_future": True},
    "boundary": {"durable": 0.5, "evidence": 1.5},
    "length": {"strength": 0.0},
    "access_boost": {"cap": 0.0},
    "hotness_blend": {"weight": 0.4},
    "frequency_boost": {"weight": 0.0},
    "evolution_blend": {"weight": 0.8, "importance_weight": 1.0, "age_weight": 1.0},
    "emotion_decay": {"arousal_weight": 1.0, "core_floor": 0.0},
    "view_blend": {"short_abstract": 0.5, "short_overview": 0.5},
    "anchor_boost": {"coverage": 1.0},
    "light_rerank": {"cosine_share": 1.0},
    "composite_decay": {"lowest": 0.0, "peripheral_floor": 0.0},
}
TABLES = [housed(toy(seed), seed) for seed in range(6)]


def test_all_of_them_are_looked_at() -> None:
    assert len(KINDS) == 19
    assert set(OTHERS) <= {kind.model_fields["kind"].default for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@settings(max_examples=15, deadline=None)
@given(st.data())
def test_no_score_leaves_the_bounds(kind: type[ScoreStage], data: st.DataObject) -> None:
    name = kind.model_fields["kind"].default
    fields = data.draw(st.sampled_from([{}, OTHERS.get(name, {})]))
    stage = kind(name=name, **fields)
    table = data.draw(st.sampled_from(TABLES))
    low, high = sorted(data.draw(st.tuples(st.floats(0, 1), st.floats(0, 1))))
    least, most = stage.attainable(low, high)
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    score = rng.choice([low, high, (low + high) / 2], table.span.shape)
    state = stage.apply(State(score=score, alive=table.valid), table)
    after = state.score[state.alive]
    assert (least - 1e-12 <= after).all()
    assert (after <= most + 1e-12).all()


@pytest.mark.parametrize("kind", [RecallNestFusion, LanceDbFusion])
@pytest.mark.parametrize("on", [("dense", "lexical"), ("dense",), ("lexical",)])
def test_a_fusion_s_bounds_by_arm_hold_and_say_what_a_minimum_can_remove(
    kind: type[ScoreStage], on: tuple[str, ...]
) -> None:
    every = {"dense": DenseArm(), "lexical": LexicalArm()}
    stage = kind(name="fusion")
    least, most = stage.fused(arm_bounds(Arms(**{arm: every[arm] for arm in on})))
    off = [f"{arm}_rank" for arm in every if arm not in on]
    for seed in range(6):
        table = housed(toy(seed), seed)
        table.features.update(
            dict.fromkeys([*off, "graph_score"], np.full(table.span.shape, np.nan))
        )
        state = stage.apply(State(score=np.zeros(table.span.shape), alive=table.valid), table)
        after = state.score[state.alive]
        assert ((least <= after + 1e-12) & (after <= most + 1e-12)).all()
    # 1/(2 - cosine) is at least 1/3, the logistic at least 1/2; the ancestor weighs dense by 0.7.
    lowest = {
        (RecallNestFusion, ("dense", "lexical")): 1 / 3,
        (RecallNestFusion, ("dense",)): 1 / 3,
        (RecallNestFusion, ("lexical",)): 0.5,
        (LanceDbFusion, ("dense", "lexical")): 0.7 / 3,
        (LanceDbFusion, ("dense",)): 0.7 / 3,
        (LanceDbFusion, ("lexical",)): 0.5,
    }
    assert least == pytest.approx(lowest[kind, on])
