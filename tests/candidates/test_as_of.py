"""The past is ranked as it was: nothing at or after a query's time changes a bit of it."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recalltune.candidates.build import candidates
from recalltune.candidates.settings import Admit, Arms, DenseArm, LexicalArm, SubstringArm
from recalltune.candidates.table import Candidates
from recalltune.errors import checked
from recalltune.pipeline.config import RankingConfig
from small_lab import WORDS, Ask, Note, WordEncoder, make_lab

DAYS = st.sampled_from([0.0, 1.0, 2.0, 3.0, 4.0])
MAYBE = st.one_of(st.none(), DAYS)
TEXT = st.lists(st.sampled_from(WORDS), min_size=0, max_size=5).map(" ".join)
NOTES = st.lists(
    st.builds(
        lambda text, day, leaves, superseded, gated, told, scope: Note(
            "", text, day, scope, "log", leaves, superseded, told if gated else None, gated
        ),
        TEXT, MAYBE, MAYBE, MAYBE, st.booleans(), MAYBE, st.sampled_from(["team", "home"]),
    ),
    min_size=1,
    max_size=14,
)  # fmt: skip


def config(superseded: str = "hide", width: int = 5) -> RankingConfig:
    return checked(
        RankingConfig,
        {
            "admit": Admit(superseded=superseded),  # type: ignore[arg-type]
            "arms": Arms(
                lexical=LexicalArm(width=width),
                dense=DenseArm(width=width),
                substring=SubstringArm(width=width),
            ),
            "stages": [{"kind": "rrf"}],
        },
    )


def named(notes: Sequence[Note]) -> list[Note]:
    return [replace(note, memory_id=f"m{n:02d}") for n, note in enumerate(notes)]


def table(notes: Sequence[Note], asks: Sequence[Ask], setting: RankingConfig) -> Candidates:
    with tempfile.TemporaryDirectory() as folder:
        lab = make_lab(Path(folder) / "l.duckdb", notes, asks, duplicates=True)
        return candidates(lab, "s", setting, encoder=WordEncoder())


def shown(made: Candidates, row: int) -> dict[str, tuple[bytes, ...]]:
    """Everything the table says about one query, to the bit, keyed by memory."""
    out = {}
    for column in np.flatnonzero(made.valid[row]):
        values = []
        for name in sorted(made.features):
            value = made.features[name][row, column]
            if name in made.codes:
                value = made.codes[name][int(value)]
            values.append(str(value).encode() if isinstance(value, str) else value.tobytes())
        out[made.memory_id(row, int(column))] = tuple(values)
    return out


def exists(note: Note, day: float, scope: str) -> bool:
    """The rule, written down a second time: an event at e is seen at t iff e < t."""
    born = -1.0 if note.day is None else note.day
    if note.gated:
        if note.told is None:
            return False
        born = max(born, note.told)
    return note.scope == scope and born < day and (note.leaves is None or day <= note.leaves)


def check_rebuild(notes: list[Note], day: float, query: str, superseded: str) -> None:
    notes = [note for note in named(notes) if note.text or note.day is not None]
    asks = [Ask("q", query, day)]
    setting = config(superseded)
    world = [note for note in notes if exists(note, day, "team")]
    anyone = world or [Note("z", "nothing else", 99.0)]
    assert shown(table(notes or anyone, asks, setting), 0) == shown(table(anyone, asks, setting), 0)


def check_future(notes: list[Note], day: float, query: str, data: st.DataObject) -> None:
    """Rows born at the very instant, ends, supersession and telling at it are the future."""
    before = named(notes)
    after: list[Note] = []
    later = st.sampled_from([day, day + 1.0, day + 7.0])
    for note in before:
        changed = note
        if note.leaves is not None and note.leaves >= day:
            changed = replace(changed, leaves=data.draw(st.one_of(st.none(), later)))
        if note.superseded is not None and note.superseded >= day:
            changed = replace(changed, superseded=data.draw(st.one_of(st.none(), later)))
        if note.gated and (note.told is None or note.told >= day):
            changed = replace(changed, told=data.draw(st.one_of(st.none(), later)))
        if not exists(replace(note, scope="team"), day, "team") and not note.gated:
            born_later = note.day is not None and note.day >= day
            if born_later:
                changed = replace(changed, text=data.draw(TEXT), day=data.draw(later))
        after.append(changed)
    after += [Note(f"m0{n}x", "tea backup 备份", day + n, "team") for n in range(3)]
    asks = [Ask("q", query, day), Ask("r", "tea 备份", day)]
    setting = config(data.draw(st.sampled_from(["show", "hide"])))
    one, two = table(before, asks, setting), table(after, asks, setting)
    for row in range(2):
        assert shown(one, row) == shown(two, row)


@pytest.mark.slow
@settings(max_examples=4)
@given(NOTES, DAYS, TEXT, st.sampled_from(["show", "hide"]))
def test_a_query_equals_the_same_query_over_a_store_that_holds_its_world_alone(
    notes: list[Note], day: float, query: str, superseded: str
) -> None:
    check_rebuild(notes, day, query, superseded)


@pytest.mark.slow
@settings(max_examples=6)
@given(NOTES, DAYS, TEXT, st.data())
def test_nothing_at_or_after_the_query_changes_a_bit(
    notes: list[Note], day: float, query: str, data: st.DataObject
) -> None:
    check_future(notes, day, query, data)


@pytest.mark.stress
@settings(max_examples=150)
@given(NOTES, DAYS, TEXT, st.sampled_from(["show", "hide"]))
def test_the_world_alone_many_times(
    notes: list[Note], day: float, query: str, superseded: str
) -> None:
    check_rebuild(notes, day, query, superseded)


@pytest.mark.stress
@settings(max_examples=150)
@given(NOTES, DAYS, TEXT, st.data())
def test_no_future_many_times(
    notes: list[Note], day: float, query: str, data: st.DataObject
) -> None:
    check_future(notes, day, query, data)


def test_an_event_is_seen_strictly_after_it_happened() -> None:
    seen = [
        Note("born before", "tea 1", 2.999999),
        Note("leaves at", "tea 2", 1.0, leaves=3.0),
        Note("superseded at", "tea 3", 1.0, superseded=3.0),
        Note("told before", "tea 4", 1.0, gated=True, told=2.999999),
        Note("born at no known time", "tea 5", None),
    ]
    unseen = [
        Note("born at", "tea 6", 3.0),
        Note("left before", "tea 7", 1.0, leaves=2.999999),
        Note("superseded before", "tea 8", 1.0, superseded=2.999999),
        Note("told at", "tea 9", 1.0, gated=True, told=3.0),
        Note("never told", "tea 10", 1.0, gated=True),
        Note("elsewhere", "tea 11", 1.0, scope="home"),
    ]
    # Pools as wide as the store: what is missing was not admitted.
    made = table([*unseen, *seen], [Ask("q", "tea", 3.0)], config(width=11))
    assert sorted(shown(made, 0)) == sorted(note.memory_id for note in seen)


def test_a_future_plan_is_clamped_to_age_zero_and_counted() -> None:
    with tempfile.TemporaryDirectory() as folder:
        lab = make_lab(Path(folder) / "l.duckdb", [Note("m", "tea", 1.0)], [Ask("q", "tea", 3.0)])
        with lab.writing() as con:
            con.execute("update memory_span set event_at = event_at + interval 10 day")
        made = candidates(lab, "s", config(), encoder=WordEncoder())
    assert made.feature("age_days")[0, 0] == 0.0
    assert made.notices["future_timestamps"] == 1


def test_hidden_rows_do_not_enter_the_statistics() -> None:
    """Two visible documents: idf of a word in one of them is ln 2, whatever other scopes hold."""
    notes = [Note("a", "tea", 0.0), Note("b", "garden", 0.0)]
    noise = [Note(f"n{i}", "tea tea", 0.0, scope="home") for i in range(5)]
    made = table([*notes, *noise], [Ask("q", "tea", 1.0)], config())
    column = [made.memory_id(0, c) for c in np.flatnonzero(made.valid[0])].index("a")
    assert made.feature("lexical_score")[0, column] == pytest.approx(np.log(2.0), rel=1e-12)


def test_an_empty_query_abstains_in_both_arms() -> None:
    made = table([Note("a", "tea", 0.0)], [Ask("q", "", 1.0)], config())
    assert made.valid.sum() == 0
    assert made.notices["abstained_queries"] == 1
    assert made.notices["wordless_queries"] == 1
