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
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

ROOT = Path(__file__).resolve().parent.parent.parent
if __name__ == "__main__":
    # Started as a script: the folder of the tests is not on the path.
    sys.path[0] = str(ROOT / "tests")

import recalltune as rt  # noqa: E402
from adapters import collection, madial  # noqa: E402
from recalltune.errors import checked  # noqa: E402
from recalltune.rank import TOKENIZERS  # noqa: E402

METRICS = ("recall@5", "recall@10", "mrr@10", "ndcg@10", "map")


def ranking(name: str, fusion: str, **arms: dict[str, Any]) -> rt.RankingConfig:
    """Arms, one fusion and nothing else, to the depth of a thousand."""
    stages = [{"kind": fusion}, {"kind": "select", "top_k": 1000}]
    return checked(rt.RankingConfig, {"name": name, "arms": arms, "stages": stages})


PLAIN = {"tokeniser": "plain", "width": 1000}
LISTED = {"width": madial.LISTED}
# Memories off a dense list have cosine 0 to its query and are not proposed.
ON_THE_LIST = {**LISTED, "min_cosine": 1e-3}
PLAIN_BM25 = ranking("plain BM25", "weighted", lexical=PLAIN)
PORTER_BM25 = ranking(
    "Anserini's BM25",
    "weighted",
    lexical={"tokeniser": "porter", "k1": 0.9, "b": 0.4, "width": 1000},
)
DENSE_LIST = ranking("dense list", "weighted", dense=ON_THE_LIST)
FUSED_LISTS = ranking("both lists", "rrf", lexical={**PLAIN, **LISTED}, dense=ON_THE_LIST)
BY_TOKENISER = {
    name: ranking(f"BM25 {name}", "weighted", lexical={"tokeniser": name, "width": 10})
    for name in TOKENIZERS
}
MADIAL_MODELS: dict[madial.Language, tuple[str, ...]] = {
    "zh": ("stella", "openai_te3_large"),
    "en": ("bge_m3", "openai"),
}
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
    by_unit = {
        unit: rt.evaluate(table, PLAIN_BM25, metrics=METRICS, unit=unit, split="all")
        for unit in UNITS
    }
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
    collection.fill(lab, shared / "data" / "cranfield", "cranfield")
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
        "abstracts": figures(rt.evaluate(table, PLAIN_BM25, metrics=METRICS, split="all")),
    }


def cacm(shared: Path, scratch: Path) -> Figures:
    """Abstracts of 1958 to 1979 by the analyser and constants of a published figure."""
    tables = {}
    for judged, qrels in CACM_JUDGEMENTS.items():
        lab = rt.open(scratch / f"{qrels}.duckdb")
        collection.fill(lab, shared / "data" / "cacm", "cacm", qrels=qrels)
        tables[judged] = rt.candidates(lab, "cacm", PORTER_BM25)
    return {
        "data": "CACM",
        "recipe": {
            **RECIPE,
            "ranking": "BM25 alone, idf ln(1 + (N - df + 0.5) / (df + 0.5)), k1 0.9, b 0.4",
            "tokeniser": "porter: lower-cased [a-z0-9]+ words, 33 stop words out, Porter stems",
            "config": PORTER_BM25.fingerprint,
            "memory": "title and text",
            "world": "all abstracts",
            "as published": "55 judged ids name no document and are missed",
            "published": "MAP .3123 (Anserini, whose index holds the citation table too)",
        },
        "n": counts(tables["padded"]),
        **{
            judged: figures(rt.evaluate(table, PORTER_BM25, metrics=METRICS, split="all"))
            for judged, table in tables.items()
        },
    }


CACM_JUDGEMENTS = {"padded": "qrels.tsv", "as published": "qrels.anserini.tsv"}


def madial_bench(shared: Path, scratch: Path) -> Figures:
    """Dialogues that call for memories of their user; real dense lists, alone and fused."""
    folder, rows, sizes = shared / "data" / "madial_bench", [], {}
    for language, models in MADIAL_MODELS.items():
        lab = rt.open(scratch / f"{language}.duckdb")
        madial.fill(lab, folder, language)
        table = rt.candidates(lab, "madial", PLAIN_BM25)
        sizes[language] = counts(table)
        rows += _madial_rows(table, PLAIN_BM25, language, "BM25")
        for model in models:
            lists = madial.dense_lists(folder, language, model, scratch / f"{language}{model}.npz")
            for config, told in ((DENSE_LIST, model), (FUSED_LISTS, f"RRF of BM25 and {model}")):
                table = rt.candidates(lab, "madial", config, encoder=lists)
                rows += _madial_rows(table, config, language, told)
    return {
        "data": "MADial-Bench, Chinese and English",
        "recipe": {
            **RECIPE,
            "ranking": f"{RECIPE['ranking']}; the first 20 of a model as the authors give them; RRF"
            " k 60, equal weights, of the first 20 of each",
            "config": CONFIGS["madial_bench"],
            "memory": "time scene emotion event",
            "question": "all turns before the first test turn",
            "world": "the user's memories; word statistics over them alone",
        },
        "n": {**sizes["zh"], "english_memories": sizes["en"]["memories"]},
        "rankings": rows,
    }


def _madial_rows(
    table: Any, config: rt.RankingConfig, language: str, told: str
) -> list[dict[str, Any]]:
    found = figures(rt.evaluate(table, config, metrics=("map", "recall@10"), split="all"))
    return [{"language": language, "ranking": told, **row} for row in found]


def cmrc2018_zh(shared: Path, scratch: Path) -> Figures:
    """Chinese questions and their passages, under every tokeniser."""
    lab = rt.open(scratch / "cmrc.duckdb")
    collection.fill(lab, shared / "data" / "cmrc2018_zh", "cmrc")
    rows = []
    for name, config in BY_TOKENISER.items():
        table = rt.candidates(lab, "cmrc", config)
        found = figures(rt.evaluate(table, config, metrics=("recall@1", "mrr@10"), split="all"))
        rows += [{"tokeniser": name, **row} for row in found]
    return {
        "data": "CMRC 2018 dev as questions and passages",
        "recipe": {
            **RECIPE,
            "tokeniser": "each in turn",
            "depth": 10,
            "config": CONFIGS["cmrc2018_zh"],
            "memory": "a passage",
            "world": "all passages",
        },
        "n": counts(table),
        "tokenisers": rows,
    }


DATA_SETS: dict[str, Callable[[Path, Path], Figures]] = {
    "locomo": locomo,
    "cranfield": cranfield,
    "cacm": cacm,
    "madial_bench": madial_bench,
    "cmrc2018_zh": cmrc2018_zh,
}
CONFIGS: dict[str, str | dict[str, str]] = {
    "locomo": PLAIN_BM25.fingerprint,
    "cranfield": PLAIN_BM25.fingerprint,
    "cacm": PORTER_BM25.fingerprint,
    "madial_bench": {
        config.name: config.fingerprint for config in (PLAIN_BM25, DENSE_LIST, FUSED_LISTS)
    },
    "cmrc2018_zh": {name: config.fingerprint for name, config in BY_TOKENISER.items()},
}


def counts(table: Any) -> dict[str, int]:
    return {
        "memories": table.spans["memory_id"].n_unique(),
        "questions": table.queries.height,
        "targets": table.labels.filter(pl.col("grade") > 0).height,
    }


def figures(result: rt.Evaluation) -> list[dict[str, Any]]:
    kept = result.summary().filter(~pl.col("metric").is_in(["passed", "tokens"]))
    return rounded(kept.drop("slice"))


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
