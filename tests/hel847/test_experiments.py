"""The experiments of the HEL-847 plan on DuckDB tables: E1 to E5, W1, J1.

Each runs on our own wording, and on the plan's where the shared folder is; ids count up in the
order things were said, so both give the same numbers.
"""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from recalltune.errors import ContractError
from recalltune.ingest.companion import GIST, write_companion
from recalltune.pipeline.config import preset
from recalltune.rank.substring import SubstringIndex, substring_terms
from recalltune.store import open, read_gate, read_table

PORTED = preset("hel847-ported")
AGAIN = {9, 10, 11, 12, 13}
"""The five that say the same thing."""


@pytest.fixture(scope="module")
def memory(shelf):
    """For reading only."""
    return shelf.memory()


def ranked(memory, query):
    """Top four under the proposed order."""
    return list(replace(memory, config=PORTED).search(query).ids)


def test_e1_a_paraphrase_is_not_found_letter_by_letter(shelf, memory):
    terms = substring_terms(shelf.paraphrase)
    assert len(terms.phrases) == 2
    assert terms.trigrams
    found = memory.search(shelf.paraphrase)
    assert (found.mode, found.ids) == ("none", ())
    # Words of two letters would have been found: one by one is not tried beside longer ones.
    assert terms.like == ()
    assert memory.search(shelf.named).ids


def test_e2a_salience_lifts_the_find_of_three_days_ago(shelf, memory):
    assert memory.candidates(shelf.named) == [16, 14, 7, 3, 1]
    assert memory.search(shelf.named).mode == "like"
    assert list(memory.search(shelf.named).ids) == [16, 14, 7, 3]
    assert ranked(memory, shelf.named) == [1, 7, 14, 16]


def test_e2b_one_of_the_five_repetitions_gives_way(shelf, memory):
    assert memory.candidates(shelf.eaten) == [13, 12, 11, 10, 9, 5]
    before, after = list(memory.search(shelf.eaten).ids), ranked(memory, shelf.eaten)
    assert (before, after) == ([13, 12, 11, 10], [5, 12, 13, 11])
    assert (len(AGAIN & set(before)), len(AGAIN & set(after))) == (4, 3)


def test_e3_reading_again_restores_what_the_gist_lost(shelf):
    memory = shelf.memory()
    found = memory.search(shelf.where_from)
    assert (found.mode, found.ids) == ("phrase", (1,))
    block, _ = memory.remember(shelf.where_from)
    assert not any(detail in block for detail in shelf.details)
    again = memory.reread("t1/user")
    assert again["role"].to_list() == ["user"]
    assert all(detail in again["text"][0] for detail in shelf.details)
    # The reply of t1 was never judged, so it is withheld; the one of t8 was, and its event told.
    assert not memory.passes_gate(2)
    assert memory.passes_gate(17)
    assert memory.reread("t8/user")["role"].to_list() == ["user", "companion"]


def test_e4a_what_she_lives_alone_is_there_and_is_not_found(shelf, memory):
    assert memory.search(shelf.name).ids == (3,)
    spans = memory.spans().sort("memory_id")
    everything = SubstringIndex.build(spans["text"].to_list(), spans["gist"].to_list())
    assert 17 in everything.search(shelf.name).rows  # row 18 counts from 1
    assert not memory.passes_gate(18)
    assert memory.spans().filter(pl.col("origin") == "self_life")["memory_id"].to_list() == ["m018"]


def test_e4b_the_users_message_is_found_and_the_reply_of_its_exchange_is_not(shelf):
    memory = shelf.memory()
    found = memory.search(shelf.both)
    assert (found.mode, found.ids) == ("like", (16, 14, 7, 3))
    roles = dict(memory.spans().select("memory_id", "role").iter_rows())
    assert {roles[f"m{one:03d}"] for one in found.ids} == {"user"}
    assert not memory.passes_gate(15)
    again = memory.reread("t7/user")
    assert again["role"].to_list() == ["user"]
    block, shown = memory.remember(shelf.both)
    assert shown == [16, 14, 7, 3]
    assert len(block) <= 600
    for word in shelf.untold:
        assert word not in block + "".join(again["text"])


def test_e5_a_reopened_lab_gives_the_same_block(shelf):
    memory = shelf.memory()
    block, shown = memory.remember(shelf.where_from)
    assert memory.reopened().later(seconds=1).remember(shelf.where_from) == (block, shown)


