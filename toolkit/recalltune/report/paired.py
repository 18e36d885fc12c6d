"""Paired negatives: what was not told, and the same told, through every path that shows something.

In: a companion's memory. Out: for each path and pair whether the words, or the id, came out. The
told twin is what makes it a test: a path that shows it looks, and one that never shows texts says
so.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import polars as pl

from recalltune.candidates.build import candidates
from recalltune.candidates.table import Candidates
from recalltune.charts import rank_flow
from recalltune.errors import ParameterError
from recalltune.evaluate.query_views import flow
from recalltune.evaluate.run import Evaluation, evaluate
from recalltune.ingest.companion import Attempt, Companion, write_companion
from recalltune.pipeline.config import RankingConfig, preset
from recalltune.pipeline.explain import explain
from recalltune.pipeline.present import display_lines, present
from recalltune.pipeline.run import run
from recalltune.production.provenance import Provenance, evidence_text
from recalltune.replay.reread import reread
from recalltune.replay.reread_gain import block_of
from recalltune.replay.steps import replay
from recalltune.report.html import page
from recalltune.report.sections import TITLES, sections
from recalltune.report.story import Journey
from recalltune.store import EvalCaseRow, Lab, Label, Row, insert_rows, open, read_spans

__all__ = ["PATHS", "all_told", "paired_negatives"]

_SET = "pairs"
_TAIL = 6
"""Signs at the end of a text that tell it was shown: they are not in the question."""


@dataclass(frozen=True, eq=False)
class _Side:
    """A lab, asked about every pair."""

    lab: Lab
    config: RankingConfig
    table: Candidates
    run: Evaluation

    @property
    def queries(self) -> list[str]:
        return list(self.table.queries["query_id"])


def _ranking(side: _Side) -> str:
    order = run(side.table, side.config).listed()
    shown = [
        present(side.table, order, row, layers=side.config.layers) for row in range(len(order))
    ]
    return "\n".join(line for one in shown for line in [*display_lines(one), str(one.rows())])


def _block(side: _Side) -> str:
    order, block = run(side.table, side.config).listed(), block_of(side.config)
    again = [reread(side.lab, side.table, order, row, block) for row in range(len(order))]
    return "\n".join(f"{one.before}{one.text}{one.entries.rows()}" for one in again)


def _explained(side: _Side) -> str:
    frames = [explain(side.table, side.config, query_id) for query_id in side.queries]
    return "\n".join(str(frame.rows()) for frame in frames)


def _evaluated(side: _Side) -> str:
    told = [side.run.to_json(), str(side.run.cases.rows()), str(side.run.hits.rows())]
    return "\n".join(told)


def _replayed(side: _Side) -> str:
    walked = replay(side.lab, side.config, cases=_SET)
    told = [json.dumps(one, ensure_ascii=False) for one in walked.objects()]
    return "\n".join([*told, str(walked.hits.rows())])


def _charted(side: _Side) -> str:
    results = {side.config.name: side.run}
    frames = [flow(side.table, results, query_id) for query_id in side.queries]
    charts = [
        rank_flow(frame, noun="config").to_json(validate=False) for frame in frames if frame.height
    ]
    return "\n".join([str(frame.rows()) for frame in frames] + charts)


def _page(side: _Side) -> str:
    journey = Journey(None, side.table, {side.config.name: side.run})
    return page(journey.question, TITLES, sections(journey, []), lang="en")


def _exported(side: _Side) -> str:
    return evidence_text(side.config, Provenance.of(side.table.stamp))


PATHS: Mapping[str, Callable[[_Side], str]] = {
    "ranked list": _ranking,
    "block, read again": _block,
    "explanation": _explained,
    "evaluation": _evaluated,
    "replay": _replayed,
    "chart and its data": _charted,
    "report": _page,
    "export": _exported,
}
"""Name -> all that comes out on it."""


def all_told(companion: Companion) -> Companion:
    """Return the same memory with every event told, and every reply shared and judged, at once."""
    events = tuple(event.with_(told_at=event.at) for event in companion.events)
    tried = {attempt.exchange_id: attempt for attempt in companion.attempts}
    attempts = tuple(
        Attempt(
            exchange_id=exchange.exchange_id,
            events=tried[exchange.exchange_id].events if exchange.exchange_id in tried else (),
            acknowledged_at=exchange.at,
            judged_at=exchange.at,
        )
        for exchange in companion.exchanges
        if exchange.companion is not None
    )
    return companion.with_(events=events, attempts=attempts)


def paired_negatives(
    companion: Companion, *, config: RankingConfig | None = None, folder: Path | str | None = None
) -> pl.DataFrame:
    """Send every reply that was not told down every path, and its told twin after it.

    A pair is asked for by the first words of its text, at the corpus's own instant.

    Parameters
    ----------
    companion
        A memory in which replies are withheld that `all_told` would tell.
    config
        Ends in a block; by default the preset ``hel847-baseline``.
    folder
        Where the two labs are made; nothing is left there.

    Returns
    -------
    pl.DataFrame
        path, pair (from 1), untold (whether it came out), told (whether its twin did). No text and
        no id.

    Raises
    ------
    ParameterError
        If nothing is withheld.
    """
    config = preset("hel847-baseline") if config is None else config
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        labs = []
        for name, memory in (("untold", companion), ("told", all_told(companion))):
            labs.append(open(Path(scratch) / f"{name}.duckdb"))
            write_companion(labs[-1], memory)
        pairs = _pairs(*labs)
        if not pairs:
            raise ParameterError("companion must withhold a reply, or there is nothing to pair")
        hidden, shown = (_side(lab, config, pairs, companion.now) for lab in labs)
        rows = []
        for path, made in PATHS.items():
            out = [made(side) for side in (hidden, shown)]
            for number, (memory_id, text) in enumerate(pairs.items(), start=1):
                found = [_holds(one, memory_id, text) for one in out]
                rows.append((path, number, *found))
    schema = {"path": pl.String, "pair": pl.Int64, "untold": pl.Boolean, "told": pl.Boolean}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _pairs(untold: Lab, told: Lab) -> dict[str, str]:
    """memory_id -> text of what only one of the labs may ever show."""
    with untold.reading() as con:
        shut = read_spans(con).filter(pl.col("enters_at").is_null())
    with told.reading() as con:
        opened = read_spans(con).filter(pl.col("enters_at").is_not_null())["memory_id"]
    twins = shut.filter(pl.col("memory_id").is_in(opened.to_list())).sort("memory_id")
    return dict(twins.select("memory_id", "text").iter_rows())


def _side(lab: Lab, config: RankingConfig, pairs: Mapping[str, str], at: datetime) -> _Side:
    with lab.reading() as con:
        told = read_spans(con).drop_nulls("enters_at").row(0, named=True)
    # A question with an answer on either side: without one there is nothing to report on.
    asked = {**pairs, told["memory_id"]: told["text"]}
    rows: list[Row] = []
    for number, (memory_id, text) in enumerate(asked.items(), start=1):
        name, words = f"question-{number:02}", {"expectContentAny": [text[-_TAIL:]]}
        rows += [
            EvalCaseRow(
                case_set=_SET, case_id=name, query=_asked(text), asked_at=at, expectations={**words}
            ),
            Label(case_set=_SET, case_id=name, memory_id=memory_id),
        ]
    with lab.writing() as con:
        insert_rows(con, rows)
    table = candidates(lab, _SET, config)
    return _Side(lab, config, table, evaluate(table, config, split="all"))


def _asked(text: str) -> str:
    """The first words of a text, as far as its end is not among them."""
    words = re.split(r"[，。,.;:；：!！?？]", text[:-_TAIL])
    return words[0].strip() or text[: max(len(text) // 2, 1)]


def _holds(out: str, memory_id: str, text: str) -> bool:
    return text[-_TAIL:] in out or re.search(rf"\b{re.escape(memory_id)}\b", out) is not None
