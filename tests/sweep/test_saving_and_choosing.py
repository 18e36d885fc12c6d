"""A sweep is kept whole, read back equal, and chosen from with restraint."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from recalltune.candidates.build import candidates
from recalltune.errors import ContractError, ParameterError, checked
from recalltune.evaluate.run import evaluate
from recalltune.pipeline.config import RankingConfig
from recalltune.store import Lab, read_table
from recalltune.sweep.choose import choose
from recalltune.sweep.engine import SweepResult, sweep
from recalltune.sweep.looks import record_look
from recalltune.sweep.saving import load_sweep, save_sweep
from recalltune.sweep.space import Space
from small_lab import WORDS, Ask, Note, make_lab

BASE = checked(
    RankingConfig,
    {
        "arms": {"lexical": {}},
        "stages": [
            {"kind": "rrf"},
            {"kind": "decay", "family": "none"},
            {"kind": "select", "top_k": 5},
        ],
    },
)
SPACE = Space({"decay.family": ["none", "exponential"], "decay.half_life_days": [1, 5, 30]})


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    """The newest memory that matches is always the target, so that decay pays."""
    rng = np.random.default_rng(5)
    notes = [
        Note(f"m{n:03d}", " ".join(rng.choice(WORDS, 3)), float(n), layer=("log", "project")[n % 2])
        for n in range(60)
    ]
    asks = []
    for n in range(48):
        word = WORDS[n % len(WORDS)]
        match = [note for note in notes if word in note.text]
        split = "held_out" if n % 3 == 0 else "tune"
        asks.append(
            Ask(f"c{n:02d}", word, 61.0, (match[-1].memory_id,), session=f"s{n}", split=split)
        )
    return make_lab(tmp_path / "l.duckdb", notes, asks)


@pytest.fixture
def result(lab: Lab) -> SweepResult:
    return sweep(candidates(lab, "s", BASE), BASE, SPACE)


def test_every_point_scores_what_a_single_run_scores(lab: Lab, result: SweepResult) -> None:
    table = candidates(lab, "s", BASE)
    assert result.points.height == 4
    for point in range(result.points.height):
        single = evaluate(table, result.config(point), metrics=("ndcg@10",), split="tune")
        expected = single.cases["ndcg@10"].to_numpy()
        np.testing.assert_array_equal(result.values["ndcg@10"][point], expected)


def test_a_saved_sweep_reads_back_equal(lab: Lab, result: SweepResult) -> None:
    sweep_id = save_sweep(lab, result, case_set="s")
    back, table = load_sweep(lab, sweep_id)
    assert back.sweep_id == sweep_id
    assert back.points.equals(result.points)
    for metric, values in result.values.items():
        np.testing.assert_array_equal(back.values[metric], values)
    assert (
        choose(back, candidates=table).record()
        == choose(result, candidates=candidates(lab, "s", BASE)).record()
    )


def test_saving_again_writes_no_point_twice_and_fills_what_is_missing(
    lab: Lab, result: SweepResult
) -> None:
    sweep_id = save_sweep(lab, result, case_set="s")
    with lab.writing() as con:
        before = read_table(con, "sweep_point", sweep_id=sweep_id)
        con.execute("delete from sweep_point where point_id = ?", [before["point_id"][0]])
    with pytest.raises(ContractError, match="lacks 1 of 4 points"):
        load_sweep(lab, sweep_id)
    save_sweep(lab, result, case_set="s")
    with lab.reading() as con:
        assert read_table(con, "sweep_point", sweep_id=sweep_id).equals(before)


def test_a_sweep_of_other_data_is_refused(lab: Lab, result: SweepResult) -> None:
    sweep_id = save_sweep(lab, result, case_set="s")
    with lab.writing() as con:
        con.execute("update memory set salience = 0.5")
    with pytest.raises(ContractError, match="run recalltune sweep again"):
        load_sweep(lab, sweep_id)


def test_a_planted_gain_is_found_and_confirmed_on_the_held_out_third(
    lab: Lab, result: SweepResult
) -> None:
    choice = choose(result, candidates=candidates(lab, "s", BASE))
    assert choice.decision.verdict == "winner"
    assert choice.changes["decay.family"] == ("none", "exponential")
    assert choice.heldout is not None
    assert choice.heldout.lo > 0
    assert choice.heldout.n == 16
    assert "replaces the default" in choice.sentence()
    assert "On 16 held-out cases" in choice.sentence()
    json.dumps(choice.record(), allow_nan=False)


def test_a_sweep_that_changes_nothing_keeps_the_default(lab: Lab) -> None:
    flat = sweep(candidates(lab, "s", BASE), BASE, Space({"rrf.rrf_k": [10, 60]}))
    choice = choose(flat)
    assert choice.chosen == BASE
    assert choice.changes == {}
    assert "The default stays" in choice.sentence()
    assert "in sample" in choice.sentence()


def test_what_cannot_be_swept_or_chosen_is_named(lab: Lab, result: SweepResult) -> None:
    table = candidates(lab, "s", BASE)
    with pytest.raises(ParameterError, match=r"arms\.lexical\.k1.*changes the candidates"):
        sweep(table, BASE, Space({"arms.lexical.k1": [0.9, 1.2]}))
    with pytest.raises(ParameterError, match="6 points, more than 5; pass largest=6"):
        sweep(table, BASE, SPACE, largest=5)
    with pytest.raises(ParameterError, match="the sweep holds"):
        choose(result, "map")


def test_every_decision_on_the_held_out_cases_is_one_look(lab: Lab, result: SweepResult) -> None:
    table = candidates(lab, "s", BASE)
    choice = choose(result, candidates=table)
    assert [record_look(lab, choice, table) for _ in range(2)] == [1, 1]
    assert record_look(lab, choose(result, "recall_any@10", candidates=table), table) == 2
    assert record_look(lab, choice, table) == 2
    assert record_look(lab, choose(result), table) == 0


def test_looks_at_other_cases_are_counted_apart(lab: Lab, result: SweepResult) -> None:
    table = candidates(lab, "s", BASE)
    record_look(lab, choose(result, candidates=table), table)
    fewer = table.take([row for row in range(table.queries.height) if row != 3])
    assert fewer.queries["split"].to_list().count("held_out") == 15
    assert record_look(lab, choose(result, candidates=fewer), fewer) == 1
