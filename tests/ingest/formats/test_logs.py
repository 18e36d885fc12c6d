"""Logs of production systems: uses of memories, rounds of the allocator, the degrade ledger."""

from __future__ import annotations

import json

import pytest

from recalltune import store
from recalltune.errors import SourceError
from recalltune.ingest import FORMATS, Source, detect, ingest
from recalltune.store import read_table

USES = [
    {"memory_id": "m1", "used_at": "2026-01-02T00:00:00Z", "kind": "shown"},
    {"memoryId": "m1", "accessedAt": 1767398400000, "source": "auto-recall"},
    {"memory_id": "m1", "used_at": "2026-01-02T00:00:00Z", "kind": "shown"},
    {"memory_id": "m2", "at": "2026-01-03T00:00:00Z"},
    {"memory_id": "m2", "used_at": "soon", "kind": "shown"},
    {"memory_id": 7, "used_at": "2026-01-02T00:00:00Z"},
    {"memory_id": "m3", "used_at": "2026-01-02T00:00:00Z", "kind": "cite"},
]
LAYER = {"candidates": 10, "picked": 3, "dropped": 7, "tokens": 90, "cap": 240}
ROUND = {
    "at": 1767225600000,
    "tokens": 120,
    "maxTokens": 400,
    "items": 4,
    "perLayer": {"project": LAYER, "user": LAYER | {"picked": 1, "tokens": 30, "floor": 40}},
    "degradations": ["layer-dropped"],
}
HOP = {"kind": "semantic-arm", "reason": "index not ready", "at": "2026-01-01T00:00:00Z"}


def rows(lab: store.Lab, table: str) -> list[dict]:
    with lab.reading() as con:
        return read_table(con, table).to_dicts()


def reasons(report) -> dict[str, int]:
    return dict(report.dropped.select("reason", "count").iter_rows())


def found(path) -> str:
    return detect(Source(path, path.name, f"src/{path.name}")).format


def test_uses_are_read_under_either_spelling_and_each_once(lab, write):
    path = write("access.jsonl", USES)
    assert found(path) == "access_log"
    report = ingest(lab, path)
    assert report.frame.select("read", "kept", "dropped").rows() == [(7, 3, 4)]
    assert reasons(report) == {
        "the same use again": 1,
        "use without a usable time": 1,
        "memory_id missing or not text": 1,
        "unknown kind; known: recalled, shown, cited, manual": 1,
    }
    kept = [(row["memory_id"], row["kind"]) for row in rows(lab, "access")]
    assert sorted(kept) == [("m1", "recalled"), ("m1", "shown"), ("m2", "recalled")]
    assert "use that does not tell its kind, taken as recalled: 1" in report.notices


def test_a_use_two_files_tell_of_is_there_once_and_a_changed_file_takes_back_its_own(lab, write):
    ingest(lab, write("a.jsonl", USES[:1]))
    report = ingest(lab, write("b.jsonl", USES[:2]))
    assert report.frame.select("kept", "dropped", "already").rows() == [(1, 1, 1)]
    ingest(lab, write("b.jsonl", USES[3:4]))
    assert sorted(row["memory_id"] for row in rows(lab, "access")) == ["m1", "m2"]


@pytest.mark.parametrize(
    "content",
    [
        [ROUND],
        [{"tier0Meta": ROUND}],
        json.dumps([ROUND]),
        {"samples": [ROUND], "evicted": 3},
    ],
    ids=["lines", "wrapped", "list", "ring"],
)
def test_a_round_of_the_allocator_is_an_account_per_layer(lab, write, content):
    path = write("rounds.json", content)
    assert found(path) == "dsh_rounds"
    report = ingest(lab, path)
    assert report.frame.select("read", "kept").rows() == [(1, 1)]
    [project, user] = sorted(rows(lab, "packing"), key=lambda row: row["layer"])
    assert project == {
        "run_id": "log:src/rounds.json",
        "query_id": "2026-01-01T00:00:00+00:00",
        "layer": "project",
        **LAYER,
        "oversize": 0,
        "floor": None,
    }
    assert (user["picked"], user["floor"]) == (1, 40)
    assert [row["hop"] for row in rows(lab, "ledger")] == ["layer-dropped"]
    [run] = rows(lab, "run")
    assert (run["run_id"], run["kind"]) == ("log:src/rounds.json", "log")


