"""The experiments of the HEL-847 plan on DuckDB tables: E1 to E5, W1, J1.

Each runs on our own wording, and on the plan's where the shared folder is; ids count up in the
order things were said, so both give the same numbers.
"""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from hel847.conftest import own
from recalltune.errors import ContractError
from recalltune.ingest.companion import GIST, write_companion
from recalltune.pipeline.config import preset
from recalltune.rank.substring import SubstringIndex, substring_terms
from recalltune.replay.probe import run_probe
from recalltune.store import open, read_exchange, read_gate, read_spans, read_table

PORTED = preset("hel847-ported")
AGAIN = {"m009", "m010", "m011", "m012", "m013"}
"""The five that say the same thing."""


@pytest.fixture(scope="module")
def memory(shelf):
    """For reading only."""
    return shelf.memory()


def ids(*numbers):
    return tuple(f"m{number:03d}" for number in numbers)


def ranked(memory, query):
    """Top four under the proposed order."""
    return replace(memory, config=PORTED).search(query).ids


def roles(memory, turn_id):
    with memory.lab.reading() as con:
        return read_exchange(con, turn_id, at=memory.at)["role"].to_list()


def spans_of(memory):
    with memory.lab.reading() as con:
        return read_spans(con)


def test_e1_a_paraphrase_is_not_found_letter_by_letter(shelf, memory):
    terms = substring_terms(shelf.words.paraphrase)
    assert len(terms.phrases) == 2
    assert terms.trigrams
    found = memory.search(shelf.words.paraphrase)
    assert (found.mode, found.ids) == ("none", ())
    # Words of two letters would have been found: one by one is not tried beside longer ones.
    assert terms.like == ()
    assert memory.search(shelf.words.named).ids


def test_e2a_salience_lifts_the_find_of_three_days_ago(shelf, memory):
    assert memory.candidates(shelf.words.named) == list(ids(16, 14, 7, 3, 1))
    assert memory.search(shelf.words.named).mode == "like"
    assert memory.search(shelf.words.named).ids == ids(16, 14, 7, 3)
    assert ranked(memory, shelf.words.named) == ids(1, 7, 14, 16)


def test_e2b_one_of_the_five_repetitions_gives_way(shelf, memory):
    assert memory.candidates(shelf.words.repeated) == list(ids(13, 12, 11, 10, 9, 5))
    before, after = memory.search(shelf.words.repeated).ids, ranked(memory, shelf.words.repeated)
    assert (before, after) == (ids(13, 12, 11, 10), ids(5, 12, 13, 11))
    assert (len(AGAIN & set(before)), len(AGAIN & set(after))) == (4, 3)


def test_e3_reading_again_restores_what_the_gist_lost(shelf):
    memory = shelf.memory()
    found = memory.search(shelf.words.where_from)
    assert (found.mode, found.ids) == ("phrase", ids(1))
    again = memory.reread(shelf.words.where_from)
    assert again.before == memory.remember(shelf.words.where_from)[0]
    assert not any(detail in again.before for detail in shelf.words.details)
    assert all(detail in again.text for detail in shelf.words.details)
    assert again.account.rows() == [("read", "", 1), ("withheld", "no attempt to share", 1)]
    # The reply of t1 was never judged, so it is withheld; the one of t8 was, and its event told.
    assert not memory.passes_gate("m002")
    assert memory.passes_gate("m017")
    assert roles(memory, "t1/user") == ["user"]
    assert roles(memory, "t8/user") == ["user", "companion"]


def test_e4a_what_she_lives_alone_is_there_and_is_not_found(shelf, memory):
    assert memory.search(shelf.words.name).ids == ids(3)
    spans = spans_of(memory).sort("memory_id")
    everything = SubstringIndex.build(spans["text"].to_list(), spans["gist"].to_list())
    assert 17 in everything.search(shelf.words.name).rows  # row 18 counts from 1
    assert not memory.passes_gate("m018")
    assert spans_of(memory).filter(pl.col("origin") == "self_life")["memory_id"].to_list() == [
        "m018"
    ]


