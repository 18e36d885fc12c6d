"""make results: aggregate figures of the shared data sets into docs/results, one file a data set.

A file holds means with intervals, their n and the recipe; no id and no text of the data. Without
the shared folder nothing is written and the committed figures stay.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl

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

ROOT = Path(__file__).resolve().parent.parent.parent
METRICS = ("recall@5", "recall@10", "mrr@10", "ndcg@10", "map")
PLAIN_BM25 = checked(
    rt.RankingConfig,
    {
        "name": "plain BM25",
        "arms": {"lexical": {"tokeniser": "plain", "width": 1000}},
        "stages": [{"kind": "weighted"}, {"kind": "select", "top_k": 1000}],
    },
)
RECIPE = {
    "ranking": "BM25 alone, idf ln(1 + (N - df + 0.5) / (df + 0.5)), k1 1.2, b 0.75",
    "tokeniser": "plain: lower-cased [a-z0-9]+ words, no stemming, no stop words",
    "depth": 1000,
    "config": PLAIN_BM25.fingerprint,
    "intervals": "95 %, bootstrap of whole sessions where the data have any, else of questions",
}
Figures = dict[str, Any]


def locomo(shared: Path, scratch: Path) -> Figures:
    """Conversations as memories, one scope each; questions see all of their conversation."""
    lab = rt.open(scratch / "locomo.duckdb")
    rt.ingest(lab, shared / "data" / "locomo" / "locomo.json", format="locomo")
    table = rt.candidates(lab, "locomo", PLAIN_BM25)
    by_unit = {unit: rt.evaluate(table, PLAIN_BM25, metrics=METRICS, unit=unit) for unit in UNITS}
    kinds = by_unit["memory"].summary("kind").filter(pl.col("metric") == "recall@10")
    return {
        "data": "LoCoMo, all conversations of the file pooled",
        "recipe": {
            **RECIPE,
            "memory": "one a turn: speaker, text and image caption",
            "world": "the question's conversation; word statistics over it alone",
            "session": "a session stands at the place of its best turn",
        },
        "n": counts(table),
        "turns": figures(by_unit["memory"]),
        "sessions": figures(by_unit["session"]),
        "turns_recall@10_by_kind": rounded(kinds.rename({"slice": "kind"}).drop("metric")),
    }


UNITS = ("memory", "session")


def cranfield(shared: Path, scratch: Path) -> Figures:
    """Abstracts and questions of 1967; the one judgement of -1 a question is not relevant."""
    lab = rt.open(scratch / "cranfield.duckdb")
    fill(lab, shared / "data" / "cranfield", "cranfield")
    table = rt.candidates(lab, "cranfield", PLAIN_BM25)
    return {
        "data": "Cranfield 1400",
        "recipe": {
            **RECIPE,
            "memory": "title and text",
            "world": "all abstracts",
            "judged -1": "not relevant",
        },
        "n": counts(table),
        "abstracts": figures(rt.evaluate(table, PLAIN_BM25, metrics=METRICS)),
    }


DATA_SETS: dict[str, Callable[[Path, Path], Figures]] = {"locomo": locomo, "cranfield": cranfield}


def fill(lab: rt.Lab, folder: Path, case_set: str) -> None:
    """A collection of corpus, queries and judgements into a lab; its texts have no times."""
    texts = {
        row["_id"]: f"{row.get('title', '')} {row['text']}"
        for row in json_lines(folder / "corpus.jsonl")
    }
    rows: list[Any] = []
    for number, text in texts.items():
        rows.append(Memory(memory_id=number, text_hash=text_hash(text)))
        rows.append(MemorySpan(memory_id=number, text_hash=text_hash(text)))
    rows += [
        EvalCaseRow(case_set=case_set, case_id=row["_id"], query=row["text"])
        for row in json_lines(folder / "queries.jsonl")
    ]
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        query, document, grade = line.split("\t")[:3]
        # Judgements of documents the file does not have cannot be met by any ranking.
        if document in texts:
            rows.append(
                Label(case_set=case_set, case_id=query, memory_id=document, grade=int(grade))
            )
    with lab.writing() as con:
        put_texts(con, sorted(set(texts.values())))
        insert_rows(con, rows)


def json_lines(file: Path) -> Iterator[dict[str, Any]]:
    with file.open(encoding="utf-8") as text:
        yield from map(json.loads, text)


def counts(table: Any) -> dict[str, int]:
    return {
        "memories": table.spans["memory_id"].n_unique(),
        "questions": table.queries.height,
        "targets": table.labels.filter(pl.col("grade") > 0).height,
    }


def figures(result: rt.Evaluation) -> list[dict[str, Any]]:
    return rounded(result.summary().filter(pl.col("metric").is_in(METRICS)).drop("slice"))


def rounded(frame: pl.DataFrame) -> list[dict[str, Any]]:
    """Four digits: more would only move with the last bit of a resample."""
    return frame.with_columns(pl.col(pl.Float64).round(4)).to_dicts()


def shared_folder() -> Path:
    return Path(os.environ.get("RECALLTUNE_SHARED") or ROOT.parent / "shared").resolve()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help=f"of {', '.join(DATA_SETS)}; default: all")
    parser.add_argument("--into", type=Path, default=ROOT / "docs" / "results")
    options = parser.parse_args()
    shared = shared_folder()
    if not (shared / "data").is_dir():
        print("no shared data ($RECALLTUNE_SHARED, default ../shared); docs/results stays as it is")
        return 0
    options.into.mkdir(parents=True, exist_ok=True)
    for name in options.names or DATA_SETS:
        if not (shared / "data" / name).is_dir():
            print(f"{name}: not in the shared data, skipped")
            continue
        with tempfile.TemporaryDirectory() as scratch:
            told = DATA_SETS[name](shared, Path(scratch))
        path = options.into / f"{name}.json"
        path.write_text(json.dumps(told, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        print(f"{name}: {told['n']['questions']:,} questions, {path.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
