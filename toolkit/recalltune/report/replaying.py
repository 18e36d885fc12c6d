"""A replay as lines of text: the steps with a total, what was lost where, what the numbers mean."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import polars as pl

from recalltune.charts.figures import counted
from recalltune.replay.fate_views import NOT_THERE, loss_account
from recalltune.replay.step_objects import iso_utc
from recalltune.replay.steps import Replay
from recalltune.report.terminal import degraded_lines, notice_lines, paragraph, table_lines
from recalltune.report.text import plain, width

__all__ = ["json_line", "replay_findings", "replay_lines", "short_ids", "stream"]

_COLUMNS = 100
_STEPS = 40
"""Steps a terminal is told one by one."""
_SHORTEST, _LONGEST, _TIGHT = 8, 14, 11
"""Columns of an id; the last where the table has a column more."""

_LEGEND = {
    "world": "memories the step could see",
    "cand": "those the arms proposed, shown or dropped",
    "large": "of the dropped, larger than the whole token budget",
    "tokens": "of what is shown",
    "sess": "sessions the list is worth, 1 / sum of squared shares",
    "empty": "why nothing is shown",
}
"""Column -> what it says."""

_WHY = {
    "empty_world": "empty world",
    "no_evidence": "no evidence",
    "below_threshold": "threshold",
    "suppressed": "suppressed",
    "quota_or_budget": "no place",
}
_ASKS = {
    "nothing_to_find": ("nothing to find", "wanted"),
    "answerable": ("answerable", "unwanted"),
    "not_judged": ("not judged", "nobody says whether wanted"),
}


def json_line(account: dict[str, Any]) -> str:
    """Return one account as one line of JSON, in ASCII: no id can steer a terminal or end it."""
    return json.dumps(account, ensure_ascii=True, allow_nan=False, separators=(",", ":"))


def stream(lines: Iterable[str], step: Callable[[int], None]) -> None:
    """Write lines to standard output, each at once; a reader who has left is no fault."""
    try:
        for line in lines:
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()
            step(1)
    except BrokenPipeError:
        # What Python still holds for a closed pipe would be complained of on the way out.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def replay_findings(walked: Replay) -> list[str]:
    """Return what somebody has to look at; empty where the replay is as it should be."""
    found = []
    if walked.steps["abstained"].all():
        found.append("nothing is recalled at any step")
    unknown = walked.fates.filter(pl.col("fate") == "unknown_id").height
    if unknown:
        noun = "label names" if unknown == 1 else "labels name"
        found.append(f"{unknown:,} {noun} no memory")
    return found


def replay_lines(walked: Replay) -> list[str]:
    """Say what was recalled at each step, in total, what was lost and what was done without."""
    lines = [
        plain(
            f"{walked.config.name}   config {walked.config.fingerprint}   data {walked.stamp.data}"
            f"   statistics over the {walked.config.admit.statistics}",
            columns=_COLUMNS,
        ),
        *table_lines(table := _table(walked), limit=_STEPS + 1),
    ]
    if (more := walked.steps.height - _STEPS) > 0:
        lines.append(f"the total has {counted(more, 'further step')}; --json tells each")
    known = [f"{name}: {told}" for name, told in _LEGEND.items() if name in table.columns]
    lines += paragraph("; ".join(known))
    lines += ["", *_abstention_lines(walked)]
    lines += _fate_lines(walked)
    lines += notice_lines(_notices(walked))
    lines += degraded_lines(walked.ledger)
    lines += [f"finding: {told}" for told in replay_findings(walked)]
    return lines


_ASKED = 24
"""Columns of a question."""


def _table(walked: Replay) -> pl.DataFrame:
    steps = walked.steps
    asked = dict(walked.candidates.queries.select("query_id", "text").iter_rows())
    listed, large = steps.head(_STEPS), int(steps["oversize"].sum())
    longest = _TIGHT if large else _LONGEST
    told = listed.with_columns(
        pl.Series("at", [iso_utc(at // 1_000_000 * 1_000_000) for at in listed["asked_at"]]),
        pl.Series("step", short_ids(listed["query_id"].to_list(), longest=longest)),
        pl.Series("session", short_ids(listed["session"].to_list(), longest=longest)),
        pl.Series("asked", [plain(asked[one], columns=_ASKED) for one in listed["query_id"]]),
        pl.col("why").replace_strict(_WHY, default=None, return_dtype=pl.String).fill_null(""),
    ).select(
        "step", "session", "at", "asked", "world", pl.col("candidates").alias("cand"),
        pl.col("picked").alias("shown"), pl.col("oversize").alias("large"), "tokens",
        pl.col("effective_sessions").round(1).alias("sess"), pl.col("why").alias("empty"),
    )  # fmt: skip
    abstained = int(steps["abstained"].sum())
    total = {
        "step": "total",
        "session": counted(steps["session"].n_unique(), "session"),
        "at": counted(steps.height, "step"),
        "asked": "",
        "cand": int(steps["candidates"].sum()),
        "shown": int(steps["picked"].sum()),
        "large": large,
        "tokens": int(steps["tokens"].sum()),
        "empty": f"{abstained:,} empty",
    }
    # A column that says the same of every step is none.
    idle = {
        "session": steps["session"].n_unique() == 1,
        "large": not large,
        "sess": steps["effective_sessions"].is_null().all(),
    }
    table = pl.concat([told, pl.DataFrame([total], schema=told.schema)])
    return table.drop([name for name, nothing in idle.items() if nothing])


def short_ids(names: Sequence[str | None], *, longest: int = _LONGEST) -> list[str]:
    """Return each id as short as the others allow: whole, its head, tail or ends, or a number.

    Parameters
    ----------
    names
        Ids; equal ones stay equal, different ones different.
    longest
        Columns, above 8, that an id that is cut may take.

    Examples
    --------
    >>> short_ids(["03765d18-f9c5-5a3e-856b", "c8f9d950-baf6-535e-a267"])
    ['03765d18…', 'c8f9d950…']
    >>> short_ids(["a", None])
    ['a', '-']
    """
    known = sorted({name for name in names if name is not None})
    short: dict[str | None, str] = {None: "-"} | {name: name for name in known}
    if any(width(name) > longest for name in known):
        short.update(_cut(known, longest))
    return [short[name] for name in names]


def _cut(known: list[str], longest: int) -> dict[str, str]:
    heads = [(_head, size) for size in range(_SHORTEST, longest)]
    for cut, size in [*heads, (_ends, longest - 1), (_tail, longest - 1)]:
        found = {name: cut(name, size) for name in known}
        if len(set(found.values())) == len(known):
            return found
    return {name: f"#{number}" for number, name in enumerate(known, start=1)}


def _head(name: str, size: int) -> str:
    return name if len(name) <= size + 1 else f"{name[:size]}…"


def _tail(name: str, size: int) -> str:
    return name if len(name) <= size + 1 else f"…{name[-size:]}"


def _ends(name: str, size: int) -> str:
    half = size // 2
    return name if len(name) <= size + 1 else f"{name[:half]}…{name[half - size :]}"


def _abstention_lines(walked: Replay) -> list[str]:
    lines = []
    for row in walked.abstentions().iter_rows(named=True):
        what, wanted = _ASKS[row["asks"]]
        reasons = [f"{_WHY[why]} {row[why]:,}" for why in _WHY if row[why]]
        because = f": {', '.join(reasons)}" if reasons else ""
        lines += paragraph(
            f"{what}: {row['abstained']:,} of {counted(row['steps'], 'step')} shown nothing "
            f"({wanted}){because}; {row['tokens_shown']:,.0f} tokens shown on average"
        )
    return lines


def _fate_lines(walked: Replay) -> list[str]:
    fates = walked.fates
    if not fates.height:
        return []
    shown = fates.filter(pl.col("fate") == "shown").height
    idle = fates.filter(pl.col("fate").is_in(NOT_THERE)).height
    of_these = f"; {counted(idle, 'label')} of nothing that was there" if idle else ""
    account = loss_account(fates, walked.config).filter(pl.col("lost") > 0)
    lines = [
        "",
        f"{counted(fates.height, 'target')}: {shown:,} shown, "
        f"{fates.height - shown - idle:,} lost{of_these}",
    ]
    if account.height:
        lines += table_lines(account.select("stage", "lost", "reason", "alive"))
    return lines


def _notices(walked: Replay) -> Iterable[str]:
    steps = walked.steps
    held_out = walked.counts.get("held_out_cases", 0)
    if held_out:
        yield f"{counted(held_out, 'case')} held out: not walked"
    for name, noun, told in (
        ("same_instant", "memory", "entered at the very instant of a step: not seen by it"),
        ("clamped_ages", "candidate", "dated after its step: age 0"),
        ("unknown_status", "memory", "superseded or retracted at an unknown time: current here"),
    ):
        if count := int(steps[name].sum()):
            yield f"over all steps, {counted(count, noun)} {told}"
    shares = steps.select("largest_session_share", "candidate_session_share").drop_nulls()
    if shares.height:
        largest, usual = (float(column.to_numpy().mean()) for column in shares.iter_columns())
        yield (
            f"the session with most rows fills {largest:.0%} of a list on average, and {usual:.0%} "
            "of the candidates"
        )
