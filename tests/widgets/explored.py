"""A small case set for explorers: age, words and layers pull in different directions."""

from __future__ import annotations

from pathlib import Path

import recalltune as rt
from recalltune.pipeline.config import RankingConfig, parse_config
from small_lab import Ask, Note, WordEncoder, make_lab

CONFIG = """
name = "small"
[arms.lexical]
[arms.dense]
[[stages]]
kind = "rrf"
[[stages]]
kind = "decay"
family = "exponential"
half_life_days = 30.0
[[stages]]
kind = "salience"
[[stages]]
kind = "mmr"
[[stages]]
kind = "select"
top_k = 4
[profiles.long]
"select.top_k" = 8
"""
HOSTILE = "<script>alert(1)</script> kettle \u202e <img src=x onerror=alert(1)> &lt;"
SECRET = "held-out question about the cellar"


def config() -> RankingConfig:
    return parse_config(CONFIG, "small.toml")


def table(folder: Path):
    """24 cases over old and new notes; every sixth case is held out."""
    layers = ("project", "log", "user")
    notes, asks = [], []
    for n in range(24):
        word = f"topic{n}"
        notes.append(Note(f"old-{n:02}", f"{word} {word} kettle tea", 2.0 * n, layer=layers[n % 3],
                          salience=(n % 5) / 4))  # fmt: skip
        notes.append(Note(f"new-{n:02}", f"{word} kettle server", 60.0 + n, layer="log"))
        held = n % 6 == 5
        text = f"{word} {HOSTILE}" if n in (0, 8) else f"{word} kettle"
        asks.append(
            Ask(f"q-{n:02}", f"{word} {SECRET}" if held else text, 100.0, (f"old-{n:02}",),
                (f"new-{n:02}",) if n % 3 else (), session=f"s{n // 2}",
                split="held_out" if held else "tune", profile="long" if n % 4 == 1 else None)
        )  # fmt: skip
    lab = make_lab(folder / "lab.duckdb", notes, asks)
    return rt.candidates(lab, "s", config(), encoder=WordEncoder())
