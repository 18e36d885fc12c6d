"""What the prompt holds already is not proposed again, and moves nobody's statistics."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from recalltune import store
from recalltune.candidates.build import candidates_for
from recalltune.candidates.settings import Admit
from recalltune.candidates.table import QUERY_COLUMNS, Candidates
from recalltune.errors import checked
from recalltune.pipeline.config import RankingConfig
from recalltune.store import Access, Memory, MemorySpan, Turn, insert_rows, put_texts, text_hash
from small_lab import WordEncoder, instant

TEXTS = {"a": "tea one", "b": "tea two", "c": "tea three", "d": "tea four"}
TURN_OF = {"a": "t1", "b": "t2", "c": "t3", "d": None}


def config(**admit: Any) -> RankingConfig:
    arms = {"lexical": {}, "dense": {}, "substring": {}}
    return checked(RankingConfig, {"admit": admit, "arms": arms, "stages": [{"kind": "rrf"}]})


def lab_of(folder: Path) -> store.Lab:
    lab = store.open(folder / "lab.duckdb")
    rows: list[store.Row] = []
    for seq, turn_id in enumerate(("t1", "t2", "t3"), start=1):
        rows.append(
            Turn(turn_id=turn_id, session_id="s1", seq=seq, role="user",
                 text_hash=text_hash("tea"), said_at=instant(float(seq)), source="claude-code")
        )  # fmt: skip
    for name, text in TEXTS.items():
        rows.append(
            Memory(memory_id=name, text_hash=text_hash(text), scope="team",
                   turn_id=TURN_OF[name], session="s2" if name == "d" else "s1")
        )  # fmt: skip
        rows.append(
            MemorySpan(memory_id=name, text_hash=text_hash(text), scope="team",
                       event_at=instant(0.5), known_at=instant(0.5))
        )  # fmt: skip
    with lab.writing() as con:
        put_texts(con, ["tea", *TEXTS.values()])
        insert_rows(con, rows)
    return lab


def ask(lab: store.Lab, day: float, session: str | None, **admit: Any) -> Candidates:
    when = instant(day)
    assert when is not None
    row: dict[str, Any] = dict.fromkeys(QUERY_COLUMNS)
    row |= {
        "query_id": "q", "text": "tea", "scope": "team", "session": session,
        "asked_at": int(when.timestamp() * 1e6),
    }  # fmt: skip
    queries = pl.DataFrame([row], schema=dict(QUERY_COLUMNS))
    return candidates_for(lab, queries, config(**admit), encoder=WordEncoder())


def shown(table: Candidates) -> list[str]:
    return [table.memory_id(0, int(column)) for column in np.flatnonzero(table.valid[0])]


def test_by_default_everything_that_exists_is_proposed(tmp_path: Path) -> None:
    assert shown(ask(lab_of(tmp_path), 9.0, "s1")) == ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    ("day", "turns", "left"),
    [
        (9.0, 1, ["a", "b", "d"]),  # t3 was the last turn
        (9.0, 2, ["a", "d"]),
        (9.0, 9, ["d"]),
        (3.0, 1, ["a", "c", "d"]),  # said at the very instant: not in the prompt yet
        (1.0, 9, ["a", "b", "c", "d"]),
    ],
)
def test_the_last_turns_are_in_the_prompt(
    tmp_path: Path, day: float, turns: int, left: list[str]
) -> None:
    table = ask(lab_of(tmp_path), day, "s1", in_prompt="hide_turns", prompt_turns=turns)
    assert shown(table) == left
    assert table.notices["in_prompt"] == 4 - len(left)


def test_a_session_may_be_left_out_whole(tmp_path: Path) -> None:
    lab = lab_of(tmp_path)
    assert shown(ask(lab, 9.0, "s1", in_prompt="hide_session")) == ["d"]
    assert shown(ask(lab, 9.0, "s2", in_prompt="hide_session")) == ["a", "b", "c"]
    assert shown(ask(lab, 9.0, None, in_prompt="hide_session")) == ["a", "b", "c", "d"]


def test_what_is_in_the_prompt_still_counts_in_the_statistics(tmp_path: Path) -> None:
    lab = lab_of(tmp_path)
    whole, part = ask(lab, 9.0, "s1"), ask(lab, 9.0, "s1", in_prompt="hide_session")
    assert whole.feature("lexical_score")[0, 3] == part.feature("lexical_score")[0, 0]


def test_the_copy_of_what_is_in_the_prompt_says_nothing_new(tmp_path: Path) -> None:
    lab = lab_of(tmp_path)
    with lab.writing() as con:
        con.execute("update memory set duplicate_of = 'a' where memory_id = 'd'")
    assert shown(ask(lab, 9.0, "s1", in_prompt="hide_session")) == []


def test_a_use_by_another_audience_is_nobody_elses_business(tmp_path: Path) -> None:
    lab = lab_of(tmp_path)
    with lab.writing() as con:
        uses = [
            Access(memory_id="a", used_at=at, kind="shown", audience=who)
            for at, who in ((instant(1.0), "everyone"), (instant(2.0), "owner"))
            if at is not None
        ]
        insert_rows(con, uses)
    assert ask(lab, 9.0, None).feature("access_count")[0, 0] == 1
    assert ask(lab, 9.0, None, audience="owner").feature("access_count")[0, 0] == 2


def test_the_rule_is_part_of_what_made_the_table() -> None:
    assert config().setup != config(in_prompt="hide_session").setup
    assert Admit().in_prompt == "show"