def test_w1_what_is_written_is_found_by_the_next_conversation(shelf):
    memory = shelf.memory()
    write_companion(memory.lab, shelf.recorded)
    with memory.lab.reading() as con:
        assert read_table(con, "job", kind=GIST, state="queued")["ref"].to_list() == [
            "m019", "m020",
        ]  # fmt: skip
    found = memory.reopened().search(shelf.arrived)
    assert (found.mode, found.ids) == ("like", (19,))
    turns = dict(memory.spans().select("memory_id", "turn_id").iter_rows())
    assert turns["m019"] == "t9/user"


def test_j1_a_worker_dies_its_lease_ends_and_another_finishes(shelf):
    memory = shelf.memory()
    write_companion(memory.lab, shelf.recorded)

    def state(job):
        with memory.lab.reading() as con:
            row = read_table(con, "job", kind=GIST, ref=job.ref).row(0, named=True)
            gist = read_table(con, "memory", memory_id=job.ref)["gist"][0]
        return row["state"], row["attempts"], row["reason"], gist

    job = memory.claim("first")
    assert job.ref == "m019"
    assert state(job) == ("pending", 1, None, None)
    assert memory.later(seconds=39).recover() == 0
    assert memory.later(seconds=60).recover() == 1
    assert state(job) == ("failed", 1, "lease_expired", None)

    again = memory.later(seconds=61).claim("second")
    assert (again.ref, again.attempts) == ("m019", 2)
    with pytest.raises(ContractError, match="claim it again"):
        memory.later(seconds=62).complete(job, "too late")
    assert state(job)[3] is None
    memory.later(seconds=62).complete(again, shelf.late_gist)
    assert state(job) == ("done", 2, None, shelf.late_gist)
    found = memory.search(shelf.late_gist[2:])
    assert (found.mode, found.ids) == ("phrase", (19,))


# The rules around the experiments.


@pytest.mark.slow
def test_a_block_raises_the_accessibility_of_what_is_in_it_from_the_next_instant_on(shelf):
    memory = replace(shelf.memory(), faded={1: 0.05, 3: 0.9})
    memory.remember(shelf.where_from)
    assert (memory.recalled()[1], memory.accessibility()(1)) == (0, 0.05)
    soon = memory.later(seconds=1)
    assert (soon.recalled()[1], soon.accessibility()(1)) == (1, pytest.approx(0.30))
    for second in (1, 2, 3):
        memory.later(seconds=second).remember(shelf.where_from)
    late = memory.later(seconds=4)
    assert late.recalled() == {1: 4}  # nothing else was in a block
    assert [late.accessibility()(one) for one in (1, 3, 7)] == [1.0, 0.9, 1.0]


def test_what_has_faded_below_the_limit_gives_its_place_to_the_next(shelf):
    memory = shelf.memory()
    assert replace(memory, faded={14: 0.0499}).search(shelf.named).ids == (16, 7, 3, 1)
    assert replace(memory, faded={14: 0.05}).search(shelf.named).ids == (16, 14, 7, 3)


def test_every_reply_but_the_shared_one_is_refused_for_a_stated_reason(memory):
    with memory.lab.reading() as con:
        gate = read_gate(con).filter(pl.col("role") == "companion")
    reasons = dict(gate.select("turn_id", "reason").iter_rows())
    assert reasons == {
        "t1/companion": "no attempt to share",
        "t2/companion": "no attempt to share",
        "t3/companion": "no attempt to share",
        "t4/companion": "no attempt to share",
        "t7/companion": "an event is not told",
        "t8/companion": "told",
    }


def test_once_the_event_is_told_the_same_reply_is_found_and_read(shelf):
    """The pair to E4b: nothing but the telling differs."""
    companion = shelf.companion
    first, *rest = companion.events
    told = first.with_(told_at=companion.now.replace(minute=0))
    memory = shelf.memory()
    lab = open(memory.lab.path.with_suffix(".told.duckdb"))
    write_companion(lab, companion.with_(events=(told, *rest)))
    after = replace(memory, lab=lab).later(seconds=1)
    assert not memory.later(seconds=1).passes_gate(15)
    assert after.passes_gate(15)
    assert after.search(shelf.both).ids == (16, 15, 14, 7)
    assert after.reread("t7/user")["role"].to_list() == ["user", "companion"]
