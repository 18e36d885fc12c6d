"""Golden vectors of OpenClaw against the preset's stages, and proof that the check can fail."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recalltune.candidates.table import Candidates
from recalltune.errors import RecalltuneError
from recalltune.pipeline.address import addresses, is_read, set_many
from recalltune.pipeline.config import RankingConfig, preset
from recalltune.pipeline.stage import Affine, ScoreStage
from recalltune.pipeline.stages import (
    Decay,
    OpenClawDecay,
    OpenClawFuse,
    OpenClawImportance,
    OpenClawMinimum,
    OpenClawRank,
    openclaw,
    openclaw_rank,
    openclaw_weigh,
)
from recalltune.production.golden import openclaw_scores, registry
from recalltune.production.golden.openclaw import GROUPS
from recalltune.production.parity import TOLERANCE, compare
from recalltune.rank import diversity

# Constants every golden case sets for itself, or that none reads. test_openclaw_stages pins each.
BY_HAND = {
    "arms.dense.width",
    "arms.dense.min_cosine",
    "arms.lexical.width",
    "arms.lexical.k1",
    "arms.lexical.b",
    "openclaw_fuse.vector_weight",
    "openclaw_fuse.text_weight",
    "openclaw_rank.lambda_",
    "openclaw_rank.snippet_chars",
    "openclaw_rank.tokeniser",
    "openclaw_minimum.min_score",
    "openclaw_minimum.relaxed_score",
    "select.top_k",
}


@pytest.fixture(scope="module")
def golden(shared: Path) -> dict[str, list[Any]]:
    content = json.loads((shared / "golden" / "openclaw.json").read_text(encoding="utf-8"))
    return {name: list(one.cases(content["groups"][name])) for name, one in GROUPS.items()}


def differing_groups(
    golden: dict[str, list[Any]], config: RankingConfig | None = None
) -> Iterator[str]:
    config = preset("openclaw") if config is None else config
    for name, cases in golden.items():
        group = GROUPS[name]
        for case in cases:
            try:
                error = compare(group.expected(case), group.answer(group.given(case), config))
            except RecalltuneError:
                error = np.inf
            if not error <= TOLERANCE:
                yield name
                break


@pytest.mark.shared
def test_every_group_agrees_to_1e_9_and_in_order(golden: dict[str, list[Any]]) -> None:
    assert list(differing_groups(golden)) == []
    assert {name: registry.GROUPS[name] for name in GROUPS} == GROUPS
    sizes = {name: len(cases) for name, cases in golden.items()}
    assert (len(sizes), min(sizes.values())) == (18, 5)
    assert (sizes["merge"], sizes["merge_fuzz"], sizes["mmr_rerank"]) == (12, 19, 32)


WRONG: dict[type[ScoreStage], set[str]] = {
    OpenClawFuse: {"exact_tie", "merge", "merge_fuzz"},
    OpenClawDecay: {"decay", "decay_by_source", "merge", "merge_fuzz"},
    OpenClawImportance: {"importance_multiplier", "merge", "merge_fuzz"},
    OpenClawRank: {"merge", "merge_fuzz"},
    Decay: {"decay_weibull_half_life"},
}


@pytest.mark.shared
@pytest.mark.parametrize("kind", WRONG, ids=lambda kind: kind.__name__)
def test_a_wrong_stage_makes_its_groups_fail(
    kind: type[ScoreStage], golden: dict[str, list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    right = kind.affine

    def wrong(self: Any, candidates: Candidates) -> Affine:
        operands = right(self, candidates)
        return Affine(operands.scale * 0.999, operands.shift * 0.999, operands.clamp)

    monkeypatch.setattr(kind, "affine", wrong)
    assert set(differing_groups(golden)) == WRONG[kind]


def _scaled(right: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args, **named: right(*args, **named) * 0.999


def _first_only(right: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args, **named: right(*args, **named)[:1] if right(*args, **named) else None


@pytest.mark.shared
@pytest.mark.parametrize(
    ("where", "primitive", "wrong", "groups"),
    [
        (openclaw, "fts_rank_score", _scaled, {"bm25_rank_to_score", "lexical_boost", "merge"}),
        (openclaw_scores, "fts_rank_score", _scaled, {"bm25_rank_to_score"}),
        (openclaw, "lexical_boost", _scaled, {"lexical_boost"}),
        (openclaw, "exact_tie", _scaled, {"exact_tie"}),
        (openclaw_weigh, "ten_point_multiplier", _scaled, {"importance_multiplier", "merge"}),
        (openclaw_rank, "project_multiplier", _scaled, {"project_multiplier", "merge"}),
        (openclaw_weigh, "exponential", _scaled, {"decay", "decay_by_source", "merge"}),
        (openclaw_scores, "text_likeness", _scaled, {"text_similarity"}),
        (openclaw_scores, "fts_query", _first_only, {"fts_query"}),
        (openclaw_scores, "keyword_plan", lambda _: lambda query: (query, ()), {
            "keyword_plan_trigram"
        }),
        (openclaw, "path_exactness", lambda right: lambda q, paths: right(q, paths) * 0, {
            "exact_path"
        }),
        (diversity, "_objective", lambda _: lambda relevance, nearest, lambda_: relevance, {
            "mmr_score", "mmr_rerank", "merge"
        }),
        (openclaw_rank, "text_likeness", lambda _: lambda texts, *, tokenise: np.eye(len(texts)), {
            "mmr_rerank", "merge"
        }),
        (
            openclaw_scores,
            "path_dates",
            lambda right: lambda paths, *, rule: right(paths, rule="legacy"),
            {"path_dates"},
        ),
        (
            openclaw_weigh,
            "path_dates",
            lambda right: lambda paths, *, rule: (("other",) * len(paths), right(paths)[1]),
            {"decay_by_source", "merge"},
        ),
    ],
)  # fmt: skip
def test_a_wrong_primitive_makes_its_groups_fail(
    where: Any,
    primitive: str,
    wrong: Callable[..., Any],
    groups: set[str],
    golden: dict[str, list[Any]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(where, primitive, wrong(getattr(where, primitive)))
    assert groups <= set(differing_groups(golden))


@pytest.mark.shared
@pytest.mark.parametrize(
    ("kind", "group"), [(OpenClawMinimum, "select"), (OpenClawRank, "mmr_rerank")]
)
def test_a_stage_that_does_nothing_makes_its_group_fail(
    kind: type, group: str, golden: dict[str, list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kind, "apply", lambda self, state, candidates, operands=None: state)
    assert group in set(differing_groups(golden))


def constants() -> list[str]:
    numbers = [
        address
        for address, value in addresses(preset("openclaw")).items()
        if isinstance(value, float | int)
        and not isinstance(value, bool)
        and is_read(preset("openclaw"), address)
    ]
    ours = ("select.floors.", "select.caps.")
    return [a for a in numbers if a not in BY_HAND and not a.startswith(ours)]


@pytest.mark.shared
@pytest.mark.parametrize("address", constants())
def test_one_percent_on_a_constant_makes_some_group_fail(
    address: str, golden: dict[str, list[Any]]
) -> None:
    value = addresses(preset("openclaw"))[address]
    changed = set_many(preset("openclaw"), {address: value * 1.01})
    assert next(differing_groups(golden, changed), None) is not None


@pytest.mark.shared
def test_the_dates_of_another_version_make_their_groups_fail(golden: dict[str, list[Any]]) -> None:
    changed = set_many(preset("openclaw"), {"openclaw_decay.paths": "legacy"})
    assert {"path_dates", "merge_fuzz"} <= set(differing_groups(golden, changed))


def test_what_no_group_covers_is_a_constant_of_the_preset() -> None:
    assert set(addresses(preset("openclaw"))) >= BY_HAND
