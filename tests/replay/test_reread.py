"""Rereading a packed list as of its query: what stands in the block, and what it buys."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from recalltune.candidates.build import ask
from recalltune.errors import ContractError, ParameterError
from recalltune.ingest.companion import (
    Attempt,
    Companion,
    Exchange,
    LivedEvent,
    Said,
    write_companion,
)
from recalltune.pipeline.config import preset
from recalltune.pipeline.run import run
from recalltune.replay.companion import CompanionMemory
from recalltune.replay.reread import reread
from recalltune.replay.reread_gain import block_of, gain_summary, reread_gain
from recalltune.report.paired import PATHS, all_told, paired_negatives
from recalltune.store import EvalCaseRow, Lab, insert_rows, open, put_texts, text_hash

NOW = datetime(2026, 3, 1, tzinfo=UTC)
BASE = preset("hel847-baseline")


def at(hour: int) -> datetime:
    return NOW.replace(hour=hour)


SHELF = Companion(
    now=at(20),
    scope="shelf",
    exchanges=(
        Exchange(
            exchange_id="t1", at=at(1),
            user=Said(text="the kite has an orange tail, it smells of resin", gist="she has a toy"),
            companion=Said(text="resin and orange, a fine kite indeed", gist="she likes it"),
        ),
        Exchange(
            exchange_id="t2", at=at(2),
            user=Said(text="is the kite still up?", gist="user asks for the kite"),
            companion=Said(text="it is, I flew it alone at dawn", gist="she answers"),
        ),
        Exchange(exchange_id="t3", at=at(3), user=Said(text="a kite costs nine crowns here")),
    ),
    events=(LivedEvent(event_id="e", at=at(2), text="flew it alone at dawn", told_at=at(10)),),
    attempts=(Attempt(exchange_id="t2", events=("e",), acknowledged_at=at(4), judged_at=at(5)),),
)  # fmt: skip
READ = [
    '{"id": "m005", "role": "user", "text": "a kite costs nine crowns here"}',
    '{"id": "m003", "role": "user", "text": "is the kite still up?"}',
    '{"role": "companion", "text": "it is, I flew it alone at dawn"}',
    '{"id": "m001", "role": "user", "text": "the kite has an orange tail, it smells of resin"}',
]


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    made = open(tmp_path / "lab.duckdb")
    write_companion(made, SHELF)
    return made


def again(lab: Lab, hour: int, **more):
    return CompanionMemory(lab, at(hour)).reread("kite", **more)


def lines(block: str) -> list[str]:
    return block.splitlines()[1:]


def test_each_message_is_judged_by_itself_at_the_querys_time(lab):
    # At ten the event is not told yet: what happens at an instant has not happened.
    before, after = again(lab, 10), again(lab, 11)
    assert set(lines(before.text)) == {READ[0], READ[1], READ[3]}
    assert before.account.rows() == [
        ("read", "", 3),
        ("withheld", "an event is not told", 1),
        ("withheld", "no attempt to share", 1),
    ]
    # From then on it stands right below what it answers, whether or not it is found by itself.
    place = lines(after.text).index(READ[1])
    assert lines(after.text)[place + 1] == READ[2]
    assert after.account.rows() == [("read", "", 4), ("withheld", "no attempt to share", 1)]
    assert "resin and orange" not in after.text


def test_what_is_not_said_yet_is_in_no_account(lab):
    first = again(lab, 2)
    assert lines(first.text) == [READ[3]]
    assert first.account["n"].sum() == 2


def test_a_block_never_outgrows_its_budget_and_messages_are_whole(lab):
    whole = again(lab, 10)
    assert whole.chars_spent == len(whole.text) - len(whole.before) > 0
    for budget in [*range(len(whole.before), len(whole.text), 9), len(whole.text)]:
        found = again(lab, 10, budget_chars=budget)
        assert len(found.text) <= budget
        assert set(lines(found.text)) <= {*lines(found.before), *READ}
        assert found.entries["chars"].sum() == len("".join(f"{one}\n" for one in lines(found.text)))
    assert found.text == whole.text
    with pytest.raises(ParameterError, match="budget_chars must hold the block as it stands"):
        again(lab, 10, budget_chars=len(whole.before) - 1)


def test_an_edited_memory_does_not_get_back_what_it_was_edited_from(lab):
    with lab.writing() as con:
        put_texts(con, ["the kite is blue now"])
        con.execute(
            "update memory_span set text_hash = $h, gated = false, told_at = null "
            "where memory_id = 'm001'",
            {"h": text_hash("the kite is blue now")},
        )
        con.execute("update memory set text_hash = $h, gist = null where memory_id = 'm001'",
                    {"h": text_hash("the kite is blue now")})  # fmt: skip
    found = again(lab, 10)
    assert '"text": "the kite is blue now"' in found.text
    assert "orange tail" not in found.text


def test_what_no_longer_holds_says_so_in_its_line_before_and_after(lab):
    with lab.writing() as con:
        con.execute(
            "update memory_span set superseded_at = $t where memory_id = 'm001'", {"t": at(6)}
        )
        con.execute("update memory_span set retracted_at = $t where memory_id = 'm005'",
                    {"t": at(6)})  # fmt: skip
    still, then = again(lab, 6), again(lab, 7)
    assert "status" not in still.text
    for block in (then.before, then.text):
        marked = [line for line in lines(block) if '"status"' in line]
        found = {line[8:12]: line.split('"status": ')[1].split(",")[0] for line in marked}
        assert found == {"m001": '"superseded"', "m005": '"retracted"'}
    # The mark is paid for: the block that was packed holds it within its characters.
    table = ask(lab, "kite", BASE, at=round(at(7).timestamp() * 1e6))
    for budget in range(len(still.before) - 60, len(then.before) + 1):
        block = block_of(BASE).with_(budget_chars=budget)
        order = run(table, BASE.with_(stages=(*BASE.stages[:-1], block))).listed()
        assert len(block.text(table, order, 0)) <= budget


def test_another_scope_is_not_read_although_its_session_is_the_same(lab):
    with lab.writing() as con:
        con.execute("update turn set scope = 'elsewhere' where turn_id = 't2/companion'")
    table = ask(lab, "kite", BASE, at=round(at(19).timestamp() * 1e6), scope="shelf")
    order = run(table, BASE).listed()
    found = reread(lab, table, order, 0, block_of(BASE))
    assert READ[2] not in found.text


def test_an_empty_list_is_an_empty_block(lab):
    found = CompanionMemory(lab, at(10)).reread("zeppelin")
    assert (found.before, found.text, found.entries.height, found.account.height) == ("", "", 0, 0)


@pytest.fixture
def cases(lab) -> Lab:
    asked = {"tail": ("kite", "orange tail"), "price": ("crowns", "nine crowns"),
             "dawn": ("kite still", "at dawn"), "gone": ("zeppelin", "hydrogen")}  # fmt: skip
    rows = [
        EvalCaseRow(case_set="s", case_id=name, query=query, asked_at=at(9), session=name,
                    expectations={"expectContentAny": [word]})
        for name, (query, word) in asked.items()
    ]  # fmt: skip
    with lab.writing() as con:
        insert_rows(con, [*rows, EvalCaseRow(case_set="s", case_id="none", query="kite")])
    return lab


def test_the_gain_is_counted_by_case_and_priced_in_characters(cases):
    from recalltune.candidates.build import candidates

    table = candidates(cases, "s", BASE)
    gain = reread_gain(cases, table, BASE, budgets_chars=[60, 600])
    assert gain["query_id"].unique().sort().to_list() == ["dawn", "gone", "price", "tail"]
    answered = dict(gain.filter(budget_chars=600).select("query_id", "answered").iter_rows())
    # Before the event is told nothing answers "dawn".
    assert answered == {"dawn": False, "gone": False, "price": True, "tail": True}
    small, large = gain_summary(gain).to_dicts()
    assert (small["gained"], large["gained"], large["n"]) == (0, 1, 4)
    assert (large["answered_before"], large["answered"]) == (0.25, 0.5)
    spent = (gain["chars"] - gain["chars_before"]).filter(gain["budget_chars"] == 600).sum()
    assert large["per_100_chars"] == pytest.approx(100 / spent)
    assert (large["diff"], small["per_100_chars"]) == (0.25, None)


def test_a_gain_needs_a_block_and_expected_words(cases):
    from recalltune.candidates.build import candidates

    table = candidates(cases, "s", BASE)
    with pytest.raises(ContractError, match="must end in a block"):
        reread_gain(cases, table, BASE.with_(stages=BASE.stages[:-1]), budgets_chars=[600])
    with pytest.raises(ParameterError, match="expects words"):
        reread_gain(cases, table.take([table.position("none")]), BASE, budgets_chars=[600])


@pytest.mark.slow
def test_no_path_shows_an_untold_reply_and_all_but_one_show_its_twin():
    found = paired_negatives(SHELF.with_(now=at(9), events=(SHELF.events[0].with_(told_at=None),)))
    assert found["path"].unique(maintain_order=True).to_list() == list(PATHS)
    assert found["pair"].n_unique() == 2
    assert not found["untold"].any()
    told = found.group_by("path", maintain_order=True).agg(pl.col("told").all())
    assert dict(told.iter_rows()) == {name: name != "export" for name in PATHS}
    with pytest.raises(ParameterError, match="must withhold a reply"):
        paired_negatives(all_told(SHELF))
