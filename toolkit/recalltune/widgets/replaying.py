"""Frames, tables and titles for the question what a replay would have recalled, turn by turn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import polars as pl

from recalltune.candidates.ledger import Hop
from recalltune.charts.figures import counted
from recalltune.evaluate.query_views import memories_then
from recalltune.replay.fate_views import REASONS
from recalltune.replay.proof import Proof
from recalltune.replay.search_log import LogReplay
from recalltune.replay.steps import Replay
from recalltune.store import Lab, read_turns
from recalltune.widgets.looks import when
from recalltune.widgets.tables import Table

__all__ = [
    "Agreement",
    "agreement",
    "churn_table",
    "flattered",
    "ledger_table",
    "most_flattered",
    "proof_table",
    "turns_as_read",
]


def turns_as_read(lab: Lab) -> Table:
    """What an import made of a transcript, a row a session.

    Columns: session, first, last, asked (turns a replay asks), answers, side_turns (of subagents),
    tokens.
    """
    with lab.reading() as con:
        turns = read_turns(con, sidechains=True)
    main = ~pl.col("sidechain")
    frame = (
        turns.group_by("session_id")
        .agg(
            pl.col("said_at").min().alias("first"),
            pl.col("said_at").max().alias("last"),
            (main & (pl.col("role") == "user") & pl.col("said_at").is_not_null())
            .sum().cast(pl.Int64).alias("asked"),
            (main & (pl.col("role") == "assistant")).sum().cast(pl.Int64).alias("answers"),
            (~main).sum().cast(pl.Int64).alias("side_turns"),
            pl.col("tokens").sum(),
        )
        .sort("first", "session_id")
        .with_columns(
            pl.col("session_id").str.slice(0, 8).alias("session"),
            pl.col("first", "last").map_elements(when, return_dtype=pl.String),
        )
    )  # fmt: skip
    columns = ("session", "first", "last", "asked", "answers", "side_turns", "tokens")
    return Table(frame.select(columns), "The transcript as read")


def proof_table(proof: Proof) -> Table:
    """What was changed behind the cut, and what that changed up to it, a row a way."""
    named = proof.rows.select(
        pl.col("way").alias("everything_later"),
        "births", "ends", "uses", "turns",
        pl.col("steps").alias("steps_asked_again"),
        pl.col("numbers").alias("numbers_compared"),
        pl.col("differing").alias("numbers_that_differ"),
        pl.col("lists_differing").alias("lists_that_differ"),
    )  # fmt: skip
    told = "proved" if proof.holds else "NOT PROVED"
    title = (
        f"No leak up to {when(proof.at)}: {told}. Control, with the future known: "
        f"{proof.control:,} numbers differ"
    )
    return Table(named, title)


def flattered(labelled: Replay, static: Replay) -> tuple[Table, pl.DataFrame]:
    """How an index that knows the future moves the targets of a set of cases.

    Parameters
    ----------
    labelled
        Over cases, as of each.
    static
        The same cases and config over `replay.future.without_time` of the lab.

    Returns
    -------
    tuple[Table, pl.DataFrame]
        What became of the targets and lists, as counts. And per target query_id, memory_id, rank,
        static_rank (null: not shown), gain (of 1 / rank), largest first.
    """
    on = ["query_id", "memory_id"]
    targets = labelled.fates.filter(pl.col("memory_id").is_not_null()).select(on)
    ranks = {
        name: run.hits.select(*on, pl.col("rank").alias(name))
        for name, run in (("rank", labelled), ("static_rank", static))
    }
    frame = targets
    for part in ranks.values():
        frame = frame.join(part, on=on, how="left", maintain_order="left")
    worth = (1 / pl.col("static_rank")).fill_null(0.0) - (1 / pl.col("rank")).fill_null(0.0)
    frame = frame.with_columns(worth.alias("gain")).sort(
        "gain", "query_id", "memory_id", descending=[True, False, False]
    )
    early = _too_early(labelled, static)
    counts = {
        "targets": frame.height,
        "higher than as of then": frame.filter(pl.col("gain") > 0).height,
        "lower than as of then": frame.filter(pl.col("gain") < 0).height,
        "lists": labelled.steps.height,
        "lists with a memory that did not exist then": early["query_id"].n_unique(),
        "memories shown before they existed": early.height,
    }
    table = pl.DataFrame({"with the index of today": list(counts), "count": list(counts.values())})
    return Table(table, "What knowing the future does"), frame


def most_flattered(frame: pl.DataFrame) -> str:
    """Return the query of the target that gains most by the future, from `flattered`."""
    return str(frame["query_id"][0])


def _too_early(labelled: Replay, static: Replay) -> pl.DataFrame:
    """query_id, memory_id of what a static list shows that was not there when it was asked."""
    rows = []
    for (query_id,), part in static.hits.group_by("query_id", maintain_order=True):
        ids = part["memory_id"].to_list()
        facts = memories_then(labelled.candidates, str(query_id), ids)
        rows += [(query_id, one) for one in ids if not facts[one]["known"]]
    return pl.DataFrame(rows, schema={"query_id": pl.String, "memory_id": pl.String}, orient="row")


def churn_table(logs: Mapping[str, LogReplay]) -> Table:
    """Churn against production's log, its noise floor, and what is above it, a row a config."""
    rows = [
        {
            "config": name,
            **{key: row[key] for key in ("measure", "mean", "lo", "hi", "n", "sessions")},
        }
        for name, log in logs.items()
        for row in log.summary().iter_rows(named=True)
    ]
    return Table(pl.DataFrame(rows), "Change of what production showed, whole sessions resampled")


