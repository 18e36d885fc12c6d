"""What a notebook concludes follows its results: swap two configs and the words turn round."""

from __future__ import annotations

import pytest

import recalltune as rt
from recalltune.charts import difference
from recalltune.evaluate.views import compare, flips
from recalltune.pipeline.config import parse_config
from small_lab import Ask, Note, make_lab

CONFIG = """
[arms.lexical]
[[stages]]
kind = "rrf"
[[stages]]
kind = "decay"
family = "none"
[[stages]]
kind = "select"
top_k = 3
"""
CASES = 40


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Every answer is an old note that says the words twice; decay hides it behind new ones."""
    notes, asks = [], []
    for n in range(CASES):
        notes.append(Note(f"old-{n:02}", f"topic{n} topic{n} kettle kettle", 1.0))
        notes += [Note(f"new-{n:02}-{i}", f"topic{n} kettle noise", 90.0) for i in range(3)]
        asks.append(Ask(f"q-{n:02}", f"topic{n} kettle", 100.0, (f"old-{n:02}",), session=f"s{n}"))
    lab = make_lab(tmp_path_factory.mktemp("turn") / "lab.duckdb", notes, asks)
    base = parse_config(CONFIG, "turn.toml")
    table = rt.candidates(lab, "s", base)
    fading = rt.set_many(base, {"decay.family": "exponential", "decay.half_life_days": 7})
    return table, rt.evaluate(table, base), rt.evaluate(table, fading)


def decided(default, chosen, out):
    return rt.report.decision(
        "Which of the two?", number="turn", default=default, chosen=chosen, metric="ndcg@10",
        tuned_on=False, would_change_it="other cases", out=out,
    ).record  # fmt: skip


def test_the_decision_turns_with_the_results(runs, tmp_path):
    _, plain, fading = runs
    there, back = decided(fading, plain, tmp_path), decided(plain, fading, tmp_path)
    assert (there.verdict, back.verdict) == ("change", "keep")
    assert there.effect.difference == pytest.approx(-back.effect.difference)
    assert there.effect.difference > 0
    assert there.changes
    assert not back.changes
    assert back.cost.flips_to_failure == there.cost.flips_to_pass == CASES


def test_the_title_turns_with_the_results(runs):
    _, plain, fading = runs
    titles = []
    for first, second in ((plain, fading), (fading, plain)):
        row = compare({"a": first, "b": second}, ["ndcg@10"]).row(1, named=True)
        values = {"diff": row["diff"], "lo": row["diff_lo"], "hi": row["diff_hi"], "n": row["n"]}
        titles.append(str(difference(values, subject="b", measure="nDCG@10", baseline="a")))
    assert titles[0].startswith("b costs ")
    assert titles[1].startswith("b gains ")
    assert titles[0].split()[2] == titles[1].split()[2]


def test_the_worst_loss_of_one_way_is_no_loss_the_other_way(runs):
    table, plain, fading = runs
    assert rt.widgets.worst_loss(flips(table, plain, fading)) == "q-00"
    assert rt.widgets.worst_loss(flips(table, fading, plain)) is None


def test_the_chart_of_moves_turns_with_the_results(runs):
    table, plain, fading = runs
    titles = [
        " ".join(rt.charts.case_flips(flips(table, *pair)).to_dict()["title"]["text"])
        for pair in ((plain, fading), (fading, plain))
    ]
    assert titles[0].startswith(f"0 cases improve, {CASES} get worse")
    assert titles[1].startswith(f"{CASES} cases improve, 0 get worse")
