"""make demo: the whole journey on the demo data, each step told as it happens."""

from __future__ import annotations

import json
import textwrap
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from recalltune.candidates.build import candidates
from recalltune.candidates.table import Candidates
from recalltune.candidates.world import SpanTable
from recalltune.encode import Encoder, resolve
from recalltune.errors import ParameterError
from recalltune.evaluate.cases import load_cases
from recalltune.evaluate.cautions import UNTRUSTED
from recalltune.evaluate.run import Evaluation, evaluate, in_split
from recalltune.evaluate.saving import save_evaluation
from recalltune.ingest import ImportReport, ingest
from recalltune.pipeline.config import RankingConfig, preset
from recalltune.production.evidence_file import write_chosen
from recalltune.production.export import export
from recalltune.production.provenance import Provenance
from recalltune.production.recallnest_file import import_recallnest
from recalltune.production.replacing import write_private
from recalltune.report.journey import METRICS, preset_runs, write_journey, write_picture
from recalltune.report.picture import Picture
from recalltune.report.pictures import layer_profile
from recalltune.report.story import Journey
from recalltune.report.terminal import choice_lines, import_lines, interval
from recalltune.report.text import plain
from recalltune.store import Lab, data_digest, open, read_cases, read_memories, read_spans
from recalltune.sweep.choose import Choice, choose, difference
from recalltune.sweep.engine import SweepResult, sweep
from recalltune.sweep.looks import record_look
from recalltune.sweep.saving import save_sweep
from recalltune.sweep.space import Space
from recalltune.version import code_digest

__all__ = ["DEMO_SPACE", "demo_lab", "run_demo"]

CASES = "demo"
WIDTH = 86
SHOWN_CHANGES = 4
DEFAULT = "textbook"
PRESETS = ("recallnest",)

DEMO_SPACE: dict[str, list[Any]] = {
    "rrf.rrf_k": [10, 60],
    "rrf.weights.dense": [0.5, 1.0, 2.0],
    "decay.family": ["none", "exponential", "weibull"],
    "decay.half_life_days": [7, 14, 30, 60, 120, 240],
    "decay.shape": [0.6, 0.8, 1.3],
    "salience.salience_weight": [0.0, 0.25, 0.5, 1.0],
    "select.floors.project": [0, 2, 4],
    "select.floors.user": [0, 1],
}
"""The axes of the demo's sweep."""

PRODUCTION_SPACE: dict[str, list[Any]] = {
    "tier_decay.half_life_days": [30, 60, 120, 240, 365],
    "recency_boost.weight": [0.0, 0.05, 0.1, 0.2],
    "recency_boost.mean_life_days": [7, 14, 30],
    "length.anchor_chars": [400, 800, 1600],
}
"""Knobs that the production file of the demo has: what its export can carry."""


@dataclass
class _Steps:
    """Numbered steps with the seconds since the start."""

    say: Callable[[str], object]
    began: float = field(default_factory=time.perf_counter)
    number: int = 0

    def tell(self, name: str, *lines: str) -> None:
        self.number += 1
        clock = f"{time.perf_counter() - self.began:.1f} s"
        first, *rest = textwrap.wrap(lines[0], 76, subsequent_indent="  ")
        self.say(f"{self.number} {name:<10} {first:<76} {clock:>8}".rstrip())
        for line in [*rest, *lines[1:]]:
            for part in textwrap.wrap(line, WIDTH, subsequent_indent="  ") or [""]:
                self.say(f"{'':13}{part}")


def demo_lab(data: Path, db: Path) -> tuple[Lab, ImportReport, str]:
    """Import the demo corpus and its cases into ``db``."""
    if not data.is_dir():
        message = f"--data {data} is not a folder; run from the project's root, or give the folder"
        raise ParameterError(message)
    lab = open(db)
    sources = ["connector", "memory", "transcripts", "search_log"]
    report = ingest(lab, [data / name for name in sources])
    told = str(load_cases(lab, data / "cases" / "demo.json", case_set=CASES))
    return lab, report, told


