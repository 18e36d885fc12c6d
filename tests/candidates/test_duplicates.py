"""Memories that repeat another: marked with a pointer, the first one shown, none deleted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recalltune import store
from recalltune.candidates.build import candidates
from recalltune.candidates.copies import Copies
from recalltune.candidates.duplicates import mark_near_duplicates, nearest_earlier
from recalltune.candidates.settings import Admit, Arms, LexicalArm
from recalltune.errors import ParameterError, checked
from recalltune.pipeline.config import RankingConfig
from recalltune.store import Memory, MemorySpan, insert_rows, put_texts, settle_duplicates
from small_lab import Ask, Note, WordEncoder, instant, make_lab

ASKS = [Ask(f"d{day}", "tea", day + 0.5) for day in range(6)]


def setting(duplicates: str = "hide", superseded: str = "hide") -> RankingConfig:
    return checked(
        RankingConfig,
        {
            "admit": Admit(duplicates=duplicates, superseded=superseded),  # type: ignore[arg-type]
            "arms": Arms(lexical=LexicalArm()),
            "stages": [{"kind": "rrf"}],
        },
    )


def proposed(
    folder: Path,
    notes: Sequence[Note],
    config: RankingConfig | None = None,
    *,
    asks: Sequence[Ask] = ASKS,
) -> list[list[str]]:
    """Ids proposed to each ask, by default at noon of each of six days."""
    lab = make_lab(folder / "l.duckdb", notes, asks, duplicates=True)
    table = candidates(lab, "s", config or setting())
    return [
        [
            table.memory_id(row, column)
            for column in range(table.valid.shape[1])
            if table.valid[row, column]
        ]
        for row in range(len(asks))
    ]


def pointers(lab: store.Lab) -> dict[str, str]:
    with lab.reading() as con:
        frame = store.read_memories(con)
    return {
        row["memory_id"]: row["duplicate_of"] for row in frame.to_dicts() if row["duplicate_of"]
    }


# bug bank J63
def test_of_three_identical_memories_the_first_known_is_shown_and_none_is_gone(tmp_path):
    notes = [Note("c", "tea", 0.0), Note("b", "tea", 1.0), Note("a", "tea", 2.0)]
    assert proposed(tmp_path, notes) == [["c"]] * 6
    lab = store.open(tmp_path / "l.duckdb")
    assert pointers(lab) == {"a": "c", "b": "c"}


def test_known_at_the_same_time_the_smaller_id_survives(tmp_path):
    assert proposed(tmp_path, [Note("b", "tea"), Note("a", "tea")]) == [["a"]] * 6


def test_shown_on_request(tmp_path):
    notes = [Note("a", "tea", 0.0), Note("b", "tea", 1.0)]
    assert proposed(tmp_path, notes, setting(duplicates="show"))[5] == ["a", "b"]


# bug bank J62
@pytest.mark.parametrize(
    "other",
    [
        Note("b", "tea on 16 October", 1.0),
        Note("b", "tea on 15 October", 1.0, scope="home"),
        Note("b", "tea on 15 October", 1.0, layer="project"),
        Note("b", "tea on 15 October", 1.0, gated=True, told=1.0),
    ],
    ids=["another date", "another scope", "another layer", "gated"],
)
def test_what_differs_is_kept(tmp_path, other):
    asks = [Ask("q", "tea", 5.0, scope=None)]
    lab = make_lab(
        tmp_path / "l.duckdb", [Note("a", "tea on 15 October"), other], asks, duplicates=True
    )
    assert pointers(lab) == {}
    assert candidates(lab, "s", setting()).valid.sum() == 2


def test_when_the_first_is_superseded_or_gone_the_next_one_speaks(tmp_path):
    notes = [
        Note("a", "tea", 0.0, superseded=2.0),
        Note("b", "tea", 1.0, leaves=4.0),
        Note("c", "tea", 1.0),
    ]
    assert proposed(tmp_path, notes) == [["a"], ["a"], ["b"], ["b"], ["c"], ["c"]]


@settings(max_examples=10)
@given(
    st.lists(
        st.lists(
            st.builds(
                lambda text, day, leaves: Note("", text, day, leaves=leaves),
                st.sampled_from(["tea", "tea tea"]),
                st.sampled_from([None, 0.0, 1.0, 2.0, 3.0]),
                st.sampled_from([None, 2.0, 3.0, 4.0]),
            ),
            min_size=1,
            max_size=8,
        ),
        min_size=6,
        max_size=6,
    )
)
def test_at_any_time_the_first_visible_one_of_each_text_is_proposed(tmp_path_factory, drawn):
    """Six worlds in one lab, a scope each: a lab costs more than what is in it."""
    notes = [
        replace(note, memory_id=f"{scope}{n}", scope=scope)
        for scope, world in zip("uvwxyz", drawn, strict=True)
        for n, note in enumerate(world)
    ]
    asks = [
        replace(ask, case_id=f"{scope}{ask.case_id}", scope=scope)
        for scope in "uvwxyz"
        for ask in ASKS
    ]
    found = proposed(tmp_path_factory.mktemp("any"), notes, asks=asks)
    for ask, ids in zip(asks, found, strict=True):
        there = [
            note
            for note in notes
            if note.scope == ask.scope
            and (note.day is None or note.day < ask.day)
            and (note.leaves is None or ask.day <= note.leaves)
        ]
        by_age = sorted(
            there, key=lambda note: (-1.0 if note.day is None else note.day, note.memory_id)
        )
        firsts = {note.text: note.memory_id for note in reversed(by_age)}
        assert ids == sorted(firsts.values())


def test_what_a_source_states_of_a_repetition_counts_and_a_circle_keeps_its_first(tmp_path):
    lab = store.open(tmp_path / "l.duckdb")
    with lab.writing() as con:
        for name, other in (("a", "b"), ("b", "a"), ("c", "b")):
            [text] = put_texts(con, [f"tea {name}"])
            insert_rows(
                con,
                [
                    Memory(memory_id=name, text_hash=text, duplicate_of=other, scope="team"),
                    MemorySpan(memory_id=name, text_hash=text, scope="team", known_at=instant(0)),
                ],
            )
        insert_rows(
            con, [store.EvalCaseRow(case_set="s", case_id="q", query="tea", asked_at=instant(1))]
        )
        assert settle_duplicates(con, ()) == 3
    table = candidates(lab, "s", setting())
    assert [table.memory_id(0, column) for column in range(table.valid.sum())] == ["a"]


class _Near(WordEncoder):
    """Texts of one first word are nearly one vector."""

    encoder_id = "near@1"
    dim = 64

    def encode(self, texts: Sequence[str], kind: str) -> np.ndarray:
        rows = np.zeros((len(texts), self.dim), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            row[ord(text[0]) % 32] = 1.0
            row[32 + len(text) % 32] = 0.1
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


# bug bank J62
def test_near_copies_are_marked_unless_a_number_a_date_or_a_negation_differs(tmp_path):
    notes = [
        Note("a", "deadline is 15 October", 0.0),
        Note("b", "deadline is 16 October", 1.0),
        Note("c", "deadline: it is 15 October", 2.0),
        Note("d", "deadline is not 15 October", 3.0),
        Note("e", "deadline is 15 October !!", 4.0, scope="home"),
        Note("f", "garden party", 5.0),
    ]
    lab = make_lab(tmp_path / "l.duckdb", notes, [])
    found = mark_near_duplicates(lab, _Near())
    assert found.pairs == {"c": "a"}
    assert (found.compared, found.kept_apart) == (6, 2)
    assert pointers(lab) == {"c": "a"}
    # An import ends with the same marks.
    with lab.writing() as con:
        settle_duplicates(con, ())
    assert pointers(lab) == {"c": "a"}


@given(st.integers(0, 2**32 - 1), st.integers(1, 30))
def test_what_comes_later_changes_no_earlier_text(seed, count):
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(count, 3)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    marks = [("1",) if flag else () for flag in rng.random(count) < 0.3]
    whole, _ = nearest_earlier(vectors, marks, 0.8)
    half = (count + 1) // 2
    part, _ = nearest_earlier(vectors[:half], marks[:half], 0.8)
    assert whole[:half].tolist() == part.tolist()
    assert (whole[whole] == whole).all()
    cosine = vectors @ vectors.T
    assert all(at == n or (cosine[n, at] > 0.8 and at < n) for n, at in enumerate(whole.tolist()))


@pytest.mark.parametrize("threshold", [0.0, 1.5, -1.0])
def test_a_threshold_out_of_range_is_refused(tmp_path, threshold):
    lab = make_lab(tmp_path / "l.duckdb", [Note("a", "tea")], [])
    with pytest.raises(ParameterError, match=r"threshold must be in \(0, 1\]"):
        mark_near_duplicates(lab, _Near(), threshold=threshold)


def test_a_case_that_names_a_hidden_copy_is_answered_by_what_is_shown_for_it(tmp_path):
    notes = [Note("a", "tea", 0.0, superseded=3.0), Note("b", "tea", 1.0), Note("c", "cup", 0.0)]
    asks = [Ask("early", "tea", 2.0, ("b", "a", "c")), Ask("late", "tea", 4.0, ("b",))]
    lab = make_lab(tmp_path / "l.duckdb", notes, asks, duplicates=True)
    table = candidates(lab, "s", setting())
    told = table.labels.select("query_id", "memory_id").rows()
    assert sorted(told) == [("early", "a"), ("early", "c"), ("late", "b")]
    assert table.notices["labels_of_copies"] == 1
    shown = candidates(lab, "s", setting(duplicates="show"))
    assert shown.labels.height == 4


def test_a_long_chain_of_pointers_leads_to_its_end():
    count = 5_000
    ids = [f"m{n:05d}" for n in range(count)]
    frame = pl.DataFrame(
        {"memory_id": ids, "version": 1, "duplicate_of": [*ids[1:], None]},
        schema={"memory_id": pl.String, "version": pl.Int64, "duplicate_of": pl.String},
    )
    copies = Copies.of(frame, np.zeros(count, dtype=np.int64))
    assert set(copies.group.tolist()) == {0}
    assert copies.later(np.ones(count, dtype=np.bool_)).tolist() == list(range(1, count))
