"""Bug bank G50, H51, H52, O107, O110, where a search log is replayed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from logged_searches import Search, log_searches, ranking
from recalltune.replay.log_views import churn_rows
from recalltune.replay.search_log import LogReplay, replay_search_log
from recalltune.report.replaying_log import log_replay_lines
from recalltune.store import Access, Lab, insert_rows, read_accesses
from small_lab import Note, WordEncoder, instant, make_lab

pytestmark = pytest.mark.slow

DENSE = ranking(top_k=4, arms={"lexical": {"width": 5}, "dense": {"width": 5}})


class LeafEncoder(WordEncoder):
    """Says of a leaf what it says of tea: near as a vector, without a word in common."""

    encoder_id = "leaf@1"

    def encode(self, texts: Sequence[str], kind: str) -> np.ndarray:
        return super().encode([text.replace("leaf", "tea") for text in texts], kind)


def said(replayed: LogReplay) -> str:
    """All that is ever told of a replay."""
    frames = [replayed.queries, replayed.differences, replayed.summary(), churn_rows(replayed)]
    told = [*replayed.objects(), dict(replayed.counts), *(frame.to_dicts() for frame in frames)]
    hops = [vars(hop) for hop in replayed.ledger]
    whole = json.dumps([told, hops, log_replay_lines(replayed)], default=str)
    # The digest of the data is of all of them, whatever a query may see.
    return whole.replace(replayed.stamp.data, "data")


def lab_of(path: Path, notes: Sequence[Note], searches: Sequence[Search]) -> Lab:
    lab = make_lab(path, notes, [])
    log_searches(lab, searches)
    return lab


TEAM = [
    Note(one, f"tea {word}", 1.0)
    for one, word in zip("abcd", ["one", "two", "tea", "four"], strict=True)
]
LOG = [Search(f"q{n:02}", ("b", "a", "c"), day=2.0 + n / 4) for n in range(20)]


def test_a_scope_hidden_from_one_arm_is_hidden_from_all_and_from_every_count(
    tmp_path: Path,
) -> None:
    """O107. Kind: filter in one arm only; and section H, 52. Kind: counts leak other scopes."""
    hidden = [Note("z-leaf", "leaf", 1.0, scope="B"), Note("z-tea", "tea", 2.0, scope="B")]
    log = [*LOG, Search("h", ("b", "z-leaf", "a"), day=8.0)]
    with_them = lab_of(tmp_path / "with.duckdb", [*TEAM, *hidden], log)
    without = lab_of(tmp_path / "without.duckdb", TEAM, log)
    fading = DENSE.with_(stages=({"kind": "rrf"}, {"kind": "decay"}, *DENSE.stages[1:]))
    one, other = (
        replay_search_log(lab, DENSE, production=fading, encoder=LeafEncoder(), cut="own")
        for lab in (with_them, without)
    )
    assert one.queries["unreplayable"].sum() == 1
    assert "z-" not in said(one)
    assert said(one) == said(other)


def test_a_row_of_the_scope_is_found_however_many_others_are_nearer(tmp_path: Path) -> None:
    """H51. Kind: filter after top-k."""
    crowd = [Note(f"z{n:03}", "tea", 1.0, scope="B") for n in range(120)]
    far = Note("far", "tea one two three four", 1.0)
    lab = lab_of(tmp_path / "l.duckdb", [*crowd, far], [Search("q", ("far",))])
    replayed = replay_search_log(lab, DENSE, production=DENSE, encoder=LeafEncoder())
    assert replayed.queries.select("c_shown", "churn", "unreplayable").row(0) == (1, 0.0, 0)


def test_a_replay_reads_and_a_second_one_is_the_same_to_the_byte(tmp_path: Path) -> None:
    """G50. Kind: evaluation changes what it measures."""
    lab = lab_of(tmp_path / "l.duckdb", TEAM, LOG)
    used = [
        Access(memory_id=one, used_at=instant(1.5 + n / 8), kind="recalled")
        for n, one in enumerate("abbbccd")
    ]
    with lab.writing() as con:
        insert_rows(con, used)
    decay = {"kind": "decay", "half_life_days": 2.0, "reinforcement": 0.5}
    reinforced = ranking(decay, top_k=2)
    before = lab.path.read_bytes()
    first, second = (replay_search_log(lab, reinforced, production=ranking()) for _ in range(2))
    assert said(first) == said(second)
    assert lab.path.read_bytes() == before
    with lab.reading() as con:
        assert read_accesses(con).height == len(used)
    # Use counts, as of each search: the first one is asked before the last use of b.
    lists = first.differences.filter(first.differences["change"] != "left")
    assert lists["query_id"].n_unique() > 1


def test_a_log_written_before_a_correction_is_not_blamed_for_it(tmp_path: Path) -> None:
    """O110. Kind: chains, cycles, dangling pointers."""
    notes = [
        Note("A", "tea one", 1.0, superseded=3.0),
        Note("B", "tea two", 3.0, superseded=6.0),
        Note("C", "tea three", 6.0),
        # A circle: neither of them holds. A successor that is not there: F does.
        Note("D", "tea four", 1.0, superseded=2.0),
        Note("E", "tea five", 1.0, superseded=2.0),
        Note("F", "tea six", 1.0),
    ]
    days = {"first": (2.5, "A"), "second": (4.0, "B"), "third": (9.0, "C")}
    searches = [Search(name, (one, "F"), day=day) for name, (day, one) in days.items()]
    lab = lab_of(tmp_path / "l.duckdb", notes, [*searches, Search("stale", ("A", "F"), day=9.0)])
    with lab.writing() as con:
        for one, by in (("A", "B"), ("B", "C"), ("D", "E"), ("E", "D"), ("F", "missing")):
            con.execute("update memory set superseded_by = ? where memory_id = ?", [by, one])
    hiding = ranking(admit={"superseded": "hide"})
    replayed = replay_search_log(lab, hiding, production=hiding, cut="own")
    churn = dict(replayed.queries.select("query_id", "churn").iter_rows())
    assert churn == {"first": 0.0, "second": 0.0, "third": 0.0, "stale": 0.5}
    assert replayed.differences.select("query_id", "memory_id", "change", "fate", "by").rows()[
        0
    ] == ("stale", "A", "left", "status", "B")
    assert not {"D", "E"} & set(replayed.differences["memory_id"])
