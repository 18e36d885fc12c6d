"""Figures of public collections that BM25 has to reproduce, each with its analyser and recipe.

LoCoMo: one scope a conversation, statistics over the question's world; text "speaker: text
caption"; k1 1.2, b 0.75; analyser "plain". Cranfield: title and text, the "-1" judgement left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import recalltune as rt
from recalltune.errors import checked
from recalltune.store import (
    EvalCaseRow,
    Label,
    Memory,
    MemorySpan,
    insert_rows,
    put_texts,
    text_hash,
)

pytestmark = [pytest.mark.shared, pytest.mark.slow, pytest.mark.xdist_group("figures")]

PLAIN_BM25 = checked(
    rt.RankingConfig,
    {
        "arms": {"lexical": {"tokeniser": "plain", "width": 1000}},
        "stages": [{"kind": "weighted"}, {"kind": "select", "top_k": 1000}],
    },
)
METRICS = ("recall@10", "recall@5", "mrr@10", "map")


@pytest.fixture(scope="module")
def locomo(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, rt.Evaluation]:
    lab = rt.open(tmp_path_factory.mktemp("locomo") / "locomo.duckdb")
    rt.ingest(lab, shared / "data" / "locomo" / "locomo.json", format="locomo")
    table = rt.candidates(lab, "locomo", PLAIN_BM25)
    return {
        unit: rt.evaluate(table, PLAIN_BM25, metrics=METRICS, unit=unit)
        for unit in ("memory", "session")
    }


@pytest.mark.parametrize(
    ("unit", "metric", "figure", "margin"),
    [
        ("memory", "recall@10", 0.555, 0.003),
        ("memory", "recall@5", 0.467, 0.003),
        ("memory", "mrr@10", 0.372, 0.003),
        ("session", "recall@10", 0.896, 0.003),
    ],
)
def test_locomo_with_plain_bm25(
    locomo: dict[str, rt.Evaluation], unit: str, metric: str, figure: float, margin: float
) -> None:
    assert locomo[unit].value(metric) == pytest.approx(figure, abs=margin)


def lines(file: Path) -> Iterator[dict]:
    with file.open(encoding="utf-8") as text:
        yield from map(json.loads, text)


def test_cranfield_with_plain_bm25(shared: Path, tmp_path: Path) -> None:
    folder = shared / "data" / "cranfield"
    texts = {
        row["_id"]: f"{row.get('title', '')} {row['text']}"
        for row in lines(folder / "corpus.jsonl")
    }
    lab = rt.open(tmp_path / "cranfield.duckdb")
    with lab.writing() as con:
        put_texts(con, sorted(set(texts.values())))
        rows: list = []
        for number, text in texts.items():
            digest = text_hash(text)
            rows.append(Memory(memory_id=number, text_hash=digest))
            rows.append(MemorySpan(memory_id=number, text_hash=digest))
        rows += [
            EvalCaseRow(case_set="cranfield", case_id=row["_id"], query=row["text"])
            for row in lines(folder / "queries.jsonl")
        ]
        for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:]:
            query, document, grade = line.split("\t")[:3]
            if document in texts:
                rows.append(
                    Label(case_set="cranfield", case_id=query, memory_id=document, grade=int(grade))
                )
        insert_rows(con, rows)
    table = rt.candidates(lab, "cranfield", PLAIN_BM25)
    result = rt.evaluate(table, PLAIN_BM25, metrics=("map",))
    assert result.value("map") == pytest.approx(0.277, abs=0.005)
