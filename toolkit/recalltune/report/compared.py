"""Section 2: what was read, kept and dropped, which cases, which settings."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from recalltune.pipeline.config import RankingConfig
from recalltune.report.casebook import moment
from recalltune.report.html import Content, Html, el, join, table
from recalltune.report.story import Journey

__all__ = ["compared"]

COUNTED = {
    "untold_spans": "items nobody was told: withheld from everything",
    "untimed_candidates": "candidates without a date: no stage that looks at age moves them",
    "missing_salience": "candidates without a salience: their factor is 1",
    "future_timestamps": "candidates dated after the question: counted as age 0",
    "same_instant": "memories that appear at the very moment of a question: not seen by it",
    "cases_without_target": "cases that expect no memory: their ranking metrics are undefined",
    "labels_not_yet": "labels whose memory did not exist yet: they judge nothing",
    "labels_of_copies": "labels of a copy, counted for the memory that is shown for it",
    "labels_of_no_memory": "labels among them that name no memory of the lab",
    "labels_of_no_case": "labels of a case that is not there: they judge nothing",
    "empty_lists": "cases that are shown nothing",
    "relevant_lost_to_decay": "relevant items lost to decay: without it they would be shown",
    "impossible_path_dates": "memories in a file named after a day that does not exist",
    "evergreen_memories": "memories in files that never fade",
    "percent_of_memories_evergreen": "their share, in percent",
    "zero_vectors": "memories without a direction: the dense arm never proposes them",
    "store_statistics": "questions whose words are counted over other scopes too",
    "in_prompt": "memories left out because the prompt holds them already",
    "abstained_queries": "questions without a direction: lexical only",
    "wordless_queries": "questions without a word: the lexical arm proposes nothing for them",
    "dense_arm_missing": "no embedding model could run: lexical only",
}
_COUNTS = ("files", "read", "kept", "dropped", "turns", "memories")


def compared(journey: Journey, figures_: Sequence[Html]) -> Html:
    """Return the content of the section."""
    queries = journey.candidates.queries
    asked = queries["asked_at"].drop_nulls().to_list()
    parts: list[Content] = [_imported(journey)]
    spans = journey.candidates.spans
    parts.append(
        el(
            "p",
            f"{spans['memory_id'].n_unique():,} memories that somebody was told, "
            f"{queries.height:,} eval cases"
            + (f" asked from {moment(min(asked))} to {moment(max(asked))}." if asked else "."),
        )
    )
    parts += figures_
    counted = (
        queries.with_columns(pl.col("kind", "lang").fill_null("not said"))
        .group_by("kind", "lang")
        .agg(pl.len().alias("n"))
    )
    langs = sorted(counted["lang"].unique().to_list())
    known = {(kind, lang): n for kind, lang, n in counted.iter_rows()}
    kinds = sorted({kind for kind, _ in known})
    rows = [[kind, *(str(known.get((kind, lang), 0)) for lang in langs)] for kind in kinds]
    parts.append(
        table(
            ["kind of case", *langs], rows,
            caption="Eval cases by kind and language", numeric=range(1, len(langs) + 1),
        )
    )  # fmt: skip
    rows = [
        [name, run.config.fingerprint, _arms(run.config), str(len(run.config.stages))]
        for name, run in journey.runs.items()
    ]
    parts.append(table(["setting", "config", "arms", "stages"], rows, caption="Settings compared"))
    seen = [
        [COUNTED.get(name, name.replace("_", " ")), f"{n:,}"]
        for name, n in journey.default.counts.items()
        if n
    ]
    if seen:
        parts.append(
            table(["counted, not hidden", "n"], seen, numeric=(1,),
                  caption="What was clamped, missing or withheld")
        )  # fmt: skip
    return join(parts)


def _imported(journey: Journey) -> Html:
    report = journey.imported
    if report is None:
        return el("p", "The lab had been filled before; what its import dropped stands in the lab.",
                  class_="note")  # fmt: skip
    by_format = report.by_format()
    rows: list[Sequence[Content]] = [
        [row["format"], *(f"{row[n]:,}" for n in _COUNTS)] for row in by_format.to_dicts()
    ]
    rows.append(["all", *(f"{int(by_format[n].sum()):,}" for n in _COUNTS)])
    parts = [
        table(["source", "files", "read", "kept", "dropped", "turns", "memories"], rows,
              caption="Import: read = kept + dropped", numeric=range(1, 7))
    ]  # fmt: skip
    reasons = report.reasons().select("reason", "count")
    if reasons.height:
        parts.append(
            table(["reason", "records"], [[r, f"{n:,}"] for r, n in reasons.iter_rows()],
                  caption="Dropped, and why", numeric=(1,))
        )  # fmt: skip
    if report.notices:
        parts.append(el("ul", *(el("li", notice) for notice in report.notices)))
    return join(parts)


def _arms(config: RankingConfig) -> str:
    return " and ".join(config.arms.names)
