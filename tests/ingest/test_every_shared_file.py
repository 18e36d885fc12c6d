"""Every file of the shared data is imported: by detection with known counts, or by an adapter.

Counts were taken from the files by other means (lines, roles and kinds of parts counted apart). The
adapters are those of ``tests/adapters``: each opens exactly the files that are named for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adapters import beam, collection, madial, precisionmembench, proactivemembench
from recalltune import store
from recalltune.ingest import ingest

pytestmark = pytest.mark.shared

NOT_DATA = {"SOURCE.md", "LICENSE", "LICENCE", "LICENSE.txt"}
BY_DETECTION: dict[str, tuple[str, int, int]] = {
    "cacm/corpus.jsonl": ("beir", 3204, 0),
    "cacm/qrels.anserini.tsv": ("beir", 796, 1),
    "cacm/qrels.tsv": ("beir", 796, 1),
    "cacm/queries.jsonl": ("beir", 64, 0),
    "cmrc2018_zh/corpus.jsonl": ("beir", 848, 0),
    "cmrc2018_zh/qrels.tsv": ("beir", 848, 1),
    "cmrc2018_zh/queries.jsonl": ("beir", 848, 0),
    # Documents 471 and 995 are empty.
    "cranfield/corpus.jsonl": ("beir", 1400 - 2, 2),
    "cranfield/qrels.tsv": ("beir", 1612 + 225, 1),
    "cranfield/qrels.with_minus1.tsv": ("beir", 1837, 1),
    "cranfield/queries.jsonl": ("beir", 225, 0),
    "locomo/locomo.json": ("locomo", 3435 + 1155, 2),
    # A tree of 45 nodes: 8 of the user, 12 of the assistant in words.
    "transcripts/chatgpt_export/chatgpt2graph_conversations.json": ("chatgpt", 8 + 12, 25),
    "transcripts/claude_ai_export/conversations.json": ("claude_ai", 4 + 2 + 2, 0),
    "transcripts/claude_code/agtrace_claude_session.jsonl": ("claude_code", 5, 21),
    "transcripts/claude_code/compacted_258c7280.jsonl": ("claude_code", 89, 1863 - 89),
    "transcripts/claude_code/compacted_258c7280/subagents/agent-a881341.jsonl": (
        "claude_code", 4, 6,
    ),
    "transcripts/claude_code/compacted_258c7280/subagents/agent-acompact-fffbd0.jsonl": (
        "claude_code", 2, 2,
    ),
    "transcripts/claude_code/edge_cases.jsonl": ("claude_code", 6, 13),
    "transcripts/claude_code/short.jsonl": ("claude_code", 2, 13),
    "transcripts/claude_code/sidechains_fe5e1c67.jsonl": ("claude_code", 102, 336),
    "transcripts/claude_code/tool_heavy.jsonl": ("claude_code", 3, 36),
    "transcripts/codex/agtrace_rollout.jsonl": ("codex", 4, 51),
    "transcripts/codex/redacted_compacted_rollout-2026-02-23T12-54-34.jsonl": (
        "codex", 301, 2722 - 301,
    ),
    "transcripts/gemini_cli/agtrace_session.json": ("gemini_cli", 2 + 7, 0),
    # One message of the user, three of the assistant that say something.
    "transcripts/iflow_zh/session-5de701fc.jsonl": ("iflow", 1 + 3, 6 + 6),
    "transcripts/openclaw_memory/brainx/MEMORY.md": ("markdown_folder", 120, 0),
    "transcripts/openclaw_memory/brainx/memory/2026-02-10.md": ("markdown_folder", 23, 0),
    "transcripts/pi/session.jsonl": ("pi", 4, 7),
}  # fmt: skip
"""File -> format, records kept, records dropped."""


def of_cranfield(lab: store.Lab, folder: Path, _: Path) -> None:
    """Its own judgements are those of ``qrels.tsv``, where 1 to 4 are relevant and -1 is not."""
    own = collection.original_judgements(folder / "cranqrel.orig.txt")
    assert Counter(code for *_, code in own) == {3: 734, 2: 387, 4: 363, -1: 225, 1: 128}
    ingest(lab, folder / "qrels.tsv")
    with lab.reading() as con:
        labels = store.read_table(con, "label", case_set="cranfield")
    found = {(case, memory): grade for case, memory, grade in labels.select(
        "case_id", "memory_id", "grade").iter_rows()}  # fmt: skip
    assert found == {(query, name): int(code > 0) for query, name, code in own}


def of_beam(lab: store.Lab, folder: Path, _: Path) -> None:
    beam.fill(lab, folder)
    assert counts(lab, "beam") == (188 + 258 + 268, 60)


def of_madial(lab: store.Lab, folder: Path, scratch: Path) -> None:
    madial.fill(lab, folder, "zh")
    assert counts(lab, "madial") == (171, 160)
    english = store.open(scratch / "en.duckdb")
    madial.fill(english, folder, "en")
    assert counts(english, "madial") == (160, 160)
    for language, model in (("zh", "stella"), ("en", "bge_m3")):
        assert madial.dense_lists(folder, language, model, scratch / "lists.npz").dim == 161
    vectors = madial.memory_vectors(folder)
    with english.reading() as con:
        assert set(vectors) == set(store.read_spans(con)["memory_id"])
    assert np.linalg.norm(list(vectors.values()), axis=1) == pytest.approx(1.0, abs=1e-3)


def of_precision(lab: store.Lab, folder: Path, _: Path) -> None:
    precisionmembench.fill(lab, folder)
    # 35 beliefs, one that a session creates, and a second version of one.
    assert counts(lab, "precisionmembench") == (35 + 1 + 1, 77 + 11 + 1)


def of_proactive(lab: store.Lab, folder: Path, _: Path) -> None:
    proactivemembench.fill(lab, folder)
    assert counts(lab, "proactive") == (400, 100)
    assert len(proactivemembench.concepts(folder)) == 60


def counts(lab: store.Lab, case_set: str) -> tuple[int, int]:
    with lab.reading() as con:
        return store.read_spans(con).height, store.read_cases(con, case_set).height


BY_ADAPTER: dict[str, tuple[Callable[[store.Lab, Path, Path], None], set[str]]] = {
    "beam_100k": (
        of_beam,
        {f"{chat}/{name}.json" for chat in (1, 6, 8) for name in ("chat", "probing_questions")},
    ),
    "cranfield": (of_cranfield, {"cranqrel.orig.txt"}),
    "madial_bench": (
        of_madial,
        {
            "en-memory_vectors_ids.json",
            *(
                f"{language}-{name}.jsonl"
                for language in ("en", "zh")
                for name in ("dense_top20", "dialogue", "memory")
            ),
        },
    ),
    "precisionmembench": (
        of_precision,
        {"beliefs.seed.json", "retrieval.cases.json", "session-retrieval.cases.json"},
    ),
    "proactivemembench": (
        of_proactive,
        {"travel_concept_pairs.json", "travel_conversations.json", "travel_questions.json"},
    ),
}
"""Folder -> what imports it, and the files it imports."""


def test_no_file_is_left_out(shared):
    folder = shared / "data"
    files = {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and path.name not in NOT_DATA and path.suffix != ".npy"
    }
    adapted = {f"{folder}/{name}" for folder, (_, names) in BY_ADAPTER.items() for name in names}
    assert files == BY_DETECTION.keys() | adapted
    assert not BY_DETECTION.keys() & adapted


@pytest.mark.parametrize("file", BY_DETECTION)
def test_a_file_is_known_by_its_content_and_every_record_kept_or_dropped(lab, shared, file):
    report = ingest(lab, shared / "data" / file)
    format, kept, dropped = BY_DETECTION[file]
    row = report.frame.row(0, named=True)
    assert (row["format"], row["kept"], row["dropped"]) == (format, kept, dropped)
    assert row["read"] == kept + dropped == kept + report.dropped["count"].sum()
    assert row["confidence"] >= 0.5


@pytest.mark.parametrize("folder", BY_ADAPTER)
def test_an_adapter_reads_the_files_that_are_named_for_it(
    lab, shared, tmp_path, monkeypatch, folder
):
    adapter, files = BY_ADAPTER[folder]
    opened, plain = set[Path](), Path.open

    def noted(self: Path, *args: Any, **kwargs: Any) -> Any:
        opened.add(self)
        return plain(self, *args, **kwargs)

    monkeypatch.setattr(Path, "open", noted)
    adapter(lab, shared / "data" / folder, tmp_path)
    assert {shared / "data" / folder / name for name in files} <= opened
