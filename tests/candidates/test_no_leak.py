"""No preset knows the future, and a library that peeks is caught.

Many questions are asked at one instant T at which events happen. Everything outside their worlds is
then changed: texts, scopes and dates of what enters at T or later; ends, supersessions and
retractions at T or later; uses; new memories, some at T itself; rows nobody was told. Every number
the table holds about those questions, every score, list and explanation must be the same to the
bit. The generator puts events at T on purpose: without them, a boundary on the wrong side passes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recalltune import store
from recalltune.candidates.build import candidates
from recalltune.candidates.world import AccessLog, SpanTable, Worlds
from recalltune.evaluate.shown import rank
from recalltune.pipeline.config import preset, preset_names
from recalltune.pipeline.explain import explain
from recalltune.rank.dated_postings import DatedPostings, Statistics
from recalltune.rank.timeline import Instants, Timeline
from recalltune.store import Access, Lab, Memory, MemorySpan, insert_rows, put_texts, text_hash
from small_lab import WORDS, Ask, WordEncoder, instant, make_lab

DAY = 5
"""T, in days; events happen on whole days."""
NEVER_TOLD = -1
LAYERS, SCOPES = ("log", "project", "user"), ("team", "home")


@dataclass(frozen=True)
class State:
    """One version of a memory: days at which things happen to it, 99 = never."""

    text: str
    day: int
    scope: str
    layer: str
    salience: float
    leaves: int
    superseded: int
    told: int | None
    """None: nobody has to be told."""


@dataclass(frozen=True)
class Past:
    states: dict[str, list[State]]
    uses: frozenset[tuple[str, int]]


def draw(rng: np.random.Generator, count: int = 18) -> Past:
    states = {f"m{n:02d}": versions(rng) for n in range(count)}
    uses = {
        (str(rng.choice(list(states))), int(rng.integers(0, 9)))
        for _ in range(int(rng.integers(10, 30)))
    }
    return Past(states, frozenset(uses))


def versions(rng: np.random.Generator) -> list[State]:
    births = sorted(set(rng.integers(0, 9, int(rng.integers(1, 4))).tolist()))
    ends = [*births[1:], 99]
    return [state(rng, day, end) for day, end in zip(births, ends, strict=True)]


def state(rng: np.random.Generator, day: int, leaves: int) -> State:
    return State(
        " ".join(rng.choice(WORDS, int(rng.integers(1, 6)))),
        day,
        str(rng.choice(SCOPES, p=[0.8, 0.2])),
        str(rng.choice(LAYERS)),
        round(float(rng.random()), 2),
        leaves,
        int(rng.choice([99, day + int(rng.integers(0, 6))], p=[0.6, 0.4])),
        None if rng.random() < 0.7 else int(rng.choice([NEVER_TOLD, *range(9)])),
    )


def another_future(past: Past, rng: np.random.Generator) -> Past:
    """Change all that no question at T may know, and nothing else."""
    after: dict[str, list[State]] = {}
    for name, states in past.states.items():
        kept = [
            later_told(one, rng)
            for one in states
            if one.day < DAY or (one.told is not None and one.told != NEVER_TOLD)
        ]
        if not kept:
            continue
        if kept[-1].leaves >= DAY:
            kept[-1] = replace(kept[-1], leaves=int(rng.choice([DAY, DAY + 2, 99])))
            if kept[-1].day < DAY and kept[-1].told is None and rng.random() < 0.7:
                edit = state(rng, max(DAY, min(kept[-1].leaves, DAY + 2)), 99)
                kept = [*kept[:-1], replace(kept[-1], leaves=edit.day), replace(edit, told=None)]
        after[name] = kept
    for n in range(6):  # ids that sort between those there are
        after[f"m{n:02d}x"] = [state(rng, DAY + n % 3, 99)]
    uses = {use for use in past.uses if use[1] < DAY and use[0] in after}
    uses |= {(str(rng.choice(sorted(after))), int(rng.integers(DAY, 9))) for _ in range(40)}
    return Past(after, frozenset(uses))


def later_told(one: State, rng: np.random.Generator) -> State:
    """What is told at T or later, or never, may say anything; what ends then, may end otherwise."""
    if one.told is not None and (one.told >= DAY or one.told == NEVER_TOLD or one.day >= DAY):
        words = " ".join(rng.choice(WORDS, 4))
        one = replace(one, text=words, layer="log", salience=0.5, told=NEVER_TOLD)
    if one.superseded >= DAY:
        one = replace(one, superseded=int(rng.choice([DAY, DAY + 2, 99])))
    return one


ASKS = [
    Ask(f"q{n}", f"{one} {two}", float(DAY), scope=scope)
    for n, (one, two, scope) in enumerate(
        [("tea", "server", "team"), ("备份", "garden", None), ("release", "会议", "team")]
    )
]


def lab_of(past: Past, folder: Path) -> Lab:
    lab = make_lab(folder / "l.duckdb", [], ASKS)
    rows: list[store.Row] = []
    for name, states in past.states.items():
        last = states[-1]
        rows.append(
            Memory(memory_id=name, text_hash=text_hash(last.text), layer=last.layer,
                   scope=last.scope, salience=last.salience)
        )  # fmt: skip
        for version, one in enumerate(states, start=1):
            rows.append(
                MemorySpan(
                    memory_id=name, version=version, text_hash=text_hash(one.text),
                    scope=one.scope, event_at=instant(one.day), known_at=instant(one.day),
                    leaves_at=None if one.leaves == 99 else instant(one.leaves),
                    superseded_at=None if one.superseded == 99 else instant(one.superseded),
                    gated=one.told is not None,
                    told_at=None if one.told in (None, NEVER_TOLD) else instant(one.told),
                    layer=one.layer, salience=one.salience, pinned=False, source="manual", tags=(),
                )
            )  # fmt: skip
    rows += [
        Access(memory_id=name, used_at=instant(day), kind="recalled")  # type: ignore[arg-type]
        for name, day in sorted(past.uses)
    ]
    with lab.writing() as con:
        put_texts(con, sorted({one.text for states in past.states.values() for one in states}))
        insert_rows(con, rows)
    return lab


def told(lab: Lab, name: str) -> list[bytes]:
    """Everything a preset says about each question, to the bit."""
    config = preset(name)
    table = candidates(lab, "s", config, encoder=WordEncoder())
    listed = rank(table, config)
    out = []
    for row, query_id in enumerate(table.queries["query_id"]):
        said = []
        for column in np.flatnonzero(table.valid[row]).tolist():
            said.append(table.memory_id(row, column).encode())
            for feature in sorted(table.features):
                value = table.features[feature][row, column]
                coded = feature in table.codes
                said.append(table.codes[feature][int(value)].encode() if coded else value.tobytes())
            said.append(listed.score[row, column].tobytes())
        order = listed.order[row][listed.order[row] >= 0].tolist()
        said += [table.memory_id(row, column).encode() for column in order]
        evidence = explain(table, config, query_id).sort("step", "memory_id")
        said.append(evidence.drop("query_id").write_csv(float_precision=17).encode())
        out.append(b"|".join(said))
    return out


def labs(seed: int, folder: Path) -> tuple[Lab, Lab]:
    rng = np.random.default_rng(seed)
    past = draw(rng)
    (folder / "one").mkdir()
    (folder / "two").mkdir()
    return lab_of(past, folder / "one"), lab_of(another_future(past, rng), folder / "two")


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2])
def test_no_preset_knows_the_future(seed: int, tmp_path: Path) -> None:
    one, two = labs(seed, tmp_path)
    for name in preset_names():
        assert told(one, name) == told(two, name), name


@pytest.mark.stress
@pytest.mark.parametrize("seed", range(3, 33))
def test_no_preset_knows_any_of_many_futures(seed: int, tmp_path: Path) -> None:
    test_no_preset_knows_the_future(seed, tmp_path)


def peeking_at_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """The newest text of a memory stands in for what it said then."""
    build = SpanTable.of

    def peek(spans: Any, audience: str) -> SpanTable:
        newest = spans.sort("memory_id", "version").unique("memory_id", keep="last")
        told = spans.drop("text").join(newest.select("memory_id", "text"), on="memory_id")
        return build(told, audience)

    monkeypatch.setattr(SpanTable, "of", peek)


def peeking_at_df(monkeypatch: pytest.MonkeyPatch) -> None:
    """Words are counted over the whole history; rows are still filtered by time."""
    honest = DatedPostings.statistics

    def peek(self: DatedPostings, asked: Any, instants: Instants, *given: Any, **named: Any):
        every = Instants(
            np.full_like(instants.entered, self.timeline.rows.size),
            np.zeros_like(instants.left),
        )
        group = self._groups_of(
            asked.term,
            np.repeat(np.arange(asked.distinct.size), np.diff(asked.query_ptr)),
            None,
        )
        df = np.bincount(
            group[0],
            np.diff(self._postings.starts)[group[1]],
            minlength=asked.term.size,
        )
        told: Statistics = honest(self, replace(asked, df=df.astype(np.int64)), every)
        return told

    monkeypatch.setattr(DatedPostings, "statistics", peek)


def peeking_at_uses(monkeypatch: pytest.MonkeyPatch) -> None:
    """A snapshot's final counter is read as if it had always stood there."""
    honest = AccessLog.before

    def peek(self: AccessLog, memory: Any, at: Any) -> tuple[np.ndarray, np.ndarray]:
        final, _ = honest(self, memory, at + 10**15)
        return final, np.nan_to_num(honest(self, memory, at)[1])

    monkeypatch.setattr(AccessLog, "before", peek)


