"""Figures that hang on how texts are cut into words and how lists are fused.

CACM: titles and abstracts, Porter stems without Lucene's stop words, k1 0.9, b 0.4. MADial: each
user a scope, a query is every turn before the test turn; analyser "plain"; real dense lists.
CMRC 2018: questions and passages in Chinese, under every tokeniser.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import recalltune as rt
from adapters import collection, madial
from benchmarks.results import (
    BY_TOKENISER,
    CACM_JUDGEMENTS,
    DENSE_LIST,
    FUSED_LISTS,
    PLAIN_BM25,
    PORTER_BM25,
)
from recalltune.rank import PostingIndex

pytestmark = [pytest.mark.shared, pytest.mark.stress]


def value(table: rt.Candidates, config: rt.RankingConfig, metric: str = "map") -> float:
    return rt.evaluate(table, config, metrics=(metric,), split="all").value(metric)


# --- CACM -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("judged", "figure"), [("padded", 0.343), ("as published", 0.329)])
def test_cacm_with_the_analyser_of_the_published_run(
    shared: Path, tmp_path: Path, judged: str, figure: float
) -> None:
    lab = rt.open(tmp_path / "cacm.duckdb")
    collection.fill(lab, shared / "data" / "cacm", "cacm", qrels=CACM_JUDGEMENTS[judged])
    found = value(rt.candidates(lab, "cacm", PORTER_BM25), PORTER_BM25)
    assert found == pytest.approx(figure, abs=0.005)
    if judged == "as published":
        assert found == pytest.approx(0.3123, abs=0.02)


# --- MADial ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def madial_labs(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, rt.Lab]:
    labs = {}
    for language in ("zh", "en"):
        labs[language] = rt.open(tmp_path_factory.mktemp("madial") / f"{language}.duckdb")
        madial.fill(labs[language], shared / "data" / "madial_bench", language)
    return labs


@pytest.mark.parametrize(("language", "figure"), [("zh", 0.437), ("en", 0.322)])
def test_madial_with_plain_bm25_over_each_users_memories(
    madial_labs: dict[str, rt.Lab], language: str, figure: float
) -> None:
    table = rt.candidates(madial_labs[language], "madial", PLAIN_BM25)
    assert value(table, PLAIN_BM25) == pytest.approx(figure, abs=0.005)


@pytest.mark.parametrize(
    ("language", "model", "dense", "fused"),
    [
        ("zh", "stella", 0.524, 0.559),
        ("zh", "openai_te3_large", 0.614, 0.596),
        ("en", "bge_m3", 0.497, 0.465),
        ("en", "openai", 0.604, 0.478),
    ],
)
def test_rrf_of_bm25_and_a_real_dense_list_helps_only_between_equals(
    shared: Path,
    tmp_path: Path,
    madial_labs: dict[str, rt.Lab],
    language: str,
    model: str,
    dense: float,
    fused: float,
) -> None:
    folder = shared / "data" / "madial_bench"
    lists = madial.dense_lists(folder, language, model, tmp_path / "lists.npz")
    table = rt.candidates(madial_labs[language], "madial", FUSED_LISTS, encoder=lists)
    assert value(table, FUSED_LISTS) == pytest.approx(fused, abs=0.004)
    alone = rt.candidates(madial_labs[language], "madial", DENSE_LIST, encoder=lists)
    assert value(alone, DENSE_LIST) == pytest.approx(dense, abs=0.004)
    # A light word beside a strong list does less harm; a weight of 0 leaves the list as it was.
    rrf, *rest = FUSED_LISTS.stages
    silent, light = (
        FUSED_LISTS.with_(stages=(rrf.with_(weights={"lexical": weight}), *rest))
        for weight in (0.0, 0.1)
    )
    assert value(table, silent) == pytest.approx(value(alone, DENSE_LIST), abs=1e-12)
    assert (value(table, light) > value(table, FUSED_LISTS)) == (fused < dense)


# --- CMRC 2018 ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def passages(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> rt.Lab:
    lab = rt.open(tmp_path_factory.mktemp("cmrc") / "cmrc.duckdb")
    collection.fill(lab, shared / "data" / "cmrc2018_zh", "cmrc")
    return lab


FIRST_PLACES = {
    "words_cjk_bigrams": 0.945,
    "plain": 0.941,
    "openclaw_release": 0.945,
    "openclaw_main": 0.936,
    "probe": 0.945,
    "porter": 0.941,
}


@pytest.mark.parametrize("tokeniser", BY_TOKENISER)
def test_chinese_questions_find_their_passage_first(passages: rt.Lab, tokeniser: str) -> None:
    config = BY_TOKENISER[tokeniser]
    found = value(rt.candidates(passages, "cmrc", config), config, "recall@1")
    assert found == pytest.approx(FIRST_PLACES[tokeniser], abs=0.002)
    if tokeniser == "words_cjk_bigrams":
        assert found >= 0.941


@pytest.mark.parametrize(("cut", "figure"), [(str.split, 0.014), (list, 0.745)])
def test_words_between_blanks_and_single_characters_collapse_on_chinese(
    shared: Path, cut: Callable[[str], list[str]], figure: float
) -> None:
    folder = shared / "data" / "cmrc2018_zh"
    passages = list(collection.json_lines(folder / "corpus.jsonl"))
    index = PostingIndex.build([cut(one["text"]) for one in passages])
    right = dict(
        line.split("\t")[:2] for line in (folder / "qrels.tsv").read_text("utf-8").splitlines()
    )
    hits = [
        passages[int(np.argmax(index.scores(cut(one["text"]))))]["_id"] == right[one["_id"]]
        for one in collection.json_lines(folder / "queries.jsonl")
    ]
    assert np.mean(hits) == pytest.approx(figure, abs=0.003)
