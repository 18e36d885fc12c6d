"""RecallNest's gate, fusion, rerank, versions and interference: values worked by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from recalltune.errors import ParameterError
from recalltune.pipeline.address import addresses
from recalltune.pipeline.config import RankingConfig, preset
from recalltune.pipeline.explain import explain, replay_evidence
from recalltune.pipeline.run import run, with_profile
from recalltune.pipeline.stage import State
from recalltune.pipeline.stages import (
    AnchorBoost,
    BestVersion,
    EmotionDecay,
    ExactTokens,
    Interference,
    LightRerank,
    RecallNestFusion,
    RecencyBoost,
    RerankPool,
    SkipTrivial,
    TierDecay,
    ViewBlend,
)
from recalltune.production.golden.one_query import applied, one_query

LONG, SHORT = "tune decay params right now", "tune decay params now"


def score(stage: Any, row: dict[str, Any], before: float = 0.8, text: str | None = None) -> float:
    stage = stage.with_(name="stage")
    return float(applied([stage], one_query([row], text=text), [before])[-1].score[0, 0])


def shown(state: State) -> list[int]:
    return [int(column) for column in state.listed()[0] if column >= 0]


# --- gate ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "answered"),
    [
        ("hi", False),
        ("Good morning!", False),
        ("/compact", False),
        ("git status of the north station", False),
        ("thank you!", False),
        ("👍🎉", False),
        ("继续", False),
        # 14 and 15 characters of several words; one word; a question.
        ("restart policy", False),
        ("restarts policy", True),
        ("cobbler", True),
        ("any policy?", True),
        # 3 and 4 characters; with Chinese characters 1 and 2.
        ("abc", False),
        ("abcd", True),
        ("库", False),
        ("老贝", True),
        # Asking for memory is never trivial.
        ("hi, remember?", True),
        ("之前", True),
        (None, True),
    ],
)
def test_a_trivial_query_is_answered_with_nothing(text: str | None, answered: bool) -> None:
    stage = preset("recallnest").stages[0]
    assert isinstance(stage, SkipTrivial)
    state = applied([stage], one_query([{}, {}], text=text), [0.9, 0.8])[-1]
    assert state.alive.tolist() == [[answered, answered]]


def test_a_gate_may_stand_before_the_fusion_and_nothing_else_may() -> None:
    config = preset("textbook")
    gated = config.with_(stages=({"kind": "skip_trivial"}, *config.stages))
    assert [stage.kind for stage in gated.stages[:2]] == ["skip_trivial", "rrf"]
    with pytest.raises(ParameterError, match=r"must start with a fusion \(rrf, weighted, recalln"):
        config.with_(stages=({"kind": "active"}, *config.stages))
    with pytest.raises(ParameterError, match="must start with a fusion"):
        config.with_(stages=({"kind": "skip_trivial"},))


def test_a_gated_query_stays_empty_though_minima_give_back_what_they_took() -> None:
    table = one_query([{"dense_score": 1.0, "dense_rank": 1.0}], text="hi", vectors=[[1, 0]])
    assert shown(run(table, preset("recallnest"))) == []


def exact(text: str, **fields: Any) -> list[int]:
    """Four rows: the list holds 0 and 1; the lexical arm ranked 3, 1, 2 in that order."""
    ranks = [None, 2.0, 3.0, 1.0]
    table = one_query([{"lexical_rank": rank, "lexical_score": 1.0} for rank in ranks], text=text)
    state = State(score=np.array([[0.9, 0.8, 0.1, 0.2]]), alive=np.array([[1, 1, 0, 0]]) > 0)
    return shown(ExactTokens(name="exact", **fields).apply(state, table))


def test_keyword_matches_the_list_does_not_hold_come_first_for_an_exact_name() -> None:
    assert exact("fix retriever.ts") == [3, 2, 0, 1]
    assert exact("fix retriever.ts", rows=1) == [3, 0, 1]
    assert exact("fix the retriever") == [0, 1]
    # Five characters are enough, four are not; three rows at most.
    assert (exact("a_bcd"), exact("a_bc"), ExactTokens().rows) == ([3, 2, 0, 1], [0, 1], 3)


def test_an_exact_name_brings_nothing_where_nothing_is_left_or_no_lexical_arm_is_on() -> None:
    stage = ExactTokens(name="exact")
    table = one_query([{"lexical_rank": 1.0, "lexical_score": 9.0}], text="fix retriever.ts")
    gone = State(score=np.zeros((1, 1)), alive=np.zeros((1, 1), dtype=bool))
    assert shown(stage.apply(gone, table)) == []
    dense = one_query([{"dense_rank": 1.0}, {}], text="fix retriever.ts")
    state = State(score=np.array([[0.9, 0.0]]), alive=np.array([[True, False]]))
    assert shown(stage.apply(state, dense)) == [0]


# --- fusion and rerank --------------------------------------------------------------------------


def arms(cosine: float | None, raw: float | None) -> dict[str, float | None]:
    return {
        "dense_score": cosine,
        "dense_rank": None if cosine is None else 1.0,
        "lexical_score": raw,
        "lexical_rank": None if raw is None else 1.0,
    }


def test_both_arms_are_calibrated_and_their_mean_gets_five_percent() -> None:
    # cosine 0.5 -> 1/(2 - 0.5) = 2/3; raw 0 -> 1/2; (0.7 * 2/3 + 0.3 * 1/2) * 1.05
    expected = (0.7 * 2 / 3 + 0.3 * 0.5) * 1.05
    assert score(RecallNestFusion(), arms(0.5, 0.0), text=LONG) == pytest.approx(expected)
    # Short: (0.49 * 2/3 + 0.45 * 1/2) / 0.94 * 1.05
    short = (0.49 * 2 / 3 + 0.45 * 0.5) / 0.94 * 1.05
    assert score(RecallNestFusion(), arms(0.5, 0.0), text=SHORT) == pytest.approx(short)


def test_one_arm_alone_keeps_its_score_and_a_short_query_lifts_keywords() -> None:
    fusion = RecallNestFusion()
    assert score(fusion, arms(0.5, None), text=LONG) == pytest.approx(2 / 3)
    assert score(fusion, arms(None, 0.0), text=LONG) == pytest.approx(0.5)
    assert score(fusion, arms(None, 0.0), text=SHORT) == pytest.approx(0.575)


def test_a_row_only_another_arm_found_is_dropped_and_an_arm_that_is_off_is_absent() -> None:
    table = one_query([arms(0.5, None), arms(None, None)], text=LONG)
    state = applied([RecallNestFusion(name="f")], table, [0.0, 0.0])[-1]
    assert state.alive.tolist() == [[True, False]]
    dense = one_query([{"dense_score": 0.5, "dense_rank": 1.0}], text=LONG)
    assert applied([RecallNestFusion(name="f")], dense, [0.0])[-1].score[0, 0] == 1 / 1.5


def test_two_weights_of_zero_are_refused() -> None:
    with pytest.raises(ValueError, match="must not both be 0"):
        RecallNestFusion(dense_weight=0.0, lexical_weight=0.0)
    with pytest.raises(ValueError, match="nor for short queries"):
        RecallNestFusion(dense_weight=0.0, short_lexical_cap=0.0)


def test_only_the_best_rows_are_reranked_and_go_on() -> None:
    scores = [1.0 - number / 100 for number in range(21)]
    table = one_query([{}] * 21)
    state = applied([preset("recallnest-hybrid").stage("rerank_pool")], table, scores)[-1]
    assert state.alive[0].tolist() == [True] * 20 + [False]
    reverse = applied([RerankPool(name="pool", rows=1)], one_query([{}] * 2), [0.1, 0.2])[-1]
    assert shown(reverse) == [1]


def test_a_third_of_the_cosine_goes_in_and_a_row_without_one_stays() -> None:
    # 0.7 * 0.8 + 0.3 * 0.5
    assert score(LightRerank(), {"dense_score": 0.5}) == pytest.approx(0.71, rel=1e-12)
    assert score(LightRerank(), {}) == 0.8
    assert score(LightRerank(), {"dense_score": -1.0}, before=0.1) == 0.0


# --- anchors and views --------------------------------------------------------------------------


def test_the_same_words_as_the_anchor_lift_a_score_by_a_quarter() -> None:
    boost = preset("recallnest").stage("anchor_boost")
    row = {"anchor": "docker restart policy"}
    assert score(boost, row, text="docker restart policy") == pytest.approx(0.8 * 1.25)
    # hits 2 of 3 asked and of 3 told: 0.7 * 2/3 + 0.3 * 2/3
    assert score(boost, row, text="docker restart now") == pytest.approx(0.8 * (1 + 0.25 * 2 / 3))
    assert score(boost, row, text="tea") == 0.8
    assert score(boost, {"anchor": ""}, text="docker") == 0.8


def test_without_the_features_anchors_and_views_change_nothing() -> None:
    for stage in (AnchorBoost(), ViewBlend()):
        assert score(stage, {}, text="docker restart policy") == 0.8
    assert score(AnchorBoost(), {"anchor": "docker"}, text=None) == 0.8


def test_views_share_a_score_by_the_length_of_the_query() -> None:
    row = {"abstract_score": 0.4, "overview_score": 0.2}
    # Three words: 0.5 * 0.8 + 0.25 * 0.4 + 0.25 * 0.2; four: .65, .20, .15; eleven: .8, .1, .1
    words = " ".join(f"word{n}" for n in range(11)).split()
    for count, expected in ((3, 0.55), (4, 0.63), (10, 0.63), (11, 0.7)):
        assert score(ViewBlend(), row, text=" ".join(words[:count])) == pytest.approx(expected)
    # One view missing: (0.5 * 0.8 + 0.25 * 0.4) / 0.75
    alone = {**row, "overview_score": None}
    assert score(ViewBlend(), alone, text="two words") == pytest.approx(0.5 / 0.75)


# --- versions and interference ------------------------------------------------------------------


def test_of_a_group_of_versions_the_worthiest_stays_and_of_equals_the_first_listed() -> None:
    rows = [
        {"version_group": "g", "salience": 0.5, "confidence": 0.7},
        {"version_group": "g", "salience": 0.9, "confidence": 0.9},
        {"version_group": "g", "salience": 0.9, "confidence": 0.9},
        {"version_group": "", "salience": 0.1},
        {"version_group": "h", "salience": 0.1},
    ]
    table = one_query(rows)
    stage = BestVersion(name="versions")
    # 1 and 2 tie at 0.9; 2 has the higher score, so it stands first.
    state = applied([stage], table, [0.9, 0.5, 0.6, 0.4, 0.3])[-1]
    assert shown(state) == [2, 3, 4]
    assert applied([stage], one_query([{}, {}]), [0.9, 0.8])[-1].alive.all()


def test_a_missing_importance_or_confidence_is_filled_as_published() -> None:
    table = one_query([{"confidence": 0.9}, {"salience": 0.9}])
    stage = preset("recallnest").stage("best_version")
    # 0.5 * 0.5 + 0.5 * 0.9 and 0.5 * 0.9 + 0.5 * 0.7
    np.testing.assert_allclose(stage.rank(table)[0], [0.7, 0.8], rtol=1e-12)


def test_versions_can_be_told_by_another_feature_and_an_unknown_one_is_refused() -> None:
    table = one_query([{"scope": "a"}, {"scope": "a"}, {"scope": ""}])
    state = applied([BestVersion(name="v", by="scope")], table, [0.5, 0.9, 0.1])[-1]
    assert shown(state) == [1, 2]
    with pytest.raises(ParameterError, match=r"'scopes'; nearest: 'scope'"):
        applied([BestVersion(name="v", by="scopes")], table, [0.5, 0.9, 0.1])


TWINS = [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]


def test_a_weak_twin_goes_to_the_tail_unless_it_is_to_be_dropped() -> None:
    table = one_query([{}] * 3, vectors=TWINS)

    def after(scores: list[float], **fields: Any) -> State:
        return applied([Interference(name="i", **fields)], table, scores)[-1]

    # Below 0.8 of 0.9 = 0.72 it is weak.
    assert shown(after([0.9, 0.71, 0.5])) == [0, 2, 1]
    assert shown(after([0.9, 0.73, 0.5])) == [0, 1, 2]
    dropped = after([0.9, 0.71, 0.5], drop_weaker=True)
    assert (shown(dropped), dropped.alive.tolist()) == ([0, 2], [[True, False, True]])
    assert after([0.9, 0.71, 0.5]).score.tolist() == [[0.9, 0.71, 0.5]]
    # Alike is strictly above 0.85, and lists of two are left alone.
    assert shown(after([0.9, 0.71, 0.5], threshold=1.0)) == [0, 1, 2]
    two = one_query([{}] * 2, vectors=TWINS[:2])
    assert shown(applied([Interference(name="i")], two, [0.9, 0.1])[-1]) == [0, 1]
    near = [[1.0, 0.0], [0.86, np.sqrt(1 - 0.86**2)], [0.0, 1.0]]
    far = [[1.0, 0.0], [0.84, np.sqrt(1 - 0.84**2)], [0.0, 1.0]]
    for vectors, order in ((near, [0, 2, 1]), (far, [0, 1, 2])):
        table = one_query([{}] * 3, vectors=vectors)
        assert shown(after([0.9, 0.5, 0.4])) == order


def test_a_row_beyond_a_full_cluster_is_halved_and_the_evidence_says_so() -> None:
    rows = [{"dense_score": 1.0 - n / 100, "dense_rank": n + 1.0} for n in range(5)]
    table = one_query(rows, text=LONG, vectors=[[1, 0]] * 5)
    config = RankingConfig.model_validate(
        {
            "arms": {"dense": {}},
            "stages": [{"kind": "weighted"}, {"kind": "interference"}],
        }
    )
    state = run(table, config)
    assert shown(state) == [0, 1, 2, 3, 4]
    np.testing.assert_allclose(state.score[0], [1.0, 0.99, 0.98, 0.97 / 2, 0.96 / 2])
    evidence = explain(table, config, "query")
    assert evidence.filter(stage="interference")["scale"].to_list() == [1, 1, 1, 0.5, 0.5]
    replayed = replay_evidence(evidence)["score"].to_list()
    np.testing.assert_allclose(replayed, state.score[0], rtol=1e-12)


# --- feeling and the future ---------------------------------------------------------------------


def test_feeling_slows_the_decay_and_arousal_lifts_what_fades() -> None:
    row = {"age_days": 60.0, "tier": "working", "salience": 0.1}
    plain = score(TierDecay(), row)
    assert score(EmotionDecay(), row) == plain
    # h = 60 * 1.3 = 78: 0.65 + 0.35 * 2^-(60/78), times 1.1
    moved = (0.65 + 0.35 * 2 ** -(60 / 78)) * 1.1
    assert score(EmotionDecay(), {**row, "valence": -1.0, "arousal": 1.0}) == pytest.approx(
        0.8 * moved
    )
    exempt = {**row, "category": "patterns", "valence": 1.0, "arousal": 1.0}
    assert score(EmotionDecay(), exempt) == 0.8


def test_a_memory_from_the_future_counts_as_new_unless_it_is_to_be_boosted() -> None:
    row = {"age_days": 0.0, "days_ahead": 7.0}
    assert score(RecencyBoost(), row, 0.5) == pytest.approx(0.6)
    # 0.5 + 0.1 * e^(7/14)
    boosted = RecencyBoost(boost_future=True)
    assert score(boosted, row, 0.5) == pytest.approx(0.5 + 0.1 * np.exp(0.5))
    assert score(boosted, {"age_days": 14.0, "days_ahead": 0.0}, 0.5) == score(
        RecencyBoost(), {"age_days": 14.0}, 0.5
    )
    # However far ahead: a number, clipped like any other.
    assert score(boosted, {"age_days": 0.0, "days_ahead": 1e9}, 0.5) == 1.0


# --- the hybrid preset --------------------------------------------------------------------------


def test_the_hybrid_preset_has_the_published_arms_and_the_vector_preset_s_chain() -> None:
    hybrid, vector = addresses(preset("recallnest-hybrid")), addresses(preset("recallnest"))
    assert {a: hybrid[a] for a in hybrid if a.startswith(("arms.dense.w", "arms.lex"))} == {
        "arms.dense.width": 20,
        "arms.lexical.width": 20,
        "arms.lexical.k1": 1.2,
        "arms.lexical.b": 0.75,
        "arms.lexical.tokeniser": "words_cjk_bigrams",
    } | {a: hybrid[a] for a in ("arms.lexical.match",) if a in hybrid}
    own = ("recallnest_fusion.graph", "admit.", "arms.")
    shared = {a for a in vector if not a.startswith(own)}
    assert {a: hybrid[a] for a in shared} == {a: vector[a] for a in shared}


def test_the_hybrid_profiles_add_their_weights_to_the_vector_ones() -> None:
    hybrid, vector = preset("recallnest-hybrid"), preset("recallnest")
    weights = {"writing": (0.8, 0.2), "debug": (0.55, 0.45), "fact-check": (0.5, 0.5)}
    for name, (dense, lexical) in weights.items():
        assert hybrid.profiles[name] == vector.profiles[name] | {
            "recallnest_fusion.dense_weight": dense,
            "recallnest_fusion.lexical_weight": lexical,
        }
    assert with_profile(hybrid, "debug").stage("recallnest_fusion").dense_weight == 0.55


def test_a_hybrid_run_is_the_fusion_the_rerank_and_the_chain() -> None:
    row = arms(1.0, 0.0) | {"age_days": 0.0, "salience": 1.0, "confidence": 1.0}
    table = one_query([row], text=LONG, vectors=[[1, 0]])
    # fused (0.7 * 1 + 0.3 * 0.5) * 1.05 = 0.8925; 0.7 of it + 0.3 * 1; + 0.1 clips to 1; importance
    # and confidence keep it; core memories never fade, so the blend adds its whole tenth of 1.
    state = run(table, preset("recallnest-hybrid"))
    assert state.score[0, 0] == pytest.approx(0.9 * 1.0 + 0.1, rel=1e-12)
    before = applied(preset("recallnest-hybrid").stages[1:6], table, [0.0])
    np.testing.assert_allclose(
        [s.score[0, 0] for s in before[1:]], [0.8925, 0.8925, 0.8925, 0.8925, 0.92475], rtol=1e-12
    )
