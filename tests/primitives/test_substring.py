"""Substring search: the three ways, worked by hand and against SQLite's own index."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recalltune.errors import ParameterError
from recalltune.rank import substring
from recalltune.rank.substring import SubstringIndex, substring_terms

NOTES = ["the ferry leaves at nine", "Ferry tickets, two", "a box of chalk", "渡口的船九点开"]


def test_terms_are_runs_of_letters_and_digits_without_underscores():
    terms = substring_terms("Ferry_09 船 ferry!")
    assert terms.segments == ("ferry", "09", "船")
    assert terms.phrases == ("ferry",)
    assert terms.trigrams == ("fer", "err", "rry")
    assert terms.like == ()


def test_short_words_are_asked_one_by_one_only_where_there_is_no_long_one():
    assert substring_terms("渡口 船").like == ("渡口", "船")
    assert substring_terms("渡口 船票呢").like == ()


def test_limits_of_the_probe():
    many = " ".join(f"w{n:02d}" for n in range(100))
    assert len(substring_terms(many).segments) == 64
    assert len(substring_terms(" ".join("abcdefghijklmnopqrstuvwxyz")).like) == 16
    long = substring_terms("".join(chr(0x4E00 + n) for n in range(200)))
    assert [len(phrase) for phrase in long.phrases] == [128]
    assert len(long.trigrams) == 64
    assert substring_terms("x " * 2000 + "far").segments == ("x",)


def test_a_phrase_is_found_in_any_case_and_ordered_by_bm25_then_the_later_row():
    hits = SubstringIndex.build(NOTES).search("FERRY")
    assert hits.mode == "phrase"
    # idf is the same for both; row 1 is shorter: 16 pieces of three against 22.
    assert hits.rows.tolist() == [1, 0]
    assert hits.occurrences.tolist() == [1.0, 1.0]
    twins = SubstringIndex.build(["ferry one", "ferry two", "ferry six", "no", "none", "nil"])
    assert twins.search("ferry").rows.tolist() == [2, 1, 0]


def test_trigrams_need_two_in_one_memory():
    index = SubstringIndex.build(["the chalky wall", "a chart", "xx"])
    # "chalk box" -> phrases "chalk", "box"; the first is in row 0.
    assert index.search("chalk box").mode == "phrase"
    # "chalice": cha, hal, ali, lic, ice. Row 0 holds cha and hal, row 1 holds cha alone.
    hits = index.search("chalice")
    assert (hits.mode, hits.rows.tolist(), hits.occurrences.tolist()) == ("trigram", [0], [2.0])


def test_a_paraphrase_is_not_found_and_like_is_not_tried_for_long_words():
    hits = SubstringIndex.build(["船九点开", "九"]).search("九 轮渡几时出发")
    assert (hits.mode, hits.rows.size) == ("none", 0)


def test_the_gist_is_searched_and_no_term_crosses_from_text_to_gist():
    index = SubstringIndex.build(["船票", "渡"], ["买了票", "口"])
    assert index.search("买了").rows.tolist() == [0]
    assert index.search("渡口").mode == "none"
    assert index.search("票").occurrences.tolist() == [2.0]


def test_a_way_whose_rows_may_not_be_returned_gives_place_to_the_next():
    index = SubstringIndex.build(["chalk chalice", "chalk box of hal", "nothing"])
    # "chalic" is a phrase of row 0 alone; without it the trigrams cha, hal find row 1.
    assert index.search("chalic").mode == "phrase"
    hits = index.search("chalic", allowed=np.array([False, True, True]))
    assert (hits.mode, hits.rows.tolist()) == ("trigram", [1])


def test_rows_outside_the_world_count_in_no_statistic():
    small = SubstringIndex.build(NOTES[:3])
    large = SubstringIndex.build([*NOTES[:3], "ferry " * 40, "ferry"])
    world = np.array([True, True, True, False, False])
    for query in ("ferry", "at", "chalkdust"):
        one, two = small.search(query), large.search(query, world=world)
        assert (one.mode, one.rows.tolist()) == (two.mode, two.rows.tolist())


def test_an_empty_query_or_corpus_finds_nothing():
    assert SubstringIndex.build([]).search("ferry").mode == "none"
    assert SubstringIndex.build(NOTES).search("… !").mode == "none"
    assert SubstringIndex.build(["", "ab"]).search("abc").mode == "none"


def test_wrong_input_is_refused_by_name():
    with pytest.raises(ParameterError, match="texts must be a list of tokens, got the text"):
        SubstringIndex.build("ferry")
    with pytest.raises(ParameterError, match="gists must be as many as the 2 texts, got 1"):
        SubstringIndex.build(["a", "b"], ["c"])
    with pytest.raises(ParameterError, match=r"world must have shape \(4,\), got \(2,\)"):
        SubstringIndex.build(NOTES).search("ferry", world=np.ones(2, dtype=np.bool_))


# SQLite's index as the probe uses it: the reference for what is found, and in which order.


def sqlite_search(texts: Sequence[str], gists: Sequence[str], query: str) -> tuple[str, list[int]]:
    con = sqlite3.connect(":memory:")
    con.execute("create virtual table f using fts5(raw, gist, tokenize = 'trigram')")
    con.executemany(
        "insert into f(rowid, raw, gist) values (?, ?, ?)",
        [(row, *both) for row, both in enumerate(zip(texts, gists, strict=True))],
    )
    terms = substring_terms(query)
    for mode, words in (("phrase", terms.phrases), ("trigram", terms.trigrams)):
        if not words:
            continue
        found = con.execute(
            "select rowid, rank, raw || char(10) || gist from f where f match ?",
            (" OR ".join(f'"{word}"' for word in words),),
        ).fetchall()
        fewest = 2 if mode == "trigram" else 1
        kept = [
            (float(f"{rank:.11e}"), -row)
            for row, rank, body in found
            if sum(word in body.lower() for word in words) >= fewest
        ]
        if kept:
            return mode, [-row for _, row in sorted(kept)]
    where = " or ".join("raw like ? or gist like ?" for _ in terms.like) or "0"
    values = [f"%{term}%" for term in terms.like for _ in range(2)]
    rows = con.execute(f"select rowid from f where {where} order by rowid desc", values).fetchall()
    return ("like" if rows else "none"), [row for (row,) in rows]


LETTERS = st.text(alphabet="abAB诗集 船", max_size=12)


@settings(max_examples=60)
@given(st.lists(st.tuples(LETTERS, LETTERS), min_size=1, max_size=8), LETTERS)
def test_mode_and_order_are_those_of_sqlite(rows, query):
    texts, gists = [row[0] for row in rows], [row[1] for row in rows]
    hits = SubstringIndex.build(texts, gists).search(query)
    assert (hits.mode, hits.rows.tolist()) == sqlite_search(texts, gists, query)


def test_bm25_of_a_rare_word_and_one_most_rows_hold_worked_by_hand():
    times = np.array([[2, 0, 0, 0], [1, 1, 1, 0]])
    # N = 4, average 10. The first word: df = 1, idf ln(3.5 / 1.5). The second: df = 3, its idf
    # ln(1.5 / 3.5) is negative, so it counts 1e-6. Lengths of 10, 5, 20 weigh 1, 0.625, 1.75.
    score = substring._bm25(times, np.array([10.0, 5.0, 20.0, 5.0]))
    rare = math.log(3.5 / 1.5) * 2 * 2.2 / (2 + 1.2)
    common = [1e-6 * 2.2 / 2.2, 1e-6 * 2.2 / (1 + 0.75), 1e-6 * 2.2 / (1 + 2.1), 0.0]
    np.testing.assert_allclose(score, [rare + common[0], *common[1:]], rtol=1e-12)


def test_the_score_behind_the_order_is_sqlites_to_1e_12():
    texts = ["ferry ferry at nine", "the ferry", *["something else"] * 6]
    con = sqlite3.connect(":memory:")
    con.execute("create virtual table f using fts5(raw, tokenize = 'trigram')")
    con.executemany("insert into f(rowid, raw) values (?, ?)", enumerate(texts))
    ranks = dict(con.execute("select rowid, rank from f where f match '\"ferry\"'").fetchall())
    # Pieces of three: 17, 7, 6 times 12; N = 8, df = 2.
    average, idf = (17 + 7 + 6 * 12) / 8, math.log((8 - 2 + 0.5) / (2 + 0.5))
    for row, times, length in ((0, 2, 17), (1, 1, 7)):
        norm = 1.2 * (1 - 0.75 + 0.75 * length / average)
        assert -ranks[row] == pytest.approx(idf * times * 2.2 / (times + norm), rel=1e-12)
    assert SubstringIndex.build(texts).search("ferry").rows.tolist() == sorted(ranks, key=ranks.get)
