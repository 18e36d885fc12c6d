"""A replayed search log as lines of text: what was compared, how much changes, by which stage."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from recalltune.charts.figures import counted
from recalltune.replay.logged_lists import SET_ASIDE_ABOVE
from recalltune.replay.search_log import LogReplay
from recalltune.report.replaying import short_ids
from recalltune.report.terminal import degraded_lines, notice_lines, paragraph, table_lines
from recalltune.report.text import plain

__all__ = ["log_notices", "log_replay_findings", "log_replay_lines"]

_COLUMNS = 100
_QUERIES = 12
"""Queries a terminal is told one by one."""
_QUERY_COLUMNS = 36
_EXPLAINED = (
    "what left is explained by the stage of the configuration that takes it out, what entered by "
    "the stage of production that had taken it out; cut: it stands below as many ids as the log "
    "shows, which is as far as the lists are compared"
)


def log_replay_findings(replayed: LogReplay) -> list[str]:
    """Return what somebody has to look at; empty where there is something to compare."""
    return (
        []
        if replayed.counts["replayed"]
        else ["no logged query can be compared: all are set aside"]
    )


def log_replay_lines(replayed: LogReplay) -> list[str]:
    """Say what was compared, how much changes above the noise floor, and which stages change it."""
    lines = [
        plain(
            f"{replayed.config.name}   config {replayed.config.fingerprint}   against what "
            f"{replayed.production.name} showed   data {replayed.stamp.data}",
            columns=_COLUMNS,
        ),
        f"{counted(replayed.counts['replayed'], 'logged query')} compared, in "
        f"{counted(replayed.counts['sessions'], 'session')}: the log names none, a day in UTC is "
        "one",
        "",
        *table_lines(replayed.summary().with_columns(pl.col("mean", "lo", "hi").round(4))),
    ]
    for told in _meaning(replayed):
        lines += paragraph(told)
    if replayed.counts["replayed"]:
        lines += ["", *table_lines(_by_stage(replayed.differences))]
        lines += paragraph(_EXPLAINED)
        largest = _largest(replayed.queries)
        lines += ["", *table_lines(largest)]
        if largest.height < replayed.counts["replayed"]:
            lines += [f"the {largest.height} that change most; --json has all of them"]
    lines += notice_lines(log_notices(replayed))
    lines += degraded_lines(replayed.ledger)
    lines += [f"finding: {told}" for told in log_replay_findings(replayed)]
    return lines


def log_notices(replayed: LogReplay) -> list[str]:
    """Say what of the log was left out, and why."""
    counts = replayed.counts
    later = "enters" if counts["not_yet"] == 1 else "enter"
    told = {
        f"{counted(counts['undated'], 'logged query')} without a time: not replayed": "undated",
        f"{counts['unreplayable']:,} of {counted(counts['ids'], 'id')} shown unknown or outside "
        "the world of the query: left out of both lists": "unreplayable",
        f"{counts['not_yet']:,} of them {later} it at the time of the query or later: does the log "
        "say when a search ended?": "not_yet",
        f"{counted(counts['set_aside'], 'query')} with over {SET_ASIDE_ABOVE:.0%} of the ids left "
        "out: set aside": "set_aside",
        f"{counted(counts['repeated'], 'id')} repeated in a list: the first place counts": (
            "repeated"
        ),
        f"{counted(counts['prompt_unknown'], 'query')} with an unknown prompt: the log names "
        "no session, so admit.in_prompt holds nothing back": "prompt_unknown",
        f"{counted(counts['same_instant'], 'memory')} entered at the very instant of a query: not "
        "seen by it": "same_instant",
    }
    return [sentence for sentence, name in told.items() if counts[name]]


def _meaning(replayed: LogReplay) -> Iterator[str]:
    compared = replayed.queries.filter(~pl.col("set_aside"))
    if not compared.height:
        return
    logged, listed = (compared[name].sum() / compared.height for name in ("p_shown", "c_shown"))
    yield (
        f"ids in a list: {logged:.1f} of the log, {listed:.1f} of the configuration; overlap at "
        f"p = {replayed.p:g}, in which a list and its own start are alike"
    )
    above = replayed.summary().rows_by_key("measure", named=True, unique=True)[
        "churn above the floor"
    ]
    if replayed.config.fingerprint == replayed.production.fingerprint:
        yield (
            "the configuration is taken to be production's own: its churn is the noise floor of "
            "the log. A high floor says that something else wrote it: name that with --production"
        )
    elif above["lo"] is None:
        yield "one session: no interval, so nothing is said beyond these queries"
    elif above["lo"] > 0:
        yield "more changes than replaying production changes; whether for the better, no log says"
    elif above["hi"] < 0:
        yield "nearer to the log than what was given as production's: was it written by that?"
    else:
        yield "no churn beyond the noise floor can be told"


def _by_stage(differences: pl.DataFrame) -> pl.DataFrame:
    """Return explained_by, entered, left: those that explain most first."""
    changed = differences.filter(pl.col("change") != "moved")
    return (
        changed.group_by("explained_by")
        .agg((pl.col("change") == name).sum().alias(name) for name in ("entered", "left"))
        .sort(pl.col("entered") + pl.col("left"), "explained_by", descending=[True, False])
    )


def _largest(queries: pl.DataFrame) -> pl.DataFrame:
    """The queries whose lists change most."""
    largest = (
        queries.filter(~pl.col("set_aside"))
        .sort("churn", "query_id", descending=[True, False])
        .head(_QUERIES)
    )
    return largest.select(
        pl.Series("search", short_ids(largest["query_id"].to_list())),
        pl.Series("query", [plain(one, columns=_QUERY_COLUMNS) for one in largest["query"]]),
        pl.col("churn").round(3),
        pl.col("floor_churn").round(3).alias("floor"),
        pl.col("rbo").round(3).alias("overlap"),
        pl.format("{} to {}", "p_shown", "c_shown").alias("ids"),
        "entered",
        "left",
        "moved",
    )
