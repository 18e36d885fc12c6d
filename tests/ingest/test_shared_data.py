"""Real transcripts and collections: every record accounted for, every sum right."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from recalltune import store
from recalltune.ingest import ingest

pytestmark = pytest.mark.shared


def _nonblank_lines(path: Path) -> int:
    return sum(bool(line.strip()) for line in path.read_bytes().split(b"\n"))


def test_every_line_of_every_claude_code_file_is_kept_or_dropped(lab, shared):
    folder = shared / "data" / "transcripts" / "claude_code"
    report = ingest(lab, folder)
    files = {f"claude_code/{path.relative_to(folder)}": path for path in folder.rglob("*.jsonl")}
    assert set(report.frame["file"]) == set(files)
    for row in report.frame.to_dicts():
        assert row["format"] == "claude_code"
        assert row["read"] == row["kept"] + row["dropped"] == _nonblank_lines(files[row["file"]])
        assert row["kept"] >= 1
        dropped = report.dropped.filter(pl.col("file") == row["file"])
        assert dropped["count"].sum() == row["dropped"]
    with lab.reading() as con:
        turns = store.read_turns(con, sidechains=True)
    assert turns.height == report.frame["kept"].sum()
    assert turns.filter("sidechain").height == 99
    assert turns["said_at"].null_count() == 0


def test_the_memory_folder_is_read_whole_with_its_day(lab, shared):
    report = ingest(lab, shared / "data" / "transcripts" / "openclaw_memory" / "brainx")
    assert report.frame["file"].to_list() == ["brainx/MEMORY.md", "brainx/memory/2026-02-10.md"]
    assert report.frame["kept"].to_list() == report.frame["read"].to_list()
    with lab.reading() as con:
        spans = store.read_spans(con)
    day = spans.filter(pl.col("memory_id").str.starts_with("md:memory/2026-02-10#"))
    midnight = 1_770_681_600 * 10**6  # 2026-02-10T00:00:00Z
    assert sorted(day["event_at"]) == [midnight + n for n in range(1, day.height + 1)]
    assert day["layer"].unique().to_list() == ["log"]


def test_locomo_has_its_turns_sessions_and_questions(lab, shared):
    path = shared / "data" / "locomo" / "locomo.json"
    report = ingest(lab, path)
    source = json.loads(path.read_text(encoding="utf-8"))
    questions = sum(len(item["qa"]) for item in source)
    assert report.frame.select("read", "kept", "dropped").rows() == [
        (3435 + questions, 3435 + questions - 2, 2)
    ]
    with lab.reading() as con:
        spans, cases = store.read_spans(con), store.read_cases(con, "locomo")
        labels = store.read_labels(con, "locomo")
        turns = store.read_turns(con)
    assert (spans.height, turns.height, questions) == (3435, 3435, 1157)
    assert spans["session"].n_unique() == 156
    assert spans["scope"].n_unique() == 6
    assert cases.height == 1155
    # One question has no exact evidence id and is repaired from "D8:6; D9:17".
    assert set(labels["memory_id"]) <= set(spans["memory_id"])
    assert sorted(labels["case_id"].unique()) == cases["case_id"].to_list()
    # Every question is asked after every turn of its own conversation.
    newest = spans.group_by("scope").agg(pl.col("enters_at").max().alias("newest"))
    asked = cases.join(newest, on="scope")
    assert asked.height == cases.height
    assert (asked["asked_at"] == asked["newest"] + 1).all()


def test_a_second_import_of_everything_changes_nothing(lab, shared):
    folders = [
        shared / "data" / "transcripts" / "claude_code",
        shared / "data" / "transcripts" / "openclaw_memory",
        shared / "data" / "locomo",
    ]
    ingest(lab, folders)
    with lab.reading() as con:
        before = store.data_digest(con)
    again = ingest(lab, folders)
    with lab.reading() as con:
        assert store.data_digest(con) == before
    assert again.frame["read"].sum() == 0


def test_every_transcript_is_known_and_read_in_full(lab, shared):
    report = ingest(lab, shared / "data" / "transcripts")
    assert (report.frame["read"] == report.frame["kept"] + report.frame["dropped"]).all()
    assert (report.frame["kept"] >= 1).all()
    found = report.frame.select("file", "format").unique().rows()
    folders = {(file.split("/")[1], format) for file, format in found}
    assert folders == {
        ("chatgpt_export", "chatgpt"),
        ("claude_ai_export", "claude_ai"),
        ("claude_code", "claude_code"),
        ("codex", "codex"),
        ("gemini_cli", "gemini_cli"),
        ("iflow_zh", "iflow"),
        ("openclaw_memory", "markdown_folder"),
        ("pi", "pi"),
    }
