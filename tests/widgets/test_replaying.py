"""Tables and sentences about a replay: what was read, what leaks, whether production agrees."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import recalltune as rt
from logged_searches import Search, log_searches, ranking
from recalltune.candidates.ledger import Hop
from recalltune.replay.future import without_time
from recalltune.replay.proof import Proof
from recalltune.replay.search_log import LogReplay
from recalltune.widgets.replaying import (
    agreement,
    churn_table,
    flattered,
    ledger_table,
    most_flattered,
    proof_table,
    turns_as_read,
)
from small_lab import Ask, Note, make_lab
from walked import SECRET, make_walk_lab

pytestmark = pytest.mark.slow

PLAIN = ranking()
NOTES = [
    Note("a", "tea tea tea tea", 4.0),
    Note("b", "tea tea tea one", 4.0),
    Note("c", "tea tea one two", 0.0),
    Note("d", "tea one two three", 4.0),
]


def test_the_transcript_as_read_counts_turns_by_session(tmp_path: Path) -> None:
    frame = turns_as_read(make_walk_lab(tmp_path / "l.duckdb")).frame
    assert frame["session"].to_list() == ["s0", "s1"]
    assert frame["asked"].to_list() == [2, 2]
    assert frame["answers"].to_list() == frame["side_turns"].to_list() == [0, 0]
    assert frame["first"].to_list() == ["2026-01-04 12:00 UTC", "2026-01-07 00:00 UTC"]


@pytest.fixture(scope="module")
def leak(tmp_path_factory: pytest.TempPathFactory) -> tuple[rt.Lab, rt.RankingConfig]:
    """On day 5 `then` answers; on day 8 a better one comes, and `old` is no longer current."""
    notes = [
        Note("then", "tea one two three", 1.0),
        Note("old", "tea tea tea one", 1.0, superseded=7.0),
        Note("next", "tea tea tea tea", 8.0),
        Note("never", SECRET, 1.0, gated=True),
    ]
    asks = [Ask("q", "tea", 5.0, ("then",)), Ask("r", "tea", 9.0, ("next",))]
    lab = make_lab(tmp_path_factory.mktemp("leak") / "l.duckdb", notes, asks)
    return lab, ranking(admit={"superseded": "hide"})


def test_a_static_index_flatters_hurts_and_shows_what_was_not_there(
    leak: tuple[rt.Lab, rt.RankingConfig],
) -> None:
    lab, config = leak
    then = rt.replay(lab, config, cases="s")
    with without_time(lab) as static:
        table, frame = flattered(then, rt.replay(static, config, cases="s"))
    # As of then: old, then. With the future known: next, then; old is hidden already.
    rows = {row["query_id"]: row for row in frame.to_dicts()}
    assert (rows["q"]["rank"], rows["q"]["static_rank"]) == (2, 2)
    assert (rows["r"]["rank"], rows["r"]["static_rank"]) == (1, 1)
    counts = dict(table.frame.iter_rows())
    assert counts == {
        "targets": 2,
        "higher than as of then": 0,
        "lower than as of then": 0,
        "lists": 2,
        "lists with a memory that did not exist then": 1,
        "memories shown before they existed": 1,
    }
    assert "surprise" not in str(table)
    assert most_flattered(frame) == "q"


def test_the_largest_gain_comes_first_and_a_target_not_shown_is_worth_nothing(
    leak: tuple[rt.Lab, rt.RankingConfig],
) -> None:
    lab, config = leak
    one = rt.set_many(config, {"select.top_k": 1})
    then = rt.replay(lab, one, cases="s")
    wide = rt.replay(lab, config, cases="s")
    table, frame = flattered(then, wide)
    assert frame.select("query_id", "rank", "static_rank", "gain").rows() == [
        ("q", None, 2, 0.5), ("r", 1, 1, 0.0)
    ]  # fmt: skip
    assert dict(table.frame.iter_rows())["higher than as of then"] == 1


def replayed(folder: Path, *shown: str) -> LogReplay:
    lab = make_lab(folder / "lab.duckdb", NOTES, [])
    log_searches(lab, [Search(f"q{n}", tuple(ids)) for n, ids in enumerate(shown)])
    return rt.replay_search_log(lab, PLAIN, production=PLAIN)


def test_production_that_shows_the_same_lists_is_agreed_with(tmp_path: Path) -> None:
    told = agreement(replayed(tmp_path, "abc", "abc"))
    assert told.verdict == "keep"
    assert told.claim == "2 of 2 lists are the ones production showed."
    assert told.causes.frame.height == 0


def test_another_order_is_another_list(tmp_path: Path) -> None:
    told = agreement(replayed(tmp_path, "abc", "bac"))
    assert told.verdict == "cannot decide"
    assert told.claim == (
        "1 of 2 lists are the ones production showed; to mend first: 2 memories shown by both, at "
        "another rank in 1 list, as a consequence."
    )


def test_what_production_alone_showed_has_the_stage_that_keeps_it_out(tmp_path: Path) -> None:
    told = agreement(replayed(tmp_path, "abd"))
    assert told.claim.startswith("0 of 1 lists")
    assert told.causes.frame.select("what", "why", "memories").rows() == [
        ("shown by production alone", "below the last place (select)", 1),
        ("shown by the replay alone", "as a consequence", 1),
    ]


def test_churn_stands_beside_its_noise_floor_for_every_config(tmp_path: Path) -> None:
    log = replayed(tmp_path, "abc")
    frame = churn_table({"one": log, "other": log}).frame
    assert frame["config"].unique(maintain_order=True).to_list() == ["one", "other"]
    assert "noise floor" in frame["measure"].to_list()


def test_degradations_are_counted_by_run_and_reason() -> None:
    hops = [Hop("empty_arm", "nothing", "q1", 1), Hop("empty_arm", "nothing", "q2", 2)]
    table = ledger_table({"turns": hops, "cases": [Hop("dense_arm_missing", "no model")]})
    assert table.frame.rows() == [
        ("turns", "empty_arm", "nothing", 2),
        ("cases", "dense_arm_missing", "no model", 0),
    ]
    assert ledger_table({"turns": []}).title == "Degradations: 0 hops in 1 run"


@pytest.mark.parametrize(("differing", "said"), [(0, ": proved."), (1, ": NOT PROVED.")])
def test_a_proof_says_whether_it_holds(differing: int, said: str) -> None:
    row = {"way": "deleted", "births": 1, "ends": 0, "uses": 0, "turns": 0, "steps": 2,
           "memories": 3, "numbers": 9, "differing": differing, "lists_differing": 0}  # fmt: skip
    assert said in proof_table(Proof(0, pl.DataFrame([row]), 4)).title
