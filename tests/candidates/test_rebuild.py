"""A batch as of many instants equals, bit for bit, a new index for each question's world alone.

The rebuild is plain Python with a vocabulary of its own: it reads the spans, keeps those of the
question's world, counts their words and adds up. On the demo data, and on LoCoMo with a history
made up for it: a share of its turns is superseded, taken back or told late, and a quarter of the
questions is asked at an instant at which something happens.
"""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from recalltune.candidates.build import candidates_for
from recalltune.candidates.settings import Admit, Arms, DenseArm, LexicalArm
from recalltune.candidates.table import QUERY_COLUMNS, Candidates
from recalltune.errors import checked
from recalltune.ingest import ingest
from recalltune.pipeline.config import RankingConfig
from recalltune.rank.tokens import TOKENIZERS
from recalltune.report.demo import demo_lab
from recalltune.store import Lab, open, read_cases, read_spans
from small_lab import WordEncoder

DATA = Path(__file__).resolve().parents[2] / "data"
WIDTH = 50
TOKENISE = TOKENIZERS["words_cjk_bigrams"]


def setting(statistics: str) -> RankingConfig:
    return checked(
        RankingConfig,
        {
            "admit": Admit(superseded="hide", duplicates="show", statistics=statistics),  # type: ignore[arg-type]
            "arms": Arms(lexical=LexicalArm(width=WIDTH), dense=DenseArm(width=WIDTH)),
            "stages": [{"kind": "rrf"}],
        },
    )


def bm25(world: list[list[str]], words: list[str], counted: list[list[str]]) -> list[float]:
    """Lucene's BM25 of every text of a world, its statistics counted over another one."""
    holders = Counter(word for text in counted for word in set(text))
    total = sum(len(text) for text in counted)
    average = total / len(counted) if total else 1.0
    asked = Counter(words)
    scores = []
    for text in world:
        held, score = Counter(text), 0.0
        for word in sorted(asked, key=lambda word: word.encode()):
            if held[word]:
                # One logarithm for both sides: the standard library's differs in last bits.
                df = holders[word]
                idf = float(np.log1p((len(counted) - df + 0.5) / (df + 0.5)))
                tf = float(held[word])
                flat = 1.2 * (1.0 - 0.75) + 1.2 * 0.75 / average * len(text)
                score += idf * asked[word] * (1.2 + 1.0) * tf / (tf + flat)
        scores.append(score)
    return scores


def cosine(one: np.ndarray, two: np.ndarray) -> float:
    lanes = [0.0] * 16
    for place, (left, right) in enumerate(zip(one.tolist(), two.tolist(), strict=True)):
        lanes[place % 16] += left * right
    total = lanes[0]
    for lane in lanes[1:]:
        total += lane
    return min(1.0, max(-1.0, total))


def exists(span: dict[str, Any], at: int) -> bool:
    if span["enters_at"] is None or not span["enters_at"] < at:
        return False
    return span["leaves_at"] is None or at <= span["leaves_at"]


def best(scores: dict[int, float]) -> set[int]:
    """Rows of the first WIDTH; equal to twelve digits means by id, and rows stand by id."""
    rounded = {row: float(f"{score:.11e}") for row, score in scores.items()}
    return set(sorted(rounded, key=lambda row: (-rounded[row], row))[:WIDTH])


def check(lab: Lab, queries: pl.DataFrame, statistics: str, sample: list[int]) -> int:
    """Compare the sampled questions of one batch with their rebuilt worlds; pairs compared."""
    table = candidates_for(lab, queries, setting(statistics), encoder=WordEncoder())
    spans = table.spans.to_dicts()
    tokens = [TOKENISE(span["text"]) for span in spans]
    return sum(check_one(table, row, spans, tokens, statistics) for row in sample)