def test_rounds_that_cannot_be_read_are_dropped_by_reason(lab, write):
    minus = ROUND | {"at": 1767225700000, "perLayer": {"log": LAYER | {"picked": -1}}}
    later = ROUND | {"at": 1767225800000, "perLayer": {"log": LAYER}}
    lines = [ROUND, ROUND, minus, later, {"at": 1, "perLayer": {}}]
    report = ingest(lab, write("rounds.jsonl", lines))
    assert reasons(report) == {
        "the same round again": 1,
        "a count of perLayer is not a whole number of 0 or more": 1,
        "no sample of a round: perLayer or at missing": 1,
    }
    assert len(rows(lab, "packing")) == 3


@pytest.mark.parametrize("content", [[HOP, HOP], {"entries": [HOP, HOP], "counts": {}}])
def test_a_ledger_keeps_its_order(lab, write, content):
    path = write("ledger.json", content)
    assert found(path) == "dsh_ledger"
    report = ingest(lab, path)
    assert report.frame["kept"].to_list() == [2]
    told = [(row["seq"], row["hop"], row["reason"]) for row in rows(lab, "ledger")]
    assert sorted(told) == [
        (1, "semantic-arm", "index not ready"),
        (2, "semantic-arm", "index not ready"),
    ]


def test_a_changed_log_replaces_its_own_accounts_and_hops(lab, write):
    ingest(lab, write("rounds.jsonl", [ROUND]))
    ingest(lab, write("ledger.jsonl", [HOP]))
    ingest(lab, write("rounds.jsonl", [ROUND | {"perLayer": {"log": LAYER}, "degradations": []}]))
    assert [row["layer"] for row in rows(lab, "packing")] == ["log"]
    assert [row["run_id"] for row in rows(lab, "ledger")] == ["log:src/ledger.jsonl"]


def test_a_long_reason_is_cut_and_counted(lab, write):
    report = ingest(lab, write("ledger.jsonl", [HOP | {"reason": "x" * 300}]))
    assert [len(row["reason"]) for row in rows(lab, "ledger")] == [200]
    assert "reason longer than 200 characters, cut: 1" in report.notices


def test_a_log_of_nothing_usable_is_an_error(lab, write):
    with pytest.raises(SourceError, match="1 records and none to keep"):
        ingest(lab, write("a.jsonl", [{"memory_id": "m", "used_at": "never"}]))
    assert {"access_log", "dsh_rounds", "dsh_ledger"} <= FORMATS.keys()


def searches(lab: store.Lab) -> list[tuple[str, str]]:
    with lab.reading() as con:
        return store.read_search_log(con).select("query_id", "query").sort("query_id").rows()


def test_what_two_logs_hold_stays_when_one_of_them_drops_it(lab, write):
    def asked(name: str, *numbers: int) -> None:
        lines = [{"query_id": f"q{n}", "query": f"{name} {n}", "shown": []} for n in numbers]
        ingest(lab, write(f"{name}.jsonl", lines))

    asked("a", 1, 2)
    asked("b", 2, 3)
    assert searches(lab) == [("q1", "a 1"), ("q2", "a 2"), ("q3", "b 3")]
    asked("a", 1)
    assert searches(lab) == [("q1", "a 1"), ("q2", "b 2"), ("q3", "b 3")]
    ingest(lab, write("u.jsonl", USES[:2]))
    ingest(lab, write("v.jsonl", USES[:1]))
    ingest(lab, write("u.jsonl", USES[3:4]))
    with lab.reading() as con:
        assert store.read_accesses(con).select("memory_id", "kind").rows() == [
            ("m1", "shown"),
            ("m2", "recalled"),
        ]
