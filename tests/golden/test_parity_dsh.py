"""Golden vectors of dsh-auto-memory against our stage and estimates, and proof they can fail."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recalltune.candidates.table import Candidates
from recalltune.errors import RecalltuneError
from recalltune.pipeline.address import addresses, is_read, set_many
from recalltune.pipeline.config import RankingConfig, preset
from recalltune.pipeline.stage import Affine
from recalltune.pipeline.stages import LayeredFusion
from recalltune.production.golden import dsh
from recalltune.production.parity import TOLERANCE, compare

pytestmark = pytest.mark.shared
PRESET = "dsh-auto-memory"

# No golden case holds them: the arms' widths and the length of the list are not the fusion's.
# tests/pipeline/test_dsh.py pins them by hand.
BY_HAND = {"arms.dense.width", "arms.dense.min_cosine", "arms.lexical.width", "select.top_k"}
# Of our BM25, for which production has another keyword score.
OURS = {"arms.lexical.k1", "arms.lexical.b"}


@pytest.fixture(scope="module")
def golden(shared: Path) -> dict[str, list[Any]]:
    content = json.loads((shared / "golden" / "openclaw.json").read_text(encoding="utf-8"))
    return {name: content["groups"][name]["cases"] for name in dsh.GROUPS}


def differing(golden: dict[str, list[Any]], config: RankingConfig) -> Iterator[str]:
    for name, cases in golden.items():
        group = dsh.GROUPS[name]
        for case in cases:
            try:
                error = compare(group.expected(case), group.answer(group.given(case), config))
            except RecalltuneError:
                error = np.inf
            if not error <= TOLERANCE:
                yield name
                break


def test_both_groups_agree_to_1e_9_and_in_order(golden):
    assert {name: len(cases) for name, cases in golden.items()} == {
        "r4_rrf": 14, "r4_token_estimate": 7,
    }  # fmt: skip
    assert list(differing(golden, preset(PRESET))) == []


def test_a_wrong_fusion_makes_its_group_fail(golden, monkeypatch):
    right = LayeredFusion.affine

    def wrong(self: LayeredFusion, candidates: Candidates) -> Affine:
        return Affine(0.0, right(self, candidates).shift * 1.001)

    monkeypatch.setattr(LayeredFusion, "affine", wrong)
    assert list(differing(golden, preset(PRESET))) == ["r4_rrf"]


@pytest.mark.parametrize("arm", ["time", "layer"])
def test_an_arm_that_is_off_makes_the_group_fail(golden, arm):
    config = set_many(preset(PRESET), {f"dsh_rrf.{arm}": "none"})
    assert list(differing(golden, config)) == ["r4_rrf"]


def test_an_exchanged_order_of_layers_makes_the_group_fail(golden, monkeypatch):
    from recalltune.pipeline.stages import dsh as stage

    monkeypatch.setattr(stage, "LAYER_ORDER", tuple(reversed(stage.LAYER_ORDER)))
    assert list(differing(golden, preset(PRESET))) == ["r4_rrf"]


@pytest.mark.parametrize("name", ["estimate_tokens_quarter", "estimate_tokens_half"])
def test_a_wrong_estimate_makes_its_group_fail(golden, monkeypatch, name):
    right = getattr(dsh, name)
    monkeypatch.setattr(dsh, name, lambda text: right(text + "a"))
    assert list(differing(golden, preset(PRESET))) == ["r4_token_estimate"]


def constants() -> list[str]:
    numbers = [
        address
        for address, value in addresses(preset(PRESET)).items()
        if isinstance(value, float | int)
        and not isinstance(value, bool)
        and is_read(preset(PRESET), address)
    ]
    ours = ("select.floors.", "select.caps.")
    return [one for one in numbers if one not in BY_HAND | OURS and not one.startswith(ours)]


def test_the_constants_that_are_checked_are_those_of_the_fusion():
    assert constants() == ["dsh_rrf.rrf_k", "dsh_rrf.divisor"]


@pytest.mark.parametrize("address", constants())
def test_one_percent_on_a_constant_makes_a_group_fail(golden, address):
    config = preset(PRESET)
    changed = set_many(config, {address: addresses(config)[address] * 1.01})
    assert list(differing(golden, changed)) == ["r4_rrf"]
