"""Search logs: what production asked itself and showed."""

from __future__ import annotations

from typing import Any

import pytest

from recalltune import store
from recalltune.ingest import ingest


def search(query_id: Any = "q1", **changes: Any) -> dict[str, Any]:
    row = {
        "query_id": query_id,
        "query": "what did we decide",
        "asked_at": "2026-01-01T00:00:00Z",
        "scope": "vault:mine",
        "shown": ["b", "a"],
        "scores": [0.9, 0.5],
    }
    return row | changes


def test_a_search_keeps_its_order_scores_scope_and_time(lab, write):
    ingest(lab, write("log.jsonl", [search()]))
    with lab.reading() as con:
        row = store.read_search_log(con).row(0, named=True)
    assert row == {
        "query_id": "q1",
        "query": "what did we decide",
        "asked_at": 1767225600 * 10**6,
        "scope": "vault:mine",
        "shown": ["b", "a"],
        "scores": [0.9, 0.5],
    }


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"query_id": 7}, "query_id missing or not text"),
        ({"query": " "}, "query missing or not text"),
        ({"shown": "a"}, "shown is not a list of text ids"),
        ({"shown": ["a", 7]}, "shown is not a list of text ids"),
        ({"scores": [0.1]}, "scores and shown differ in length"),
        ({"scores": [0.1, "x"]}, "scores are not a list of finite numbers"),
        ({"scores": [0.1, float("nan")]}, "scores are not a list of finite numbers"),
        ({"scores": {"a": 1}}, "scores are not a list of finite numbers"),
    ],
)
def test_a_search_that_cannot_be_replayed_is_dropped_by_reason(lab, write, changes, reason):
    report = ingest(lab, write("log.jsonl", [search("ok"), search(**changes)]))
    assert report.dropped.select("reason", "lines").rows() == [(reason, [2])]
    assert report.frame.select("read", "kept", "dropped").rows() == [(2, 1, 1)]


def test_scores_may_be_absent_and_nothing_may_have_been_shown(lab, write):
    ingest(
        lab, write("log.jsonl", [search("q1", scores=[]), search("q2", shown=None, scores=None)])
    )
    with lab.reading() as con:
        log = store.read_search_log(con)
    assert log.select("shown", "scores").rows() == [(["b", "a"], []), ([], [])]


def test_a_repeated_query_id_is_dropped_within_a_file_and_across_files(lab, write):
    first = ingest(lab, write("a.jsonl", [search(), search(query="again")]))
    second = ingest(lab, write("b.jsonl", [search(), search("q2")]))
    assert first.dropped["reason"].to_list() == ["query_id repeated"]
    assert second.dropped["reason"].to_list() == ["query_id another file holds"]


def test_bug_92_scores_first_seen_late_are_all_there(lab, write):
    """N92. Kind: late column lost on reading lines."""
    early = [search(f"q{n:03}", scores=None) for n in range(100)]
    late = [search(f"q{n:03}", scores=[1, 0.5]) for n in range(100, 300)]
    ingest(lab, write("log.jsonl", early + late))
    with lab.reading() as con:
        scores = store.read_search_log(con)["scores"].to_list()
    assert scores == [[]] * 100 + [[1.0, 0.5]] * 200


def test_a_changed_log_replaces_its_own_searches(lab, write):
    ingest(lab, write("log.jsonl", [search("q1"), search("q2")]))
    ingest(lab, write("log.jsonl", [search("q2", query="new words")]))
    with lab.reading() as con:
        assert store.read_search_log(con).select("query_id", "query").rows() == [
            ("q2", "new words")
        ]
