"""What notebook 06 shows: counts that add up, MMR by hand, sentences that turn with the data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import recalltune as rt
from recalltune.errors import ParameterError
from recalltune.evaluate.ablation import IMPORTANCES
from recalltune.evaluate.run import evaluate
from recalltune.pipeline.run import run
from recalltune.rank import mmr
from recalltune.widgets.companions import companion_shelf
from recalltune.widgets.variety import (
    flooding,
    importance_grid,
    likeness,
    mmr_steps,
    most_flooded,
    who_acts,
    with_deferral,
    without_the_weakest,
)
from small_lab import Ask, Note, WordEncoder, make_lab

DATA = Path(__file__).resolve().parent.parent.parent / "data"
PORTED = rt.preset("hel847-ported")
BASE = rt.preset("textbook")


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    return tmp_path_factory.mktemp("companions")


@pytest.fixture(scope="module")
def keys(out):
    return companion_shelf("keys", data=DATA, out=out)


@pytest.fixture(scope="module")
def shelf(out):
    return companion_shelf("shelf", data=DATA, out=out)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Two questions: three notes say the same words to the first, none to the second."""
    notes = [Note(f"a{n}", "tea tea server", 0.0) for n in range(3)]
    notes += [Note("b", "tea garden", 0.0), Note("c", "backup release", 0.0)]
    asks = [Ask("q1", "tea server", 1.0, ("b",)), Ask("q2", "backup", 1.0, ("c",))]
    lab = make_lab(tmp_path_factory.mktemp("variety") / "l.duckdb", notes, asks)
    lexical = rt.set_many(BASE, {"mmr.pool": 20})
    return rt.candidates(lab, "s", lexical, encoder=WordEncoder()), lexical


def test_lists_are_counted_by_their_largest_cluster(table):
    cases, config = table
    counts, told = flooding(cases, evaluate(cases, config))
    assert counts["n"].sum() == 2
    assert set(counts["column"]) == {"2 or 3"}  # dense proposes all notes to both questions
    assert str(told) == "2 of 2 lists hold near-duplicates, up to 3 of the first 10"
    alone = evaluate(cases, rt.set_many(config, {"select.top_k": 1}))
    assert str(flooding(cases, alone)[1]).startswith("0 of 2 lists")


def test_the_most_flooded_of_equals_is_the_first(table):
    cases, config = table
    assert most_flooded(cases, evaluate(cases, config)) == "q1"


def test_the_rounds_are_those_mmr_walks(table):
    cases, config = table
    varied = rt.set_many(config, {"mmr.lambda_": 0.5})
    frame = mmr_steps(cases, varied, "q1").frame
    one = cases.take([0])
    state = run(one, rt.set_many(config, {"select.top_k": 1000}))
    pool = state.listed()[0]
    vectors = cases.vectors[one.span[0][pool]].astype(np.float64)
    relevance = state.score[0][pool]
    picked = mmr(relevance, vectors @ vectors.T, lambda_=0.5).tolist()
    assert frame["rank_before"].to_list() == [at + 1 for at in picked][: frame.height]
    assert frame["relevance"][0] == 1.0
    assert frame["largest_similarity"][0] == 0.0
    values = 0.5 * frame["relevance"] - 0.5 * frame["largest_similarity"]
    assert frame["value"].to_list() == pytest.approx(values.to_list())


def test_a_deferral_that_is_off_changes_no_list(table):
    cases, config = table
    with_off = with_deferral(config)
    assert [stage.kind for stage in with_off.stages][-2:] == ["defer", "select"]
    np.testing.assert_array_equal(
        run(cases, with_off).listed()[:, :2], run(cases, config).listed()[:, :2]
    )


def test_one_weak_candidate_changes_a_list_it_is_not_in(keys):
    table = without_the_weakest(keys, "spare key", PORTED)
    assert table.title == "The weakest candidate: oars stand in the rack"
    assert table.frame["with_all"][0] == table.frame["without_the_weakest"][0]
    assert table.frame["with_all"].to_list() != table.frame["without_the_weakest"].to_list()
    shown = table.frame["with_all"].to_list() + table.frame["without_the_weakest"].to_list()
    assert "oars stand in the rack" not in shown


def test_the_sentence_says_who_acts(shelf, keys):
    def told(corpus, query):
        return str(importance_grid(corpus, query, config=PORTED).parts[0][0])

    assert told(shelf, "红薯") == (
        "红薯 (sweet potato), repetitions: 4 with neither, 3 with importance, 4 with MMR: "
        "importance acts, MMR does not"
    )
    assert told(keys, "spare key") == (
        "spare key, repetitions: 4 with neither, 4 with importance, 1 with MMR: MMR acts, "
        "importance does not"
    )
    assert told(shelf, "风筝") == (
        "风筝 (kite): 0 repetitions; different first places: 2 over importance, 1 over MMR"
    )


def test_the_sentence_turns_with_what_is_repeated(keys):
    """The same lists; only what counts as a repetition differs."""
    (finding, frame), *_ = importance_grid(keys, "spare key", config=PORTED).parts
    assert "MMR acts" in str(finding)
    none = frame.with_columns(same_as=pl.lit(None, dtype=pl.String))
    assert "0 repetitions; different first places: 1 over" in str(
        who_acts(none, "spare key", (0.7, 1.0))
    )
    swapped = frame.with_columns(
        pl.when(pl.col("importance") == "none").then(None).otherwise("same_as").alias("same_as")
    )
    assert "importance acts, MMR does not" in str(who_acts(swapped, "spare key", (0.7, 1.0)))


def test_a_grid_outlines_repetitions_shows_english_and_escapes(shelf):
    grid = importance_grid(shelf, "红薯", config=PORTED)
    drawn = grid._repr_html_()
    assert drawn.count("border:1.5px solid #C4500F") == 4 * 3 + 2 * 4
    assert "1. 用户值班晚，买到生的红薯" in drawn
    assert "user worked late" in drawn
    assert "MMR, lambda 0.7" in drawn
    for importance in IMPORTANCES:
        assert f">{importance}</th>" in drawn
    assert "m005, m012*, m013*, m011*" in str(grid)


def test_a_companion_shows_nothing_that_was_not_told(shelf):
    assert dict(shelf.gate) == {
        "told": 12, "no attempt to share": 4, "an event is not told": 1, "no message": 1,
    }  # fmt: skip
    table = shelf.ask("风筝 阳台 铜铃", PORTED)
    assert "铜铃" not in "".join(table.spans["text"].to_list())


def test_an_unknown_corpus_is_refused_with_the_nearest(out):
    with pytest.raises(ParameterError, match=r"no corpus 'shelv' .*nearest: 'shelf'"):
        companion_shelf("shelv", data=DATA, out=out)


@pytest.mark.model
def test_likeness_shows_what_a_tokeniser_cannot_see():
    frame = likeness({"two": ("Привет, команда", "До встречи"), "one": ("tea", "tea")}).frame
    assert frame["plain"].to_list() == [1.0, 1.0]  # the first pair has no token there
    assert frame["words_cjk_bigrams"].to_list() == [0.0, 1.0]
    assert frame["cosine"][1] == pytest.approx(1.0)
