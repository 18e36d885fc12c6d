"""A transcript walked through time: each step sees what stood then, and its account adds up."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from recalltune.errors import ParameterError, checked
from recalltune.pipeline.config import RankingConfig
from recalltune.replay.steps import replay
from recalltune.store import Lab, Turn, insert_rows, put_texts, read_table, text_hash
from small_lab import START, Note, instant, make_lab

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