def run_demo(
    data: Path, out: Path, *, encoder: str | None = None, say: Callable[[str], object] = print
) -> Path:
    """Import, embed, rank, sweep, judge, export; return the path of the report.

    Parameters
    ----------
    data
        Folder of the demo corpus.
    out
        Folder for everything written; its lab is made anew.
    encoder
        Name of an encoder; None takes the best installed.
    say
        Receives each line.

    Raises
    ------
    ParameterError
        If ``data`` is no folder, or the encoder cannot be had.
    """
    steps = _Steps(say)
    out.mkdir(mode=0o700, parents=True, exist_ok=True)
    db = out / "demo.duckdb"
    for stale in (db, out / "demo.duckdb.wal"):
        stale.unlink(missing_ok=True)
    lab, imported, cases_told = demo_lab(data, db)
    first = _first_picture(lab, out)
    steps.tell(
        "import",
        *import_lines(imported),
        *_layers(lab),
        *cases_told.splitlines(),
        f"{out / first.name}.png",
    )

    chosen_encoder, reason = resolve(encoder)
    base = preset(DEFAULT)
    table = candidates(lab, CASES, base, encoder=chosen_encoder)
    memories = table.spans.height
    steps.tell(
        "embed",
        f"{memories:,} memories, {table.queries.height} queries   {reason}",
    )

    tuning = in_split(table, "tune")
    results = {DEFAULT: evaluate(tuning, base, metrics=METRICS)}
    results |= preset_runs(lab, CASES, tuning, base, names=PRESETS, encoder=chosen_encoder)
    for run in results.values():
        save_evaluation(lab, run, case_set=CASES)
    steps.tell("presets", *_preset_lines(results))

    result = sweep(table, base, Space(DEMO_SPACE))
    sweep_id = save_sweep(lab, result, case_set=CASES)
    steps.tell("sweep", result.told(), f"{result.merged:,} more rank alike   sweep {sweep_id}")

    choice = choose(result, "ndcg@10", candidates=table)
    look = record_look(lab, choice, table)
    steps.tell("choice", *choice_lines(choice, look=look, columns=WIDTH, ties=()))

    _write_chosen(choice, table, out)
    today = import_recallnest(data / "recallnest" / "config.json")
    production = _production(lab, today, encoder=chosen_encoder)
    exported = [f"{out / 'chosen.toml'}, {out / 'chosen.json'}"]
    if production is None:
        exported.append("config.json: RecallNest ranks by vectors alone, and no encoder ran")
    else:
        steps.tell("production", *_production_lines(production))
        exported += _export(production, data, out)
    steps.tell("export", *_shortened(exported))

    journey = Journey(
        imported,
        tuning,
        results,
        result,
        choice,
        # The page may be handed on: it names files, not where they lie on this machine.
        exported=tuple(line.replace(f"{out}/", "") for line in exported),
        commands=_commands(out, sweep_id),
    )
    page, *charts = write_journey(journey, out, drawn=[first])
    write_private(out / "demo.json", _record(imported, results, result, choice, production))
    kilobytes = page.stat().st_size // 1000
    steps.tell("report", f"{len(charts)} charts as PNG, demo.json, report.html {kilobytes:,} kB")
    say(str(page))
    return page


def _first_picture(lab: Lab, out: Path) -> Picture:
    """The layers over time, drawn before anything is embedded or ranked."""
    with lab.reading() as con:
        spans = SpanTable.of(read_spans(con), "everyone")
        asked = read_cases(con, CASES)["asked_at"].drop_nulls().to_list()
        data = data_digest(con)
    picture = layer_profile(spans.frame, asked, data=data[:8])
    write_picture(picture, out)
    return picture


def _commands(out: Path, sweep_id: str) -> tuple[str, ...]:
    """The steps of the demo, one command each."""
    out = Path(out.name)
    db = out / "demo.duckdb"
    return (
        "make demo",
        f"recalltune evaluate --db {db} --cases {CASES} --config {DEFAULT}",
        f"recalltune choose --db {db} --sweep {sweep_id} --out {out / 'chosen.toml'}",
        f"recalltune report --db {db} --cases {CASES} --out {out / 'again.html'}",
    )


def _shortened(exported: Sequence[str]) -> list[str]:
    """What changes in production, in a few lines; the report has them all."""
    files, head, *rest = exported
    at = rest.index("not carried:") if "not carried:" in rest else len(rest)
    changed, left = rest[:at], [line for line in rest[at + 1 :] if line.startswith("  ")]
    lines = [plain(line, columns=WIDTH) for line in changed[:SHOWN_CHANGES]]
    if len(changed) > SHOWN_CHANGES:
        lines.append(f"  ... {len(changed) - SHOWN_CHANGES} more")
    return [
        files,
        head,
        *lines,
        f"{len(left)} things are not carried: see section 10 of the report",
    ]


