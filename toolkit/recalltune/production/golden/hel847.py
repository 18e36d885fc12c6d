"""Golden group of the HEL-847 probe, answered on tables: its corpus in a lab, asked by presets.

In: one experiment or one row of the ablation. Out: modes, lists and counts as the probe prints
them. Memory ids count up as the probe's rows do, so a number is an id.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import polars as pl

from recalltune.candidates.build import candidates_for
from recalltune.candidates.settings import Admit, Arms
from recalltune.candidates.table import QUERY_COLUMNS, Candidates
from recalltune.evaluate.ablation import IMPORTANCES, list_of, with_importance
from recalltune.ingest.companion import GIST, Companion, write_companion
from recalltune.pipeline.address import set_many
from recalltune.pipeline.config import RankingConfig, preset, setup_of
from recalltune.production.golden.group import Case, Golden
from recalltune.production.golden.hel847_plan import read_plan
from recalltune.store import Lab, open, read_exchange, read_table

__all__ = ["GROUPS", "asked", "numbers", "top"]

_NEAR = "t5"  # the exchanges that say the same thing again begin like this
_REREAD = "t7"
_LIFE = "self_life"


@dataclass(frozen=True)
class _Setup:
    """Admit and arms, which decide the candidates."""

    admit: Admit
    arms: Arms

    @property
    def setup(self) -> str:
        return setup_of(self.admit, self.arms)


def asked(lab: Lab, texts: Sequence[str], config: Any, companion: Companion) -> Candidates:
    """Return the candidate table of queries asked at the corpus's own instant."""
    at = round(companion.now.timestamp() * 1_000_000)
    rows = [
        dict.fromkeys(QUERY_COLUMNS) | {"query_id": t, "text": t, "asked_at": at} for t in texts
    ]
    queries = pl.DataFrame(rows, schema=dict(QUERY_COLUMNS)).sort("query_id")
    return candidates_for(lab, queries, config)


def numbers(table: Candidates, query: str, columns: Sequence[int]) -> list[int]:
    """Return the ids at some columns of one query, as the probe's row numbers."""
    row = table.position(query)
    return [int(table.memory_id(row, int(column))[1:]) for column in columns if column >= 0]


def top(table: Candidates, query: str, config: RankingConfig) -> list[int]:
    """Return the list one query is shown, before it is packed into a block."""
    return [int(memory_id[1:]) for memory_id in list_of(table, config, query)]


@dataclass(frozen=True)
class _Seen:
    """Everything the tables say, under one setup."""

    before: Candidates
    after: Candidates
    """Once W1 has recorded its exchange."""
    life: int
    reread: list[str]
    queued: int


@lru_cache(maxsize=8)
def _seen(notes: str, queries: tuple[str, ...], admit: str, arms: str) -> _Seen:
    companion, recorded = read_plan(Path(notes))
    setup = _Setup(Admit.model_validate_json(admit), Arms.model_validate_json(arms))
    with tempfile.TemporaryDirectory() as folder:
        lab = open(Path(folder) / "probe.duckdb")
        write_companion(lab, companion)
        before = asked(lab, queries, setup, companion)
        with lab.reading() as con:
            life = read_table(con, "memory", origin=_LIFE)["memory_id"][0]
            at = round(companion.now.timestamp() * 1_000_000)
            reread = read_exchange(con, f"{_REREAD}/user", at=at)["role"].to_list()
        write_companion(lab, recorded)
        with lab.reading() as con:
            queued = read_table(con, "job", kind=GIST, state="queued").height
        after = asked(lab, queries, setup, companion)
    return _Seen(before, after, int(life[1:]), reread, queued)


def probe(case: Case, config: RankingConfig) -> dict[str, Any]:
    """What one experiment, or one row of the ablation, shows; only what the case asks for."""
    seen = _seen(
        case["notes"],
        case["queries"],
        config.admit.model_dump_json(),
        config.arms.model_dump_json(),
    )
    table, query = seen.after if case.get("name") == "W1" else seen.before, case["query"]
    if "importance" in case:
        # The first form is the preset's own.
        own = case["importance"] == IMPORTANCES[0]
        varied = config if own else with_importance(config, case["importance"])
        return {"top4": top(table, query, set_many(varied, {"mmr.lambda_": case["lambda"]}))}
    baseline = preset("hel847-baseline")
    row = table.position(query)
    turns = dict(table.spans.select("memory_id", "turn_id").iter_rows())
    shown = {
        "baseline": top(table, query, baseline.with_(arms=config.arms, admit=config.admit)),
        "ported": top(table, query, config),
    }
    near = {
        name: sum(turns[f"m{number:03d}"].startswith(_NEAR) for number in ids)
        for name, ids in shown.items()
    }
    modes, codes = table.features["substring_mode"][row], table.codes["substring_mode"]
    places = table.features["substring_rank"][row]
    told: dict[str, Any] = {
        "mode": codes[max(int(modes.max(initial=0)), 0)],
        "hits": shown["baseline"],
        "candidates": numbers(table, query, places.argsort().tolist()[: int((places > 0).sum())]),
        "baseline_top4": shown["baseline"],
        "ported_top4": shown["ported"],
        "baseline_near_dup": near["baseline"],
        "ported_near_dup": near["ported"],
        "life_row": seen.life,
        "reread_roles": seen.reread,
        "hit_turns": sorted({turns[f"m{n:03d}"].partition("/")[0] for n in shown["baseline"]}),
        "jobs_queued": seen.queued,
    }
    return {name: told[name] for name in _expected(case)}


_GIVEN = ("name", "query", "importance", "lambda", "notes", "queries")


def _expected(case: Case) -> dict[str, Any]:
    return {name: value for name, value in case.items() if name not in _GIVEN}


def _cases(group: Mapping[str, Any]) -> list[Case]:
    notes = str(Path(group["file"]).resolve().parent.parent / "notes")
    rows = [*group["cases"], *group["ablation"]["rows"]]
    queries = tuple(sorted({row["query"] for row in rows}))
    return [{**row, "notes": notes, "queries": queries} for row in rows]


GROUPS: Mapping[str, Golden] = {
    "hel847_probe": Golden(
        probe,
        preset="hel847-ported",
        translated=("judged attempts without a time: judged when acknowledged",),
        cases=_cases,
        given=lambda case: case,
        expected=_expected,
    ),
}
