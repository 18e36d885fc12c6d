"""Coarser units: which session a labelled memory belonged to when its case was asked."""

from __future__ import annotations

from pathlib import Path

import recalltune as rt
from recalltune.errors import checked
from recalltune.pipeline.config import RankingConfig
from recalltune.store import MemorySpan, insert_rows
from small_lab import Ask, Note, instant, make_lab

CONFIG = checked(RankingConfig, {"arms": {"lexical": {}}, "stages": [{"kind": "rrf"}]})


def state(version: int, day: float, session: str, **times: float) -> MemorySpan:
    dated = {f"{name}_at": instant(at) for name, at in times.items()}
    return MemorySpan(
        memory_id="n", version=version, text_hash=rt.store.text_hash("green tea"), scope="team",
        known_at=instant(day), layer="log", pinned=False, source="notes", tags=(),
        session=session, **dated,
    )  # fmt: skip


def test_a_state_that_was_told_after_it_was_replaced_is_no_session_of_its_memory(
    tmp_path: Path,
) -> None:
    asks = [Ask("early", "tea", 2.0, ("n",)), Ask("late", "tea", 10.0, ("n",))]
    lab = make_lab(tmp_path / "l.duckdb", [Note("n", "green tea")], asks)
    with lab.writing() as con:
        con.execute("delete from memory_span")
        spans = [
            state(1, 0.0, "first", leaves=3.0),
            state(2, 2.0, "never", leaves=3.0, told=9.0).with_(gated=True),
            state(3, 3.0, "last"),
        ]
        insert_rows(con, spans)
    found = rt.evaluate(
        rt.candidates(lab, "s", CONFIG), CONFIG, metrics=("recall@1",), unit="session"
    )
    assert found.cases["recall@1"].to_list() == [1.0, 1.0]
