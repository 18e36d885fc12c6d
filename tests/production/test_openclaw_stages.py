"""OpenClaw's stages by hand: its own test cases, its issues, and what no golden group pins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recalltune.candidates.source_path import source_path
from recalltune.candidates.world import DAY_US
from recalltune.errors import ContractError, ParameterError
from recalltune.pipeline.address import addresses, set_many
from recalltune.pipeline.config import RankingConfig, preset
from recalltune.pipeline.run import run, start
from recalltune.pipeline.stage import ScoreStage, State
from recalltune.pipeline.stages import (
    OpenClawDecay,
    OpenClawFuse,
    OpenClawImportance,
    OpenClawLegacyFuse,
    OpenClawMinimum,
    OpenClawRank,
    openclaw_rank,
)
from recalltune.pipeline.stages.openclaw import UNSURE, text_score
from recalltune.production.golden.one_query import applied, one_query
from toy_candidates import filed, toy

Row = dict[str, Any]

FUSE, DECAY = OpenClawFuse(name="fuse"), OpenClawDecay(name="decay")
IMPORTANCE, RANK = OpenClawImportance(name="importance"), OpenClawRank(name="rank")
MINIMUM = OpenClawMinimum(name="minimum")
ABSENT = dict.fromkeys(("dense_score", "dense_rank", "lexical_score", "lexical_rank"))


def micros(year: int, month: int, day: int) -> int:
    return int(datetime(year, month, day, tzinfo=UTC).timestamp()) * 1_000_000


def row(name: str, vector: float | None = None, words: float | None = None, **more: Any) -> Row:
    """One candidate; a text score of t is a BM25 of t / (1 - t), told to be the ranking score."""
    found = {"memory_id": name, "text": name, "path": f"memory/{name}.md", **ABSENT}
    found |= {"ranking_score": None, "exact_tier": 0, "like_score": None, "path_score": None}
    found |= {"project": None, "importance": None, "age_days": None}
    if vector is not None:
        found |= {"dense_score": vector, "dense_rank": 1.0}
    if words is not None:
        bm25 = words / (1.0 - words) if words < 1.0 else 1e17
        found |= {"lexical_score": bm25, "lexical_rank": 1.0, "ranking_score": words}
    return found | more


def ranked(
    rows: Sequence[Row], *stages: Any, scores: Sequence[float] | None = None, **query: Any
) -> list[tuple[str, float]]:
    """Names and scores of the list after the stages."""
    table = one_query(rows, **query)
    state = applied(stages, table, [0.0] * len(rows) if scores is None else scores)[-1]
    shown = [int(column) for column in state.listed()[0] if column >= 0]
    return [(table.memory_id(0, column), float(state.score[0, column])) for column in shown]


def names(shown: Sequence[tuple[str, float]]) -> list[str]:
    return [name for name, _ in shown]


# --- the published constants --------------------------------------------------------------------

PUBLISHED: Mapping[str, Mapping[str, Any]] = {
    "openclaw": {
        "admit.statistics": "store",
        "arms.dense.width": 200,
        "arms.dense.min_cosine": -1.0,
        "arms.dense.store_limit": None,
        "arms.lexical.width": 200,
        "arms.lexical.k1": 1.2,
        "arms.lexical.b": 0.75,
        "arms.lexical.match": "all_then_any",
        "openclaw_fuse.vector_weight": 0.7,
        "openclaw_fuse.text_weight": 0.3,
        "openclaw_fuse.exact_tie": "halved",
        "openclaw_decay.enabled": True,
        "openclaw_decay.half_life_days": 30.0,
        "openclaw_decay.paths": "release",
        "openclaw_importance.base": 0.75,
        "openclaw_importance.step": 0.05,
        "openclaw_rank.same_project": 1.15,
        "openclaw_rank.other_project": 0.9,
        "openclaw_rank.active_projects": (),
        "openclaw_rank.diversify": True,
        "openclaw_rank.lambda_": 0.7,
        "openclaw_rank.tokeniser": "openclaw_release",
        "openclaw_rank.snippet_chars": 700,
        "openclaw_minimum.min_score": 0.35,
        "openclaw_minimum.fill_up": True,
        "openclaw_minimum.relaxed": True,
        "openclaw_minimum.relaxed_score": 0.0,
        "select.top_k": 6,
        "select.budget_tokens": None,
    },
    "openclaw-legacy": {
        "admit.statistics": "store",
        "arms.dense.width": 24,
        "arms.dense.min_cosine": -1.0,
        "arms.dense.store_limit": None,
        "arms.lexical.width": 24,
        "arms.lexical.k1": 1.2,
        "arms.lexical.b": 0.75,
        "arms.lexical.match": "all",
        "arms.lexical.tokeniser": "openclaw_release",
        "openclaw_legacy_fuse.vector_weight": 0.7,
        "openclaw_legacy_fuse.text_weight": 0.3,
        "openclaw_decay.enabled": False,
        "openclaw_decay.half_life_days": 30.0,
        "openclaw_decay.paths": "legacy",
        "mmr.lambda_": 1.0,
        "mmr.pool": 200,
        "mmr.similarity": "jaccard",
        "openclaw_minimum.min_score": 0.35,
        "openclaw_minimum.fill_up": False,
        "openclaw_minimum.relaxed": True,
        "openclaw_minimum.relaxed_score": 0.3,
        "select.top_k": 6,
        "select.budget_tokens": None,
    },
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_every_constant_of_a_preset_has_the_published_value(name: str) -> None:
    found = addresses(preset(name))
    published = PUBLISHED[name]
    assert {address: found[address] for address in published} == published
    # What is not published here are ours: admission of rows, places per layer, our own tokeniser.
    ours = ("admit.", "select.", "arms.lexical.tokeniser")
    assert [a for a in found if a not in published and not a.startswith(ours)] == []


def stage_of(name: str, kind: str) -> Any:
    return preset(name).stage(kind)


def test_the_preset_weighs_the_vector_seven_and_the_text_three_tenths() -> None:
    shown = ranked([row("v", 0.9), row("t", None, 1.0), row("b", 0.6, 0.5)],
                   stage_of("openclaw", "openclaw_fuse"))  # fmt: skip
    assert dict(shown) == pytest.approx({"v": 0.63, "t": 0.3, "b": 0.42 + 0.15}, rel=1e-12)


def test_the_preset_s_lambda_is_where_a_near_duplicate_and_a_weaker_stranger_meet() -> None:
    # Relevance 1, r, 0. After the first pick: duplicate 0.7 r - 0.3 * (2 / 4), stranger 0. They are
    # equal at r = 0.15 / 0.7 = 0.2142857; the likeness of "a b c" and "a b d" is 2 / 4.
    def second(worth: float, lambda_: float) -> str:
        texts = {"first": "a b c", "near": "a b d", "far": "x y z"}
        rows = [row(name, text=text) for name, text in texts.items()]
        stage = stage_of("openclaw", "openclaw_rank").with_(lambda_=lambda_)
        return names(ranked(rows, stage, scores=[1.0, worth, 0.0]))[1]

    published = stage_of("openclaw", "openclaw_rank").lambda_
    assert [second(0.2143, published), second(0.2142, published)] == ["near", "far"]
    assert second(0.2143, published * 0.99) == "far"
    assert second(0.2142, published * 1.01) == "near"


def test_the_preset_s_minimum_lets_just_what_reaches_it_pass() -> None:
    stage = stage_of("openclaw", "openclaw_minimum")
    rows = [row("at", 0.5), row("below", 0.5)]
    assert names(ranked(rows, stage, scores=[0.35, 0.3499])) == ["at"]


def test_the_preset_compares_the_first_700_utf16_units_of_a_text() -> None:
    # An emoji is two units. What differs lies behind the 700th: texts that look the same.
    stage = stage_of("openclaw", "openclaw_rank")
    opening = "🎉" * 346 + " same "
    assert len(opening.encode("utf-16-le")) // 2 == 698
    for inside, expected in (("", ["a", "c", "b"]), ("zz ", ["a", "b", "c"])):
        rows = [
            row("a", text=opening + inside + " tail one"),
            row("b", text=opening + inside.replace("z", "y") + " tail two"),
            row("c", text="other words"),
        ]
        assert names(ranked(rows, stage, scores=[1.0, 0.3, 0.0]))[:2] == expected[:2]


def test_the_release_keeps_the_latin_half_of_a_mixed_run_and_its_successor_loses_it() -> None:
    rows = [row("a", text="GitHub备份"), row("b", text="github"), row("c", text="tea")]
    for tokeniser, second in (("openclaw_release", "c"), ("openclaw_main", "b")):
        # Likeness of a and b: 1 of 4 tokens, or none; b is worth 0.02 of the way from c to a.
        stage = RANK.with_(tokeniser=tokeniser)
        assert names(ranked(rows, stage, scores=[1.0, 0.02, 0.0]))[1] == second


# --- its own test cases -------------------------------------------------------------------------


def test_importance_none_ten_and_one_multiply_by_1_and_5_and_4_fifths() -> None:
    rows = [row("none"), row("ten", importance=10), row("one", importance=1)]
    shown = dict(ranked(rows, IMPORTANCE, scores=[0.8] * 3))
    assert shown == pytest.approx({"none": 0.8, "ten": 1.0, "one": 0.64}, rel=1e-12)


def test_salience_counts_as_importance_in_ten_points_where_none_is_told() -> None:
    # floor(1 + 9 * salience): 0.5 -> 5, 0.7 -> 7, 0 -> 1, 1 -> 10.
    rows = [{"salience": value} for value in (0.5, 0.7, 0.0, 1.0, None)]
    scale = np.asarray(IMPORTANCE.affine(one_query(rows)).scale)[0]
    np.testing.assert_allclose(scale, [1.0, 1.1, 0.8, 1.25, 1.0], rtol=1e-12)


def test_a_project_that_is_active_lifts_and_a_foreign_one_lowers() -> None:
    rows = [row("same", project="a"), row("global"), row("foreign", project="z")]
    shown = ranked(rows, RANK.with_(diversify=False), scores=[0.8] * 3, scope="project:a")
    assert dict(shown) == pytest.approx({"same": 0.92, "global": 0.8, "foreign": 0.72}, rel=1e-12)
    for scope in (None, "team"):
        assert set(dict(ranked(rows, RANK, scores=[0.8] * 3, scope=scope)).values()) == {0.8}


@pytest.mark.parametrize(
    ("scope", "first_two"),
    [(None, ["primary", "diverse"]), ("project:act", ["duplicate", "diverse"])],
)
def test_a_diverse_hit_stays_in_the_first_two_whatever_the_project(
    scope: str | None, first_two: list[str]
) -> None:
    """Issue PR 121608: a project factor after variety would undo it."""
    rows = [
        row("primary", text="alpha beta gamma"),
        row("duplicate", text="alpha beta gamma delta", project="act"),
        row("diverse", text="whiskey tango"),
        row("floor", text="alpha"),
    ]
    shown = ranked(rows, RANK, scores=[0.9, 0.8, 0.75, 0.2], scope=scope)
    assert names(shown)[:2] == first_two


def test_a_row_found_by_a_part_of_its_path_scores_by_the_text_weight() -> None:
    shown = ranked([row("a", None, 0.0, path_score=0.8)], FUSE)
    assert dict(shown) == pytest.approx({"a": 0.24}, rel=1e-12)


def test_a_fresh_named_path_beats_a_stale_one_with_content_and_both_show_1() -> None:
    rows = [
        row("stale", 1.0, 0.0, path="memory/2020-01-01.md", exact_tier=1),
        row("fresh", None, 0.0, path="memory/2026-07-10.md", exact_tier=1),
    ]
    shown = ranked(rows, FUSE, DECAY, IMPORTANCE, RANK, asked_at=micros(2026, 7, 11))
    assert shown == [("fresh", 1.0), ("stale", 1.0)]


WITHOUT_DECAY = (
    FUSE.with_(vector_weight=1.0, text_weight=0.0, exact_tie="content"),
    RANK.with_(diversify=False),
)


def test_zero_weight_and_negative_content_order_nothing_inside_a_tier() -> None:
    rows = [
        row("a", None, 0.0, exact_tier=2),
        row("y", None, 1.0, exact_tier=2),
        row("z", -1.0, exact_tier=2),
    ]
    assert names(ranked(rows, *WITHOUT_DECAY)) == ["a", "y", "z"]


def test_a_vector_that_cancels_the_text_leaves_the_name_alone() -> None:
    rows = [row("path", None, 0.0, exact_tier=2), row("cancelled", -1.0, 0.5, exact_tier=2)]
    both = (FUSE.with_(vector_weight=1.0, text_weight=1.0, exact_tie="content"), WITHOUT_DECAY[1])
    assert names(ranked(rows, *both)) == ["path", "cancelled"]


def test_rows_with_content_stay_ahead_of_a_bare_name_through_variety() -> None:
    rows = [
        row("body", None, 0.1, exact_tier=2, text="body-backed result"),
        row("second", None, 0.05, exact_tier=2, text="body-backed result"),
        row("path", None, 0.0, exact_tier=2, text="path-only result"),
    ]
    fuse = FUSE.with_(vector_weight=0.0, text_weight=1.0, exact_tie="content")
    assert names(ranked(rows, fuse, RANK.with_(lambda_=0.5))) == ["body", "second", "path"]


def test_a_named_path_the_vector_arm_alone_found_is_ahead_of_a_stronger_stranger() -> None:
    rows = [row("semantic", 0.99), row("named", 0.2, exact_tier=2)]
    shown = ranked(rows, FUSE.with_(vector_weight=1.0, text_weight=1.0), RANK)
    assert names(shown) == ["named", "semantic"]
    assert dict(shown)["named"] == 1.0


@pytest.mark.parametrize("vector", [None, 0.5, -0.5])
def test_a_hit_without_a_score_orders_equals_and_is_no_confidence(vector: float | None) -> None:
    """Issue 115001: a match by LIKE has no confidence."""
    rows = [
        row("aaa", vector, 0.0, like_score=0.2),
        row("zzz", vector, 0.0, like_score=0.8),
    ]
    shown = ranked(rows, FUSE, RANK.with_(diversify=False))
    expected = 0.7 * (vector or 0.0)
    assert all(score == pytest.approx(expected, abs=1e-100) for _, score in shown)
    assert names(shown) == ["zzz", "aaa"]
    kept = ranked(rows, FUSE, RANK, MINIMUM.with_(min_score=0.0))
    assert len(kept) == (0 if vector == -0.5 else 2)


def test_among_hits_without_a_score_the_fresher_is_first() -> None:
    rows = [row("old", None, 0.0, like_score=0.5), row("new", None, 0.0, like_score=0.5)]
    rows[0] |= {"path": "notes/old.txt", "age_days": 15.0}
    rows[1] |= {"path": "notes/new.txt", "age_days": 0.0}
    shown = ranked(rows, FUSE, DECAY, RANK)
    assert names(shown) == ["new", "old"]
    assert dict(shown)["old"] == pytest.approx(0.5 * UNSURE * 2**-0.5)


def test_texts_of_two_arms_are_summed_and_not_divided() -> None:
    both = FUSE.with_(vector_weight=1.0, text_weight=1.0)
    rows = [row("both", 0.6, 0.5), row("vector", 0.6)]
    assert dict(ranked(rows, both)) == pytest.approx({"both": 1.1, "vector": 0.6}, rel=1e-12)
    legacy = OpenClawLegacyFuse(name="legacy", vector_weight=1.0, text_weight=1.0)
    assert dict(ranked(rows, legacy)) == pytest.approx({"both": 0.55, "vector": 0.3}, rel=1e-12)


def test_legacy_weights_of_0_are_refused() -> None:
    with pytest.raises(ValueError, match="must not both be 0"):
        OpenClawLegacyFuse(name="legacy", vector_weight=0.0, text_weight=0.0)


@pytest.mark.parametrize("arms", [("vector",), ("text",), ("vector", "text")])
def test_fifteen_days_cost_the_square_root_of_one_half_in_every_mode(arms: Sequence[str]) -> None:
    rows = [{"memory_id": name, "path": f"sessions/{name}.jsonl"} for name in ("old", "new")]
    for one, age in zip(rows, (15.0, 0.0), strict=True):
        one["age_days"] = age
        if "vector" in arms:
            one |= {"dense_score": 0.6, "dense_rank": 1.0}
        if "text" in arms:
            one |= {"lexical_score": 1.0, "lexical_rank": 1.0}
    score = dict(ranked(rows, FUSE, DECAY, RANK.with_(diversify=False)))
    assert score["old"] / score["new"] == pytest.approx(0.5**0.5, abs=1e-5)


def test_one_arm_alone_is_not_weighed() -> None:
    vector = {"memory_id": "v", "dense_score": 0.6, "dense_rank": 1.0}
    assert ranked([vector], FUSE) == [("v", 0.6)]
    text = one_query([row("t", None, 0.5)])
    text.features.pop("dense_rank")
    assert FUSE.affine(text).shift[0, 0] == pytest.approx(0.5)


def test_without_a_keyword_arm_no_path_is_named() -> None:
    rows = [{"path": "memory/tea.md", "dense_score": 0.2, "dense_rank": 1.0}]
    table = one_query(rows, text="tea")
    assert float(FUSE.affine(table).shift[0, 0]) == 0.2


# --- issues -------------------------------------------------------------------------------------


@pytest.mark.parametrize("raw", [(-6.0, -3.0, -1.0), (-4.2, -2.1, -0.5)])
def test_stronger_matches_score_higher(raw: Sequence[float]) -> None:
    """Bug bank A13, issue 5767: all negative ranks once gave 1."""
    rows = [{"lexical_score": -value, "lexical_rank": 1.0} for value in raw]
    found = text_score(one_query(rows))[0]
    np.testing.assert_allclose(found, [-r / (1 - r) for r in raw], rtol=1e-12)
    assert (np.diff(found) < 0).all()


def test_a_perfect_keyword_hit_below_the_minimum_is_shown_when_nothing_else_is() -> None:
    """Issue 25183: 0.3 * 1 < 0.35."""
    assert ranked([row("ticket", None, 1.0)], FUSE, RANK, MINIMUM) == [("ticket", 0.3)]


def test_one_strict_vector_hit_does_not_silence_keyword_hits_nor_is_displaced() -> None:
    """Issue 92337."""
    rows = [row("strict", 1.0), row("word", None, 0.99), row("later", 0.6), row("weak", 0.2, 0.1)]
    order = [0, 1, 2, 3]
    table = one_query(rows)
    state = State(
        score=np.array([[0.7, 0.297, 0.42, 0.17]]), alive=table.valid, order=np.array([order])
    )
    kept = MINIMUM.apply(state, table)
    shown = [table.memory_id(0, int(column)) for column in kept.listed()[0] if column >= 0]
    assert shown == ["strict", "later", "word"]


@settings(max_examples=10)
@given(st.integers(0, 10_000))
def test_a_longer_list_begins_with_the_shorter_one(seed: int) -> None:
    """Issues 134604, 133253: the first place once changed with the length of the list."""
    table = filed(toy(seed), seed)
    stages = tuple(stage for stage in preset("openclaw").stages if stage.kind != "select")
    whole = start(table)
    for stage in stages:
        whole = stage.apply(whole, table)
    for length in (1, 2, 6, 12):
        config = set_many(preset("openclaw"), {"select.top_k": length})
        shown = run(table, config).listed()
        np.testing.assert_array_equal(shown, whole.listed()[:, :length])


@pytest.mark.parametrize(
    "texts",
    [
        ("用户又买栗子", "用户又买栗子", "旧书店的封面"),
        ("Привет", "Привет ", "Пока"),
        ("مرحبا", "مرحبا", "وداعا"),
        ("기억해요", "기억해요", "잊어요"),
    ],
)
def test_a_text_of_any_script_is_like_its_double_and_not_like_another(
    texts: Sequence[str],
) -> None:
    """Issue 28000, PR 121224: texts without tokens all looked the same."""
    rows = [row(n, text=t) for n, t in zip(("first", "double", "other"), texts, strict=True)]
    shown = ranked(rows, RANK.with_(lambda_=0.5), scores=[1.0, 0.6, 0.5])
    assert names(shown) == ["first", "other", "double"]


def test_many_candidates_are_picked_as_the_plain_definition_picks_them() -> None:
    """Issue 113358: comparing every candidate with every pick took minutes."""
    rng = np.random.default_rng(5)
    scores = np.round(rng.random(60), 3)
    texts = [" ".join(rng.choice(list("abcdefgh"), 4)) for _ in scores]
    rows = [row(f"m{n:03d}", text=text) for n, text in enumerate(texts)]
    shown = names(ranked(rows, RANK, scores=scores.tolist()))
    assert shown == [f"m{n:03d}" for n in cubic(scores, [set(text.split()) for text in texts])]


def cubic(scores: np.ndarray, words: Sequence[set[str]], lambda_: float = 0.7) -> list[int]:
    """MMR as it is written down: at each step, each candidate against each pick."""
    part = (scores - scores.min()) / (scores.max() - scores.min())
    left, picked = sorted(range(len(scores)), key=lambda n: (-scores[n], n)), []
    while left:

        def worth(n: int) -> tuple[float, float]:
            like = [len(words[n] & words[p]) / len(words[n] | words[p]) for p in picked]
            return lambda_ * part[n] - (1 - lambda_) * max(like, default=0.0), scores[n]

        best = max(left, key=worth)
        left.remove(best)
        picked.append(best)
    return picked


def test_recorded_time_ages_sessions_and_no_time_ages_nothing() -> None:
    """PR 79852, PR 139112: a session file that is not on disk still has its recorded time."""
    rows = [
        row("session", path="sessions/main/a.jsonl", age_days=30.0),
        row("curated", path="MEMORY.md", age_days=3000.0),
        row("unknown", path="notes/x.txt"),
    ]
    shown = dict(ranked(rows, DECAY, scores=[1.0] * 3))
    assert shown == {"session": 0.5, "curated": 1.0, "unknown": 1.0}


def test_a_date_ahead_is_today() -> None:
    rows = [row("ahead", path="memory/2099-01-01.md"), row("ancient", path="memory/2000-01-01.md")]
    shown = dict(ranked(rows, DECAY, scores=[0.5, 1.0], asked_at=micros(2026, 2, 10)))
    assert shown["ahead"] == 0.5
    assert shown["ancient"] < 0.001


def test_a_project_does_not_change_what_is_eligible() -> None:
    """Issue 140103: an active project once dropped a keyword hit that is shown without one."""
    rows = [row("word", None, 0.9, project="other", age_days=10.0, path="notes/x.txt")]
    kept = [
        names(ranked(rows, FUSE, DECAY, IMPORTANCE, RANK, MINIMUM, scope=scope))
        for scope in (None, "project:mine")
    ]
    assert kept == [["word"], ["word"]]


def test_silence_is_an_option() -> None:
    """Issue 147349: noise clears the minimum where everything may be relaxed."""
    rows = [row("noise", None, 0.2)]
    assert names(ranked(rows, FUSE, RANK, MINIMUM)) == ["noise"]
    assert ranked(rows, FUSE, RANK, MINIMUM.with_(relaxed=False)) == []


@pytest.mark.parametrize("fill_up", [True, False])
@pytest.mark.parametrize("arms", ["vector", "text", "both"])
def test_the_minimum_holds_on_every_path(arms: str, fill_up: bool) -> None:
    """Bug bank O102."""
    rows: list[Row] = [{"memory_id": "strong"}, {"memory_id": "weak"}]
    for one in rows:
        if arms != "text":
            one |= {"dense_score": 0.1, "dense_rank": 1.0}
        if arms != "vector":
            one |= {"lexical_score": 1.0, "lexical_rank": 1.0}
    table = one_query(rows)
    if arms == "text":
        table.features.pop("dense_rank")
        table.features.pop("dense_score")
    state = State(score=np.array([[0.8, 0.2]]), alive=table.valid)
    kept = MINIMUM.with_(min_score=0.5, fill_up=fill_up).apply(state, table)
    assert kept.listed()[0].tolist() == [0, -1]


def test_only_what_the_keyword_arm_alone_found_fills_up_and_it_can_be_switched_off() -> None:
    rows = [row("strong", 0.9), row("word", None, 0.2)]
    for fill_up, expected in ((True, ["strong", "word"]), (False, ["strong"])):
        stage = MINIMUM.with_(min_score=0.5, fill_up=fill_up)
        assert names(ranked(rows, stage, scores=[0.8, 0.2])) == expected


# --- dated paths --------------------------------------------------------------------------------

DATED = (
    "memory/2026-05-14.md",
    "memory/a/b/2026-05-14.md",
    "memory/2026-05-14-notes.md",
    "memory/2026-05-14-1530.md",
)
UNDATED = ("MEMORY.md", "memory/topic.md")


@pytest.mark.parametrize("slash", ["/", "\\"])
def test_dated_notes_fade_at_any_depth_and_an_impossible_day_is_told(slash: str) -> None:
    """Bug bank F40; issues 121046, 67594, 32745."""
    paths = [path.replace("/", slash) for path in (*DATED, *UNDATED, "memory/2026-13-40.md")]
    table = one_query([{"path": path} for path in paths], asked_at=micros(2026, 8, 2))
    scale = np.asarray(DECAY.affine(table).scale)[0]
    # 80 days at a half-life of 30: 2^(-80/30) = 0.157490.
    np.testing.assert_allclose(scale, [2 ** (-80 / 30)] * 4 + [1.0] * 3, rtol=1e-12)
    assert scale[0] == pytest.approx(0.157490, abs=1e-6)
    assert dict(DECAY.noticed(table)) == {
        "impossible_path_dates": 1,
        "evergreen_memories": 2,
        "percent_of_memories_evergreen": 29,
    }
    legacy = np.asarray(DECAY.with_(paths="legacy").affine(table).scale)[0]
    assert (legacy < 1).tolist() == [True] + [False] * 6


def test_a_path_s_day_counts_from_midnight_utc_and_not_from_the_event() -> None:
    noon = micros(2026, 3, 31) + DAY_US // 2
    table = one_query([{"path": "memory/2026-03-01.md", "age_days": 0.0}], asked_at=noon)
    assert DECAY.ages(table)[0, 0] == 30.5


def test_decay_that_is_off_changes_nothing_and_reads_nothing() -> None:
    off = DECAY.with_(enabled=False)
    table = one_query([{"path": DATED[0]}], asked_at=micros(2026, 8, 2))
    assert off.apply(start(table), table).score.tolist() == [[0.0]]
    assert off.noticed(table) == {}
    assert not off.fades
    assert off.canonical() == off.with_(half_life_days=7.0, paths="legacy").canonical()


@pytest.mark.parametrize(
    ("memory_id", "source", "path"),
    [
        ("m", "memory/2026-03-04.md", "memory/2026-03-04.md"),
        ("m", "memory\\a.md", "memory\\a.md"),
        ("m", "MEMORY.md", "MEMORY.md"),
        ("m", "x/.env", "x/.env"),
        ("m", "claude_code", ""),
        ("m", "markdown_folder", ""),
        ("m", "agent/memory", ""),
        ("m", None, ""),
        ("md:memory/2026-03-04#12", "markdown_folder", "memory/2026-03-04.md"),
        ("md:MEMORY#1", "markdown_folder", "MEMORY.md"),
        ("mem-five-people", "markdown_folder", ""),
    ],
)
def test_the_path_of_a_memory_is_told_by_its_source_or_its_id(
    memory_id: str, source: str | None, path: str
) -> None:
    assert source_path(memory_id, source) == path


# --- what holds for all of them -----------------------------------------------------------------

STAGES: tuple[ScoreStage, ...] = (
    FUSE,
    FUSE.with_(vector_weight=1.0, text_weight=1.0, exact_tie="content"),
    OpenClawLegacyFuse(name="legacy"),
    DECAY,
    IMPORTANCE,
    RANK,
    RANK.with_(same_project=2.0, other_project=0.0),
)


@settings(max_examples=10)
@given(st.integers(0, 10_000))
def test_no_score_leaves_what_its_stage_says_is_attainable(seed: int) -> None:
    table = filed(toy(seed), seed)
    before = start(table).then(
        score=np.random.default_rng(seed).uniform(-0.5, 1.2, table.span.shape)
    )
    for stage in STAGES:
        after = stage.apply(before, table).score[table.valid]
        low, high = stage.attainable(-0.5, 1.2)
        assert low - 1e-12 <= after.min()
        assert after.max() <= high + 1e-12


@settings(max_examples=10)
@given(st.integers(0, 10_000))
def test_the_order_of_factors_changes_no_list(seed: int) -> None:
    table = filed(toy(seed), seed)
    config = preset("openclaw")
    fuse, fade, weigh, *rest = config.stages
    exchanged = config.with_(stages=(fuse, weigh, fade, *rest))
    np.testing.assert_array_equal(run(table, config).listed(), run(table, exchanged).listed())


@settings(max_examples=10)
@given(st.integers(0, 10_000))
def test_named_paths_come_first_tier_by_tier_and_nobody_is_lost(seed: int) -> None:
    table = filed(toy(seed), seed)
    tier = np.random.default_rng(seed).integers(0, 4, table.span.shape)
    table.features["exact_tier"] = tier
    state = FUSE.apply(start(table), table)
    order = RANK.apply(state, table).listed()
    for query, columns in enumerate(order):
        listed = columns[columns >= 0]
        assert sorted(listed) == np.flatnonzero(table.valid[query]).tolist()
        assert (np.diff(tier[query, listed]) <= 0).all()


@pytest.mark.parametrize("seed", [3, 8])
def test_likeness_kept_for_all_and_worked_out_query_by_query_give_one_list(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = filed(toy(seed), seed)
    kept = run(table, preset("openclaw")).listed()
    monkeypatch.setattr(openclaw_rank, "_CELLS", 1)
    np.testing.assert_array_equal(run(table, preset("openclaw")).listed(), kept)


def test_a_table_without_texts_cannot_be_diversified_and_says_so() -> None:
    table = toy(1)
    with pytest.raises(ContractError, match="'text'"):
        RANK.apply(start(table), table)
    assert RANK.with_(lambda_=1.0).apply(start(table), table).order is not None


@pytest.mark.parametrize(
    ("stage", "field", "value"),
    [
        (FUSE, "vector_weight", 1.5),
        (DECAY, "half_life_days", 0.0),
        (IMPORTANCE, "step", -0.1),
        (RANK, "lambda_", -0.5),
        (MINIMUM, "min_score", 1.2),
    ],
)
def test_a_value_out_of_its_range_is_refused_by_name(stage: Any, field: str, value: float) -> None:
    with pytest.raises(ParameterError, match=f"{field}.*{value}"):
        stage.with_(**{field: value})


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_preset_ranks_any_table_and_reads_back_from_its_toml(name: str) -> None:
    config: RankingConfig = preset(name)
    table = filed(toy(7), 7)
    shown = run(table, config).listed()
    assert shown.shape[1] <= 6
    assert (shown >= 0).any()
