"""TREC files: judgements to labels, runs to searches in the order trec_eval has them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalltune import store
from recalltune.errors import SourceError
from recalltune.ingest import ingest
from recalltune.ingest.formats import trec_run
from recalltune.ingest.formats.trec_run import as_trec_orders

QRELS = "q1 0 d1 2\nq1\t0  d2 0\nq2 Q0 d1 -1\n"
RUN = "q1 Q0 d1 1 0.5 bm25\nq2 Q0 d9 1 1e2 bm25\nq1 Q0 d2 2 7.5 bm25\nq1 Q0 d3 3 0.5 bm25\n"


def test_judgements_become_labels_of_the_set_their_folder_names(lab, write):
    report = ingest(lab, write("cacm/qrels.txt", QRELS))
    assert report.frame.select("format", "confidence", "read", "kept").rows() == [
        ("trec_qrels", 1.0, 3, 3)
    ]
    with lab.reading() as con:
        labels = store.read_table(con, "label", case_set="cacm")
    assert labels.select("case_id", "memory_id", "role", "grade").rows() == [
        ("q1", "d1", "target", 2),
        ("q1", "d2", "target", 0),
        ("q2", "d1", "target", 0),
    ]
    assert "grade below 0, kept as 0 (not relevant): 1" in report.notices


def test_a_run_becomes_one_search_a_query_best_first(lab, write):
    report = ingest(lab, write("bm25.run", RUN), scope="cacm")
    assert report.frame.select("format", "confidence", "read", "kept").rows() == [
        ("trec_run", 1.0, 4, 4)
    ]
    with lab.reading() as con:
        log = store.read_search_log(con)
    assert log.select("query_id", "query", "scope", "shown", "scores").rows() == [
        ("bm25:q1", "q1", "cacm", ["d2", "d3", "d1"], [7.5, 0.5, 0.5]),
        ("bm25:q2", "q2", "cacm", ["d9"], [100.0]),
    ]


def test_runs_of_two_tags_are_two_searches(lab, write):
    ingest(lab, write("both.run", RUN + RUN.replace("bm25", "dense")))
    with lab.reading() as con:
        assert store.read_search_log(con)["query_id"].to_list() == [
            "bm25:q1", "bm25:q2", "dense:q1", "dense:q2",
        ]  # fmt: skip


@pytest.mark.parametrize(
    ("format", "lines", "reasons"),
    [
        (
            "trec_qrels",
            "q1 0 d1 1\nq1 0 d1 1\nq1 0 d1 0\nq1 0 d2\nq1 0 d2 high\n\n",
            {
                "judgement repeated": [2],
                "judged again with another grade": [3],
                "not four fields between blanks": [4],
                "grade is not a whole number from -1,000,000 to 1,000,000": [5],
            },
        ),
        (
            "trec_run",
            "q Q0 d1 1 2 t\nq Q0 d1 2 1 t\nq Q0 d2 1 nan t\nq Q0 d3 1 inf t\nq Q0 d2 1 t\n",
            {
                "document repeated for its query": [2],
                "score is not a finite number": [3, 4],
                "not six fields between blanks": [5],
            },
        ),
    ],
)
def test_lines_that_cannot_be_used_are_named(lab, write, format, lines, reasons):
    report = ingest(lab, write("a.txt", lines), format=format)
    assert dict(report.dropped.select("reason", "lines").iter_rows()) == reasons
    assert report.frame["kept"].to_list() == [1]


@pytest.mark.parametrize(
    "text",
    [
        "1 0 d1 1.5\n",  # A grade is whole.
        "1 1 d1 1\n",
        "we met 3 bears\nat 9 o clock\n",
        "q1 Q0 d1 first 0.5 t\n",
        "q1 0 d1 1 0.5 t\n",
        "184 2 1\n",
    ],
)
def test_other_plain_text_is_neither(lab, write, text):
    with pytest.raises(SourceError, match="format not recognised"):
        ingest(lab, write("qrels.txt", text))


def test_of_a_walked_folder_only_texts_named_for_it_are_looked_at(lab, write, src):
    write("qrels.cacm.txt", QRELS)
    write("run.cacm.txt", RUN)
    write("a.qrels", "q9 0 d1 1\n")
    write("notes.txt", QRELS)
    report = ingest(lab, src)
    assert sorted(report.frame["file"].to_list()) == [
        "src/a.qrels", "src/qrels.cacm.txt", "src/run.cacm.txt",
    ]  # fmt: skip


def test_a_run_that_is_too_large_to_hold_is_refused(lab, write, monkeypatch):
    monkeypatch.setattr(trec_run, "MAX_DOCUMENT_BYTES", 10)
    with pytest.raises(SourceError, match=r"^src/a\.run:1: a run must be at most 10 bytes"):
        ingest(lab, write("a.run", RUN))


@given(
    scores=st.dictionaries(
        st.text("ab\u00e9\u4e2d", min_size=1, max_size=3),
        st.sampled_from([0.0, -0.0, 1.0, 1.0 + 1e-9, -2.5, 1e300, 1e301]),
        max_size=6,
    )
)
def test_a_better_score_stands_before_and_equal_ones_by_falling_bytes_of_the_id(scores):
    order = as_trec_orders(scores)
    assert sorted(order) == sorted(scores)
    with np.errstate(over="ignore"):
        single = {name: np.float32(score) for name, score in scores.items()}
    for before, after in pairwise(order):
        assert single[before] >= single[after]
        if single[before] == single[after]:
            assert before.encode() > after.encode()
