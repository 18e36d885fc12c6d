"""What notebook 10 shows: the gate by origin and time, blocks side by side, what rereading buys.

In: companions' memories in labs, and frames of the replay. Out: tables and the frame of a chart.
Counts speak of what is withheld; texts are those the gate lets through.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import polars as pl

from recalltune.candidates.build import ask
from recalltune.charts.figures import counted
from recalltune.errors import ParameterError
from recalltune.pipeline.config import preset
from recalltune.pipeline.run import run
from recalltune.replay.companion import CompanionMemory
from recalltune.replay.reread_gain import block_of
from recalltune.store import Lab, count_visibility
from recalltune.widgets.companions import Shelf
from recalltune.widgets.tables import Table

__all__ = [
    "blocks_beside",
    "gate_claim",
    "gate_table",
    "joined_pairs",
    "marked_block",
    "paths_table",
    "spending",
]


def gate_table(lab: Lab, instants: Mapping[str, datetime], *, title: str = "") -> Table:
    """Return what may be shown and what is withheld, by origin and reason, at some instants.

    Parameters
    ----------
    lab
        Any lab.
    instants
        Name of a column -> when; in order.
    title
        Of the table.

    Returns
    -------
    Table
        what, origin, reason, and a count an instant; a row that no instant knows is left out.
    """
    found = []
    with lab.reading() as con:
        for name, instant in instants.items():
            counts = count_visibility(con, at=round(instant.timestamp() * 1_000_000))
            found.append(counts.with_columns(pl.lit(name).alias("instant")))
    rows = pl.concat(found).pivot(
        "instant", index=["what", "origin", "reason", "shown"], values="n"
    )
    rows = rows.select("what", "origin", "shown", "reason", *instants)
    ordered = rows.sort("what", "origin", pl.col("shown").not_(), "reason")
    return Table(ordered.with_columns(pl.col(list(instants)).fill_null(0)), title)


def joined_pairs(found: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Return the pairs of several corpora as one frame, numbered on."""
    frames, before = [], 0
    for one in found:
        frames.append(one.with_columns(pl.col("pair") + before))
        before += one["pair"].n_unique()
    return pl.concat(frames).sort("pair", maintain_order=True)


def paths_table(found: pl.DataFrame) -> Table:
    """Return the matrix of paths and pairs, from `report.paired.paired_negatives`."""
    marks = found.with_columns(
        pl.when("untold").then(pl.lit("OUT")).otherwise(pl.lit("absent")).alias("mark"),
        pl.format("pair {}", "pair").alias("pair"),
    )
    wide = marks.pivot("pair", index="path", values="mark")
    told = found.group_by("path", maintain_order=True).agg(
        pl.format("{} of {}", pl.col("told").sum(), pl.len()).alias("told twins that came out")
    )
    leaked = int(found["untold"].sum())
    pairs = counted(found["pair"].n_unique(), "pair")
    title = f"{pairs} on {found['path'].n_unique()} paths: {leaked} untold came out"
    return Table(wide.join(told, on="path", how="left", maintain_order="left"), title)


def blocks_beside(shelf: Shelf, query: str, *, budget_chars: int | None = None) -> Table:
    """Return one block entry by entry, as gists and read again."""
    memory = CompanionMemory(shelf.lab, shelf.companion.now)
    again = memory.reread(query, budget_chars=budget_chars)
    before, after = (one.splitlines()[1:] for one in (again.before, again.text))
    rows = []
    for entry in again.entries.iter_rows(named=True):
        size, lines = 0, []
        while size < entry["chars"]:
            lines.append(after.pop(0))
            size += len(lines[-1]) + 1
        rows += [
            (None if number else entry["rank"], "" if number else before.pop(0), line)
            for number, line in enumerate(lines)
        ]
    withheld = again.account.filter(pl.col("outcome") == "withheld")
    title = f"{query}: {len(again.before)} characters of gists, {len(again.text)} read again"
    if withheld.height:
        title += f"; withheld: {counted(int(withheld['n'].sum()), 'message')}"
    frame = pl.DataFrame(rows, schema=["place", "gists", "read again"], orient="row")
    return Table(frame, title)


def spending(summary: pl.DataFrame, *, budget_chars: int) -> tuple[pl.DataFrame, dict[str, float]]:
    """Return the frame of `pareto_quality_tokens` and its comparison, from `gain_summary`.

    Parameters
    ----------
    summary
        One row a budget.
    budget_chars
        The budget in force: its gists are the default, its originals the choice.

    Raises
    ------
    ParameterError
        If that budget is not among them.
    """
    mine = summary.filter(pl.col("budget_chars") == budget_chars)
    if not mine.height:
        known = ", ".join(map(str, summary["budget_chars"]))
        message = f"budget_chars must be one that was run ({known}), got {budget_chars}"
        raise ParameterError(message)
    row = mine.row(0, named=True)
    sides: Sequence[tuple[str, str, str]] = (
        ("chars_before", "answered_before", "default"),
        ("chars", "answered", "chosen"),
    )
    points = []
    for chars, answered, role in sides:
        points += [
            {"tokens": one[chars], "quality": one[answered], "role": "setting", "label": None}
            for one in summary.iter_rows(named=True)
        ]
        name = "gists" if role == "default" else "read again"
        points.append(
            {"tokens": row[chars], "quality": row[answered], "role": role,
             "label": f"{name}, {budget_chars}"}
        )  # fmt: skip
    compared = {name: row[name] for name in ("diff", "lo", "hi", "n")}
    return pl.DataFrame(points, infer_schema_length=None), compared


def marked_block(lab: Lab, query: str, *, at: datetime, scope: str | None = None) -> Table:
    """Return the lines a prompt would hold for one question, with what no longer holds marked."""
    config = preset("hel847-baseline")
    table = ask(lab, query, config, at=round(at.timestamp() * 1_000_000), scope=scope)
    block = block_of(config).with_(budget_chars=2_000, entry_chars=90)
    order = run(table, config.with_(stages=(*config.stages[:-1], block))).listed()
    lines = [line.rstrip("\n") for line in block.lines(table, order, 0)]
    frame = pl.DataFrame({"place": range(1, len(lines) + 1), "line of the block": lines})
    return Table(frame, query)


def gate_claim(summary: pl.DataFrame, paths: pl.DataFrame, *, budget_chars: int) -> str:
    """Return what the numbers allow to say of the gate and of rereading."""
    row = summary.row(by_predicate=pl.col("budget_chars") == budget_chars, named=True)
    pairs = paths["pair"].n_unique()
    leaked = int(paths["untold"].sum())
    held = (
        f"The gate held on {pairs} pairs and {paths['path'].n_unique()} paths"
        if not leaked
        else f"The gate FAILED: {leaked} untold came out"
    )
    per = "" if row["per_100_chars"] is None else f", {row['per_100_chars']:.2f} per 100 characters"
    return (
        f"{held}. Reading again within {budget_chars} characters answers {row['gained']} more of "
        f"{row['n']} questions made to ask for what a gist dropped{per}; how many real questions "
        "do, these do not say."
    )
