"""The page on tokenisers says what they do, and what the results say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from recalltune.rank import TOKENIZERS

NAMES = {"stella": "stella", "bge-m3": "bge_m3"}
MEASURES = {"first hit right": "recall@1", "MAP": "map"}


@pytest.fixture(scope="module")
def page(root: Path) -> str:
    return (root / "docs" / "method-tokenisers.md").read_text("utf-8")


def rows(page: str, first: str) -> Iterator[list[str]]:
    """Cells of the table whose first column is so headed, header included."""
    table = page[page.index(f"| {first} |") :].partition("\n\n")[0].splitlines()
    for line in [table[0], *table[2:]]:
        yield [cell.strip() for cell in line.strip("|").split("|")]


def test_the_table_of_examples_is_what_the_tokenisers_give(page):
    head, *examples = rows(page, "text")
    names = [cell.strip("`") for cell in head[1:]]
    assert set(names) == set(TOKENIZERS)
    assert len(examples) >= 10
    for text, *told in examples:
        given = [" ".join(TOKENIZERS[name](text)) or "-" for name in names]
        assert given == told, text


def test_every_tokeniser_has_a_line(page):
    _, *lines = rows(page, "name")
    assert sorted(cells[0].strip("`") for cells in lines) == sorted(TOKENIZERS)


def found(root: Path, collection: str, ranking: str, metric: str) -> float:
    """The mean in docs/results that a line of the page speaks of."""

    def told(name: str) -> dict:
        return json.loads((root / "docs" / "results" / f"{name}.json").read_text("utf-8"))

    if collection.startswith("CMRC"):
        table = [
            row for row in told("cmrc2018_zh")["tokenisers"] if f"`{row['tokeniser']}`" == ranking
        ]
    elif collection.startswith("CACM"):
        table = told("cacm")["padded" if "padded" in collection else "as published"]
    else:
        language = "zh" if "Chinese" in collection else "en"
        model = ranking.removesuffix("'s list").removeprefix("RRF of `plain` and ")
        model = {"openai": "openai_te3_large" if language == "zh" else "openai", **NAMES}.get(model)
        fused = f"RRF of BM25 and {model}" if ranking.startswith("RRF") else model or "BM25"
        table = [
            row
            for row in told("madial_bench")["rankings"]
            if (row["language"], row["ranking"]) == (language, fused)
        ]
    [row] = [row for row in table if row["metric"] == metric]
    return row["mean"]


def test_every_figure_on_the_page_is_that_of_the_results(page, root):
    _, *lines = rows(page, "collection")
    assert len(lines) == 18
    for collection, ranking, measure, value in lines:
        mean = found(root, collection, ranking, MEASURES[measure])
        assert abs(mean - float(value)) <= 0.00051, (collection, ranking)
