"""The past does not notice another future, and the comparison notices a past that does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import recalltune as rt
from recalltune.candidates.build import candidates_for
from recalltune.candidates.settings import DenseArm, LexicalArm
from recalltune.candidates.table import Candidates
from recalltune.errors import ParameterError, checked
from recalltune.pipeline.config import RankingConfig
from recalltune.replay import proof
from recalltune.replay.future import WAYS, another_future, without_time
from recalltune.replay.proof import Proof, prove_no_leak
from recalltune.store import (
    Access,
    Lab,
    Turn,
    insert_rows,
    put_texts,
    read_spans,
    read_table,
    text_hash,
)
from small_lab import Ask, Note, WordEncoder, instant, make_lab

pytestmark = pytest.mark.slow

AT = 5.0
AT_US = int(instant(AT).timestamp()) * 1_000_000
CONFIG = checked(
    RankingConfig,
    {
        "admit": {"superseded": "hide"},
        "arms": {"lexical": LexicalArm(), "dense": DenseArm()},
        "stages": [{"kind": "rrf"}, {"kind": "decay", "half_life_days": 3.0}, {"kind": "select"}],
    },
)
# Every kind of event stands before the cut, exactly at it, and behind it.
NOTES = [
    Note("a", "tea garden", 1.0, layer="project", salience=0.9),
    Note("b", "tea server 备份", 4.999999, salience=0.1),
    Note("c", "tea sensor garden", 2.0, layer="user", salience=0.4),
    Note("d", "tea 会议 sensor", 3.0, layer="whiteboard"),
    Note("born at", "tea release", AT),
    Note("born later", "garden sensor tea", 8.0),
    Note("left before", "tea 会议", 1.0, leaves=4.0),
    Note("leaves at", "tea 发布", 1.0, leaves=AT),
    Note("superseded before", "garden tea", 1.0, superseded=2.0),
    Note("superseded at", "garden server tea", 1.0, superseded=AT),
    Note("told at", "tea backup", 1.0, gated=True, told=AT),
    Note("told before", "tea backup sensor", 1.0, gated=True, told=4.0),
    Note("never told", "tea surprise", 1.0, gated=True),
]
ASKS = [Ask("q1", "tea garden", 3.0), Ask("q2", "tea 备份", AT), Ask("late", "tea", 9.0)]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    made = make_lab(tmp_path_factory.mktemp("proof") / "l.duckdb", NOTES, ASKS)
    turns = [("t1", "tea garden?", 3.0), ("t2", "tea 备份?", AT), ("t3", "what now", 6.0)]
    with made.writing() as con:
        put_texts(con, [text for _, text, _ in turns])
        insert_rows(
            con,
            [
                *(
                    Turn(turn_id=name, session_id="s", seq=n, role="user", source="test",
                         text_hash=text_hash(text), said_at=instant(day))
                    for n, (name, text, day) in enumerate(turns)
                ),
                *(
                    Access(memory_id=name, used_at=instant(day), kind="shown")
                    for name, day in (("a", 2.0), ("b", AT), ("a", 7.0))
                ),
            ],
        )  # fmt: skip
    return made


def table(lab: Lab) -> Candidates:
    return rt.candidates(lab, "s", CONFIG, encoder=WordEncoder())


@pytest.fixture(scope="module")
def proved(lab: Lab) -> Proof:
    return prove_no_leak(lab, table(lab), CONFIG, at=AT_US, encoder=WordEncoder())


def ids(lab: Lab) -> set[str]:
    with lab.reading() as con:
        return set(read_spans(con)["memory_id"].to_list())


def test_no_number_up_to_the_cut_changes_and_every_way_changes_something(proved: Proof) -> None:
    assert proved.rows["way"].to_list() == list(WAYS)
    assert proved.rows["differing"].to_list() == [0, 0, 0]
    assert proved.rows["lists_differing"].to_list() == [0, 0, 0]
    assert proved.rows["steps"].to_list() == [2, 2, 2]
    assert proved.control > 0
    assert proved.holds


def test_what_was_deleted_is_what_lies_at_the_cut_or_behind_it(lab: Lab) -> None:
    with another_future(lab, AT_US, "deleted") as other:
        assert (other.births, other.ends, other.uses, other.turns) == (3, 2, 2, 1)
        assert ids(lab) - ids(other.lab) == {"born at", "born later", "told at"}
        with other.lab.reading() as con:
            turns = read_table(con, "turn")["turn_id"].to_list()
            spans = read_table(con, "memory_span")
            uses = read_table(con, "access")["memory_id"].to_list()
    assert turns == ["t1", "t2"]
    assert uses == ["a"]
    ended = spans.filter(pl.col("memory_id").is_in(["leaves at", "superseded at"]))
    assert ended["leaves_at"].null_count() == ended["superseded_at"].null_count() == 2
    kept = spans.filter(pl.col("memory_id") == "left before")
    assert kept["leaves_at"].null_count() == 0


def test_made_up_memories_say_what_was_asked_and_enter_at_the_cut(lab: Lab) -> None:
    with another_future(lab, AT_US, "made up") as other, other.lab.reading() as con:
        spans = read_spans(con)
    made_up = spans.filter(pl.col("memory_id").str.contains("~"))
    # Two turns and two cases were asked by then; the late ones were not.
    assert sorted(made_up["text"]) == sorted(["tea garden?", "tea 备份?", "tea garden", "tea 备份"])
    assert made_up["enters_at"].min() == AT_US
    assert not made_up["gated"].any()


def test_old_memories_are_restated_at_the_cut_with_other_attributes(lab: Lab) -> None:
    with lab.reading() as con:
        before = read_spans(con)
    with another_future(lab, AT_US, "made up") as other, other.lab.reading() as con:
        after = read_spans(con)
    again = after.filter(pl.col("version") == 2)
    assert again.height >= 2
    assert again["enters_at"].unique().to_list() == [AT_US]
    said = ["memory_id", "text", "layer", "salience"]
    first = after.filter((pl.col("version") == 1) & pl.col("memory_id").is_in(again["memory_id"]))
    # What was said before the cut stands; what is said from it on is something else.
    assert (
        first.select(said)
        .sort("memory_id")
        .equals(
            before.filter(pl.col("memory_id").is_in(again["memory_id"]))
            .select(said)
            .sort("memory_id")
        )
    )
    assert set(first["leaves_at"]) == {AT_US}
    joined = first.join(again, on="memory_id", suffix="_again")
    assert (joined["text"] != joined["text_again"]).all()
    assert (joined["layer"] != joined["layer_again"]).any()


def test_a_memory_never_told_stays_and_is_in_no_count(proved: Proof, tmp_path: Path) -> None:
    without = make_lab(
        tmp_path / "m.duckdb", [note for note in NOTES if note.memory_id != "never told"], ASKS
    )
    plain = make_lab(tmp_path / "n.duckdb", NOTES, ASKS)
    for way in WAYS:
        with another_future(plain, AT_US, way) as one, another_future(without, AT_US, way) as other:
            assert "never told" in ids(one.lab)
            counts = [(o.births, o.ends, o.uses, o.turns) for o in (one, other)]
        assert counts[0] == counts[1]
    assert "surprise" not in str(proved.rows.to_dicts())


def test_the_lab_itself_is_left_as_it_was_and_the_copy_is_gone(lab: Lab) -> None:
    table(lab)
    before = lab.path.read_bytes()
    with another_future(lab, AT_US, "shuffled") as other:
        path = other.lab.path
        assert path.exists()
    assert not path.exists()
    assert lab.path.read_bytes() == before


def late_clock(lab: Lab, queries: pl.DataFrame, *rest: Any, **options: Any) -> Candidates:
    """As if every question were asked a microsecond later: e <= t instead of e < t."""
    later = queries.with_columns(pl.col("asked_at") + 1)
    return replace(candidates_for(lab, later, *rest, **options), queries=queries)


def static_words(lab: Lab, queries: pl.DataFrame, *rest: Any, **options: Any) -> Candidates:
    """As if the words were counted over all that is ever known."""
    made = candidates_for(lab, queries, *rest, **options)
    with lab.reading() as con:
        ever = read_spans(con)["enters_at"].drop_nulls().len()
    score = made.features["lexical_score"] * np.log(ever)
    return replace(made, features={**made.features, "lexical_score": score})


@pytest.mark.parametrize("leaking", [late_clock, static_words], ids=lambda one: one.__name__)
def test_a_build_that_sees_the_future_is_caught(
    lab: Lab, leaking: Callable[..., Candidates], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proof, "candidates_for", leaking)
    queries = table(lab).queries
    before = leaking(lab, queries, CONFIG, encoder=WordEncoder())
    proved = prove_no_leak(lab, before, CONFIG, at=AT_US, ways=["made up"], encoder=WordEncoder())
    assert proved.rows["differing"].sum() > 0
    assert not proved.holds


def test_nothing_to_change_is_no_proof(tmp_path: Path) -> None:
    lab = make_lab(tmp_path / "o.duckdb", [Note("a", "tea", 1.0)], [Ask("q", "tea", 3.0)])
    made = rt.candidates(lab, "s", CONFIG, encoder=WordEncoder())
    proved = prove_no_leak(lab, made, CONFIG, at=AT_US, ways=["deleted"], encoder=WordEncoder())
    assert proved.rows["differing"].to_list() == [0]
    assert not proved.holds


def test_a_cut_before_the_first_question_and_an_unknown_way_are_refused(lab: Lab) -> None:
    with pytest.raises(ParameterError, match="before the first question"):
        prove_no_leak(lab, table(lab), CONFIG, at=0, encoder=WordEncoder())
    with pytest.raises(ParameterError, match="way must be one of deleted, shuffled, made up"):
        prove_no_leak(lab, table(lab), CONFIG, at=AT_US, ways=["burnt"], encoder=WordEncoder())


def test_a_lab_without_time_knows_everything_told_and_nothing_untold(lab: Lab) -> None:
    with without_time(lab) as static:
        made = rt.candidates(static, "s", CONFIG, encoder=WordEncoder())
        row = made.position("q1")
        names = {made.memory_id(row, int(one)) for one in np.flatnonzero(made.valid[row])}
    # Asked on day 3: what is born on day 8 is there, what leaves on day 5 has left already.
    assert {"born later", "told at", "a"} <= names
    assert not names & {"leaves at", "left before", "superseded at", "never told"}
    assert np.nanmin(made.feature("age_days")[row]) == 0.0