def _layers(lab: Lab) -> list[str]:
    with lab.reading() as con:
        visible = read_spans(con).filter(pl.col("enters_at").is_not_null())["memory_id"]
        memories = read_memories(con).filter(pl.col("memory_id").is_in(visible.to_list()))
    counted = memories.group_by("layer").agg(pl.len()).sort("len", descending=True)
    told = "   ".join(f"{layer} {count}" for layer, count in counted.iter_rows())
    superseded = memories.filter(pl.col("status") == "superseded").height
    return [f"{told}   superseded {superseded}"]


def _preset_lines(results: Mapping[str, Evaluation]) -> list[str]:
    lines = [
        f"{next(iter(results.values())).cases.height} cases to tune on; means with 95 % intervals",
        f"{'preset':<14}{'nDCG@10':<24}{'all found@10':<24}{'passed':<10}{'tokens':>8}",
    ]
    for name, result in results.items():
        summary = {row["metric"]: row for row in result.summary().to_dicts()}
        ndcg, found = summary["ndcg@10"], summary["recall_all@10"]
        lines.append(
            f"{name:<14}{interval(ndcg['mean'], ndcg['lo'], ndcg['hi']):<24}"
            f"{interval(found['mean'], found['lo'], found['hi']):<24}"
            f"{summary['passed']['mean']:<10.3f}{summary['tokens']['mean']:>8.0f}"
        )
    first, *others = results
    for name in others:
        change = difference(results[first], results[name], "ndcg@10")
        verb = "differs from" if change.beyond_noise else "cannot be told from"
        lines.append(f"{name} {verb} {first}: {change.mean:+.3f} {change.interval()}")
    shares = [f"{name} {_untrusted(result):.1%}" for name, result in results.items()]
    return [*lines, f"untrusted among the items shown: {', '.join(shares)}"]


def _untrusted(result: Evaluation) -> float:
    return result.counts[UNTRUSTED] / result.hits.height if result.hits.height else 0.0


def _write_chosen(choice: Choice, table: Candidates, out: Path) -> None:
    provenance = Provenance.of(table.stamp, **choice.evidence())
    write_chosen(out / "chosen.toml", choice.chosen, provenance)
    export(choice.chosen, out / "chosen.json", to="json", provenance=provenance)


def _production(
    lab: Lab, today: RankingConfig, *, encoder: Encoder | None
) -> tuple[SweepResult, Choice, int] | None:
    """Sweep the knobs of today's production file; None where it cannot rank."""
    if encoder is None:
        return None
    table = candidates(lab, CASES, today, encoder=encoder)
    result = sweep(table, today, Space(PRODUCTION_SPACE))
    choice = choose(result, "ndcg@10", candidates=table)
    return result, choice, record_look(lab, choice, table)


def _production_lines(production: tuple[SweepResult, Choice, int]) -> list[str]:
    result, choice, look = production
    return [
        f"today's config.json against {result.points.height - 1:,} settings of its own knobs",
        *choice_lines(choice, look=look, columns=WIDTH, ties=()),
    ]


def _export(production: tuple[SweepResult, Choice, int], data: Path, out: Path) -> list[str]:
    result, choice, _ = production
    target = out / "config.json"
    write_private(target, (data / "recallnest" / "config.json").read_bytes())
    provenance = Provenance.of(result.stamp, **choice.evidence())
    report = export(choice.chosen, target, to="recallnest", provenance=provenance)
    return str(report).splitlines()


def _record(
    imported: ImportReport,
    results: Mapping[str, Evaluation],
    result: SweepResult,
    choice: Choice,
    production: tuple[SweepResult, Choice, int] | None,
) -> str:
    """Every number the terminal showed, for the README and its test."""
    counted = imported.frame.select(pl.col("read", "kept", "dropped").sum())
    return json.dumps(
        {
            "import": counted.row(0, named=True),
            "presets": {name: run.summary().to_dicts() for name, run in results.items()},
            "sweep": {"settings": result.points.height, "cases": result.cases.height},
            "choice": choice.record(),
            "production": None if production is None else production[1].record(),
            "code": code_digest(),
        },
        indent=2,
        allow_nan=False,
        ensure_ascii=False,
    )
