"""A transcript walked through time: each step sees what stood then, and its account adds up."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest

from recalltune.errors import ContractError, ParameterError, checked
from recalltune.pipeline.config import RankingConfig
from recalltune.replay.steps import replay
from recalltune.store import Lab, Turn, insert_rows, put_texts, read_table, text_hash
from small_lab import START, Ask, Note, instant, make_lab

pytestmark = pytest.mark.slow

CONFIG = checked(
    RankingConfig,
    {"arms": {"lexical": {}}, "stages": [{"kind": "rrf"}, {"kind": "select", "top_k": 2}]},
)
NOTES = [
    Note("old", "tea garden", 1.0, layer="project"),
    Note("new", "tea server", 5.0),
    Note("secret", "tea surprise", 1.0, gated=True),
]


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    made = make_lab(tmp_path / "l.duckdb", NOTES, [])
    turns = [
        ("t1", "user", "tea", 3.0, False),
        ("t2", "assistant", "tea", 4.0, False),
        ("t3", "user", "tea", 6.0, False),
        ("t4", "user", "tea", 6.0, True),
    ]
    with made.writing() as con:
        put_texts(con, ["tea"])
        insert_rows(
            con,
            [
                Turn(
                    turn_id=turn_id,
                    session_id="s",
                    seq=seq,
                    role=role,
                    text_hash=text_hash(text),
                    said_at=START + timedelta(days=day),
                    source="test",
                    sidechain=side,
                )
                for seq, (turn_id, role, text, day, side) in enumerate(turns)
            ],
        )
    return made


def test_each_user_turn_sees_the_memory_as_it_stood(lab: Lab) -> None:
    walked = replay(lab, CONFIG)
    assert walked.steps["query_id"].to_list() == ["t1", "t3"]
    hits = walked.hits.group_by("query_id", maintain_order=True).agg("memory_id").to_dicts()
    assert {row["query_id"]: sorted(row["memory_id"]) for row in hits} == {
        "t1": ["old"],
        "t3": ["new", "old"],
    }


def test_an_untold_memory_is_in_no_count(lab: Lab) -> None:
    walked = replay(lab, CONFIG)
    assert walked.steps["candidates"].to_list() == [1, 2]
    assert "secret" not in str(walked.hits.to_dicts()) + str(walked.accounts.to_dicts())


def test_accounts_add_up_at_every_step(lab: Lab) -> None:
    accounts = replay(lab, CONFIG).accounts
    assert (accounts["candidates"] == accounts["picked"] + accounts["dropped"]).all()


def test_a_turn_without_a_word_is_told_in_the_ledger(lab: Lab) -> None:
    assert replay(lab, CONFIG).ledger == ()
    with lab.writing() as con:
        [digest] = put_texts(con, ["?!"])
        con.execute("update turn set text_hash = ? where turn_id = 't1'", [digest])
    wordless, empty = replay(lab, CONFIG).ledger
    assert wordless.hop == "wordless_queries"
    assert wordless.reason == "1 queries have no word: no lexical proposal for them"
    assert (empty.hop, empty.query_id) == ("empty_arm", "t1")
    assert empty.asked_at == int(instant(3.0).timestamp()) * 1_000_000


def test_replaying_writes_nothing_unless_asked_and_then_the_same_twice(lab: Lab) -> None:
    before = lab.path.read_bytes()
    first = replay(lab, CONFIG)
    assert lab.path.read_bytes() == before
    replay(lab, CONFIG, save=True)
    with lab.reading() as con:
        packing = read_table(con, "packing", run_id=first.run_id)
        hits = read_table(con, "hit", run_id=first.run_id)
    assert packing.height == first.accounts.height
    assert hits.height == first.hits.height
    replay(lab, CONFIG, save=True)
    with lab.reading() as con:
        assert read_table(con, "hit", run_id=first.run_id).equals(hits)


def test_an_unknown_session_and_an_empty_one_are_named(lab: Lab) -> None:
    with pytest.raises(ParameterError, match=r"session 'x' is unknown; known: s"):
        replay(lab, CONFIG, session="x")
    with lab.writing() as con:
        con.execute("update turn set role = 'assistant'")
    with pytest.raises(ParameterError, match="no dated user turn"):
        replay(lab, CONFIG)


CASES = [
    Ask("c1", "tea", 6.0, ("new", "none", "secret", "later"), session="x"),
    Ask("c2", "tea", 6.0, (), session="y", kind="nothing_to_find"),
    Ask("c3", "nowhere", 6.0, ("old",), session="y"),
    Ask("c4", "tea", 6.0, ("old",), session="z", split="held_out"),
]


@pytest.fixture
def cased(tmp_path: Path) -> Lab:
    return make_lab(tmp_path / "c.duckdb", [*NOTES, Note("later", "tea", 9.0)], CASES)


def test_cases_are_walked_with_their_labels_and_held_out_ones_are_not(cased: Lab) -> None:
    walked = replay(cased, CONFIG, cases="s")
    assert walked.steps.select("query_id", "asks").rows() == [
        ("c1", "answerable"),
        ("c2", "nothing_to_find"),
        ("c3", "answerable"),
    ]
    assert walked.counts["held_out_cases"] == 1
    assert walked.fates.select("query_id", "memory_id", "fate").rows() == [
        ("c1", "later", "not_yet"),
        ("c1", "new", "shown"),
        ("c1", None, "unknown_id"),  # there is none, or nobody was told of it
        ("c1", None, "unknown_id"),
        ("c3", "old", "arms"),
    ]
    one = replay(cased, CONFIG, cases="s", session="y")
    assert one.steps["query_id"].to_list() == ["c2", "c3"]


def test_abstaining_where_it_is_wanted_and_where_it_is_not_are_never_one_number(
    cased: Lab,
) -> None:
    nothing, answerable = replay(cased, CONFIG, cases="s").abstentions().to_dicts()
    assert (nothing["asks"], nothing["steps"], nothing["abstained"]) == ("nothing_to_find", 1, 0)
    assert nothing["tokens_shown"] > 0
    assert (answerable["steps"], answerable["abstained"], answerable["share"]) == (2, 1, 0.5)
    assert answerable["no_evidence"] == 1


def test_a_step_as_an_object_is_numbers_and_ids_that_add_up_and_no_text(cased: Lab) -> None:
    walked = replay(cased, CONFIG, cases="s")
    first, _, empty = walked.objects()
    assert set(first) == {
        "query_id", "session", "at", "scope", "audience", "asks", "N", "L", "statistics", "arms",
        "union", "stages", "layers", "shown", "tokens", "flooding", "abstained", "why",
        "same_instant", "clamped_ages", "unknown_status_times", "fates", "degraded", "run_id",
        "config", "data", "encoder",
    }  # fmt: skip
    assert (first["at"], first["N"], first["L"]) == ("2026-01-07T00:00:00Z", 2, 4)
    assert first["arms"] == {
        "lexical": {"touched": 2, "returned": 2, "cut": None, "abstained": False}
    }
    assert [stage["in"] - stage["removed"] for stage in first["stages"]] == [2, 2]
    assert first["stages"][-1]["out"] == len(first["shown"])
    assert sum(layer["picked"] for layer in first["layers"]) == len(first["shown"])
    assert first["tokens"] == sum(layer["tokens"] for layer in first["layers"])
    assert {fate["fate"] for fate in first["fates"]} == {"shown", "not_yet", "unknown_id"}
    assert (empty["abstained"], empty["why"], empty["union"]) == (True, "no_evidence", 0)
    assert empty["degraded"] == ["the lexical arm proposed nothing"]
    written = json.dumps([first, empty])
    for text in ("garden", "server", "surprise", "nowhere"):
        assert text not in written


def test_deleting_what_nobody_was_told_changes_no_account(cased: Lab, tmp_path: Path) -> None:
    told = [note for note in NOTES if not note.gated]
    without = make_lab(tmp_path / "w.duckdb", [*told, Note("later", "tea", 9.0)], CASES)
    accounts = [
        [{**step, "run_id": "", "data": ""} for step in replay(lab, CONFIG, cases="s").objects()]
        for lab in (cased, without)
    ]
    assert accounts[0] == accounts[1]


def test_a_scope_beside_cases_and_an_unknown_set_or_session_are_refused(cased: Lab) -> None:
    with pytest.raises(ParameterError, match="scope must be left out beside cases"):
        replay(cased, CONFIG, cases="s", scope="team")
    with pytest.raises(ParameterError, match="session 'q' is unknown to 's'"):
        replay(cased, CONFIG, cases="s", session="q")
    with pytest.raises(ContractError, match="known: s"):
        replay(cased, CONFIG, cases="t")
    with pytest.raises(ParameterError, match="1 of 1 are held out"):
        replay(cased, CONFIG, cases="s", session="z")


def test_what_a_query_may_not_see_is_counted_and_not_named(tmp_path: Path) -> None:
    notes = [
        Note("here", "tea", 1.0),
        Note("elsewhere", "tea note", 1.0, scope="home"),
        Note("whispered", "tea word", 1.0, gated=True, told=8.0),
    ]
    asked = [Ask("c", "tea", 6.0, ("here", "elsewhere", "whispered"))]
    walked = replay(make_lab(tmp_path / "l.duckdb", notes, asked), CONFIG, cases="s")
    fates = dict(walked.fates.select("fate", "memory_id").iter_rows())
    assert fates == {"shown": "here", "scope": None, "gate": None}
    written = json.dumps([*walked.objects(), *walked.fates.to_dicts()])
    assert "elsewhere" not in written
    assert "whispered" not in written


def test_a_replay_of_cases_is_kept_with_its_set(cased: Lab) -> None:
    walked = replay(cased, CONFIG, cases="s", save=True)
    with cased.reading() as con:
        [run] = read_table(con, "run", run_id=walked.run_id).to_dicts()
    assert (run["kind"], run["case_set"]) == ("replay", "s")