def ledger_table(ledgers: Mapping[str, Iterable[Hop]]) -> Table:
    """Every degradation of some runs: run, what was missing, why, steps it befell."""
    rows = [
        {"run": name, "hop": hop.hop, "reason": hop.reason, "step": hop.query_id}
        for name, hops in ledgers.items()
        for hop in hops
    ]
    schema = dict.fromkeys(("run", "hop", "reason", "step"), pl.String)
    frame = pl.DataFrame(rows, schema=schema)
    grouped = frame.group_by("run", "hop", "reason", maintain_order=True).agg(
        pl.col("step").count().cast(pl.Int64).alias("steps")
    )
    title = f"Degradations: {counted(frame.height, 'hop')} in {counted(len(ledgers), 'run')}"
    return Table(grouped, title)


@dataclass(frozen=True)
class Agreement:
    """Whether a replay shows what production showed, and what keeps it from doing so."""

    verdict: Literal["keep", "cannot decide"]
    claim: str
    causes: Table = field(repr=False)
    """cause, differences, lists: of the replay under production's config against its log."""


def agreement(own: LogReplay) -> Agreement:
    """Say on how many lists a replay under production's config agrees with its log, and why not.

    Parameters
    ----------
    own
        From `rt.replay_search_log` with production's config in both places.
    """
    compared = own.queries.filter(~pl.col("set_aside"))
    aside = own.queries.height - compared.height
    same = compared.filter((pl.col("churn") == 0) & (pl.col("moved") == 0)).height
    causes = (
        own.differences.with_columns(_what().alias("what"), _why().alias("why"))
        .group_by("what", "why")
        .agg(
            pl.len().cast(pl.Int64).alias("memories"),
            pl.col("query_id").n_unique().cast(pl.Int64).alias("lists"),
        )
        .sort("memories", "what", "why", descending=[True, False, False])
    )
    told = f"{same:,} of {compared.height:,} lists are the ones production showed"
    told += f" ({aside:,} set aside)" if aside else ""
    agrees = same == compared.height and compared.height > 0
    if not agrees and causes.height:
        first = causes.row(0, named=True)
        told += (
            f"; to mend first: {first['memories']:,} memories {first['what']} in "
            f"{counted(first['lists'], 'list')}, {first['why']}"
        )
    found = "" if causes.height else ": no difference"
    title = f"Replay under production's own config, against production's log{found}"
    table = Table(causes, title)
    return Agreement("keep" if agrees else "cannot decide", f"{told}.", table)


_WHAT = {
    "left": "shown by production alone",
    "entered": "shown by the replay alone",
    "moved": "shown by both, at another rank",
}


def _what() -> pl.Expr:
    return pl.col("change").replace_strict(_WHAT, return_dtype=pl.String)


def _why() -> pl.Expr:
    """What kept a memory that production showed out of the replay; the others follow from that."""
    why = pl.col("fate").replace_strict(REASONS, default="unknown", return_dtype=pl.String)
    stage = pl.when(pl.col("stage") != "arms").then(pl.format(" ({})", "stage"))
    told = pl.concat_str(why, stage.otherwise(pl.lit("")))
    return pl.when(pl.col("change") == "left").then(told).otherwise(pl.lit("as a consequence"))
