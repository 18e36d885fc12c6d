"""Golden vectors of RecallNest and its ancestor against the presets' stages, and proof that the
check can fail: a wrong formula, a wrong primitive, another order, 1 % on a constant.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from recalltune.candidates.table import Candidates
from recalltune.errors import RecalltuneError, SourceError
from recalltune.pipeline.address import addresses, is_read, set_many
from recalltune.pipeline.config import RankingConfig, preset
from recalltune.pipeline.run import with_profile
from recalltune.pipeline.stage import Affine
from recalltune.pipeline.stages import (
    AccessBoost,
    Active,
    Asset,
    Boundary,
    CompositeDecay,
    Confidence,
    Defer,
    EmotionDecay,
    EvolutionBlend,
    ExactTokens,
    FrequencyBoost,
    HalfFloorDecay,
    HotnessBlend,
    Importance,
    Interference,
    LanceDbFusion,
    Length,
    LightRerank,
    RecallNestFusion,
    RecencyBoost,
    SourceDiversity,
    TierDecay,
    ViewBlend,
    lancedb_pro,
    recallnest_fuse,
    recallnest_gate,
    recallnest_interference,
    recallnest_keep,
    recallnest_overlap,
    recallnest_versions,
)
from recalltune.production.golden import (
    ancestor,
    recallnest,
    recallnest_arms,
    recallnest_import,
    recallnest_state,
)
from recalltune.production.golden.group import Golden
from recalltune.production.parity import TOLERANCE, compare, main, parity, table

GROUPS: dict[str, Golden] = {**recallnest.GROUPS, **ancestor.GROUPS}

# Constants no golden case stands close enough to; tests/production pins each by hand.
CHAIN_BY_HAND = {
    "arms.dense.width",
    "similarity_minimum.min_score",
    "similarity_minimum.short_factor",
    "similarity_minimum.short_words",
    "skip_trivial.min_chars",
    "skip_trivial.min_chars_cjk",
    "skip_trivial.least_chars",
    "anchor_boost.weight",
    "evolution_blend.exempt_days",
    "evolution_blend.exempt_core_importance",
    "evolution_blend.core_importance",
    "evolution_blend.core_accesses",
    "evolution_blend.working_importance",
    "evolution_blend.working_accesses",
    "tier_decay.core_accesses",
    "tier_decay.working_importance",
    "best_version.missing_importance",
    "source_diversity.min_scopes",
    "boundary.evidence_transcript",
    "category_minimum.events",
}
LEXICAL_ARM = {"arms.lexical.width", "arms.lexical.k1", "arms.lexical.b"}
BOTH_ARMS = LEXICAL_ARM | {"arms.dense.width", "rerank_pool.rows", "minimum.min_score"}
# What the vector preset writes out although it changes nothing there: `bind` says so.
VECTOR_MODE_IGNORES = {
    f"recallnest_fusion.{field}"
    for field in (
        "dense_weight",
        "lexical_weight",
        "agreement",
        "short_words",
        "short_dense_factor",
        "short_lexical_factor",
        "short_lexical_cap",
        "short_lexical_only",
        "graph_weight",
        "graph_bonus",
    )
}
BY_HAND = {
    "recallnest": CHAIN_BY_HAND | VECTOR_MODE_IGNORES | {"arms.dense.store_limit"},
    "recallnest-hybrid": CHAIN_BY_HAND | LEXICAL_ARM | {"rerank_pool.rows"},
    "lancedb-pro": BOTH_ARMS
    | {
        "hard_minimum.min_score",
        "composite_decay.missing_importance",
        "composite_decay.missing_confidence",
    },
    "lancedb-pro-plain": BOTH_ARMS
    | {
        "hard_minimum.min_score",
        "recency_boost.weight",
        "recency_boost.mean_life_days",
        "importance.missing",
        "half_floor_decay.dynamic_divisor",
    },
}
# The chain is recorded for three profiles, whole retrievals in vector mode only; and at debug's
# weights the fusion for short queries only, where the lexical weight is capped.
PROFILES_BY_HAND = {
    ("recallnest-hybrid", "debug", "recallnest_fusion.lexical_weight"),
    ("recallnest-hybrid", "fact-check", "recency_boost.weight"),
    ("recallnest-hybrid", "fact-check", "recency_boost.mean_life_days"),
    ("recallnest-hybrid", "fact-check", "tier_decay.half_life_days"),
    ("recallnest-hybrid", "fact-check", "length.anchor_chars"),
}
# Not in the golden file's chain: the caller sets these, or they only say what missing means.
SET_BY_THE_CASE = {
    "arms.dense.min_cosine",
    "select.top_k",
    "select.budget_tokens",
    "source_diversity.places",
    "defer.threshold",
    "hotness_blend.weight",
    "importance.missing",
    "tier_decay.missing",
    "evolution_blend.missing",
}
# The groups that look at a preset's stages. A whole retrieval is recorded in vector mode only.
VECTOR_ONLY = "retrieve_vector_end_to_end"
WHOLE = {"shared_scoring_chain", VECTOR_ONLY}
LOOKS_AT = {
    "recallnest": set(recallnest.GROUPS)
    - {"fusion_weighted", "fusion_lists", "rerank_lightweight", "bm25_normalise"},
    "recallnest-hybrid": set(recallnest.GROUPS) - {VECTOR_ONLY, "vector_score", "bm25_normalise"},
    "lancedb-pro": set(ancestor.GROUPS) | {"rerank_lightweight"},
    "lancedb-pro-plain": set(ancestor.GROUPS) | {"rerank_lightweight"},
}


@pytest.fixture(scope="module")
def golden(shared: Path) -> dict[str, list[Any]]:
    content = json.loads((shared / "golden" / "recallnest.json").read_text(encoding="utf-8"))
    return {name: content["groups"][name]["cases"] for name in GROUPS}


def differing_groups(
    golden: dict[str, list[Any]],
    config: RankingConfig | None = None,
    groups: set[str] | None = None,
) -> Iterator[str]:
    """Groups that differ, those that are quick to tell first; each under its own preset if none."""
    names = sorted(groups or GROUPS, key=lambda name: (name == VECTOR_ONLY, len(golden[name])))
    for name in names:
        group = GROUPS[name]
        setting = config or preset(group.preset)
        for case in golden[name]:
            try:
                error = compare(group.expected(case), group.answer(group.given(case), setting))
            except RecalltuneError:
                error = np.inf
            if not error <= TOLERANCE:
                yield name
                break


@pytest.mark.shared
def test_every_mapped_group_agrees_to_1e_9_and_in_order(shared: Path) -> None:
    outcomes = {o.group: o for o in parity([shared / "golden" / "recallnest.json"])}
    mapped = [o for o in outcomes.values() if o.largest_error is not None]
    assert set(GROUPS) <= {o.group for o in mapped}
    assert [o.group for o in mapped if o.verdict != "same"] == []
    assert [o.group for o in outcomes.values() if o.verdict == "missing"] == []
    assert outcomes["shared_scoring_chain"].cases == 30
    assert outcomes["retrieve_vector_end_to_end"].cases == 6
    assert outcomes["ancestor_decay_engine"].cases == 21


@pytest.mark.shared
def test_the_command_says_which_files_and_exits_0(
    shared: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GOLDEN", str(shared / "golden" / "recallnest.json"))
    assert main([]) == 0
    printed = capsys.readouterr().out
    assert "shared_scoring_chain" in printed
    assert "all same" in printed


CHAIN = {
    RecencyBoost: "recency_boost",
    Importance: "importance_weight",
    Confidence: "confidence_weight",
    Boundary: "boundary_weight",
    Asset: "asset_type_weight",
    Length: "length_norm",
    TierDecay: "weibull_decay",
    EvolutionBlend: "evolution_blend",
    AccessBoost: "access_count_boost",
    HotnessBlend: "hotness_blend",
    RecallNestFusion: "vector_score",
}
APART = {
    FrequencyBoost: "frequency_boost",
    LightRerank: "rerank_lightweight",
    ViewBlend: "multi_vector_blend",
    LanceDbFusion: "ancestor_fusion",
    CompositeDecay: "ancestor_decay_engine",
    HalfFloorDecay: "ancestor_time_decay",
}


def spoil(kind: type, monkeypatch: pytest.MonkeyPatch) -> None:
    right = kind.affine

    def wrong(self: Any, candidates: Candidates) -> Affine:
        operands = right(self, candidates)
        return Affine(operands.scale * 0.999, operands.shift * 0.999, operands.clamp)

    monkeypatch.setattr(kind, "affine", wrong)


@pytest.mark.shared
@pytest.mark.parametrize("kind", CHAIN, ids=lambda kind: kind.__name__)
def test_a_wrong_formula_makes_its_group_and_the_whole_retrieval_fail(
    kind: type, golden: dict[str, list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    spoil(kind, monkeypatch)
    differing = set(differing_groups(golden, groups={CHAIN[kind], *WHOLE}))
    assert {CHAIN[kind], VECTOR_ONLY} <= differing
    # The chain starts after fusion.
    assert ("shared_scoring_chain" in differing) is (kind is not RecallNestFusion)


@pytest.mark.shared
@pytest.mark.parametrize("kind", APART, ids=lambda kind: kind.__name__)
def test_a_wrong_formula_of_a_stage_the_chain_lacks_makes_its_group_alone_fail(
    kind: type, golden: dict[str, list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    spoil(kind, monkeypatch)
    assert list(differing_groups(golden, groups={APART[kind], *WHOLE})) == [APART[kind]]


WRONG_PRIMITIVES: list[tuple[ModuleType, str, Callable[..., Any], str]] = [
    (recallnest_fuse, "agreeing_mean", lambda right: right * 0.999, "fusion_weighted"),
    (lancedb_pro, "rescued_sum", lambda right: right * 0.999, "ancestor_fusion"),
    (lancedb_pro, "use_frequency", lambda right: right * 0.999, "ancestor_decay_engine"),
    (lancedb_pro, "importance_half_life", lambda right: right * 0.999, "ancestor_decay_engine"),
    (lancedb_pro, "lifecycle_composite", lambda right: right * 0.999, "ancestor_decay_engine"),
    (lancedb_pro, "search_multiplier", lambda right: right * 0.999, "ancestor_decay_engine"),
    (lancedb_pro, "half_floor", lambda right: right * 0.999, "ancestor_time_decay"),
    (lancedb_pro, "reinforced_half_life", lambda right: right * 0.999, "ancestor_access_half_life"),
    (recallnest_overlap, "word_overlap", lambda right: right * 0.999, "text_overlap"),
    (recallnest_overlap, "blend_views", lambda right: right * 0.999, "multi_vector_blend"),
    (recallnest_keep, "content_words", lambda right: right[1:], "text_overlap"),
    (recallnest_versions, "version_rank", lambda right: right * 0.999, "version_rank"),
    (recallnest_gate, "is_trivial", lambda right: not right, "query_gates"),
    (recallnest_gate, "has_exact_token", lambda right: not right, "query_gates"),
    (recallnest_arms, "in_scope", np.logical_not, "scope_match"),
    (recallnest_import, "chunk_spans", lambda right: right[1:], "chunk_document"),
    (recallnest_import, "survivors", lambda right: right[:-1], "batch_internal_dedup"),
    (recallnest_state, "tier_move", lambda right: (right + 1) % 3, "tier_change"),
    (recallnest_state, "core_minimum", lambda right: (right[0] + 1, right[1]), "tier_homeostasis"),
    (ancestor, "composite_tier_move", lambda right: (right + 1) % 3, "ancestor_decay_engine"),
]


@pytest.mark.shared
@pytest.mark.parametrize(
    ("module", "name", "spoiled", "group"),
    WRONG_PRIMITIVES,
    ids=[f"{name}-{group}" for _, name, _, group in WRONG_PRIMITIVES],
)
def test_a_wrong_primitive_makes_its_group_fail(
    module: ModuleType,
    name: str,
    spoiled: Callable[..., Any],
    group: str,
    golden: dict[str, list[Any]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    right = getattr(module, name)
    monkeypatch.setattr(module, name, lambda *given, **named: spoiled(right(*given, **named)))
    assert list(differing_groups(golden, groups={group})) == [group]


@pytest.mark.shared
@pytest.mark.parametrize("method", ["half_life", "lift"])
def test_a_wrong_effect_of_emotion_makes_its_group_fail(
    method: str, golden: dict[str, list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    right = getattr(EmotionDecay, method)
    monkeypatch.setattr(EmotionDecay, method, lambda self, table: right(self, table) * 0.999)
    groups = {"emotion_half_life"}
    assert set(differing_groups(golden, groups=groups)) == groups


@pytest.mark.shared
@pytest.mark.parametrize(
    ("kind", "group"),
    [
        (Active, "active_filter"),
        (Defer, "mmr_defer_order"),
        (SourceDiversity, "source_diversity"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_a_cut_that_does_nothing_makes_its_group_fail(
    kind: type, group: str, golden: dict[str, list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kind, "apply", lambda self, state, candidates, operands=None: state)
    groups = {group, VECTOR_ONLY}
    assert set(differing_groups(golden, groups=groups)) == groups


@pytest.mark.shared
@pytest.mark.parametrize(
    ("kind", "group"), [(Interference, "rif_filter"), (ExactTokens, "query_gates")]
)
def test_a_list_stage_that_does_nothing_makes_its_group_fail(
    kind: type, group: str, golden: dict[str, list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kind, "apply", lambda self, state, candidates, operands=None: state)
    assert list(differing_groups(golden, groups={group})) == [group]


@pytest.mark.shared
def test_demoting_where_production_drops_makes_the_group_fail(
    golden: dict[str, list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    right = recallnest_interference.interfere
    monkeypatch.setattr(
        recallnest_interference,
        "interfere",
        lambda *given, **named: right(*given, **{**named, "drop_weaker": False}),
    )
    assert list(differing_groups(golden, groups={"rif_filter"})) == ["rif_filter"]


@pytest.mark.shared
def test_without_the_option_for_the_future_its_group_fails(golden: dict[str, list[Any]]) -> None:
    ours = set_many(preset("recallnest"), {"recency_boost.boost_future": False})
    assert list(differing_groups(golden, ours, {"recency_boost"})) == ["recency_boost"]


@pytest.mark.shared
def test_an_exchanged_order_of_stages_makes_the_chain_fail(
    golden: dict[str, list[Any]],
) -> None:
    config = preset("recallnest")
    names = [stage.name for stage in config.stages]
    stages = list(config.stages)
    at = names.index("recency_boost")
    stages[at], stages[at + 1] = stages[at + 1], stages[at]
    exchanged = config.with_(stages=tuple(stages))
    chain = {"shared_scoring_chain"}
    assert set(differing_groups(golden, exchanged, chain)) == chain


def constants(name: str) -> list[str]:
    numbers = [
        address
        for address, value in addresses(preset(name)).items()
        if isinstance(value, float | int)
        and not isinstance(value, bool)
        and is_read(preset(name), address)
    ]
    ours = ("select.floors.", "select.caps.")
    left = BY_HAND[name] | SET_BY_THE_CASE
    return [a for a in numbers if a not in left and not a.startswith(ours)]


def moved_a_little(value: float) -> float:
    return value + 1 if isinstance(value, int) else value * 1.01


@pytest.mark.stress
@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "address"), [(name, address) for name in BY_HAND for address in constants(name)]
)
def test_one_percent_on_a_constant_makes_some_group_fail(
    name: str, address: str, golden: dict[str, list[Any]]
) -> None:
    config = preset(name)
    changed = set_many(config, {address: moved_a_little(addresses(config)[address])})
    assert next(differing_groups(golden, changed, LOOKS_AT[name]), None) is not None


# Stages production has switched off, or that no preset lists. Their other defaults are pinned by
# hand: interference.threshold, ratio and min_rows, view_blend.short_words, exact_tokens.
@pytest.mark.shared
@pytest.mark.parametrize(
    ("field", "group", "kind"),
    [
        ("cluster_size", "rif_filter", "interference"),
        ("crowded_factor", "rif_filter", "interference"),
        ("stretch", "emotion_half_life", "emotion_decay"),
        ("dead_zone", "emotion_half_life", "emotion_decay"),
        ("arousal_weight", "emotion_half_life", "emotion_decay"),
        ("long_words", "multi_vector_blend", "view_blend"),
        ("short_abstract", "multi_vector_blend", "view_blend"),
        ("short_overview", "multi_vector_blend", "view_blend"),
        ("middle_abstract", "multi_vector_blend", "view_blend"),
        ("middle_overview", "multi_vector_blend", "view_blend"),
        ("long_abstract", "multi_vector_blend", "view_blend"),
        ("long_overview", "multi_vector_blend", "view_blend"),
        ("weight", "frequency_boost", "frequency_boost"),
        ("half_life_days", "frequency_boost", "frequency_boost"),
        ("min_hits", "frequency_boost", "frequency_boost"),
    ],
)
def test_one_percent_on_a_default_of_a_stage_no_preset_lists_makes_its_group_fail(
    field: str, group: str, kind: str, golden: dict[str, list[Any]]
) -> None:
    base = preset("recallnest")
    config = base.with_(stages=(*base.stages, {"kind": kind, "name": kind}))
    address = f"{kind}.{field}"
    assert list(differing_groups(golden, config, {group})) == []
    changed = set_many(config, {address: moved_a_little(addresses(config)[address])})
    assert list(differing_groups(golden, changed, {group})) == [group]


@pytest.mark.stress
@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "profile", "address"),
    [
        (name, profile, address)
        for name in ("recallnest", "recallnest-hybrid")
        for profile, changes in preset(name).profiles.items()
        for address in changes
        if address not in BY_HAND[name] and (name, profile, address) not in PROFILES_BY_HAND
    ],
)
def test_one_percent_on_a_constant_of_a_profile_makes_some_group_fail(
    name: str, profile: str, address: str, golden: dict[str, list[Any]]
) -> None:
    config = preset(name)
    changes = {**config.profiles[profile], address: config.profiles[profile][address] * 1.01}
    config = config.with_(profiles={**config.profiles, profile: changes})
    assert next(differing_groups(golden, config, LOOKS_AT[name]), None) is not None


@pytest.mark.shared
@pytest.mark.parametrize("preset_name", ["recallnest", "recallnest-hybrid"])
def test_every_profile_has_the_values_production_resolves_it_to(
    preset_name: str, shared: Path
) -> None:
    content = json.loads((shared / "golden" / "recallnest.json").read_text(encoding="utf-8"))
    keys = {
        "recencyHalfLifeDays": "recency_boost.mean_life_days",
        "recencyWeight": "recency_boost.weight",
        "timeDecayHalfLifeDays": "tier_decay.half_life_days",
        "lengthNormAnchor": "length.anchor_chars",
        "hardMinScore": "category_minimum.other",
        "hotnessWeight": "hotness_blend.weight",
    }
    if preset_name == "recallnest-hybrid":
        keys |= {
            "vectorWeight": "recallnest_fusion.dense_weight",
            "bm25Weight": "recallnest_fusion.lexical_weight",
        }
    for name, resolved in content["resolved_profiles"].items():
        ours = addresses(with_profile(preset(preset_name), name))
        assert {key: ours[address] for key, address in keys.items()} == {
            key: resolved[key] for key in keys
        }
        for category, minimum in resolved.get("categoryMinScores", {}).items():
            assert ours[f"category_minimum.{category}"] == minimum


def test_comparison_sees_order_kind_length_and_nan() -> None:
    assert compare([["a", 0.5], ["b", 0.4]], [["b", 0.4], ["a", 0.5]]) == np.inf
    assert compare([1, 2], [1]) == np.inf
    assert compare({"x": 1.0}, {"y": 1.0}) == np.inf
    assert compare("core", "working") == np.inf
    assert compare(2.0, 2.0 * (1 + 3e-10)) == pytest.approx(3e-10, rel=1e-5)
    assert not compare(1.0, float("nan")) <= TOLERANCE


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{", "golden.json:1: not JSON"),
        ("[]", "golden.json:1: not a golden file"),
        ('{"groups": {"x": 3}}', "golden.json:1: not a golden file"),
    ],
)
def test_a_file_that_is_no_golden_file_is_refused_with_its_line(
    tmp_path: Path, content: str, says: str
) -> None:
    file = tmp_path / "golden.json"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(SourceError, match=says):
        parity([file])
    assert main(["--golden", str(file)]) == 2


def test_a_difference_is_named_and_exits_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = {"in": {"cosineDistance": 1.0}, "out": 0.51}
    file = tmp_path / "golden.json"
    groups = {"vector_score": {"cases": [case]}, "unheard_of": {"cases": [case, case]}}
    file.write_text(json.dumps({"groups": groups}), encoding="utf-8")
    assert main(["--golden", str(file)]) == 1
    printed = capsys.readouterr().out
    assert "1 groups differ: vector_score" in printed
    assert "case 0 differs" in printed
    # 1/(2 - 0) = 0.5 is 0.01/0.51 = 2.0e-2 off.
    assert "2.0e-02" in table(parity([file]))
    assert "1 groups missing: unheard_of" in printed
