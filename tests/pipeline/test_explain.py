"""explain shows every stage, and replaying what it shows gives the score."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalltune.errors import ContractError, ParameterError, checked
from recalltune.pipeline.config import RankingConfig
from recalltune.pipeline.explain import explain, replay_evidence
from recalltune.pipeline.run import run
from toy_candidates import LAYERS, toy

pytestmark = pytest.mark.slow

CONFIG = checked(
    RankingConfig,
    {
        "layers": list(LAYERS),
        "arms": {"lexical": {}, "dense": {}},
        "stages": [
            {"kind": "rrf"},
            {"kind": "decay", "family": "weibull", "shape": 0.8, "floor": 0.3},
            {"kind": "salience", "salience_weight": 0.5},
            {"kind": "status", "superseded_weight": 0.5},
            {"kind": "threshold", "min_score": 0.004},
            {"kind": "mmr", "lambda_": 0.7},
            {"kind": "select", "top_k": 5, "floors": {"project": 1}},
        ],
    },
)


@given(st.integers(0, 500))
def test_replaying_the_evidence_gives_the_score_to_1e_12(seed: int) -> None:
    table = toy(seed)
    state = run(table, CONFIG)
    for row, query_id in enumerate(table.queries["query_id"]):
        evidence = explain(table, CONFIG, query_id)
        replayed = dict(replay_evidence(evidence).iter_rows())
        for column in np.flatnonzero(table.valid[row]):
            score = replayed[table.memory_id(row, int(column))]
            assert score == pytest.approx(state.score[row, column], rel=1e-12, abs=0)


@given(st.integers(0, 200))
def test_the_last_rank_shown_is_the_place_in_the_list(seed: int) -> None:
    table = toy(seed)
    listed = run(table, CONFIG).listed()
    for row, query_id in enumerate(table.queries["query_id"]):
        evidence = explain(table, CONFIG, query_id)
        last = evidence.filter(evidence["step"] == len(CONFIG.stages) - 1).drop_nulls("rank")
        shown = [table.memory_id(row, int(c)) for c in listed[row] if c >= 0]
        assert last.sort("rank")["memory_id"].to_list() == shown


def test_an_unknown_query_is_named_with_the_nearest() -> None:
    with pytest.raises(ParameterError, match="query_id 'q9' is unknown; nearest: 'q"):
        explain(toy(1), CONFIG, "q9")


def test_a_config_with_other_arms_is_refused() -> None:
    from dataclasses import replace

    from recalltune.candidates.table import Stamp

    table = replace(toy(1), stamp=Stamp("ffffffff", "d", "e"))
    with pytest.raises(ContractError, match="made with ffffffff"):
        run(table, CONFIG)
