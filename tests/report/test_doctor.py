"""What the doctor names, each with the row that causes it, and nothing where all is well."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from recalltune import store
from recalltune.cli import app
from recalltune.report import doctor
from recalltune.report.doctor import examine_lab, examine_machine
from recalltune.store import Label, Memory, MemorySpan, SearchLogEntry, insert_rows, put_texts
from small_lab import Ask, Note, make_lab

NOW = datetime(2026, 6, 1, tzinfo=UTC)
LATER = datetime(2027, 1, 1, tzinfo=UTC)


def told(path: Path) -> str:
    return "\n".join(f"{finding.verdict} {finding.what}" for finding in examine_lab(path, NOW))


def test_a_lab_in_which_all_is_well_has_no_finding_but_its_size(tmp_path):
    lab = make_lab(tmp_path / "l.duckdb", [Note("m", "tea", 1.0)], [Ask("q", "tea", 2.0, ("m",))])
    assert told(lab.path) == "ok 1 memories, 0 turns"


@pytest.mark.parametrize(
    ("fields", "span", "finding"),
    [
        ({}, {"event_at": None}, "note 1 of 2 memories have no event time"),
        ({}, {"event_at": LATER}, "problem 1 memories and turns are dated in the future"),
        (
            {"layer": "diary"},
            {},
            "note layer of 1 memories that is none of ours: diary",
        ),
        (
            {"origin": "neighbour"},
            {},
            "note origin of 1 memories that is none of ours",
        ),
        ({"duplicate_of": "m"}, {}, "note 1 memories (50.0%) repeat another one"),
        (
            {"status": "superseded", "superseded_by": "gone"},
            {},
            "superseded by one that is not there",
        ),
        ({"status": "retracted"}, {}, "superseded or retracted at an unknown time"),
        ({}, {"gated": True}, "ok 1 versions of memories were never told"),
    ],
)
def test_each_ailment_is_named(tmp_path, fields, span, finding):
    lab = make_lab(tmp_path / "l.duckdb", [Note("m", "tea", 1.0)], [])
    with lab.writing() as con:
        [text] = put_texts(con, ["coffee"])
        times = {"event_at": NOW, "known_at": NOW} | span
        rows = [Memory(memory_id="n", text_hash=text, **fields)]
        insert_rows(con, [*rows, MemorySpan(memory_id="n", text_hash=text, **times)])
    assert finding in told(lab.path)


def test_labels_cases_and_searches_that_name_nothing_are_named(tmp_path):
    lab = make_lab(tmp_path / "l.duckdb", [Note("m", "tea", 1.0)], [Ask("q", "tea", 2.0)])
    with lab.writing() as con:
        search = SearchLogEntry(query_id="s", query="tea", shown=("m", "gone"))
        insert_rows(con, [Label(case_set="s", case_id="other", memory_id="gone"), search])
    found = told(lab.path)
    assert "problem 1 labels name a memory that is not there" in found
    assert "note 1 cases have no label" in found
    assert "note 1 searches of the log show a memory that is not there" in found


def test_vectors_of_two_encoders_and_gaps_are_named(tmp_path):
    lab = make_lab(tmp_path / "l.duckdb", [Note("m", "tea", 1.0), Note("n", "coffee", 1.0)], [])
    texts = [store.text_hash("tea"), store.text_hash("coffee")]
    with lab.writing() as con:
        store.put_vectors(con, "a@1", texts, np.eye(2, dtype=np.float32))
        store.put_vectors(con, "b@1", texts[:1], np.eye(1, 2, dtype=np.float32))
    found = told(lab.path)
    assert "ok a@1: 2 vectors of width 2" in found
    assert "note b@1: vectors for 50% of the memories" in found
    assert "note vectors of 2 encoders are here: a, b" in found


def test_a_lab_that_others_may_read_or_that_is_none_is_a_problem(tmp_path):
    lab = make_lab(tmp_path / "l.duckdb", [Note("m", "tea", 1.0)], [])
    lab.path.chmod(0o644)
    assert "problem others may read l.duckdb (mode 0644)" in told(lab.path)
    odd = tmp_path / "odd.duckdb"
    odd.write_bytes(b"no database" * 400)
    assert told(odd).startswith("problem")
    answer = CliRunner().invoke(app, ["doctor", "--db", str(odd)])
    assert answer.exit_code == 1


def test_a_machine_without_chinese_signs_is_told_so(monkeypatch):
    class Answer:
        stdout = ""

    monkeypatch.setattr(doctor.subprocess, "run", lambda *_, **__: Answer())
    assert "no font with Chinese signs" in "".join(finding.what for finding in examine_machine())
