"""Decisions: computed, refused where they say too much, written so that others can read them."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import polars as pl
import pytest

from recalltune.errors import ContractError, ParameterError
from recalltune.report import decision, read_decisions

WHY = "a held-out interval that holds 0 (cell 14)"


@pytest.fixture
def ask(tmp_path):
    def ask(**given):
        return decision("How fast should memories fade?", number=3, would_change_it=WHY,
                        out=tmp_path, **given)  # fmt: skip

    return ask


def shifted(run, by, *, tokens=0):
    """The same run with ``by`` added to the metric of every case but every fifth."""
    rows = pl.int_range(pl.len())
    moved = pl.when(rows % 5 == 0).then(0.0).otherwise(by)
    cases = run.cases.with_columns(
        (pl.col("ndcg@10") * 0.5 + 0.25 + moved).alias("ndcg@10"),
        (pl.col("tokens") + tokens).alias("tokens"),
    )
    return replace(run, cases=cases)


def test_a_choice_from_a_sweep_is_written_with_effect_cost_and_what_is_left_open(ask, story):
    card = ask(choice=story.choice, default=story.default, chosen=story.contender,
               sweep=story.sweep, notebook="03_how_fast")  # fmt: skip
    record = card.record
    assert record.verdict == "change"
    assert [change.address for change in record.changes] == list(story.choice.changes)
    assert record.effect.basis == "held out"
    assert record.effect.difference == story.choice.heldout.mean
    assert record.cost.tokens == pytest.approx(
        story.contender.value("tokens") - story.default.value("tokens")
    )
    assert record.not_decided.tie_set == len(story.choice.decision.ties)
    assert record.stamp["notebook"] == "03_how_fast"
    assert card.path.name == "03.json"
    assert read_decisions(card.path.parent.parent) == [record]


def test_flips_to_failure_are_those_that_passed_before(ask, story):
    cost = ask(choice=story.choice, default=story.default, chosen=story.contender).record.cost
    before, after = story.default.cases["passed"], story.contender.cases["passed"]
    assert cost.flips_to_failure == int((before & ~after).sum())
    assert cost.flips_to_pass == int((~before & after).sum())
    assert len(cost.examples) <= 3


def test_a_clear_gain_is_a_change_and_the_reverse_is_not(ask, story):
    low, high = shifted(story.default, 0.0), shifted(story.default, 0.1)
    assert ask(default=low, chosen=high).record.verdict == "change"
    back = ask(default=high, chosen=low).record
    assert back.verdict == "keep"
    assert back.changes == ()


def test_no_change_where_the_interval_holds_zero_and_nothing_is_saved(ask, story):
    same = shifted(story.default, 0.0)
    assert ask(default=same, chosen=replace(same)).record.verdict == "keep"
    with pytest.raises(ParameterError, match="must not be 'change'"):
        ask(default=same, chosen=replace(same), verdict="change")


def test_a_change_that_saves_tokens_and_loses_at_most_the_margin_is_allowed(ask, story):
    # 40 cases that all lose 0.001: the widened interval would reach below the margin, so the
    # quality must differ in most sessions for the interval to be narrow.
    base = shifted(story.default, 0.0)
    leaner = replace(
        base, cases=base.cases.with_columns(pl.col("ndcg@10") - 0.001, pl.col("tokens") - 30)
    )
    assert ask(default=base, chosen=leaner).record.verdict == "change"
    dearer = replace(
        base, cases=base.cases.with_columns(pl.col("ndcg@10") - 0.001, pl.col("tokens") + 30)
    )
    assert ask(default=base, chosen=dearer).record.verdict == "keep"


def test_looking_at_many_settings_widens_the_interval_and_makes_it_in_sample(ask, story):
    low, high = shifted(story.default, 0.0), shifted(story.default, 0.1)
    once = ask(default=low, chosen=high).record.effect
    often = ask(default=low, chosen=high, settings_looked_at=500).record.effect
    assert often.lo < once.lo
    assert (once.basis, often.basis) == ("held out", "in sample")
    assert "500 settings" in often.correction


def test_a_quality_claim_on_tuned_cases_must_say_so(ask, story):
    runs = {"default": shifted(story.default, 0.0), "chosen": shifted(story.default, 0.1)}
    with pytest.raises(ParameterError, match="in sample"):
        ask(**runs, tuned_on=True, claim="A longer half-life gains 0.08")
    said = ask(**runs, tuned_on=True, claim="A longer half-life gains 0.08, in sample")
    assert said.record.claim.endswith("in sample")
    unsaid = ask(**runs, tuned_on=True)
    assert "in sample" in unsaid.record.claim
    free = ask(**runs, tuned_on=False, claim="A longer half-life gains 0.08")
    assert free.record.effect.basis == "held out"


def test_a_choice_without_held_out_cases_says_in_sample(ask, story):
    alone = replace(story.choice, heldout=None)
    assert "in sample" in ask(choice=alone).record.claim
    with pytest.raises(ParameterError, match="in sample"):
        ask(choice=alone, claim="Salience finds more")


def test_runs_that_differ_in_data_cases_or_encoder_decide_nothing(ask, story):
    run = story.default
    for stamp in ({"data": "ffffffff"}, {"encoder": "other", "vectors": "1"}):
        other = replace(run, stamp=replace(run.stamp, **stamp))
        if "encoder" in stamp:
            mine = replace(run, stamp=replace(run.stamp, encoder="one", vectors="2"))
        else:
            mine = run
        with pytest.raises(ContractError, match="not compared"):
            ask(default=mine, chosen=other)
    with pytest.raises(ContractError, match="the cases differ"):
        ask(default=run, chosen=replace(run, cases=run.cases.head(5)))


def test_a_choice_and_evaluations_of_other_configs_do_not_mix(ask, story):
    with pytest.raises(ContractError, match=r"evaluate choice\.chosen"):
        ask(choice=story.choice, default=story.default, chosen=story.default)
    moved = replace(story.choice, stamp={**story.choice.stamp, "data": "ffffffff"})
    with pytest.raises(ContractError, match="with data"):
        ask(choice=moved, default=story.default, chosen=story.contender)


def test_a_decision_about_procedure_needs_its_verdict_said_and_cannot_change_anything(ask):
    with pytest.raises(ParameterError, match="must be given"):
        ask()
    with pytest.raises(ParameterError, match="must not be 'change'"):
        ask(verdict="change")
    card = ask(verdict="keep", claim="612 memories can be judged; nothing has to be mended first")
    assert card.record.effect is None
    assert "nothing was compared" in str(card)


def test_a_more_careful_verdict_than_the_evidence_is_allowed(ask, story):
    card = ask(choice=story.choice, verdict="cannot decide", claim="in sample and too few sessions")
    assert card.record.verdict == "cannot decide"
    assert card.record.changes == ()


def test_the_table_holds_every_row_and_escapes_its_texts(tmp_path):
    card = decision("<script>alert(1)</script>?", number="x_1", verdict="keep", out=tmp_path,
                    would_change_it='"><img onerror=x>')  # fmt: skip
    shown = card._repr_html_()
    for row in ("Decision", "Effect", "Cost", "Not decided", "Would change it", "Stamp"):
        assert f">{row}</th>" in shown
        assert row in str(card)
    assert "<script" not in shown
    assert "<img" not in shown


def test_a_date_stands_there_only_where_the_build_was_given_one(ask, monkeypatch):
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    assert "date" not in ask(verdict="keep").record.stamp
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767225600")
    assert ask(verdict="keep").record.stamp["date"] == "2026-01-01"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "yesterday")
    with pytest.raises(ParameterError, match="SOURCE_DATE_EPOCH"):
        ask(verdict="keep")


def test_the_file_is_strict_json_and_a_spoilt_one_is_named(ask):
    card = ask(verdict="keep")
    assert json.loads(card.path.read_text())["verdict"] == "keep"
    card.path.write_text('{"verdict": "perhaps"}')
    with pytest.raises(ParameterError, match=r"03\.json: not a decision"):
        read_decisions(card.path.parent.parent)


def test_the_room_opens_without_the_chart_libraries():
    code = (
        "import sys, recalltune.report, recalltune.report.terminal;"
        "print([m for m in ('altair', 'vl_convert', 'torch') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_gain_the_held_out_cases_do_not_confirm_is_said_to_be_so(ask, story):
    held = replace(story.choice.heldout, lo=-0.1, hi=0.3)
    unsure = str(ask(choice=replace(story.choice, heldout=held)))
    sure = str(ask(choice=replace(story.choice, heldout=replace(held, lo=0.01))))
    assert "do not confirm it" in unsure
    assert "do not confirm it" not in sure
    assert "tuning cases: at least +0." in sure
