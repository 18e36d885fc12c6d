"""A small made-up memory with eval cases, without an embedding model: results in seconds."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import recalltune.store as store
from recalltune.candidates.build import candidates
from recalltune.candidates.table import Candidates
from recalltune.evaluate.run import evaluate, in_split
from recalltune.pipeline.config import RankingConfig, parse_config
from recalltune.report.story import Journey
from recalltune.store import EvalCaseRow, Lab, Label, Memory, MemorySpan, put_texts, text_hash
from recalltune.sweep.choose import choose
from recalltune.sweep.engine import sweep
from recalltune.sweep.space import Space

START = datetime(2026, 1, 1, tzinfo=UTC)
LAYERS = ("project", "whiteboard", "user", "reflection", "log")
WORDS = ("valve", "gauge", "pump", "ferry", "mill", "lamp", "水位", "阀门")
SECRET = "plum orchard handshake"

LEXICAL = """
name = "lexical"
[arms.lexical]
[[stages]]
kind = "rrf"
[[stages]]
kind = "decay"
family = "none"
[[stages]]
kind = "salience"
[[stages]]
kind = "select"
top_k = 5
"""


def lexical() -> RankingConfig:
    return parse_config(LEXICAL, "lexical.toml")


def filled(
    folder: Path,
    *,
    cases: int = 40,
    texts: dict[str, str] | None = None,
    queries: int | None = None,
) -> Lab:
    """A lab of 60 memories, an untold one among them, and ``cases`` cases in two languages.

    ``texts`` replaces the text of single memories, ``m000`` to ``m059``, and of ``q0``, the first
    query.
    """
    given = texts or {}
    lab = store.open(folder / "lab.duckdb")
    rows: list[object] = []
    wording: dict[str, str] = {}
    for at in range(60):
        name = f"m{at:03d}"
        plain = f"{WORDS[at % 8]} number{at % 20} {WORDS[(at // 8) % 8]} seen day{at}"
        wording[name] = given.get(name, plain)
    wording["secret"] = f"{SECRET} valve gauge pump number1"
    for at, (name, text) in enumerate(wording.items()):
        born = START + timedelta(days=2 * at)
        told = None if name == "secret" else born
        rows.append(
            Memory(
                memory_id=name, text_hash=text_hash(text), layer=LAYERS[at % 5],
                # Every fourth memory matters; a setting that heeds salience finds it sooner.
                salience=0.9 if at % 4 == 0 else 0.1,
            )
        )  # fmt: skip
        rows.append(
            MemorySpan(
                memory_id=name, text_hash=text_hash(text), event_at=born, known_at=born,
                told_at=told, gated=True,
            )
        )  # fmt: skip
    for at in range(cases):
        target = f"m{(4 * at) % 60:03d}"
        words = wording[target][:200].split()[0]
        rows.append(
            EvalCaseRow(
                case_set="made_up", case_id=f"c{at:03d}",
                query=given.get("q0", words) if at == 0 else words,
                asked_at=START + timedelta(days=130), session=f"s{at // 2}",
                kind=("single_fact", "update")[at % 2], lang=("en", "zh")[at % 4 == 3],
                split="held_out" if at % 4 == 2 else "tune", top_k=5,
            )
        )  # fmt: skip
        rows.append(Label(case_set="made_up", case_id=f"c{at:03d}", memory_id=target))
    with lab.writing() as con:
        put_texts(con, list(wording.values()))
        store.insert_rows(con, rows)
    return lab


def table(lab: Lab) -> Candidates:
    return candidates(lab, "made_up", lexical())


def journey(lab: Lab) -> Journey:
    """The whole of a run on the made-up memory."""
    made = table(lab)
    base = lexical()
    space = Space(
        {
            "decay.family": ["none", "exponential"],
            "decay.half_life_days": [15, 60],
            "salience.salience_weight": [0.0, 0.5, 2.0],
        }
    )
    # Seconds are no part of a result; without them a report is the same twice.
    swept = replace(sweep(made, base, space), seconds=0.0)
    choice = choose(swept, candidates=made)
    return Journey(
        imported=None,
        candidates=in_split(made, "tune"),
        results={"lexical": evaluate(made, base)},
        sweep=swept,
        choice=choice,
        exported=("config.json: 1 values change\n  halfLife: 14 -> 60",),
        commands=("make demo",),
    )
