"""The results the plan prints, field by field, from our tables."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from recalltune.ingest.companion import write_companion
from recalltune.production.golden.hel847_plan import read_plan
from recalltune.replay.companion import CompanionMemory
from recalltune.store import open

pytestmark = pytest.mark.shared
PROBE_HEADER = re.compile(r'header = "(.*?)\\n"')


@pytest.fixture(scope="module")
def note(shared: Path) -> str:
    (path,) = (shared / "notes").glob("001_*.txt")
    return path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def printed(note: str) -> dict:
    part = note[note.index("docs/reuse-hel847/probe-result.json\n\n@@") :]
    lines = [line[1:] for line in part.splitlines() if line.startswith("+")]
    return json.loads("\n".join(lines[: lines.index("}") + 1]))["results"]


@pytest.fixture
def memory(shared: Path, tmp_path: Path) -> CompanionMemory:
    companion, _ = read_plan(shared / "notes")
    lab = open(tmp_path / "lab.duckdb")
    write_companion(lab, companion)
    return CompanionMemory(lab, companion.now)


def with_numbers(block: str) -> str:
    """The block as the probe prints it, whose ids are numbers."""
    return re.sub(r'"id": "m0*(\d+)"', r'"id": \1', block)


def numbers(ids) -> list[int]:
    """Ids as the probe's row numbers."""
    return [int(one[1:]) for one in ids]


def test_the_block_of_e3_is_the_printed_one_letter_by_letter(memory, note, printed):
    header = PROBE_HEADER.search(note)[1] + "\n"
    block, _ = memory.remember(printed["E3_reread"]["query"], header=header)
    assert with_numbers(block) == printed["E3_reread"]["baseline_block"]


def test_the_block_of_e4b_has_230_characters(memory, note, printed):
    header = PROBE_HEADER.search(note)[1] + "\n"
    block, shown = memory.remember(printed["E4b_paired_negative"]["query"], header=header)
    assert len(with_numbers(block)) == 230
    assert numbers(shown) == [hit["id"] for hit in printed["E4b_paired_negative"]["hits"]]


def test_the_messages_of_e3_and_e4b_are_the_printed_ones(memory, printed):
    for name, word in (("E3_reread", "蓝色封面"), ("E4b_paired_negative", "银杏书签")):
        again = memory.reread(printed[name]["query"])
        assert len(again.text) <= 600
        assert (word in again.text) == printed[name].get("reread_has_blue_cover", False)


@pytest.mark.parametrize("name", ["E2a_rank_importance", "E2b_mmr_diversity"])
def test_candidates_and_lists_are_the_printed_ones(memory, printed, name):
    told = printed[name]
    assert numbers(memory.candidates(told["query"])) == told["candidate_ids"]
    found = memory.search(told["query"])
    assert (found.mode, numbers(found.ids)) == (told["mode"], told["baseline_top4"])


@pytest.mark.parametrize("name", ["E1_paraphrase", "E4a_source_gate", "E4b_paired_negative"])
def test_what_is_found_is_what_is_printed(memory, printed, name):
    told = printed[name]
    found = memory.search(told["query"])
    hits = told["lexical_hits"] if "lexical_hits" in told else told["hits"]
    assert numbers(found.ids) == [hit["id"] if isinstance(hit, dict) else hit for hit in hits]
    assert found.mode == told.get("mode", found.mode)