def check_one(
    table: Candidates,
    row: int,
    spans: list[dict[str, Any]],
    tokens: list[list[str]],
    statistics: str,
) -> int:
    asked = table.queries.row(row, named=True)
    at, scope = asked["asked_at"], asked["scope"]
    alive = [n for n, span in enumerate(spans) if exists(span, at)]
    world = [n for n in alive if scope is None or spans[n]["scope"] == scope]
    counted = [tokens[n] for n in (world if statistics == "world" else alive)]
    scores = bm25([tokens[n] for n in world], TOKENISE(asked["text"]), counted)
    lexical = dict(zip(world, scores, strict=True))
    allowed = {
        n for n in world
        if spans[n]["superseded_at"] is None or at <= spans[n]["superseded_at"]
    }  # fmt: skip
    assert table.vectors is not None
    assert table.asked is not None
    able = allowed if table.asked[row].any() else set()
    near = {n: cosine(table.asked[row], table.vectors[n]) for n in able if table.vectors[n].any()}
    shared = {n: lexical[n] for n in allowed if lexical[n] > 0}
    proposed = {"lexical": best(shared), "dense": best(near)}
    columns = {int(table.span[row, c]): c for c in np.flatnonzero(table.valid[row])}
    assert set(columns) == proposed["lexical"] | proposed["dense"]
    for n, column in columns.items():
        told = {name: float(table.feature(f"{name}_score")[row, column]) for name in proposed}
        assert told["lexical"].hex() == lexical[n].hex()
        assert math.isnan(told["dense"]) if n not in near else told["dense"].hex() == near[n].hex()
        for name, mine in proposed.items():
            assert np.isnan(table.feature(f"{name}_rank")[row, column]) == (n not in mine)
    return len(columns)


def questions(lab: Lab, case_set: str) -> pl.DataFrame:
    with lab.reading() as con:
        frame = read_cases(con, case_set)
        instants = read_spans(con)["enters_at"].drop_nulls().unique().sort().to_list()
    # A quarter of the questions at an instant of the data itself, spread over the history.
    dated = instants[1:]
    asked = [
        dated[(17 * n) % len(dated)] if n % 4 == 0 else at or dated[-1] + 1
        for n, at in enumerate(frame["asked_at"].to_list())
    ]
    return frame.with_columns(pl.Series("asked_at", asked)).select(
        pl.col("case_id").alias("query_id"),
        pl.col("query").alias("text"),
        *(pl.col(name) for name in list(QUERY_COLUMNS)[2:]),
    )


@pytest.mark.slow
def test_the_demo_data_equal_a_rebuild_of_every_world(tmp_path: Path) -> None:
    lab, _, _ = demo_lab(DATA, tmp_path / "demo.duckdb")
    asked = questions(lab, "demo")
    for statistics in ("world", "store"):
        assert check(lab, asked, statistics, list(range(0, asked.height, 5))) > 1_000


@pytest.mark.stress
@pytest.mark.shared
def test_locomo_with_a_history_equals_a_rebuild_of_every_world(
    shared: Path, tmp_path: Path
) -> None:
    lab = open(tmp_path / "locomo.duckdb")
    ingest(lab, shared / "data" / "locomo" / "locomo.json", format="locomo")
    with lab.writing() as con:
        # By the hash of an id: 5 % leave, 5 % are superseded, 10 % are told later or never.
        con.execute("""
            update memory_span set
                leaves_at = case when hash(memory_id) % 20 = 0
                    then known_at + interval 9 day end,
                superseded_at = case when hash(memory_id) % 20 = 1
                    then known_at + interval 5 day end,
                gated = hash(memory_id) % 10 = 5,
                told_at = case when hash(memory_id) % 20 = 5
                    then known_at + interval 12 day end
        """)
    asked = questions(lab, "locomo")
    sample = np.random.default_rng(1).choice(asked.height, 200, replace=False).tolist()
    for statistics in ("world", "store"):
        assert check(lab, asked, statistics, sample) > 10_000
