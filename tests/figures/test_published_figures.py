"""Figures of public collections that BM25 has to reproduce, each with its analyser and recipe.

LoCoMo: one scope a conversation, statistics over the question's world; text "speaker: text
caption"; k1 1.2, b 0.75; analyser "plain". Cranfield: title and text, the "-1" judgement left out.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import recalltune as rt
from adapters import collection
from benchmarks.results import PLAIN_BM25

pytestmark = [pytest.mark.shared, pytest.mark.slow]

METRICS = ("recall@10", "recall@5", "mrr@10", "map")


@pytest.fixture(scope="module")
def locomo(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, rt.Evaluation]:
    lab = rt.open(tmp_path_factory.mktemp("locomo") / "locomo.duckdb")
    rt.ingest(lab, shared / "data" / "locomo" / "locomo.json", format="locomo")
    table = rt.candidates(lab, "locomo", PLAIN_BM25)
    return {
        unit: rt.evaluate(table, PLAIN_BM25, metrics=METRICS, unit=unit, split="all")
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


def test_cranfield_with_plain_bm25(shared: Path, tmp_path: Path) -> None:
    lab = rt.open(tmp_path / "cranfield.duckdb")
    collection.fill(lab, shared / "data" / "cranfield", "cranfield")
    table = rt.candidates(lab, "cranfield", PLAIN_BM25)
    result = rt.evaluate(table, PLAIN_BM25, metrics=("map",), split="all")
    assert result.value("map") == pytest.approx(0.277, abs=0.005)
