"""One run on the demo data, from import to report, everything it makes written into a folder.

Started as a process of its own, so that two runs can differ in hash seed, threads and folder.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import polars as pl

import recalltune as rt
import recalltune.report.journey as journeys
from recalltune.evaluate.views import compare, flips, slices
from recalltune.production.provenance import Provenance
from recalltune.replay.fate_views import loss_account
from recalltune.report.picture import Picture
from recalltune.store import data_digest
from recalltune.sweep.views import binding, line, surface

LEXICAL = """
name = "lexical"
[arms.lexical]
[[stages]]
kind = "rrf"
[[stages]]
kind = "decay"
family = "exponential"
half_life_days = 60.0
[[stages]]
kind = "salience"
[[stages]]
kind = "mmr"
lambda_ = 0.8
similarity = "jaccard"
[[stages]]
kind = "select"
top_k = 8
budget_tokens = 400
"""
SPACE = {
    "decay.half_life_days": [15, 60, 240],
    "salience.salience_weight": [0.0, 0.5, 2.0],
    "select.floors.project": [0, 2],
}
METRIC = "ndcg@10"


def main(data: Path) -> None:
    lab = rt.open("lab.duckdb")
    imported = rt.ingest(lab, [data / name for name in ("connector", "memory", "transcripts")])
    rt.load_cases(lab, data / "cases" / "demo.json", case_set="demo")
    Path("lexical.toml").write_text(LEXICAL, encoding="utf-8")
    config = rt.load_config("lexical.toml")
    table = rt.candidates(lab, "demo", config)
    before = rt.evaluate(table, config, metrics=journeys.METRICS)
    # How long a sweep took is told, and is no part of its result.
    swept = replace(rt.sweep(table, config, rt.Space(SPACE)), seconds=0.0)
    choice = rt.choose(swept, METRIC, candidates=table)
    after = rt.evaluate(table, choice.chosen, metrics=journeys.METRICS)
    with lab.reading() as con:
        digest = data_digest(con)
    frames: dict[str, pl.DataFrame] = {
        "imported": imported.frame,
        "dropped": imported.dropped,
        "cases": before.cases,
        "hits": before.hits,
        "accounts": before.accounts,
        "points": swept.points,
        "grid": swept.frame(METRIC),
        "line": line(swept, "decay.half_life_days", METRIC, by="kind"),
        "surface": surface(swept, *list(SPACE)[:2], METRIC, choice=choice),
        "binding": binding(swept, METRIC),
        "compare": compare({"before": before, "after": after}, [METRIC, "tokens"]),
        "slices": slices(before, after, METRIC),
        "flips": flips(table, before, after),
        "losses": loss_account(rt.fates(table, config), config),
        "evidence": rt.explain(table, config, table.queries["query_id"][0]),
    }
    told = {
        "data": digest,
        "evaluation": json.loads(before.to_json()),
        "choice": choice.record(),
        "sweep_id": rt.save_sweep(lab, swept, case_set="demo"),
        "frames": {name: frame.to_dicts() for name, frame in frames.items()},
    }
    text = json.dumps(told, indent=1, allow_nan=False, ensure_ascii=False)
    Path("told.json").write_text(text, encoding="utf-8")
    Path("chosen.toml").write_text(choice.chosen.to_toml(), encoding="utf-8")
    provenance = Provenance.of(table.stamp, **choice.evidence())
    rt.export(choice.chosen, Path("chosen.json"), to="json", provenance=provenance)
    journeys.write_picture = as_svg  # a PNG is the SVG, drawn slowly
    journey = journeys.Journey(
        imported=imported,
        candidates=table,
        results={"lexical": before},
        sweep=swept,
        choice=choice,
    )
    journeys.write_journey(journey, Path("report"))


def as_svg(picture: Picture, out: Path) -> Path:
    path = out / f"{picture.name}.svg"
    path.write_text(picture.svg, encoding="utf-8")
    return path


if __name__ == "__main__":
    main(Path(sys.argv[1]))