def test_e4b_the_users_message_is_found_and_the_reply_of_its_exchange_is_not(shelf):
    memory = shelf.memory()
    found = memory.search(shelf.words.both)
    assert (found.mode, found.ids) == ("like", ids(16, 14, 7, 3))
    said_by = dict(spans_of(memory).select("memory_id", "role").iter_rows())
    assert {said_by[one] for one in found.ids} == {"user"}
    assert not memory.passes_gate("m015")
    assert roles(memory, "t7/user") == ["user"]
    again = memory.reread(shelf.words.both)
    block, shown = memory.remember(shelf.words.both)
    assert (block, shown) == (again.before, list(ids(16, 14, 7, 3)))
    assert max(len(block), len(again.text)) <= 600
    assert again.text.count('"role": "companion"') == 1  # of t8, which was shared
    for word in shelf.words.untold:
        assert word not in block + again.text


def test_e5_a_reopened_lab_gives_the_same_block(shelf):
    memory = shelf.memory()
    block, shown = memory.remember(shelf.words.where_from)
    assert memory.reopened().later(seconds=1).remember(shelf.words.where_from) == (block, shown)


def test_w1_what_is_written_is_found_by_the_next_conversation(shelf):
    memory = shelf.memory()
    write_companion(memory.lab, shelf.recorded)
    with memory.lab.reading() as con:
        assert read_table(con, "job", kind=GIST, state="queued")["ref"].to_list() == [
            "m019", "m020",
        ]  # fmt: skip
    found = memory.reopened().search(shelf.words.arrived)
    assert (found.mode, found.ids) == ("like", ids(19))
    turns = dict(spans_of(memory).select("memory_id", "turn_id").iter_rows())
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
    memory.later(seconds=62).complete(again, shelf.words.late_gist)
    assert state(job) == ("done", 2, None, shelf.words.late_gist)
    assert memory.later(seconds=62).search(shelf.words.late_gist[:4]).ids == ()
    found = memory.later(seconds=63).search(shelf.words.late_gist[:4])
    assert (found.mode, found.ids) == ("phrase", ids(19))


# The rules around the experiments.


@pytest.mark.slow
def test_a_block_raises_the_accessibility_of_what_is_in_it_from_the_next_instant_on(shelf):
    memory = replace(shelf.memory(), faded={"m001": 0.05, "m003": 0.9})
    memory.remember(shelf.words.where_from)
    assert (memory.recalled()["m001"], memory.accessibility(["m001"])[0]) == (0, 0.05)
    soon = memory.later(seconds=1)
    assert (soon.recalled()["m001"], soon.accessibility(["m001"])[0]) == (1, pytest.approx(0.30))
    for second in (1, 2, 3):
        memory.later(seconds=second).remember(shelf.words.where_from)
    late = memory.later(seconds=4)
    assert late.recalled() == {"m001": 4}  # nothing else was in a block
    assert late.accessibility(ids(1, 3, 7)).tolist() == [1.0, 0.9, 1.0]


def test_what_has_faded_below_the_limit_gives_its_place_to_the_next(shelf):
    memory, named = shelf.memory(), shelf.words.named
    assert replace(memory, faded={"m014": 0.0499}).search(named).ids == ids(16, 7, 3, 1)
    assert replace(memory, faded={"m014": 0.05}).search(named).ids == ids(16, 14, 7, 3)


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
    assert not memory.later(seconds=1).passes_gate("m015")
    assert after.passes_gate("m015")
    assert after.search(shelf.words.both).ids == ids(16, 15, 14, 7)
    assert roles(after, "t7/user") == ["user", "companion"]
    assert shelf.words.untold[0] in after.reread(shelf.words.both).text


@pytest.mark.slow
def test_what_the_notebook_shows_of_the_experiments_holds(shelf, tmp_path):
    found = run_probe(shelf.companion, shelf.words, folder=tmp_path)
    assert found.filter(~pl.col("holds")).height == 0
    assert found["experiment"].unique().sort().to_list() == [
        "E1", "E2a", "E2b", "E3", "E4a", "E4b", "E5", "J1", "W1",
    ]  # fmt: skip
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_an_experiment_that_fails_says_so(tmp_path):
    companion, words = own()
    other = words.with_(details=("nobody said this",), untold=words.details)
    found = run_probe(companion, other, folder=tmp_path).filter(~pl.col("holds"))
    assert found["what"].to_list() == ["details after rereading"]
