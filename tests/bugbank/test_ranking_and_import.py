"""Bug bank A1, A2, K67, L75, O110: kinds that an earlier state of the code let through."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import recalltune as rt
from recalltune.errors import ContractError, checked
from recalltune.evaluate.run import Evaluation
from recalltune.pipeline.config import RankingConfig
from recalltune.report.terminal import evaluation_lines
from recalltune.store import Lab, MemorySpan, insert_rows, put_texts, read_table
from recalltune.sweep import engine, saving
from small_lab import START, Ask, Note, WordEncoder, make_lab

pytestmark = pytest.mark.slow

NOTES = [Note("a", "ticket HX-4471 closed", 1.0), Note("b", "server room", 1.0)]


def config(*stages: dict[str, Any], arms: tuple[str, ...] = ("dense", "lexical")) -> RankingConfig:
    whole = [*stages, {"kind": "select"}]
    return checked(RankingConfig, {"arms": {arm: {} for arm in arms}, "stages": whole})


def run(folder: Path, setting: RankingConfig, query: str) -> Evaluation:
    lab = make_lab(folder / "lab.duckdb", NOTES, [Ask("q", query, 9.0, ("a",))])
    return rt.evaluate(rt.candidates(lab, "s", setting, encoder=WordEncoder()), setting)


def test_what_a_threshold_drops_is_counted_and_told(tmp_path: Path) -> None:
    """A1. Kind: threshold makes one arm unreachable."""
    # The only lexical hit is normalised to 1 and weighs 0.3, which is under 0.35.
    setting = config(
        {"kind": "weighted", "weights": {"lexical": 0.3}, "calibration": {"lexical": "min_max"}},
        {"kind": "threshold", "min_score": 0.35},
        arms=("lexical",),
    )
    found = run(tmp_path, setting, "HX-4471")
    assert found.hits.is_empty()
    assert (found.counts["dropped_by_threshold"], found.counts["empty_lists"]) == (1, 1)
    assert "empty_lists 1, dropped_by_threshold 1" in evaluation_lines(found)[-1]


def test_a_threshold_on_another_scale_than_rrf_empties_no_list_in_silence(tmp_path: Path) -> None:
    """A2. Kind: threshold on the wrong scale (RRF)."""
    # First in both arms is 2 / 61 = 0.0328, under 0.05.
    setting = config({"kind": "rrf"}, {"kind": "threshold", "min_score": 0.05})
    found = run(tmp_path, setting, "ticket HX-4471 closed")
    assert found.hits.is_empty()
    assert found.counts["dropped_by_threshold"] == 2


def test_a_memory_that_would_be_there_twice_is_refused(tmp_path: Path) -> None:
    """K67. Kind: repeated ids push a metric above 1."""
    lab = make_lab(tmp_path / "lab.duckdb", NOTES, [Ask("q", "ticket", 9.0, ("a",))])
    with lab.writing() as con:
        [digest] = put_texts(con, ["ticket HX-4471 open"])
        span = MemorySpan(memory_id="a", version=2, text_hash=digest, scope="team", known_at=START)
        insert_rows(con, [span])
    with pytest.raises(ContractError, match=r"'a' must have one text at a time.* 2 and 1 at once"):
        rt.candidates(lab, "s", config({"kind": "rrf"}, arms=("lexical",)))


@pytest.fixture
def swept(tmp_path: Path) -> tuple[Lab, rt.SweepResult]:
    lab = make_lab(tmp_path / "lab.duckdb", NOTES, [Ask("q", "ticket", 9.0, ("a",))])
    setting = config({"kind": "rrf"}, arms=("lexical",))
    table = rt.candidates(lab, "s", setting)
    return lab, rt.sweep(table, setting, rt.Space({"rrf.rrf_k": [1, 60]}), split="all")


def test_points_of_other_code_are_neither_loaded_nor_kept_as_if_new(
    swept: tuple[Lab, rt.SweepResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    """L75. Kind: stale cached result after code or data change."""
    lab, result = swept
    before = rt.save_sweep(lab, result, case_set="s")
    for module in (engine, saving):
        monkeypatch.setattr(module, "code_digest", lambda: "0ther0de")
    with pytest.raises(ContractError, match="and 0ther0de: run recalltune sweep again"):
        rt.load_sweep(lab, before)
    after = rt.save_sweep(lab, result, case_set="s")
    assert after != before
    with lab.reading() as con:
        heads = read_table(con, "sweep")
        points = read_table(con, "sweep_point", sweep_id=after)
    assert set(heads["sweep_id"]) == {before, after}
    assert points.height == result.points.height * len(result.values)
    assert rt.load_sweep(lab, after)[0].sweep_id == after


def test_chains_end_in_one_current_memory_and_circles_are_told(tmp_path: Path, lab: Lab) -> None:
    """O110. Kind: chains, cycles, dangling pointers."""

    def record(name: str, by: str | None = None) -> dict[str, Any]:
        found: dict[str, Any] = {
            "id": name,
            "text": f"tea {name}",
            "timestamp": "2026-01-01T00:00:00Z",
        }
        if by is not None:
            found["sourceMetadata"] = {"status": "superseded", "supersededBy": by}
        return found

    chain = [record("A", "B"), record("B", "C"), record("C")]
    loops = [record("D", "E"), record("E", "D"), record("F", "missing"), record("G", "G")]
    payload = {
        "version": "connector-v1",
        "source": "notes",
        "scope": "team",
        "producedAt": "2026-02-01T00:00:00Z",
        "records": [*chain, *loops],
    }
    (tmp_path / "notes.json").write_text(json.dumps(payload), encoding="utf-8")
    told = rt.ingest(lab, tmp_path / "notes.json").notices
    # D and E point at each other, G at itself.
    assert "superseded in a circle (none of them is current): 3" in told
    assert "superseded by a memory that is not there: 1" in told
    setting = config({"kind": "rrf"}, arms=("lexical",)).with_(admit={"superseded": "hide"})
    table = rt.ask(lab, "tea", setting)
    # F has no successor that is known, so it stays; that is the warning above.
    assert sorted(table.memory_id(0, column) for column in range(2)) == ["C", "F"]
    assert int(table.valid.sum()) == 2
