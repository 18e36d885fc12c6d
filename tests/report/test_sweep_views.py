"""Views of a sweep: equal to single evaluations of the same settings."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from recalltune.errors import ParameterError
from recalltune.evaluate.comparing import paired_runs
from recalltune.evaluate.run import evaluate
from recalltune.pipeline.address import set_many
from recalltune.sweep.engine import sweep
from recalltune.sweep.space import Space
from recalltune.sweep.views import binding, frontier, line, point_of, surface

HALF_LIFE = "decay.half_life_days"


def tuned(story, config):
    return evaluate(story.candidates, config, split="tune")


def test_a_line_holds_the_differences_of_single_evaluations(story):
    around = set_many(story.sweep.base, {"decay.family": "exponential"})
    frame = line(story.sweep, HALF_LIFE, "ndcg@10", around=around, off={"decay.family": "none"})
    assert frame["value"].to_list() == [15.0, 60.0, None]
    base = tuned(story, story.sweep.base)
    for row in frame.to_dicts():
        changes = {"decay.family": "none"} if row["value"] is None else {HALF_LIFE: row["value"]}
        single = paired_runs(base, tuned(story, set_many(around, changes)), "ndcg@10")
        assert (row["diff"], row["lo"], row["hi"], row["n"]) == pytest.approx(
            (single.diff, single.lo, single.hi, single.n)
        )


def test_the_base_differs_from_itself_by_nothing(story):
    frame = line(story.sweep, "salience.salience_weight", "ndcg@10")
    home = frame.filter(pl.col("value") == 0.0).row(0, named=True)
    assert (home["diff"], home["changed"]) == (0.0, 0)


def test_slices_of_a_line_share_the_cases_out(story):
    frame = line(story.sweep, "salience_weight", "ndcg@10", by="kind")
    for value in frame["value"].unique():
        part = frame.filter(pl.col("value") == value)
        whole = part.filter(pl.col("slice") == "all cases").row(0, named=True)
        kinds = part.filter(pl.col("slice") != "all cases")
        assert kinds["n"].sum() == whole["n"]
        assert (kinds["diff"] * kinds["n"]).sum() / whole["n"] == pytest.approx(whole["diff"])


def test_a_surface_flags_the_tie_set_of_the_choice(story):
    around = set_many(story.sweep.base, {"decay.family": "exponential"})
    frame = surface(
        story.sweep, HALF_LIFE, "salience.salience_weight", "ndcg@10",
        choice=story.choice, around=around, off={"decay.family": "none"},
    )  # fmt: skip
    assert frame.height == 2 * 3 + 1
    ties = {story.sweep.points["point_id"][point] for point in story.choice.decision.ties}
    for row in frame.drop_nulls("x").to_dicts():
        config = set_many(around, {HALF_LIFE: row["x"], "salience.salience_weight": row["y"]})
        assert row["tie"] == (config.fingerprint in ties)
    assert frame.filter(pl.col("x").is_null()).height == 1
    means = story.sweep.values["ndcg@10"].mean(axis=1)
    best = frame.sort("mean")["mean"][-1]
    assert best <= means.max() + 1e-12


def test_a_setting_that_was_not_swept_is_refused(story):
    with pytest.raises(ParameterError, match="holds no setting that ranks like"):
        point_of(story.sweep, set_many(story.sweep.base, {"select.top_k": 3}))
    with pytest.raises(ParameterError, match="is no axis of this sweep"):
        line(story.sweep, "select.top_k", "ndcg@10")
    with pytest.raises(ParameterError, match="the sweep holds ndcg@10"):
        line(story.sweep, HALF_LIFE, "mrr@10")
    with pytest.raises(ParameterError, match="by must be kind, lang or session"):
        line(story.sweep, "salience_weight", "ndcg@10", by="mood")


def test_an_axis_of_names_stays_text(story):
    around = set_many(story.sweep.base, {HALF_LIFE: 15})
    frame = line(story.sweep, "decay.family", "ndcg@10", around=around)
    assert frame["value"].to_list() == ["none", "exponential"]


def test_the_frontier_marks_settings_that_none_beats_for_less(story):
    frame = frontier(story.runs, "ndcg@10", default="lexical", chosen=story.contender_name)
    assert frame["tokens"].is_sorted()
    for row in frame.to_dicts():
        dearer_or_equal = [
            other["quality"] for other in frame.to_dicts()
            if other["label"] != row["label"] and other["tokens"] <= row["tokens"]
        ]  # fmt: skip
        assert row["frontier"] == (row["quality"] > max(dearer_or_equal, default=-np.inf))
    assert set(frame["role"]) == {"default", "chosen"}
    with pytest.raises(ParameterError, match="chosen 'x' is not among the results"):
        frontier(story.runs, "ndcg@10", chosen="x")


def test_an_axis_that_nothing_reads_does_not_bind(story):
    # Without a token budget no packer is ever asked.
    space = Space({"select.packer": ["skip", "prefix"], "salience.salience_weight": [0.0, 2.0]})
    swept = sweep(story.candidates, story.sweep.base, space)
    frame = binding(swept, "ndcg@10")
    dead = frame.filter(pl.col("address") == "select.packer").row(0, named=True)
    alive = frame.filter(pl.col("address") == "salience.salience_weight").row(0, named=True)
    assert (dead["changed"], dead["largest"]) == (0, 0.0)
    assert alive["changed"] > 0
    means = swept.values["ndcg@10"].mean(axis=1)
    assert alive["largest"] == pytest.approx(abs(means[0] - means[-1]))
