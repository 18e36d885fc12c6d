"""A session in which the agent alone speaks is named by no message, however near the guess is."""

from __future__ import annotations

from pathlib import Path

import pytest

import recalltune as rt
from recalltune.errors import ParameterError
from recalltune.store import Turn, insert_rows, put_texts, text_hash
from small_lab import Note, instant, make_lab


@pytest.mark.parametrize("guess", ["zqvnight", "zqvnigh", "zq", "zqvnightly", "nope", ""])
def test_a_session_without_a_question_is_never_completed(tmp_path: Path, guess: str) -> None:
    lab = make_lab(tmp_path / "l.duckdb", [Note("m", "tea")], [])
    turns = [
        Turn(turn_id=name, session_id=session, seq=0, role=role, text_hash=text_hash("tea"),
             said_at=instant(1.0), source=source)
        for name, session, role, source in [
            ("t", "day", "user", "chat"), ("own", "zqvnight", "companion", "companion"),
        ]
    ]  # fmt: skip
    with lab.writing() as con:
        put_texts(con, ["tea"])
        insert_rows(con, turns)
    config = rt.preset("hel847-ported").with_(arms={"lexical": {}}, stages=({"kind": "rrf"},))
    with pytest.raises(ParameterError, match="is unknown; ") as refused:
        rt.replay(lab, config, session=guess)
    assert "zqvnight" not in str(refused.value).replace(repr(guess), "")
    assert "known: day" in str(refused.value)
    assert rt.replay(lab, config, session="da").steps["session"].to_list() == ["day"]
