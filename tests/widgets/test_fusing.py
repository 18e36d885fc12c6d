"""What the fusion notebook shows: swapped fusions, arms alone, scales, and places under RRF."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import recalltune as rt
from fused_lists import config, table
from recalltune.candidates.table import Candidates
from recalltune.errors import ParameterError
from recalltune.pipeline.config import preset
from recalltune.pipeline.run import run
from recalltune.widgets import (
    arm_scores,
    arms_alone,
    boosted,
    by_language,
    dead_knobs,
    fused_elsewhere,
    fusions,
    mixed_question,
    rank_curves,
    rank_steps,
    reach,
    weighted,
    with_fusion,
    word_searches,
)


def judged(lists: dict[str, list[str]], *targets: str, text: str = "tea", lang: str = "en") -> Any:
    """Candidates of one question that wants these memories, which exist all the time."""
    made = table(lists)
    labels = pl.DataFrame(
        [
            {"query_id": "q", "memory_id": one, "role": "target", "grade": 1, "place": None}
            | {"exists": True}
            for one in targets
        ]
    ).with_columns(pl.col("place").cast(pl.Int64))
    spans = made.spans.with_columns(
        text=pl.lit("tea"), layer=pl.lit("log"), event_at=pl.lit(0), enters_at=pl.lit(-9),
        leaves_at=pl.lit(None, pl.Int64),
    )  # fmt: skip
    queries = made.queries.with_columns(text=pl.lit(text), lang=pl.lit(lang))
    shape = made.span.shape
    more = {"superseded": np.zeros(shape), "retracted": np.zeros(shape)}
    return replace(
        made, labels=labels, spans=spans, queries=queries, features={**made.features, **more}
    )


LISTS = {"dense": ["a", "b", "c"], "lexical": ["c", "d"]}


def test_only_the_fusion_is_swapped():
    base = preset("textbook")
    for name in ("openclaw", "dsh-auto-memory", "recallnest-hybrid", "lancedb-pro"):
        other = with_fusion(base, name)
        assert other.stages[1:] == base.stages[1:]
        assert other.setup == base.setup
        assert other.stages[0] in preset(name).stages
        assert other.name == name


def test_a_weighted_sum_gives_the_lexical_arm_the_rest():
    stage = weighted(preset("textbook"), 0.7).stages[0]
    assert stage.weights == {"dense": 0.7, "lexical": 0.3}
    alone = weighted(config(), 1.0)
    assert run(table(LISTS), alone).alive.sum() == 3


def test_an_arm_alone_shows_its_own_rows_in_its_own_order():
    shown_by = {
        name: [int(column) for column in run(table(LISTS), setting).listed()[0] if column >= 0]
        for name, setting in arms_alone(config()).items()
    }
    assert shown_by == {"both": [2, 0, 1, 3], "dense alone": [0, 1, 2], "lexical alone": [2, 3]}


def test_a_bonus_is_added_right_behind_the_fusion():
    kinds = [stage.kind for stage in boosted(preset("textbook"), 0.1).stages]
    assert kinds[:3] == ["rrf", "recency_boost", "decay"]


def test_settings_differ_from_the_base_in_what_their_names_say():
    base = preset("textbook")
    some = fusions(base, shares=[0.7], presets=["openclaw"])
    assert list(some) == ["RRF", "weighted, dense 0.7", "openclaw"]
    assert some["RRF"] is base
    words = word_searches(base, tokenisers=["plain"], constants=[(0.9, 0.4)])
    assert list(words) == ["words", "plain", "k1 0.9, b 0.4"]
    assert words["words"].fingerprint == base.fingerprint
    assert words["plain"].arms.lexical.tokeniser == "plain"
    assert (words["k1 0.9, b 0.4"].arms.lexical.k1, words["k1 0.9, b 0.4"].arms.lexical.b) == (
        0.9,
        0.4,
    )


def test_reach_counts_each_target_once_and_says_what_fusion_can_show():
    frame = reach(judged(LISTS, "a", "c", "d"), depth=2).frame
    row = frame.filter(pl.col("language") == "all").row(0, named=True)
    # Among the first two: dense a b, lexical c d.
    assert row == {
        "language": "all", "targets": 3, "both": 0, "dense_only": 1, "lexical_only": 2,
        "neither": 0, "union": 1.0,
    }  # fmt: skip
    assert reach(judged(LISTS, "c"), depth=1).frame["lexical_only"].to_list() == [1, 1]
    assert reach(judged(LISTS, "b"), depth=1).frame["union"].to_list() == [0.0, 0.0]


def test_means_by_language_stand_beside_the_mean_of_all():
    cases = judged(LISTS, "a")
    alone = config({"kind": "rrf", "weights": {"lexical": 0.0}})
    runs = {"RRF": rt.evaluate(cases, config()), "dense": rt.evaluate(cases, alone)}
    frame = by_language(runs, "mrr@10")
    assert frame["metric"].unique().sort().to_list() == ["MRR@10", "MRR@10 (en)"]
    values = dict(zip(zip(frame["row"], frame["metric"], strict=True), frame["value"], strict=True))
    # Fused, c leads with 1/63 + 1/61; alone, a is first.
    assert values["RRF", "MRR@10"] == values["RRF", "MRR@10 (en)"] == 0.5
    assert values["dense", "MRR@10"] == 1.0


def test_scores_stand_on_every_scale_and_the_title_counts_targets():
    frame, told = arm_scores(judged(LISTS, "b", "d"), minimum=0.4)
    dense = frame.filter(pl.col("group") == "dense min-max").sort("value")
    # Made-up scores are 1 / rank: 1, 1/2, 1/3 become 1, 1/4, 0 of the range above 0.001.
    np.testing.assert_allclose(dense["value"], [0.001, 0.001 + 0.999 / 4, 1.0])
    assert dense["role"].to_list() == ["other", "target", "other"]
    # b is under 0.4 by min-max alone; d, the weakest of its list, too.
    assert "drops 100 % of the targets by" in str(told)
    assert "0 % by" in str(told)


def test_places_lose_what_the_formula_says():
    formulas = {"k 60": (60.0, 1.0), "flat": (60.0, 60.0)}
    row = rank_steps(formulas).frame.row(0, named=True)
    assert row["first"] == pytest.approx(1 / 61)
    assert row["to_second"] == pytest.approx(1 / 62 - 1 / 61)
    assert row["to_tenth"] == pytest.approx(1 / 70 - 1 / 61)
    flat = rank_steps(formulas).frame.row(1, named=True)
    # From place 1 to 5 with places divided by 60: 1.85e-5.
    assert flat["to_fifth"] == pytest.approx(-1.85e-5, abs=5e-8)
    frame, told = rank_curves(formulas)
    fifth = frame.filter((pl.col("curve") == "k 60") & (pl.col("rank") == 5))["weight"].item()
    assert fifth == pytest.approx(61 / 65)
    assert str(told).startswith("Place 5 is worth 6 % less than the first with k 60")


def test_the_question_shown_mixes_scripts_and_moves_most():
    cases = judged(LISTS, "a", text="GitHub 备份")
    runs = {"RRF": rt.evaluate(cases, config())}
    assert mixed_question(cases, runs) == "q"
    plain = judged(LISTS, "a", text="tea")
    assert mixed_question(plain, runs) == "q"
    none: Candidates = replace(plain, labels=plain.labels.clear())
    with pytest.raises(ParameterError, match="no question with a target"):
        mixed_question(none, runs)


def test_knobs_of_the_fusion_alone_are_listed():
    frame = dead_knobs(
        judged(LISTS, "a"), {"RRF": config({"kind": "rrf"}, {"kind": "select"})}
    ).frame
    assert set(frame["parameter"]) == {"rrf_k", "divisor", "weights.dense", "weights.lexical"}
    assert frame["fusion"].unique().to_list() == ["RRF"]


def test_published_lists_are_paired_with_their_fusion(tmp_path: Path):
    rows = [
        ("zh", "m", 0.5),
        ("zh", "RRF of BM25 and m", 0.4),
        ("en", "m", 0.3),
        ("zh", "BM25", 0.2),
    ]
    record = {
        "n": {"questions": 7, "memories": 9},
        "rankings": [
            {"language": lang, "ranking": name, "metric": "map", "mean": mean}
            for lang, name, mean in rows
        ],
    }
    (tmp_path / "madial_bench.json").write_text(json.dumps(record), encoding="utf-8")
    shown, told = fused_elsewhere(tmp_path)
    assert shown.frame.rows() == [("zh", "m", 0.5, 0.4, pytest.approx(-0.1))]
    assert str(told) == "Fused with BM25, 1 of 1 lists have a lower mean"