def late_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """One microsecond late: what happens at T is seen at T."""
    honest = Timeline.instants
    monkeypatch.setattr(Timeline, "instants", lambda self, at: honest(self, np.asarray(at) + 1))


def ends_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is superseded at T is gone at T."""
    honest = Worlds.until.func  # type: ignore[attr-defined]
    early = property(lambda self: np.maximum(honest(self), np.iinfo(np.int64).min + 1) - 1)
    monkeypatch.setattr(Worlds, "until", early)


def uses_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A use at T counts at T."""
    honest = AccessLog.before
    monkeypatch.setattr(AccessLog, "before", lambda self, memory, at: honest(self, memory, at + 1))


def latest_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    """The newest layer of a memory stands in for the one it had then."""
    build = SpanTable.of

    def peek(spans: Any, audience: str) -> SpanTable:
        newest = spans.sort("memory_id", "version").unique("memory_id", keep="last")
        told = spans.drop("layer").join(newest.select("memory_id", "layer"), on="memory_id")
        return build(told, audience)

    monkeypatch.setattr(SpanTable, "of", peek)


MUTANTS: list[tuple[Callable[[pytest.MonkeyPatch], None], str]] = [
    (peeking_at_text, "textbook"),
    (peeking_at_df, "textbook"),
    (peeking_at_uses, "recallnest"),
    (late_clock, "textbook"),
    (ends_at_once, "textbook"),
    (uses_at_once, "recallnest"),
    (latest_layer, "textbook"),
]


@contextmanager
def honest_again() -> Iterator[pytest.MonkeyPatch]:
    patch = pytest.MonkeyPatch()
    try:
        yield patch
    finally:
        patch.undo()


def mutants() -> Iterator[Any]:
    """The three that peek at a value are tried by every run, those one instant off by long ones."""
    for mutant, name in MUTANTS:
        peeks = mutant.__name__.startswith("peeking")
        marks = pytest.mark.slow if peeks else pytest.mark.stress
        yield pytest.param(mutant, name, id=mutant.__name__, marks=marks)


@pytest.mark.parametrize(("mutant", "name"), list(mutants()))
def test_a_library_that_peeks_is_caught(
    mutant: Callable[[pytest.MonkeyPatch], None], name: str, tmp_path: Path
) -> None:
    one, two = labs(1, tmp_path)
    assert told(one, name) == told(two, name)
    with honest_again() as patch:
        mutant(patch)
        assert told(one, name) != told(two, name)
