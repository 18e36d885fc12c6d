"""OpenClaw's golden tokens against our two variants, and proof that the check can fail."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recalltune.production.golden import tokens
from recalltune.production.parity import parity
from recalltune.rank import TOKENIZERS, tokenize_probe

pytestmark = pytest.mark.shared


def outcome(file: Path) -> tuple[str, tuple[int, ...], int]:
    [found] = [one for one in parity([file]) if one.group == "tokenize"]
    return found.verdict, found.differing, found.cases


def test_both_variants_give_the_sets_of_upstream(shared: Path) -> None:
    assert outcome(shared / "golden" / "openclaw.json") == ("same", (), 15)


def test_no_other_tokeniser_passes_for_either(
    shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = shared / "golden" / "openclaw.json"
    texts = [
        case["text"] for case in json.loads(file.read_text("utf-8"))["groups"]["tokenize"]["cases"]
    ]
    for name in ("openclaw_release", "openclaw_main"):
        monkeypatch.setattr(tokens, "TOKENIZERS", {**TOKENIZERS, name: tokenize_probe})
        verdict, differing, _ = outcome(file)
        assert verdict == "differs"
        # A character beyond the first plane is a word of its own for the probe alone.
        assert texts.index("𠮷野家") in differing
