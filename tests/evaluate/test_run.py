"""One config over one case set: hand-worked metrics, splits, profiles, refusals."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from recalltune.candidates.build import candidates
from recalltune.candidates.table import Candidates
from recalltune.errors import ContractError, ParameterError, checked
from recalltune.evaluate.run import evaluate
from recalltune.evaluate.shown import rank
from recalltune.pipeline.config import RankingConfig
from recalltune.sweep.choose import difference
from small_lab import Ask, Note, WordEncoder, make_lab

NOTES = [
    Note("a", "tea garden", 1.0, layer="log"),
    Note("b", "tea", 2.0, layer="project"),
    Note("c", "server", 3.0, layer="log"),
    Note("d", "backup release", 3.0, layer="project"),
]
ASKS = [
    Ask("one", "tea", 10.0, targets=("b",), session="s1", split="tune"),
    Ask("two", "tea", 10.0, targets=("a", "d"), session="s2", split="held_out"),
    Ask("three", "garden", 10.0, session="s3", split="tune", kind="nothing_to_find"),
]


def lexical(**fields: Any) -> RankingConfig:
    return checked(
        RankingConfig,
        {"arms": {"lexical": {}}, "stages": [{"kind": "rrf"}, {"kind": "select"}], **fields},
    )


def table(path: Path, setting: RankingConfig, asks: list[Ask] = ASKS) -> Candidates:
    return candidates(make_lab(path / "l.duckdb", NOTES, asks), "s", setting)


def test_metrics_are_the_ones_worked_by_hand(tmp_path: Path) -> None:
    """ "tea" finds b (shorter) before a. Case two has the targets a at place 2 and d, not found."""
    result = evaluate(table(tmp_path, lexical()), lexical(), split="all")
    rows = {row["query_id"]: row for row in result.cases.to_dicts()}
    assert rows["one"]["ndcg@10"] == 1.0
    ideal = 1 + 1 / math.log2(3)
    assert rows["two"]["ndcg@10"] == pytest.approx((1 / math.log2(3)) / ideal, rel=1e-12)
    assert rows["two"]["mrr@10"] == 0.5
    assert rows["two"]["recall@10"] == 0.5
    assert rows["two"]["recall_any@10"] == 1.0
    assert rows["two"]["recall_all@10"] == 0.0
    assert rows["three"]["ndcg@10"] is None
    assert [rows[name]["passed"] for name in ("one", "two", "three")] == [True, False, False]
    assert result.counts["cases_without_target"] == 1


def test_an_undefined_metric_leaves_the_mean_and_is_counted(tmp_path: Path) -> None:
    summary = evaluate(table(tmp_path, lexical()), lexical(), split="all").summary()
    row = summary.row(by_predicate=pl.col("metric") == "recall@10", named=True)
    assert (row["mean"], row["n"], row["undefined"]) == (0.75, 2, 1)


def test_a_split_scores_its_own_cases_only(tmp_path: Path) -> None:
    made = table(tmp_path, lexical())
    held = evaluate(made, lexical(), split="held_out")
    assert held.cases["query_id"].to_list() == ["two"]
    assert held.counts["not_scored"] == 2
    tuned = evaluate(made, lexical())
    assert tuned.cases["query_id"].to_list() == ["one", "three"]
    assert tuned.counts["not_scored"] == 1
    with pytest.raises(ParameterError, match="one of tune, held_out, all, got 'test'"):
        evaluate(made, lexical(), split="test")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="no case is in the split 'held_out': 0 of 1"):
        evaluate(made.take([0]), lexical(), split="held_out")


def test_a_label_whose_memory_is_born_later_judges_nothing(tmp_path: Path) -> None:
    asks = [Ask("early", "tea", 1.5, targets=("a", "b"))]
    result = evaluate(table(tmp_path, lexical(), asks), lexical())
    assert result.counts["labels_not_yet"] == 1
    assert result.cases["recall@10"].to_list() == [1.0]


def test_every_profile_ranks_its_own_cases(tmp_path: Path) -> None:
    setting = lexical(profiles={"short": {"select.top_k": 1}})
    asks = [
        Ask("plain", "tea", 10.0, targets=("a",)),
        Ask("cut", "tea", 10.0, targets=("a",), profile="short"),
    ]
    result = evaluate(table(tmp_path, setting, asks), setting)
    shown = dict(result.cases.select("query_id", "shown").iter_rows())
    assert shown == {"plain": 2, "cut": 1}


def test_an_unknown_profile_is_an_error_and_none_at_all_is_one_setting(tmp_path: Path) -> None:
    asks = [Ask("q", "tea", 10.0, targets=("a",), profile="debug")]
    made = table(tmp_path, lexical(), asks)
    assert evaluate(made, lexical()).cases.height == 1
    with pytest.raises(ParameterError, match="profile 'debug' is unknown"):
        evaluate(made, lexical(profiles={"writing": {"select.top_k": 3}}))


def test_other_arms_need_other_candidates(tmp_path: Path) -> None:
    made = table(tmp_path, lexical())
    other = lexical(arms={"lexical": {"k1": 2.0}})
    with pytest.raises(ContractError, match="call candidates"):
        rank(made, other)


def test_accounts_add_up_per_layer(tmp_path: Path) -> None:
    setting = lexical(
        stages=[{"kind": "rrf"}, {"kind": "select", "top_k": 1, "floors": {"project": 1}}]
    )
    accounts = evaluate(table(tmp_path, setting), setting).accounts
    assert (accounts["candidates"] == accounts["picked"] + accounts["dropped"]).all()
    one = accounts.filter(accounts["query_id"] == "one").to_dicts()
    empty = dict.fromkeys(("reflection", "user", "whiteboard"), 0)
    assert {row["layer"]: row["picked"] for row in one} == {"log": 0, "project": 1} | empty
    assert {row["layer"]: row["floor"] for row in one} == {"log": 0, "project": 1} | empty


@pytest.mark.parametrize("layer", ["whiteboard", "notes"])
def test_a_layer_that_only_a_later_memory_has_changes_no_account(
    tmp_path: Path, layer: str
) -> None:
    asks = [Ask("early", "tea", 5.0)]
    later = [*NOTES, Note("later", "tea", 50.0, layer=layer)]
    for name in ("now", "then"):
        (tmp_path / name).mkdir()
    now = make_lab(tmp_path / "now" / "l.duckdb", NOTES, asks)
    then = make_lab(tmp_path / "then" / "l.duckdb", later, asks)
    told = [evaluate(candidates(lab, "s", lexical()), lexical()).accounts for lab in (now, then)]
    assert told[0].equals(told[1])


def test_what_is_noticed_of_a_held_out_case_is_told_with_it_alone(tmp_path: Path) -> None:
    silent = Ask("four", "!!!", 10.0, session="s4", split="held_out")
    made = table(tmp_path, lexical(), [*ASKS, silent])
    assert evaluate(made, lexical()).counts["wordless_queries"] == 0
    assert evaluate(made, lexical(), split="held_out").counts["wordless_queries"] == 1
    assert made.notices["wordless_queries"] == 1


def test_runs_over_other_data_are_not_compared(tmp_path: Path) -> None:
    one = evaluate(table(tmp_path, lexical()), lexical())
    (tmp_path / "other").mkdir()
    more = make_lab(tmp_path / "other" / "l.duckdb", [*NOTES, Note("e", "tea", 4.0)], ASKS)
    two = evaluate(candidates(more, "s", lexical()), lexical())
    with pytest.raises(ContractError, match="the data differ"):
        difference(one, two, "ndcg@10")


def test_the_same_run_twice_is_the_same_bytes(tmp_path: Path) -> None:
    setting = checked(
        RankingConfig,
        {"arms": {"lexical": {}, "dense": {}}, "stages": [{"kind": "rrf"}, {"kind": "mmr"}]},
    )
    lab = make_lab(tmp_path / "l.duckdb", NOTES, ASKS)
    runs = [candidates(lab, "s", setting, encoder=WordEncoder()) for _ in range(2)]
    assert evaluate(runs[0], setting).to_json() == evaluate(runs[1], setting).to_json()
    for name, values in runs[0].features.items():
        np.testing.assert_array_equal(values, runs[1].features[name])


def test_a_missing_encoder_is_said_and_a_dense_only_config_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from recalltune.candidates import build

    monkeypatch.setattr(build, "resolve", lambda name: (None, "nothing is installed"))
    both = checked(
        RankingConfig, {"arms": {"lexical": {}, "dense": {}}, "stages": [{"kind": "rrf"}]}
    )
    made = table(tmp_path, both)
    assert made.notices["dense_arm_missing"] == 1
    assert made.stamp.encoder == "missing: lexical only"
    (tmp_path / "d").mkdir()
    dense = checked(RankingConfig, {"arms": {"dense": {}}, "stages": [{"kind": "rrf"}]})
    with pytest.raises(ParameterError, match="nothing is installed"):
        table(tmp_path / "d", dense)


def test_one_of_several_alternative_answers_is_enough(tmp_path: Path) -> None:
    """Targets a or b, and d; only a and b can be found by "tea": recall is one half."""
    asks = [Ask("q", "tea", 10.0, targets=("a", "b", "d"))]
    made = table(tmp_path, lexical(), asks)
    either = replace(made, expectations={"q": {"alternatives": [["a", "b"]]}})
    assert evaluate(made, lexical()).cases["recall@10"].to_list() == [2 / 3]
    assert evaluate(either, lexical()).cases["recall@10"].to_list() == [1 / 2]


def test_a_set_that_only_asks_for_nothing_can_be_judged(tmp_path: Path) -> None:
    asks = [Ask("none", "zebra", 10.0, kind="nothing_to_find"), Ask("some", "tea", 10.0,
            kind="nothing_to_find")]  # fmt: skip
    result = evaluate(table(tmp_path, lexical(), asks), lexical())
    assert dict(result.cases.select("query_id", "passed").iter_rows()) == {
        "none": True,
        "some": False,
    }
    assert result.counts["cases_without_target"] == 2
