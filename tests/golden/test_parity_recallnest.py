"""Golden vectors of RecallNest against the preset's stages, and proof that the check can fail."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recalltune.candidates.table import Candidates
from recalltune.errors import RecalltuneError, SourceError
from recalltune.pipeline.address import addresses, set_many
from recalltune.pipeline.config import RankingConfig, preset
from recalltune.pipeline.run import with_profile
from recalltune.pipeline.stage import Affine
from recalltune.pipeline.stages import (
    AccessBoost,
    Active,
    Asset,
    Boundary,
    Confidence,
    Defer,
    EvolutionBlend,
    FrequencyBoost,
    HotnessBlend,
    Importance,
    Length,
    RecencyBoost,
    SourceDiversity,
    TierDecay,
    WeightedSum,
)
from recalltune.production.golden.recallnest import GROUPS
from recalltune.production.parity import TOLERANCE, compare, main, parity, table

# Constants no golden case stands close enough to; test_recallnest_stages pins each by hand.
BY_HAND = {
    "evolution_blend.exempt_days",
    "evolution_blend.exempt_core_importance",
    "evolution_blend.core_importance",
    "evolution_blend.core_accesses",
    "evolution_blend.working_importance",
    "evolution_blend.working_accesses",
    "tier_decay.core_accesses",
    "tier_decay.working_importance",
    "category_minimum.short_words",
    "arms.dense.width",
    "source_diversity.min_scopes",
    "boundary.evidence_transcript",
    "category_minimum.events",
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


@pytest.fixture(scope="module")
def golden(shared: Path) -> dict[str, list[Any]]:
    content = json.loads((shared / "golden" / "recallnest.json").read_text(encoding="utf-8"))
    return {name: content["groups"][name]["cases"] for name in GROUPS}


def differing_groups(golden: dict[str, list[Any]], config: RankingConfig) -> Iterator[str]:
    for name, cases in golden.items():
        for case in cases:
            golden_group = GROUPS[name]
            try:
                answer = golden_group.answer(golden_group.given(case), config)
                error = compare(golden_group.expected(case), answer)
            except RecalltuneError:
                error = np.inf
            if not error <= TOLERANCE:
                yield name
                break


@pytest.mark.shared
def test_every_mapped_group_agrees_to_1e_9_and_in_order(shared: Path) -> None:
    outcomes = {o.group: o for o in parity([shared / "golden" / "recallnest.json"])}
    mapped = [o for o in outcomes.values() if o.largest_error is not None]
    assert {o.group for o in mapped} == set(GROUPS)
    assert [o.group for o in mapped if o.verdict != "same"] == []
    assert outcomes["shared_scoring_chain"].cases == 30
    assert outcomes["retrieve_vector_end_to_end"].cases == 6
    assert outcomes["chunk_document"].verdict == "later: import"


@pytest.mark.shared
def test_the_command_says_which_files_and_exits_0(
    shared: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GOLDEN", str(shared / "golden" / "recallnest.json"))
    assert main([]) == 0
    printed = capsys.readouterr().out
    assert "shared_scoring_chain" in printed
    assert "all same" in printed


WRONG = {
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
    FrequencyBoost: "frequency_boost",
    WeightedSum: "vector_score",
}


@pytest.mark.shared
@pytest.mark.parametrize("kind", WRONG, ids=lambda kind: kind.__name__)
def test_a_wrong_formula_makes_its_group_and_the_whole_retrieval_fail(
    kind: type, golden: dict[str, list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    right = kind.affine

    def wrong(self: Any, candidates: Candidates) -> Affine:
        operands = right(self, candidates)
        return Affine(operands.scale * 0.999, operands.shift * 0.999, operands.clamp)

    monkeypatch.setattr(kind, "affine", wrong)
    differing = set(differing_groups(golden, preset("recallnest")))
    assert WRONG[kind] in differing
    # The frequency boost is in no preset; the chain starts after fusion.
    assert ("retrieve_vector_end_to_end" in differing) is (kind is not FrequencyBoost)
    assert ("shared_scoring_chain" in differing) is (kind not in (FrequencyBoost, WeightedSum))


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
    differing = set(differing_groups(golden, preset("recallnest")))
    assert {group, "retrieve_vector_end_to_end"} <= differing


@pytest.mark.shared
def test_an_exchanged_order_of_stages_makes_the_chain_fail(
    golden: dict[str, list[Any]],
) -> None:
    config = preset("recallnest")
    first, recency, importance, *rest = config.stages
    exchanged = config.with_(stages=(first, importance, recency, *rest))
    assert "shared_scoring_chain" in set(differing_groups(golden, exchanged))


def constants() -> list[str]:
    config = preset("recallnest")
    numbers = [
        address
        for address, value in addresses(config).items()
        if isinstance(value, float | int) and not isinstance(value, bool)
    ]
    ours = ("select.floors.", "select.caps.")
    return [a for a in numbers if a not in BY_HAND | SET_BY_THE_CASE and not a.startswith(ours)]


@pytest.mark.shared
@pytest.mark.parametrize("address", constants())
def test_one_percent_on_a_constant_makes_some_group_fail(
    address: str, golden: dict[str, list[Any]]
) -> None:
    config = preset("recallnest")
    value = addresses(config)[address]
    changed = value + 1 if isinstance(value, int) else value * 1.01
    assert next(differing_groups(golden, set_many(config, {address: changed})), None) is not None


@pytest.mark.shared
@pytest.mark.parametrize(
    ("profile", "address"),
    [
        (name, address)
        for name, changes in preset("recallnest").profiles.items()
        for address in changes
        if address not in BY_HAND
    ],
)
def test_one_percent_on_a_constant_of_a_profile_makes_some_group_fail(
    profile: str, address: str, golden: dict[str, list[Any]]
) -> None:
    config = preset("recallnest")
    changes = {**config.profiles[profile], address: config.profiles[profile][address] * 1.01}
    config = config.with_(profiles={**config.profiles, profile: changes})
    assert next(differing_groups(golden, config), None) is not None


@pytest.mark.shared
def test_every_profile_has_the_values_production_resolves_it_to(shared: Path) -> None:
    content = json.loads((shared / "golden" / "recallnest.json").read_text(encoding="utf-8"))
    keys = {
        "recencyHalfLifeDays": "recency_boost.mean_life_days",
        "recencyWeight": "recency_boost.weight",
        "timeDecayHalfLifeDays": "tier_decay.half_life_days",
        "lengthNormAnchor": "length.anchor_chars",
        "hardMinScore": "category_minimum.other",
        "hotnessWeight": "hotness_blend.weight",
    }
    for name, resolved in content["resolved_profiles"].items():
        ours = addresses(with_profile(preset("recallnest"), name))
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
