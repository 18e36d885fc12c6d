"""A small transcript with cases that speak of its turns, and a replay of it."""

from __future__ import annotations

from pathlib import Path

import recalltune as rt
from recalltune.pipeline.config import RankingConfig, parse_config
from recalltune.replay.step_views import followed
from recalltune.replay.steps import Replay
from recalltune.store import Turn, insert_rows, put_texts, text_hash
from small_lab import Ask, Note, instant, make_lab

CONFIG = """
name = "walked"
[admit]
superseded = "show"
[arms.lexical]
[[stages]]
kind = "rrf"
[[stages]]
kind = "decay"
family = "exponential"
half_life_days = 30.0
[[stages]]
kind = "select"
top_k = 2
budget_tokens = 30
"""
HOSTILE = "<script>window.broken = 1</script><img src=x onerror='window.broken = 1'> \u202e &lt;"
LONG = "tea " * 60
SECRET = "tea surprise nobody was told of"
NOTES = [
    Note("old", "tea garden 备份", 1.0, layer="project", superseded=4.0),
    Note("new", f"tea garden {HOSTILE}", 4.0, layer="project"),
    Note("log-1", "tea garden server", 2.0),
    Note("log-2", "tea garden sensor", 3.0),
    Note("long", LONG, 2.0, layer="whiteboard"),
    Note("elsewhere", "tea garden", 1.0, scope="other"),
    Note("later", "tea garden tomorrow", 9.0),
    Note("secret", SECRET, 1.0, gated=True),
]
TURNS = (
    ("t1", "tea garden", 3.5),
    ("t2", f"tea garden {HOSTILE}", 5.0),
    ("t3", "备份 tea?", 6.0),
    ("t4", "nothing of that kind", 7.0),
)
ASKS = [
    Ask("c1", "tea garden", 3.5, ("old", "later", "elsewhere", "secret")),
    Ask("c2", f"tea garden {HOSTILE}", 5.0, ("new",)),
    Ask("held", "备份 tea?", 6.0, ("old",), split="held_out"),
    Ask("other-time", "nothing of that kind", 6.5, ("old",)),
]


def config() -> RankingConfig:
    return parse_config(CONFIG, "walked.toml")


def make_walk_lab(path: Path) -> rt.Lab:
    lab = make_lab(path, NOTES, ASKS)
    with lab.writing() as con:
        put_texts(con, [text for _, text, _ in TURNS])
        insert_rows(
            con,
            [
                Turn(turn_id=name, session_id=f"s{n // 2}", seq=n, role="user", source="test",
                     text_hash=text_hash(text), said_at=instant(day))
                for n, (name, text, day) in enumerate(TURNS)
            ],
        )  # fmt: skip
    return lab


def walk(path: Path) -> Replay:
    lab = make_walk_lab(path)
    labelled = rt.replay(lab, config(), cases="s")
    return followed(rt.replay(lab, config(), scope="team"), labelled)
